"""Chains: rows in an order in which two values both rise. IncDC's indexes for two inequalities (sections 5 and 6), as
sorted arrays.

A row is a point ``(x, y)``, turned so that both coordinates rise along a chain. Points lie chain after chain,
``starts`` says where chains begin.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rowlaw.kernels.arrays import Int64Array
from rowlaw.kernels.compiling import njit


@njit(cache=True, nogil=True)
def deal(y: Int64Array, strict: bool, chains: Int64Array) -> int:
    """Give each point to the chain whose last point is nearest below it, and count the chains: OptIndex. ``O(n log
    k)``.

    ``y``: ``int64[points]``, in order of ``x``; among equal ``x``, those that must not follow each other come with
    falling ``y``. ``chains``: ``int64[points]``, written. The last points of chains fall from chain to chain, so
    the nearest is found by bisection.
    """
    k = 0
    last = np.empty(len(y), np.int64)
    for i in range(len(y)):
        low, high = 0, k
        while low < high:
            mid = (low + high) // 2
            if last[mid] < y[i] or (not strict and last[mid] == y[i]):
                high = mid
            else:
                low = mid + 1
        k = max(k, low + 1)
        chains[i], last[low] = low, y[i]
    return k


@njit(cache=True, nogil=True)
def _bisect(values: Int64Array, low: int, high: int, value: int, above: bool) -> int:
    """Find the first position in ``low .. high`` whose value is at least ``value`` (``above``: more than it).
    ``values``: ``int64[n]``."""
    while low < high:
        mid = (low + high) // 2
        if values[mid] < value or (above and values[mid] == value):
            low = mid + 1
        else:
            high = mid
    return low


@njit(cache=True, nogil=True)
def fetch(
    x: Int64Array,
    y: Int64Array,
    rows: Int64Array,
    starts: Int64Array,
    points: Int64Array,
    above: np.ndarray,
    weak: np.ndarray,
    begin: Int64Array,
    out: Int64Array,
) -> int:
    """List for points the rows that are above them in ``x`` (``above[0]``; else below) and in ``y``; ``weak``: or
    equal.

    ``x``, ``y``: ``int64[points]``, ``starts``: ``int64[chains + 1]``, the chains. ``rows``: ``int64[points]``.
    ``points``: ``int64[n, 2]``. ``above``, ``weak``: booleans ``[2]``, arrays or tuples. ``begin``: ``int64[2]``,
    the point and chain to go on with, written. ``out``: ``int64[capacity, 2]``, written: number of the point, row.
    Returns how many pairs there are; ``out`` must have capacity for the longest chain. On each chain the rows
    wanted lie together: at its end, at its beginning, or, where one is to be above and the other below, between two
    positions (section 6.2).
    """
    n = 0
    while begin[0] < len(points):
        i = begin[0]
        while begin[1] < len(starts) - 1:
            c = begin[1]
            first, last = starts[c], starts[c + 1]
            p = _bisect(x, first, last, points[i, 0], above[0] != weak[0])
            q = _bisect(y, first, last, points[i, 1], above[1] != weak[1])
            low = max(p if above[0] else first, q if above[1] else first)
            high = min(last if above[0] else p, last if above[1] else q)
            if high > low and n + high - low > len(out):
                return n  # there is room for the longest chain, so something was found
            for k in range(low, high):
                out[n, 0], out[n, 1] = i, rows[k]
                n += 1
            begin[1] = c + 1
        begin[0], begin[1] = i + 1, 0
    return n


@njit(cache=True, nogil=True)
def place(x: Int64Array, y: Int64Array, starts: Int64Array, px: int, py: int, strict_x: bool, strict_y: bool) -> Any:
    """Find the longest chain that a point fits into, and where (section 6.3); chain -1 if there is none.

    ``x``, ``y``: ``int64[points]``, ``starts``: ``int64[chains + 1]``, the chains. Where an equal point stands
    already, it goes there.
    """
    best, at, size = -1, 0, -1
    for c in range(len(starts) - 1):
        first, last = starts[c], starts[c + 1]
        p, p_end = _bisect(x, first, last, px, False), _bisect(x, first, last, px, True)
        q, q_end = _bisect(y, first, last, py, False), _bisect(y, first, last, py, True)
        low, high = max(p, q), min(p_end, q_end)
        if low < high:
            return c, low
        if (strict_x and p != p_end) or (strict_y and q != q_end):
            continue  # among equals there is no room for a strict order
        if low <= high and last - first > size:
            best, at, size = c, low, last - first
    return best, at
