"""Which rows to remove so that a rule holds, on Spark.

For keys and functional dependencies groups say at once what to keep. For other rules the violating pairs are listed if
they are few, and a greedy cover of them bounds the answer from above, as on one machine; if they are many, all rows
that take part as ``s`` are such a bound.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from rowlaw.engine.answers import Removal
from rowlaw.engine.local.removal import rows_to_remove as remove_locally
from rowlaw.engine.local.rows import RowEngine
from rowlaw.engine.spark.table import ROW
from rowlaw.engine.spark.view import View
from rowlaw.relation.memory import MemoryRelation
from rowlaw.rules.model import FunctionalDependency, Key, Rule, about_single_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_COLLECTED_ROWS = 200_000  # rows that take part in violations and are brought to the driver


def rows_to_remove(
    view: View, rows: DataFrame, rule: Rule, pairs: int, involved: DataFrame, limit: int | None
) -> Removal:
    """The fewest rows without which a rule holds, or an upper bound, and the ids of the first ``limit`` of them."""
    if not pairs:
        return Removal(0, exact=True, first=())
    table = view.table
    if about_single_rows(rule):
        return _removal(view, involved.select(ROW), limit, exact=True)
    broken = rows.join(involved.select(ROW), ROW, "left_semi")
    match rule:
        case Key(columns):
            return _removal(view, _behind(view, broken, [table.names[c] for c in columns], None), limit, exact=True)
        case FunctionalDependency(left, right):
            return _removal(
                view, _behind(view, broken, [table.names[c] for c in left], table.names[right]), limit, exact=True
            )
    safe = [table.names[c] for c in rule.columns]
    held = broken.select(ROW, *safe).orderBy(ROW).limit(_COLLECTED_ROWS + 1).toArrow()
    if held.num_rows > _COLLECTED_ROWS:
        return _removal(view, involved.select(ROW), limit, exact=False)
    # only rows that take part matter, so removing among them is removing in the table
    relation = MemoryRelation.of(held.select(safe).rename_columns(list(rule.columns)))
    removed = remove_locally(RowEngine(relation, table.nulls), rule)
    ids = table.row_names(held.column(ROW).take(pa.array(removed.rows[:limit])))
    return Removal(len(removed), removed.exact, tuple(ids))


def _behind(view: View, rows: DataFrame, left: list[str], right: str | None) -> DataFrame:
    """Of each group all rows but the first one; or, of a dependency, all but those with the group's most frequent
    value."""
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    known = view.table.known(rows, [*left, *([right] if right is not None else [])])
    group = Window.partitionBy(*map(f.col, left)) if left else Window.partitionBy(f.lit(0))
    if right is None:
        return known.withColumn("place", f.row_number().over(group.orderBy(ROW))).where("place > 1").select(ROW)
    counted = known.withColumn("often", f.count(f.lit(1)).over(Window.partitionBy(*left, right)))
    # of two values that are equally frequent the lower one stays, as on one machine
    best = f.first(f.struct(f.col(right).alias("value"))).over(group.orderBy(f.desc("often"), f.asc_nulls_first(right)))
    return counted.withColumn("best", best).where(~f.col(right).eqNullSafe(f.col("best.value"))).select(ROW)


def _removal(view: View, removed: DataFrame, limit: int | None, *, exact: bool) -> Removal:
    ordered = removed.orderBy(ROW)
    some = ordered if limit is None else ordered.limit(limit)
    first = [] if limit == 0 else view.table.row_names(some.toArrow().column(0))
    return Removal(len(first) if limit is None else int(removed.count()), exact, tuple(first))
