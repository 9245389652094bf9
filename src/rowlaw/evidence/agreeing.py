"""The evidence of all pairs of rows that agree on some columns: what it takes to prove rules with these equalities."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rowlaw.evidence.evidence import EvidenceSet
from rowlaw.evidence.packed import Packed
from rowlaw.evidence.slots import Slot, Slots, words_of
from rowlaw.evidence.tiles import TASK_TILES, TASKS_PER_WORKER, Folded, Tiles, evidence_of_pairs, fold
from rowlaw.kernels import evidence as kernels
from rowlaw.kernels import sample as sampling
from rowlaw.kernels.signatures import entries, new_table
from rowlaw.relation.groups import KEY_BITS, Side, Sorted, span
from rowlaw.relation.relation import Relation
from rowlaw.rules.model import Nulls
from rowlaw.search.bitsets import distinct
from rowlaw.spark.jobs import DriverThreads, Workers, finished
from rowlaw.stopping import NEVER, Stop

_TILE = 256  # rows, where only equal values are wanted: longer tiles compare more that is not
_WALKED = 8  # pairs that tiles compare while one is walked to


def agreeing_pairs(
    slots: Slots,
    columns: Sequence[str],
    folded: Folded | None = None,
    workers: Workers | None = None,
    tile: int = _TILE,
    stop: Stop = NEVER,
) -> np.ndarray:
    """Return the distinct signatures of all ordered pairs of different rows that agree on all of some columns, and
    maybe of some that do not.

    Rows are laid out by the columns. Small groups are walked pair by pair; otherwise tiles are compared with themselves
    and with those after them that have rows of the same group, so that every pair of a group is in one of the pairs of
    tiles. Either way the time is about the sum of the squares of the groups' sizes. ``folded`` are the distinct rows,
    where the caller has them already. Where comparisons with null are unknown, null agrees with nothing. Raises
    ``Stopped`` soon after ``stop`` is requested.
    """
    workers = workers or DriverThreads()
    folded, groups = finished(lambda: _laid_out(slots, folded or fold(slots), columns), stop)
    starts = np.concatenate((np.flatnonzero(np.diff(groups, prepend=-1)), [len(groups)]))
    sizes = np.diff(starts)
    pairs = int(sizes @ (sizes - 1)) // 2
    work: Callable[[np.ndarray], tuple[np.ndarray, Any]]
    if pairs * _WALKED < len(groups) * tile / 2 + pairs:
        work = Walked(slots, folded.rows, np.repeat(starts[1:], sizes).astype(np.int32), stop)
        distances = np.arange(1, sizes.max(initial=1))
        tasks = [distances[i :: workers.slots] for i in range(workers.slots)]
    else:
        work = Tiles(slots, None, None, tile, kernels.DIRECT, folded, stop)
        tile_pairs = _sharing(groups, tile)
        parts = max(1, min(len(tile_pairs) // TASK_TILES, TASKS_PER_WORKER * workers.slots))
        tasks = [tile_pairs[i::parts] for i in range(parts)]
    tallies = workers.map(work, tasks, f"evidence of rows that agree on {', '.join(columns)}", stop=stop)
    stop.check()  # kernels end without an error when they are told to

    def merged() -> np.ndarray:
        again = folded.rows[folded.weights > 1]
        signatures = [evidence_of_pairs(slots, again, again)]
        for one_way, _ in tallies:
            signatures += [one_way, slots.reverse(one_way)]
        return EvidenceSet.of(every := np.concatenate(signatures), np.ones(len(every), np.int64)).signatures

    return finished(merged, stop)


def _laid_out(slots: Slots, folded: Folded, columns: Sequence[str]) -> tuple[Folded, np.ndarray]:
    """Return distinct rows by some columns and, as far as one key goes, by the columns of fewest values: tiles then
    have few values. And for each of them the number of its group, ascending: shape (rows,), dtype int64."""
    rows, weights = folded.rows, folded.weights
    compared = [slots.relation.codes(name) for name in columns]
    if slots.unknown:
        known = np.ones(len(rows), np.bool_)
        for codes in compared:
            known &= codes[rows] >= 0
        rows, weights = rows[known], weights[known]
    by = [Sorted(codes, int(codes.max(initial=-1)) + 2) for codes in compared]
    for more in sorted((Sorted(c, int(c.max(initial=-1)) + 2) for c in slots.columns), key=lambda c: c.width):
        if span(1, [*by, more]).bit_length() <= KEY_BITS:
            by.append(more)
    order = Side.whole(rows).sorted_by(by)[1]
    rows, weights = rows[order], weights[order]
    begins = np.zeros(len(rows), np.bool_)
    for codes in compared:
        values = codes[rows]
        begins[1:] |= values[1:] != values[:-1]
    return Folded(rows, weights), np.cumsum(begins)


def _sharing(groups: np.ndarray, tile: int) -> np.ndarray:
    """Return the pairs of tiles that have rows of one group, where rows are laid out by their groups."""
    begins = np.arange(0, len(groups), tile)
    low, high = groups[begins], groups[np.minimum(begins + tile, len(groups)) - 1]
    number = np.maximum(np.searchsorted(low, high, side="right") - np.arange(len(begins)), 1)
    first = np.repeat(np.arange(len(begins)), number)
    second = first + np.arange(len(first)) - np.repeat(np.cumsum(number) - number, number)
    return np.stack((first, second), axis=1).astype(np.int64)


@dataclass(frozen=True, eq=False)
class AgreeingEvidence:
    """The distinct signatures of all pairs of rows that agree on all columns of one of several lists: work for an
    engine, to be done where the rows are. ``prepared``: the slots over the relation of this process, and its distinct
    rows; workers have relations of their own."""

    slots: tuple[Slot, ...]
    nulls: Nulls
    prepared: tuple[Slots, Folded] | None = None

    @property
    def words(self) -> int:
        return words_of(len(self.slots))

    def __reduce__(self) -> tuple[Any, ...]:
        return AgreeingEvidence, (self.slots, self.nulls)

    def __call__(
        self, relation: Relation, lists: Sequence[Sequence[str]], workers: Workers, stop: Stop = NEVER
    ) -> np.ndarray:
        slots, folded = self.prepared or (Slots(relation, self.slots, self.nulls), None)
        folded = folded or finished(lambda: fold(slots), stop)
        return distinct(np.concatenate([agreeing_pairs(slots, c, folded, workers, stop=stop) for c in lists]))


@dataclass(frozen=True, eq=False)
class Walked:
    """The work of a task: the signatures of the pairs of rows that stand at given distances in one group."""

    slots: Slots
    rows: np.ndarray
    ends: np.ndarray  # for each place, where its group ends
    stop: Stop = NEVER

    def __call__(self, distances: np.ndarray) -> tuple[np.ndarray, None]:
        packed = Packed.of(self.slots, self.rows)
        table, used = new_table(1 << 12, packed.words), 0
        places = np.arange(len(self.rows), dtype=np.int32)
        left = places
        for d in distances.tolist():
            self.stop.check()
            left = left[self.ends[left] > left + d]
            table, used, _, _ = sampling.count_pairs(
                packed.matrix, packed.right, packed.masks, left, left + np.int32(d), table, used
            )
        return packed.signatures(entries(table, used)[0]), None
