"""The evidence of a sample of pairs, chosen to give as many distinct evidences as possible.

Three ways to choose: random partners (Hydra section 4.2); random partners by the values of a column, from the columns
and strategies that yield most (section 4.3); and, beyond Hydra, neighbours in orders sorted by several columns: pairs
that agree on many columns are rare among random ones and give most. What the second adds to the third was measured:
docs/decisions/0013.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rowlaw.errors import RowlawError
from rowlaw.evidence.evidence import EvidenceSet
from rowlaw.evidence.packed import Packed
from rowlaw.evidence.slots import Slots
from rowlaw.kernels import sample as sampling
from rowlaw.kernels import signatures as kernels

PARTNERS = 20  # random partners of a row: Hydra section 4.2
EFFICIENCY = 0.005  # new evidences for each pair compared, below which a focus is given up: Hydra section 4.3
# the same for neighbours: at 20 to 50 ns a pair, an evidence costs less than one question to the engine
_NEIGHBOURS = 1e-5
BATCH = 1 << 13  # rows that are given a partner before a focus is judged: docs/decisions/0013
MOST_ROWS = 1 << 19  # of a larger table, so many random rows are looked at
WITHIN, OTHER, BACK, FORTH = range(4)


@dataclass(frozen=True, slots=True)
class SampleOptions:
    """How pairs are sampled. Changes how long discovery takes, never what it finds.

    ``partners``: random partners of each row (Hydra's k). ``efficiency``: new evidences for each pair compared, below
    which focused sampling gives a column up. ``seed``: the same seed gives the same pairs.
    """

    partners: int = PARTNERS
    efficiency: float = EFFICIENCY
    seed: int = 0

    def __post_init__(self) -> None:
        if not _is_whole(self.partners) or self.partners < 1:
            raise RowlawError(
                "BAD_OPTION", option="sample_partners", value=self.partners, problem="a whole number, 1 or more"
            )
        if not isinstance(self.efficiency, int | float) or not 0 < self.efficiency <= 1:
            raise RowlawError(
                "BAD_OPTION", option="sample_efficiency", value=self.efficiency, problem="a share above 0, 1 at most"
            )
        if not _is_whole(self.seed) or self.seed < 0:
            raise RowlawError("BAD_OPTION", option="seed", value=self.seed, problem="a whole number, 0 or more")


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


@dataclass(order=True)
class Focus:
    """Where to look: partners of equal, other, lower or higher value in a column (Hydra section 4.3); best first."""

    priority: float
    slot: int
    strategy: int


class Sampler:
    """Finds evidence by comparing few pairs; can be asked again, and then looks elsewhere.

    >>> import pyarrow as pa
    >>> from rowlaw.relation import encode
    >>> from rowlaw.source import open_source
    >>> relation = encode(open_source(pa.table({"a": [1, 2, 2, 3], "b": ["x", "y", "x", "x"]})))
    >>> sampler = Sampler(Slots.same_column(relation))
    >>> len(sampler.run()), len(sampler.run())
    (5, 0)

    The same seed gives the same pairs. Near-linear: a round of neighbours is a counting sort and ``n`` comparisons for
    each column.
    """

    def __init__(self, slots: Slots, options: SampleOptions | None = None, *, neighbours: float = _NEIGHBOURS) -> None:
        self.slots, self.options, self.neighbours = slots, options or SampleOptions(), neighbours
        self._random = np.random.default_rng(self.options.seed)
        rows = np.arange(slots.relation.rows, dtype=np.int32)
        self._rows = rows if len(rows) <= MOST_ROWS else np.sort(self._random.choice(rows, MOST_ROWS, replace=False))
        self._packed = Packed.of(slots, self._rows)
        self._places = np.arange(len(self._rows), dtype=np.int32)
        self._keys, self._keys_used = kernels.new_table(1 << 12, self._packed.words), 0
        self._found, self._used = kernels.new_table(1 << 12, slots.words), 0  # counts: 1 new, 2 known
        mirror, turned = slots.mirror
        self._mirror = mirror, turned & slots.ordered
        # one slot for each column that some row s brings, and only if it can tell rows apart
        _, first = np.unique(slots.left, return_index=True)
        self._by = [int(i) for i in first if len(rows) and np.ptp(slots.columns[slots.left[i]]) > 0]
        self._starts: dict[int, np.ndarray] = {}
        self._orders: dict[int, np.ndarray] = {}
        self._followed = np.zeros((len(slots) + 1, len(slots)), np.int64)

    @property
    def evidence(self) -> EvidenceSet:
        """What all pairs sampled so far say, both ways; the counts are those of the sample."""
        keys, counts = kernels.entries(self._keys, self._keys_used)
        signatures = self._packed.signatures(keys)
        return EvidenceSet.of(
            np.concatenate((signatures, self.slots.reverse(signatures))), np.concatenate((counts, counts))
        )

    def run(self, known: np.ndarray | EvidenceSet | None = None, stop: Callable[[], bool] | None = None) -> np.ndarray:
        """Sample until it is not worth while, or time to stop; the signatures found that are neither ``known`` nor
        given before."""
        if known is not None:
            signatures = known.signatures if isinstance(known, EvidenceSet) else known
            self._note(signatures, 2)
        self.look(stop)
        return self._fresh()

    def look(self, stop: Callable[[], bool] | None = None) -> None:
        """Sample until it is not worth while, or time to stop; :attr:`evidence` has what was seen."""
        if len(self._rows) > 1:
            self.random(stop=stop)
            self.neighbouring(stop)
            self.focused(stop)

    def look_as_published(self, stop: Callable[[], bool] | None = None) -> None:
        """Sample as Hydra does: random partners, then focused with a partner for every row, until it is not worth while
        or time to stop."""
        if len(self._rows) > 1:
            self.random(stop)
            self.focused(stop, batch=len(self._rows))

    def random(self, stop: Callable[[], bool] | None = None) -> float:
        """Compare each row with random partners, as many as the options say, and return the efficiency.

        All rows are shuffled once, and partners are at random distances: then memory is read in order.
        """
        n = len(self._rows)
        shuffled = self._packed.matrix[self._random.permutation(n)]
        yields = []
        for d in self._random.integers(1, n, self.options.partners):
            if stop is not None and stop():
                break
            yields.append(self._compare(shuffled, self._places, np.roll(self._places, int(d))))
        return _efficiency(yields)

    def neighbouring(self, stop: Callable[[], bool] | None = None) -> None:
        """Compare neighbours in sorted orders, until a round through all columns yields too little.

        Each step sorts by one more column and keeps the order within equal values, so rows stand in lexicographic order
        of the columns of all steps, the last one first. A step takes the column that followed the one before it least
        often.
        """
        rows, last = self._packed.matrix, -1
        for _ in range(max(1, len(self._by))):
            yields, left = [], list(self._by)
            while left:
                if stop is not None and stop():
                    return
                counts = self._followed[last][left]
                slot = left.pop(int(self._random.choice(np.flatnonzero(counts == counts.min()))))
                self._followed[last, slot] += 1
                ordered = np.empty_like(rows)
                sampling.sort_by(rows, *self._packed.field(slot), self._clusters(slot), ordered)
                rows, last = ordered, slot
                yields.append(self._compare(rows, self._places[:-1], self._places[1:]))
            if _efficiency(yields) < self.neighbours:
                return

    def focused(self, stop: Callable[[], bool] | None = None, batch: int = BATCH) -> None:
        """Compare rows with random partners by column and strategy; those that yield most go on, those that yield too
        little are given up.

        ``batch``: rows that are given a partner before a focus is judged; of more rows, random ones.
        """
        foci = [
            Focus(-np.inf, slot, strategy)
            for slot in self._by
            for strategy in ((WITHIN, OTHER, BACK, FORTH) if self.slots.ordered[slot] else (WITHIN, OTHER))
        ]
        heapq.heapify(foci)
        while foci and not (stop is not None and stop()):
            focus = heapq.heappop(foci)
            reached = self._apply(focus, batch)
            if reached >= self.options.efficiency:
                heapq.heappush(foci, Focus(-reached, focus.slot, focus.strategy))

    def _apply(self, focus: Focus, batch: int) -> float:
        """Compare every row, or as many random ones as fit a batch, with one partner; gives the efficiency."""
        n = len(self._rows)
        s_rows = self._places if n <= batch else self._random.integers(0, n, batch).astype(np.int32)
        t_rows = np.empty_like(s_rows)
        values, seed = self._packed.values(focus.slot), np.uint64(self._random.integers(1 << 62))
        sampling.draw(values, self._order(focus.slot), self._clusters(focus.slot), focus.strategy, s_rows, seed, t_rows)
        return _efficiency([self._compare(self._packed.matrix, s_rows, t_rows)])

    def _clusters(self, slot: int) -> np.ndarray:
        """Return where each value of a slot's column begins in its order."""
        if slot not in self._starts:
            counts = np.bincount(self._packed.values(slot).astype(np.int64))
            self._starts[slot] = np.concatenate(([0], np.cumsum(counts))).astype(np.int32)
        return self._starts[slot]

    def _order(self, slot: int) -> np.ndarray:
        if slot not in self._orders:
            self._orders[slot] = np.argsort(self._packed.values(slot), kind="stable").astype(np.int32)
        return self._orders[slot]

    def _compare(self, rows: np.ndarray, s_rows: np.ndarray, t_rows: np.ndarray) -> tuple[int, int]:
        """Compare pairs of packed rows; how many evidences are new, and how many pairs were compared."""
        packed, before = self._packed, self._used
        self._keys, self._keys_used, new, compared = sampling.count_pairs(
            rows, packed.right, packed.masks, s_rows, t_rows, self._keys, self._keys_used
        )
        self._note(packed.signatures(new), 1)
        return self._used - before, compared

    def _note(self, signatures: np.ndarray, mark: int) -> None:
        self._found, self._used = sampling.note(
            self._found, self._used, np.ascontiguousarray(signatures), *self._mirror, np.uint64(mark)
        )

    def _fresh(self) -> np.ndarray:
        """Return the signatures that are new, which then are known."""
        signatures, marks = kernels.entries(self._found, self._used)
        self._found[:, -1] *= np.uint64(2)
        self._found[:, -1] = np.minimum(self._found[:, -1], np.uint64(2))
        return EvidenceSet.of(signatures[marks == 1], marks[marks == 1]).signatures


def _efficiency(found: list[tuple[int, int]]) -> float:
    """Return new evidences for each pair compared."""
    return sum(new for new, _ in found) / max(1, sum(compared for _, compared in found))
