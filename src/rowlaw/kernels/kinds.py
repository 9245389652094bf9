"""Rows by kind: rows with the same key are one thing that occurs so many times.

A *key* is made of a group, a digit ``x`` and a digit ``y``, the last in the lowest place.
"""

from __future__ import annotations

import numpy as np

from rowlaw.kernels.arrays import Int32Array, Int64Array, UintArray
from rowlaw.kernels.compiling import njit

_u64 = np.uint64
_MIX = _u64(0x9E3779B97F4A7C15)
_FIRST = 1 << 12  # places of a new table
_ROOM = 3  # places of the table for each kind, at least


@njit(cache=True, nogil=True)
def _start(key: np.unsignedinteger, mask: np.int64) -> np.int64:
    """Give the first position of a key in a hash table."""
    return np.int64((_u64(key) * _MIX) >> _u64(32)) & mask


@njit(cache=True, nogil=True)
def number_kinds(keys: UintArray, kinds: UintArray, weights: Int32Array, numbers: Int32Array) -> int:
    """Number the kinds of rows in the order in which they come. Returns how many there are, or one more than fit.

    ``keys``: ``uint32`` or ``uint64[rows]``. Written: ``kinds`` (the type of the keys, ``[capacity]``: the key of
    each kind), ``weights`` (``int32[capacity]``: its rows) and ``numbers`` (``int32[rows]``: the kind of each row).
    Stops when ``kinds`` is full.
    """
    table = np.zeros(_FIRST, np.int32)
    mask = np.int64(_FIRST - 1)
    used = 0
    for i in range(len(keys)):
        key = keys[i]
        at = _start(key, mask)
        k = np.int64(table[at]) - 1
        while k >= 0 and kinds[k] != key:
            at = (at + 1) & mask
            k = np.int64(table[at]) - 1
        if k < 0:
            if used == len(kinds):
                return used + 1
            k = np.int64(used)
            kinds[k], weights[k] = key, 0
            used += 1
            table[at] = used
            if _ROOM * used > len(table):
                table = np.zeros(2 * len(table), np.int32)
                mask = np.int64(len(table) - 1)
                for j in range(used):
                    at = _start(kinds[j], mask)
                    while table[at]:
                        at = (at + 1) & mask
                    table[at] = j + 1
        weights[k] += 1
        numbers[i] = k
    return used


@njit(cache=True, nogil=True)
def _up_to(tree: Int64Array, place: np.int64) -> np.int64:
    """Add up the first values of a Fenwick tree (``tree``: ``int64[width + 1]``)."""
    total = np.int64(0)
    while place > 0:
        total += tree[place]
        place &= place - 1
    return total


@njit(cache=True, nogil=True)
def _pass(
    begin: int,
    end: int,
    step: int,
    x: Int64Array,
    y: Int64Array,
    weights: Int32Array,
    weak_x: bool,
    weak_y: bool,
    tree: Int64Array,
    each: Int64Array,
) -> None:
    """Walk along the kinds of a group and add to each the rows passed before it that are below it in ``y``.

    ``x``, ``y``: ``int64[kinds]``. ``weights``: ``int32[kinds]``. ``tree``: ``int64[width + 1]``, scratch space, 0
    before and after. ``each``: ``int64[kinds]``, written.
    """
    width = len(tree) - 1
    i = begin
    while i != end:
        j = i
        while j != end and x[j] == x[i]:
            j += step
        for turn in range(2):
            k = i
            while k != j:
                if (turn == 0) == weak_x:  # a weak inequality sees the kinds of its own x, a strict one does not
                    place = y[k] + 1
                    while place <= width:
                        tree[place] += weights[k]
                        place += place & -place
                else:
                    each[k] += _up_to(tree, y[k] + np.int64(weak_y))
                k += step
        i = j
    i = begin
    while i != end:
        place = y[i] + 1
        while place <= width:
            tree[place] = 0
            place += place & -place
        i += step


@njit(cache=True, nogil=True)
def pairs_of_kinds(
    kinds: UintArray, weights: Int32Array, x_width: int, y_width: int, weak_x: bool, weak_y: bool, each: Int64Array
) -> np.int64:
    """Count the pairs ``(s, t)`` of each group with ``s`` below ``t`` in ``x`` and in ``y`` (``weak``: or equal).
    ``O(k log y_width)``.

    ``kinds``: ``uint32`` or ``uint64[kinds]``, sorted. ``weights``: ``int32[kinds]``. ``each``: ``int64[kinds]``,
    written: the pairs that a row of each kind takes part in. A Fenwick tree, forward for the rows below a kind and
    backward for those above it.
    """
    n = len(kinds)
    x, y, group = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    for i in range(n):
        rest = _u64(kinds[i]) // _u64(y_width)
        y[i] = np.int64(_u64(kinds[i]) - rest * _u64(y_width))
        x[i] = np.int64(rest % _u64(x_width))
        group[i] = np.int64(rest // _u64(x_width))
    turned = (y_width - 1) - y
    tree = np.zeros(y_width + 1, np.int64)
    each[:] = 0
    begin = 0
    while begin < n:
        end = begin + 1
        while end < n and group[end] == group[begin]:
            end += 1
        _pass(begin, end, 1, x, y, weights, weak_x, weak_y, tree, each)
        _pass(end - 1, begin - 1, -1, x, turned, weights, weak_x, weak_y, tree, each)
        begin = end
    total = np.int64(0)
    for i in range(n):
        if weak_x and weak_y:
            each[i] -= 2  # the row with itself, in both roles
        total += np.int64(weights[i]) * each[i]
    return total // 2
