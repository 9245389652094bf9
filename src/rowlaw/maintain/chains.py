"""Indexes for two inequalities: rows in few chains, along each of which two columns both run one way (IncDC sections 5
and 6).

>>> txa = np.array([3000, 1500, 3400, 1300, 0, 900, 1100])
>>> sal = np.array([32000, 50000, 30000, 55000, 7500, 6500, 95000])
>>> index = ChainIndex(Op.GT, Op.LT)
>>> index.build(txa, sal, np.arange(7))
>>> index.chains
[[4, 5], [6, 3, 1, 0, 2]]
>>> sorted(index.fetch(1400, Op.LT, 33000, Op.GT).tolist()), sorted(index.fetch(1400, Op.GT, 33000, Op.LT).tolist())
([3, 6], [0, 2])

Chains are arrays, not linked lists: finding a place among 100,000 values takes 0.1 microseconds in an array and 0.8 in
a skip list, and arrays are all there is. New rows go into chains of their own, which are small, and are dealt out anew
with all others when they have become a sixteenth of them: a thousand rows cost 0.3 ms, and 13 ms every sixth time, and
the rank stays near the minimum.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from rowlaw.kernels import chains as kernels
from rowlaw.rules.model import Op

if TYPE_CHECKING:
    from rowlaw.storage.store import Reader, Writer

DIRECT = 1024  # rows up to which a new one is put straight into its chain
_RECENT = 16  # one in so many rows may wait outside the large chains
_ONE_BY_ONE = 32  # rows of a batch that are put into chains one by one
BATCH = 1 << 14  # pairs fetched at a time, at least

ASCENDING = (Op.GT, Op.GE)
_STRICT = (Op.LT, Op.GT)


@dataclass
class Chains:
    """Points ``(x, y)`` that both rise along each chain, and their ``rows``. Equal points stand side by side, whatever
    the operators."""

    x: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    y: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    rows: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    starts: np.ndarray = field(default_factory=lambda: np.zeros(1, np.int64))

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def rank(self) -> int:
        return len(self.starts) - 1

    @staticmethod
    def partition(x: np.ndarray, y: np.ndarray, rows: np.ndarray, strict_x: bool, strict_y: bool) -> Chains:
        """The fewest chains (Algorithm 3, OptIndex). The paper breaks ties of a strict ``x`` the other way, which lets
        equal values follow each other."""
        order = np.lexsort((-y if strict_x else y, x))
        x, y, rows = x[order], y[order], rows[order]
        first = np.ones(len(x), bool)
        first[1:] = (x[1:] != x[:-1]) | (y[1:] != y[:-1])
        number = np.empty(int(first.sum()), np.int64)
        chains = kernels.deal(y[first], strict_y, number)
        number = number[np.cumsum(first) - 1]
        placed = np.argsort(number, kind="stable")
        starts = np.concatenate(([0], np.cumsum(np.bincount(number, minlength=chains)))).astype(np.int64)
        return Chains(x[placed], y[placed], rows[placed], starts)

    def insert(self, px: int, py: int, row: int, strict_x: bool, strict_y: bool) -> None:
        """Put a point into the longest chain that it fits into, or into a new one (section 6.3)."""
        chain, at = kernels.place(self.x, self.y, self.starts, px, py, strict_x, strict_y)
        if chain < 0:
            at = len(self)
            self.starts = np.append(self.starts, at + 1)
        else:
            self.starts[chain + 1 :] += 1
        self.x, self.y, self.rows = np.insert(self.x, at, px), np.insert(self.y, at, py), np.insert(self.rows, at, row)


class ChainIndex:
    """``Index(A op1, B op2)``: along a chain, a row ``t`` after a row ``s`` has ``t.A op1 s.A`` and ``t.B op2 s.B``.

    Rows with equal values in both columns stand side by side in a chain (the paper keeps them apart, in ``Equ``). An
    index for any two operators serves any others: strict ones, weak ones, and those that run the other way (section
    6.2); and values of other columns (Fetch+, section 5.3).
    """

    def __init__(self, first: Op, second: Op) -> None:
        self.ops = first, second
        self._turned = np.array([1 if op in ASCENDING else -1 for op in self.ops], np.int64)
        self._strict = first in _STRICT, second in _STRICT
        self.main, self.recent = Chains(), Chains()
        self._saved: Chains | None = None

    def __len__(self) -> int:
        return len(self.main) + len(self.recent)

    @property
    def rank(self) -> int:
        """The number of chains."""
        return self.main.rank + self.recent.rank

    @property
    def chains(self) -> list[list[int]]:
        """The rows of each chain."""
        return [
            part.rows[a:b].tolist()
            for part in (self.main, self.recent)
            for a, b in zip(part.starts[:-1], part.starts[1:], strict=True)
        ]

    @property
    def nbytes(self) -> int:
        return sum(
            array.nbytes for part in (self.main, self.recent) for array in (part.x, part.y, part.rows, part.starts)
        )

    def build(self, first: np.ndarray, second: np.ndarray, rows: np.ndarray) -> None:
        """Take in rows, given by their values in both columns (labels, which never move)."""
        x, y = (np.asarray(values, np.int64) * turn for values, turn in zip((first, second), self._turned, strict=True))
        self.main, self.recent = Chains.partition(x, y, np.asarray(rows, np.int64), *self._strict), Chains()

    def insert(self, first: int, second: int, row: int) -> None:
        """Take in a row."""
        x, y = (np.array([first, second]) * self._turned).tolist()
        part = self.main if len(self.main) < DIRECT else self.recent
        if part is self.main:
            self._saved = None
        part.insert(x, y, int(row), *self._strict)
        self._merge_recent()

    def extend(self, first: np.ndarray, second: np.ndarray, rows: np.ndarray) -> None:
        """Take in rows: few one by one, many dealt out together with those that came of late."""
        if len(rows) <= _ONE_BY_ONE:
            for a, b, row in zip(first.tolist(), second.tolist(), rows.tolist(), strict=True):
                self.insert(a, b, row)
            return
        x, y = (np.asarray(values, np.int64) * turn for values, turn in zip((first, second), self._turned, strict=True))
        new = Chains(x, y, np.asarray(rows, np.int64))
        self.recent = self._partitioned(self.recent, new)
        self._merge_recent()

    def _merge_recent(self) -> None:
        if len(self.recent) > max(DIRECT, len(self.main) // _RECENT):
            self.main, self.recent = self._partitioned(self.main, self.recent), Chains()

    def _partitioned(self, *parts: Chains) -> Chains:
        x, y, rows = (np.concatenate([getattr(part, name) for part in parts]) for name in ("x", "y", "rows"))
        return Chains.partition(x, y, rows, *self._strict)

    def fits(self, first: int, second: int) -> int | None:
        """The number of the chain that a row of these values would go into; None for a new one."""
        x, y = (np.array([first, second]) * self._turned).tolist()
        chain, _ = kernels.place(self.main.x, self.main.y, self.main.starts, x, y, *self._strict)
        return int(chain) if chain >= 0 else None

    def fetch(self, first: int, first_op: Op, second: int, second_op: Op) -> np.ndarray:
        """The rows ``t`` with ``t.A first_op first`` and ``t.B second_op second``. ``O(k log n)`` besides what is
        found."""
        return self.fetch_many(np.array([[first, second]], np.int64), first_op, second_op)[:, 1]

    def fetch_many(self, points: np.ndarray, first_op: Op, second_op: Op) -> np.ndarray:
        """The same for many points: pairs of the number of a point and a row."""
        turned = np.ascontiguousarray(np.asarray(points, np.int64) * self._turned)
        above = np.array(
            [(op in ASCENDING) == (turn > 0) for op, turn in zip((first_op, second_op), self._turned, strict=True)]
        )
        weak = np.array([op not in _STRICT for op in (first_op, second_op)])
        blocks = []
        for part in (self.main, self.recent):
            begin, block_size = np.zeros(2, np.int64), max(BATCH, int(np.diff(part.starts).max(initial=0)))
            while begin[0] < len(turned):
                out = np.empty((block_size, 2), np.int64)
                blocks.append(
                    out[: kernels.fetch(part.x, part.y, part.rows, part.starts, turned, above, weak, begin, out)]
                )
        return np.concatenate(blocks) if blocks else np.zeros((0, 2), np.int64)

    def save(self, writer: Writer) -> None:
        """Write the large chains, unless they are in the files; rows beyond them are put in again."""
        for name in ("x", "y", "rows", "starts"):
            if self._saved is self.main and name in writer:
                writer.keep(name)
            else:
                writer.array(name, getattr(self.main, name))
        self._saved = self.main

    def load(self, reader: Reader) -> int:
        """Take the large chains from the files; the number of the first row that is not in them."""
        starts = reader.array("starts").copy()  # written to where a row is put in
        self.main = self._saved = Chains(reader.array("x"), reader.array("y"), reader.array("rows"), starts)
        return int(self.main.rows.max(initial=-1)) + 1

    def _check(self) -> None:
        """Every invariant: both coordinates run along every chain as the operators say, but for equal points."""
        for part in (self.main, self.recent):
            assert part.starts[0] == 0
            assert part.starts[-1] == len(part) == len(part.x) == len(part.y)
            inner = np.ones(max(0, len(part) - 1), bool)
            inner[part.starts[1:-1] - 1] = False
            x, y = np.diff(part.x)[inner], np.diff(part.y)[inner]
            for steps, strict in zip((x, y), self._strict, strict=True):
                assert (steps >= 0).all()
                assert not strict or (steps > 0)[(x != 0) | (y != 0)].all()
        assert len(np.unique(np.concatenate((self.main.rows, self.recent.rows)))) == len(self)
