"""In which order and by which algorithm a rule's predicates are refined (FACET section 6).

Equalities first, then inequalities, then differences. Within a class the column with fewest values first; three or
more equalities on single columns by GreedyHLL. Two inequalities go through IEJoin when both columns have many values *as
seen behind the equalities*; others through hash-sort-merge, with bins where values and rows are many.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from rowlaw.engine import inequality
from rowlaw.engine.compile import Comparison, Compiled
from rowlaw.kernels.sketch import estimate_distinct
from rowlaw.relation.groups import Groups

BHSM_VALUES = 10_000  # distinct values above which bins pay (FACET section 6.2)
IEJOIN_VALUES = 1 << 13  # distinct values above which IEJoin beats a sequence of HSM (FACET section 6.2)
SKETCHED = 1 << 14  # rows that say enough about which columns to begin with


@dataclass(frozen=True, slots=True)
class Stage:
    """One step of a pipeline: groups of pairs in, smaller groups out."""

    algorithm: str  # "equal", "hsm", "bhsm", "iejoin" or "differ"
    comparisons: tuple[Comparison, ...]
    because: str

    def apply(self, groups: Groups) -> Iterator[Groups]:
        match self.algorithm:
            case "equal":
                yield groups.refine([c.columns for c in self.comparisons])
            case "hsm":
                yield from inequality.hsm(groups, self.comparisons[0])
            case "bhsm":
                yield from inequality.bhsm(groups, self.comparisons[0])
            case "iejoin":
                yield from inequality.iejoin(groups, self.comparisons[0], self.comparisons[1])
            case _:
                yield from inequality.differing(groups, self.comparisons[0])

    def __str__(self) -> str:
        names = {
            "equal": "group by",
            "hsm": "hash-sort-merge on",
            "bhsm": "hash-sort-merge with bins on",
            "iejoin": "IEJoin on",
            "differ": "differ on",
        }
        return f"{names[self.algorithm]} {' and '.join(str(c.predicate) for c in self.comparisons)} ({self.because})"


@dataclass(frozen=True, slots=True)
class Plan:
    """The stages of a rule, in order."""

    rule: Compiled
    stages: tuple[Stage, ...]

    def __str__(self) -> str:
        sides = (
            f"{len(self.rule.s):,} rows" if self.rule.s is self.rule.t else f"{len(self.rule.s):,} rows for s, {len(self.rule.t):,} for t"
        )
        lines = [f"start with all pairs of {sides}", *map(str, self.stages)]
        return "\n".join(f"{i}. {line}" for i, line in enumerate(lines, 1))


def plan(rule: Compiled) -> Plan:
    """The plan of a compiled rule."""
    stages = []
    equal = order_equalities(rule)
    if equal:
        why = "GreedyHLL" if len(equal) > 2 and all(c.columns.same for c in equal) else "fewest values first"
        stages.append(Stage("equal", equal, why))
    stages += _inequality_stages(rule, equal)
    stages += [Stage("differ", (c,), _values(c)) for c in sorted(rule.differences, key=_by_values)]
    return Plan(rule, tuple(stages))


def _by_values(c: Comparison) -> tuple[bool, int, str]:
    return (not c.columns.same, c.columns.width, str(c.predicate))


def _values(c: Comparison) -> str:
    return f"{c.columns.width - 1:,} values"


def order_equalities(rule: Compiled) -> tuple[Comparison, ...]:
    """Equalities in the order they are refined: on one column before on two, fewest values first, many by GreedyHLL."""
    ordered = sorted(rule.equalities, key=_by_values)
    single = [c for c in ordered if c.columns.same]
    if len(single) > 2:
        ordered = [*_greedy(single, rule.s), *ordered[len(single) :]]
    return tuple(ordered)


def _greedy(equalities: Sequence[Comparison], rows: np.ndarray) -> list[Comparison]:
    """GreedyHLL: pairs of predicates by how few rows they leave and how little they cost (FACET section 6.2)."""
    rows = rows[:: max(1, len(rows) // SKETCHED)]
    n = max(1, len(rows))

    def rank(pair: tuple[Comparison, Comparison]) -> float:
        first, second = sorted(pair, key=_by_values)
        joint = joint_values((first, second), rows)
        return max(0.0, n - joint) / n * (first.columns.width - 1 + joint) ** 0.1

    chosen: dict[int, Comparison] = {}
    for pair in sorted(combinations(equalities, 2), key=rank):
        for c in sorted(pair, key=_by_values):
            chosen.setdefault(id(c), c)
    return list(chosen.values())


def joint_values(comparisons: Sequence[Comparison], rows: np.ndarray) -> int:
    """About how many distinct combinations of values the ``s`` columns have, never more than their product."""
    most = 1
    for c in comparisons:
        most *= max(1, c.columns.width - 1)
    if len(comparisons) == 1 or most <= 1:
        return most
    return min(most, len(rows), estimate_distinct(np.stack([c.columns.left[rows] for c in comparisons])))


def _inequality_stages(rule: Compiled, equal: Sequence[Comparison]) -> list[Stage]:
    ordered = sorted(rule.inequalities, key=lambda c: (c.columns.width, str(c.predicate)))
    # what an inequality sees behind the equalities is the number of joint values (FACET section 6.2, last paragraph)
    seen = {id(c): joint_values((*equal, c), rule.s) for c in ordered}
    if len(ordered) == 2 and all(seen[id(c)] >= IEJOIN_VALUES for c in ordered):
        return [Stage("iejoin", tuple(ordered), f"at least {IEJOIN_VALUES:,} values each")]
    groups = joint_values(equal, rule.s) if equal else 1
    stages = []
    for c in ordered:
        reach = len(rule.s) // max(1, groups)  # rows of a group that reach this stage
        many = c.columns.width - 1 > BHSM_VALUES and reach > inequality.BINS
        stages.append(Stage("bhsm" if many else "hsm", (c,), _values(c) + (f", {reach:,} rows a group" if equal else "")))
    return stages
