"""Statistics of the columns of a Spark table: exactly those that one process would find, computed where the rows are,
when asked for."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from rowlaw.engine.spark.table import SparkTable
from rowlaw.errors import no_column
from rowlaw.rules.model import TypeClass

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_CANCELLED = 1e-6  # a mean below this share of the mean of absolute values may be rounding error


@dataclass(frozen=True)
class SparkColumn:
    """What is known of a column; counts are jobs, and made once."""

    statistics: SparkStatistics
    name: str
    type: TypeClass
    arrow_type: pa.DataType

    @cached_property
    def distinct(self) -> int:
        return int(self.statistics.values(self.name).count())

    @property
    def nulls(self) -> int:
        return self.statistics.nulls[self.name]


@dataclass(frozen=True)
class SparkStatistics:
    """The statistics of a Spark table."""

    table: SparkTable

    @property
    def rows(self) -> int:
        return self.table.rows

    @property
    def row_id(self) -> tuple[str, ...]:
        return self.table.row_id

    @cached_property
    def columns(self) -> tuple[SparkColumn, ...]:
        types, arrow_types = self.table.types, self.table.arrow_types
        return tuple(
            SparkColumn(self, name, types[name], arrow_types[name]) for name in self.table.schema.names if name in types
        )

    def column(self, name: str) -> SparkColumn:
        by_name = {column.name: column for column in self.columns}
        if name not in by_name:
            raise no_column(name, list(by_name), self.table.skipped)
        return by_name[name]

    @cached_property
    def nulls(self) -> dict[str, int]:
        """For each column the count of nulls: one job."""
        from pyspark.sql import functions as f

        plain, names = self.table.plain, self.table.names
        (counts,) = plain.agg(*(f.count_if(plain[names[c.name]].isNull()) for c in self.columns)).collect()
        return {column.name: int(n) for column, n in zip(self.columns, counts, strict=True)}

    def values(self, name: str) -> DataFrame:
        """The distinct values of a column, null left out."""
        column = self.table.plain[self.table.names[name]]
        return self.table.plain.select(column.alias("value")).where(column.isNotNull()).distinct()

    def shared_values(self, left: str, right: str) -> float:
        more = max(self.column(left).distinct, self.column(right).distinct)
        if not more:
            return 0.0
        sides = [self.values(name) for name in (left, right)]
        if self.table.arrow_types[left] != self.table.arrow_types[right]:
            # numbers of different types: Spark does not compare them exactly
            sides = [side.mapInArrow(_exact_texts, "value string") for side in sides]
        return int(sides[0].intersect(sides[1]).count()) / more

    def mean(self, name: str, *, exact: bool) -> Any:
        total, absolute, count = self._sums[name] if name in self._sums else self._sum(name)
        if not count:
            return None
        if exact or pa.types.is_decimal(self.table.arrow_types[name]):
            return total / count
        try:
            mean, spread = float(total / count), float(absolute)
        except OverflowError:
            return math.nan
        return mean if abs(mean) * count > _CANCELLED * spread else math.nan

    def frequent_values(self, name: str, share: float) -> list[Any]:
        from pyspark.sql import functions as f

        column = self.table.plain[self.table.names[name]]
        counts = self.table.plain.where(column.isNotNull()).groupBy(column.alias("value")).count()
        frequent = counts.where(f.col("count") >= share * self.rows).orderBy("value")
        return frequent.toArrow().column(0).to_pylist()  # type: ignore[no-any-return]

    @cached_property
    def _sums(self) -> dict[str, tuple[Fraction, Fraction, int]]:
        return {}

    def _sum(self, name: str) -> tuple[Fraction, Fraction, int]:
        """The exact sum of the finite values of a column, that of their absolute values, and their count."""
        total, absolute, count = Fraction(0), Fraction(0), 0
        for row in (
            self.table.plain.select(self.table.names[name])
            .mapInArrow(_exact_sums, "total string, absolute string, count bigint")
            .collect()
        ):
            total, absolute, count = total + Fraction(row[0]), absolute + Fraction(row[1]), count + row[2]
        self._sums[name] = (total, absolute, count)
        return self._sums[name]


def _exact_texts(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Values as texts that are equal if the values are, whatever their types."""
    for batch in batches:
        yield pa.record_batch(
            {"value": pa.array([_exact_text(value) for value in batch.column(0).to_pylist()], pa.string())}
        )


def _exact_text(value: Any) -> str:
    if isinstance(value, dt.datetime):
        return value.replace(tzinfo=None).isoformat()
    return str(Fraction(value)) if isinstance(value, int | float | Decimal) and math.isfinite(value) else str(value)


def _exact_sums(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Sums of fractions: no rounding, whatever the order of the rows."""
    total, absolute, count = Fraction(0), Fraction(0), 0
    for batch in batches:
        values = batch.column(0).drop_null()
        for entry in values.value_counts().to_pylist():
            if math.isfinite(entry["values"]):
                part = Fraction(entry["values"]) * entry["counts"]
                total, absolute, count = total + part, absolute + abs(part), count + entry["counts"]
    yield pa.record_batch(
        [pa.array([str(total)]), pa.array([str(absolute)]), pa.array([count], pa.int64())],
        names=["total", "absolute", "count"],
    )
