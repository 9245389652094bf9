"""A folder as a stream: every new file in it is a batch."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

from rowlaw.errors import RowlawError
from rowlaw.source.read import is_hidden

_UNFINISHED = (".tmp", ".part", ".crdownload", ".swp", "~")  # files that somebody is still writing

# What may be wrong with a file itself: the next one may be good. Other errors are about the rules, the state or the
# machine.
_BAD_FILES = frozenset(
    {
        "NO_SUCH_FILE",
        "EMPTY_FILE",
        "NO_COLUMNS",
        "RAGGED_ROW",
        "BAD_ENCODING",
        "BAD_FILE",
        "BAD_VALUE",
        "DUPLICATE_COLUMN",
        "UNSUPPORTED_TYPE",
        "UNKNOWN_FORMAT",
        "MIXED_TYPES",
        "BATCH_COLUMNS",
        "BATCH_TYPE",
        "DUPLICATE_ROW_ID",
        "UNKNOWN_ROW",
        "BAD_ROW_ID",
        "AGAINST_TYPE",
    }
)


class Outcome(Protocol):
    """What a batch did."""

    @property
    def repeated(self) -> bool:
        """Whether it had been taken before."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that cannot be taken in as it is, and why. Nothing of it was taken; it is tried again at the next run, or
    when it changes."""

    file: str
    error: RowlawError

    @property
    def summary(self) -> str:
        return f"skipped {self.file}: {self.error}"


T = TypeVar("T", bound=Outcome)


def watch_folder(
    take: Callable[..., T], folder: str | os.PathLike[str], *, every: float | None = None, **reading: Any
) -> Iterator[T | Skipped]:
    """Take in every file of a folder that was not taken yet, the oldest first, each as one batch; then look again every
    so many seconds.

    ``take`` gets the path, an id for the batch and ``reading``. Files should appear under their names when they are
    complete. A file is known by its path in the folder. A file that cannot be used is skipped, and the others are
    taken.
    """
    home = Path(folder)
    if not home.is_dir():
        raise RowlawError("NO_SUCH_FILE", path=str(folder), hint=": watch needs a folder")
    done: set[str] = set()
    failed: dict[str, tuple[int, int]] = {}  # the age and size of files that were skipped
    while True:
        for path in _ready(home):
            name = path.relative_to(home).as_posix()
            version = _version(path)
            if name in done or version is None or failed.get(name) == version:
                continue
            try:
                outcome = take(path, f"file:{name}", **reading)
            except RowlawError as error:
                if error.condition not in _BAD_FILES:
                    raise
                failed[name] = version
                yield Skipped(name, error)
                continue
            done.add(name)
            failed.pop(name, None)
            if not outcome.repeated:
                yield outcome
        if every is None:
            return
        time.sleep(every)


def _ready(home: Path) -> list[Path]:
    ready = []
    for path in home.rglob("*"):
        version = None if is_hidden(path.relative_to(home).parts) or path.name.endswith(_UNFINISHED) else _version(path)
        if version is not None and version[1]:
            ready.append((version[0], str(path), path))
    return [path for _, _, path in sorted(ready)]


def _version(path: Path) -> tuple[int, int] | None:
    """The age and size of a file; None if it is gone, or no file."""
    try:
        status = path.stat()
    except OSError:
        return None
    return (status.st_mtime_ns, status.st_size) if path.is_file() else None
