"""Counting where each row stands for several equal ones: distinct rows and their weights, as a fold of a table gives
them.

Rules that compare the same columns of both rows with at most two inequalities are counted by one pass over the sorted
rows for each term of inclusion and exclusion (``!=`` is all pairs less the equal ones). For all other rules the weights
are taken apart into powers of two: with ``w = 4 + 1`` a row belongs to the classes 4 and 1, and the violations between
the class ``2^a`` of rows ``s`` and the class ``2^b`` of rows ``t`` count ``2^(a+b)`` times. So every counting method
serves, and none needs to know of weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations as subsets
from typing import NamedTuple

import numpy as np

from rowlaw.engine.local.rows import Part, RowEngine
from rowlaw.kernels.kinds import pairs_of_kinds
from rowlaw.relation.relation import Relation
from rowlaw.rules.itself import with_itself
from rowlaw.rules.model import Denial, Op, Predicate

SAFE_ROWS = 1_500_000_000  # twice the square of this count is below 2^63
KEY_BITS = 62  # of a combination of a group and two values
_MOST_INEQUALITIES = 2  # that one pass counts


class WeightedCount(NamedTuple):
    """Violations of a rule among all rows that the distinct ones stand for, and how many of these rows take part."""

    pairs: int
    rows: int


def count_weighted(engine: RowEngine, denial: Denial, weights: np.ndarray) -> WeightedCount:
    """Count the violations of a denial about pairs of rows.

    ``weights`` (int64, positive) says for each row of the engine's relation how many equal rows it stands for. ``O(k
    log k)`` for ``k`` distinct rows where :func:`sorts` is true, else ``O(k log^2 w)`` row visits for weights up to
    ``w``.

    >>> import pyarrow as pa
    >>> from rowlaw.relation.memory import MemoryRelation
    >>> from rowlaw.rules import parse
    >>> engine = RowEngine(MemoryRelation.of(pa.table({"zip": [1, 1, 2], "city": ["a", "b", "a"]})))
    >>> count_weighted(engine, parse("fd (zip) -> city").denials[0], np.array([5, 1, 3]))
    WeightedCount(pairs=10, rows=6)
    """
    if sorts(denial) and int(weights.sum()) < SAFE_ROWS:
        each = _pairs_of_rows(engine, denial, weights)
        if each is not None:
            return WeightedCount(int((each * weights).sum()) // 2, int(weights[each > 0].sum()))
    return _by_classes(engine, denial, weights)


def sorts(denial: Denial) -> bool:
    """Whether sorting the distinct rows is enough to count a denial: same columns, and at most two inequalities."""
    inequalities = [p for p in denial.predicates if p.op.is_inequality]
    return len(inequalities) <= _MOST_INEQUALITIES and all(p.same_column for p in denial.predicates)


def _pairs_of_rows(engine: RowEngine, denial: Denial, weights: np.ndarray) -> np.ndarray | None:
    """For each distinct row (int64) the violations that a row like it takes part in; None if the keys to sort have too
    many bits."""
    relation = engine.relation
    known = np.ones(relation.rows, bool)
    if engine.nulls == "unknown":
        for name in denial.columns:
            known &= relation.codes(name) >= 0
    rows = np.flatnonzero(known)
    total = np.zeros(relation.rows, np.int64)
    inequalities = [p for p in denial.predicates if p.op.is_inequality]
    for sign, equal in _terms(denial):
        each = _in_groups(relation, equal, inequalities, rows, weights[rows])
        if each is None:
            return None
        total[rows] += sign * each
    return total


def _terms(denial: Denial) -> Iterator[tuple[int, list[str]]]:
    """The signed terms of a denial without ``!=``: the columns that must be equal in each."""
    equal = [p.left.name for p in denial.predicates if p.op == Op.EQ]
    different = [p.left.name for p in denial.predicates if p.op == Op.NE]
    for size in range(len(different) + 1):
        for some in subsets(different, size):
            yield (-1) ** size, [*equal, *some]


def _in_groups(
    relation: Relation, equal: Sequence[str], inequalities: Sequence[Predicate], rows: np.ndarray, weights: np.ndarray
) -> np.ndarray | None:
    """For each of some rows the pairs that it takes part in, with rows equal in some columns and in order in others."""
    keys = combinations(relation, equal, rows)
    widths, weak = [1, 1], [True, True]  # without an inequality all rows of a group are level
    bits = int(keys.max(initial=0)).bit_length()
    for i, p in enumerate(inequalities):
        codes = relation.codes(p.left.name)[rows].astype(np.int64) + 1
        widths[i], weak[i] = relation.column(p.left.name).distinct + 1, bool(p.op & Op.EQ)
        keys = keys * widths[i] + (codes if p.op & Op.LT else widths[i] - 1 - codes)  # turned so that s is below t
        bits += widths[i].bit_length()
    if bits > KEY_BITS:
        return None
    order = np.argsort(keys, kind="stable")
    of_sorted = np.empty(len(rows), np.int64)
    pairs_of_kinds(keys[order], weights[order], *widths, *weak, of_sorted)
    each = np.empty(len(rows), np.int64)
    each[order] = of_sorted
    return each


def combinations(relation: Relation, columns: Sequence[str], rows: np.ndarray) -> np.ndarray:
    """Number the combinations of values that rows have in some columns (int64, from 0, in the order of the values);
    null is a value."""
    numbers = np.zeros(len(rows), np.int64)
    for name in columns:
        codes = relation.codes(name)[rows].astype(np.int64) + 1
        numbers = np.unique(numbers * (relation.column(name).distinct + 1) + codes, return_inverse=True)[1]
    return numbers


def _by_classes(engine: RowEngine, denial: Denial, weights: np.ndarray) -> WeightedCount:
    classes = [
        np.flatnonzero(weights >> bit & 1).astype(np.int32)
        for bit in range(int(weights.max()).bit_length() if len(weights) else 0)
    ]
    pairs = 0
    for i, s_rows in enumerate(classes):
        for j, t_rows in enumerate(classes):
            if len(s_rows) and len(t_rows):
                (count,) = engine.count([denial], Part(s_rows, t_rows), per_row=False)
                pairs += count.pairs << (i + j)
    own = _with_copies(engine, denial)
    of_copies = weights[own].astype(object)
    pairs += int((of_copies * (of_copies - 1)).sum()) if len(of_copies) else 0
    takes_part = own & (weights > 1)
    takes_part[engine.count([denial])[0].rows] = True
    return WeightedCount(pairs, int(weights[takes_part].sum()))


def _with_copies(engine: RowEngine, denial: Denial) -> np.ndarray:
    """Whether each row violates the denial together with a row that has the same values."""
    relation = engine.relation
    own = with_itself(denial)
    if own is None:
        return np.zeros(relation.rows, bool)
    breaks = np.ones(relation.rows, bool)
    if engine.nulls == "unknown":
        for p in denial.predicates:
            if p.same_column:
                breaks &= relation.codes(p.left.name) >= 0
    if own:
        of_one_row = np.zeros(relation.rows, bool)
        of_one_row[engine.count([Denial(own)])[0].rows] = True
        breaks &= of_one_row
    return breaks
