"""Which indexes to keep: few that between them serve all rules (IncDC section 7).

A rule is *served* by an index if every pair of rows that breaks the rule is among those the index finds. IncDC scores indexes by the number
of distinct values and by correlation, and takes those below a threshold one after the other (:func:`paper_selection`). We know more about
the cost: how many rows agree with a row on some columns is estimated from random pairs, an index may be of several columns, and the choice
is the greedy one of weighted set cover (:func:`cheapest_keys`); what no key serves well is left to indexes of kinds and chains. On Tax with
100,000 rows and 7,600 rules the paper's choice looks at 145,000 pairs for each new row, more than there are rows, and ours at 500; with
ten times as many rows at 1,000.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from rowlaw.rules.model import Denial, Op

PAIRS = 1 << 19  # random pairs that the estimate of agreement rests on
EQUALITY_LIMIT = 0.6  # IncDC's l: equality indexes of a higher score come last
VALUES_LIMIT = 0.1  # IncDC's l': inequality indexes on columns of a smaller share of distinct values come last
REVERSED = 0.3  # IncDC's alpha: with a correlation beyond it the chain of small rank is built
MOST_KEYS = 2000  # candidates that are looked at


class Agreement:
    """How likely two random rows agree on some columns (at most 64), estimated from pairs.

    >>> matrix = np.array([[0, 1], [0, 2], [0, 3], [0, 3]], np.int32)
    >>> found = Agreement.of(matrix, np.arange(4), unknown=True)
    >>> bool(found.share(np.array([0b01], np.uint64))[0] == 1), bool(0.1 < found.share(np.array([0b10], np.uint64))[0] < 0.25)
    (True, True)
    """

    def __init__(self, masks: np.ndarray, shares: np.ndarray, rows: int) -> None:
        self.masks, self.shares, self.rows = masks, shares, rows

    @staticmethod
    def of(matrix: np.ndarray, rows: np.ndarray, *, unknown: bool, pairs: int = PAIRS, seed: int = 0) -> Agreement:
        """From the given rows of the table's labels."""
        if len(rows) < 2:
            return Agreement(np.zeros(1, np.uint64), np.zeros(1), len(rows))
        random = np.random.default_rng(seed)
        pairs = min(pairs, 32 * len(rows))
        s = random.integers(0, len(rows), pairs)
        t = (s + random.integers(1, len(rows), pairs)) % len(rows)
        a, b = matrix[rows[s]], matrix[rows[t]]
        agree = np.zeros(pairs, np.uint64)
        for c in range(min(64, matrix.shape[1])):
            same = a[:, c] == b[:, c]
            if unknown:
                same &= a[:, c] >= 0
            agree |= same.astype(np.uint64) << np.uint64(c)
        masks, counts = np.unique(agree, return_counts=True)
        return Agreement(masks, counts / pairs, len(rows))

    def share(self, keys: np.ndarray) -> np.ndarray:
        """The share of pairs that agree on each set of columns."""
        return ((self.masks & keys[:, None]) == keys[:, None]) @ self.shares


@dataclass(frozen=True, slots=True)
class Price:
    """What indexes cost in one piece of work, counted in pairs looked at.

    ``pairs`` is what one row in ``rows`` with which a key agrees costs; ``index`` what using an index costs besides, and ``build`` what
    making one does.
    """

    pairs: float
    index: float
    build: float


def cheapest_keys(
    wanted: np.ndarray, otherwise: np.ndarray, agreement: Agreement, price: Price, known: Sequence[int] = ()
) -> tuple[list[int], np.ndarray]:
    """Sets of columns whose indexes serve rules best; and which rules are better served otherwise.

    ``wanted`` has for each rule the columns it asks to be equal (a bit each), ``otherwise`` what serving it without a key costs;
    ``known`` are keys that have an index already. Greedy weighted set cover: the key that saves most for its cost, until none saves more
    than it costs.
    """
    masks, place = np.unique(wanted, return_inverse=True)
    place = place.ravel()
    keys = _candidates(masks, np.bincount(place), known)
    cost = price.index + price.pairs * agreement.share(keys) + price.build * ~np.isin(keys, np.array(known, np.uint64))
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


def _candidates(masks: np.ndarray, often: np.ndarray, known: Sequence[int]) -> np.ndarray:
    """Columns, pairs of columns, and what rules ask for, as far as some rule asks for it."""
    used = int(np.bitwise_or.reduce(masks, initial=np.uint64(0)))
    columns = [1 << c for c in range(64) if used >> c & 1]
    pairs = [a | b for a, b in combinations(columns, 2)]
    whole = [int(m) for m in masks[np.argsort(-often, kind="stable")][:MOST_KEYS] if m]
    return np.array(list(dict.fromkeys([*known, *columns, *pairs, *whole])), np.uint64)


# IncDC as published


@dataclass(frozen=True, slots=True)
class EqualityChoice:
    """``Index(A=)``."""

    column: str


@dataclass(frozen=True, slots=True)
class ChainChoice:
    """``Index(A op1, B op2)``: see :mod:`rowlaw.maintain.chains`."""

    first: str
    first_op: Op
    second: str
    second_op: Op


@dataclass(frozen=True)
class Facts:
    """What the paper's scores ask of a table: distinct values of columns, and correlations of their ranks."""

    rows: int
    distinct: dict[str, int]
    ranks: dict[str, np.ndarray] = field(default_factory=dict)

    def correlation(self, a: str, b: str) -> float:
        """Of two columns over all rows; 0 where one has a single value."""
        x, y = self.ranks[a].astype(np.float64), self.ranks[b].astype(np.float64)
        if len(x) < 2 or x.std() == 0 or y.std() == 0:
            return 0.0
        return float(np.corrcoef(x, y)[0, 1])

    def equality_score(self, column: str) -> float:
        """``1 - distinct / rows``: small is good."""
        return 1 - self.distinct[column] / max(1, self.rows)


def paper_selection(rules: Iterable[Denial], facts: Facts) -> list[EqualityChoice | ChainChoice]:
    """Algorithm 4 of IncDC for predicates on one column each: equality indexes of good score, then chains by score, then what is left."""
    left = list(rules)
    chosen: list[EqualityChoice | ChainChoice] = []

    def equalities(rule: Denial) -> list[str]:
        return [p.left.name for p in rule.predicates if p.same_column and p.op == Op.EQ]

    def take_equality(limit: float) -> None:
        nonlocal left
        while True:
            scored = [(facts.equality_score(c), c) for rule in left for c in equalities(rule)]
            good = sorted({s for s in scored if s[0] < limit})
            if not good:
                return
            chosen.append(EqualityChoice(good[0][1]))
            left = [rule for rule in left if good[0][1] not in equalities(rule)]

    def take_chains(share: float) -> None:
        nonlocal left
        while left:
            scored = []
            for a, b in combinations(sorted({p.left.name for rule in left for p in rule.predicates if _orders(p.op) and p.same_column}), 2):
                coverage = sum(_served(rule, a, b) is not None for rule in left)
                if coverage and min(facts.distinct[a], facts.distinct[b]) >= share * facts.rows:
                    scored.append(((1 - abs(facts.correlation(a, b))) / coverage, a, b))
            if not scored:
                return
            _, a, b = min(scored)
            op = next(ops for rule in left if (ops := _served(rule, a, b)) is not None)
            along = facts.correlation(a, b)
            second = op[1]
            if abs(along) > REVERSED and (along > 0) != (bool(op[0] & Op.LT) == bool(second & Op.LT)):
                second = second.swapped  # the chain of small rank, used in reverse
            chosen.append(ChainChoice(a, op[0], b, second))
            left = [rule for rule in left if _served(rule, a, b) is None]

    take_equality(EQUALITY_LIMIT)
    take_chains(VALUES_LIMIT)
    take_equality(2.0)
    take_chains(0.0)
    return chosen


def _orders(op: Op) -> bool:
    return op != Op.EQ


def _served(rule: Denial, a: str, b: str) -> tuple[Op, Op] | None:
    """The operators of a rule on two columns, if it orders both; ``!=`` is ``<`` or ``>``, and the chain serves both."""
    ops = {p.left.name: (Op.LT if p.op == Op.NE else p.op) for p in rule.predicates if p.same_column and _orders(p.op)}
    return (ops[a], ops[b]) if a in ops and b in ops else None
