"""The log of a guarded table: which batches are decided, and what of them has yet to be put in place.

    FOLDER/lock                     held while a batch is taken in
    FOLDER/id                       tells this log from others, for tables that remember who wrote to them
    FOLDER/staged/BATCH/...         rows of a batch, before they are put in place
    FOLDER/batches/BATCH.json       the batch is decided: who comes in and who stays out will not change any more

A batch is staged in full before its record appears, in one step. Without a record, what is staged is the rest of an
attempt that failed, and goes. With one, what is still staged has yet to be put in place, and nothing is decided again.
So a batch is never compared with its own rows, and each of its rows ends in exactly one table.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from rowlaw.errors import RowlawError
from rowlaw.output import write_text
from rowlaw.streams.names import file_name


@dataclass(frozen=True, slots=True)
class Record:
    """A batch that is decided: ``broken`` has the count of refused rows for each rule, ``number`` the batches decided
    before it."""

    batch_id: str
    number: int
    accepted: int
    refused: int
    quarantine: str
    broken: dict[str, int] = field(default_factory=dict)


class Log:
    """The log in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock of the log, so that one process at a time takes a batch in."""
        for part in ("staged", "batches"):
            make_folder(self.folder / part)
        with open(self.folder / "lock", "ab") as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise RowlawError("STATE_LOCKED", path=str(self.folder), who="another process") from None
            yield

    @property
    def id(self) -> str:
        """A name that no other log has."""
        path = self.folder / "id"
        if not path.exists():
            write_text(path, str(uuid.uuid4()))
        return path.read_text()

    def staged(self, batch_id: str) -> Path:
        """Where rows of a batch are staged."""
        return self.folder / "staged" / file_name(batch_id)

    def record(self, batch_id: str) -> Record | None:
        """What was decided of a batch, if it was."""
        return self._read(file_name(batch_id))

    def _read(self, key: str) -> Record | None:
        path = self.folder / "batches" / f"{key}.json"
        if not path.exists():
            return None
        try:
            return Record(**json.loads(path.read_text()))
        except (ValueError, TypeError) as error:
            raise RowlawError(
                "STATE_DAMAGED", path=str(path), problem=f"it is no record of a batch ({error})"
            ) from None

    def next_number(self) -> int:
        """The count of batches that are decided."""
        return sum(name.endswith(".json") for name in os.listdir(self.folder / "batches"))

    def decide(self, record: Record) -> None:
        """Write the record of a batch: from here on it is decided."""
        path = self.folder / "batches" / f"{file_name(record.batch_id)}.json"
        sync(self.staged(record.batch_id))
        write_text(path, json.dumps(asdict(record), ensure_ascii=False))
        sync(path.parent)

    def unfinished(self) -> Iterator[Record]:
        """Batches that are decided and of which something is still staged; what is staged of others is deleted."""
        for folder in sorted((self.folder / "staged").iterdir()):
            record = self._read(folder.name)
            if record is None:
                shutil.rmtree(folder, ignore_errors=True)
            else:
                yield record

    def finish(self, batch_id: str) -> None:
        """Forget what was staged of a batch: all of it is in place."""
        shutil.rmtree(self.staged(batch_id), ignore_errors=True)


def make_folder(path: Path) -> None:
    """Make a folder and those above it, unless they exist."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RowlawError("FILE_NOT_WRITTEN", path=str(path), problem=error.strerror) from error


def sync(path: Path) -> None:
    """Make what is written to a file, or the names in a folder, survive a power cut."""
    if not path.exists():
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
