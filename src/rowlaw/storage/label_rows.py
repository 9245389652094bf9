"""The labels of a table row after row, beside the columns: what kernels compare, kept in a file so that a new process
need not copy it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from rowlaw.storage.store import Reader, Writer

_BITS = 16
_SPREAD = np.uint32(2654435761)  # Knuth's multiplier: labels are evenly spaced, their low bits are not random
SPARE_ROWS, SPARE_SHARE = 4_096, 0.125  # rows beyond those in the file that may come before it is written again


def spare(rows: int) -> int:
    """Rows that may come before a file about so many rows is written again."""
    return max(SPARE_ROWS, int(rows * SPARE_SHARE))


class LabelRows:
    """``matrix``: ``int32[rows, columns]``. The first ``saved`` rows are as they are in the file; -1: nothing is."""

    def __init__(self, buffer: np.ndarray, rows: int, saved: int = -1) -> None:
        self._buffer, self.rows, self.saved = buffer, rows, saved

    @staticmethod
    def of(columns: Sequence[np.ndarray]) -> LabelRows:
        rows = len(columns[0]) if columns else 0
        made = LabelRows(np.zeros((rows + spare(rows), len(columns)), np.int32), 0)
        made.append(columns)
        return made

    @property
    def matrix(self) -> np.ndarray:
        return self._buffer[: self.rows]

    def append(self, columns: Sequence[np.ndarray]) -> None:
        """Take in rows, given by columns."""
        before, self.rows = self.rows, self.rows + (len(columns[0]) if columns else 0)
        if self.rows > len(self._buffer):
            buffer = np.zeros((self.rows + spare(self.rows), self._buffer.shape[1]), np.int32)
            buffer[:before] = self._buffer[:before]
            self._buffer, self.saved = buffer, -1
        for i, column in enumerate(columns):
            self._buffer[before : self.rows, i] = column

    def replace(self, column: int, labels: np.ndarray) -> None:
        """Give new labels to all rows of a column."""
        self._buffer[: self.rows, column] = labels
        self.saved = -1

    def save(self, writer: Writer, name: str) -> int:
        """Write the rows if those in the file are not nearly all; how many the file has."""
        if self.saved < 0 or name not in writer:
            writer.array(name, self._buffer)
            self.saved = self.rows
        else:
            writer.keep(name)
        return self.saved

    @staticmethod
    def load(reader: Reader, name: str, rows: int) -> LabelRows:
        """The rows that were saved. The others are to be appended."""
        return LabelRows(reader.private(name), rows, rows)


def matching_rows(columns: Sequence[np.ndarray], wanted: np.ndarray, alive: np.ndarray) -> np.ndarray:
    """For each wanted tuple (a column of ``wanted``) a living row that has it, no row twice; -1 where there is none
    left.

    ``columns`` are labels, the column with most values first: one pass over it, then work on the rows that remain.

    >>> labels = [np.array([5, 7, 5, 5], np.int32), np.array([1, 1, 1, 2], np.int32)]
    >>> matching_rows(labels, np.array([[5, 5, 5], [1, 1, 1]], np.int32), np.ones(4, bool)).tolist()
    [0, 2, -1]
    """
    rows = _likely(columns[0], wanted[0])
    rows = rows[alive[rows]]
    # Tuples get numbers, column by column; rows whose values are not wanted drop out on the way.
    numbers, of_rows = np.zeros(wanted.shape[1], np.int64), np.zeros(len(rows), np.int64)
    for labels, asked in zip(columns, wanted, strict=True):
        values, codes = np.unique(asked, return_inverse=True)
        here = labels[rows]
        at = np.minimum(np.searchsorted(values, here), len(values) - 1)
        same = values[at] == here
        rows, of_rows = rows[same], of_rows[same] * len(values) + at[same]
        combinations, numbers = np.unique(numbers * len(values) + codes, return_inverse=True)
        at = np.minimum(np.searchsorted(combinations, of_rows), len(combinations) - 1)
        same = combinations[at] == of_rows
        rows, of_rows = rows[same], at[same]
    # The k-th wish for a tuple gets the k-th row that has it.
    order = np.argsort(of_rows, kind="stable")
    rows, of_rows = rows[order], of_rows[order]
    wishes = np.argsort(numbers, kind="stable")
    sorted_numbers = numbers[wishes]
    nth = np.arange(len(wishes)) - np.searchsorted(sorted_numbers, sorted_numbers)
    at = np.searchsorted(of_rows, sorted_numbers) + nth
    there = at < np.searchsorted(of_rows, sorted_numbers, side="right")
    matches = np.full(len(wishes), -1, np.int32)
    matches[wishes[there]] = rows[at[there]]
    return matches


def _likely(labels: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The rows that may have a wanted label, and few others."""
    marked = np.zeros(1 << _BITS, bool)
    marked[_hash(wanted)] = True
    return np.flatnonzero(marked[_hash(labels)])


def _hash(labels: np.ndarray) -> np.ndarray:
    return (labels.astype(np.uint32) * _SPREAD) >> np.uint32(32 - _BITS)
