"""The rows that take part in violations, and in how many: a frame for each rule, from the plans that counted it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from rowlaw.engine.spark import aggregate, expressions
from rowlaw.engine.spark.bucket import Buckets
from rowlaw.engine.spark.count import Part, itself, single_rows
from rowlaw.engine.spark.keyed import Keyed
from rowlaw.engine.spark.roles import may_be, meeting_value
from rowlaw.engine.spark.table import ROW
from rowlaw.engine.spark.view import View
from rowlaw.engine.spark.worker import Item, RowsTask
from rowlaw.spark.jobs import frame_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

PAIRS = "pairs"


def rows_involved(view: View, rows: DataFrame, parts: Sequence[Part]) -> DataFrame:
    """The rows that take part in violations of one rule: ``row`` and ``pairs``. ``rows`` is the labelled frame."""
    from pyspark.sql import functions as f

    frames = [frame for part in parts for frame in _frames(view, rows, part)]
    if len(frames) == 1 and not parts[0].in_two_roles:
        return frames[0]
    together = reduce(lambda a, b: a.unionByName(b), frames)
    return together.groupBy(ROW).agg(f.sum(PAIRS).alias(PAIRS)).where(f.col(PAIRS) > 0)


def _frames(view: View, rows: DataFrame, part: Part) -> list[DataFrame]:
    """Frames of rows and signed numbers of pairs that add up to those of a part."""
    from pyspark.sql import functions as f

    match part.plan:
        case "filter":
            found = [single_rows(view, rows, part.shape).select(ROW, f.lit(1).cast("bigint").alias(PAIRS))]
        case "aggregate":
            found = [_in_groups(view, rows, part)]
        case "products":
            found = _in_products(view, rows, part)
        case "keyed":
            plan = Keyed((Item(0, part.shape.denial()),), (part.shape,), part.meeting_columns, part.scope)
            found = [_by_tasks(view, plan.frame(view, rows, [ROW]), plan.items, rows)]
        case _:
            found = _in_buckets(view, rows, part)
    own = itself(view, rows, part) if part.in_two_roles else None
    if own is not None:
        found.append(own.select(ROW, f.lit(-2).cast("bigint").alias(PAIRS)))
    return [frame.select(ROW, (f.col(PAIRS) * part.sign).alias(PAIRS)) for frame in found] if part.sign < 0 else found


def _by_tasks(view: View, sent: DataFrame, items: tuple[Item, ...], rows: DataFrame) -> DataFrame:
    task = RowsTask(items, view.table.nulls, ROW)
    return sent.mapInArrow(task, f"item int, {ROW} {dict(rows.dtypes)[ROW]}, {PAIRS} bigint").drop("item")


def _in_groups(view: View, rows: DataFrame, part: Part) -> DataFrame:
    """A key or functional dependency: rows of the broken groups, which are joined because they are few."""
    from pyspark.sql import functions as f

    shape = part.shape
    broken = aggregate.groups(view.table, rows, shape)
    names = [*shape.same_equal, *(p.left.name for p in shape.differences)]
    broken = broken.select(*(broken[name].alias(f"g_{name}") for name in names), "n", "cell")
    on = [expressions.same(rows[name], f.col(f"g_{name}"), view.table.nulls) for name in names]
    other = f.col("n") - (f.col("cell") if shape.differences else f.lit(1))
    return rows.join(broken, _all(on)).select(rows[ROW], (2 * other).cast("bigint").alias(PAIRS))


def _all(conditions: Sequence[Column]) -> Column:
    return reduce(lambda a, b: a & b, conditions)


def _in_products(view: View, rows: DataFrame, part: Part) -> list[DataFrame]:
    """Equalities only: a row takes part in as many pairs as its group has rows of the other role."""
    from pyspark.sql import functions as f

    table, shape = view.table, part.shape
    sides = {}
    for row, filters in (("s", shape.s_filters), ("t", shape.t_filters)):
        side = rows.where(may_be(table, rows, shape, row, part.scope) & aggregate.true_of_row(table, rows, filters))
        sides[row] = side.select(ROW, *(meeting_value(table, side, p, row).alias(f"{row}{i}") for i, p in enumerate(shape.equal)))
    found = []
    for row, other in (("s", "t"), ("t", "s")):
        keys = [f"{other}{i}" for i in range(len(shape.equal))]
        sizes = sides[other].groupBy(*keys).agg(f.count(f.lit(1)).alias(PAIRS))
        on = [expressions.same(sides[row][f"{row}{i}"], sizes[f"{other}{i}"], table.nulls) for i in range(len(keys))]
        joined = sides[row].join(sizes, _all(on)) if on else sides[row].crossJoin(sizes)
        found.append(joined.select(sides[row][ROW], sizes[PAIRS]))
    return found


def _in_buckets(view: View, rows: DataFrame, part: Part) -> list[DataFrame]:
    """Inequalities: pairs that share a bucket are counted by tasks; those that do not, by a look at a small table."""
    buckets = Buckets(view, part.shape, part.scope)
    found = [_by_tasks(view, buckets.passes(rows, [ROW]), buckets.items(0), rows)]
    table = view.table
    for row, cells in zip(("s", "t"), buckets.tables(buckets.histograms(rows)), strict=True):
        filters = part.shape.s_filters if row == "s" else part.shape.t_filters
        side = rows.where(may_be(table, rows, part.shape, row, part.scope) & aggregate.true_of_row(table, rows, filters))
        looked_up = _cell_frame(view, side, cells, buckets, row)
        if looked_up is not None:
            found.append(looked_up)
    return found


def _cell_frame(view: View, side: DataFrame, cells: dict[tuple[Any, ...], np.ndarray], buckets: Buckets, row: str) -> DataFrame | None:
    """The rows of a role with the count of their partners that buckets alone decide."""
    from pyspark.sql import functions as f

    shape = buckets.shape
    listed = [(group, vector, int(count)) for group, array in cells.items() for vector, count in np.ndenumerate(array) if count]
    if not listed:
        return None
    values = [meeting_value(view.table, side, p, row).alias(f"v{i}") for i, p in enumerate(shape.equal)]
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
    return mine.join(f.broadcast(small), _all(on)).select(mine[ROW], small[PAIRS])
