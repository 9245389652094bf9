"""Signatures of pairs of rows, and the hash table that counts them.

A *signature* holds the code of an outcome (two bits, :mod:`rowlaw.rules.outcomes`) for each slot; 32 slots to a
``uint64``. A *table* of signatures is an open-addressing hash table, ``uint64[capacity, words + 1]``, whose last column
counts (0: the position is free).

Other kernels have hash tables of their own, because their entries are something else: numbers of rows that are compared
by their cells (``links.py``, ``folded.py``), positions of entries beside several arrays (``upkeep.py``,
``differences.py``) and single keys (``kinds.py``). One function that is given how to compare is not inlined by Numba:
adding takes half as long again.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rowlaw.kernels.arrays import BoolArray, Int32Array, Int64Array, Uint64Array
from rowlaw.kernels.compiling import njit
from rowlaw.rules.outcomes import (
    CODE_BITS,
    CODE_MASK,
    DIFFERENT_CODE,
    EQUAL_CODE,
    HIGHER_CODE,
    LOWER_CODE,
    UNKNOWN_CODE,
)

SLOTS = 32  # slots to a word of a signature

_u64 = np.uint64
_MIX = _u64(0x9E3779B97F4A7C15)


@njit(cache=True, nogil=True)
def new_table(capacity: int, words: int) -> Uint64Array:
    """Make an empty table of signatures: ``uint64[capacity, words + 1]``; the capacity is a power of two."""
    return np.zeros((capacity, words + 1), np.uint64)


@njit(cache=True, nogil=True)
def grown(table: Uint64Array) -> Uint64Array:
    """Copy a table (``table``: ``uint64[capacity, words + 1]``) to one of twice its capacity."""
    words = table.shape[1] - 1
    larger = np.zeros((2 * len(table), words + 1), np.uint64)
    for i in range(len(table)):
        if table[i, words]:
            add(larger, table[i], table[i, words])
    return larger


@njit(cache=True, nogil=True)
def add(table: Uint64Array, signature: Uint64Array, count: np.uint64) -> int:
    """Count a signature. Returns 1 if it is new, else 0. The table must have a free position.

    ``table``: ``uint64[capacity, words + 1]``, written. ``signature``: ``uint64[words]``, or longer.
    """
    words = table.shape[1] - 1
    h = _u64(0)
    for w in range(words):
        h = (h ^ (h >> _u64(29)) ^ signature[w]) * _MIX
    mask = np.int64(len(table) - 1)
    i = np.int64(h >> _u64(32)) & mask
    while table[i, words]:
        same = True
        for w in range(words):
            same &= table[i, w] == signature[w]
        if same:
            table[i, words] += count
            return 0
        i = (i + 1) & mask
    for w in range(words):
        table[i, w] = signature[w]
    table[i, words] = count
    return 1


@njit(cache=True, nogil=True)
def entries(table: Uint64Array, used: int) -> Any:
    """List the signatures of a table (``uint64[used, words]``) and their counts (``int64[used]``), in no order.

    ``table``: ``uint64[capacity, words + 1]``.
    """
    words = table.shape[1] - 1
    signatures, counts = np.empty((used, words), np.uint64), np.empty(used, np.int64)
    n = 0
    for i in range(len(table)):
        if table[i, words]:
            for w in range(words):
                signatures[n, w] = table[i, w]
            counts[n] = np.int64(table[i, words])
            n += 1
    return signatures, counts


@njit(cache=True, nogil=True)
def signatures_of(
    columns: Int32Array,
    left: Int64Array,
    right: Int64Array,
    ordered: BoolArray,
    nulls: bool,
    s_rows: Int64Array,
    t_rows: Int64Array,
    out: Uint64Array,
) -> None:
    """Write the signatures of given pairs of rows.

    ``columns``: ``int32[columns, rows]``. ``left``, ``right``: ``int64[slots]``, the columns compared. ``ordered``:
    ``bool[slots]``. ``s_rows``, ``t_rows``: ``int64[pairs]``. ``out``: ``uint64[pairs, words]``, 0 before, written.
    """
    for c in range(len(left)):
        a, b = columns[left[c]], columns[right[c]]
        greater = _u64(HIGHER_CODE) if ordered[c] else _u64(DIFFERENT_CODE)
        shift, word = _u64(CODE_BITS * (c % SLOTS)), c // SLOTS
        for i in range(len(s_rows)):
            x, y = a[s_rows[i]], b[t_rows[i]]
            bits = _u64(EQUAL_CODE)
            if nulls and (x < 0 or y < 0):
                bits = _u64(UNKNOWN_CODE)
            elif x < y:
                bits = _u64(LOWER_CODE)
            elif x > y:
                bits = greater
            out[i, word] |= bits << shift


@njit(cache=True, nogil=True)
def reversed_signature(signature: Uint64Array, mirror: Int64Array, swapped: BoolArray, out: Uint64Array) -> None:
    """Write the signature with ``s`` and ``t`` exchanged.

    ``signature``: ``uint64[words]``. ``mirror``: ``int64[slots]``, the slot that each becomes. ``swapped``:
    ``bool[slots]``, whether the two bits of its code change places (see :class:`rowlaw.rules.outcomes.Outcome`).
    ``out``: ``uint64[words]``, written.
    """
    for w in range(len(out)):
        out[w] = _u64(0)
    for c in range(len(mirror)):
        m = mirror[c]
        bits = signature[m // SLOTS] >> _u64(CODE_BITS * (m % SLOTS)) & _u64(CODE_MASK)
        if swapped[c]:
            bits = bits >> _u64(1) | (bits & _u64(1)) << _u64(1)
        out[c // SLOTS] |= bits << _u64(CODE_BITS * (c % SLOTS))


@njit(cache=True, nogil=True)
def reverse(signatures: Uint64Array, mirror: Int64Array, swapped: BoolArray, out: Uint64Array) -> None:
    """Write signatures with ``s`` and ``t`` exchanged.

    ``signatures``, ``out`` (written): ``uint64[n, words]``. ``mirror``: ``int64[slots]``, ``swapped``:
    ``bool[slots]``, as in :func:`reversed_signature`.
    """
    for i in range(len(signatures)):
        reversed_signature(signatures[i], mirror, swapped, out[i])
