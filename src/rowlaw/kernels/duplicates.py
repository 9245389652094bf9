"""Rows that agree on sets of columns, many sets one after the other: position list intersection along a stack of
partitions.

A partition holds, group after group, the rows that agree on some columns; rows that agree with no other one are left
out. The sets come in an order in which neighbours begin with the same columns, so that a set is cut from the partition
of what it has in common with the one before it. After two or three columns of many values few rows are left, and a set
costs microseconds whatever the size of the table.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rowlaw.kernels.arrays import BoolArray, Int32Array, Int64Array
from rowlaw.kernels.compiling import njit

SMALL = 24  # rows of a group that are sorted by insertion


@njit(cache=True, nogil=True)
def _sort(keys: Int32Array, rows: Int32Array, n: int) -> None:
    """Sort ``rows[:n]`` by ``keys[:n]``. ``keys``, ``rows``: ``int32[capacity]``, both written."""
    if n > SMALL:
        order = np.argsort(keys[:n], kind="mergesort")
        keys[:n], rows[:n] = keys[:n][order], rows[:n][order]
        return
    for i in range(1, n):
        key, row, j = keys[i], rows[i], i
        while j > 0 and keys[j - 1] > key:
            keys[j], rows[j] = keys[j - 1], rows[j - 1]
            j -= 1
        keys[j], rows[j] = key, row


@njit(cache=True, nogil=True)
def _longer(array: Int32Array, need: int) -> Int32Array:
    """Give ``array`` (``int32[n]``), or a longer copy with capacity for ``need`` elements."""
    if need <= len(array):
        return array
    longer = np.empty(max(need, 2 * len(array)), array.dtype)
    longer[: len(array)] = array
    return longer


@njit(cache=True, nogil=True)
def _cut(
    cells: Int32Array,
    column: int,
    unknown: bool,
    rows: Int32Array,
    sizes: Int32Array,
    part: Int64Array,
    keys: Int32Array,
    out: Int32Array,
) -> int:
    """Cut the last partition of the stack by a column and put the result on top of it, or list pairs. Returns how
    many pairs.

    ``cells``: ``int32[rows, columns]``. Written: ``rows`` and ``sizes`` (``int32[capacity]``: the rows and group
    sizes of all partitions of the stack), and ``part`` (``int64[4]``: first row, end, first size, end of the
    partition, and then of the new one). ``keys``: ``int32[rows + 1]``, scratch space. ``out``: ``int32[limit, 2]``,
    written; if it is not of length 0, the partition is not made, and up to so many pairs are listed, each of
    another group.
    """
    first_row, end_row, first_size, end_size = part[0], part[1], part[2], part[3]
    top_row, top_size, listed, a = end_row, end_size, 0, first_row
    for g in range(first_size, end_size):
        b, n = a + sizes[g], 0
        for i in range(a, b):
            value = cells[rows[i], column]
            if not (unknown and value < 0):
                keys[n] = value
                rows[top_row + n] = rows[i]
                n += 1
        _sort(keys, rows[top_row : top_row + n], n)
        i, kept = 0, 0
        while i < n:
            j = i + 1
            while j < n and keys[j] == keys[i]:
                j += 1
            if j - i > 1:
                if len(out):
                    out[listed, 0], out[listed, 1] = rows[top_row + i + 1], rows[top_row + i]
                    listed += 1
                    if listed == len(out):
                        return listed
                else:
                    for k in range(i, j):
                        rows[top_row + kept] = rows[top_row + k]
                        kept += 1
                    sizes[top_size] = j - i
                    top_size += 1
            i = j
        top_row += kept
        a = b
    part[0], part[1], part[2], part[3] = end_row, top_row, end_size, top_size
    return listed


@njit(cache=True, nogil=True)
def agreeing(
    cells: Int32Array, alive: BoolArray, columns: Int64Array, starts: Int64Array, unknown: bool, limit: int
) -> Any:
    """Find for each set of columns pairs of living rows that agree on it.

    ``cells``: ``int32[rows, columns]``, null below 0. ``alive``: ``bool[rows]``. Set i is
    ``columns[starts[i]:starts[i + 1]]`` (both ``int64``), not empty. Returns how many pairs were found, up to
    ``limit`` (``int64[sets]``), and the pairs, set after set (``int32[n, 2]``).
    """
    every = np.flatnonzero(alive).astype(np.int32)
    rows, sizes = np.empty(3 * len(every) + 64, np.int32), np.empty(3 * len(every) + 64, np.int32)
    rows[: len(every)] = every
    sizes[0] = len(every)
    keys, out, nothing = np.empty(len(every) + 1, np.int32), np.empty((limit, 2), np.int32), np.empty((0, 2), np.int32)
    most = 1
    for i in range(len(starts) - 1):
        most = max(most, starts[i + 1] - starts[i])
    levels = np.zeros((most + 1, 4), np.int64)  # the partition by the first columns of a set, one more at each level
    levels[0, 1], levels[0, 3] = len(every), 1
    depth, path = 0, np.empty(most + 1, np.int64)
    counts, pairs, total = np.zeros(len(starts) - 1, np.int64), np.empty((64, 2), np.int32), 0
    for i in range(len(starts) - 1):
        line = columns[starts[i] : starts[i + 1]]
        common = 0
        while common < depth and common < len(line) - 1 and path[common] == line[common]:
            common += 1
        depth = common
        while depth < len(line) - 1 and levels[depth, 1] > levels[depth, 0]:
            part = levels[depth + 1]
            part[:] = levels[depth]
            size = levels[depth, 1] - levels[depth, 0]
            rows, sizes = _longer(rows, part[1] + size), _longer(sizes, part[3] + size)
            _cut(cells, line[depth], unknown, rows, sizes, part, keys, nothing)
            path[depth] = line[depth]
            depth += 1
        if levels[depth, 1] == levels[depth, 0]:
            continue
        part = levels[most].copy()
        part[:] = levels[depth]
        rows = _longer(rows, part[1] + part[1] - part[0])
        counts[i] = _cut(cells, line[depth], unknown, rows, sizes, part, keys, out)
        if total + counts[i] > len(pairs):
            larger = np.empty((2 * (total + counts[i]), 2), np.int32)
            larger[:total] = pairs[:total]
            pairs = larger
        pairs[total : total + counts[i]] = out[: counts[i]]
        total += counts[i]
    return counts, pairs[:total]
