"""Which indexes to keep: few that between them serve all rules (IncDC section 7).

A rule is *served* by an index if every pair of rows that breaks the rule is among those the index finds. IncDC scores
indexes by the number of distinct values and by correlation, and takes those below a threshold one after the other
(``tests/paper_selection.py`` has it, with its parameters l, l' and alpha). We know more about the cost: how many rows
agree with a row on some columns is estimated from random pairs, an index may be of several columns, and the choice is
the greedy one of weighted set cover (:func:`cheapest_keys`); what no key serves well is left to equalities across
columns, chains and kinds. On Tax with 100,000 rows and 7,600 rules the paper's choice looks at 145,000 pairs for each
new row, more than there are rows, and ours at 500; with ten times as many rows at 1,000.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import NamedTuple

import numpy as np

from rowlaw.relation.pairs import random_pairs
from rowlaw.rules.model import Op
from rowlaw.rules.outcomes import EQUAL_BIT

PAIRS = 1 << 19  # random pairs that the estimate of agreement rests on
_MAX_KEYS = 2000  # candidates that are looked at
_DENSE_COLUMNS = 18  # columns of which all sets are tabulated: 2 MB
BLOCK = 1 << 22  # sets times masks that are compared at a time where there are more columns: 32 MB


class Agreement:
    """How likely two random rows agree on some columns (at most 64), estimated from pairs.

    >>> matrix = np.array([[0, 1], [0, 2], [0, 3], [0, 3]], np.int32)
    >>> found = Agreement.of(matrix, np.arange(4), unknown=True)
    >>> bool(found.share(np.array([0b01], np.uint64))[0] == 1)
    True
    >>> bool(0.1 < found.share(np.array([0b10], np.uint64))[0] < 0.25)
    True
    """

    def __init__(self, masks: np.ndarray, shares: np.ndarray, rows: int) -> None:
        self.masks, self.shares, self.rows = masks, shares, rows
        self._dense: np.ndarray | None = None  # sums over supersets, for few columns

    @staticmethod
    def of(matrix: np.ndarray, rows: np.ndarray, *, unknown: bool, pairs: int = PAIRS, seed: int = 0) -> Agreement:
        """From the given rows of the table's labels."""
        if len(rows) < 2:
            return Agreement(np.zeros(1, np.uint64), np.zeros(1), len(rows))
        s, t = random_pairs(len(rows), min(pairs, 32 * len(rows)), seed)
        a, b = matrix[rows[s]], matrix[rows[t]]
        agree = np.zeros(len(s), np.uint64)
        for c in range(min(64, matrix.shape[1])):
            same = a[:, c] == b[:, c]
            if unknown:
                same &= a[:, c] >= 0
            agree |= same.astype(np.uint64) << np.uint64(c)
        masks, counts = np.unique(agree, return_counts=True)
        return Agreement(masks, counts / len(s), len(rows))

    def share(self, keys: np.ndarray) -> np.ndarray:
        """The share of pairs that agree on each set of columns. There may be 100,000 keys, and thousands of masks."""
        used = int(np.bitwise_or.reduce(self.masks, initial=np.uint64(0)))
        columns = [c for c in range(64) if used >> c & 1]
        if len(columns) <= _DENSE_COLUMNS:
            shares = self._supersets(columns)[_packed(keys, columns)]
            return np.where((keys & ~np.uint64(used)) == 0, shares, 0.0)
        distinct, index = np.unique(keys, return_inverse=True)
        shares = np.empty(len(distinct))
        step = max(1, BLOCK // len(self.masks))
        for start in range(0, len(distinct), step):
            some = distinct[start : start + step, None]
            shares[start : start + step] = ((self.masks & some) == some) @ self.shares
        return shares[index.ravel()]

    def _supersets(self, columns: Sequence[int]) -> np.ndarray:
        """For each set of some columns, as bits, the share of pairs that agree on all of it: sums over supersets, ``O(k
        2^k)``."""
        if self._dense is None:
            sums = np.zeros(1 << len(columns))
            np.add.at(sums, _packed(self.masks, columns), self.shares)
            for bit in range(len(columns)):
                halves = sums.reshape(-1, 2, 1 << bit)
                halves[:, 0] += halves[:, 1]
            self._dense = sums
        return self._dense


def _packed(masks: np.ndarray, columns: Sequence[int]) -> np.ndarray:
    """The bits of some columns, side by side."""
    packed = np.zeros(len(masks), np.int64)
    for i, column in enumerate(columns):
        packed |= (masks >> np.uint64(column) & np.uint64(1)).astype(np.int64) << i
    return packed


@dataclass(frozen=True, slots=True)
class Price:
    """What indexes cost in one piece of work, counted in pairs looked at.

    ``pairs`` is what one row in ``rows`` with which a key agrees costs; ``index`` what using an index costs besides,
    and ``build`` what making one does.
    """

    pairs: float
    index: float
    build: float


def cheapest_keys(
    wanted: np.ndarray, otherwise: np.ndarray, agreement: Agreement, price: Price, existing: Sequence[int] = ()
) -> tuple[list[int], np.ndarray]:
    """Sets of columns whose indexes serve rules best; and which rules are better served otherwise.

    ``wanted`` has for each rule the columns it asks to be equal (a bit each), ``otherwise`` what serving it without a
    key costs; ``known`` are keys that have an index already. Greedy weighted set cover: the key that saves most for its
    cost, until none saves more than it costs.
    """
    masks, place = np.unique(wanted, return_inverse=True)
    place = place.ravel()
    keys = _candidates(masks, np.bincount(place), existing)
    cost = (
        price.index + price.pairs * agreement.share(keys) + price.build * ~np.isin(keys, np.array(existing, np.uint64))
    )
    serves = (masks & keys[:, None]) == keys[:, None]
    left = np.bincount(place, weights=otherwise, minlength=len(masks))
    chosen: list[int] = []
    while len(keys):
        gain = serves @ left - cost
        best = int(np.argmax(gain / cost))
        if gain[best] <= 0:
            break
        chosen.append(int(keys[best]))
        left[serves[best]] = 0.0
    served = np.zeros(len(masks), bool)
    for key in chosen:
        served |= (masks & np.uint64(key)) == np.uint64(key)
    return chosen, ~served[place]


def _candidates(masks: np.ndarray, frequency: np.ndarray, existing: Sequence[int]) -> np.ndarray:
    """Columns, pairs of columns, and what rules ask for, as far as some rule asks for it."""
    used = int(np.bitwise_or.reduce(masks, initial=np.uint64(0)))
    columns = [1 << c for c in range(64) if used >> c & 1]
    pairs = [a | b for a, b in combinations(columns, 2)]
    whole = [int(m) for m in masks[np.argsort(-frequency, kind="stable")][:_MAX_KEYS] if m]
    return np.array(list(dict.fromkeys([*existing, *columns, *pairs, *whole])), np.uint64)


class Order(NamedTuple):
    """Two inequalities: slots, and what they accept."""

    first: int
    first_op: int
    second: int
    second_op: int

    @property
    def chains(self) -> tuple[int, int, bool]:
        """Which chains serve it: those of its columns that run one way, or against each other where both operators
        point one way."""
        return self.first, self.second, bool(self.first_op & Op.LT) == bool(self.second_op & Op.LT)


@dataclass
class Proof:
    """What has been looked at: ``keys`` all of whose pairs are in the ledger (0: all pairs), and pairs of
    inequalities."""

    keys: list[int] = field(default_factory=list)
    orders: list[Order] = field(default_factory=list)
    # slots of two columns: all pairs that are equal there are in the ledger
    across: list[int] = field(default_factory=list)

    def serves(self, equal: np.ndarray, ops: np.ndarray) -> np.ndarray:
        """Which rules are proven, given the columns they ask to be equal and the outcomes they accept in each slot."""
        proven = np.zeros(len(equal), bool)
        for key in self.keys:
            proven |= (equal & np.uint64(key)) == np.uint64(key)
        for first, first_op, second, second_op in self.orders:
            proven |= (ops[:, first] & ~np.uint8(first_op) == 0) & (ops[:, second] & ~np.uint8(second_op) == 0)
        for slot in self.across:
            proven |= ops[:, slot] == EQUAL_BIT
        return proven


@dataclass(frozen=True, slots=True)
class Plan:
    """Keys to use, and for the rules that they do not serve equalities across columns, pairs of inequalities, and kinds
    (columns, columns that are equal), these with the rules that each serves. ``asked``: which rules no index serves, so
    that the engine is asked."""

    keys: list[int]
    across: list[int]
    orders: list[Order]
    tuples: dict[tuple[int, int], np.ndarray]
    asked: np.ndarray
    seconds: float
