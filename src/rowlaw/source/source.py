"""A table to be read: its columns, and the splits in which workers read it.

Every source ends up as one of two things: *splits* that any worker can read alone with pyarrow (files, and frames in
memory), or a Spark DataFrame (catalog tables, JDBC, remote storage, the user's own frames).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from rowlaw.errors import RowlawError
from rowlaw.rules.wording import counted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Split(Protocol):
    """A run of consecutive rows of a source."""

    @property
    def columnar(self) -> bool:
        """Whether reading some of the columns is cheaper than reading all of them."""

    @property
    def size(self) -> int:
        """Bytes to read, roughly."""

    def read(self, columns: Sequence[str]) -> pa.Table:
        """The rows of this split; text columns may come dictionary-encoded."""


@dataclass(frozen=True, slots=True)
class FileSource:
    """A table in splits. ``schema`` holds text for columns whose type is yet to be inferred (``inferred``), and no
    column that is ``skipped`` because its values cannot be compared."""

    name: str
    schema: pa.Schema
    splits: tuple[Split, ...]
    types: dict[str, pa.DataType] = field(default_factory=dict)
    inferred: bool = False  # text formats: types come from the values unless `types` names them
    skipped: Mapping[str, RowlawError] = field(default_factory=dict)
    hints: tuple[Any, ...] = ()  # of text columns that look like numbers or dates (rowlaw.source.hints)

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.schema.names)

    @property
    def size(self) -> int:
        return sum(split.size for split in self.splits)

    @property
    def in_memory(self) -> bool:
        """Whether this process holds the table already."""
        return all(hasattr(split, "table") for split in self.splits)

    def __repr__(self) -> str:
        return (
            f"FileSource({self.name!r}, {counted(len(self.columns), 'column')}, {counted(len(self.splits), 'split')})"
        )


@dataclass(frozen=True, slots=True)
class FrameSource:
    """A table as a Spark DataFrame: its partitions are the splits."""

    name: str
    schema: pa.Schema
    frame: DataFrame
    types: dict[str, pa.DataType] = field(default_factory=dict)
    skipped: Mapping[str, RowlawError] = field(default_factory=dict)

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.schema.names)

    def __repr__(self) -> str:
        return f"FrameSource({self.name!r}, {counted(len(self.columns), 'column')})"


Source = FileSource | FrameSource
