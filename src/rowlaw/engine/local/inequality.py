"""Refining groups of pairs by inequalities: hash-sort-merge, the same with bins, and IEJoin (FACET section 5.3).

FACET keeps rows in hash tables and compressed bitmaps. Here a side is sorted once by the code it is compared by, and
"all rows above this value" is the end of an array: no union is ever formed. What remains of the bitmaps is that of
IEJoin, which grows while a group is worked through. Plans use these algorithms only on request: dividing
(``division.py``) is faster.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rowlaw.engine.local.compile import Comparison
from rowlaw.kernels import groups as group_kernels
from rowlaw.kernels import pairs as kernels
from rowlaw.relation.groups import Groups, Side, Sorted
from rowlaw.rules.model import Op

_BINS = 500  # of BHSM; FACET section 6.2, and best of 20, 500 and 5,000 in benchmarks/listing.py
BATCH = 1 << 18  # rows of one side handed on at a time: bounds the memory of every stage

_INT32_WIDTH = 1 << 28  # wider columns do not fit 32 bits once a coordinate has been doubled twice


def descending(op: Op) -> bool:
    return op in (Op.GT, Op.GE)


def coordinates(c: Comparison, s: np.ndarray, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Integers ``a`` for the ``s`` rows and ``b`` for the ``t`` rows such that the inequality is ``a < b``."""
    wide = np.int32 if c.columns.width < _INT32_WIDTH else np.int64
    a, b = c.columns.left[s].astype(wide) + 1, c.columns.right[t].astype(wide) + 1
    if descending(c.op):
        a, b = c.columns.width - a, c.columns.width - b
    return 2 * a, 2 * b + (1 if c.op & Op.EQ else 0)


def hsm(groups: Groups, c: Comparison, batch: int = BATCH) -> Iterator[Groups]:
    """Hash-sort-merge: each value of ``s`` with all greater ones of ``t``."""
    arranged = groups.arranged(c.columns, descending=descending(c.op))
    yield from _cut(arranged, *coordinates(c, arranged.s.rows, arranged.t.rows), batch)


def bhsm(groups: Groups, c: Comparison, batch: int = BATCH, bins: int = _BINS) -> Iterator[Groups]:
    """The same by ranges of values first: few, dense groups; only pairs within a range are looked at value by value."""
    arranged = groups.arranged(c.columns, descending=descending(c.op))
    a, b = coordinates(c, arranged.s.rows, arranged.t.rows)
    span = 2 * c.columns.width + 2
    binned_a, binned_b = a.astype(np.int64) * bins // span, b.astype(np.int64) * bins // span
    yield from _cut(arranged, binned_a, binned_b, batch)
    s_keys, t_keys = _group_keys(arranged.s, binned_a, bins), _group_keys(arranged.t, binned_b, bins)
    s, t = arranged.s.rows, arranged.t.rows
    s_rows, s_starts, t_rows, t_starts = group_kernels.matched(s_keys, _places(s), s, t_keys, _places(t), t)
    inside = Groups(Side(s_rows, s_starts), Side(t_rows, t_starts))
    yield from _cut(inside, *coordinates(c, inside.s.rows, inside.t.rows), batch)


def iejoin(groups: Groups, first: Comparison, second: Comparison, batch: int = BATCH) -> Iterator[Groups]:
    """Two inequalities in one stage."""
    arranged = groups.arranged(first.columns, descending=descending(first.op))
    s, t = arranged.s, arranged.t
    pairs = [coordinates(c, s.rows, t.rows) for c in (first, second)]
    a, b = np.stack([x for x, _ in pairs]), np.stack([y for _, y in pairs])
    _, t_order = t.sorted_by([Sorted(second.columns.right, second.columns.width, descending(second.op))])
    group, place = 0, 0
    while group < arranged.number:
        s_rows, s_ends, t_rows, t_ends, group, place = kernels.ie_join(
            s.rows, s.starts, t.rows, t.starts, a, b, t_order.astype(np.int64), group, place, batch
        )
        if len(s_ends):
            yield Groups(Side(s_rows, np.append(0, s_ends)), Side(t_rows, np.append(0, t_ends)))


def differing(groups: Groups, c: Comparison, batch: int = BATCH) -> Iterator[Groups]:
    """Refine by ``!=``: each value of ``s`` with all other ones of ``t`` (FACET section 5.2)."""
    arranged = groups.arranged(c.columns)
    s, t = arranged.s, arranged.t
    a, b = c.columns.left[s.rows], c.columns.right[t.rows]
    group, place = 0, 0
    while group < arranged.number:
        ranges, group, place = kernels.cut_unequal(s.starts, t.starts, a, b, group, place, batch)
        yield from _gathered(arranged, ranges)


def _cut(arranged: Groups, a: np.ndarray, b: np.ndarray, batch: int) -> Iterator[Groups]:
    group, place = 0, 0
    while group < arranged.number:
        ranges, group, place = kernels.cut_below(arranged.s.starts, arranged.t.starts, a, b, group, place, batch)
        yield from _gathered(arranged, ranges)


def _gathered(arranged: Groups, ranges: np.ndarray) -> Iterator[Groups]:
    if len(ranges):
        yield Groups(
            Side(*kernels.gather(ranges, arranged.s.rows, 0)), Side(*kernels.gather(ranges, arranged.t.rows, 2))
        )


def _group_keys(side: Side, binned: np.ndarray, bins: int) -> np.ndarray:
    numbers = np.zeros(len(side.rows), np.int64)
    group_kernels.group_numbers(side.starts, numbers)
    return numbers * (bins + 1) + binned


def _places(rows: np.ndarray) -> np.ndarray:
    return np.arange(len(rows), dtype=np.int32)
