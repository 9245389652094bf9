"""Sorting integer keys of few bits: codes are dense, so keys packed from them are short."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

DIGIT = 11  # bits a pass: 2,048 counters stay in the first-level cache
_RADIX = 1 << DIGIT


@njit(cache=True, nogil=True)
def _sort(keys: Any, keys_out: Any, order: Any, order_out: Any, bits: int) -> Any:
    """Least significant digit first; a pass whose digit is the same in all keys is left out."""
    n = len(keys)
    passes = (bits + DIGIT - 1) // DIGIT
    counts = np.zeros((max(passes, 1), _RADIX), np.int32)
    mask = keys.dtype.type(_RADIX - 1)
    for i in range(n):
        key = keys[i]
        for p in range(passes):
            counts[p, np.int64((key >> keys.dtype.type(p * DIGIT)) & mask)] += np.int32(1)
    for i in range(n):
        order[i] = i
    if n == 0:
        return keys, order
    keys_in = keys
    for p in range(passes):
        shift = keys.dtype.type(p * DIGIT)
        if counts[p, np.int64((keys_in[0] >> shift) & mask)] == n:
            continue
        total = np.int32(0)
        for d in range(_RADIX):
            count = counts[p, d]
            counts[p, d] = total
            total += count
        for i in range(n):
            key = keys_in[i]
            digit = np.int64((key >> shift) & mask)
            place = counts[p, digit]
            counts[p, digit] = place + np.int32(1)
            keys_out[place] = key
            order_out[place] = order[i]
        keys_in, keys_out = keys_out, keys_in
        order, order_out = order_out, order
    return keys_in, order


def sort_keys(keys: np.ndarray, bits: int) -> Any:
    """The keys (unsigned, below ``2**bits``) in order, and where each came from. Stable; ``O(n * bits / 11)``.

    Uses the array of keys as room to work in: it is worth nothing afterwards.
    """
    # made here, because NumPy asks the system for huge pages and Numba does not: scattered writes are twice as fast
    room = np.empty_like(keys), np.empty(len(keys), np.int32), np.empty(len(keys), np.int32)
    return _sort(keys, *room, bits)
