"""Cells that are probably wrong, on Spark: the votes of functional dependencies as joins with their groups.

What a vote is says :mod:`rowlaw.engine.local.suspects`. Only cells that some dependency contradicts are looked at by
the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import TYPE_CHECKING

import pyarrow as pa

from rowlaw.engine.local.suspects import CHANCE, MOST, ROUNDING
from rowlaw.engine.spark.expressions import same
from rowlaw.engine.spark.table import ROW
from rowlaw.engine.spark.view import View
from rowlaw.rules.model import FunctionalDependency
from rowlaw.source.row_ids import named_records

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SCHEMA = pa.schema(
    [
        ("column", pa.string()),
        ("value", pa.string()),
        ("usual", pa.string()),
        ("against", pa.int64()),
        ("backing", pa.int64()),
    ]
)


def suspects(view: View, rows: DataFrame, rules: Mapping[FunctionalDependency, bool], limit: int | None) -> pa.Table:
    """Cells that more rules contradict than confirm, those with most votes against them first."""
    by_column: dict[str, list[FunctionalDependency]] = {}
    for rule, learnt in rules.items():
        if not learnt or _says_more_than_chance(view, rows, rule):
            by_column.setdefault(rule.right, []).append(rule)
    tables = [_accused(view, rows, name, some, limit) for name, some in by_column.items()]
    labels = rows.select(ROW).limit(0).toArrow().schema.field(ROW).type
    schema = pa.schema([pa.field("row", labels), *SCHEMA])
    cells = pa.concat_tables([schema.empty_table(), *(table.cast(schema) for table in tables)])
    place = {name: i for i, name in enumerate(by_column)}
    records = sorted(named_records(cells), key=lambda r: (r["backing"] - r["against"], r["row"], place[r["column"]]))
    shown = schema.set(0, pa.field("row", view.table.shown_id_type(labels)))
    return pa.Table.from_pylist(records[:limit], schema=shown)


def _groups(view: View, rows: DataFrame, rule: FunctionalDependency) -> DataFrame:
    """The cells of a dependency: its left side, ``value``, ``same`` (rows of the cell), ``size`` (of the group) and
    what is usual there."""
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    left, right = [view.table.names[c] for c in rule.left], view.table.names[rule.right]
    known = view.table.known(rows, [*left, right])
    cells = known.groupBy(*left, f.col(right).alias("value")).agg(f.count(f.lit(1)).alias("same"))
    group = Window.partitionBy(*map(f.col, left)) if left else Window.partitionBy(f.lit(0))
    best = f.first(f.struct("value", "same")).over(group.orderBy(f.desc("same"), f.asc_nulls_first("value")))
    return cells.withColumn("size", f.sum("same").over(group)).withColumn("best", best)


def _says_more_than_chance(view: View, rows: DataFrame, rule: FunctionalDependency) -> bool:
    """Whether two rows of a group differ on the right side much less often than two rows of the table do."""
    from pyspark.sql import functions as f

    cells = _groups(view, rows, rule).where("size > 1")
    inside = cells.agg(
        f.sum(f.col("same") * (f.col("size") - f.col("same")) / (f.col("size") - 1)), f.sum("same")
    ).first()
    right = view.table.names[rule.right]
    known = view.table.known(rows, [*(view.table.names[c] for c in rule.left), right])
    often = known.groupBy(right).agg(f.count(f.lit(1)).alias("n"))
    whole = often.agg(f.sum("n"), f.sum(f.col("n") * (f.col("n") - 1))).first()
    if inside is None or not inside[1] or whole is None or whole[0] < 2:
        return False
    by_chance = 1 - whole[1] / (whole[0] * (whole[0] - 1))
    return bool(inside[0] / inside[1] <= CHANCE * by_chance + ROUNDING)


def _accused(view: View, rows: DataFrame, name: str, rules: list[FunctionalDependency], limit: int | None) -> pa.Table:
    """Cells of one column that more rules contradict than confirm."""
    from pyspark.sql import functions as f

    table, right = view.table, view.table.names[name]
    used = sorted({table.names[c] for rule in rules for c in rule.columns})
    votes = []
    for number, rule in enumerate(rules):
        cells = _groups(view, rows, rule).where(f"size > 1 and best.same * {MOST[1]} >= size * {MOST[0]}")
        left = [table.names[c] for c in rule.left]
        renamed = cells.select(*(cells[c].alias(f"g_{c}") for c in left), "value", "same", "best")
        on = [same(rows[c], f.col(f"g_{c}"), table.nulls) for c in left]
        on.append(same(rows[right], f.col("value"), table.nulls))
        joined = rows.select(ROW, *used).join(renamed, reduce(lambda a, b: a & b, on))
        against = (f.col("same") < f.col("best.same")).cast("bigint")
        backing = (f.col("same") == f.col("best.same")).cast("bigint")
        usual = f.when(
            against == 1, f.struct(f.lit(number).alias("rule"), f.col("best.value").cast("string").alias("usual"))
        )
        votes.append(
            joined.select(
                ROW,
                f.col(right).cast("string").alias("value"),
                usual.alias("usual"),
                against.alias("against"),
                backing.alias("backing"),
            )
        )
    together = (
        reduce(lambda a, b: a.unionByName(b), votes)
        .groupBy(ROW)
        .agg(
            f.first("value").alias("value"),
            f.min("usual").alias("usual"),
            f.sum("against").alias("against"),
            f.sum("backing").alias("backing"),
        )
    )
    accused = together.where("against > backing").orderBy(f.col("backing") - f.col("against"), ROW)
    accused = accused if limit is None else accused.limit(limit)
    chosen = accused.select(
        f.col(ROW).alias("row"),
        f.lit(name).alias("column"),
        "value",
        f.col("usual.usual").alias("usual"),
        "against",
        "backing",
    )
    return chosen.toArrow()
