"""What a Python task does with the rows of its partition: encode them, and let the LocalEngine's methods answer.

The partitioning has brought together all rows that could be in a violating pair, so the answers of the tasks add up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from rowlaw.engine.local.rows import Part, RowEngine
from rowlaw.engine.local.weighted import count_weighted
from rowlaw.relation.memory import MemoryRelation
from rowlaw.rules.model import Denial, Nulls
from rowlaw.spark.jobs import DriverThreads, settle

ROLE = "role"  # which rows of a pair a row may be: BOTH, S or T
PART = "part"  # which part of the work a row belongs to: rows of different parts are not compared
BOTH, S, T = 0, 1, 2
COUNT_SCHEMA = "item int, pairs string, rows bigint"
WEIGHT = "weight"  # how many rows of the table a distinct row stands for
DECLINED = -1  # in the place of an item: the task got more rows than it can hold
_PAIRS_AT_ONCE = 1 << 18  # pairs of a record batch

Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True, slots=True)
class Item:
    """A denial over the columns of the task's rows, and the part of the rows that it is about; ``number`` tells it from
    others."""

    number: int
    denial: Denial
    part: int = 0


@dataclass(frozen=True)
class Partition:
    """The rows of a task: encoded, with their roles and ids."""

    table: pa.Table
    nulls: Nulls

    @staticmethod
    def of(batches: Batches, nulls: Nulls) -> Partition | None:
        """All rows of a partition; None if it has none."""
        settle()
        held = list(batches)
        return Partition(pa.Table.from_batches(held), nulls) if sum(b.num_rows for b in held) else None

    def ready(self, item: Item, columns: Sequence[str]) -> tuple[RowEngine, Part, pa.Table]:
        """The engine over the rows of an item, which of them may be ``s`` and ``t``, and the rows themselves."""
        rows = self.table
        if PART in rows.column_names:
            rows = rows.filter(pa.compute.equal(rows.column(PART), item.part))
        relation = MemoryRelation.of(rows.select(list(columns)))
        engine = RowEngine(relation, self.nulls, workers=DriverThreads(1))
        if ROLE not in rows.column_names:
            return engine, Part(), rows
        roles = rows.column(ROLE).to_numpy()
        return engine, Part(_rows_of(roles, S), _rows_of(roles, T)), rows


def _rows_of(roles: np.ndarray, role: int) -> np.ndarray | None:
    """The positions of rows that may be of a role; None: all of them."""
    may = (roles == role) | (roles == BOTH)
    return None if may.all() else np.flatnonzero(may).astype(np.int32)


@dataclass(frozen=True)
class CountTask:
    """Counts the violations of each item among the rows of a partition: its pairs, and the rows that take part."""

    items: tuple[Item, ...]
    nulls: Nulls
    with_rows: bool = True

    def __call__(self, batches: Batches) -> Batches:
        rows = Partition.of(batches, self.nulls)
        if rows is None:
            return
        counted = []
        for (_, columns), items in grouped(self.items).items():
            engine, sides, _ = rows.ready(items[0], columns)
            counts = engine.count([item.denial for item in items], sides, per_row=self.with_rows)
            counted += [(item.number, str(f.pairs), len(f.rows)) for item, f in zip(items, counts, strict=True)]
        yield _count_batch(counted)


@dataclass(frozen=True)
class FoldTask:
    """Counts the violations of each item among all rows that distinct rows stand for; declines more than ``limit``
    distinct rows."""

    items: tuple[Item, ...]
    nulls: Nulls
    limit: int

    def __call__(self, batches: Batches) -> Batches:
        settle()
        held: list[pa.RecordBatch] = []
        rows = 0
        for batch in batches:
            rows += batch.num_rows
            held = [*held, batch] if rows <= self.limit else []
        if rows > self.limit:
            yield _count_batch([(DECLINED, str(rows), 0)])
        elif rows:
            table = pa.Table.from_batches(held)
            weights = table.column(WEIGHT).to_numpy()
            engine = RowEngine(MemoryRelation.of(table.drop_columns([WEIGHT])), self.nulls, workers=DriverThreads(1))
            counted = [(item.number, count_weighted(engine, item.denial, weights)) for item in self.items]
            yield _count_batch([(number, str(count.pairs), count.rows) for number, count in counted])


def _count_batch(counted: Sequence[tuple[int, str, int]]) -> pa.RecordBatch:
    numbers, pairs, rows = zip(*counted, strict=True)
    columns = [pa.array(numbers, pa.int32()), pa.array(pairs, pa.string()), pa.array(rows, pa.int64())]
    return pa.record_batch(columns, names=["item", "pairs", "rows"])


@dataclass(frozen=True)
class RowsTask:
    """For each item the rows that take part in violations, by their ids, and in how many."""

    items: tuple[Item, ...]
    nulls: Nulls
    row: str

    def __call__(self, batches: Batches) -> Batches:
        rows = Partition.of(batches, self.nulls)
        if rows is None:
            return
        for (_, columns), items in grouped(self.items).items():
            engine, sides, table = rows.ready(items[0], columns)
            for item, count in zip(items, engine.count([item.denial for item in items], sides), strict=True):
                for start in range(0, len(count.rows), _PAIRS_AT_ONCE):
                    some = slice(start, start + _PAIRS_AT_ONCE)
                    ids = table.column(self.row).take(pa.array(count.rows[some])).combine_chunks()
                    numbers = pa.repeat(pa.scalar(item.number, pa.int32()), len(ids))
                    yield pa.record_batch(
                        [numbers, _one(ids), pa.array(count.per_row[some], pa.int64())], names=["item", "row", "pairs"]
                    )


@dataclass(frozen=True)
class PairsTask:
    """All violations of one item, or the first ``limit`` of a partition: ids of both rows, and their values in
    ``columns``.

    Rows that stand on both sides have two positions, so the pair of a row with itself is left out by its id.
    """

    item: Item
    nulls: Nulls
    row: str
    columns: tuple[str, ...]
    limit: int | None = None

    def __call__(self, batches: Batches) -> Batches:
        rows = Partition.of(batches, self.nulls)
        if rows is None:
            return
        engine, sides, table = rows.ready(self.item, self.item.denial.columns)
        ids = _one(table.column(self.row).combine_chunks())
        names = ["s_row", "t_row", *(f"{side}_{name}" for name in self.columns for side in ("s", "t"))]
        left = self.limit
        for s, t in engine.pairs(self.item.denial, sides):
            for start in range(0, len(s), _PAIRS_AT_ONCE):
                chosen = [pa.array(rows_of[start : start + _PAIRS_AT_ONCE]) for rows_of in (s, t)]
                columns = [ids.take(c) for c in chosen]
                for name in self.columns:
                    columns += [_one(table.column(name).take(c).combine_chunks()) for c in chosen]
                batch = pa.record_batch(columns, names=names)
                if sides.left is not None or sides.right is not None:
                    batch = batch.filter(pa.compute.not_equal(batch.column(0), batch.column(1)))
                batch = batch if left is None else batch.slice(0, left)
                left = None if left is None else left - batch.num_rows
                yield batch
                if left == 0:
                    return


def grouped(items: Sequence[Item]) -> dict[tuple[int, tuple[str, ...]], list[Item]]:
    """Items by their part of the rows, with all columns that the items of that part use: those are encoded once."""
    by_part: dict[int, list[Item]] = {}
    for item in items:
        by_part.setdefault(item.part, []).append(item)
    return {
        (part, tuple(dict.fromkeys(c for item in some for c in item.denial.columns))): some
        for part, some in by_part.items()
    }


def _one(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    if isinstance(column, pa.ChunkedArray):
        return column.chunk(0) if column.num_chunks else pa.array([], column.type)
    return column


Task = Callable[[Batches], Batches]
