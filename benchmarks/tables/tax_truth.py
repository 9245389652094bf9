"""Exact numbers of violations in a damaged Tax table, counted in NumPy while the blocks pass by.

Nothing here knows how the errors were planted: equalities are counted from histograms of (group, value), the order rule
from a histogram of (state, salary, rate), and the key from the rows whose key some damaged row has. Near-linear time;
memory follows the number of distinct combinations, which the world bounds, and the number of errors.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from benchmarks.tables.tax_damage import (
    AREA_STATE,
    CHILD_EXEMPTION,
    RATE_ORDER,
    SINGLE_EXEMPTION,
    ZIP_CITY,
    ZIP_STATE,
    Cells,
)
from benchmarks.tables.tax_rows import BLOCK, PHONES, Codes, block_sizes, phone_keys
from benchmarks.tables.tax_world import Ints

_BITS = 20  # room for one value in a packed combination: salaries and exemptions stay below a million
_DEPENDENCIES = {
    ZIP_CITY: (("Zip",), "City"),
    ZIP_STATE: (("Zip",), "State"),
    AREA_STATE: (("AreaCode",), "State"),
    CHILD_EXEMPTION: (("State", "HasChild"), "ChildExemp"),
    SINGLE_EXEMPTION: (("State", "MaritalStatus"), "SingleExemp"),
}
_PENDING = 1 << 21  # packed values kept before they are folded


@dataclass(frozen=True, slots=True)
class Broken:
    """How often a rule is violated: ordered pairs of different rows, and rows that take part in one."""

    pairs: int
    rows: int


@dataclass(slots=True)
class Histogram:
    """Counts of distinct numbers."""

    keys: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    counts: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    _waiting: list[tuple[Ints, Ints]] = field(default_factory=list)
    _size: int = 0

    def add(self, values: Ints) -> None:
        self._waiting.append(np.unique(values, return_counts=True))
        self._size += len(self._waiting[-1][0])
        if self._size > _PENDING:
            self.fold()

    def fold(self) -> None:
        """Merge what is waiting, so that ``keys`` (ascending) and ``counts`` are complete."""
        keys, inverse = np.unique(np.concatenate([self.keys, *(k for k, _ in self._waiting)]), return_inverse=True)
        counts = np.zeros(len(keys), np.int64)
        np.add.at(counts, inverse, np.concatenate([self.counts, *(c for _, c in self._waiting)]))
        self.keys, self.counts, self._waiting, self._size = keys, counts, [], 0


def _pack(codes: Codes, columns: tuple[str, ...]) -> Ints:
    packed = codes[columns[0]]
    for column in columns[1:]:
        packed = packed << _BITS | codes[column]
    return packed


class Tally:
    """Counts violations of every planted rule but the key; feed it all blocks, then ask."""

    def __init__(self) -> None:
        self._dependencies = {rule: Histogram() for rule in _DEPENDENCIES}
        self._order = Histogram()

    def add(self, codes: Codes) -> None:
        for rule, (group, value) in _DEPENDENCIES.items():
            self._dependencies[rule].add(_pack(codes, (*group, value)))
        self._order.add(_pack(codes, ("State", "Salary", "Rate")))

    def broken(self) -> dict[str, Broken]:
        answer = {}
        for rule, histogram in self._dependencies.items():
            histogram.fold()
            answer[rule] = _dependency(histogram.keys >> _BITS, histogram.counts)
        self._order.fold()
        answer[RATE_ORDER] = _order(self._order)
        return answer


def _starts(groups: Ints) -> Ints:
    return np.flatnonzero(np.concatenate([[True], groups[1:] != groups[:-1]])) if len(groups) else np.empty(0, np.int64)


def _dependency(groups: Ints, counts: Ints) -> Broken:
    """Pairs in one group with different values: all pairs less those with the same value."""
    starts = _starts(groups)
    if not len(starts):
        return Broken(0, 0)
    members = np.add.reduceat(counts, starts)
    pairs = members**2 - np.add.reduceat(counts**2, starts)
    return Broken(int(pairs.sum()), int(members[pairs > 0].sum()))


def _order(histogram: Histogram) -> Broken:
    """Pairs in one state where less salary pays a higher rate, from a table of salaries by rates per state."""
    mask = (1 << _BITS) - 1
    pairs = rows = 0
    starts = _starts(histogram.keys >> 2 * _BITS)
    for begin, end in pairwise([*starts.tolist(), len(histogram.keys)]):
        keys = histogram.keys[begin:end]
        salaries, salary = np.unique(keys >> _BITS & mask, return_inverse=True)
        rates, rate = np.unique(keys & mask, return_inverse=True)
        table = np.zeros((len(salaries), len(rates)), np.int64)
        table[salary, rate] = histogram.counts[begin:end]
        # poorer[i, j]: rows with a salary below i and a rate above j; richer: with a salary above i and a rate below j
        poorer = _strict_prefix(_strict_prefix(table, axis=0)[:, ::-1], axis=1)[:, ::-1]
        richer = _strict_prefix(_strict_prefix(table[::-1], axis=0)[::-1], axis=1)
        pairs += int((table * poorer).sum())
        rows += int(table[(poorer > 0) | (richer > 0)].sum())
    return Broken(pairs, rows)


def _strict_prefix(table: Ints, axis: int) -> Ints:
    """Sum of everything before each cell, along one axis."""
    return np.cumsum(table, axis=axis) - table


def broken_key(rows: int, seed: int, damaged: list[Cells]) -> Broken:
    """Violations of ``key (AreaCode, Phone)``: a second pass over the keys alone, which looks for those of damaged
    rows."""
    changes = [c for c in damaged if c.column in ("AreaCode", "Phone")]
    if not changes:
        return Broken(0, 0)
    touched = np.unique(np.concatenate([c.row for c in changes]))
    suspects = np.unique(_final_keys(touched, rows, seed, changes))
    holders = np.zeros(len(suspects), np.int64)
    for block, size in enumerate(block_sizes(rows)):
        keys = _damaged(phone_keys(seed, block, size), block, changes)
        place = np.minimum(np.searchsorted(suspects, keys), len(suspects) - 1)
        found = suspects[place] == keys
        holders += np.bincount(place[found], minlength=len(suspects))
    return Broken(int((holders * (holders - 1)).sum()), int(holders[holders > 1].sum()))


def _final_keys(touched: Ints, rows: int, seed: int, changes: list[Cells]) -> Ints:
    """The damaged keys of the touched rows; only their blocks are drawn."""
    sizes = block_sizes(rows)
    return np.concatenate(
        [
            _damaged(phone_keys(seed, block, sizes[block]), block, changes)[
                touched[touched // BLOCK == block] - block * BLOCK
            ]
            for block in np.unique(touched // BLOCK).tolist()
        ]
    )


def _damaged(keys: Ints, block: int, changes: list[Cells]) -> Ints:
    for cells in changes:
        here = cells.row // BLOCK == block
        row, new = cells.row[here] - block * BLOCK, cells.new[here]
        area, phone = keys[row] // PHONES, keys[row] % PHONES
        keys[row] = new * PHONES + phone if cells.column == "AreaCode" else area * PHONES + new
    return keys
