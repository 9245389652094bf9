"""The index selection of IncDC as published (Algorithm 4), to be compared with the one that is used."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from rowlaw.rules.model import Denial, Op

REVERSED = 0.3  # IncDC's alpha: with a correlation beyond it the chain of small rank is built
VALUES_LIMIT = 0.1  # IncDC's l': inequality indexes on columns of a smaller share of distinct values come last
EQUALITY_LIMIT = 0.6  # IncDC's l: equality indexes of a higher score come last


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
    """Algorithm 4 of IncDC for predicates on one column each: equality indexes of good score, then chains by score,
    then what is left."""
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
            for a, b in combinations(
                sorted({p.left.name for rule in left for p in rule.predicates if _orders(p.op) and p.same_column}), 2
            ):
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
    """The operators of a rule on two columns, if it orders both; ``!=`` is ``<`` or ``>``, and the chain serves
    both."""
    ops = {p.left.name: (Op.LT if p.op == Op.NE else p.op) for p in rule.predicates if p.same_column and _orders(p.op)}
    return (ops[a], ops[b]) if a in ops and b in ops else None
