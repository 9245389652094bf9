"""Frames that are computed once: in scratch files, as a local checkpoint or in Spark's cache, whichever the session
allows."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import uuid
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rowlaw.spark.session import by_connect, runs_here

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_SCRATCH = "ROWLAW_SCRATCH"  # names a folder, or a path in an object store that all workers reach
_TIMESTAMPS = "spark.sql.parquet.outputTimestampType"


@dataclass
class Keeper:
    """Keeps frames until it is closed.

    Scratch files stay as they are whatever happens to a worker. So they are used where a place for them is known: with
    a local session, or where the variable ROWLAW_SCRATCH names one that all workers reach. Otherwise a local checkpoint
    is made: its rows do not change either, but the rows of a worker that dies are lost, and the run fails. So it is for
    a frame with columns that files cannot hold. ``persist`` is for frames that may be computed again.
    """

    scratch: str | None = field(default_factory=lambda: os.environ.get(_SCRATCH))
    _paths: list[str] = field(default_factory=list)
    _kept: list[Any] = field(default_factory=list)

    def keep(self, frame: DataFrame) -> DataFrame:
        """The rows of a frame, which will not change: not their values, not their order, not their numbers."""
        place = self._place(frame.sparkSession)
        in_files = self._in_files(frame, place) if place is not None else None
        return frame.localCheckpoint(eager=True) if in_files is None else in_files

    def _in_files(self, frame: DataFrame, place: str) -> DataFrame | None:
        """The rows of a frame, in scratch files; None if files would not hold them as they are."""
        from pyspark.errors import AnalysisException

        session = frame.sparkSession
        if session.conf.get(_TIMESTAMPS, None) == "TIMESTAMP_MILLIS":  # microseconds would be cut off
            return None
        path = f"{place}/rowlaw-{uuid.uuid4().hex}"
        try:
            frame.write.parquet(path)
        except AnalysisException:  # before a job begins: there are types, such as intervals, that Parquet has not
            return None
        self._paths.append(path)
        atexit.register(_remove, path)  # lazy frames need the files until then, unless close() is called
        # every reader sees the same files in the same order, so rows keep their places
        return session.read.schema(frame.schema).parquet(path)

    def cache(self, frame: DataFrame) -> DataFrame:
        """The rows of a frame that is used several times and may be computed again; as it is, where the session has no
        cache."""
        with suppress(Exception):  # managed platforms refuse it
            self._kept.append(frame.persist())
            return self._kept[-1]  # type: ignore[no-any-return]
        return frame

    def close(self) -> None:
        """Release what was kept."""
        for frame in self._kept:
            with suppress(Exception):
                frame.unpersist()
        for path in self._paths:
            _remove(path)
        self._kept.clear()
        self._paths.clear()

    def _place(self, session: Any) -> str | None:
        if self.scratch is not None:
            return self.scratch if "://" in self.scratch else f"file://{os.path.abspath(self.scratch)}"
        if runs_here(session) and not by_connect(session):
            return f"file://{tempfile.gettempdir()}"
        return None


def _remove(path: str) -> None:
    """Delete scratch files of this machine; an object store has its own rules for what is old."""
    if path.startswith("file://"):
        shutil.rmtree(path.removeprefix("file://"), ignore_errors=True)
