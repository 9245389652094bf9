"""Cells that are probably wrong, on Spark: the votes of functional dependencies as joins with their groups.

What a vote is says :mod:`rowlaw.engine.local.suspects`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    """Cells that more rules contradict than confirm, those with most votes against them first: one query, and one
    before it if there are learnt rules."""
    learnt = [rule for rule, is_learnt in rules.items() if is_learnt]
    trusted = _saying_more_than_chance(view, rows, learnt) if learnt else set()
    by_column: dict[str, list[FunctionalDependency]] = {}
    for rule, is_learnt in rules.items():
        if not is_learnt or rule in trusted:
            by_column.setdefault(rule.right, []).append(rule)
    if not by_column:
        labels = rows.select(ROW).limit(0).toArrow().schema.field(ROW).type
        return pa.schema([pa.field("row", view.table.shown_id_type(labels)), *SCHEMA]).empty_table()
    cells = _accused(view, rows, by_column, limit)
    place = {name: i for i, name in enumerate(by_column)}
    records = sorted(named_records(cells), key=lambda r: (r["backing"] - r["against"], r["row"], place[r["column"]]))
    ids = view.table.shown_id_type(cells.schema.field("row").type)
    return pa.Table.from_pylist(records[:limit], schema=pa.schema([pa.field("row", ids), *SCHEMA]))


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


def _saying_more_than_chance(
    view: View, rows: DataFrame, rules: Sequence[FunctionalDependency]
) -> set[FunctionalDependency]:
    """The rules by which two rows of a group differ on the right side much less often than two rows of the table do."""
    from pyspark.sql import functions as f

    sums = []
    for number, rule in enumerate(rules):
        cells = _groups(view, rows, rule).where("size > 1")
        differ = f.sum(f.col("same") * (f.col("size") - f.col("same")) / (f.col("size") - 1))
        inside = cells.agg(differ.alias("differ"), f.sum("same").alias("company"))
        right = view.table.names[rule.right]
        known = view.table.known(rows, [*(view.table.names[c] for c in rule.left), right])
        often = known.groupBy(right).agg(f.count(f.lit(1)).alias("n"))
        equal = f.sum(f.col("n").cast("double") * (f.col("n") - 1))
        whole = often.agg(f.sum("n").alias("n"), equal.alias("equal"))
        sums.append(inside.crossJoin(whole).select(f.lit(number).alias("rule"), "*"))
    trusted = set()
    for row in reduce(lambda a, b: a.unionByName(b), sums).collect():
        if row["company"] and row["n"] >= 2:
            by_chance = 1 - row["equal"] / (row["n"] * (row["n"] - 1))
            if row["differ"] / row["company"] <= CHANCE * by_chance + ROUNDING:
                trusted.add(rules[row["rule"]])
    return trusted


def _accused(
    view: View, rows: DataFrame, by_column: Mapping[str, Sequence[FunctionalDependency]], limit: int | None
) -> pa.Table:
    """Cells that more rules contradict than confirm, unordered; those with most votes against them if ``limit`` is
    given."""
    from pyspark.sql import functions as f

    votes = [
        vote.select(f.lit(place).alias("place"), "*")
        for place, (name, rules) in enumerate(by_column.items())
        for vote in _votes(view, rows, name, rules)
    ]
    cells = (
        reduce(lambda a, b: a.unionByName(b), votes)
        .groupBy(ROW, "place")
        .agg(
            f.first("value").alias("value"),
            f.min("usual").alias("usual"),
            f.sum("against").alias("against"),
            f.sum("backing").alias("backing"),
        )
        .where("against > backing")
    )
    if limit is not None:
        cells = cells.orderBy(f.col("backing") - f.col("against"), ROW, "place").limit(limit)
    names = f.array(*(f.lit(name) for name in by_column))
    return cells.select(
        f.col(ROW).alias("row"),
        f.get(names, f.col("place")).alias("column"),
        "value",
        f.col("usual.usual").alias("usual"),
        "against",
        "backing",
    ).toArrow()


def _votes(view: View, rows: DataFrame, name: str, rules: Sequence[FunctionalDependency]) -> list[DataFrame]:
    """What each rule says about the cells of a column: their row, value and usual value, and its vote."""
    from pyspark.sql import functions as f

    table, right = view.table, view.table.names[name]
    used = sorted({table.names[c] for rule in rules for c in rule.columns})
    votes = []
    for number, rule in enumerate(rules):
        cells = _groups(view, rows, rule).where(f"size > 1 and best.same * {MOST[1]} >= size * {MOST[0]}")
        if len(rules) == 1:  # no other rule confirms what it contradicts: few rows have to be found
            cells = cells.where("same < best.same")
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
    return votes
