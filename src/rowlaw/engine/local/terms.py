"""Counting within groups: sorted runs and ascents for the common shapes, pairs one by one where they are few, and the
general method.

``!=`` goes by inclusion and exclusion: all pairs of a group, less those that are equal. One inequality is counted along
two sorted sides, two by dominance, more by divide and conquer. Pairs of a row with itself are counted along and taken
off at the end of each term. Near-linear for a fixed number of predicates, also when a rule has 10^11 violations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np

from rowlaw.engine.local import costs
from rowlaw.engine.local.compile import Comparison
from rowlaw.engine.local.inequality import coordinates, descending
from rowlaw.engine.local.method import Question
from rowlaw.engine.local.plan import order_equalities
from rowlaw.kernels import dominance, witness
from rowlaw.kernels import groups as kernels
from rowlaw.relation.groups import Compared, Groups, Side, Sorted
from rowlaw.rules.model import Op


@dataclass(frozen=True, slots=True)
class SingleRows:
    """A rule about single rows: compiling it has found the rows that break it."""

    name: ClassVar[str] = "single rows"
    own_groups: ClassVar[bool] = True
    divisible: ClassVar[bool] = False
    after_grouping: ClassVar[bool] = False
    may_decline: ClassVar[bool] = False

    def applies(self, question: Question) -> bool:
        return question.rule.denial.arity == 1

    def because(self, question: Question) -> str:  # noqa: ARG002 - as of all methods
        return "the rule is about single rows"

    def seconds(self, question: Question) -> float:
        return question.rows * costs.TAKE

    def count(self, question: Question) -> int:
        if len(question.tally):
            question.tally[question.rule.s] = 1
        return question.rule.s_size


@dataclass(frozen=True, slots=True)
class Runs:
    """A functional dependency, as most rules are: groups of the left side, sorted by the right one, counted by runs of
    equal values."""

    name: ClassVar[str] = "runs"
    own_groups: ClassVar[bool] = False
    divisible: ClassVar[bool] = False
    after_grouping: ClassVar[bool] = False
    may_decline: ClassVar[bool] = False

    def applies(self, question: Question) -> bool:
        rule = question.rule
        return rule.reflexive and len(rule.differences) == 1 and not rule.inequalities

    def because(self, question: Question) -> str:
        return "a functional dependency" + ("" if question.shared is not None else ": one sort by both sides")

    def seconds(self, question: Question) -> float:
        return _layout_seconds(question, [question.rule.differences[0].columns.of_s]) + question.rule.s_size * costs.RUN

    def count(self, question: Question) -> int:
        side, digits = _laid_out(question, [question.rule.differences[0].columns.of_s])
        return int(kernels.count_unlike(side.rows, side.starts, digits, question.tally))


@dataclass(frozen=True, slots=True)
class Ascents:
    """Two strict inequalities within groups, as in an order dependency."""

    name: ClassVar[str] = "ascents"
    own_groups: ClassVar[bool] = False
    divisible: ClassVar[bool] = True
    after_grouping: ClassVar[bool] = False
    may_decline: ClassVar[bool] = False

    def applies(self, question: Question) -> bool:
        rule = question.rule
        strict = not any(c.op & Op.EQ for c in rule.inequalities)
        return rule.reflexive and len(rule.inequalities) == 2 and strict and not rule.differences

    def because(self, question: Question) -> str:  # noqa: ARG002 - as of all methods
        return "two strict inequalities on the same columns of both rows"

    def seconds(self, question: Question) -> float:
        return _ascents_seconds(question, question.rule.inequalities)

    def count(self, question: Question) -> int:
        first, second = _wide_first(question.rule.inequalities)
        side, digits = _laid_out(question, _against(first, second))
        return _count_ascents(side, digits, second, 1, question.tally)


@dataclass(frozen=True, slots=True)
class Scan:
    """Every pair that satisfies the equalities, one by one: for three or more other comparisons where such pairs are
    few."""

    name: ClassVar[str] = "scan"
    own_groups: ClassVar[bool] = False
    divisible: ClassVar[bool] = True
    after_grouping: ClassVar[bool] = True
    may_decline: ClassVar[bool] = False

    comparisons: int = 3  # that are not equalities: fewer are counted at once by other methods
    limit: float = costs.SCANNED_PAIRS
    slower: float = 1.0  # how many times longer than by terms it may take

    def applies(self, question: Question) -> bool:
        if len(question.rule.others) < self.comparisons or question.rule.denial.arity == 1:
            return False
        return question.pairs <= self.limit and self._pairs_seconds(question) < self.slower * _terms_seconds(question)

    def because(self, question: Question) -> str:
        return f"only {question.pairs:,.0f} pairs satisfy the equalities"

    def _pairs_seconds(self, question: Question) -> float:
        others = len(question.rule.others)
        return (question.pairs * costs.SCAN + question.both * costs.GATHER) * others

    def seconds(self, question: Question) -> float:
        return question.grouping_seconds + self._pairs_seconds(question)

    def count(self, question: Question) -> int:
        s, t = question.groups.s, question.groups.t
        others = question.rule.others
        left = np.array([c.columns.left[s.rows] for c in others], np.int32).reshape(len(others), len(s.rows))
        right = np.array([c.columns.right[t.rows] for c in others], np.int32).reshape(len(others), len(t.rows))
        masks = np.array([int(c.op) for c in others], np.int64)
        return int(witness.count_scanned(s.rows, s.starts, t.rows, t.starts, left, right, masks, question.tally))


@dataclass(frozen=True, slots=True)
class Terms:
    """The general method: a signed term for each set of differences taken as equalities, each counted under all
    inequalities."""

    name: ClassVar[str] = "terms"
    own_groups: ClassVar[bool] = False
    divisible: ClassVar[bool] = True
    after_grouping: ClassVar[bool] = False
    may_decline: ClassVar[bool] = False

    def applies(self, question: Question) -> bool:
        return question.rule.denial.arity == 2

    def because(self, question: Question) -> str:
        rule = question.rule
        inequalities = {
            0: "sizes of groups",
            1: "one inequality along sorted sides",
            2: "two inequalities by dominance",
        }
        how = inequalities.get(len(rule.inequalities), f"{len(rule.inequalities)} inequalities by divide and conquer")
        return how + (f", {2 ** len(rule.differences)} terms of inclusion and exclusion" if rule.differences else "")

    def seconds(self, question: Question) -> float:
        return question.grouping_seconds + _terms_seconds(question)

    def count(self, question: Question) -> int:
        rule, total = question.rule, 0
        for size in range(len(rule.differences) + 1):
            for equal in combinations(rule.differences, size):
                among = question.groups.refine([c.columns for c in equal])
                total += _Term((-1) ** size, question.tally, question.rows).count(among, rule.inequalities)
        return total


def _terms_seconds(question: Question) -> float:
    """Cost estimate of all terms once the groups are made."""
    rule = question.rule
    terms = 2.0 ** len(rule.differences)
    refine = sum(
        costs.sort_seconds(question.sorted_rows, [c.columns.of_s], question.sorted_rows) for c in rule.differences
    )
    refine += len(rule.differences) * question.sorted_rows * costs.GROUP
    return terms * _term_seconds(question) + (terms - 1) * refine / max(1, len(rule.differences))


def _term_seconds(question: Question) -> float:
    rule, both = question.rule, question.both
    m = len(rule.inequalities)
    if not m:
        return both / 2 * costs.PRODUCT
    cases = 1.0  # of weak inequalities (see strict_cases)
    if rule.reflexive and m > 1:
        cases = 2.0 ** sum(bool(c.op & Op.EQ) for c in rule.inequalities)
    if rule.reflexive and m == 2:
        return cases * _ascents_seconds(question, rule.inequalities)
    widths = sorted(c.columns.width for c in rule.inequalities)
    sort = costs.sort_seconds(
        question.sorted_rows, [max((c.columns.of_s for c in rule.inequalities), key=lambda c: c.width)]
    )
    if m == 1:
        return sort + both * costs.WALK
    halvings = costs.halvings(2 * question.rows_per_group)
    for width in widths[:-2]:
        halvings *= costs.halvings(min(width, 2 * question.rows_per_group))
    return cases * (sort + both * (costs.MERGE * halvings if m == 2 else costs.SMALL + costs.SPLIT * halvings))


def _ascents_seconds(question: Question, inequalities: Sequence[Comparison]) -> float:
    first, second = _wide_first(inequalities)
    n, rows_per_group = question.rule.s_size, question.rows_per_group
    narrow = second.columns.width <= min(costs.NARROW, rows_per_group)
    each = (
        costs.ASCENT_TREE * costs.halvings(second.columns.width)
        if narrow
        else costs.ASCENT_MERGE * costs.halvings(rows_per_group)
    )
    return _layout_seconds(question, _against(first, second)) + n * each


def _layout_seconds(question: Question, columns: Sequence[Sorted]) -> float:
    equal = [] if question.shared is not None else [c.columns.of_s for c in question.rule.equalities]
    groups = question.shared.number if question.shared is not None else 1
    return costs.sort_seconds(question.rule.s_size, [*equal, *columns], groups) + question.rule.s_size * costs.GROUP


def _laid_out(question: Question, columns: Sequence[Sorted]) -> tuple[Side, np.ndarray]:
    """The rows that agree on the rule's equalities, in groups laid out by the columns: from groups that are there, else
    in one sort."""
    if question.shared is not None:
        return question.shared.s.laid_out(columns)
    rule = question.rule
    return Groups.whole(rule.s, rule.t).refine_laid_out([c.columns for c in order_equalities(rule)], columns)


def _wide_first(inequalities: Sequence[Comparison]) -> tuple[Comparison, Comparison]:
    """Two inequalities, the one with fewer values second, where a small tree may do."""
    first, second = sorted(inequalities, key=lambda c: -c.columns.width)
    return first, second


def _against(first: Comparison, second: Comparison) -> list[Sorted]:
    """Lay out by the first strict inequality and, at ties, against the second: then ties are no ascents."""
    x, y = first.columns, second.columns
    return [Sorted(x.left, x.width, first.op == Op.GT), Sorted(y.left, y.width, second.op != Op.GT)]


def _count_ascents(side: Side, digits: np.ndarray, second: Comparison, sign: int, tally: np.ndarray) -> int:
    width = second.columns.width
    values = np.subtract(np.int32(width - 1), digits, out=digits)  # they were laid out against what is wanted
    if width <= costs.NARROW and width * side.groups <= len(side.rows):
        return int(dominance.count_ascents_narrow(side.rows, side.starts, values, width, sign, tally))
    return int(dominance.count_ascents(side.rows, side.starts, values, sign, tally))


@dataclass(frozen=True, slots=True)
class _Term:
    """A signed part of a count."""

    sign: int
    per_row: np.ndarray
    rows: int

    def count(self, groups: Groups, inequalities: Sequence[Comparison]) -> int:
        """Pairs of different rows in ``groups`` that satisfy all inequalities."""
        if groups.number == 0:
            return 0
        if groups.reflexive and len(inequalities) > 1 and all(c.columns.same for c in inequalities):
            return sum(self._strict(groups.refine(equal), strict) for equal, strict in strict_cases(inequalities))
        return self._all(groups, inequalities) - self._with_itself(groups, inequalities)

    def _strict(self, groups: Groups, inequalities: Sequence[Comparison]) -> int:
        if groups.number == 0:
            return 0
        if len(inequalities) == 2:
            first, second = _wide_first(inequalities)
            return _count_ascents(*groups.s.laid_out(_against(first, second)), second, self.sign, self.per_row)
        return self._all(groups, inequalities) - self._with_itself(groups, inequalities)

    def _all(self, groups: Groups, inequalities: Sequence[Comparison]) -> int:
        s, t = groups.s, groups.t
        if not inequalities:
            return int(kernels.count_products(s.rows, s.starts, t.rows, t.starts, self.sign, self.per_row))
        # Splitting goes first by the column with fewest values: it is done with after the fewest splits.
        ordered = sorted(inequalities, key=lambda c: c.columns.width)
        by = ordered[-2] if len(ordered) > 1 else ordered[0]
        arranged = groups.arranged(by.columns, descending=descending(by.op))
        s, t = arranged.s, arranged.t
        a, b = zip(*(coordinates(c, s.rows, t.rows) for c in ordered), strict=True)
        if len(ordered) == 1:
            return int(kernels.count_below(s.rows, s.starts, t.rows, t.starts, a[0], b[0], self.sign, self.per_row))
        return int(
            dominance.count_dominated(
                s.rows, s.starts, t.rows, t.starts, np.stack(a), np.stack(b), self.sign, self.per_row
            )
        )

    def _with_itself(self, groups: Groups, inequalities: Sequence[Comparison]) -> int:
        """Rows that were counted as a pair with themselves; takes them off the per-row counts."""
        if any(c.columns.same and not c.op & Op.EQ for c in inequalities):
            return 0  # no row is below itself
        rows = groups.on_both_sides(self.rows)
        for c in inequalities:
            rows = rows[c.holds(rows, rows)]
        if len(self.per_row):
            self.per_row[rows] -= np.uint32(2 * self.sign & 0xFFFFFFFF)
        return self.sign * len(rows)


def strict_cases(inequalities: Sequence[Comparison]) -> list[tuple[list[Compared], list[Comparison]]]:
    """Weak inequalities as disjoint cases: ``<=`` is ``=`` or ``<``. Each case is columns that agree and strict
    inequalities."""
    cases: list[tuple[list[Compared], list[Comparison]]] = [([], [])]
    for c in inequalities:
        strict = Comparison(c.predicate, c.columns, Op(c.op & ~Op.EQ))
        grown = [(equal, [*rest, strict]) for equal, rest in cases]
        if c.op & Op.EQ:
            grown += [([*equal, c.columns], rest) for equal, rest in cases]
        cases = grown
    return cases
