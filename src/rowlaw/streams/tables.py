"""The tables that a guard appends to: folders of Parquet files, and Delta tables."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from rowlaw.errors import RowlawError
from rowlaw.source.read import is_hidden
from rowlaw.streams.log import make_folder, sync

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LOG = "_rowlaw"  # beside the data: readers leave out names that begin with an underscore
_GLOBS = "*?[]{}"  # Spark takes these characters in a path for a pattern


class Table(Protocol):
    """A table that batches are appended to, each in one step."""

    @property
    def name(self) -> str:
        """How a user gives it."""

    @property
    def folder(self) -> Path | None:
        """Where it is, if it is known by its path."""

    def frame(self, session: SparkSession) -> DataFrame | None:
        """Its rows; None if there is nothing yet."""

    def check(self, key: str) -> None:
        """Raise an error if a batch cannot be put in place."""

    def append(self, session: SparkSession, staged: Path, key: str, writer: str, number: int) -> None:
        """Put staged rows in place, unless they are: all of them in one step. ``writer`` writes batches with growing
        numbers."""


def open_table(given: str | os.PathLike[str], session: SparkSession, option: str) -> Table:
    """Find out which sort of table a path or a name stands for: a folder that does not exist yet becomes one of Parquet
    files."""
    text = os.fspath(given)
    if "://" in text and not text.startswith("file://"):
        problem = (
            "a guard appends to a folder that this process and Spark's workers reach by one path, or to a "
            "Delta table of the catalog"
        )
        raise RowlawError("BAD_OPTION", option=option, value=text, problem=problem)
    plain = text.removeprefix("file://")
    if any(c in plain for c in _GLOBS):
        raise RowlawError(
            "BAD_OPTION", option=option, value=text, problem=f"a path without {' '.join(_GLOBS)} is needed"
        )
    path = Path(plain).absolute()
    if path.is_file():
        raise RowlawError(
            "BAD_OPTION",
            option=option,
            value=text,
            problem="this is a file, and batches are appended to a folder of them",
        )
    if (path / "_delta_log").is_dir():
        return DeltaTable(text, path)
    if isinstance(given, str) and not path.exists() and os.sep not in text and session.catalog.tableExists(text):
        return DeltaTable(text, None)
    return ParquetFolder(text, path)


def spark_path(path: Path) -> str:
    """A path of this machine as Spark takes it, whatever its usual file system is."""
    return f"file://{path}"


@dataclass(frozen=True)
class ParquetFolder:
    """A folder of Parquet files. A batch is one file, which appears by a rename: readers see all of a batch or nothing
    of it."""

    name: str
    folder: Path

    def frame(self, session: SparkSession) -> DataFrame | None:
        names = (
            [name for name in sorted(os.listdir(self.folder)) if not is_hidden([name])] if self.folder.is_dir() else []
        )
        for name in names:
            if (self.folder / name).is_dir():
                problem = (
                    f"the folder {name!r} in it: a partitioned table cannot take a batch in one step; use a Delta table"
                )
                raise RowlawError("BAD_OPTION", option="history", value=self.name, problem=problem)
        return session.read.parquet(spark_path(self.folder)) if names else None

    def _target(self, key: str) -> Path:
        return self.folder / f"{key}.parquet"

    def check(self, key: str) -> None:
        if self._target(key).exists():
            raise RowlawError(
                "FILE_NOT_WRITTEN", path=str(self._target(key)), problem="there is a file of this name already"
            )

    def append(self, session: SparkSession, staged: Path, key: str, writer: str, number: int) -> None:  # noqa: ARG002 - a parameter of every table
        make_folder(self.folder)
        parts = [path for path in sorted(staged.glob("part-*")) if path.is_file()]
        if not parts:
            return  # it is in place: the rename takes the staged file away
        self.check(key)
        sync(parts[0])
        try:
            os.rename(parts[0], self._target(key))
        except OSError as error:
            raise RowlawError("FILE_NOT_WRITTEN", path=str(self._target(key)), problem=error.strerror) from error
        sync(self.folder)


@dataclass(frozen=True)
class DeltaTable:
    """A Delta table by its path, or by its name in the catalog. It remembers which batches of a writer it has."""

    name: str
    folder: Path | None

    def frame(self, session: SparkSession) -> DataFrame:
        return (
            session.table(self.name)
            if self.folder is None
            else session.read.format("delta").load(spark_path(self.folder))
        )

    def check(self, key: str) -> None:
        """Nothing can be in the way."""

    def append(self, session: SparkSession, staged: Path, key: str, writer: str, number: int) -> None:  # noqa: ARG002 - a parameter of every table
        if not staged.is_dir():
            return
        rows = session.read.parquet(spark_path(staged)).write.format("delta").mode("append")
        # Delta leaves out a transaction whose number this writer has used already
        rows = rows.option("txnAppId", writer).option("txnVersion", number)
        rows = rows.option("mergeSchema", "true")  # other rules than before: partners have other columns
        if self.folder is None:
            rows.saveAsTable(self.name)
        else:
            rows.save(spark_path(self.folder))
