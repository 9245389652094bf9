"""In which order and by which algorithm a rule's predicates are refined (FACET section 6).

Equalities first; three or more on single columns in the order of GreedyHLL. All inequalities and differences then go
through one stage, divide and conquer, which begins with the two inequalities that fewest pairs of a sample satisfy
together. FACET's own algorithms can be chosen instead: IEJoin for that pair, with the pairs that it leaves compared one
by one; or hash-sort-merge, with or without bins, for one inequality after the other. On sorted arrays they do not win
(docs/decisions/0014-listing-by-division.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from rowlaw.engine.local import inequality
from rowlaw.engine.local.compile import Comparison, Compiled
from rowlaw.engine.local.division import SCAN, SCAN_ALL, TOGETHER, Division
from rowlaw.kernels.sketch import estimate_distinct
from rowlaw.relation.groups import Groups
from rowlaw.rules.wording import counted

_SKETCHED = 1 << 14  # rows that say enough about which columns to begin with
# rows of each side whose pairs are compared to choose the inequalities to begin with: about a millisecond
SAMPLED = 512

Method = Literal["divide", "iejoin", "hsm", "bhsm"]
METHODS: tuple[Method, ...] = ("divide", "iejoin", "hsm", "bhsm")


@dataclass(frozen=True, slots=True)
class Stage:
    """One step of a pipeline: groups of pairs in, smaller groups out."""

    algorithm: Literal["equal", "divide", "iejoin", "test", "hsm", "bhsm", "differ"]
    comparisons: tuple[Comparison, ...]
    because: str

    def apply(self, groups: Groups, batch: int = inequality.BATCH, scan: int = SCAN) -> Iterator[Groups]:
        """The pairs of the groups that satisfy the comparisons, in groups of at most about ``batch`` rows together.

        ``scan``: pairs for each row up to which dividing ends and pairs are compared one by one.
        """
        match self.algorithm:
            case "equal":
                yield groups.refine([c.columns for c in self.comparisons])
            case "divide":
                yield from Division(groups, self.comparisons, batch, scan)
            case "test":
                yield from Division(groups, self.comparisons, batch, SCAN_ALL)
            case "hsm":
                yield from inequality.hsm(groups, self.comparisons[0], batch)
            case "bhsm":
                yield from inequality.bhsm(groups, self.comparisons[0], batch)
            case "iejoin":
                yield from inequality.iejoin(groups, self.comparisons[0], self.comparisons[1], batch)
            case _:
                yield from inequality.differing(groups, self.comparisons[0], batch)

    def __str__(self) -> str:
        names = {
            "equal": "group by",
            "divide": "divide by",
            "test": "compare pairs by",
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
            counted(len(self.rule.s), "row")
            if self.rule.s is self.rule.t
            else f"{counted(len(self.rule.s), 'row')} for s, {len(self.rule.t):,} for t"
        )
        lines = [f"start with all pairs of {sides}", *map(str, self.stages)]
        return "\n".join(f"{i}. {line}" for i, line in enumerate(lines, 1))


def plan(rule: Compiled, method: Method = "divide") -> Plan:
    """Plan the listing of a compiled rule, its inequalities and differences by the given method."""
    stages = []
    equal = order_equalities(rule)
    if equal:
        why = "GreedyHLL" if len(equal) > 2 and all(c.columns.same for c in equal) else "fewest values first"
        stages.append(Stage("equal", equal, why))
    ordered, selected = order_inequalities(rule)
    differences = tuple(sorted(rule.differences, key=_by_values))
    others = (*ordered, *differences)
    if method == "divide":
        stages += [Stage("divide", others[i : i + TOGETHER], selected) for i in range(0, len(others), TOGETHER)]
    elif method == "iejoin" and len(ordered) > 1:
        stages.append(Stage("iejoin", ordered[:2], selected))
        if others[2:]:
            stages.append(Stage("test", others[2:], "the pairs that are left"))
    else:
        stages += [Stage("bhsm" if method == "bhsm" else "hsm", (c,), _values(c)) for c in ordered]
        stages += [Stage("differ", (c,), _values(c)) for c in differences]
    return Plan(rule, tuple(stages))


def order_inequalities(rule: Compiled) -> tuple[tuple[Comparison, ...], str]:
    """Inequalities in the order in which listing uses them, and why: first the two that fewest pairs of a sample
    satisfy together.

    The sample ignores the equalities: pairs that agree on them are rare, and all of them have been found when
    inequalities are looked at.
    """
    inequalities = tuple(sorted(rule.inequalities, key=lambda c: (c.columns.width, str(c.predicate))))
    if len(inequalities) < 2:
        return inequalities, _values((*inequalities, *rule.differences)[0]) if inequalities or rule.differences else ""
    if len(inequalities) == 2:
        return inequalities, "two inequalities"
    s, t = (rows[:: max(1, len(rows) // SAMPLED)][:SAMPLED] for rows in (rule.s, _other_order(rule.t)))
    holds = [c.holds(s[:, None], t[None, :]) for c in inequalities]
    together = {
        pair: int(np.count_nonzero(holds[pair[0]] & holds[pair[1]]))
        for pair in combinations(range(len(inequalities)), 2)
    }
    first, second = min(together, key=lambda pair: together[pair])
    rest = sorted(
        (i for i in range(len(inequalities)) if i not in (first, second)), key=lambda i: int(np.count_nonzero(holds[i]))
    )
    share = together[first, second] / max(1, holds[0].size)
    return tuple(
        inequalities[i] for i in (first, second, *rest)
    ), f"the first two hold for {share:.2%} of a sample of pairs"


def _other_order(rows: np.ndarray) -> np.ndarray:
    """The rows from another start: a regular sample of them has few rows in common with one of the rows as they are."""
    return rows[len(rows) // (2 * SAMPLED) :]


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
    rows = rows[:: max(1, len(rows) // _SKETCHED)]
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
