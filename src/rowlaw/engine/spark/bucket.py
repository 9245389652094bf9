"""Counting inequalities without an equality, or inside a group that is too large for a task: *bucket*.

Each compared column is cut into ranges of values, the buckets; equal values share a bucket. Two rows that satisfy all
inequalities either differ in the bucket of every compared column: then the buckets decide, and all such pairs are
counted from the histogram of bucket vectors. Or they share the bucket of some column: let j be the first such column.
Rows are partitioned by their bucket of column j, and inside a partition columns before j are compared by bucket,
strictly, and the others by value. So each pair is counted once, and k inequalities need k passes of linear shuffle.

A value that has very many rows is a bucket of its own. Its rows are not sent where the column is compared by ``<`` or
``>``: no two of them satisfy that, and no task could hold them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from rowlaw.engine.spark import expressions
from rowlaw.engine.spark.aggregate import true_of_row
from rowlaw.engine.spark.roles import KEY, Scope, Within, exact_values, hashed, may_be, meeting_value, spread, tasks_for
from rowlaw.engine.spark.sample import Border
from rowlaw.engine.spark.shape import Shape, operand
from rowlaw.engine.spark.view import View
from rowlaw.engine.spark.worker import BOTH, PART, ROLE, Item, S, T
from rowlaw.rules.model import Denial, Op, between_rows

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame

_TASK_BUCKETS = 8  # buckets that a task could hold: chance brings a few of them together, seldom so many
_SAFE_PAIRS = 1 << 62  # sums of products below this fit 64 bits


@dataclass(frozen=True)
class Buckets:
    """A shape with inequalities and without differences, among all rows or among those of a scope: then its groups are
    few and large."""

    view: View
    shape: Shape
    scope: Scope = ()

    @property
    def groups(self) -> int:
        """The groups of rows that agree on the equalities, of which pairs are asked for."""
        return max((1, *(len(w.keys) for w in self.scope if isinstance(w, Within) and w.inside)))

    @cached_property
    def borders(self) -> list[list[Border]]:
        """For each inequality the borders of its buckets, on one scale for both its columns."""
        k = len(self.shape.inequalities)
        cells = self.view.limits.histogram_cells / self.groups
        wanted = _TASK_BUCKETS * self.view.table.rows / max(1, self.view.task_rows(self.shape.columns))
        buckets = int(max(2, min(self.view.limits.buckets, max(wanted, 16), cells ** (1 / k))))
        return [self.view.sample.borders([operand(p, "s"), operand(p, "t")], buckets) for p in self.shape.inequalities]

    def bucket(self, rows: DataFrame, number: int, row: str) -> SparkColumn:
        """The bucket of an inequality's value in a role; null, where it is a value, has the lowest one for itself."""
        from pyspark.sql import functions as f

        p = self.shape.inequalities[number]
        name = operand(p, row)
        table = self.view.table
        key = expressions.order_key(rows[name], table.kinds[name], table.arrow_types[table.own_name(name)])
        return f.when(rows[name].isNull(), f.lit(0)).otherwise(_search(key, self.borders[number], 1)).cast("int")

    def _without_pairs(self, number: int) -> list[int]:
        """The buckets of an inequality that hold one value only, if it is ``<`` or ``>``: no two of their rows satisfy
        it."""
        p = self.shape.inequalities[number]
        if p.op not in (Op.LT, Op.GT):
            return []
        types = [self.view.table.arrow_types[self.view.table.own_name(operand(p, row))] for row in ("s", "t")]
        return [
            place + 1  # the bucket that ends there
            for place, border in enumerate(self.borders[number])
            if border.after and all(expressions.only_key_of(border.value, arrow_type) for arrow_type in types)
        ]

    @property
    def sides(self) -> list[tuple[int, str]]:
        """Roles in which rows are sent: one, if the same rows are compared by the same columns in both."""
        return [(BOTH, "s")] if self.shape.reflexive else [(S, "s"), (T, "t")]

    def histograms(self, rows: DataFrame) -> list[DataFrame]:
        """For each role the rows of each bucket vector, group by group."""
        histograms = []
        table = self.view.table
        for _, row in self.sides:
            filters = self.shape.s_filters if row == "s" else self.shape.t_filters
            side = rows.where(may_be(table, rows, self.shape, row, self.scope) & true_of_row(table, rows, filters))
            vector = [self.bucket(side, i, row).alias(f"b{i}") for i in range(len(self.shape.inequalities))]
            histograms.append(side.groupBy(*self.group(side, row, "g"), *vector).count())
        return histograms

    def group(self, rows: DataFrame, row: str, prefix: str) -> list[SparkColumn]:
        """What rows of one role have to agree on with rows of the other, exactly."""
        values = [v for p in self.shape.equal for v in exact_values(self.view.table, rows, p, row)]
        return [value.alias(f"{prefix}{i}") for i, value in enumerate(values)]

    def passes(self, rows: DataFrame, extra: Sequence[str] = ()) -> DataFrame:
        """Each row once for each inequality and role, where rows of one bucket meet."""
        from pyspark.sql import functions as f

        table = self.view.table
        k = len(self.shape.inequalities)
        used = tuple(dict.fromkeys((*self.shape.columns, *extra)))
        copies = []
        # columns of their own, or Spark would search the borders again wherever a bucket is named
        buckets = {f"{row} bucket {i}": self.bucket(rows, i, row) for _, row in self.sides for i in range(k)}
        rows = rows.withColumns(buckets)
        for role, row in self.sides:
            group = hashed([meeting_value(table, rows, p, row) for p in self.shape.equal])
            vector = [rows[f"{row} bucket {i}"] for i in range(k)]
            for j in range(k):
                fields = [
                    f.lit(j).alias(PART),
                    f.lit(role).cast("int").alias(ROLE),
                    hashed([group, f.lit(j), vector[j]]).alias(KEY),
                ]
                copy = f.struct(*fields, *(vector[i].alias(f"b{i}") for i in range(k)))
                is_sent = may_be(table, rows, self.shape, row, self.scope)
                if skipped := self._without_pairs(j):
                    is_sent = is_sent & ~vector[j].isin(skipped)
                copies.append(f.when(is_sent, copy))
        places = [PART, ROLE, *(f"b{i}" for i in range(k))]
        sent = spread(rows, copies, used, [*places, KEY])
        meeting = self.groups * sum(len(borders) + 1 for borders in self.borders)
        tasks = tasks_for(len(copies) * table.rows, self.view.task_rows((*used, *places)), self.view.slots, meeting)
        return sent.repartition(tasks, KEY).drop(KEY)

    def items(self, number: int) -> tuple[Item, ...]:
        """What the tasks count: for each inequality j the pairs that share its bucket and no bucket of those before
        it."""
        items = []
        for j in range(len(self.shape.inequalities)):
            before = [between_rows(f"b{i}", _strict(self.shape.inequalities[i].op)) for i in range(j)]
            predicates = (*self.shape.equal, *before, between_rows(f"b{j}", Op.EQ), *self.shape.inequalities[j:])
            items.append(Item(number, Denial((*predicates, *self.shape.s_filters, *self.shape.t_filters)), j))
        return tuple(items)

    def decided(self, histograms: Sequence[DataFrame]) -> int:
        """The pairs that differ in the bucket of every compared column, in the right direction: counted by the driver
        from histograms."""
        s = self._cells(histograms[0])
        t = s if len(histograms) == 1 else self._cells(histograms[1])
        return sum(_ascending(s[g], t[g], self._down) for g in s if g in t)

    @property
    def _down(self) -> tuple[bool, ...]:
        return tuple(p.op in (Op.GT, Op.GE) for p in self.shape.inequalities)

    def _cells(self, histogram: DataFrame) -> dict[tuple[Any, ...], np.ndarray]:
        """For each group the rows of each bucket vector."""
        shape = tuple(len(b) + 2 for b in self.borders)
        groups: dict[tuple[Any, ...], np.ndarray] = {}
        # by Arrow: collected timestamps would be local times, of which an hour comes twice when clocks are set back
        columns = [_in_utc(column).to_pylist() for column in histogram.toArrow().columns]
        width = len(columns) - len(shape) - 1
        for row in zip(*columns, strict=True):
            cells = groups.setdefault(row[:width], np.zeros(shape, np.int64))
            cells[row[width:-1]] += row[-1]
        return groups

    def tables(self, histograms: Sequence[DataFrame]) -> list[dict[tuple[Any, ...], np.ndarray]]:
        """For each role, by group and bucket vector, the rows of the other role that the buckets alone decide."""
        s = self._cells(histograms[0])
        t = s if len(histograms) == 1 else self._cells(histograms[1])
        up = tuple(not down for down in self._down)
        of_s = {g: _beyond(t[g], self._down) for g in s if g in t}
        of_t = {g: _beyond(s[g], up) for g in t if g in s}
        return [of_s, of_t]


def _in_utc(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(pa.timestamp("us", "UTC")) if getattr(column.type, "tz", None) else column


def _strict(op: Op) -> Op:
    return Op(op & ~Op.EQ)


def _search(value: SparkColumn, borders: list[Border], first: int) -> SparkColumn:
    """The count of borders that a value lies behind, plus ``first``: a binary search as nested conditions."""
    from pyspark.sql import functions as f

    if not borders:
        return f.lit(first)
    middle = len(borders) // 2
    border = f.lit(borders[middle].value)
    before = value <= border if borders[middle].after else value < border
    return f.when(before, _search(value, borders[:middle], first)).otherwise(
        _search(value, borders[middle + 1 :], first + middle + 1)
    )


def _beyond(cells: np.ndarray, down: Sequence[bool]) -> np.ndarray:
    """For each cell the sum of the cells that are strictly above it in every dimension (below, where ``down``)."""
    flips = tuple(axis for axis, descending in enumerate(down) if not descending)
    turned = np.flip(cells, flips)
    for axis in range(cells.ndim):
        turned = np.cumsum(turned, axis=axis)
    shifted = np.zeros_like(turned)
    shifted[(slice(1, None),) * cells.ndim] = turned[(slice(None, -1),) * cells.ndim]
    return np.flip(shifted, flips)


def _ascending(s: np.ndarray, t: np.ndarray, down: Sequence[bool]) -> int:
    beyond = _beyond(t, down)
    if int(s.sum()) * int(t.sum()) < _SAFE_PAIRS:
        return int((s * beyond).sum())
    return sum(int(a) * int(b) for a, b in zip(s.ravel().tolist(), beyond.ravel().tolist(), strict=True) if a and b)
