"""Files that pass a guard into a table of Spark: :class:`FileGuard`."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from rowlaw.errors import RowlawError
from rowlaw.relation import encode
from rowlaw.source import open_source
from rowlaw.source.read import read_source
from rowlaw.source.types import storage_type
from rowlaw.spark.jobs import frame_of
from rowlaw.spark.session import session as any_session
from rowlaw.storage.batch import read_batch
from rowlaw.streams.guard import HistoryGuard
from rowlaw.streams.outcome import Guarded
from rowlaw.streams.query import guard_of
from rowlaw.streams.tables import open_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class FileGuard:
    """Takes files into a history, each as one batch, in the types of the history; the values of the first file decide
    them."""

    guard: HistoryGuard
    session: SparkSession

    @staticmethod
    def of(
        history: str,
        *,
        guard: Any,
        quarantine: str | None,
        change_column: str | None,
        master: str | None,
        **options: Any,
    ) -> FileGuard:
        """Make it from what a command is given."""
        made = guard_of(history, guard, quarantine, change_column, **options)
        session = any_session(master=master)
        return FileGuard(made.resolved(session), session)

    def __call__(self, path: str | os.PathLike[str], batch_id: str, **reading: Any) -> Guarded:
        return self.guard(self._read(path, **reading), batch_id)

    def _read(self, path: str | os.PathLike[str], **reading: Any) -> DataFrame:
        old = open_table(self.guard.history, self.session, "history").frame(self.session)
        if old is None:
            with encode(open_source(path, **reading)) as relation:
                return frame_of(self.session, relation.decode())
        known = read_source(old)
        for name, error in known.skipped.items():
            problem = f"its column {name!r} cannot be read from files ({error}): use rowlaw.watch with a stream"
            raise RowlawError("BAD_OPTION", option="history", value=self.guard.history, problem=problem)
        types = {field.name: storage_type(field.type) for field in known.schema}
        batch = read_batch(path, types, **reading)
        columns = {}
        for name, column in batch.columns.items():
            values = column.values.take(pa.array(column.codes, mask=column.codes < 0))
            columns[name] = values.cast(known.schema.field(name).type)  # instants have their zone again
        return frame_of(self.session, pa.table(columns), old.schema)
