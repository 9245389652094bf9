"""A dictionary that grows: values and their labels, whose order is the order of the values.

Labels lie far apart, so that a new value between two old ones takes a label between theirs and nothing that is written
down changes. Only when there is no room left between two labels are all labels of the dictionary given out anew
(:class:`Relabelling`); room is then left where it was lacking.

Values are kept in sorted runs, a large one and smaller ones after it. A new run is merged with those before it that are
not much larger, so there are few runs, and a value is copied a logarithmic number of times in the life of the
dictionary.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from rowlaw.errors import RowlawError
from rowlaw.relation.columns import NULL
from rowlaw.storage.values import Values

LABELS = (1 << 31) - 1  # labels are below this
_MERGED = 4  # a run is merged with the one before it if that is at most so many times larger


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """Sorted values and their labels, never changed. ``number`` names it in the files."""

    number: int
    values: Values
    labels: np.ndarray

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True, slots=True, eq=False)
class Relabelling:
    """All labels that a dictionary had, ascending, and those that took their places."""

    old: np.ndarray
    new: np.ndarray

    def __call__(self, labels: np.ndarray) -> np.ndarray:
        """The new labels in place of the old ones; null stays null.

        >>> Relabelling(np.array([3, 9]), np.array([10, 20]))(np.array([9, -1, 3], np.int32)).tolist()
        [20, -1, 10]
        """
        if not len(self.old):
            return labels.astype(np.int32)
        renewed = self.new[np.minimum(np.searchsorted(self.old, labels), len(self.old) - 1)]
        return np.where(labels == NULL, NULL, renewed).astype(np.int32)


@dataclass(eq=False)
class Dictionary:
    """Values and labels.

    >>> from rowlaw.storage.values import Numbers
    >>> cities = Dictionary()
    >>> labels, relabelled = cities.add(Numbers(np.array([10, 30])))
    >>> cities.find(Numbers(np.array([10, 20, 30]))).tolist() == [cities.labels[0], -1, cities.labels[1]]
    True
    >>> labels, relabelled = cities.add(Numbers(np.array([20])))
    >>> bool((np.diff(cities.find(Numbers(np.array([10, 20, 30])))) > 0).all())
    True
    """

    runs: tuple[Run, ...] = ()
    size: int = field(default_factory=lambda: LABELS)
    next_run: int = 0
    _cache: dict[str, np.ndarray] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return sum(len(run) for run in self.runs)

    @property
    def labels(self) -> np.ndarray:
        """All labels, ascending."""
        if "labels" not in self._cache:
            self._cache["labels"] = (
                np.sort(np.concatenate([run.labels for run in self.runs])) if self.runs else np.zeros(0, np.int32)
            )
        return self._cache["labels"]

    def find(self, wanted: Values) -> np.ndarray:
        """The labels of some values; -1 for a value that is not here. ``O(m log n)`` per run."""
        labels = np.full(len(wanted), NULL, np.int32)
        for run in self.runs:
            at, there = run.values.places(wanted)
            labels[there] = run.labels[at[there]]
        return labels

    def values(self, labels: np.ndarray) -> Values:
        """The values that some labels, all of them in use, stand for."""
        parts, places = [], []
        for run in self.runs:
            at = np.searchsorted(run.labels, labels)
            there = at < len(run)
            there[there] = run.labels[at[there]] == labels[there]
            parts.append(run.values.take(at[there]))
            places.append(np.flatnonzero(there))
        joined = type(parts[0]).joined(parts)
        order = np.argsort(np.concatenate(places), kind="stable")
        assert len(order) == len(labels), "a label that stands for nothing"
        return joined if len(parts) == 1 else joined.take(order)

    def add(self, wanted: Values) -> tuple[np.ndarray, Relabelling | None]:
        """The labels of values, sorted and distinct, of which those that are not here yet are taken in.

        Says so if all labels had to be given out anew. ``O(m log n)`` per run.
        """
        labels = np.full(len(wanted), NULL, np.int32)
        low, high = np.full(len(wanted), -1, np.int64), np.full(len(wanted), self.size, np.int64)
        for run in self.runs:
            at, there = run.values.places(wanted)
            labels[there] = run.labels[at[there]]
            above, below = at < len(run), at > 0
            high[above] = np.minimum(high[above], run.labels[at[above]])
            low[below] = np.maximum(low[below], run.labels[at[below] - 1])
        new = np.flatnonzero(labels == NULL)
        if not len(new):
            return labels, None
        if 2 * (len(self) + len(new)) > self.size:
            raise RowlawError(
                "TABLE_TOO_LARGE",
                source="the state",
                rows=f"{len(self) + len(new):,} values",
                limit=f"{self.size // 2:,}",
            )
        fresh = wanted.take(new) if len(new) < len(wanted) else wanted
        spacing = max(1, self.size // 2 // max(1, len(self)))
        given = _between(low[new], high[new], self.size, spacing) if len(self) else _spread(len(new), self.size)
        changed = None
        if given is None:
            changed, given = self._relabel(low[new])
            labels = changed(labels)
        labels[new] = given
        self._cache.clear()
        self._append(fresh, given)
        return labels, changed

    def _relabel(self, low: np.ndarray) -> tuple[Relabelling, np.ndarray]:
        """Labels for all old values and for the new ones, which lie above the labels ``low``: evenly, with room after
        the fullest gap."""
        old = self.labels
        at = np.searchsorted(old, low, side="right")  # each new value comes before the old one of this place
        new_places = at + np.arange(len(low))
        total = len(old) + len(low)
        fullest = int(new_places[_fullest(at)]) + 1
        labels = _spread(total, self.size, fullest)
        is_new = np.zeros(total, bool)
        is_new[new_places] = True
        change = Relabelling(old, labels[~is_new])
        self.runs = tuple(Run(self.next_run + i, run.values, change(run.labels)) for i, run in enumerate(self.runs))
        self.next_run += len(self.runs)
        return change, labels[is_new]

    def _append(self, values: Values, labels: np.ndarray) -> None:
        runs = [*self.runs, Run(self.next_run, values, labels.astype(np.int32))]
        self.next_run += 1
        while len(runs) > 1 and len(runs[-2]) <= _MERGED * len(runs[-1]):
            a, b = runs.pop(-2), runs.pop()
            order = np.argsort(np.concatenate((a.labels, b.labels)), kind="stable")
            both = type(a.values).joined([a.values, b.values]).take(order)
            runs.append(Run(self.next_run, both, np.concatenate((a.labels, b.labels))[order]))
            self.next_run += 1
        self.runs = tuple(runs)

    def only(self, used: np.ndarray) -> None:
        """Forget all labels but these (ascending) and their values."""
        self.runs = (Run(self.next_run, self.values(used), used.astype(np.int32)),) if len(used) else ()
        self.next_run += 1
        self._cache.clear()

    def _check(self) -> None:
        """Every invariant."""
        for run in self.runs:
            assert (np.diff(run.labels) > 0).all()
            assert len(run.values) == len(run.labels)
            assert run.values.places(run.values)[0].tolist() == list(range(len(run)))
        everything = self.labels
        assert (np.diff(everything) > 0).all()
        assert not len(everything) or (everything[0] >= 0 and everything[-1] < self.size)
        if len(everything):
            ordered = self.values(everything)
            assert ordered.places(ordered)[0].tolist() == list(range(len(everything)))


def _spread(count: int, size: int, wide: int | None = None) -> np.ndarray:
    """Labels for ``count`` values over a half of all labels; the rest is room at both ends, and before the value
    ``wide``."""
    step = size / 2 / max(1, count)
    room = size / 8 if wide is not None and 0 < wide < count else 0.0
    labels = size / 4 - room / 2 + step * (np.arange(count) + 0.5)
    if room and wide is not None:
        labels[wide:] += room
    return labels.astype(np.int64).astype(np.int32)


def _between(low: np.ndarray, high: np.ndarray, size: int, spacing: int) -> np.ndarray | None:
    """Labels for new values in order, each between the labels of its neighbours; None if there is no room for some.

    Values of one gap are spread over it. In a gap that is wide, as at the ends, they stay beside the neighbour that
    they continue, so that the next batch of a column that grows in one direction finds room too.
    """
    first = np.flatnonzero(np.concatenate(([True], low[1:] != low[:-1])))
    counts = np.diff(np.concatenate((first, [len(low)])))
    room = (high - low - 1)[first]
    if (room < counts).any():
        return None
    step = np.minimum((room + 1) // (counts + 1), spacing)
    # before all others: just below the first
    begin = np.where(low[first] < 0, high[first] - step * counts, low[first] + step)
    both_open = (low[first] < 0) & (high[first] >= size)
    begin = np.where(both_open, size // 4, begin)
    within = np.arange(len(low)) - np.repeat(first, counts)
    return (np.repeat(begin, counts) + within * np.repeat(step, counts)).astype(np.int32)


def _fullest(at: np.ndarray) -> int:
    """The last of the new values of the gap that gets most of them; ``at`` says which gap each is in."""
    gaps, last, counts = np.unique(at[::-1], return_index=True, return_counts=True)
    return len(at) - 1 - int(last[np.argmax(counts)]) if len(gaps) else 0


def merged(parts: Iterable[Values]) -> Values | None:
    """The distinct values of several sorted parts, in order; None if there are none."""
    filled = [part for part in parts if len(part)]
    if not filled:
        return None
    whole = filled[0]
    for part in filled[1:]:
        at, there = whole.places(part)
        fresh = np.flatnonzero(~there)
        joined = type(whole).joined([whole, part.take(fresh)])
        # where each value goes: an old one after the new ones before it, a new one after the old ones before it
        order = np.argsort(np.concatenate((2 * np.arange(len(whole)) + 1, 2 * at[fresh])), kind="stable")
        whole = joined.take(order)
    return whole
