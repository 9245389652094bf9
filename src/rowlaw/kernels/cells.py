"""Counting pairs by cells: a counter for each possible key, instead of groups of sorted keys."""

from __future__ import annotations

import numpy as np

from rowlaw.kernels.arrays import Int32Array, Int64Array, Uint32Array, UintArray
from rowlaw.kernels.compiling import njit


@njit(cache=True, nogil=True)
def cell_counts(keys: UintArray, counts: Uint32Array) -> None:
    """Count how often each key occurs.

    ``keys``: ``uint32`` or ``uint64[positions]``. ``counts``: ``uint32[possible keys]``, written.
    """
    for i in range(len(keys)):
        counts[keys[i]] += 1


@njit(cache=True, nogil=True)
def sum_products(cells: Uint32Array, each: Uint32Array) -> np.int64:
    """Add up the rows of each cell times the pairs of each of its rows.

    ``cells``, ``each``: ``uint32[cells]``.
    """
    total = np.int64(0)
    for i in range(len(cells)):
        if cells[i]:
            total += np.int64(cells[i]) * np.int64(each[i])
    return total


@njit(cache=True, nogil=True)
def first_codes(
    keys: UintArray,
    rows: Int32Array,
    codes: Int32Array,
    first: Int32Array,
    sizes: Int32Array,
    like: Int32Array,
    odd: Int32Array,
) -> int:
    """Find for each key the code of its first row, its rows, and those of them with another code. Returns how many
    these are.

    ``keys``: ``uint32`` or ``uint64[positions]``. ``rows``: ``int32[positions]``. ``codes``: ``int32[rows of the
    table]``. Written: ``first`` (``int32[possible keys]``, -2 before), ``sizes`` and ``like`` (``int32[possible
    keys]``, 0 before: the rows of a key, and those with its first code) and ``odd`` (``int32[capacity]``: the
    positions of the others). Stops when ``odd`` is full, and returns one more than fits.
    """
    n = 0
    for i in range(len(keys)):
        key, code = keys[i], codes[rows[i]]
        sizes[key] += 1
        if first[key] == -2:
            first[key] = code
        if first[key] == code:
            like[key] += 1
        else:
            if n == len(odd):
                return n + 1
            odd[n] = i
            n += 1
    return n


@njit(cache=True, nogil=True)
def count_exceptions(
    keys: UintArray,
    rows: Int32Array,
    codes: Int32Array,
    first: Int32Array,
    sizes: Int32Array,
    like: Int32Array,
    odd: Int32Array,
    runs: Int64Array,
    per_row: Uint32Array,
) -> np.int64:
    """Count the pairs of equal keys and different codes, from what :func:`first_codes` wrote.

    ``keys``: ``uint32`` or ``uint64[positions]``. ``rows``: ``int32[positions]``. ``codes``: ``int32[rows of the
    table]``. ``first``, ``sizes``, ``like``: ``int32[possible keys]``. ``odd``: ``int32[odd rows]``, and ``runs``:
    ``int64[odd rows]``, how many rows have the key and code of each. ``per_row``: ``uint32[rows of the table]``,
    written, or of length 0: the pairs of each row, in both roles.
    """
    total = np.int64(0)
    for key in range(len(sizes)):
        total += np.int64(like[key]) * np.int64(sizes[key] - like[key])
    for k in range(len(odd)):
        total += np.int64(sizes[keys[odd[k]]] - runs[k])
    if len(per_row):
        for i in range(len(keys)):
            key = keys[i]
            if like[key] < sizes[key] and codes[rows[i]] == first[key]:
                per_row[rows[i]] += 2 * (sizes[key] - like[key])
        for k in range(len(odd)):
            per_row[rows[odd[k]]] += 2 * (sizes[keys[odd[k]]] - runs[k])
    return total


@njit(cache=True, nogil=True)
def take_cells(keys: np.ndarray, cells: Uint32Array, rows: Int32Array, out: Uint32Array) -> None:
    """Write the value of its cell for each row.

    ``keys``: ``uint32``, ``uint64`` or ``int32[positions]``. ``cells``: ``uint32[possible keys]``. ``rows``:
    ``int32[positions]``. ``out``: ``uint32[rows of the table]``, written.
    """
    for i in range(len(keys)):
        out[rows[i]] = cells[keys[i]]
