"""The first violations of a rule: those of the rows in most of them, found by comparing a few rows with all others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from rowlaw.engine.answers import EVERY_PAIR, Side, Sides, value_names
from rowlaw.engine.local.rows import Part, RowEngine
from rowlaw.engine.spark.row_order import in_order_of_ids, without_row
from rowlaw.engine.spark.table import NEW, ROW
from rowlaw.engine.spark.view import View
from rowlaw.engine.spark.worker import Batches
from rowlaw.relation.memory import MemoryRelation
from rowlaw.rules.model import Denial, Nulls, Rule, about_single_rows
from rowlaw.source.row_ids import named_records
from rowlaw.spark.jobs import settle

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SCHEMA = "denial int, rank int, as_s boolean"  # then the partner's id and values


@dataclass(frozen=True)
class PartnersTask:
    """Finds the rows that violate a rule together with one of a few given rows, up to ``limit`` for each of them and
    each role."""

    denials: tuple[Denial, ...]
    nulls: Nulls
    given: pa.Table  # the row's id, then the columns
    limit: int
    sides: Sides = EVERY_PAIR

    def __call__(self, batches: Batches) -> Batches:
        settle()
        kept: dict[tuple[int, int, bool], list[pa.Table]] = {}
        for batch in batches:
            rows = pa.Table.from_batches([batch]).cast(self.given.schema)
            for key, partners in self._found(rows):
                some = [*kept.get(key, []), partners]
                kept[key] = [in_order_of_ids(pa.concat_tables(some)).slice(0, self.limit)]
        for (denial, rank, as_s), (partners,) in kept.items():
            facts = [pa.repeat(pa.scalar(value), partners.num_rows) for value in (denial, rank, as_s)]
            names = ["denial", "rank", "as_s", *partners.column_names]
            columns = [
                facts[0].cast(pa.int32()),
                facts[1].cast(pa.int32()),
                facts[2],
                *partners.combine_chunks().columns,
            ]
            yield from pa.table(columns, names=names).to_batches()

    def _found(self, rows: pa.Table) -> Iterator[tuple[tuple[int, int, bool], pa.Table]]:
        together = pa.concat_tables([self.given, rows])
        engine = RowEngine(MemoryRelation.of(together.drop_columns([ROW])), self.nulls)
        own = self.given.num_rows
        part = Part(_of_side(together, self.sides.s), _of_side(together, self.sides.t))
        for number, denial in enumerate(self.denials):
            for rank in range(own):
                pairs = engine.partners(denial, rank, part)
                for as_s in (True, False):
                    others = [t if as_s else s for s, t in pairs if (s if as_s else t) == rank]
                    partners = together.take(pa.array([o for o in others if o >= own], pa.int64()))
                    partners = without_row(partners, self.given.column(ROW)[rank])
                    if partners.num_rows:
                        yield (number, rank, as_s), partners


def _of_side(rows: pa.Table, side: Side) -> np.ndarray | None:
    """The positions of the rows of a side; None: all."""
    if side == "all":
        return None
    new = rows.column(NEW).to_numpy()
    return np.flatnonzero(new if side == "new" else ~new).astype(np.int32)


def first_violations(
    view: View, rows: DataFrame, involved: DataFrame, rule: Rule, limit: int, each: int | None
) -> pa.Table:
    """Violations of the worst rows, as :meth:`rowlaw.engine.protocol.Findings.first` lists them."""
    from pyspark.sql import functions as f

    table = view.table
    safe = [*(table.names[c] for c in rule.columns), *([NEW] if view.scope else [])]
    order = (f.desc("pairs"), f.asc(ROW))
    # twice as many rows as pairs: where each row has one partner, two rows make one pair
    worst = f.broadcast(involved.select(ROW, "pairs").orderBy(*order).limit(max(2 * limit, 0)))
    given = rows.select(ROW, *safe).join(worst, ROW).orderBy(*order).select(ROW, *safe).toArrow()
    single = about_single_rows(rule)
    pairs = (
        [(row, row) for row in named_records(given)[:limit]]
        if single
        else _chosen(view, rows, given, rule, limit, each)
    )
    return _table(view, rule, pairs, given.schema, single)


def _chosen(
    view: View, rows: DataFrame, given: pa.Table, rule: Rule, limit: int, each: int | None
) -> list[tuple[Any, Any]]:
    """Pairs of rows, as records: those of the worst row first, a pair that is broken in both directions in one."""
    table = view.table
    if not given.num_rows:
        return []
    task = PartnersTask(tuple(table.safe(d) for d in rule.denials), table.nulls, given, limit, view.sides)
    types = dict(rows.dtypes)
    names = given.column_names
    schema = ", ".join([SCHEMA, *(f"{name} {types[name]}" for name in names)])
    # by Arrow: collected timestamps would be in the time zone of this process
    records = named_records(rows.select(*names).mapInArrow(task, schema).toArrow())
    partners: dict[int, dict[int, dict[bool, list[dict[str, Any]]]]] = {}
    for row in records:
        of_denial = partners.setdefault(row["rank"], {}).setdefault(row["denial"], {})
        of_denial.setdefault(row["as_s"], []).append({name: row[name] for name in names})
    chosen: dict[tuple[Any, Any], tuple[Any, Any]] = {}
    for rank, record in enumerate(named_records(given)):
        enough = limit if each is None else min(limit, len(chosen) + each)
        for s, t in _in_order(record, partners.get(rank, {})):
            if (t[ROW], s[ROW]) not in chosen:
                chosen[s[ROW], t[ROW]] = (s, t)
            if len(chosen) == enough:
                break
        if len(chosen) == limit:
            break
    return list(chosen.values())


def _in_order(record: Any, partners: dict[int, dict[bool, list[dict[str, Any]]]]) -> Iterator[tuple[Any, Any]]:
    for denial in sorted(partners):
        for as_s in (True, False):
            for other in sorted(partners[denial].get(as_s, []), key=lambda r: r[ROW]):
                yield (record, other) if as_s else (other, record)


def _table(view: View, rule: Rule, pairs: Sequence[tuple[Any, Any]], schema: pa.Schema, single: bool) -> pa.Table:
    """Pairs of records as a table; where rows have no numbers, they are numbered as they come."""
    names = value_names(rule.columns)
    numbered = not view.table.row_id
    ids = view.table.shown_id_type(schema.field(ROW).type)
    columns: dict[str, Any] = {"s_row": pa.array([s[ROW] for s, _ in pairs], ids)}
    if not single:
        columns["t_row"] = pa.array([t[ROW] for _, t in pairs], ids)
    for (row, column), name in names.items():
        safe = view.table.names[column]
        columns[name] = pa.array([(s if row == "s" else t)[safe] for s, t in pairs], schema.field(safe).type)
    columns["s#"] = pa.array([s[ROW] if numbered else 2 * i for i, (s, _) in enumerate(pairs)], pa.int64())
    columns["t#"] = pa.array(
        [t[ROW] if numbered else 2 * i + (not single) for i, (_, t) in enumerate(pairs)], pa.int64()
    )
    return pa.table(columns)
