"""Whether a rule is broken, and by which pairs: what discovery asks, many times.

The shapes that functional and order dependencies and most denial constraints have are answered by one walk over groups;
others by looking at every pair where groups are small, else by counting and then looking among the rows that take part.
Either way the answer stops at the number of pairs asked for, and "none" is a proof.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np

from rowlaw.engine.local.compile import Comparison, Compiled
from rowlaw.engine.local.costs import PAIRS_PER_ROW
from rowlaw.engine.local.count import count
from rowlaw.engine.local.plan import order_equalities
from rowlaw.engine.local.refine import pairs
from rowlaw.engine.local.terms import strict_cases
from rowlaw.kernels import witness as kernels
from rowlaw.relation.groups import Groups, Sorted
from rowlaw.rules.model import Op


def counterexamples(
    rule: Compiled, rows: int, most: int, groups: Groups | None = None, pairs_per_row: float = PAIRS_PER_ROW
) -> np.ndarray:
    """Up to ``most`` pairs that break the rule, from different groups where there are several; none only if it holds.

    For a rule about single rows a pair is a row twice. ``groups`` are the pairs that satisfy its equalities, where the
    caller has them already. Every pair is looked at where there are at most ``pairs_per_row`` for each row.
    """
    if rule.denial.arity == 1:
        return np.stack((rule.s[:most], rule.s[:most]), axis=1)
    if groups is None:
        groups = Groups.whole(rule.s, rule.t).refine([c.columns for c in order_equalities(rule)])
    if groups.number == 0:
        return np.zeros((0, 2), np.int32)
    others = rule.others
    if rule.reflexive and len(others) <= 2:
        return _walk(groups, others, most)
    in_groups = np.diff(groups.s.starts).astype(np.float64) @ np.diff(groups.t.starts)
    if in_groups <= pairs_per_row * groups.rows * 2 ** len(rule.differences):
        return _scan(groups, others, most)
    counted = count(rule, rows, groups=groups)
    if not counted.pairs:
        return np.zeros((0, 2), np.int32)
    chosen: list[np.ndarray] = []
    for s, t in pairs(rule, counted.per_row):
        step = max(1, len(s) // most)  # from all over the batch
        chosen.append(np.stack((s[::step][:most], t[::step][:most]), axis=1))
        if sum(map(len, chosen)) >= most:
            break
    return np.concatenate(chosen)[:most]


def _scan(groups: Groups, comparisons: Sequence[Comparison], most: int) -> np.ndarray:
    s, t = groups.s, groups.t
    left = (
        np.stack([c.columns.left[s.rows] for c in comparisons]) if comparisons else np.zeros((0, len(s.rows)), np.int32)
    )
    right = (
        np.stack([c.columns.right[t.rows] for c in comparisons])
        if comparisons
        else np.zeros((0, len(t.rows)), np.int32)
    )
    masks = np.array([int(c.op) for c in comparisons], np.int64)
    pairs = np.empty((most, 2), np.int32)
    per_group = max(1, most // groups.number)
    return pairs[: kernels.scan(s.rows, s.starts, t.rows, t.starts, left, right, masks, per_group, pairs)]


def _walk(groups: Groups, comparisons: Sequence[Comparison], most: int) -> np.ndarray:
    """At most two comparisons, each of one column: ``!=`` is ``<`` or ``>``, ``<=`` is ``<`` or ``=``."""
    sides = [[Op.LT, Op.GT] if c.op == Op.NE else [c.op] for c in comparisons]
    chosen: list[np.ndarray] = []
    for ops in product(*sides):
        cases = strict_cases([Comparison(c.predicate, c.columns, op) for c, op in zip(comparisons, ops, strict=True)])
        for equal, strict in cases:
            left = most - sum(map(len, chosen))
            if left:
                chosen.append(_strict(groups.refine(equal), strict, left))
        if len(comparisons) == 1:
            break  # with one column a pair that differs does so in both directions
    return np.concatenate(chosen)


def _strict(groups: Groups, comparisons: Sequence[Comparison], most: int) -> np.ndarray:
    side = groups.s
    pairs = np.empty((most, 2), np.int32)
    if groups.number == 0:
        return pairs[:0]
    if not comparisons:
        first = side.starts[:-1][:most]
        return np.stack((side.rows[first], side.rows[first + 1]), axis=1)
    if len(comparisons) == 1:
        c = comparisons[0]
        pairs = pairs[: kernels.unequal_pairs(side.rows, side.starts, c.columns.left, pairs)]
        return pairs[:, ::-1] if c.op == Op.GT else pairs
    first_column, second = (c.columns for c in comparisons)
    x_down, y_down = (c.op == Op.GT for c in comparisons)
    side = side.arranged(
        [Sorted(first_column.left, first_column.width, x_down), Sorted(second.left, second.width, not y_down)]
    )
    values = second.left[side.rows]
    return pairs[: kernels.ascents(side.rows, side.starts, -values if y_down else values, pairs)]
