"""A rule in pieces whose violations add up: the units of parallel work, and what keeps each within a worker's memory.

Rows that agree on an equality column stay together, so pieces are sets of its values. Pairs under an inequality are cut
into ranges of its values: within a range the rule as it is, between a lower and a higher range the rule without that
inequality, which holds there. A value that so many rows share that it would be a piece too large (skew) is cut by ranges.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rowlaw.engine.compile import Compiled
from rowlaw.engine.inequality import coordinates


def split(rule: Compiled, parts: int) -> list[Compiled]:
    """About ``parts`` pieces of a compiled rule; fewer where it cannot be cut."""
    if not len(rule.s) or not len(rule.t):
        return []
    if parts < 2 or rule.denial.arity == 1:
        return [rule]
    if rule.equalities:
        return _by_values(rule, parts)
    return _by_ranges(rule, parts)


def _by_values(rule: Compiled, parts: int) -> list[Compiled]:
    by = max(rule.equalities, key=lambda c: c.columns.width).columns
    s_codes, t_codes = by.left[rule.s], by.right[rule.t]
    sizes = np.bincount(s_codes + 1, minlength=by.width) + np.bincount(t_codes + 1, minlength=by.width)
    home = _spread(np.arange(by.width), parts)
    most = sizes.sum() / parts
    heavy = np.flatnonzero(sizes > most / 2)
    pieces: list[Compiled] = []
    for value in heavy:
        home[value] = -1
        alone = _restricted(rule, rule.s[s_codes + 1 == value], rule.t[t_codes + 1 == value])
        pieces += _by_ranges(alone, max(1, round(sizes[value] / most)))
    for part in range(parts):
        pieces.append(_restricted(rule, rule.s[home[s_codes + 1] == part], rule.t[home[t_codes + 1] == part]))
    return [piece for piece in pieces if len(piece.s) and len(piece.t)]


def _spread(values: np.ndarray, parts: int) -> np.ndarray:
    """A piece for each value, scattered: neighbouring values are often alike in size."""
    scattered = (values.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(40)
    return (scattered % np.uint64(parts)).astype(np.int32)


def _by_ranges(rule: Compiled, parts: int) -> list[Compiled]:
    if parts < 2 or not rule.inequalities:
        return [rule]
    by = max(rule.inequalities, key=lambda c: c.columns.width)
    a, b = coordinates(by, rule.s, rule.t)
    bounds = np.unique(np.quantile(np.concatenate((a, b)), np.arange(1, parts) / parts, method="lower"))
    s_range, t_range = np.searchsorted(bounds, a, side="right"), np.searchsorted(bounds, b, side="right")
    s_rows, t_rows = [rule.s[s_range == i] for i in range(len(bounds) + 1)], [rule.t[t_range == i] for i in range(len(bounds) + 1)]
    rest = tuple(c for c in rule.inequalities if c is not by)
    pieces = [_restricted(rule, s, t) for s, t in zip(s_rows, t_rows, strict=True)]
    for i, s in enumerate(s_rows):
        above = np.sort(np.concatenate([*t_rows[i + 1 :], rule.t[:0]]))
        pieces.append(replace(_restricted(rule, s, above), inequalities=rest))
    return [piece for piece in pieces if len(piece.s) and len(piece.t)]


def _restricted(rule: Compiled, s: np.ndarray, t: np.ndarray) -> Compiled:
    if len(s) == len(t) and np.array_equal(s, t):
        t = s
    return replace(rule, s=s, t=t)
