"""The plan that counts inequalities by buckets: its jobs, and the rows that take part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa

from rowlaw.engine.spark import aggregate, costs, expressions
from rowlaw.engine.spark.bucket import Buckets
from rowlaw.engine.spark.groups import all_of
from rowlaw.engine.spark.partition import counted_rows
from rowlaw.engine.spark.plan import PAIRS, AnyPart, Counted, Job
from rowlaw.engine.spark.roles import Scope, may_be
from rowlaw.engine.spark.shape import Shape
from rowlaw.engine.spark.table import ROW
from rowlaw.engine.spark.view import View
from rowlaw.engine.spark.worker import COUNT_SCHEMA, CountTask
from rowlaw.spark.jobs import frame_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class BucketPlan:
    """Inequalities without an equality, or inside a few groups that are too large for a task: see :class:`Buckets`."""

    name: ClassVar[str] = "bucket"
    meaning: ClassVar[str] = (
        "compared columns are cut into ranges; a histogram decides most pairs, and tasks count those that share a range"
    )

    def applies(self, view: View, shape: Shape, scope: Scope) -> bool:  # noqa: ARG002 - groups of any size are cut
        return (
            bool(shape.inequalities)
            and not shape.differences
            and (not shape.equal or any(within.inside for within in scope))
        )

    def in_two_roles(self, shape: Shape) -> bool:
        return not shape.reflexive

    def seconds(self, view: View, shape: Shape) -> float:
        passes = len(shape.inequalities) * (1 if shape.reflexive else 2)
        sending = passes * (costs.SEND_ROW + costs.COUNT_ROW)
        return costs.PYTHON_JOB + costs.JOB + view.table.rows * (sending + costs.GROUP_ROW)

    def jobs(self, view: View, rows: DataFrame, parts: Sequence[AnyPart]) -> list[Job]:
        jobs = []
        for number, part in enumerate(parts):
            buckets = Buckets(view, part.shape, part.scope)
            jobs.append(Job("pairs that share a bucket", partial(_near, buckets, rows, number, part)))
            jobs.append(Job("histogram of buckets", partial(_far, buckets, rows, part)))
        return jobs

    def frames(self, view: View, rows: DataFrame, part: AnyPart) -> list[DataFrame]:
        """Pairs that share a bucket are counted by tasks; those that do not, by a look at a small table."""
        buckets = Buckets(view, part.shape, part.scope)
        frames = [counted_rows(view, buckets.passes(rows, [ROW]), buckets.items(0), rows)]
        table = view.table
        for row, cells in zip(("s", "t"), buckets.tables(buckets.histograms(rows)), strict=True):
            filters = part.shape.s_filters if row == "s" else part.shape.t_filters
            side = rows.where(
                may_be(table, rows, part.shape, row, part.scope) & aggregate.true_of_row(table, rows, filters)
            )
            looked_up = _cell_frame(view, side, cells, buckets, row)
            if looked_up is not None:
                frames.append(looked_up)
        return frames


def _near(buckets: Buckets, rows: DataFrame, number: int, part: AnyPart) -> list[Counted]:
    task = CountTask(buckets.items(number), buckets.view.table.nulls, with_rows=False)
    pairs = sum(int(row["pairs"]) for row in buckets.passes(rows).mapInArrow(task, COUNT_SCHEMA).collect())
    return [Counted(part.rule, part.sign * pairs, None)]


def _far(buckets: Buckets, rows: DataFrame, part: AnyPart) -> list[Counted]:
    return [Counted(part.rule, part.sign * buckets.decided(buckets.histograms(rows)), None)]


def _cell_frame(
    view: View, side: DataFrame, cells: dict[tuple[Any, ...], np.ndarray], buckets: Buckets, row: str
) -> DataFrame | None:
    """The rows of a role with the count of their partners that buckets alone decide."""
    from pyspark.sql import functions as f

    shape = buckets.shape
    listed = [
        (group, vector, int(count))
        for group, array in cells.items()
        for vector, count in np.ndenumerate(array)
        if count
    ]
    if not listed:
        return None
    values = buckets.group(side, row, "v")
    vector = [buckets.bucket(side, i, row).alias(f"w{i}") for i in range(len(shape.inequalities))]
    mine = side.select(ROW, *values, *vector)
    types = dict(mine.dtypes)
    columns: dict[str, Any] = {f"b{i}": pa.array([v[i] for _, v, _ in listed], pa.int32()) for i in range(len(vector))}
    columns |= {f"g{i}": pa.array([g[i] for g, _, _ in listed]) for i in range(len(values))}
    columns[PAIRS] = pa.array([count for *_, count in listed], pa.int64())
    small = frame_of(view.table.session, pa.table(columns))
    for i in range(len(values)):
        small = small.withColumn(f"g{i}", small[f"g{i}"].cast(types[f"v{i}"]))
    on = [mine[f"w{i}"] == small[f"b{i}"] for i in range(len(vector))]
    on += [expressions.same(mine[f"v{i}"], small[f"g{i}"], view.table.nulls) for i in range(len(values))]
    return mine.join(f.broadcast(small), all_of(on)).select(mine[ROW], small[PAIRS])
