"""Cells that are probably wrong: those that more functional dependencies contradict than confirm.

The rows that agree on the left side of a dependency are a group. Where most of a group has one value on the right side,
the dependency *contradicts* the cells that have another and *confirms* the rest; a row that is alone in its group hears
nothing. So a second shop in a street is contradicted by ``fd (street) -> name`` but confirmed by its phone number and
its owner, and a misspelt name by nothing.

A dependency that was learnt with exceptions may be no law at all. It has a vote if it says much more than chance: two
rows of a group must differ on the right side much less often than two rows of the table do. That leaves out constants
with exceptions, left sides that hardly any two rows share, and values that merely are frequent. (One minus this share
is close to the measure mu of Piatetsky-Shapiro and Matheus, *Measuring data dependencies in large databases*, KDD
workshop 1993.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from rowlaw.engine.local.removal import group_numbers
from rowlaw.engine.local.rows import RowEngine
from rowlaw.relation.relation import Relation
from rowlaw.rules.model import FunctionalDependency, Nulls

MOST = (3, 4)  # of a group must have one value for the others to be contradicted; benchmarks/targets/dirty.py
# Two rows of a group may differ so often, as a share of how often two rows of the table do. If a share e of the cells
# is wrong, about 4e of the pairs of a group differ, as each of four cells may be the wrong one: 0.2 goes with the 0.05
# that is a good `error`.
CHANCE = 0.2
ROUNDING = 1e-9  # of the sums behind that share


@dataclass(frozen=True, slots=True)
class _Votes:
    """What one dependency says about each row's cell on its right side; ``usual`` is the code that most of the row's
    group has."""

    contradicts: np.ndarray
    confirms: np.ndarray
    usual: np.ndarray


def suspects(engine: RowEngine, rules: Mapping[FunctionalDependency, bool], limit: int | None = None) -> pa.Table:
    """Cells that more of the rules contradict than confirm, those with most votes against them first.

    ``rules`` says of each whether it was learnt with exceptions, and so has to say more than chance; others are taken
    at their word. Columns: ``row``, ``column``, ``value``, ``usual`` (what the first rule that contradicts the cell
    expects instead), ``against`` and ``backing`` (numbers of rules). ``O(n log n)`` for each rule.

    >>> from rowlaw.relation import encode
    >>> from rowlaw.rules import parse
    >>> from rowlaw.source import open_source
    >>> table = pa.table({"zip": [1, 1, 1, 1, 2, 2, 3, 3], "city": ["a", "a", "b", "a", "b", "b", "c", "c"]})
    >>> suspects(RowEngine(encode(open_source(table))), {parse("fd (zip) -> city"): False}).to_pylist()
    [{'row': 2, 'column': 'city', 'value': 'b', 'usual': 'a', 'against': 1, 'backing': 0}]
    """
    relation = engine.relation
    by_column: dict[str, dict[FunctionalDependency, bool]] = {}
    for rule, learnt in rules.items():
        by_column.setdefault(rule.right, {})[rule] = learnt
    columns: list[tuple[np.ndarray, ...]] = []
    names: list[str] = []
    for name, some in by_column.items():
        rows, usual, against, backing = _accused(relation, some, engine.nulls)
        columns.append((rows, np.full(len(rows), len(names)), usual, against, backing))
        names.append(name)
    return _table(relation, names, columns, limit)


def _accused(relation: Relation, rules: Mapping[FunctionalDependency, bool], nulls: Nulls) -> tuple[np.ndarray, ...]:
    """Of the column that is the right side of all the rules: rows whose cells are suspect, what is usual, and the
    votes."""
    against, backing = np.zeros((2, relation.rows), np.int32)
    usual = np.full(relation.rows, -1, np.int32)
    for rule, learnt in rules.items():
        rows = np.arange(relation.rows, dtype=np.int32)
        if nulls == "unknown":  # a comparison with null is never true: such rows are in no group
            for column in (*rule.left, rule.right):
                rows = rows[relation.codes(column)[rows] >= 0]
        votes = _votes(relation, rule, rows, learnt)
        if votes is not None:
            first = rows[votes.contradicts & (against[rows] == 0)]
            usual[first] = votes.usual[np.searchsorted(rows, first)]
            against[rows] += votes.contradicts
            backing[rows] += votes.confirms
    chosen = np.flatnonzero(against > backing)
    return chosen, usual[chosen], against[chosen], backing[chosen]


def _votes(relation: Relation, rule: FunctionalDependency, rows: np.ndarray, learnt: bool) -> _Votes | None:
    """What a dependency says about these rows, or None if it says nothing, or was learnt and says little."""
    right = relation.codes(rule.right)[rows].astype(np.int64) + 1
    groups = group_numbers(relation, rule.left, rows)
    cells = np.unique(groups * (right.max(initial=0) + 1) + right, return_inverse=True)[1]
    size, same = np.bincount(groups)[groups], np.bincount(cells)[cells]
    company = size > 1
    if not company.any() or (
        learnt and _differ(size[company], same[company]) > CHANCE * _differ_by_chance(right) + ROUNDING
    ):
        return None
    order = np.lexsort((cells, -same, groups))  # in each group the most frequent value comes first
    heads = order[np.unique(groups[order], return_index=True)[1]]
    most, usual = same[heads][groups], (right[heads][groups] - 1).astype(np.int32)
    agreed = company & (most * MOST[1] >= size * MOST[0])
    return _Votes(agreed & (same < most), agreed & (same == most), usual)


def _differ(size: np.ndarray, same: np.ndarray) -> float:
    """How often another row of a row's group differs from it: ``same`` of the ``size`` rows do not, for each row."""
    return float(((size - same) / (size - 1)).mean())


def _differ_by_chance(codes: np.ndarray) -> float:
    """How often two different rows differ in a column."""
    often, rows = np.bincount(codes).astype(np.float64), len(codes)
    return 1 - float((often * (often - 1)).sum()) / (rows * (rows - 1))


def _table(
    relation: Relation, names: Sequence[str], found: Sequence[tuple[np.ndarray, ...]], limit: int | None
) -> pa.Table:
    if not found:
        found = [tuple(np.zeros(0, np.int64) for _ in range(5))]
    rows, columns, usual, against, backing = (np.concatenate(part) for part in zip(*found, strict=True))
    order = np.lexsort((columns, rows, backing - against))[:limit]
    rows, columns, usual, against, backing = (part[order] for part in (rows, columns, usual, against, backing))
    values, expected = np.empty((2, len(rows)), object)
    for i, name in enumerate(names):
        mine = columns == i
        dictionary = relation.dictionary(name)
        for texts, codes in ((values, relation.codes(name)[rows[mine]]), (expected, usual[mine])):
            texts[mine] = dictionary.take(pa.array(codes, mask=codes < 0)).cast(pa.string()).to_pylist()
    return pa.table(
        {
            "row": relation.row_labels(rows),
            "column": pa.array([names[i] for i in columns], pa.string()),
            "value": pa.array(values.tolist(), pa.string()),
            "usual": pa.array(expected.tolist(), pa.string()),
            "against": against.astype(np.int64),
            "backing": backing.astype(np.int64),
        }
    )
