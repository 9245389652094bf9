"""Sorting integer keys of few bits: codes are dense, so keys packed from them are short."""

from __future__ import annotations

from typing import Any

import numpy as np

from rowlaw.kernels.arrays import Int32Array, UintArray
from rowlaw.kernels.compiling import njit

DIGIT = 11  # bits a pass: 2,048 counters stay in the first-level cache
_RADIX = 1 << DIGIT
_LARGE = 1 << 21  # keys that leave the cache: they are dealt out to parts first, which do not
PART = 8  # bits by which they are dealt out


@njit(cache=True, nogil=True)
def _passes(keys: UintArray, keys_out: UintArray, order: Int32Array, order_out: Int32Array, bits: int) -> bool:
    """Sort by digits, the least significant first; a pass whose digit is the same in all keys is left out.

    ``keys`` and ``keys_out``: ``uint32`` or ``uint64[n]``, ``order`` and ``order_out``: ``int32[n]``; all are
    written. Returns whether the result is in the second of each.
    """
    n = len(keys)
    passes = (bits + DIGIT - 1) // DIGIT
    counts = np.zeros((max(passes, 1), _RADIX), np.int32)
    mask = keys.dtype.type(_RADIX - 1)
    for i in range(n):
        key = keys[i]
        for p in range(passes):
            counts[p, np.int64((key >> keys.dtype.type(p * DIGIT)) & mask)] += np.int32(1)
    moved = False
    for p in range(passes):
        shift = keys.dtype.type(p * DIGIT)
        if n == 0 or counts[p, np.int64((keys[0] >> shift) & mask)] == n:
            continue
        total = np.int32(0)
        for d in range(_RADIX):
            count = counts[p, d]
            counts[p, d] = total
            total += count
        for i in range(n):
            key = keys[i]
            digit = np.int64((key >> shift) & mask)
            place = counts[p, digit]
            counts[p, digit] = place + np.int32(1)
            keys_out[place] = key
            order_out[place] = order[i]
        keys, keys_out = keys_out, keys
        order, order_out = order_out, order
        moved = not moved
    return moved


@njit(cache=True, nogil=True)
def _sort(keys: UintArray, keys_out: UintArray, order: Int32Array, order_out: Int32Array, bits: int, large: int) -> Any:
    """Sort keys. Returns the sorted keys and where each came from, which are two of the arrays.

    ``keys`` and ``keys_out``: ``uint32`` or ``uint64[n]``, ``order`` and ``order_out``: ``int32[n]``; all are
    written, and of ``keys`` only the values before matter.
    """
    n = len(keys)
    for i in range(n):
        order[i] = i
    if n <= large or bits <= PART:
        return (keys_out, order_out) if _passes(keys, keys_out, order, order_out, bits) else (keys, order)
    rest = bits - PART
    shift = keys.dtype.type(rest)
    starts = np.zeros((1 << PART) + 1, np.int64)
    for i in range(n):
        starts[np.int64(keys[i] >> shift) + 1] += 1
    for part in range(1 << PART):
        starts[part + 1] += starts[part]
    place = starts.copy()
    for i in range(n):
        high = np.int64(keys[i] >> shift)
        keys_out[place[high]], order_out[place[high]] = keys[i], order[i]
        place[high] += 1
    for part in range(1 << PART):
        a, b = starts[part], starts[part + 1]
        # the lower bits of a part's keys are all that differs: what is above them is the same and does no harm
        if b - a > 1 and _passes(keys_out[a:b], keys[a:b], order_out[a:b], order[a:b], rest):
            for i in range(a, b):  # one by one: assigning slices takes the compiler two seconds more
                keys_out[i], order_out[i] = keys[i], order[i]
    return keys_out, order_out


def sort_keys(keys: np.ndarray, bits: int, large: int = _LARGE) -> Any:
    """The keys (unsigned, below ``2**bits``) in order, and where each came from. Stable; ``O(n * bits / 11)``.

    Uses the array of keys as room to work in: it is worth nothing afterwards.
    """
    # made here, because NumPy asks the system for huge pages and Numba does not: scattered writes are twice as fast
    room = np.empty_like(keys), np.empty(len(keys), np.int32), np.empty(len(keys), np.int32)
    return _sort(keys, *room, bits, large)


def sorted_distinct(numbers: np.ndarray) -> np.ndarray:
    """Return each of some integers once, in order. ``np.unique`` hashes them, which takes 45 times as long for a
    million that differ.

    >>> sorted_distinct(np.array([3, 1, 3])).tolist(), sorted_distinct(np.zeros(0, np.int32)).tolist()
    ([1, 3], [])
    """
    numbers = np.sort(numbers, axis=None)
    first = np.ones(len(numbers), np.bool_)
    np.not_equal(numbers[1:], numbers[:-1], out=first[1:])
    return numbers[first]
