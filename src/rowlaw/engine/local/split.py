"""A rule in pieces whose violations add up: the units of parallel work, and what keeps each within a worker's memory.

Rows that agree on an equality column stay together, so pieces are sets of its values. Pairs under an inequality are cut
into ranges of its values: within a range the rule as it is, between a lower and a higher range the rule without that
inequality, which holds there. A value that so many rows share that it would be a piece too large (skew) is cut by
ranges.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from rowlaw.engine.local.compile import Compiled
from rowlaw.engine.local.inequality import coordinates
from rowlaw.kernels.sort import sorted_distinct
from rowlaw.relation.groups import Compared

Piece = Callable[[], Compiled]  # made when it is called for: a worker needs only its own


def split(rule: Compiled, parts: int) -> list[Piece]:
    """About ``parts`` pieces of a compiled rule; fewer where it cannot be cut."""
    if not len(rule.s) or not len(rule.t):
        return []
    if parts < 2 or rule.denial.arity == 1:
        return [lambda: rule]
    if rule.equalities:
        return _by_values(rule, parts)
    return _by_ranges(rule, parts)


def _by_values(rule: Compiled, parts: int) -> list[Piece]:
    by = max(rule.equalities, key=lambda c: c.columns.width).columns
    sizes = np.bincount(by.left[rule.s] + 1, minlength=by.width) + np.bincount(by.right[rule.t] + 1, minlength=by.width)
    home = _spread(np.arange(by.width), parts)
    most = sizes.sum() / parts
    heavy = np.flatnonzero(sizes > most / 2)
    home[heavy] = -1
    pieces: list[Piece] = []
    for value in heavy:
        alone = _restricted(rule, rule.s[by.left[rule.s] + 1 == value], rule.t[by.right[rule.t] + 1 == value])
        if len(alone.s) and len(alone.t):
            pieces += _by_ranges(alone, max(1, round(sizes[value] / most)))

    def piece(part: int) -> Compiled:
        s = rule.s[home[by.left[rule.s] + 1] == part]
        return _restricted(rule, s, s if rule.s is rule.t and by.same else rule.t[home[by.right[rule.t] + 1] == part])

    return [*pieces, *(partial(piece, part) for part in range(parts))]


def _spread(values: np.ndarray, parts: int) -> np.ndarray:
    """A piece for each value, scattered: neighbouring values are often alike in size."""
    scattered = (values.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(40)
    return (scattered % np.uint64(parts)).astype(np.int32)


def _by_ranges(rule: Compiled, parts: int) -> list[Piece]:
    if parts < 2 or not rule.inequalities:
        return [lambda: rule]
    by = max(rule.inequalities, key=lambda c: c.columns.width)
    columns = by.columns
    # the place of each code (null first) on the scale on which the inequality reads a < b
    codes = np.arange(columns.width) - 1
    a, b = coordinates(replace(by, columns=Compared(codes, codes, columns.width)), codes + 1, codes + 1)
    s_sizes = np.bincount(columns.left[rule.s] + 1, minlength=columns.width)
    t_sizes = np.bincount(columns.right[rule.t] + 1, minlength=columns.width)
    order = np.argsort(np.concatenate((a, b)), kind="stable")
    reached = np.cumsum(np.concatenate((s_sizes, t_sizes))[order])
    cuts = np.searchsorted(reached, reached[-1] * np.arange(1, parts) / parts)
    bounds = sorted_distinct(np.concatenate((a, b))[order][cuts])
    s_range, t_range = (np.searchsorted(bounds, places, side="right").astype(np.int16) for places in (a, b))
    rest = tuple(c for c in rule.inequalities if c is not by)

    def ranges() -> tuple[np.ndarray, np.ndarray]:
        return s_range[columns.left[rule.s] + 1], t_range[columns.right[rule.t] + 1]

    def within(i: int) -> Compiled:
        of_s, of_t = ranges()
        return _restricted(rule, rule.s[of_s == i], rule.t[of_t == i])

    def above(i: int) -> Compiled:
        of_s, of_t = ranges()
        return replace(_restricted(rule, rule.s[of_s == i], rule.t[of_t > i]), inequalities=rest)

    last = len(bounds)
    return [*(partial(within, i) for i in range(last + 1)), *(partial(above, i) for i in range(last))]


def _restricted(rule: Compiled, s: np.ndarray, t: np.ndarray) -> Compiled:
    if t is not s and len(s) == len(t) and np.array_equal(s, t):
        t = s
    return replace(rule, s=s, t=t)
