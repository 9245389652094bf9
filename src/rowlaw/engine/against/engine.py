"""The engine of an incremental check: which rules do new rows break, among themselves and together with old rows.

The old table may be of any size. One scan finds its rows that could break a rule together with a new row. If these are
few, they are brought here, and LocalEngine answers for both tables together, for pairs with at least one new row. If
they are many, violations are counted where they are (`new_pairs`), and SparkEngine lists rows and pairs on request.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from rowlaw.engine.against import here, new_pairs, there
from rowlaw.engine.against.findings import AgainstFindings, Names, NamesHere, NamesOnSpark, NewRows
from rowlaw.engine.against.new_pairs import NewPairs, count_new_pairs
from rowlaw.engine.against.new_table import NewTable, id_column
from rowlaw.engine.answers import EVERY_PAIR, ColumnProfile, Removal, Sides
from rowlaw.engine.choose import Choice, EngineName
from rowlaw.engine.local.engine import LocalEngine
from rowlaw.engine.local.parts import LocalParts
from rowlaw.engine.local.removal import rows_to_remove
from rowlaw.engine.local.rows import Part, RowEngine
from rowlaw.engine.local.suspects import suspects
from rowlaw.engine.plans import CountPlan, DenialPlan, ListPlan, RulePlan
from rowlaw.engine.spark import costs
from rowlaw.engine.spark.engine import SparkEngine
from rowlaw.engine.spark.keep import Keeper
from rowlaw.engine.spark.limits import VALUE_BYTES, SparkLimits
from rowlaw.engine.spark.parts import SparkParts
from rowlaw.engine.spark.read import spark_frame
from rowlaw.engine.spark.table import NUMBER, SparkTable
from rowlaw.errors import RowlawError
from rowlaw.relation import encode
from rowlaw.relation.memory import MemoryRelation
from rowlaw.rules.model import FunctionalDependency, Nulls, Rule, TypeClass
from rowlaw.source.files import memory_splits
from rowlaw.source.row_ids import row_names
from rowlaw.source.source import FileSource, Source
from rowlaw.source.types import type_class
from rowlaw.spark.jobs import Done, described
from rowlaw.stopping import NEVER, Stop

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_CONFLICTING = "old rows that could conflict with new ones"
FEW_OLD_ROWS = 100_000  # old rows that are brought here at once; before more are, their violations are counted there
_HOW = (
    "old rows that could break the rule together with a new row are found in one scan of the old table; "
    "then both are counted together"
)


@dataclass(frozen=True)
class Both:
    """An engine over the old rows that matter, followed by all new rows; and what these rows are called."""

    engine: LocalEngine | SparkEngine
    names: Names

    def findings(self, rules: Sequence[Rule], done: Done | None = None) -> LocalParts | SparkParts:
        if isinstance(self.engine, LocalEngine):
            return LocalParts.of(self.engine, rules, done)
        return SparkParts.of(self.engine, rules, done)


@dataclass(frozen=True)
class AgainstEngine:
    """New rows, an old table, and the violations that involve at least one new row."""

    new: NewTable
    old: Source
    asked: EngineName
    choice: Choice
    session: SparkSession | None = None
    limits: SparkLimits = field(default_factory=SparkLimits)
    _counted: list[int] = field(default_factory=list, repr=False)  # rows of the old table, once a scan has told

    @property
    def nulls(self) -> Nulls:
        return self.new.nulls

    @property
    def rows(self) -> int:
        """Count of new rows."""
        return self.new.rows

    @cached_property
    def old_rows(self) -> int:
        """Count of rows of the old table."""
        if not self._counted:
            self._counted.append(self._old_on_spark.rows)
        return self._counted[0]

    @property
    def types(self) -> dict[str, TypeClass]:
        kinds = {f.name: type_class(f.type) for f in self.new.schema}
        return {name: kind for name, kind in kinds.items() if kind is not None}

    @property
    def arrow_types(self) -> dict[str, pa.DataType]:
        return {f.name: f.type for f in self.new.schema}

    def profile(self, columns: Sequence[str], top: int) -> list[ColumnProfile]:
        return self.new.profile(columns, top)

    @property
    def skipped(self) -> Mapping[str, RowlawError]:
        return self.new.source.skipped

    def check(self, rules: Sequence[Rule], sides: Sides = EVERY_PAIR, *, done: Done | None = None) -> AgainstFindings:  # noqa: ARG002 - a parameter of every engine
        brought, counted = self._counted_first(rules, done)

        @cache
        def both() -> Both:
            return brought if brought is not None else self._both(rules)

        def removal(rule: int, involved: object, limit: int | None) -> Removal:
            engine, names = both().engine, both().names
            if isinstance(engine, LocalEngine):
                return _fewest(engine, names, rules[rule], limit)
            ids = [r[0] for r in involved.orderBy("row").collect()]  # type: ignore[attr-defined]
            return Removal(len(ids), exact=False, first=tuple(row_names(names.of(np.array(ids[:limit], np.int64)))))

        new = NewRows(self.new.flagged, removal, self._suspects, self._any_session)
        return AgainstFindings(lambda: (both().findings(rules, done), both().names), new, counted, self.close)

    def counts(self, rules: Sequence[Rule], sides: Sides = EVERY_PAIR, *, stop: Stop = NEVER) -> list[int]:  # noqa: ARG002 - a parameter of every engine
        brought, counted = self._counted_first(rules, stop=stop)
        if counted is not None:
            return counted.pairs
        findings = (brought or self._both(rules, stop=stop)).findings(rules)
        counts = [count.pairs for count in findings.counts]
        findings.close()
        return counts

    def some_rows(self, limit: int, columns: Sequence[str]) -> pa.Table:
        return self.new.some_rows(limit, columns)

    def explain(self, rule: Rule, *, analyze: bool = False, among: Sequence[Rule] = ()) -> RulePlan:  # noqa: ARG002 - a parameter of every engine
        measured = self.counts([rule])[0] if analyze else None
        seconds = costs.JOB + self.old_rows * costs.SCAN_ROW
        listing = ListPlan(("the rows that were kept are compared",), seconds, costs.LIST_PAIR)
        return RulePlan(
            tuple(
                DenialPlan(str(d), CountPlan("against", _HOW, seconds, None, measured), listing) for d in rule.denials
            )
        )

    def close(self) -> None:
        self.new.close()
        if "_old_on_spark" in self.__dict__:
            self._old_on_spark.keeper.close()

    def _any_session(self) -> SparkSession:
        from rowlaw.spark.session import session as any_session

        if self.session is not None:
            return self.session
        return any_session(next((s.frame for s in (self.old, self.new.whole) if not isinstance(s, FileSource)), None))

    @cached_property
    def _old_on_spark(self) -> SparkTable:
        frame, schema = spark_frame(self.old, self._any_session())
        return SparkTable(frame, pa.schema([schema.field(name) for name in self.new.schema.names]), self.nulls)

    def _both(
        self,
        rules: Sequence[Rule],
        *,
        groups: bool = False,
        named: bool = True,
        done: Done | None = None,
        stop: Stop = NEVER,
    ) -> Both:
        """Both tables together; of the old one only rows that matter. ``groups``: whole groups of rows that agree with
        a new row.

        ``named``: rows have to have the names of their tables; where these are positions in a table of Spark, that
        takes another scan.
        """
        row_id = self.new.row_id
        if self.choice.name == "local" and isinstance(self.old, FileSource):
            kept = here.conflicting(self.new.held, self.old, rules, self.nulls, groups=groups, done=done, stop=stop)
            self._counted[:] = [kept.total]
            names = self.new.ids(kept.rows) if row_id else pa.array(kept.positions)
            return self._here(kept.rows, names)
        session = self._any_session()
        old_rows = self._conflicting(rules, groups=groups, numbered=named and not row_id)
        with described(session, _CONFLICTING, done, stop=stop):
            if self.asked == "local" or (self.asked == "auto" and self.new.fits):
                limit = None if self.asked == "local" else self._most_rows
                both = self._brought(old_rows, limit, named=named)
                if both is not None:
                    return both
            return self._there(old_rows, session, named=named)

    def _counted_first(
        self, rules: Sequence[Rule], done: Done | None = None, stop: Stop = NEVER
    ) -> tuple[Both | None, NewPairs | None]:
        """Both tables here, if few old rows matter, or the counts alone; neither where both have to be on Spark."""
        scanned_here = self.choice.name == "local" and isinstance(self.old, FileSource)
        if scanned_here or self.asked == "local" or not self.new.fits or self.new.rows > new_pairs.MOST_NEW_ROWS:
            return None, None
        session = self._any_session()
        if self.asked == "auto":
            old_rows = self._conflicting(rules, numbered=not self.new.row_id)
            with described(session, _CONFLICTING, done, stop=stop):
                both = self._brought(old_rows, min(self._most_rows, FEW_OLD_ROWS))
            if both is not None:
                return both, None
        new = self.new.on_spark(session)
        return None, count_new_pairs(self._old_on_spark, new, self.new.held, rules, done, stop)

    def _conflicting(self, rules: Sequence[Rule], *, groups: bool = False, numbered: bool) -> there.OldRows:
        """The old rows that could break a rule together with a new row."""
        denials = [denial for rule in rules for denial in rule.denials]
        new = self.new.on_spark(self._any_session())
        return there.conflicting(self._old_on_spark, new, self.new.rows, denials, groups=groups, numbered=numbered)

    def _brought(self, old_rows: there.OldRows, limit: int | None, *, named: bool = True) -> Both | None:
        """Both tables in this process; None if there are more old rows than ``limit``."""
        held = (old_rows.frame if limit is None else old_rows.frame.limit(limit + 1)).toArrow()
        if limit is not None and held.num_rows > limit:
            return None
        return self._here(*self._named(held, old_rows if named else None))

    def _named(self, held: pa.Table, found: there.OldRows | None) -> tuple[pa.Table, pa.Array]:
        """Rows that Spark found, with the names and types of their columns, and what they are called; None where that
        is not needed."""
        width = len(self.new.schema)
        columns = [held.column(i).cast(f.type) for i, f in enumerate(self.new.schema)]
        rows = pa.table(columns, schema=self.new.schema)
        if self.new.row_id:
            return rows, self.new.ids(rows)
        numbers = held.column(width).to_numpy()
        return rows, pa.array(numbers if found is None else found.positions(numbers), pa.int64())

    @property
    def _most_rows(self) -> int:
        """Old rows that may be brought to this process."""
        width = sum(VALUE_BYTES[kind] for f in self.new.schema if (kind := type_class(f.type)) is not None)
        return self.limits.driver_bytes // max(1, width)

    def _here(self, old: pa.Table, names: pa.Array) -> Both:
        rows = pa.concat_tables([old, self.new.held])
        source = FileSource(self.old.name, rows.schema, tuple(memory_splits(rows)))
        engine = LocalEngine(encode(source), self.nulls, self.session, new_from=old.num_rows, choice=self.choice)
        called = pa.concat_arrays([names.cast(self.new.names.type), self.new.names])
        return Both(engine, NamesHere(called, old.num_rows))

    def _there(self, found: there.OldRows, session: SparkSession, *, named: bool) -> Both:
        """Both tables as one table of Spark: rows are numbered in each, and those of the new one follow those of the
        old one."""
        from pyspark.sql import functions as f

        schema, row_id = self.new.schema, self.new.row_id
        label, flag = (_free(name, schema.names) for name in ("row name", "row is new"))
        safe = found.table.names
        name = id_column(found.table, row_id) if row_id else found.position() if named else f.col(NUMBER)
        old = found.frame.select(
            *(f.col(safe[n]).alias(n) for n in schema.names), name.alias(label), f.lit(False).alias(flag)
        )
        new = self.new.labelled(session, label).withColumn(flag, f.lit(True))
        keeper = Keeper()
        first = SparkTable(old, schema, self.nulls, keeper=keeper)
        second = SparkTable(new, schema, self.nulls, keeper=keeper)
        old_numbered = first.numbered
        count = int(old_numbered.count())
        numbered = old_numbered.union(second.numbered.withColumn(NUMBER, f.col(NUMBER) + f.lit(count)))
        width = len(schema) + 2
        frame = numbered.drop(NUMBER).toDF(*schema.names, label, flag)
        table = SparkTable(frame, schema, self.nulls, new=flag, keeper=keeper)
        table.__dict__["numbered"] = numbered
        names = numbered.select(
            f.col(NUMBER).alias("position"), f.col(f"x{width - 2}").alias("name"), f.col(f"x{width - 1}").alias("new")
        )
        return Both(SparkEngine(table, self.limits, self.choice), NamesOnSpark(names, count))

    def _suspects(self, rules: Mapping[FunctionalDependency, bool], limit: int | None) -> pa.Table:
        """Cells of new rows that the old and new rows of their groups contradict."""
        both = self._both(list(rules), groups=True)
        cells = (
            suspects(both.engine, rules, None)
            if isinstance(both.engine, LocalEngine)
            else both.engine.check([]).suspects(rules, None)
        )
        new = cells.filter(pa.compute.greater_equal(cells.column("row"), both.names.old_rows)).slice(0, limit)
        names = both.names.of(new.column("row").to_numpy())
        both.engine.close()
        return new.set_column(0, "row", names)


def _fewest(engine: LocalEngine, names: Names, rule: Rule, limit: int | None) -> Removal:
    """The fewest new rows without which the rest of them break the rule neither with old rows nor among themselves.

    A new row that clashes with an old one has to go; of the others as few as possible.
    """
    old, new = engine.relation.all_rows[: names.old_rows], engine.relation.all_rows[names.old_rows :]
    forced = np.zeros(engine.rows, bool)
    if rule.denials and rule.denials[0].arity == 2:
        for part in (Part(new, old), Part(old, new)):
            forced[engine.count([rule], part)[0].rows] = True
    rest = new[~forced[new]]
    among = rows_to_remove(RowEngine(MemoryRelation.of(engine.relation.decode(rest, rule.columns)), engine.nulls), rule)
    removed = np.sort(np.concatenate((new[forced[new]], rest[among.rows])))
    return Removal(len(removed), among.exact, tuple(row_names(names.of(removed[:limit]))))


def _free(name: str, taken: Sequence[str]) -> str:
    known = {other.casefold() for other in taken}
    while name in known:
        name += "_"
    return name
