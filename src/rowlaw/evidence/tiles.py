"""The evidence of all pairs of rows, from pairs of tiles of rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from rowlaw.evidence.evidence import EvidenceSet
from rowlaw.evidence.slots import Slots
from rowlaw.kernels import evidence as kernels
from rowlaw.kernels.signatures import signatures_of
from rowlaw.relation.groups import Side, Sorted
from rowlaw.relation.pairs import Pairs, random_pairs
from rowlaw.spark.jobs import DriverThreads, Workers, finished
from rowlaw.stopping import NEVER, Stop

_TILE = 1024  # rows: the lanes of a tile stay in the first-level cache
TASKS_PER_WORKER = 2  # tasks cost the same, and each finds most signatures anew
_RANDOM_PAIRS = 20_000  # pairs that stand for all of a large table, for ranking
TASK_TILES = 8  # tile pairs that are worth a task: about 10 ms of work
QUICK_ROWS = 8 * _TILE  # compared within about 0.1 s: not worth a thread that can be left behind


def all_pairs(
    slots: Slots,
    rows: np.ndarray | None = None,
    multiplicity: np.ndarray | None = None,
    workers: Workers | None = None,
    tile: int = _TILE,
    direct: int = kernels.DIRECT,
    stop: Stop = NEVER,
) -> EvidenceSet:
    """Return what all ordered pairs of different rows say (of some rows, if given; each counts ``multiplicity`` times).

    >>> import pyarrow as pa
    >>> from rowlaw.relation import encode
    >>> from rowlaw.source import open_source
    >>> relation = encode(open_source(pa.table({"a": [1, 2, 2], "b": ["x", "y", "y"]})))
    >>> list(all_pairs(Slots.same_column(relation)))
    [((0,), 2), ((5,), 2), ((6,), 2)]

    ``O(n^2)`` pairs of distinct rows at several hundred million a second and core: each unordered pair is compared
    once, the other direction is read off the distinct signatures. Equal rows are folded first, and rows are sorted by
    columns of few values, so that most tiles have few values in many columns, which then need not be compared. Raises
    ``Stopped`` soon after ``stop`` is requested.
    """
    workers = workers or DriverThreads()
    work = Tiles(slots, rows, multiplicity, tile, direct, stop=stop)
    quick = slots.rows <= QUICK_ROWS
    folded = finished(lambda: work.folded, stop, quick=quick)
    a, b = np.triu_indices(-(-len(folded.rows) // tile))
    tile_pairs = np.stack((a, b), axis=1).astype(np.int64)
    parts = max(1, min(len(tile_pairs) // TASK_TILES, TASKS_PER_WORKER * workers.slots)) if workers.slots > 1 else 1
    # neighbours are alike in cost: deal them out
    tasks = [tile_pairs[i::parts] for i in range(parts)] if len(tile_pairs) else []
    tallies = workers.map(work, tasks, f"evidence of {len(folded.rows):,} rows", stop=NEVER if quick else stop)
    stop.check()  # kernels end without an error when they are told to

    def merged() -> EvidenceSet:
        again = np.flatnonzero(folded.weights > 1)
        own, weights = evidence_of_pairs(slots, folded.rows[again], folded.rows[again]), folded.weights[again]
        signatures, counts = [own], [weights * (weights - 1)]
        for one_way, number in tallies:
            signatures += [one_way, slots.reverse(one_way)]
            counts += [number, number]
        return EvidenceSet.of(np.concatenate(signatures), np.concatenate(counts))

    return finished(merged, stop, quick=quick)


def fold(slots: Slots, some: np.ndarray | None = None, multiplicity: np.ndarray | None = None) -> Folded:
    """Return the distinct rows of a relation (or some of it), over the columns in use, and how often each occurs.

    Sorted by the columns of fewest values first; rows that occur once come before the others.
    """
    rows = np.arange(slots.relation.rows) if some is None else some
    weights = np.ones(len(rows), np.int64) if multiplicity is None else np.asarray(multiplicity, np.int64)
    present = weights > 0
    rows, weights = np.asarray(rows)[present].astype(np.int32), weights[present]
    columns = [Sorted(c, int(c[rows].max(initial=-1)) + 2) for c in slots.columns]
    columns.sort(key=lambda c: c.width)
    if len(rows) and columns:
        order = Side.whole(rows).sorted_by(columns)[1]
        rows, weights = rows[order], weights[order]
    first = np.zeros(len(rows), np.bool_)
    first[:1] = True
    for column in columns:
        codes = column.codes[rows]
        first[1:] |= codes[1:] != codes[:-1]
    starts = np.flatnonzero(first)
    rows, weights = rows[starts], np.add.reduceat(weights, starts) if len(starts) else weights
    order = np.argsort(weights > 1, kind="stable")
    return Folded(rows[order], weights[order])


def evidence_of_pairs(slots: Slots, s_rows: np.ndarray, t_rows: np.ndarray) -> np.ndarray:
    """Return the signatures of given ordered pairs of rows, ``uint64[pairs, words]``. ``O(pairs * slots)``."""
    signatures = np.zeros((len(s_rows), slots.words), np.uint64)
    s_rows, t_rows = np.asarray(s_rows, np.int64), np.asarray(t_rows, np.int64)
    if len(signatures):
        columns, left, right = _brought(slots, s_rows, t_rows)
        places = np.arange(len(s_rows))
        signatures_of(columns, left, right, slots.ordered, slots.unknown, places, places, signatures)
    return signatures


def evidence_of_violations(slots: Slots, pairs: Pairs) -> EvidenceSet:
    """Return what violating pairs say, in both directions. A row that breaks a rule about single rows does so beside
    any other row."""
    over = slots.over(pairs.relation)
    s, t = pairs.rows[:, 0], pairs.rows[:, 1]
    one_way = evidence_of_pairs(over, s, np.where(s == t, (s + 1) % max(1, pairs.relation.rows), t))
    return _both_ways(slots, one_way)


def random_evidence(slots: Slots, few_rows: int, pairs: int = _RANDOM_PAIRS, seed: int = 0) -> EvidenceSet:
    """Return what random pairs of rows say, in both directions; all pairs, where there are at most ``few_rows``
    rows."""
    if slots.rows <= few_rows:
        return all_pairs(slots)
    return _both_ways(slots, evidence_of_pairs(slots, *random_pairs(slots.rows, pairs, seed)))


def _both_ways(slots: Slots, one_way: np.ndarray) -> EvidenceSet:
    both = np.concatenate((one_way, slots.reverse(one_way)))
    return EvidenceSet.of(both, np.ones(len(both), np.int64))


def _brought(slots: Slots, s_rows: np.ndarray, t_rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the codes of the given rows only: columns of ``s_rows``, then of ``t_rows``."""
    number = len(slots.columns)
    columns = np.empty((2 * number, len(s_rows)), np.int32)
    for i, codes in enumerate(slots.columns):
        columns[i], columns[number + i] = codes[s_rows], codes[t_rows]
    return columns, slots.left, slots.right + number


@dataclass(frozen=True, slots=True)
class Folded:
    """Distinct rows in the order of tiles, and how often each occurs."""

    rows: np.ndarray
    weights: np.ndarray


@dataclass(frozen=True, eq=False)
class Tiles:
    """The work of a task: counts the signatures of the pairs of tiles it is given. Workers prepare their own codes."""

    slots: Slots
    rows: np.ndarray | None
    multiplicity: np.ndarray | None
    tile: int
    direct: int
    layout: Folded | None = None  # the rows, if it is known already how they fold and stand
    stop: Stop = NEVER

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    def __call__(self, pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        slots = self.slots
        compared = slots.left, slots.right, slots.ordered
        return kernels.count_tiles(pairs, self.tile, self.direct, *self._codes, *compared, *self._facts, self.stop.flag)

    @cached_property
    def folded(self) -> Folded:
        """The rows as tiles have them; a worker finds them again."""
        return self.layout if self.layout is not None else fold(self.slots, self.rows, self.multiplicity)

    @cached_property
    def _codes(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Codes of the folded rows: in 16 bits where they fit, else in 32; ``place`` says where."""
        rows = self.folded.rows
        narrow = np.zeros((len(self.slots.columns), len(rows)), np.int16)
        wide: list[np.ndarray] = []
        place = np.full(len(self.slots.columns), -1, np.int64)
        for i, column in enumerate(self.slots.columns):
            codes = column[rows]
            if codes.max(initial=-1) < kernels.NARROW - 1:
                narrow[i] = codes
            else:
                place[i] = len(wide)
                wide.append(codes)
        return narrow, np.stack(wide) if wide else np.zeros((0, len(rows)), np.int32), place

    @cached_property
    def _facts(self) -> tuple[tuple[np.ndarray, ...], np.ndarray, np.ndarray]:
        """Bounds of codes, multiplicities, and tiles whose rows occur once."""
        rows, weights = self.folded.rows, self.folded.weights
        number = -(-len(rows) // self.tile)
        shape = (len(self.slots.columns), number)
        low, high, unknown = np.zeros(shape, np.int32), np.zeros(shape, np.int32), np.zeros(shape, np.bool_)
        for i, column in enumerate(self.slots.columns):
            kernels.ranges(column[rows], self.tile, self.slots.unknown, low[i], high[i], unknown[i])
        single = (
            np.maximum.reduceat(weights, np.arange(0, len(weights), self.tile)) == 1
            if number
            else np.zeros(0, np.bool_)
        )
        return (low, high, unknown), weights, single
