"""Pairs of rows given one by one, as samples are.

A row is *packed* into few words, a field for each slot: the code, a guard bit above it, and above that a bit for null where null
is unknown. One subtraction compares all fields of a word: a guard bit survives it where the minuend is not below. The surviving
bits are the *key* of a pair (``KEY`` in :mod:`rowlaw.rules.outcomes`), as good as a signature (see :mod:`rowlaw.kernels.evidence`) and
quicker to come by.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rowlaw.kernels.compiling import njit
from rowlaw.kernels.evidence import SLOTS, add, grown, reversed_signature
from rowlaw.rules.outcomes import CODE_BITS, DIFFERENT_CODE, HIGHER_CODE, LOWER_CODE, NULL, UNKNOWN_CODE

_u64 = np.uint64
_MIX = _u64(0x9E3779B97F4A7C15)


@njit(cache=True, nogil=True)
def pack(codes: Any, shift: Any, null: Any, out: Any) -> None:
    """Add a field to a word of every row; ``null`` is the bit for null, if there is one."""
    for i in range(len(codes)):
        out[i] |= _u64(codes[i] + 1) << shift
        if codes[i] < 0:
            out[i] |= null


@njit(cache=True, nogil=True)
def signatures_from(keys: Any, word: Any, guard: Any, ordered: Any, nullable: Any, out: Any) -> None:
    """The signatures that keys stand for; ``word`` and ``guard`` say where the guard bit of each slot is."""
    out[:] = _u64(0)
    for i in range(len(keys)):
        for c in range(len(word)):
            bits = keys[i, word[c]] >> _u64(guard[c] - 1)
            s_below, t_below = ~bits & _u64(1), ~bits >> _u64(1) & _u64(1)
            outcome = s_below * _u64(LOWER_CODE) | t_below * _u64(HIGHER_CODE) if ordered[c] else t_below * _u64(DIFFERENT_CODE)
            if nullable[c] and bits & _u64(NULL):
                outcome = _u64(UNKNOWN_CODE)
            out[i, c // SLOTS] |= outcome << _u64(CODE_BITS * (c % SLOTS))


@njit(cache=True, nogil=True)
def note(found: Any, used: int, signatures: Any, mirror: Any, swapped: Any, mark: Any) -> Any:
    """Add signatures and their reverses to the table ``found``, counting ``mark`` for those that are new."""
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
def count_pairs(packed: Any, right: int, masks: Any, s_rows: Any, t_rows: Any, table: Any, used: int) -> Any:
    """Count the keys of given pairs of packed rows, except of a row with itself. The table, its entries, new keys, pairs compared.

    What a row brings as ``t`` begins at the word ``right``.
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
def sort_by(packed: Any, word: int, shift: Any, mask: Any, starts: Any, out: Any) -> None:
    """Packed rows in order of a field, equal ones as they stood; ``starts`` is where each value begins."""
    place = starts.copy()
    for i in range(len(packed)):
        at = place[np.int64(packed[i, word] >> shift & mask)]
        place[np.int64(packed[i, word] >> shift & mask)] = at + np.int32(1)
        for w in range(packed.shape[1]):
            out[at, w] = packed[i, w]


@njit(cache=True, nogil=True)
def _random(seed: Any, i: int, below: Any) -> Any:
    """A number in ``0 .. below - 1``: splitmix64."""
    x = seed + _u64(i) * _MIX
    x = (x ^ (x >> _u64(30))) * _u64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> _u64(27))) * _u64(0x94D049BB133111EB)
    x ^= x >> _u64(31)
    return np.int64(((x >> _u64(32)) * _u64(below)) >> _u64(32))


@njit(cache=True, nogil=True)
def draw(field: Any, order: Any, starts: Any, strategy: int, rows: Any, seed: Any, out: Any) -> None:
    """For each of ``rows`` a random partner: 0 of equal, 1 of another, 2 of a lower, 3 of a higher value; itself if there is none."""
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
