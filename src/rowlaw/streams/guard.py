"""A guard before a table of Spark: rows of a batch come in unless they break a rule, and the others are put aside.

Of a batch, these are written one after the other: the batch itself, the rows that come in and those that do not (all
staged), the record of the decision, and then both tables. `log` says why a process may be killed between any two of
them.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rowlaw.engine.spark.limits import SparkLimits, limits_of
from rowlaw.errors import RowlawError, nearest
from rowlaw.rules import RuleSet
from rowlaw.source.row_ids import RowId
from rowlaw.spark.jobs import described
from rowlaw.storage.arrays import step
from rowlaw.streams.deciding import Decision, decide
from rowlaw.streams.log import Log, Record, sync
from rowlaw.streams.names import file_name
from rowlaw.streams.outcome import Guarded
from rowlaw.streams.tables import LOG, Table, open_table, spark_path
from rowlaw.violations.check import rule_set

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NUMBER = "row number in the batch"


@dataclass(frozen=True)
class HistoryGuard:
    """Takes batches into a table, ``history``, and puts rows that break a rule into ``quarantine``: each row exactly
    once.

    What it needs to go on after a crash is kept in the folder of the history, or, if that is a table of the catalog, in
    ``checkpoint``. ``row_id``: columns by which the rows that a refused row clashes with are named, beside the values
    that rules compare. Of two rows of a batch that clash, the later one by ``order_column`` is refused, or the one that
    comes later.
    """

    history: str
    rules: RuleSet
    quarantine: str
    row_id: tuple[str, ...] = ()
    order_column: str | None = None
    checkpoint: str | None = None
    on_change: Callable[[Guarded], None] | None = None
    limits: SparkLimits | None = None

    @staticmethod
    def of(
        history: str | os.PathLike[str],
        guard: Any,
        quarantine: str | os.PathLike[str],
        *,
        row_id: RowId = None,
        **options: Any,
    ) -> HistoryGuard:
        """Make a guard from what users give."""
        ids = () if row_id is None else (row_id,) if isinstance(row_id, str) else tuple(row_id)
        given = {"history": os.fspath(history), "quarantine": os.fspath(quarantine)}
        if given["history"] == given["quarantine"]:
            raise RowlawError(
                "BAD_OPTION",
                option="quarantine",
                value=given["quarantine"],
                problem="it must be another table than history",
            )
        return HistoryGuard(given["history"], rule_set(guard), given["quarantine"], ids, **options)

    def place(self, session: SparkSession) -> Path:
        """Where the log is."""
        folder = open_table(self.history, session, "history").folder
        if folder is not None:
            return folder / LOG
        if self.checkpoint is None:
            problem = "a table of the catalog has no folder to keep the log of batches in: give checkpoint too"
            raise RowlawError("BAD_OPTION", option="history", value=self.history, problem=problem)
        return Path(self.checkpoint).absolute() / "rowlaw"

    def resolved(self, session: SparkSession) -> HistoryGuard:
        """The same with absolute paths, which hold in whichever process batches are taken."""
        history, quarantine = (
            open_table(self.history, session, "history"),
            open_table(self.quarantine, session, "quarantine"),
        )
        return replace(
            self, history=str(history.folder or history.name), quarantine=str(quarantine.folder or quarantine.name)
        )

    def __call__(self, frame: DataFrame, batch_id: str) -> Guarded:
        """Take a batch in, unless it was taken before."""
        session, start = frame.sparkSession, time.perf_counter()
        taking = _Taking(self, session, Log(self.place(session)), open_table(self.history, session, "history"))
        with taking.log.locked():
            taking.recover()
            record = taking.log.record(batch_id)
            repeated = record is not None
            if record is None:
                record = taking.take(frame, batch_id)
        outcome = Guarded(
            batch_id, record.accepted, record.refused, record.broken, time.perf_counter() - start, repeated
        )
        if self.on_change is not None:
            self.on_change(outcome)
        return outcome


@dataclass(frozen=True)
class _Taking:
    """A guard at work: with a session, the log, and the table."""

    guard: HistoryGuard
    session: SparkSession
    log: Log
    history: Table

    def recover(self) -> None:
        """Put in place what a process that was killed had decided."""
        for record in self.log.unfinished():
            self._put_in_place(record)

    def take(self, frame: DataFrame, batch_id: str) -> Record:
        key, staged = file_name(batch_id), self.log.staged(batch_id)
        quarantine = open_table(self.guard.quarantine, self.session, "quarantine")
        for table in (self.history, quarantine):
            table.check(key)
        old = self.history.frame(self.session)
        frame = _aligned(frame, old, self.guard)
        limits = self.guard.limits or limits_of(self.session)
        try:
            step("stage the batch")
            batch = self._batch(frame, staged / "batch")
            with described(self.session, f"check batch {batch_id}"):
                decision = decide(batch, old, NUMBER, self.guard.rules, self.guard.row_id, self.session, limits)
            step("stage the rows that come in")
            accepted = decision.rows - len(decision.refused)
            if accepted:
                self._stage(decision.accepted(batch, self.session), staged / "accepted")
            step("stage the rows that stay out")
            if len(decision.refused):
                self._stage(decision.put_aside(batch, self.session, batch_id), self._aside(quarantine, batch_id))
        except BaseException:
            for place in (staged, self._aside(quarantine, batch_id)):
                shutil.rmtree(place, ignore_errors=True)
            raise
        step("decide the batch")
        record = Record(
            batch_id, self.log.next_number(), accepted, len(decision.refused), self.guard.quarantine, _told(decision)
        )
        self.log.decide(record)
        self._put_in_place(record)
        return record

    def _put_in_place(self, record: Record) -> None:
        key, writer = file_name(record.batch_id), self.log.id
        quarantine = open_table(record.quarantine, self.session, "quarantine")
        aside = self._aside(quarantine, record.batch_id)
        if record.refused:
            step("put rows aside")
            quarantine.append(self.session, aside, key, f"rowlaw-{writer}-quarantine", record.number)
        if record.accepted:
            step("put rows into the history")
            accepted = self.log.staged(record.batch_id) / "accepted"
            self.history.append(self.session, accepted, key, f"rowlaw-{writer}-history", record.number)
        step("delete what was staged")
        shutil.rmtree(aside, ignore_errors=True)
        with suppress(OSError):
            aside.parent.rmdir()
        self.log.finish(record.batch_id)

    def _aside(self, quarantine: Table, batch_id: str) -> Path:
        """Where refused rows are staged: on the file system of their table, so that they can be renamed."""
        if quarantine.folder is None:
            return self.log.staged(batch_id) / "refused"
        return quarantine.folder / LOG / file_name(batch_id)

    def _batch(self, frame: DataFrame, place: Path) -> DataFrame:
        """The rows of a batch with numbers in their order, computed once: Spark may compute a frame in another order
        each time."""
        from pyspark.sql import functions as f

        order = self.guard.order_column
        numbered = (frame if order is None else frame.orderBy(f.col(f"`{order}`"))).withColumn(
            NUMBER, f.monotonically_increasing_id()
        )
        with described(self.session, "stage a batch"):
            numbered.write.mode("overwrite").parquet(spark_path(place))
        return self.session.read.schema(numbered.schema).parquet(spark_path(place))

    def _stage(self, rows: DataFrame, place: Path) -> None:
        """Write rows as one file, which appears in its table by one rename."""
        with described(self.session, "stage rows"):
            rows.coalesce(1).write.mode("overwrite").option("maxRecordsPerFile", 0).parquet(spark_path(place))
        for part in place.glob("part-*"):
            sync(part)
        sync(place)


def _told(decision: Decision) -> dict[str, int]:
    """The count of refused rows that break each rule."""
    counts: dict[str, int] = {}
    for ids in decision.broken:
        for id in ids:
            counts[id] = counts.get(id, 0) + 1
    return dict(sorted(counts.items()))


def _aligned(frame: DataFrame, old: DataFrame | None, guard: HistoryGuard) -> DataFrame:
    """The batch with the columns of the history, in their order; one that does not fit is an error."""
    columns = list(frame.columns)
    for name in (*guard.row_id, *([guard.order_column] if guard.order_column else [])):
        if name not in columns:
            raise RowlawError(
                "BATCH_COLUMNS", source="the batch", problem=f"no column {name!r}{nearest(name, columns)}"
            )
    if old is None:
        return frame
    types, given = dict(old.dtypes), dict(frame.dtypes)
    for name in types:
        if name not in given:
            raise RowlawError(
                "BATCH_COLUMNS", source="the batch", problem=f"no column {name!r}{nearest(name, columns)}"
            )
    for name, kind in given.items():
        if name not in types:
            problem = f"the history has no column {name!r}{nearest(name, list(types))}"
            raise RowlawError("BATCH_COLUMNS", source="the batch", problem=problem)
        if kind != types[name]:
            raise RowlawError("BATCH_TYPE", source="the batch", column=name, found=kind, expected=types[name])
    quoted = [f"`{name.replace('`', '``')}`" for name in types]
    return frame.select(*quoted)
