"""What a Python task looks for: pairs of rows that break rules, with the values of both rows; and the rows to remove.

Discovery takes evidence from these pairs, so each carries all columns of the table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from rowlaw.engine.local import contexts
from rowlaw.engine.local.contexts import Contexts
from rowlaw.engine.local.rows import Part, RowEngine
from rowlaw.engine.protocol import GroupWork
from rowlaw.engine.questions import Question
from rowlaw.engine.spark.worker import Batches, Item, Partition
from rowlaw.relation.memory import MemoryRelation
from rowlaw.rules.model import Nulls
from rowlaw.spark.jobs import DriverThreads, settle

ROWS_AT_ONCE = 1 << 17  # rows that are compared with the given ones at once
REMOVED_SCHEMA = "item int, removed bigint"


def pair_schema(types: dict[str, str], columns: Sequence[str]) -> str:
    """The schema of pairs of rows: the item that they break, and both rows' values. ``types``: Spark's names of the
    columns' types."""
    return ", ".join(["item int", *(f"{side}_{name} {types[name]}" for side in ("s", "t") for name in columns)])


def _pair_batches(item: int, table: pa.Table, pairs: np.ndarray, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Pairs of positions (``int32[pairs, 2]``) as batches of :func:`pair_schema`."""
    if not len(pairs):
        return
    sides = [table.select(list(columns)).take(pa.array(pairs[:, side])) for side in (0, 1)]
    names = ["item", *(f"{side}_{name}" for side in ("s", "t") for name in columns)]
    numbers = pa.array(np.full(len(pairs), item, np.int32))
    yield from pa.table([numbers, *sides[0].columns, *sides[1].columns], names=names).combine_chunks().to_batches()


@dataclass(frozen=True)
class LookTask:
    """Finds pairs of rows of a partition that violate each item, up to ``limit``."""

    items: tuple[Item, ...]
    nulls: Nulls
    columns: tuple[str, ...]
    limit: int

    def __call__(self, batches: Batches) -> Batches:
        rows = Partition.of(batches, self.nulls)
        if rows is None:
            return
        used = list(dict.fromkeys(c for item in self.items for c in item.denial.columns))
        engine = RowEngine(MemoryRelation.of(rows.table.select(used)), self.nulls, workers=DriverThreads(1))
        violating = engine.violating_pairs([item.denial for item in self.items], self.limit)
        for item, pairs in zip(self.items, violating, strict=True):
            yield from _pair_batches(item.number, rows.table, pairs, self.columns)


@dataclass(frozen=True)
class GroupTask:
    """Does some work on the rows of a partition that agree on all columns of one of several lists; what comes of it has
    64-bit words."""

    work: GroupWork
    lists: tuple[tuple[str, ...], ...]
    columns: tuple[str, ...]  # of the partition
    names: tuple[str, ...]  # what these columns are called in the lists
    nulls: Nulls

    def __call__(self, batches: Batches) -> Batches:
        rows = Partition.of(batches, self.nulls)
        if rows is None:
            return
        relation = MemoryRelation.of(rows.table.select(list(self.columns)).rename_columns(list(self.names)))
        lines = self.work(relation, self.lists, DriverThreads(1)).view(np.int64)
        columns = [pa.array(np.ascontiguousarray(lines[:, w])) for w in range(lines.shape[1])]
        yield from pa.table(columns, names=word_names(lines.shape[1])).to_batches()


def word_names(words: int) -> list[str]:
    """The columns of what a :class:`GroupTask` gives."""
    return [f"word{w}" for w in range(words)]


@dataclass(frozen=True)
class AskTask:
    """Finds pairs of rows of a partition that break each target of each question, up to ``limit``; targets are numbered
    one by one."""

    questions: tuple[tuple[int, Question], ...]  # each with the number of its first target
    names: tuple[str, ...]
    nulls: Nulls
    columns: tuple[str, ...]
    limit: int

    def __call__(self, batches: Batches) -> Batches:
        rows = Partition.of(batches, self.nulls)
        if rows is None:
            return
        engine, asked = _contexts(rows.table, self.names, self.nulls)
        answers = contexts.ask(engine, asked, [question for _, question in self.questions], self.limit, None)
        for (first, _), answer in zip(self.questions, answers, strict=True):
            for number, pairs in enumerate(answer, first):
                yield from _pair_batches(number, rows.table, pairs, self.columns)


@dataclass(frozen=True)
class RemoveTask:
    """Counts the fewest rows of a partition to remove for each target of each question."""

    questions: tuple[tuple[int, Question], ...]
    names: tuple[str, ...]
    nulls: Nulls

    def __call__(self, batches: Batches) -> Batches:
        rows = Partition.of(batches, self.nulls)
        if rows is None:
            return
        engine, asked = _contexts(rows.table, self.names, self.nulls)
        counts = contexts.count(engine, asked, [question for _, question in self.questions], None)
        items = [first + i for (first, _), some in zip(self.questions, counts, strict=True) for i in range(len(some))]
        removed = [number for some in counts for number in some]
        yield pa.record_batch([pa.array(items, pa.int32()), pa.array(removed, pa.int64())], names=["item", "removed"])


def _contexts(table: pa.Table, names: Sequence[str], nulls: Nulls) -> tuple[RowEngine, Contexts]:
    relation = MemoryRelation.of(table.select(list(names)))
    return RowEngine(relation, nulls, workers=DriverThreads(1)), Contexts(relation, nulls, names)


@dataclass(frozen=True)
class MeetTask:
    """Finds rows that violate an item together with one of a few given rows, in either role, up to ``limit`` pairs for
    each item.

    Rows have ids in the column ``row``, so that no row meets itself.
    """

    items: tuple[tuple[Item, pa.Table], ...]
    nulls: Nulls
    row: str
    columns: tuple[str, ...]
    limit: int

    def __call__(self, batches: Batches) -> Batches:
        settle()
        left = {item.number: self.limit for item, _ in self.items}
        for rows in in_chunks(batches):
            for item, given in self.items:
                if left[item.number] <= 0:
                    continue
                together = pa.concat_tables([given, rows.select(given.column_names).cast(given.schema)])
                pairs = self._pairs(item, together, given.num_rows)[: left[item.number]]
                left[item.number] -= len(pairs)
                yield from _pair_batches(item.number, together, pairs, self.columns)

    def _pairs(self, item: Item, together: pa.Table, given: int) -> np.ndarray:
        engine = RowEngine(
            MemoryRelation.of(together.select(list(item.denial.columns))), self.nulls, workers=DriverThreads(1)
        )
        own, others = np.arange(given, dtype=np.int32), np.arange(given, together.num_rows, dtype=np.int32)
        sides = (Part(own, others), Part(others, own))
        pairs = np.concatenate([engine.violating_pairs([item.denial], self.limit + given, side)[0] for side in sides])
        ids = together.column(self.row)
        same = pa.compute.equal(ids.take(pa.array(pairs[:, 0])), ids.take(pa.array(pairs[:, 1]))).to_numpy()
        return pairs[~same.astype(bool)]


def in_chunks(batches: Batches) -> Iterator[pa.Table]:
    """Join batches into tables that are worth a look and small enough to hold."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(b.num_rows for b in waiting) >= ROWS_AT_ONCE:
            yield pa.Table.from_batches(waiting)
            waiting = []
    if sum(b.num_rows for b in waiting):
        yield pa.Table.from_batches(waiting)
