"""Difference sets of pairs of living rows: the columns in which two rows do not agree, each set with a pair of rows
that has it.

Uniques are the minimal sets of columns that hit all difference sets (see :mod:`rowlaw.evidence.differences`), so only
minimal difference sets matter. Others are kept as long as there is room: when the pair of a minimal one is deleted,
they are what uniques have to hit next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rowlaw.kernels import links as kernels
from rowlaw.maintain.cells import Cells
from rowlaw.search.bitsets import without, word_count
from rowlaw.search.edges import drop_supersets

if TYPE_CHECKING:
    from rowlaw.storage.store import Reader, Writer

_CAPACITY = 1 << 16  # difference sets that are kept, besides the minimal ones
AT_ONCE = 1 << 18  # pairs compared at a time
_EVERY = 1 << 62  # more comparisons than there can be


class DifferenceSets:
    """``sets``: ``uint64[sets, words]``, distinct, those of fewest columns first; ``pairs``: ``int32[sets, 2]``, a pair
    of rows of each."""

    def __init__(self, cells: Cells, sets: np.ndarray, pairs: np.ndarray) -> None:
        self.cells, self.sets, self.pairs = cells, sets, pairs
        self._columns = np.arange(len(cells.names), dtype=np.int64)
        self._smallest: np.ndarray | None = None

    @staticmethod
    def none(cells: Cells) -> DifferenceSets:
        return DifferenceSets(cells, np.zeros((0, word_count(len(cells.names))), np.uint64), np.zeros((0, 2), np.int32))

    def __len__(self) -> int:
        return len(self.sets)

    @property
    def smallest(self) -> np.ndarray:
        """The minimal difference sets."""
        if self._smallest is None:
            sets = self.sets.copy()
            self._smallest = sets[: drop_supersets(sets, _sizes(sets), _EVERY)] if len(sets) > 1 else sets
        return self._smallest

    def add(self, pairs: np.ndarray) -> np.ndarray:
        """Take in pairs of living rows; the minimal difference sets that are new."""
        before = self.smallest
        for start in range(0, len(pairs), AT_ONCE):
            self._add(np.ascontiguousarray(pairs[start : start + AT_ONCE], np.int64))
        return without(self.smallest, before)

    def _add(self, pairs: np.ndarray) -> None:
        differences = np.zeros((len(pairs), self.sets.shape[1]), np.uint64)
        kernels.differences(self.cells.matrix, self._columns, self.cells.slots.unknown, pairs, differences)
        sets = np.concatenate((self.sets, differences))
        # words sort much faster than lines
        lines = np.ascontiguousarray(sets)
        keys = lines[:, 0] if lines.shape[1] == 1 else lines.view(f"V{8 * lines.shape[1]}")[:, 0]
        _, first = np.unique(keys, return_index=True)
        first.sort()  # what is there stays with its pair
        if len(first) == len(self.sets):
            return
        sets, both = sets[first], np.concatenate((self.pairs, pairs.astype(np.int32)))[first]
        order = np.argsort(_sizes(sets), kind="stable")
        self.sets, self.pairs, self._smallest = sets[order], both[order], None
        if len(self.sets) > _CAPACITY + len(self.smallest):
            keep = np.arange(len(self.sets)) < _CAPACITY
            keep |= np.isin(_voids(self.sets), _voids(self.smallest))
            self.sets, self.pairs = self.sets[keep], self.pairs[keep]

    def drop_deleted(self, alive: np.ndarray) -> list[tuple[np.ndarray, list[int]]]:
        """Give up the sets whose pair is not alive any more; those of them that were minimal, with the deleted rows of
        their pairs."""
        dead = ~alive[self.pairs].all(axis=1)
        if not dead.any():
            return []
        minimal = np.flatnonzero(dead)[np.isin(_voids(self.sets[dead]), _voids(self.smallest))]
        lost = [(self.sets[k], [row for row in self.pairs[k].tolist() if not alive[row]]) for k in minimal]
        self.sets, self.pairs, self._smallest = self.sets[~dead], self.pairs[~dead], None
        return lost

    def renumber(self, cells: Cells, numbers: np.ndarray) -> None:
        """Follow a table that was compacted."""
        self.cells, self.pairs = cells, numbers[self.pairs].astype(np.int32)

    def save(self, writer: Writer) -> None:
        writer.array("differences", self.sets)
        writer.array("pairs", self.pairs)

    @staticmethod
    def load(reader: Reader, cells: Cells) -> DifferenceSets:
        return DifferenceSets(cells, reader.array("differences"), reader.array("pairs"))

    def _check(self, alive: np.ndarray) -> None:
        """Assert that every set is that of its pair, which is alive."""
        assert alive[self.pairs].all()
        differences = np.zeros_like(self.sets)
        kernels.differences(
            self.cells.matrix, self._columns, self.cells.slots.unknown, self.pairs.astype(np.int64), differences
        )
        assert np.array_equal(differences, self.sets)
        assert (np.diff(_sizes(self.sets)) >= 0).all()


def _sizes(sets: np.ndarray) -> np.ndarray:
    return np.bitwise_count(sets).sum(axis=1, dtype=np.int64)


def _voids(sets: np.ndarray) -> np.ndarray:
    """Each set as one value."""
    return sets[:, 0] if sets.shape[1] == 1 else np.ascontiguousarray(sets).view(f"V{sets.shape[1] * 8}")[:, 0]
