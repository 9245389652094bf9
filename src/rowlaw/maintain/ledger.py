"""The evidence behind the rules of a table that changes: distinct signatures, and pairs of rows that show that each is
still true.

A signature holds while some pair of living rows has it. Where all pairs have been compared the ledger counts them;
where not, it keeps a few *witnesses* of each signature, and one that has lost them all is given up until somebody finds
another pair.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

import numpy as np

from rowlaw.evidence.slots import Slots
from rowlaw.kernels import upkeep as kernels
from rowlaw.kernels.evidence import NARROW
from rowlaw.kernels.upkeep import Layout, Pages
from rowlaw.maintain.cells import Cells
from rowlaw.spark.jobs import DriverThreads, cores
from rowlaw.storage.live_relation import dense

_WITNESSES = 4  # pairs kept for a signature: one row in a hundred gone takes all four of one in a million
_THREAD_PAIRS = 4_000_000  # pairs that are worth a second thread
SORTED = 16  # rows for which it pays to have those they meet in order
_MAX_COUNTERS = 1 << 20  # addressed directly
PARTNERS = 4  # random ones of each row in a sample
_NEIGHBOURS = 1e-5  # signatures that a sample shows first, for each pair of neighbours, below which it ends
S_TILE, T_TILE = 1024, 4096  # rows of a batch, and of those they meet, that are compared with each other at a time
_LARGEST = (1 << 31) - 1
_FIRST = 64  # room of a new ledger


def new_pages(words: int, witnesses: int, capacity: int = _FIRST) -> Pages:
    """An empty ledger's arrays."""
    size = 1 << max(7, (4 * capacity - 1).bit_length())
    return Pages(
        np.zeros(size, np.int32),
        np.empty((capacity, words), np.uint64),
        np.zeros(capacity, np.int64),
        np.zeros((capacity, witnesses, 2), np.int32),
        np.zeros(capacity, np.int8),
        np.zeros(1, np.int64),
    )


class Ledger:
    """Signatures by place: what each says never changes, nor does its place.

    ``counts[k]`` ordered pairs have signature k (``counted``), or ``pairs[k, :held[k]]`` are some of them.
    ``mirror[k]`` is the place of the signature with ``s`` and ``t`` exchanged: both are always there.
    """

    def __init__(self, words: int, *, counted: bool) -> None:
        self.counted = counted
        self.compared = 0  # pairs that were compared, as far as they were not new to an index
        self.pages = new_pages(words, 1 if counted else _WITNESSES)
        self.counts = np.zeros(_FIRST, np.int64)
        self.mirror = np.zeros(_FIRST, np.int32)
        self._known = np.zeros(_FIRST, bool)  # told to be true, without a pair to show for it

    def __len__(self) -> int:
        return int(self.pages.used[0])

    @property
    def signatures(self) -> np.ndarray:
        return self.pages.signatures[: len(self)]

    @property
    def holds(self) -> np.ndarray:
        """Which signatures are true of some living pair, as far as the ledger knows."""
        n = len(self)
        if self.counted:
            return self.counts[:n] > 0
        shown = self.pages.held[:n] > 0
        return shown | shown[self.mirror[:n]] | self._known[:n]

    def add(self, signatures: np.ndarray, slots: Slots) -> np.ndarray:
        """The places of signatures; new ones are added, with their mirrors."""
        places = np.empty(len(signatures), np.int64)
        self.pages = Pages(*kernels.find_or_add(self.pages, np.ascontiguousarray(signatures), places))
        self._complete(slots)
        return places

    def add_known(self, signatures: np.ndarray, counts: np.ndarray | None, slots: Slots) -> None:
        """Take in what somebody else found out: ``counts`` of all pairs, or that the signatures are true."""
        places = self.add(signatures, slots)
        if counts is not None:
            self.counts[places] += counts
        else:
            self._known[places] = True

    def drop_unwitnessed(self) -> np.ndarray:
        """From now on only pairs count. The places of signatures that have none."""
        before = self.holds
        self._known[:] = False
        return np.flatnonzero(before & ~self.holds)

    def _complete(self, slots: Slots) -> None:
        """Brings the mirrors of new signatures, and room for what is known of them."""
        mirrored = self._mirrored
        while mirrored < len(self):
            fresh = np.ascontiguousarray(self.pages.signatures[mirrored : len(self)])
            places, upto = np.empty(len(fresh), np.int64), len(self)
            self.pages = Pages(*kernels.find_or_add(self.pages, np.ascontiguousarray(slots.reverse(fresh)), places))
            capacity = len(self.pages.signatures)
            if len(self.counts) < capacity:
                self.counts, self.mirror, self._known = (
                    _longer(a, capacity) for a in (self.counts, self.mirror, self._known)
                )
            self.mirror[mirrored:upto] = places
            mirrored = self._mirrored = upto

    _mirrored = 0

    def begin_batch(self) -> None:
        """Start counting the pairs of a batch."""
        self.pages.tally[: len(self)] = 0
        if self.counted:
            self.pages.held[: len(self)] = 0

    def replace_pages(self, slots: Slots, pages: Pages) -> None:
        """Go on with what a kernel has made of the ledger's arrays, having seen pairs."""
        self.pages = Pages(*pages)
        self._complete(slots)

    def compare_pairs(self, cells: Cells, s_rows: np.ndarray, t_rows: np.ndarray) -> None:
        """See given pairs of rows."""
        s_rows, t_rows = np.ascontiguousarray(s_rows, np.int64), np.ascontiguousarray(t_rows, np.int64)
        self.compared += len(s_rows)
        self.replace_pages(cells.slots, kernels.compare_listed(cells.matrix, cells.how, s_rows, t_rows, self.pages))

    def sample(self, cells: Cells, rows: np.ndarray) -> None:
        """See random pairs, then neighbours in sorted orders until a round through all columns shows little for the
        first time."""
        if len(rows) < 2:
            return
        random = np.random.default_rng(0)
        for _ in range(PARTNERS):
            self.compare_pairs(cells, rows, np.roll(rows, int(random.integers(1, len(rows)))))
        columns, orders = cells.matrix.shape[1], cells.orders(rows)
        shown = np.count_nonzero(self.pages.held)
        for _ in range(columns):
            for order in islice(orders, columns):
                self.compare_pairs(cells, order[:-1], order[1:])
            before, shown = shown, np.count_nonzero(self.pages.held)
            if shown - before < _NEIGHBOURS * columns * len(rows):
                return

    def since(self, held_before: np.ndarray) -> np.ndarray:
        """The places of signatures that hold now and did not when :attr:`holds` was ``held_before``."""
        fresh = self.holds
        fresh[: len(held_before)] &= ~held_before
        return np.flatnonzero(fresh)

    def compare_all(self, cells: Cells, s_rows: np.ndarray, others: np.ndarray) -> None:
        """See all pairs of ``s_rows`` with the ``others`` and among themselves, each once; in threads if they are
        many."""
        self.compared += len(s_rows) * (len(s_rows) - 1) // 2 + len(s_rows) * len(others)
        layout, s_tiles = _layout(cells, np.asarray(s_rows, np.int64), np.asarray(others, np.int64))
        tiles = np.arange(len(layout.tiles) - 1)
        parts = min(cores(), len(tiles)) if len(s_rows) * len(layout.rows) > _THREAD_PAIRS else 1

        def work(part: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            some = tiles[part::parts]
            return kernels.compare_all(layout, cells.how, cells.slots.ordered, some, s_tiles, _MAX_COUNTERS)  # type: ignore[no-any-return]

        for signatures, counts, pairs in DriverThreads(parts).map(work, range(parts), "compare the rows of a batch"):
            self._merge(signatures, counts, pairs, cells.slots)

    def merge(self, other: Ledger, rows: np.ndarray, slots: Slots) -> None:
        """Take over what another ledger has seen, in which row number ``i`` was ``rows[i]``."""
        for i in range(other.pages.pairs.shape[1]):
            some = np.flatnonzero(other.pages.held[: len(other)] > i)
            counts = other.pages.tally[some] * (i == 0)
            self._merge(other.signatures[some], counts, rows[other.pages.pairs[some, i]], slots)

    def _merge(self, signatures: np.ndarray, counts: np.ndarray, pairs: np.ndarray, slots: Slots) -> None:
        """Pairs that have been seen elsewhere: how many, and one of each signature."""
        s_rows, t_rows = (np.ascontiguousarray(side, np.int64) for side in pairs.T)
        self.replace_pages(
            slots, kernels.add_counted(self.pages, np.ascontiguousarray(signatures), counts, s_rows, t_rows)
        )

    def end_batch(self, sign: int) -> np.ndarray:
        """The pairs seen since :meth:`begin_batch` came (1) or went (-1): the places of signatures that appeared or
        vanished."""
        n = len(self)
        before = self.counts[:n] > 0
        both = self.pages.tally[:n] + self.pages.tally[:n][self.mirror[:n]]
        self.counts[:n] += sign * both
        return np.flatnonzero(before != (self.counts[:n] > 0))

    def witness_pairs(self, places: np.ndarray) -> np.ndarray:
        """For each signature a pair of rows that has it, if one is at hand; else (-1, -1)."""
        mirror = self.mirror[places]
        here, there = self.pages.held[places] > 0, self.pages.held[mirror] > 0
        pairs = np.where(here[:, None], self.pages.pairs[places, 0], self.pages.pairs[mirror, 0, ::-1])
        return np.where((here | there)[:, None], pairs, np.int32(-1))

    def drop_deleted(self, alive: np.ndarray) -> np.ndarray:
        """Rows are gone: their pairs are no witnesses any more. The places of signatures that have lost all of
        theirs."""
        n = len(self)
        before = self.holds
        pairs, held = self.pages.pairs[:n], self.pages.held
        inside = np.arange(pairs.shape[1]) < held[:n, None]
        lost = np.zeros(inside.shape, bool)
        # what is not held any more may name rows that are long forgotten
        lost[inside] = ~alive[pairs[inside]].all(axis=1)
        for k in np.flatnonzero(lost.any(axis=1)):
            kept = pairs[k][inside[k] & ~lost[k]]
            pairs[k, : len(kept)] = kept
            held[k] = len(kept)
        return np.flatnonzero(before & ~self.holds)

    def renumber(self, numbers: np.ndarray) -> None:
        """Rows have new numbers."""
        n = len(self)
        inside = np.arange(self.pages.pairs.shape[1]) < self.pages.held[:n, None]
        self.pages.pairs[:n][inside] = numbers[self.pages.pairs[:n][inside]]

    def arrays(self) -> dict[str, np.ndarray]:
        """What there is to save."""
        n = len(self)
        arrays = {"signatures": self.signatures, "mirror": self.mirror[:n]}
        if self.counted:
            return {**arrays, "counts": self.counts[:n]}
        return {**arrays, "pairs": self.pages.pairs[:n], "held": self.pages.held[:n]}

    @staticmethod
    def of_arrays(read: Callable[[str], np.ndarray], *, counted: bool) -> Ledger:
        signatures = read("signatures")
        n = len(signatures)
        made = Ledger(signatures.shape[1], counted=counted)
        made.pages = new_pages(signatures.shape[1], 1 if counted else _WITNESSES, max(_FIRST, 2 * n))
        kernels.find_or_add(made.pages, np.ascontiguousarray(signatures), np.empty(n, np.int64))
        made.counts, made.mirror, made._known = (
            _longer(a, len(made.pages.signatures)) for a in (made.counts, made.mirror, made._known)
        )
        made.mirror[:n], made._mirrored = read("mirror"), n
        if counted:
            made.counts[:n] = read("counts")
        else:
            made.pages.pairs[:n], made.pages.held[:n] = read("pairs"), read("held")
        return made

    def _check(self, cells: Cells, alive: np.ndarray) -> None:
        """Every invariant; raises if one is broken. Compares all pairs if they are counted."""
        n = len(self)
        assert self._mirrored == n
        assert len(np.unique(self.signatures, axis=0)) == n
        assert np.array_equal(cells.slots.reverse(self.signatures), self.signatures[self.mirror[:n]])
        if self.counted:
            fresh = Ledger(self.pages.signatures.shape[1], counted=True)
            fresh.compare_all(cells, np.flatnonzero(alive), np.zeros(0, np.int64))
            fresh.end_batch(1)
            places = self.add(fresh.signatures, cells.slots)
            expected = np.zeros(len(self), np.int64)
            expected[places] = fresh.counts[: len(fresh)]
            assert np.array_equal(self.counts[: len(self)], expected)
            return
        for k in range(n):
            pairs = self.pages.pairs[k, : self.pages.held[k]]
            assert alive[pairs].all()
            assert len(np.unique(pairs, axis=0)) == len(pairs)
            assert (cells.signatures(pairs) == self.signatures[k]).all()


def _layout(cells: Cells, s_rows: np.ndarray, others: np.ndarray) -> tuple[Layout, int]:
    """Rows to compare, each part in an order in which neighbours are alike, and how many tiles the first part has."""
    if len(s_rows) >= SORTED:
        s_rows, others = cells.sorted_by_similarity(s_rows), cells.sorted_by_similarity(others)
    rows = np.concatenate((s_rows, others))
    starts = [*range(0, len(s_rows), S_TILE)]
    s_tiles = len(starts)
    many = -(-len(others) // (T_TILE * cores())) * cores()  # so that each thread has as many, and as long ones
    tiles = np.unique(
        np.array([*starts, *(len(s_rows) + len(others) * i // many for i in range(many)), len(rows)], np.int64)
    )
    columns = np.ascontiguousarray(cells.matrix[rows].T)
    wide: list[np.ndarray] = []
    narrow, place = np.zeros(columns.shape, np.int16), np.full(len(columns), -1, np.int64)
    bounds = np.zeros((2, len(columns), len(tiles) - 1), np.int32)
    unknown = np.zeros((len(columns), len(tiles) - 1), bool)
    for group in cells.compared:
        if len(rows) and columns[group].max() >= NARROW - 1:
            # labels lie far apart; among fewer values they are numbers of 16 bits
            columns[group] = dense(columns[group].ravel())[0].reshape(len(group), -1)
    for c, codes in enumerate(columns):
        if len(codes) and codes.max() < NARROW - 1:
            narrow[c] = codes
        else:
            place[c] = len(wide)
            wide.append(codes)
        null = (codes < 0) & cells.slots.unknown
        unknown[c] = np.logical_or.reduceat(null, tiles[:-1]) if len(codes) else False
        if len(codes):
            bounds[0, c] = np.minimum.reduceat(np.where(null, _LARGEST, codes), tiles[:-1])
            bounds[1, c] = np.maximum.reduceat(np.where(null, -_LARGEST, codes), tiles[:-1])
    stacked = np.stack(wide) if wide else np.zeros((0, len(rows)), np.int32)
    return Layout(narrow, stacked, place, bounds[0], bounds[1], unknown, tiles, rows.astype(np.int32)), s_tiles


def _longer(array: np.ndarray, length: int) -> np.ndarray:
    longer = np.zeros(length, array.dtype)
    longer[: len(array)] = array
    return longer
