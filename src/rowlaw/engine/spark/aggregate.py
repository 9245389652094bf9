"""Counting in Spark SQL: rules about single rows, and rules whose predicates between rows are only ``=`` and ``!=``.

Violations of such rules are sums over the sizes of groups. No row leaves the JVM.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING

import pyarrow as pa

from rowlaw.engine.answers import Count
from rowlaw.engine.spark import expressions
from rowlaw.engine.spark.roles import Scope, may_be, meeting_value
from rowlaw.engine.spark.shape import Shape
from rowlaw.engine.spark.table import SparkTable
from rowlaw.rules.conditions import Condition, OneOf, Range, comparisons
from rowlaw.rules.model import Column, Constant, Op, Predicate

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame

SAFE_ROWS = 3_000_000_000  # of a table, so that the square of their count is below 2^63


def true_of_row(table: SparkTable, frame: DataFrame, predicates: Sequence[Predicate]) -> SparkColumn:
    """Whether all predicates are true of one row; all of them speak of one row, whichever it is called."""
    from pyspark.sql import functions as f

    condition = f.lit(True)
    for p in predicates:
        if isinstance(p.right, Condition):
            condition = condition & condition_of_row(table, frame, p, p.right)
            continue
        arrow_type = table.arrow_types[table.own_name(p.left.name)]
        if pa.types.is_timestamp(arrow_type) and isinstance(p.right, Column):
            # of different types, perhaps: a Python worker would see instants in the time zone of its machine
            left, right = (
                expressions.micros(frame[c.name], table.arrow_types[table.own_name(c.name)]) for c in (p.left, p.right)
            )
            condition = condition & expressions.holds(p, left, right, table.nulls)
            continue
        if not in_spark(table, [p]):
            condition = condition & expressions.holds_in_python(p, frame, arrow_type, table.nulls)
            continue
        right = expressions.literal(p.right, arrow_type) if isinstance(p.right, Constant) else frame[p.right.name]
        condition = condition & expressions.holds(p, frame[p.left.name], right, table.nulls)
    return condition


def condition_of_row(table: SparkTable, frame: DataFrame, p: Predicate, condition: Condition) -> SparkColumn:
    """Whether a condition is true (``=``) or not (``!=``) of one row. Lists and ranges are comparisons."""
    if isinstance(condition, OneOf | Range):
        every, parts = comparisons(p.op, condition)
        each = [true_of_row(table, frame, [Predicate(p.left, op, value)]) for op, value in parts]
        return reduce(_and if every else _or, each)
    return expressions.condition(condition, p.op == Op.NE, frame[p.left.name], table.nulls)


def exact(column: SparkColumn, rows: int) -> SparkColumn:
    """A count of rows in a type whose squares can be summed up without loss."""
    return column.cast("bigint") if rows <= SAFE_ROWS else column.cast("decimal(19,0)")


def total(column: SparkColumn, rows: int) -> SparkColumn:
    """The sum of products of counts."""
    from pyspark.sql import functions as f

    return f.sum(column if rows <= SAFE_ROWS else column.cast("decimal(38,0)"))


def groups(table: SparkTable, frame: DataFrame, shape: Shape) -> DataFrame:
    """The groups of a key or functional dependency that break it, with what their rows need: its columns, ``n`` and
    ``cell``.

    ``n``: rows of the group; ``cell``: of these the ones that also agree on the right side (0 for a key).
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    known = table.known(frame, shape.columns)
    left = list(shape.same_equal)
    if not shape.differences:
        return known.groupBy(*left).agg(f.count(f.lit(1)).alias("n")).where("n > 1").withColumn("cell", f.lit(0))
    right = shape.differences[0].left.name
    cells = known.groupBy(*dict.fromkeys((*left, right))).agg(f.count(f.lit(1)).alias("cell"))
    group = Window.partitionBy(*map(f.col, left)) if left else Window.partitionBy(f.lit(0))
    whole = cells.withColumn("n", f.sum("cell").over(group)).withColumn("values", f.count(f.lit(1)).over(group))
    return whole.where("values > 1").drop("values")


def _and(a: SparkColumn, b: SparkColumn) -> SparkColumn:
    return a & b


def _or(a: SparkColumn, b: SparkColumn) -> SparkColumn:
    return a | b


def simple(shape: Shape) -> bool:
    """Whether a shape is a key or a functional dependency: then one aggregate also counts the rows that take part."""
    return shape.reflexive and not shape.inequalities and len(shape.differences) <= 1


def count_simple(table: SparkTable, frame: DataFrame, shape: Shape) -> DataFrame:
    """One row with the violations (``pairs``) and the rows that take part (``rows``) of a key or a functional
    dependency."""
    from pyspark.sql import functions as f

    known = table.known(frame, shape.columns)
    left = list(shape.same_equal)
    right = [p.left.name for p in shape.differences]
    sizes = known.groupBy(*left, *right).agg(f.count(f.lit(1)).alias("size"))
    return count_different(sizes, left, table.rows) if right else count_alike(sizes, table.rows)


def count_alike(sizes: DataFrame, rows: int) -> DataFrame:
    """The pairs of rows in groups of these sizes, in a table of so many rows, and the rows that have partners."""
    from pyspark.sql import functions as f

    n = exact(f.col("size"), rows)
    return sizes.agg(
        total(n * (n - 1), rows).alias("pairs"), f.sum(f.when(f.col("size") > 1, f.col("size"))).alias("rows")
    )


def count_different(sizes: DataFrame, left: Sequence[str], rows: int) -> DataFrame:
    """The pairs of rows that agree on ``left`` and are in different groups of these sizes, and the rows that have
    partners."""
    from pyspark.sql import functions as f

    n = exact(f.col("size"), rows)
    whole = sizes.groupBy(*left).agg(
        f.sum("size").alias("size"), total(n * n, rows).alias("squares"), f.count(f.lit(1)).alias("values")
    )
    n = exact(f.col("size"), rows)
    return whole.agg(
        total(n * n - f.col("squares"), rows).alias("pairs"),
        f.sum(f.when(f.col("values") > 1, f.col("size"))).alias("rows"),
    )


def count_products(table: SparkTable, frame: DataFrame, shape: Shape, scope: Scope = ()) -> DataFrame:
    """One row with the pairs of a shape that has only equalities: products of the sizes of groups.

    The pairs of rows with themselves are among them.
    """
    from pyspark.sql import functions as f

    sides = []
    for row, filters in (("s", shape.s_filters), ("t", shape.t_filters)):
        side = frame.where(may_be(table, frame, shape, row, scope) & true_of_row(table, frame, filters))
        keys = [meeting_value(table, side, p, row).alias(f"g{i}") for i, p in enumerate(shape.equal)]
        sides.append(side.groupBy(*keys).agg(f.count(f.lit(1)).alias(f"{row}_size")))
    s, t = sides
    on = [expressions.same(s[f"g{i}"], t[f"g{i}"], table.nulls) for i in range(len(shape.equal))]
    joined = s.join(t, reduce(_and, on)) if on else s.crossJoin(t)
    product = exact(f.col("s_size"), table.rows) * exact(f.col("t_size"), table.rows)
    return joined.agg(total(product, table.rows).alias("pairs"))


def in_spark(table: SparkTable, predicates: Sequence[Predicate]) -> bool:
    """Whether Spark compares all operands exactly."""
    types = {table.names[name]: dtype for name, dtype in table.arrow_types.items()}
    return all(expressions.comparable_in_spark(p, types) for p in predicates)


def as_count(row: object) -> Count:
    """A row of sums as a count; sums over nothing are null."""
    pairs, rows = (int(row[name] or 0) for name in ("pairs", "rows"))  # type: ignore[index]
    return Count(pairs, rows)
