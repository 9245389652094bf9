"""The labels of a table row after row, beside the columns: what kernels compare, kept in a file so that a new process need not copy it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from rowlaw.maintain.store import Reader, Writer

SPARE_ROWS, SPARE_SHARE = 4_096, 0.125  # rows beyond those in the file that may come before it is written again


def spare(rows: int) -> int:
    """Rows that may come before a file about so many rows is written again."""
    return max(SPARE_ROWS, int(rows * SPARE_SHARE))


class LabelRows:
    """``matrix``: ``int32[rows, columns]``. The first ``saved`` rows are as they are in the file; -1: nothing is."""

    def __init__(self, room: np.ndarray, rows: int, saved: int = -1) -> None:
        self._room, self.rows, self.saved = room, rows, saved

    @staticmethod
    def of(columns: Sequence[np.ndarray]) -> LabelRows:
        rows = len(columns[0]) if columns else 0
        made = LabelRows(np.zeros((rows + spare(rows), len(columns)), np.int32), 0)
        made.append(columns)
        return made

    @property
    def matrix(self) -> np.ndarray:
        return self._room[: self.rows]

    def append(self, columns: Sequence[np.ndarray]) -> None:
        """Take in rows, given by columns."""
        before, self.rows = self.rows, self.rows + (len(columns[0]) if columns else 0)
        if self.rows > len(self._room):
            room = np.zeros((self.rows + spare(self.rows), self._room.shape[1]), np.int32)
            room[:before] = self._room[:before]
            self._room, self.saved = room, -1
        for i, column in enumerate(columns):
            self._room[before : self.rows, i] = column

    def replace(self, column: int, labels: np.ndarray) -> None:
        """Give new labels to all rows of a column."""
        self._room[: self.rows, column] = labels
        self.saved = -1

    def save(self, writer: Writer, name: str) -> int:
        """Write the rows if those in the file are not nearly all; how many the file has."""
        if self.saved < 0 or name not in writer:
            writer.array(name, self._room)
            self.saved = self.rows
        else:
            writer.keep(name)
        return self.saved

    @staticmethod
    def load(reader: Reader, name: str, rows: int) -> LabelRows:
        """The rows that were saved. The others are to be appended."""
        return LabelRows(reader.private(name), rows, rows)
