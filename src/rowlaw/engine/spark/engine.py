"""The engine that works on a Spark DataFrame and never gathers it: :class:`SparkEngine`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from rowlaw.engine.answers import EVERY_PAIR, ColumnProfile, Sides
from rowlaw.engine.choose import ASKED_FOR_SPARK, LARGE_FILE, Choice
from rowlaw.engine.plans import RulePlan
from rowlaw.engine.spark.count import Counting
from rowlaw.engine.spark.explain import explained
from rowlaw.engine.spark.findings import SparkFindings
from rowlaw.engine.spark.limits import SparkLimits, limits_of
from rowlaw.engine.spark.planning import planned
from rowlaw.engine.spark.profile import profiles
from rowlaw.engine.spark.read import spark_frame
from rowlaw.engine.spark.table import SparkTable
from rowlaw.engine.spark.view import View
from rowlaw.errors import RowlawError
from rowlaw.rules.model import Nulls, Rule, TypeClass
from rowlaw.source.source import FileSource, Source
from rowlaw.spark.jobs import Done, job
from rowlaw.stopping import NEVER, Stop

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class SparkEngine:
    """A Spark table and the questions that can be asked about it. The driver receives counts, samples and small
    histograms only."""

    table: SparkTable
    limits: SparkLimits = field(default_factory=SparkLimits)
    choice: Choice = ASKED_FOR_SPARK

    @classmethod
    def open(
        cls,
        source: Source,
        nulls: Nulls,
        row_id: tuple[str, ...],
        session: SparkSession | None,
        choice: Choice,
        limits: SparkLimits | None = None,
        rows: int | None = None,
        **further: Any,
    ) -> Self:
        """The engine over a source; ``rows``: its count of rows, where it is known already; ``further``: fields of a
        subclass."""
        from rowlaw.spark.session import session as any_session

        short = isinstance(source, FileSource) and source.size < LARGE_FILE
        frame, schema = spark_frame(source, session or any_session(getattr(source, "frame", None), short=short))
        table = SparkTable(frame, schema, nulls, row_id, source.skipped)
        if rows is not None:
            table.__dict__["rows"] = rows
        table.check_row_id()
        return cls(table, limits or limits_of(frame.sparkSession), choice, **further)

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
        return SparkFindings(view, tuple(rules), Counting(view, self.table.plain).run(planned(view, rules), done))

    def counts(self, rules: Sequence[Rule], sides: Sides = EVERY_PAIR, *, stop: Stop = NEVER) -> list[int]:
        view = replace(self._view(rules), sides=sides)
        counted = Counting(view, self.table.plain, stop).run(planned(view, rules))
        return [counted[number].pairs if number in counted else 0 for number in range(len(rules))]

    def explain(self, rule: Rule, *, analyze: bool = False, among: Sequence[Rule] = ()) -> RulePlan:
        return explained(self._view([rule, *among]), rule, among, self.table.plain, analyze=analyze)

    def some_rows(self, limit: int, columns: Sequence[str]) -> pa.Table:
        """Up to ``limit`` rows spread over the table: ``number`` (their order) and the values of ``columns``."""
        frame = self.table.plain.select(*(self.table.names[c] for c in columns))
        share = min(1.0, 1.2 * limit / max(1, self.rows))
        with job(self.table.session, "some rows"):
            rows = (
                frame.sample(fraction=share, seed=0).limit(limit).toArrow()
                if share < 1.0
                else frame.limit(limit).toArrow()
            )
        return pa.table([pa.array(range(rows.num_rows), pa.int64()), *rows.columns], names=["number", *columns])

    def close(self) -> None:
        self.table.keeper.close()

    def _view(self, rules: Sequence[Rule]) -> View:
        columns = tuple(dict.fromkeys(self.table.names[c] for rule in rules for c in rule.columns))
        return View(self.table, columns, self.limits)
