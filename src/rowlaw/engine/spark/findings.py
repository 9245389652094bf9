"""What a check on Spark found: counts at once, everything else when it is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from rowlaw.engine.answers import Removal, WorstRow, value_names
from rowlaw.engine.spark.first import first_violations
from rowlaw.engine.spark.involved import rows_involved
from rowlaw.engine.spark.listed import pairs_of, violations
from rowlaw.engine.spark.plan import Counted
from rowlaw.engine.spark.planning import parts_of
from rowlaw.engine.spark.removal import rows_to_remove
from rowlaw.engine.spark.suspects import suspects
from rowlaw.engine.spark.table import ROW
from rowlaw.engine.spark.view import View
from rowlaw.rules.model import FunctionalDependency, Rule

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class SparkCount:
    """The violations of one rule; the rows that take part are counted when they are asked for, where counting pairs did not tell."""

    findings: SparkFindings = field(repr=False)
    rule: int
    pairs: int
    known_rows: int | None

    @cached_property
    def rows(self) -> int:
        if self.known_rows is not None:
            return self.known_rows
        return int(self.findings.involved(self.rule).count()) if self.pairs else 0


@dataclass(frozen=True)
class SparkFindings:
    """The violations of some rules on a Spark table."""

    view: View
    checked: tuple[Rule, ...]
    counted: Mapping[int, Counted]
    _involved: dict[int, DataFrame] = field(default_factory=dict, repr=False)

    told_apart = False

    @cached_property
    def counts(self) -> tuple[SparkCount, ...]:
        none = Counted(0, 0, 0)  # a rule that is true on every table has no parts
        found = [self.counted.get(i, none) for i in range(len(self.checked))]
        return tuple(SparkCount(self, i, c.pairs, c.rows) for i, c in enumerate(found))

    @property
    def _rows(self) -> DataFrame:
        return self.view.table.labelled

    def involved(self, rule: int) -> DataFrame:
        """The rows that take part in violations of a rule, and in how many."""
        if rule not in self._involved:
            if self.counts[rule].pairs:
                safe = [self.view.table.safe(denial) for denial in self.checked[rule].denials]
                parts = [part for denial in safe for part in parts_of(self.view, rule, denial)]
                self._involved[rule] = self.view.table.keeper.cache(rows_involved(self.view, self._rows, parts))
            else:
                self._involved[rule] = self._rows.selectExpr(ROW, "cast(0 as bigint) as pairs").limit(0)
        return self._involved[rule]

    @property
    def rows_involved(self) -> int:
        frames = [self.involved(rule).select(ROW) for rule, count in enumerate(self.counts) if count.pairs]
        return int(reduce(lambda a, b: a.union(b), frames).distinct().count()) if frames else 0

    def first(self, rule: int, limit: int, each: int | None = None) -> pa.Table:
        return first_violations(self.view, self._rows, self.involved(rule), self.checked[rule], limit, each)

    def schema(self, columns: Sequence[str]) -> pa.Schema:
        return self._all_pairs(None, columns).limit(0).toArrow().schema

    def batches(self, rules: Sequence[int], columns: Sequence[str], limit: int | None = None) -> Iterator[tuple[int, pa.RecordBatch]]:
        schema = self.schema(columns)
        for rule in rules:
            if self.counts[rule].pairs:
                listed = self._all_pairs(rule, columns)
                for some in _in_turn(listed if limit is None else listed.limit(limit)):
                    yield rule, pa.record_batch([pa.array([r[i] for r in some], f.type) for i, f in enumerate(schema)], schema=schema)

    def groups(self, rule: int) -> Iterator[pa.RecordBatch]:
        """Rows with their partners: on Spark a group is one ``s`` row."""
        from pyspark.sql import functions as f

        listed = self._all_pairs(rule, ())
        partners = listed.groupBy("s_row").agg(f.collect_list("t_row").alias("t_rows"))
        for some in _in_turn(partners):
            yield pa.record_batch([pa.array([[r[0]] for r in some]), pa.array([list(r[1]) for r in some])], names=["s_rows", "t_rows"])

    def _all_pairs(self, rule: int | None, columns: Sequence[str]) -> DataFrame:
        """All violations of a rule: both rows' values in ``columns``. None: no violations."""
        from pyspark.sql import functions as f

        table, names = self.view.table, value_names(columns)
        denials = [table.safe(d) for d in self.checked[rule].denials] if rule is not None else []
        frames = [pairs_of(self.view, self._rows, denial, columns) for denial in denials]
        frames = frames or [pairs_of(self.view, self._rows.limit(0), None, columns)]
        listed = reduce(lambda a, b: a.unionByName(b), frames)
        chosen = [f.col(f"{row}_{table.names[column]}").alias(name) for (row, column), name in names.items()]
        return listed.select("s_row", "t_row", *chosen)

    def violations(self, rule: int, id: str, session: SparkSession | None = None) -> DataFrame:  # noqa: ARG002 - the table has one
        return violations(self.view, self._rows, self.checked[rule], id)

    def rows(self, ids: Sequence[str], session: SparkSession | None = None) -> DataFrame:  # noqa: ARG002 - the table has one
        from pyspark.sql import functions as f

        frames = [self.involved(rule).select(ROW, f.lit(id).alias("rule"), "pairs") for rule, id in enumerate(ids)]
        frames = frames or [self._rows.selectExpr(ROW, "'' as rule", "cast(0 as bigint) as pairs").limit(0)]
        return reduce(lambda a, b: a.unionByName(b), frames).orderBy(f.desc("pairs"))

    def flagged(self, ids: Sequence[str], session: SparkSession | None = None) -> DataFrame:
        return self.view.table.flagged(self.rows(ids, session).select(ROW, "rule"))

    def worst(self, limit: int, columns: Sequence[str] = ()) -> list[WorstRow]:
        from pyspark.sql import functions as f

        broken = [rule for rule, count in enumerate(self.counts) if count.pairs]
        if not broken or limit < 1:
            return []
        tagged = [self.involved(rule).select(ROW, "pairs", f.lit(rule).alias("rule")) for rule in broken]
        together = reduce(lambda a, b: a.union(b), tagged)
        sums = together.groupBy(ROW).agg(f.sum("pairs").alias("pairs")).orderBy(f.desc("pairs"), f.asc(ROW)).limit(limit)
        worst = [(r[ROW], r["pairs"]) for r in sums.collect()]
        ids = [row for row, _ in worst]
        pairs_of: dict[Any, dict[int, int]] = {row: {} for row in ids}
        for r in together.where(f.col(ROW).isin(ids)).collect():
            pairs_of[r[ROW]][r["rule"]] = int(r["pairs"])
        safe = [self.view.table.names[c] for c in columns]
        values = {r[0]: tuple(r[1:]) for r in _records(self._rows.where(f.col(ROW).isin(ids)).select(ROW, *safe))}
        return [WorstRow(row, int(pairs), pairs_of[row], values[row]) for row, pairs in worst]

    def rows_to_remove(self, rule: int, limit: int | None = None) -> Removal:
        return rows_to_remove(self.view, self._rows, self.checked[rule], self.counts[rule].pairs, self.involved(rule), limit)

    def suspects(self, rules: Mapping[FunctionalDependency, bool], limit: int | None = None) -> pa.Table:
        return suspects(self.view, self._rows, rules, limit)

    def close(self) -> None:
        self._involved.clear()
        self.view.table.keeper.close()


def _records(frame: DataFrame) -> list[tuple[Any, ...]]:
    """The rows of a small frame, as Arrow has their values."""
    return [tuple(record.values()) for record in frame.toArrow().to_pylist()]


def _in_turn(frame: DataFrame, size: int = 1 << 14) -> Iterator[list[Any]]:
    """The rows of a frame, partition after partition, so many at a time."""
    waiting: list[Any] = []
    for row in frame.toLocalIterator(prefetchPartitions=True):
        waiting.append(row)
        if len(waiting) == size:
            yield waiting
            waiting = []
    if waiting:
        yield waiting
