"""Whether a rule is broken at all, and by which pair: what discovery asks, many times.

The shapes that functional and order dependencies and most denial constraints have are answered by one walk over groups that stops
at the first violation; others by counting and then looking among the rows that take part.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from rowlaw.engine.compile import Comparison, Compiled
from rowlaw.engine.count import count, strict_cases
from rowlaw.engine.refine import pairs
from rowlaw.kernels import witness as kernels
from rowlaw.relation.groups import Groups, Sorted
from rowlaw.rules.model import Op

Pair = tuple[int, int]


def witness(rule: Compiled, rows: int, groups: Groups | None = None) -> Pair | None:
    """A pair of rows that breaks the rule, or None. For a rule about single rows the pair is that row twice."""
    if rule.denial.arity == 1:
        return (int(rule.s[0]),) * 2 if len(rule.s) else None  # type: ignore[return-value]
    if groups is None:
        groups = Groups.whole(rule.s, rule.t).refine([c.columns for c in rule.equalities])
    if groups.number == 0:
        return None
    others = (*rule.inequalities, *rule.differences)
    if groups.reflexive and all(c.columns.same for c in others) and len(others) <= 2:
        return _walk(groups, others)
    found = count(rule, rows, groups=groups)
    if not found.pairs:
        return None
    s, t = next(pairs(rule, found.per_row))
    return int(s[0]), int(t[0])


def _walk(groups: Groups, comparisons: Sequence[Comparison]) -> Pair | None:
    """At most two comparisons, each of one column: ``!=`` is ``<`` or ``>``, ``<=`` is ``<`` or ``=``."""
    sides = [[Op.LT, Op.GT] if c.op == Op.NE else [c.op] for c in comparisons]
    for ops in product(*sides):
        chosen = [Comparison(c.predicate, c.columns, op) for c, op in zip(comparisons, ops, strict=True)]
        for equal, strict in strict_cases(chosen):
            found = _strict(groups.refine(equal), strict)
            if found is not None:
                return found
        if len(comparisons) == 1:
            break  # with one column a pair that differs does so in both directions
    return None


def _strict(groups: Groups, comparisons: Sequence[Comparison]) -> Pair | None:
    side = groups.s
    if groups.number == 0:
        return None
    if not comparisons:
        s, t = kernels.any_pair(side.rows, side.starts, side.rows, side.starts)
    elif len(comparisons) == 1:
        c = comparisons[0]
        s, t = kernels.unequal(side.rows, side.starts, c.columns.left)
        if c.op == Op.GT:
            s, t = t, s
    else:
        first, second = (c.columns for c in comparisons)
        x_down, y_down = (c.op == Op.GT for c in comparisons)
        side = side.arranged([Sorted(first.left, first.width, x_down), Sorted(second.left, second.width, not y_down)])
        values = second.left[side.rows]
        s, t = kernels.ascent(side.rows, side.starts, -values if y_down else values)
    return (int(s), int(t)) if s >= 0 else None
