"""Pairs of rows given one by one, as samples are.

A row is *packed* into few words, a field for each slot: the code, a guard bit above it, and above that a bit for null
where null is unknown. One subtraction compares all fields of a word: a guard bit survives it where the minuend is not
below. The surviving bits are the *key* of a pair (``KEY`` in :mod:`rowlaw.rules.outcomes`), as good as a signature (see
:mod:`rowlaw.kernels.signatures`) and quicker to come by.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rowlaw.kernels.arrays import BoolArray, Int32Array, Int64Array, Uint64Array
from rowlaw.kernels.compiling import njit
from rowlaw.kernels.signatures import SLOTS, add, grown, reversed_signature
from rowlaw.rules.outcomes import CODE_BITS, DIFFERENT_CODE, HIGHER_CODE, LOWER_CODE, NULL, UNKNOWN_CODE

_u64 = np.uint64
_MIX = _u64(0x9E3779B97F4A7C15)


@njit(cache=True, nogil=True)
def pack(codes: Int32Array, shift: np.uint64, null: np.uint64, out: Uint64Array) -> None:
    """Add a field to a word of every row; ``null`` is the bit for null, or 0.

    ``codes``: ``int32[rows]``. ``out``: ``uint64[rows]``, written.
    """
    for i in range(len(codes)):
        out[i] |= _u64(codes[i] + 1) << shift
        if codes[i] < 0:
            out[i] |= null


@njit(cache=True, nogil=True)
def signatures_from(
    keys: Uint64Array, word: Int64Array, guard: Int64Array, ordered: BoolArray, nullable: np.ndarray, out: Uint64Array
) -> None:
    """Write the signatures that keys stand for.

    ``keys``: ``uint64[n, key words]``. ``word``, ``guard``: ``int64[slots]``, where the guard bit of each slot is.
    ``ordered``: ``bool[slots]``. ``nullable``: integers ``[slots]``, not 0 where the slot has a bit for null.
    ``out``: ``uint64[n, words]``, written.
    """
    out[:] = _u64(0)
    for i in range(len(keys)):
        for c in range(len(word)):
            bits = keys[i, word[c]] >> _u64(guard[c] - 1)
            s_below, t_below = ~bits & _u64(1), ~bits >> _u64(1) & _u64(1)
            outcome = (
                s_below * _u64(LOWER_CODE) | t_below * _u64(HIGHER_CODE)
                if ordered[c]
                else t_below * _u64(DIFFERENT_CODE)
            )
            if nullable[c] and bits & _u64(NULL):
                outcome = _u64(UNKNOWN_CODE)
            out[i, c // SLOTS] |= outcome << _u64(CODE_BITS * (c % SLOTS))


@njit(cache=True, nogil=True)
def note(
    found: Uint64Array, used: int, signatures: Uint64Array, mirror: Int64Array, swapped: BoolArray, mark: np.uint64
) -> Any:
    """Add signatures and their reverses to a table, counting ``mark`` for those that are new. Returns the table and
    its entries.

    ``found``: ``uint64[capacity, words + 1]``, written. ``signatures``: ``uint64[n, words]``. ``mirror``:
    ``int64[slots]``, ``swapped``: ``bool[slots]``, as in :func:`rowlaw.kernels.signatures.reversed_signature`.
    """
    other = np.empty(signatures.shape[1], np.uint64)
    for i in range(len(signatures)):
        if 2 * (used + 2) > len(found):
            found = grown(found)
        reversed_signature(signatures[i], mirror, swapped, other)
        for signature in (signatures[i], other):
            if add(found, signature, _u64(0)):
                used += add(found, signature, mark)
    return found, used


@njit(cache=True, nogil=True)
def count_pairs(
    packed: Uint64Array, right: int, masks: Any, s_rows: Int32Array, t_rows: Int32Array, table: Uint64Array, used: int
) -> Any:
    """Count the keys of given pairs of packed rows, except of a row with itself.

    ``packed``: ``uint64[rows, words]``; what a row brings as ``t`` begins at the word ``right``. ``masks``: three
    arrays ``uint64[key words]``: guard bits, those of ordered slots, bits for null. ``s_rows``, ``t_rows``:
    ``int32[pairs]``. ``table``: ``uint64[capacity, key words + 1]``, written. Returns the table, its entries, the
    new keys (``uint64[n, key words]``), and how many pairs were compared.
    """
    guards, ordered, nulls = masks
    words = len(guards)
    key = np.zeros(words, np.uint64)
    new = np.empty((len(s_rows), words), np.uint64)
    compared, fresh = 0, 0
    for i in range(len(s_rows)):
        s, t = np.int64(s_rows[i]), np.int64(t_rows[i])
        if s == t:
            continue
        compared += 1
        for w in range(words):
            a, b = packed[s, w], packed[t, right + w]
            unknown = (a | b) & nulls[w]
            known = guards[w] & ~(unknown >> _u64(1))
            a, b = a & ~nulls[w], b & ~nulls[w]
            t_not_below = ((b | guards[w]) - a) & known
            s_not_below = ((a | guards[w]) - b) & known
            key[w] = (t_not_below & (s_not_below | ordered[w])) | (s_not_below & ordered[w]) >> _u64(1) | unknown
        if add(table, key, _u64(1)):
            new[fresh] = key
            fresh += 1
            used += 1
            if 2 * (used + 1) > len(table):
                table = grown(table)
    return table, used, new[:fresh], compared


@njit(cache=True, nogil=True)
def sort_by(
    packed: Uint64Array, word: int, shift: np.uint64, mask: np.uint64, starts: Int32Array, out: Uint64Array
) -> None:
    """Write packed rows in order of a field, equal ones as they stood.

    ``packed``, ``out`` (written): ``uint64[rows, words]``. ``starts``: ``int32[values + 1]``, where each value of
    the field begins.
    """
    place = starts.copy()
    for i in range(len(packed)):
        at = place[np.int64(packed[i, word] >> shift & mask)]
        place[np.int64(packed[i, word] >> shift & mask)] = at + np.int32(1)
        for w in range(packed.shape[1]):
            out[at, w] = packed[i, w]


@njit(cache=True, nogil=True)
def _random(seed: np.uint64, i: int, below: np.int64) -> np.int64:
    """Give a number in ``0 .. below - 1``: splitmix64."""
    x = seed + _u64(i) * _MIX
    x = (x ^ (x >> _u64(30))) * _u64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> _u64(27))) * _u64(0x94D049BB133111EB)
    x ^= x >> _u64(31)
    return np.int64(((x >> _u64(32)) * _u64(below)) >> _u64(32))


@njit(cache=True, nogil=True)
def draw(
    field: Uint64Array,
    order: Int32Array,
    starts: Int32Array,
    strategy: int,
    rows: Int32Array,
    seed: np.uint64,
    out: Int32Array,
) -> None:
    """Draw for each of ``rows`` a random partner: 0 of equal, 1 of another, 2 of a lower, 3 of a higher value;
    itself if there is none.

    ``field``: ``uint64[all rows]``, the value of each row. ``order``: ``int32[all rows]``, by value, and
    ``starts``: ``int32[values + 1]``, where each value begins. ``rows``, ``out`` (written): ``int32[n]``.
    """
    n = len(order)
    for i in range(len(rows)):
        value = np.int64(field[rows[i]])
        low, high = np.int64(starts[value]), np.int64(starts[value + 1])
        at, number = high, n - high
        if strategy == 0:
            at, number = low, high - low
        elif strategy == 1:
            number = n - (high - low)  # those after, then round to those before
        elif strategy == 2:
            at, number = np.int64(0), low
        out[i] = order[(at + _random(seed, i, number)) % n] if number else rows[i]
