"""Rules about single rows: *filter*."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rowlaw.engine.spark import costs
from rowlaw.engine.spark.aggregate import true_of_row
from rowlaw.engine.spark.plan import PAIRS, AnyPart, Counted, Job
from rowlaw.engine.spark.roles import Scope, may_be
from rowlaw.engine.spark.shape import Shape
from rowlaw.engine.spark.table import ROW
from rowlaw.engine.spark.view import View

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


@dataclass(frozen=True, slots=True)
class FilterPlan:
    """Count the rows that make all predicates true. All rules share one scan."""

    name: ClassVar[str] = "filter"
    meaning: ClassVar[str] = "one filter in Spark SQL"

    def applies(self, view: View, shape: Shape, scope: Scope) -> bool:  # noqa: ARG002 - the shape decides
        return shape.single

    def in_two_roles(self, shape: Shape) -> bool:  # noqa: ARG002 - there is one role
        return False

    def seconds(self, view: View, shape: Shape) -> float:  # noqa: ARG002 - every filter is one scan
        return costs.JOB + view.table.rows * costs.SCAN_ROW

    def jobs(self, view: View, rows: DataFrame, parts: Sequence[AnyPart]) -> list[Job]:
        def work() -> list[Counted]:
            from pyspark.sql import functions as f

            sums = [f.count_if(_breaks(view, rows, part.shape)).alias(f"n{i}") for i, part in enumerate(parts)]
            (counts,) = rows.agg(*sums).collect()
            return [Counted(part.rule, part.sign * int(n), int(n)) for part, n in zip(parts, counts, strict=True)]

        return [Job(f"filter rows for {len(parts)} rules", work)]

    def frames(self, view: View, rows: DataFrame, part: AnyPart) -> list[DataFrame]:
        from pyspark.sql import functions as f

        return [single_rows(view, rows, part.shape).select(ROW, f.lit(1).cast("bigint").alias(PAIRS))]


def single_rows(view: View, rows: DataFrame, shape: Shape) -> DataFrame:
    """The rows that break a rule about single rows, of those that may stand for ``s``."""
    return rows.where(_breaks(view, rows, shape))


def _breaks(view: View, rows: DataFrame, shape: Shape) -> Column:
    predicates = (*shape.s_filters, *shape.t_filters)
    return may_be(view.table, rows, shape, "s", view.scope) & true_of_row(view.table, rows, predicates)
