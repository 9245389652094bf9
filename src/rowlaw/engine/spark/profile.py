"""What the values of columns are like, from one aggregate over the whole table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from rowlaw.engine.answers import ColumnProfile
from rowlaw.engine.spark.table import SparkTable
from rowlaw.source.types import type_name
from rowlaw.spark.jobs import described

if TYPE_CHECKING:
    from pyspark.sql import Column

# 2^_SKETCH counters: about 1% off. As exact, approx_count_distinct has a column of Spark's for every few counters, and
# planning seven columns takes 30 s.
_SKETCH = 14
_TRACKED = 10_000  # values that Spark keeps in view to find the most frequent ones
_TOP_K_SINCE = (4, 1)  # the version of Spark that has approx_top_k
_FEW = 1000  # distinct values below which the estimate is exact: all values are then in view


def profiles(table: SparkTable, columns: Sequence[str], top: int) -> list[ColumnProfile]:
    """Describe columns in one pass: no row leaves the JVM. Distinct values are estimated unless they are few.

    The most frequent values need Spark 4.1; before it there are none.
    """
    from pyspark.sql import functions as f

    frame = table.plain
    asked: list[Column] = [f.count(f.lit(1)).alias("rows")]
    frequent = top > 0 and tuple(map(int, table.session.version.split(".")[:2])) >= _TOP_K_SINCE
    for i, name in enumerate(columns):
        value = frame[table.names[name]]
        asked += [
            f.count(value).alias(f"known{i}"),
            _about_distinct(value, table.arrow_types[name]).alias(f"distinct{i}"),
        ]
        asked += [f.min(value).alias(f"lowest{i}"), f.max(value).alias(f"highest{i}")]
        if frequent:
            # its result would be cut at the number asked for: all values in view tell whether they are few
            asked.append(f.call_function("approx_top_k", value, f.lit(_FEW), f.lit(_TRACKED)).alias(f"top{i}"))
    with described(table.session, "profile"):
        # by Arrow: collected timestamps would be in the time zone of this process
        (row,) = frame.agg(*asked).toArrow().to_pylist()
    table.__dict__.setdefault("rows", int(row["rows"]))
    return [_column(table, name, row, i, top) for i, name in enumerate(columns)]


def _about_distinct(value: Column, arrow_type: pa.DataType) -> Column:
    """Estimate how many values there are by a sketch, which takes 64-bit integers and texts."""
    from pyspark.sql import functions as f

    if pa.types.is_floating(arrow_type):
        value = value + f.lit(0.0)  # -0.0 is 0.0
    integer = pa.types.is_integer(arrow_type)
    return f.hll_sketch_estimate(f.hll_sketch_agg(value.cast("long" if integer else "string"), f.lit(_SKETCH)))


def _column(table: SparkTable, name: str, row: dict[str, Any], i: int, top: int) -> ColumnProfile:
    counted = [(item["item"], int(item["count"])) for item in row.get(f"top{i}") or () if item["item"] is not None]
    counted.sort(key=lambda pair: (-pair[1], str(pair[0])))
    known = int(row[f"known{i}"])
    exact = sum(count for _, count in counted) == known  # every row is accounted for
    return ColumnProfile(
        name,
        type_name(table.arrow_types[name]),
        table.types[name],
        int(row["rows"]),
        int(row["rows"]) - known,
        len(counted) if exact else min(known, int(row[f"distinct{i}"])),
        row[f"lowest{i}"],
        row[f"highest{i}"],
        tuple(counted[:top]),
        exact,
    )
