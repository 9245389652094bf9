"""The engine that works on a Spark DataFrame and never gathers it: :class:`SparkEngine`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from rowlaw.engine.answers import EVERY_PAIR, ColumnProfile, Sides
from rowlaw.engine.choose import ASKED_FOR_SPARK, Choice
from rowlaw.engine.plans import RulePlan
from rowlaw.engine.spark.count import Counting, parts_of
from rowlaw.engine.spark.explain import explained
from rowlaw.engine.spark.findings import SparkFindings
from rowlaw.engine.spark.limits import SparkLimits
from rowlaw.engine.spark.profile import profiles
from rowlaw.engine.spark.read import spark_frame
from rowlaw.engine.spark.table import SparkTable
from rowlaw.engine.spark.view import View
from rowlaw.errors import RowlawError
from rowlaw.rules.model import Nulls, Rule, TypeClass
from rowlaw.source.source import Source
from rowlaw.spark.jobs import Done
from rowlaw.stopping import NEVER, Stop

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class SparkEngine:
    """A Spark table and the questions that can be asked about it. The driver receives counts, samples and small histograms only."""

    table: SparkTable
    limits: SparkLimits = field(default_factory=SparkLimits)
    choice: Choice = ASKED_FOR_SPARK

    @staticmethod
    def open(
        source: Source,
        nulls: Nulls,
        row_id: str | None,
        session: SparkSession | None,
        choice: Choice,
        limits: SparkLimits,
        rows: int | None = None,
    ) -> SparkEngine:
        """The engine over a source; ``rows``: its count of rows, where it is known already."""
        from rowlaw.spark.session import session as any_session

        frame, schema = spark_frame(source, session or any_session(getattr(source, "frame", None)))
        table = SparkTable(frame, schema, nulls, row_id, source.skipped)
        if rows is not None:
            table.__dict__["rows"] = rows
        table.check_row_id()
        return SparkEngine(table, limits, choice)

    @property
    def nulls(self) -> Nulls:
        return self.table.nulls

    @property
    def rows(self) -> int:
        return self.table.rows

    @property
    def types(self) -> dict[str, TypeClass]:
        return self.table.types

    @property
    def arrow_types(self) -> dict[str, pa.DataType]:
        return self.table.arrow_types

    def profile(self, columns: Sequence[str], top: int) -> list[ColumnProfile]:
        return profiles(self.table, columns, top)

    @property
    def skipped(self) -> Mapping[str, RowlawError]:
        return self.table.skipped

    def check(self, rules: Sequence[Rule], sides: Sides = EVERY_PAIR, *, done: Done | None = None) -> SparkFindings:
        view = replace(self._view(rules), sides=sides)
        parts = [
            part for number, rule in enumerate(rules) for denial in rule.denials for part in parts_of(view, number, self.table.safe(denial))
        ]
        return SparkFindings(view, tuple(rules), Counting(view, self.table.plain).run(parts, done))

    def counts(self, rules: Sequence[Rule], sides: Sides = EVERY_PAIR, *, stop: Stop = NEVER) -> list[int]:  # noqa: ARG002 - one job
        return [count.pairs for count in self.check(rules, sides).counts]

    def explain(self, rule: Rule, *, analyze: bool = False, among: Sequence[Rule] = ()) -> RulePlan:
        return explained(self._view([rule, *among]), rule, self.table.plain, analyze=analyze)

    def some_rows(self, limit: int, columns: Sequence[str]) -> pa.Table:
        """Up to ``limit`` rows spread over the table: ``number`` (their order) and the values of ``columns``."""
        frame = self.table.plain.select(*(self.table.names[c] for c in columns))
        share = min(1.0, 1.2 * limit / max(1, self.rows))
        found = frame.sample(fraction=share, seed=0).limit(limit).toArrow() if share < 1.0 else frame.limit(limit).toArrow()
        return pa.table([pa.array(range(found.num_rows), pa.int64()), *found.columns], names=["number", *columns])

    def close(self) -> None:
        self.table.keeper.close()

    def _view(self, rules: Sequence[Rule]) -> View:
        columns = tuple(dict.fromkeys(self.table.names[c] for rule in rules for c in rule.columns))
        return View(self.table, columns, self.limits)
