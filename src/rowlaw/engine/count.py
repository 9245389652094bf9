"""How many pairs break a rule, and in how many each row takes part, without looking at pairs.

Equalities make groups. ``!=`` goes by inclusion and exclusion: all pairs of a group, less those that are equal. One
inequality is counted along two sorted sides, two by dominance, more by divide and conquer. Pairs of a row with itself
are counted along and taken off at the end of each term. Near-linear for a fixed number of predicates, also when a rule has 10^11
violations.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from rowlaw.engine.cells import count_exceptions, count_in_cells, in_cells, with_few_exceptions
from rowlaw.engine.compile import Comparison, Compiled
from rowlaw.engine.inequality import coordinates, descending
from rowlaw.engine.kinds import count_kinds, in_kinds
from rowlaw.engine.plan import order_equalities
from rowlaw.kernels import dominance, witness
from rowlaw.kernels import groups as kernels
from rowlaw.relation.groups import Compared, Groups, Side, Sorted
from rowlaw.rules.model import Op

SCANNED = 2e7  # pairs that are looked at one by one in a tenth of a second
NARROW = 4_096  # values for which counts fit the first-level cache


@dataclass(frozen=True, slots=True)
class Count:
    """Violations of a rule: pairs in all and, if wanted, for each row of the table the pairs it takes part in."""

    pairs: int
    per_row: np.ndarray


def count(rule: Compiled, rows: int, *, per_row: bool = True, groups: Groups | None = None) -> Count:
    """Count the violations of a compiled rule in a table of ``rows`` rows.

    ``groups`` are the pairs that satisfy its equalities, where the caller has them already.
    """
    # Unsigned 32 bits are enough for the result, and what leaves them on the way (terms have signs) comes back.
    tally = np.zeros(rows if per_row else 0, np.uint32)
    if rule.denial.arity == 1:
        if per_row:
            tally[rule.s] = 1
        return Count(len(rule.s), tally)
    if groups is None and with_few_exceptions(rule):
        found = count_exceptions(rule, tally)
        if found is not None:
            return Count(found, tally)
    if groups is None and in_cells(rule):
        return Count(count_in_cells(rule, tally), tally)
    if groups is None and in_kinds(rule):
        found = count_kinds(rule, tally)
        if found is not None:
            return Count(found, tally)
    if rule.s is rule.t and all(c.columns.same for c in rule.comparisons):
        if len(rule.differences) == 1 and not rule.inequalities:
            return Count(_unlike(rule, groups, tally), tally)
        if len(rule.inequalities) == 2 and not rule.differences and not any(c.op & Op.EQ for c in rule.inequalities):
            return Count(_ascents(rule, groups, tally), tally)
    if groups is None:
        groups = Groups.whole(rule.s, rule.t).refine([c.columns for c in order_equalities(rule)])
    if _few_pairs(rule, groups):
        return Count(_scanned(rule, groups, tally), tally)
    total = 0
    for size in range(len(rule.differences) + 1):
        for equal in combinations(rule.differences, size):
            among = groups.refine([c.columns for c in equal])
            total += _Term((-1) ** size, tally, rows).count(among, rule.inequalities)
    return Count(total, tally)


def _few_pairs(rule: Compiled, groups: Groups) -> bool:
    """Whether looking at every pair is quicker: terms double with each weak inequality and each difference."""
    m = len(rule.inequalities)
    if m + len(rule.differences) < 3:
        return False
    pairs = np.diff(groups.s.starts).astype(np.float64) @ np.diff(groups.t.starts)
    weak = sum(bool(c.op & Op.EQ) for c in rule.inequalities) if groups.reflexive else 0
    a_row = 100.0 * max(1, m) if m < 3 else 1000.0 * math.log2(groups.rows + 2) ** (m - 2)
    return bool(pairs <= SCANNED and pairs * len(rule.comparisons) < groups.rows * a_row * 2.0 ** (weak + len(rule.differences)))


def _scanned(rule: Compiled, groups: Groups, tally: np.ndarray) -> int:
    s, t = groups.s, groups.t
    others = (*rule.inequalities, *rule.differences)
    left, right = np.stack([c.columns.left[s.rows] for c in others]), np.stack([c.columns.right[t.rows] for c in others])
    masks = np.array([int(c.op) for c in others], np.int64)
    return int(witness.count_scanned(s.rows, s.starts, t.rows, t.starts, left, right, masks, tally))


def _laid_out(rule: Compiled, groups: Groups | None, columns: Sequence[Sorted]) -> tuple[Side, np.ndarray]:
    """The rows that agree on the rule's equalities, in groups laid out by the columns: from groups that are there, else in one sort."""
    if groups is not None:
        return groups.s.laid_out(columns)
    return Groups.whole(rule.s, rule.t).refine_laid_out([c.columns for c in order_equalities(rule)], columns)


def _unlike(rule: Compiled, groups: Groups | None, tally: np.ndarray) -> int:
    """A functional dependency, as most rules are: groups of the left side, laid out by the right one."""
    side, digits = _laid_out(rule, groups, [rule.differences[0].columns.of_s])
    return int(kernels.count_unlike(side.rows, side.starts, digits, tally))


def _ascents(rule: Compiled, groups: Groups | None, tally: np.ndarray) -> int:
    """Two strict inequalities within groups, as in an order dependency; fewer values second, where a small tree may do."""
    first, second = sorted(rule.inequalities, key=lambda c: -c.columns.width)
    side, digits = _laid_out(rule, groups, _against(first, second))
    return _count_ascents(side, digits, second, 1, tally)


def _against(first: Comparison, second: Comparison) -> list[Sorted]:
    """Lay out by the first strict inequality and, at ties, against the second: then ties are no ascents."""
    x, y = first.columns, second.columns
    return [Sorted(x.left, x.width, first.op == Op.GT), Sorted(y.left, y.width, second.op != Op.GT)]


def _count_ascents(side: Side, digits: np.ndarray, second: Comparison, sign: int, tally: np.ndarray) -> int:
    width = second.columns.width
    values = np.subtract(np.int32(width - 1), digits, out=digits)  # they were laid out against what is wanted
    if width <= NARROW and width * side.groups <= len(side.rows):
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
            first, second = sorted(inequalities, key=lambda c: -c.columns.width)
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
        return int(dominance.count_dominated(s.rows, s.starts, t.rows, t.starts, np.stack(a), np.stack(b), self.sign, self.per_row))

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
    """Weak inequalities as disjoint cases: ``<=`` is ``=`` or ``<``. Each case is columns that agree and strict inequalities."""
    cases: list[tuple[list[Compared], list[Comparison]]] = [([], [])]
    for c in inequalities:
        strict = Comparison(c.predicate, c.columns, Op(c.op & ~Op.EQ))
        grown = [(equal, [*rest, strict]) for equal, rest in cases]
        if c.op & Op.EQ:
            grown += [([*equal, c.columns], rest) for equal, rest in cases]
        cases = grown
    return cases
