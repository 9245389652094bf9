"""The old rows that break a rule together with a new row, found in this process: the old table is read once, split by
split.

Only rows that agree with a new row on what a rule wants equal are compared, and only those that take part in a
violation are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rowlaw.engine.against.tables import read_split
from rowlaw.engine.local.rows import Part, RowEngine
from rowlaw.relation.memory import MemoryRelation
from rowlaw.rules.model import Column, Denial, Nulls, Op, Rule, about_single_rows
from rowlaw.source.source import FileSource, Split
from rowlaw.spark.jobs import Done, DriverThreads
from rowlaw.stopping import NEVER, Stop

_LARGEST_KEY = 1 << 62  # combined codes of several columns stay below this


class Kept(NamedTuple):
    """Old rows that matter, their positions in the old table (dtype int64), and the count of all its rows."""

    rows: pa.Table
    positions: np.ndarray
    total: int


def conflicting(
    new: pa.Table,
    old: FileSource,
    rules: Sequence[Rule],
    nulls: Nulls,
    *,
    groups: bool = False,
    done: Done | None = None,
    stop: Stop = NEVER,
) -> Kept:
    """The rows of ``old`` that break one of the rules together with a row of ``new``, with the columns of ``new``.

    ``groups``: all rows that agree with a new row on what a rule wants equal, whether they break it or not.
    """
    pairs = [rule for rule in rules if not about_single_rows(rule)]
    scan = Scan(new, old, tuple(pairs), nulls, groups)
    splits = old.splits
    parts = DriverThreads().map(scan, splits, f"compare {old.name} with the new rows", done, stop=stop)
    starts = np.cumsum([0, *(part.total for part in parts)])
    positions = [part.positions + start for part, start in zip(parts, starts[:-1], strict=True)]
    rows = pa.concat_tables([new.schema.empty_table(), *(part.rows for part in parts)])
    return Kept(rows, np.concatenate([np.zeros(0, np.int64), *positions]), int(starts[-1]))


@dataclass(frozen=True)
class Scan:
    """Reads a split of the old table and keeps the rows that matter."""

    new: pa.Table
    old: FileSource
    rules: tuple[Rule, ...]
    nulls: Nulls
    groups: bool

    def __call__(self, split: Split) -> Kept:
        table = read_split(self.old, split, self.new.schema)
        candidates = np.flatnonzero(meeting(self.new, table, self.rules))
        if len(candidates) and not self.groups:
            candidates = candidates[_in_violations(self.new, table.take(pa.array(candidates)), self.rules, self.nulls)]
        return Kept(table.take(pa.array(candidates)), candidates, table.num_rows)


def meeting(new: pa.Table, old: pa.Table, rules: Sequence[Rule]) -> np.ndarray:
    """Which old rows agree with a new row on what some rule wants equal: a flag for each old row, dtype bool."""
    agreeing = np.zeros(old.num_rows, bool)
    for sides in dict.fromkeys(
        side for rule in rules for denial in rule.denials for side in _sides(new.schema, denial)
    ):
        if agreeing.all():
            break
        agreeing |= _agrees(new, old, sides)
    return agreeing


# the columns that an old row and a new row have to agree on: (old column, new column)
Side = tuple[tuple[str, str], ...]


def _sides(schema: pa.Schema, denial: Denial) -> list[Side]:
    """What an old row in each of the two roles has to agree on with a new row."""
    sides: list[list[tuple[str, str]]] = [[], []]
    for p in denial.predicates:
        if p.op == Op.EQ and len(p.rows) == 2 and isinstance(p.right, Column):
            s, t = p.left.name, p.right.name
            if schema.field(s).type == schema.field(t).type:  # values of two types are left to the engine
                sides[0].append((s, t))
                sides[1].append((t, s))
    return [tuple(side) for side in sides]


def _agrees(new: pa.Table, old: pa.Table, columns: Side) -> np.ndarray:
    """Whether an old row agrees with some new row on all columns together. Null agrees with null: engines know what it
    means."""
    key, new_key, size = np.zeros(old.num_rows, np.int64), np.zeros(new.num_rows, np.int64), 1
    agreeing = np.full(old.num_rows, new.num_rows > 0)
    for old_name, new_name in columns:
        values = pc.unique(new.column(new_name))
        place = pc.fill_null(pc.index_in(old.column(old_name), value_set=values), -1).to_numpy()
        agreeing &= place >= 0
        size *= len(values) + 1
        if size < _LARGEST_KEY:
            key = key * (len(values) + 1) + place
            new_key = new_key * (len(values) + 1) + pc.index_in(new.column(new_name), value_set=values).to_numpy()
    if len(columns) > 1:
        agreeing[agreeing] = np.isin(key[agreeing], new_key)
    return agreeing


def _in_violations(new: pa.Table, old: pa.Table, rules: Sequence[Rule], nulls: Nulls) -> np.ndarray:
    """Which old rows break a rule together with a new row: a flag for each old row, dtype bool."""
    relation = MemoryRelation.of(pa.concat_tables([old, new]))
    engine = RowEngine(relation, nulls, workers=DriverThreads(1))
    old_rows, new_rows = relation.all_rows[: old.num_rows], relation.all_rows[old.num_rows :]
    flags = np.zeros(relation.rows, bool)
    for part in (Part(old_rows, new_rows), Part(new_rows, old_rows)):
        for count in engine.count(rules, part):
            flags[count.rows] = True
    return flags[: old.num_rows]
