"""Streams: every batch of a Structured Streaming query, or every new file of a folder, is applied to a state exactly once."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from rowlaw.errors import RowlawError
from rowlaw.maintain.change import Change
from rowlaw.maintain.feed import net, read_feed
from rowlaw.maintain.state import Laws
from rowlaw.output import whole_file
from rowlaw.source.read import is_hidden

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

UNFINISHED = (".tmp", ".part", ".crdownload", ".swp", "~")  # files that somebody is still writing
LONGEST_NAME = 200  # bytes of a batch's id in a file's name, of the 255 that most file systems allow
STARTED = 60.0  # seconds in which Spark tells the id of a query that it has started


class Applier:
    """Applies batches to a state, with an own handle on it: the one that its user has may be looked at meanwhile."""

    def __init__(
        self,
        state: Laws | str | os.PathLike[str],
        *,
        change_column: str | None = None,
        order_column: str | None = None,
        guard: Any = None,
        quarantine: str | os.PathLike[str] | Callable[[pa.Table, str], None] | None = None,
        on_change: Callable[[Change], None] | None = None,
    ) -> None:
        if order_column is not None and change_column is None:
            raise RowlawError(
                "BAD_OPTION", option="order_column", value=order_column, problem="it orders a change feed: give change_column too"
            )
        if quarantine is not None and guard is None:
            raise RowlawError(
                "BAD_OPTION", option="quarantine", value=str(quarantine), problem="only a guard keeps rows out: give guard too"
            )
        self._seen = state if isinstance(state, Laws) else None
        self.laws = Laws.open(state.path, evolution=state._kind) if isinstance(state, Laws) else Laws.open(state)
        self.change_column, self.order_column = change_column, order_column
        self.guard, self.quarantine, self.on_change = guard, quarantine, on_change

    def __call__(self, rows: Any, batch_id: str, **reading: Any) -> Change:
        inserts, deletes = rows, None
        if self.change_column is not None:
            feed = read_feed(rows, self.laws.table, **reading)
            inserts, deletes = net(feed, self.laws.table, self.change_column, self.order_column)
        change = self.laws.apply(inserts, deletes, batch_id=batch_id, guard=self.guard, before=self._put_aside, **reading)
        if self._seen is not None:
            self._seen.refresh()
        if self.on_change is not None:
            self.on_change(change)
        return change

    def _put_aside(self, quarantined: pa.Table | None, batch_id: str | None) -> None:
        """Before the batch is committed, under a name that a second attempt writes again: rows are put aside exactly once too."""
        if self.quarantine is None or quarantined is None or not quarantined.num_rows:
            return
        assert batch_id is not None
        if callable(self.quarantine):
            self.quarantine(quarantined, batch_id)
            return
        folder = Path(self.quarantine)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RowlawError("FILE_NOT_WRITTEN", path=str(folder), problem=error.strerror) from error
        with whole_file(folder / f"{_file_name(batch_id)}.parquet") as draft:
            pq.write_table(quarantined, draft)


def watch(
    stream: DataFrame,
    state: Laws | str | os.PathLike[str],
    *,
    change_column: str | None = None,
    order_column: str | None = None,
    guard: Any = None,
    quarantine: str | os.PathLike[str] | Callable[[pa.Table, str], None] | None = None,
    on_change: Callable[[Change], None] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    name: str = "stream",
    trigger: dict[str, Any] | None = None,
) -> StreamingQuery:
    """Keep a state current with a stream: start a Structured Streaming query that applies every batch exactly once.

    A batch is known by the query's id and its number, and the state remembers it with the same step that applies it. So a batch
    that Spark repeats after a crash changes nothing.

    Parameters
    ----------
    stream
        A streaming DataFrame with the columns of the state's table.
    state
        A :class:`Laws` or its folder. A ``Laws`` sees each batch as soon as it is applied.
    change_column
        A column that says ``insert``, ``update`` or ``delete``, as change feeds have it; other columns than the table's are then left out.
    order_column
        The order of the changes within a batch; by default that in which they come.
    guard, quarantine
        Rules that no new row may break. The rows that do are not applied but written to the folder ``quarantine``, in a Parquet
        file for each batch, or given to it with the id of the batch.
    on_change
        Hears what each batch did: :class:`Change`, with the rules born and retired as its ``events``.
    checkpoint
        Where Spark keeps its place in the stream; by default in the state's folder, under ``name``.
    trigger
        Handed to Spark: ``{"availableNow": True}``, ``{"processingTime": "1 minute"}``.
    """
    applier = Applier(
        state, change_column=change_column, order_column=order_column, guard=guard, quarantine=quarantine, on_change=on_change
    )
    query_id: list[str] = []
    started = threading.Event()

    def batch(frame: DataFrame, number: int) -> None:
        if not started.wait(STARTED):
            raise RowlawError("JOB_FAILED", job="watch", problem="Spark has not said which query this is")
        applier(frame, f"{query_id[0]}/{number}")

    place = Path(checkpoint) if checkpoint is not None else Path(applier.laws.path) / "streams" / name
    writer = stream.writeStream.foreachBatch(batch).queryName(name).option("checkpointLocation", str(place.absolute()))
    query = (writer.trigger(**trigger) if trigger else writer).start()
    query_id.append(str(query.id))
    started.set()
    return query


def watch_folder(applier: Applier, folder: str | os.PathLike[str], *, every: float | None = None, **reading: Any) -> Iterator[Change]:
    """Apply every file of a folder that was not applied yet, the oldest first, each as one batch; then look again every so many seconds.

    Files should appear under their names when they are complete. A file is known by its path in the folder.
    """
    home = Path(folder)
    if not home.is_dir():
        raise RowlawError("NO_SUCH_FILE", path=str(folder), hint=": watch needs a folder")
    done: set[str] = set()
    while True:
        for path in _ready(home):
            name = f"file:{path.relative_to(home).as_posix()}"
            if name not in done:
                change = applier(path, name, **reading)
                done.add(name)
                if not change.repeated:
                    yield change
        if every is None:
            return
        time.sleep(every)


def _file_name(batch_id: str) -> str:
    """A file's name for a batch, and no other batch's: what a name cannot hold is replaced, and a digest keeps such names apart.

    >>> _file_name("file:1.csv"), _file_name("file:a/b.csv"), _file_name("file:a b.csv")
    ('file-1.csv', 'file-a-b.csv-dc5f3b66', 'file-a-b.csv-bc71044b')
    """
    plain = batch_id.replace("file:", "file-", 1)
    name = "".join(c if c.isalnum() or c in "-_." else "-" for c in plain)
    if name == plain and len(name.encode()) <= LONGEST_NAME:
        return name
    cut = name.encode()[:LONGEST_NAME].decode(errors="ignore")
    return f"{cut}-{hashlib.sha256(batch_id.encode(errors='surrogateescape')).hexdigest()[:8]}"


def _ready(home: Path) -> list[Path]:
    found = [p for p in home.rglob("*") if p.is_file() and not is_hidden(p.relative_to(home).parts) and not p.name.endswith(UNFINISHED)]
    return sorted((p for p in found if p.stat().st_size), key=lambda p: (p.stat().st_mtime_ns, str(p)))
