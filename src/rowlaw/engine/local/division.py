"""Listing by divide and conquer: all inequalities and differences of a rule in one stage.

Near-linear in rows for a fixed number of comparisons, plus the size of the result, whichever comparisons are selective.
The result is groups of rows, of which there are few even when there are very many pairs. Counting more than two
inequalities divides in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from rowlaw.engine.local.compile import Comparison
from rowlaw.engine.local.inequality import BATCH, descending
from rowlaw.kernels import divide as kernels
from rowlaw.relation.groups import Groups, Side
from rowlaw.rules.model import Op

SCAN = 48  # pairs for each row of a part up to which pairs are compared one by one; benchmarks/listing.py
SCAN_FOR_GROUPS = 8  # the same where few and large groups are wanted, not speed; benchmarks/listing.py
SCAN_ALL = 1 << 30  # compare all pairs
TOGETHER = 60  # comparisons in one stage: a bit for each
_WORK = 1 << 20  # rows looked at in one call, about 10 ms: how long another thread waits for a share


class Division:
    """The pairs of some groups that satisfy comparisons, as an iterator of smaller groups, which can be shared with
    other threads.

    Not safe to use from several threads at once: the thread that iterates calls :meth:`share` between two steps.
    """

    def __init__(self, groups: Groups, comparisons: Sequence[Comparison], batch: int = BATCH, scan: int = SCAN) -> None:
        # coordinates a of s and b of t such that a comparison is a < b, or a != b: codes descend under a minus, and a
        # <= b is a < b + 1
        self._s = _arena(groups.s.rows, [(c.columns.left, -1 if descending(c.op) else 1, 0) for c in comparisons])
        self._t = _arena(
            groups.t.rows, [(c.columns.right, -1 if descending(c.op) else 1, int(_weak(c))) for c in comparisons]
        )
        self._s_starts, self._t_starts = groups.s.starts, groups.t.starts
        self._kinds = np.array([kernels.UNEQUAL if c.op == Op.NE else kernels.ASCENDING for c in comparisons], np.int8)
        if groups.number == 1 and comparisons:
            left = kernels.narrow(self._s, len(groups.s.rows), self._t, len(groups.t.rows), self._kinds)
            self._s_starts, self._t_starts = (np.array([0, rows], np.int64) for rows in (left if all(left) else (0, 0)))
        self._stack, self._depth, self._group = np.zeros(64, kernels.NODE), 0, 0
        self._batch, self._scan = batch, scan

    def __iter__(self) -> Iterator[Groups]:
        """All groups that are left."""
        while not self.done:
            groups = self.step()
            if groups.number:
                yield groups

    @property
    def done(self) -> bool:
        return self._depth == 0 and self._group >= len(self._s_starts) - 1

    def step(self) -> Groups:
        """Work for a while; gives what was found, perhaps nothing."""
        state = kernels.divide(
            *(self._s, self._t, self._stack, self._depth, self._s_starts, self._t_starts),
            *(self._group, self._kinds, self._scan, self._batch, _WORK),
        )
        s_rows, s_ends, t_rows, t_ends, self._s, self._t, self._stack, self._depth, self._group = state
        return Groups(Side(s_rows, np.append(0, s_ends)), Side(t_rows, np.append(0, t_ends)))

    def share(self) -> Division | None:
        """Give away about half of the remaining work; None if there is nothing to give."""
        left = len(self._s_starts) - 1 - self._group
        if left > 1:
            pairs = np.diff(self._s_starts[self._group :]).astype(np.float64) * np.diff(self._t_starts[self._group :])
            kept = int(np.searchsorted(np.cumsum(pairs), pairs.sum() / 2)) + 1
            cut = self._group + min(kept, left - 1)
            other = self._part(slice(cut, None))
            self._s_starts, self._t_starts = self._s_starts[: cut + 1], self._t_starts[: cut + 1]
            return other
        if self._depth < 2:
            return None
        node = self._stack[0]  # the oldest: the largest, most often
        other = self._copy(slice(node["s_from"], node["s_to"]), slice(node["t_from"], node["t_to"]))
        other._stack[0] = (
            0,
            other._s_starts[-1],
            0,
            other._t_starts[-1],
            node["open"],
            other._s_starts[-1],
            other._t_starts[-1],
        )
        other._depth, other._group = 1, 1
        self._stack[: self._depth - 1] = self._stack[1 : self._depth].copy()
        self._depth -= 1
        return other

    def _part(self, groups: slice) -> Division:
        """The groups from a place on, as a division of their own."""
        s_starts, t_starts = self._s_starts[groups.start :], self._t_starts[groups.start :]
        other = self._copy(slice(s_starts[0], s_starts[-1]), slice(t_starts[0], t_starts[-1]))
        other._s_starts, other._t_starts = s_starts - s_starts[0], t_starts - t_starts[0]
        return other

    def _copy(self, s: slice, t: slice) -> Division:
        """A division of one group: some rows of the arenas."""
        other = Division.__new__(Division)
        other._s, other._t = self._s[:, s].copy(), self._t[:, t].copy()
        other._s_starts, other._t_starts = (np.array([0, arena.shape[1]], np.int64) for arena in (other._s, other._t))
        other._kinds, other._batch, other._scan = self._kinds, self._batch, self._scan
        other._stack, other._depth, other._group = np.zeros(64, kernels.NODE), 0, 0
        return other


def _arena(rows: np.ndarray, coordinates: Sequence[tuple[np.ndarray, int, int]]) -> np.ndarray:
    """An arena that begins with the rows, with as much capacity again; coordinates are codes, a factor and a
    summand."""
    arena = np.empty((1 + len(coordinates), 2 * len(rows)), np.int32)
    arena[0, : len(rows)] = rows
    for line, (codes, factor, summand) in zip(arena[1:], coordinates, strict=True):
        kernels.fill(rows, codes, np.int32(factor), np.int32(summand), line)
    return arena


def _weak(c: Comparison) -> bool:
    return c.op.is_inequality and bool(c.op & Op.EQ)
