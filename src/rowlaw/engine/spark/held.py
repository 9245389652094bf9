"""The rows that take part in violations of a few rules, held by this process where they are few.

Every partner of such a row takes part too, so the local engine answers from these rows alone what it would answer from
the table: the first violations, the worst rows, the rows to remove. Two Spark queries serve several rules.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING

import pyarrow as pa

from rowlaw.engine.answers import Removal, WorstRow, value_names
from rowlaw.engine.local.findings import LocalFindings
from rowlaw.engine.local.rows import RowEngine
from rowlaw.engine.local.tasks import ALL
from rowlaw.engine.spark.limits import ROW_OVERHEAD, VALUE_BYTES
from rowlaw.engine.spark.row_order import in_order_of_ids
from rowlaw.engine.spark.table import ROW, SparkTable
from rowlaw.engine.spark.view import View
from rowlaw.relation.memory import MemoryRelation
from rowlaw.rules.model import Rule, about_single_rows
from rowlaw.source.row_ids import row_names

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_HELD_ROWS = 200_000  # rows at most: the local engine answers in about a second
AT_ONCE = 8  # rules that are looked up by one query: a question about one rule should not wait for hundreds


@dataclass(frozen=True)
class HeldRows:
    """All rows that take part in violations of some rules, in the order of their ids. ``places``: the position of each
    rule among those of ``findings``. ``schema``: the columns of the rules as Spark gives them."""

    table: SparkTable
    ids: pa.Array  # as users see them
    schema: pa.Schema
    findings: LocalFindings
    places: Mapping[int, int]

    def first(self, rule: int, limit: int, each: int | None) -> pa.Table:
        """Violations of the worst rows, as :meth:`rowlaw.engine.protocol.Findings.first` lists them."""
        checked = self.findings.checked[self.places[rule]]
        listed = self.findings.first(self.places[rule], limit, each)
        single = about_single_rows(checked)
        s, t = (self.ids.take(listed.column(name)) for name in ("s#", "t#"))
        columns: dict[str, pa.Array] = {"s_row": s} if single else {"s_row": s, "t_row": t}
        for (_, column), name in value_names(checked.columns).items():
            columns[name] = listed.column(name).cast(self.schema.field(column).type)
        if self.table.row_id:  # such rows have no numbers: they are numbered as they come
            s = pa.array(range(0, 2 * len(s), 2), pa.int64())
            t = s if single else pa.compute.add(s, 1)
        return pa.table({**columns, "s#": s, "t#": t})

    def worst(self, limit: int, columns: Sequence[str]) -> list[WorstRow]:
        """The rows in most violations over all of the rules, worst first."""
        numbers = {place: rule for rule, place in self.places.items()}
        worst = self.findings.worst(limit, columns)
        names = row_names(self.ids.take(pa.array([row.row for row in worst], pa.int64())))
        return [
            replace(row, row=name, pairs_of={numbers[place]: pairs for place, pairs in row.pairs_of.items()})
            for row, name in zip(worst, names, strict=True)
        ]

    def rows_to_remove(self, rule: int, limit: int | None) -> Removal:
        removed = self.findings.rows_to_remove(self.places[rule], limit)
        return replace(removed, first=tuple(row_names(self.ids.take(pa.array(removed.first, pa.int64())))))


def most_rows(view: View, rules: Sequence[Rule]) -> int:
    """How many rows of the columns of some rules this process may hold."""
    table = view.table
    columns = {column for rule in rules for column in rule.columns}
    row_bytes = ROW_OVERHEAD + table.id_bytes + sum(VALUE_BYTES[table.types[column]] for column in columns)
    return min(_HELD_ROWS, view.limits.driver_bytes // row_bytes)


def count_involved(involved: Mapping[int, DataFrame]) -> dict[int, int]:
    """Count the rows that take part in violations of each rule: one query."""
    from pyspark.sql import functions as f

    tagged = [frame.select(f.lit(rule).alias("rule")) for rule, frame in involved.items()]
    counts = reduce(lambda a, b: a.union(b), tagged).groupBy("rule").count().collect()
    return {row["rule"]: row["count"] for row in counts}


def hold(
    view: View, rows: DataFrame, rules: Mapping[int, Rule], involved: Mapping[int, DataFrame], pairs: Mapping[int, int]
) -> HeldRows | None:
    """Bring the rows that take part in violations of some rules: one query. None if they do not break the rules as
    often as was counted: then the frame gave other rows when it was computed again."""
    table = view.table
    columns = list(dict.fromkeys(column for rule in rules.values() for column in rule.columns))
    ids = reduce(lambda a, b: a.union(b), [frame.select(ROW) for frame in involved.values()])
    safe = [table.names[column] for column in columns]
    brought = rows.select(ROW, *safe).join(ids.distinct(), ROW, "left_semi").toArrow()
    held = in_order_of_ids(brought)
    values = held.select(safe).rename_columns(columns)
    engine = RowEngine(MemoryRelation.of(values), table.nulls)
    checked = tuple(rules.values())
    counts = engine.count(checked)
    if [count.pairs for count in counts] != [pairs[rule] for rule in rules]:
        return None
    ids = held.column(ROW).combine_chunks()
    shown = table.shown_id_type(ids.type)
    if pa.types.is_struct(shown):
        ids = pa.StructArray.from_arrays(ids.flatten(), fields=list(shown))
    findings = LocalFindings(engine, checked, ALL, counts)
    return HeldRows(table, ids, values.schema, findings, {rule: place for place, rule in enumerate(rules)})
