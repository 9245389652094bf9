"""What a check on Spark found: counts at once, everything else when it is asked for."""

from __future__ import annotations

import io
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property, reduce
from typing import TYPE_CHECKING

import pyarrow as pa

from rowlaw.engine.answers import Removal, WorstRow, compared, value_names
from rowlaw.engine.spark.first import first_violations
from rowlaw.engine.spark.held import AT_ONCE, HeldRows, count_involved, hold, most_rows
from rowlaw.engine.spark.involved import rows_involved
from rowlaw.engine.spark.listed import pairs_of, violations
from rowlaw.engine.spark.plan import Counted
from rowlaw.engine.spark.planning import parts_of
from rowlaw.engine.spark.removal import rows_to_remove
from rowlaw.engine.spark.suspects import suspects
from rowlaw.engine.spark.table import ROW
from rowlaw.engine.spark.view import View
from rowlaw.engine.spark.write import write_parquet
from rowlaw.rules.model import FunctionalDependency, Rule, about_single_rows
from rowlaw.source.row_ids import row_name
from rowlaw.spark.jobs import job

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_PAIRS_PER_PART = 1 << 20  # violations of a partition that this process holds at once when they are streamed
_MOST_PARTS = 4_096


@dataclass(frozen=True)
class SparkCount:
    """The violations of one rule; the rows that take part are counted when they are asked for, where counting pairs did
    not tell."""

    findings: SparkFindings = field(repr=False)
    rule: int
    pairs: int
    known_rows: int | None

    @cached_property
    def rows(self) -> int:
        if self.known_rows is not None or not self.pairs:
            return self.known_rows or 0
        held = self.findings.held(self.rule)
        if held is not None:
            return held.findings.counts[held.places[self.rule]].rows
        if self.rule in self.findings._sizes:
            return self.findings._sizes[self.rule]
        with self.findings.job("count the rows that take part in violations"):
            return int(self.findings.involved(self.rule).count())


@dataclass(frozen=True)
class SparkFindings:
    """The violations of some rules on a Spark table."""

    view: View
    checked: tuple[Rule, ...]
    counted: Mapping[int, Counted]
    _involved: dict[int, DataFrame] = field(default_factory=dict, repr=False)
    _held: dict[int, HeldRows | None] = field(default_factory=dict, repr=False)
    _sizes: dict[int, int] = field(default_factory=dict, repr=False)  # rows that take part in violations of a rule

    told_apart = False

    @cached_property
    def counts(self) -> tuple[SparkCount, ...]:
        none = Counted(0, 0, 0)  # a rule that is true on every table has no parts
        counts = [self.counted.get(i, none) for i in range(len(self.checked))]
        return tuple(SparkCount(self, i, c.pairs, c.rows) for i, c in enumerate(counts))

    @property
    def _rows(self) -> DataFrame:
        return self.view.table.labelled

    def job(self, description: str) -> AbstractContextManager[None]:
        """Whatever fails inside is the named error JOB_FAILED."""
        return job(self.view.table.session, description)

    def involved(self, rule: int) -> DataFrame:
        """The rows that take part in violations of a rule, and in how many."""
        if rule not in self._involved:
            if self.counts[rule].pairs:
                safe = [self.view.table.safe(denial) for denial in self.checked[rule].denials]
                parts = [part for denial in safe for part in parts_of(self.view, rule, denial)]
                with self.job(f"plan the rows that take part in violations of {self.checked[rule]}"):
                    self._involved[rule] = self.view.table.keeper.cache(rows_involved(self.view, self._rows, parts))
            else:
                self._involved[rule] = self._rows.selectExpr(ROW, "cast(0 as bigint) as pairs").limit(0)
        return self._involved[rule]

    def held(self, rule: int) -> HeldRows | None:
        """The rows that take part in violations of a rule and of those after it; None where they are too many."""
        if self.view.scope:  # the rows that take part do not say which may be `s`
            return None
        if rule not in self._held:
            broken = [i for i, count in enumerate(self.counts) if count.pairs]
            at = broken.index(rule) // AT_ONCE * AT_ONCE
            rules = {i: self.checked[i] for i in broken[at : at + AT_ONCE]}
            involved = {i: self.involved(i) for i in rules}
            with self.job("rows that take part in violations"):
                self._held.update(self._brought(rules, involved))
        return self._held[rule]

    def _brought(self, rules: Mapping[int, Rule], involved: Mapping[int, DataFrame]) -> dict[int, HeldRows | None]:
        """Bring the rows of as many of some rules as this process may hold; None for the others."""
        limit, pairs = most_rows(self.view, list(rules.values())), {i: self.counts[i].pairs for i in rules}
        sizes = {i: (1 if about_single_rows(rule) else 2) * pairs[i] for i, rule in rules.items()}  # at most
        sizes |= {i: known for i in rules if (known := self.counts[i].known_rows) is not None}
        unsure = {i: involved[i] for i in rules if self.counts[i].known_rows is None}
        if unsure and sum(sizes.values()) > limit:
            self._sizes.update(count_involved(unsure))
            sizes |= {i: self._sizes[i] for i in unsure}
        chosen: dict[int, Rule] = {}
        for rule in sorted(rules, key=lambda i: sizes[i]):
            limit -= sizes[rule]
            if limit >= 0:
                chosen[rule] = rules[rule]
        held = hold(self.view, self._rows, chosen, {i: involved[i] for i in chosen}, pairs) if chosen else None
        return {rule: held if rule in chosen else None for rule in rules}

    def _held_of_all(self) -> HeldRows | None:
        """The rows that take part in violations of any rule, if they are held together."""
        held = [self.held(rule) for rule, count in enumerate(self.counts) if count.pairs]
        return held[0] if held and all(one is held[0] for one in held) else None

    @property
    def rows_involved(self) -> int:
        if not any(count.pairs for count in self.counts):
            return 0
        held = self._held_of_all()
        if held is not None:
            return len(held.ids)
        frames = [self.involved(rule).select(ROW) for rule, count in enumerate(self.counts) if count.pairs]
        with self.job("count the rows that take part in violations"):
            return int(reduce(lambda a, b: a.union(b), frames).distinct().count())

    def first(self, rule: int, limit: int, each: int | None = None) -> pa.Table:
        held = self.held(rule) if self.counts[rule].pairs else None
        if held is not None:
            return held.first(rule, limit, each)
        with self.job(f"first violations of {self.checked[rule]}"):
            return first_violations(self.view, self._rows, self.involved(rule), self.checked[rule], limit, each)

    def schema(self, columns: Sequence[str]) -> pa.Schema:
        with self.job("schema of the violations"):
            return self._all_pairs(None, columns).limit(0).toArrow().schema

    def batches(
        self, rules: Sequence[int], columns: Sequence[str], limit: int | None = None
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        schema = self.schema(columns)
        for rule in rules:
            if self.counts[rule].pairs:
                with self.job(f"plan the violations of {self.checked[rule]}"):
                    listed = self._all_pairs(rule, columns)
                    listed = self._in_parts(listed, rule) if limit is None else listed.limit(limit)
                for batch in self._in_turn(listed, f"violations of {self.checked[rule]}"):
                    yield rule, batch.cast(schema)

    def groups(self, rule: int) -> Iterator[pa.RecordBatch]:
        """Rows with their partners: on Spark a group is one ``s`` row."""
        from pyspark.sql import functions as f

        with self.job(f"plan the violations of {self.checked[rule]}"):
            listed = self._all_pairs(rule, ())
        if about_single_rows(self.checked[rule]):
            partners = listed.select(
                f.array("s_row").alias("s_rows"), f.when(f.lit(False), f.array("t_row")).alias("t_rows")
            )
        else:
            grouped = listed.groupBy("s_row").agg(f.collect_list("t_row").alias("t_rows"))
            partners = grouped.select(f.array("s_row").alias("s_rows"), "t_rows")
        yield from self._in_turn(partners, f"groups of violations of {self.checked[rule]}")

    def _in_parts(self, listed: DataFrame, rule: int) -> DataFrame:
        """The violations of a rule in partitions that this process can hold one after the other."""
        parts = -(-self.counts[rule].pairs // _PAIRS_PER_PART)
        return listed.repartition(min(parts, _MOST_PARTS)) if parts > 1 else listed

    def _in_turn(self, frame: DataFrame, description: str) -> Iterator[pa.RecordBatch]:
        """The rows of a frame, partition after partition, as Arrow has them: collected timestamps would change their
        time zone."""
        with self.job(description):
            packed = iter(frame.mapInArrow(_packed, "batch binary").toLocalIterator(prefetchPartitions=True))
        while True:
            with self.job(description):
                row = next(packed, None)
            if row is None:
                return
            yield from pa.ipc.open_stream(row[0])

    def write_folder(self, rules: Mapping[int, str], path: str, limit: int | None = None) -> int:
        from pyspark.sql import functions as f

        columns = sorted({column for rule in rules for column in self.checked[rule].columns})
        frames = [self._all_pairs(None, columns).select(f.lit("").alias("rule"), "*")]
        broken = {rule: id for rule, id in rules.items() if self.counts[rule].pairs}
        with self.job(f"write violations to {path}"):
            for rule, id in broken.items():
                listed = self._all_pairs(rule, columns, compared(self.checked[rule])).select(
                    f.lit(id).alias("rule"), "*"
                )
                frames.append(listed if limit is None else listed.limit(limit))
            write_parquet(reduce(lambda a, b: a.union(b), frames), path)
        return sum(self.counts[rule].pairs if limit is None else min(limit, self.counts[rule].pairs) for rule in broken)

    def _all_pairs(
        self, rule: int | None, columns: Sequence[str], shown: Collection[tuple[str, str]] | None = None
    ) -> DataFrame:
        """All violations of a rule: both rows' values in ``columns``; of the values not in ``shown``, null. None: no
        violations."""
        from pyspark.sql import functions as f

        table, names = self.view.table, value_names(columns)
        denials = [table.safe(d) for d in self.checked[rule].denials] if rule is not None else []
        sent = [column for column in columns if shown is None or any(column == own for _, own in shown)]
        frames = [pairs_of(self.view, self._rows, denial, sent) for denial in denials]
        frames = frames or [pairs_of(self.view, self._rows.limit(0), None, sent)]
        listed = reduce(lambda a, b: a.unionByName(b), frames)
        types = dict(self._rows.dtypes)
        chosen = [
            (
                f.col(f"{row}_{safe}") if shown is None or (row, column) in shown else f.lit(None).cast(types[safe])
            ).alias(name)
            for (row, column), name in names.items()
            for safe in (table.names[column],)
        ]
        return listed.select(table.shown_id("s_row"), table.shown_id("t_row"), *chosen)

    def violations(self, rule: int, id: str, session: SparkSession | None = None) -> DataFrame:  # noqa: ARG002 - the table has one
        with self.job(f"plan the violations of {self.checked[rule]}"):
            return violations(self.view, self._rows, self.checked[rule], id)

    def rows(self, ids: Sequence[str], session: SparkSession | None = None) -> DataFrame:  # noqa: ARG002 - the table has one
        from pyspark.sql import functions as f

        shown = self.view.table.shown_id()
        frames = [self.involved(rule).select(shown, f.lit(id).alias("rule"), "pairs") for rule, id in enumerate(ids)]
        frames = frames or [
            self._rows.select(shown, f.lit("").alias("rule"), f.lit(0).cast("bigint").alias("pairs")).limit(0)
        ]
        return reduce(lambda a, b: a.unionByName(b), frames).orderBy(f.desc("pairs"))

    def flagged(self, ids: Sequence[str], session: SparkSession | None = None) -> DataFrame:
        return self.view.table.flagged(self.rows(ids, session).select(ROW, "rule"))

    def worst(self, limit: int, columns: Sequence[str] = ()) -> list[WorstRow]:
        from pyspark.sql import functions as f

        broken = [rule for rule, count in enumerate(self.counts) if count.pairs]
        if not broken or limit < 1:
            return []
        held = self._held_of_all()
        if held is not None and set(columns) <= set(held.schema.names):
            return held.worst(limit, columns)
        tagged = [self.involved(rule).select(ROW, "pairs", f.lit(rule).alias("rule")) for rule in broken]
        sums = reduce(lambda a, b: a.union(b), tagged).groupBy(ROW)
        totals = sums.agg(f.sum("pairs").alias("pairs"), f.collect_list(f.struct("rule", "pairs")).alias("rules"))
        order = (f.desc("pairs"), f.asc(ROW))
        top = totals.orderBy(*order).limit(limit)
        safe = [self.view.table.names[c] for c in columns]
        if safe:
            top = self._rows.select(ROW, *safe).join(f.broadcast(top), ROW).orderBy(*order)
        shown = top.select(self.view.table.shown_id(), "pairs", "rules", *safe)
        with self.job("rows in most violations"):
            records = shown.toArrow().to_pylist()
        return [
            WorstRow(
                row_name(record[ROW]),
                int(record["pairs"]),
                {r["rule"]: int(r["pairs"]) for r in sorted(record["rules"], key=lambda r: r["rule"])},
                tuple(record[name] for name in safe),
            )
            for record in records
        ]

    def rows_to_remove(self, rule: int, limit: int | None = None) -> Removal:
        held = self.held(rule) if self.counts[rule].pairs else None
        if held is not None:
            return held.rows_to_remove(rule, limit)
        with self.job(f"rows to remove for {self.checked[rule]}"):
            return rows_to_remove(
                self.view, self._rows, self.checked[rule], self.counts[rule].pairs, self.involved(rule), limit
            )

    def suspects(self, rules: Mapping[FunctionalDependency, bool], limit: int | None = None) -> pa.Table:
        with self.job("cells that are probably wrong"):
            return suspects(self.view, self._rows, rules, limit)

    def close(self) -> None:
        self._involved.clear()
        self._held.clear()
        self.view.table.keeper.close()


def _packed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Each batch as one binary value."""
    for batch in batches:
        sink = io.BytesIO()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        yield pa.record_batch([pa.array([sink.getvalue()], pa.binary())], names=["batch"])
