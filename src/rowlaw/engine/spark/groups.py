"""Rules made of ``=`` and ``!=`` only, counted from the sizes of groups in Spark SQL: *aggregate* and *products*."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import TYPE_CHECKING, ClassVar

from rowlaw.engine.spark import aggregate, costs, expressions
from rowlaw.engine.spark.plan import PAIRS, AnyPart, Counted, Job
from rowlaw.engine.spark.roles import Scope, may_be, meeting_value
from rowlaw.engine.spark.shape import Shape
from rowlaw.engine.spark.table import ROW
from rowlaw.engine.spark.view import View

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


@dataclass(frozen=True, slots=True)
class AggregatePlan:
    """Keys and functional dependencies: group sizes, with map-side combination. Also counts the rows that take part."""

    name: ClassVar[str] = "aggregate"
    meaning: ClassVar[str] = "group sizes in Spark SQL; no row leaves the JVM"

    def applies(self, view: View, shape: Shape, scope: Scope) -> bool:
        return aggregate.simple(shape) and not scope and aggregate.in_spark(view.table, shape.between)

    def in_two_roles(self, shape: Shape) -> bool:  # noqa: ARG002 - groups have no roles
        return False

    def seconds(self, view: View, shape: Shape) -> float:  # noqa: ARG002 - how many groups there are is not known yet
        return costs.JOB + view.table.rows * costs.SHUFFLE_ROW

    def jobs(self, view: View, rows: DataFrame, parts: Sequence[AnyPart]) -> list[Job]:
        def work(part: AnyPart) -> list[Counted]:
            count = aggregate.as_count(aggregate.count_simple(view.table, rows, part.shape).first())
            return [Counted(part.rule, part.sign * count.pairs, count.rows)]

        return [Job(f"aggregate {part.shape}", partial(work, part)) for part in parts]

    def frames(self, view: View, rows: DataFrame, part: AnyPart) -> list[DataFrame]:
        """Rows of the broken groups, which are joined because they are few."""
        from pyspark.sql import functions as f

        shape = part.shape
        broken = aggregate.groups(view.table, rows, shape)
        # a column may be among both: no two rows break such a rule
        names = list(dict.fromkeys((*shape.same_equal, *(p.left.name for p in shape.differences))))
        broken = broken.select(*(broken[name].alias(f"g_{name}") for name in names), "n", "cell")
        on = [expressions.same(rows[name], f.col(f"g_{name}"), view.table.nulls) for name in names]
        other = f.col("n") - (f.col("cell") if shape.differences else f.lit(1))
        # without any column, all rows are one group
        joined = rows.join(broken, all_of(on)) if on else rows.crossJoin(broken)
        return [joined.select(rows[ROW], (2 * other).cast("bigint").alias(PAIRS))]


@dataclass(frozen=True, slots=True)
class ProductsPlan:
    """Equalities only, also across columns and with filters: products of the sizes of the groups of both roles."""

    name: ClassVar[str] = "products"
    meaning: ClassVar[str] = "products of group sizes in Spark SQL; no row leaves the JVM"

    def applies(self, view: View, shape: Shape, scope: Scope) -> bool:  # noqa: ARG002 - any scope will do
        return (
            not shape.single
            and not shape.inequalities
            and not shape.differences
            and aggregate.in_spark(view.table, shape.between)
        )

    def in_two_roles(self, shape: Shape) -> bool:  # noqa: ARG002 - always
        return True

    def seconds(self, view: View, shape: Shape) -> float:  # noqa: ARG002 - how many groups there are is not known yet
        return costs.JOB + 2 * view.table.rows * costs.SHUFFLE_ROW

    def jobs(self, view: View, rows: DataFrame, parts: Sequence[AnyPart]) -> list[Job]:
        def work(part: AnyPart) -> list[Counted]:
            (row,) = aggregate.count_products(view.table, rows, part.shape, part.scope).collect()
            return [Counted(part.rule, part.sign * int(row[PAIRS] or 0), None)]

        return [Job("products of group sizes", partial(work, part)) for part in parts]

    def frames(self, view: View, rows: DataFrame, part: AnyPart) -> list[DataFrame]:
        """A row takes part in as many pairs as its group has rows of the other role."""
        from pyspark.sql import functions as f

        table, shape = view.table, part.shape
        sides = {}
        for row, filters in (("s", shape.s_filters), ("t", shape.t_filters)):
            side = rows.where(may_be(table, rows, shape, row, part.scope) & aggregate.true_of_row(table, rows, filters))
            sides[row] = side.select(
                ROW, *(meeting_value(table, side, p, row).alias(f"{row}{i}") for i, p in enumerate(shape.equal))
            )
        frames = []
        for row, other in (("s", "t"), ("t", "s")):
            keys = [f"{other}{i}" for i in range(len(shape.equal))]
            sizes = sides[other].groupBy(*keys).agg(f.count(f.lit(1)).alias(PAIRS))
            on = [
                expressions.same(sides[row][f"{row}{i}"], sizes[f"{other}{i}"], table.nulls) for i in range(len(keys))
            ]
            joined = sides[row].join(sizes, all_of(on)) if on else sides[row].crossJoin(sizes)
            frames.append(joined.select(sides[row][ROW], sizes[PAIRS]))
        return frames


def all_of(conditions: Sequence[Column]) -> Column:
    """The conjunction of at least one condition."""
    return reduce(lambda a, b: a & b, conditions)
