"""Structured Streaming: every batch of a query is applied to a state, or passes a guard into a table, exactly once."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from rowlaw.errors import RowlawError
from rowlaw.maintain.state import Laws
from rowlaw.source.row_ids import RowId
from rowlaw.streams.applier import Applier
from rowlaw.streams.guard import HistoryGuard
from rowlaw.streams.tables import spark_path

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery


def watch(
    stream: DataFrame,
    state: Laws | str | os.PathLike[str] | None = None,
    *,
    history: str | os.PathLike[str] | None = None,
    change_column: str | None = None,
    order_column: str | None = None,
    row_id: RowId = None,
    guard: Any = None,
    quarantine: str | os.PathLike[str] | Callable[[pa.Table, str], None] | None = None,
    on_change: Callable[[Any], None] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    name: str = "stream",
    trigger: dict[str, Any] | None = None,
) -> StreamingQuery:
    """Start a Structured Streaming query that takes every batch exactly once: into a ``state``, or through a guard into
    a ``history``.

    A batch is known by the query's id and its number, and the state (or the log of the history) remembers it with the
    same step that decides it. So a batch that Spark repeats after a crash changes nothing.

    Parameters
    ----------
    stream
        A streaming DataFrame with the columns of the table.
    state
        A :class:`Laws` or its folder. A ``Laws`` sees each batch as soon as it is applied.
    history
        Instead of a state: a table of any size, as a folder of Parquet files (made if there is none) or a Delta table
        (its folder or its name). Each batch is checked by the rules of ``guard`` against the history and itself, as
        :func:`rowlaw.check` does with ``against``; good rows are appended to it, bad rows to ``quarantine``, a table of
        the same sort, with the columns ``broken_rules``, ``partners`` (up to three rows for each rule) and ``batch``.
        Of two new rows that clash the later one is bad.
    change_column
        A column that says ``insert``, ``update`` or ``delete``, as change feeds have it; other columns than the table's
        are then left out.
    order_column
        The order of the changes within a batch, or of the rows that come to a history; by default that in which they
        come.
    row_id
        With a history: columns that name the rows that bad rows clash with, beside the values that rules compare.
    guard, quarantine
        Rules that no new row may break. The rows that do are not applied but written to the folder ``quarantine``, in a
        Parquet file for each batch, or, of a state, given to it with the id of the batch.
    on_change
        Hears what each batch did: of a state a :class:`Change`, with the rules born and retired as its ``events``.
    checkpoint
        Where Spark keeps its place in the stream; by default in the folder of the state or history, under ``name``. Of
        a history that is a table of the catalog, the log of batches is kept there too.
    trigger
        Handed to Spark: ``{"availableNow": True}``, ``{"processingTime": "1 minute"}``.
    """
    if (state is None) == (history is None):
        raise RowlawError("BAD_OPTION", option="history", value=history, problem="give either a state or a history")
    take: Applier | HistoryGuard
    if history is None:
        assert state is not None
        if row_id is not None:
            raise RowlawError(
                "BAD_OPTION", option="row_id", value=row_id, problem="a state has its own: it is for a history"
            )
        take = Applier(
            state,
            change_column=change_column,
            order_column=order_column,
            guard=guard,
            quarantine=quarantine,
            on_change=on_change,
        )
        home = Path(take.laws.path)
    else:
        take = guard_of(
            history,
            guard,
            quarantine,
            change_column,
            row_id=row_id,
            order_column=order_column,
            on_change=on_change,
            checkpoint=checkpoint,
        )
        take = take.resolved(stream.sparkSession)
        home = take.place(stream.sparkSession)
    place = _spark_place(home / "streams" / name if checkpoint is None else checkpoint)
    writer = stream.writeStream.foreachBatch(Batches(take, place)).queryName(name).option("checkpointLocation", place)
    return (writer.trigger(**trigger) if trigger else writer).start()


def _spark_place(path: str | os.PathLike[str]) -> str:
    """A path as Spark takes it; one that names a file system stays as it is."""
    text = os.fspath(path)
    return text if "://" in text else spark_path(Path(text).absolute())


def guard_of(
    history: str | os.PathLike[str],
    guard: Any,
    quarantine: Any,
    change_column: str | None = None,
    *,
    checkpoint: str | os.PathLike[str] | None = None,
    **options: Any,
) -> HistoryGuard:
    """Make the guard of a history, from what users give."""
    if guard is None:
        raise RowlawError("BAD_OPTION", option="guard", value=None, problem="a history is guarded by rules: give some")
    if not isinstance(quarantine, str | os.PathLike):
        raise RowlawError(
            "BAD_OPTION", option="quarantine", value=None, problem="bad rows go to a table: give its folder or name"
        )
    if change_column is not None:
        problem = "rows are appended to a history, and never deleted: a change feed needs a state"
        raise RowlawError("BAD_OPTION", option="change_column", value=change_column, problem=problem)
    return HistoryGuard.of(
        history, guard, quarantine, checkpoint=None if checkpoint is None else os.fspath(checkpoint), **options
    )


@dataclass
class Batches:
    """What Spark calls with each batch. It holds plain values, so that it can be sent to a Spark Connect server."""

    take: Applier | HistoryGuard
    checkpoint: str
    _query: list[str] = field(default_factory=list)

    def __call__(self, frame: DataFrame, number: int) -> None:
        if not self._query:
            (line,) = frame.sparkSession.read.text(f"{self.checkpoint}/metadata").collect()
            self._query.append(json.loads(line[0])["id"])
        self.take(frame, f"{self._query[0]}/{number}")
