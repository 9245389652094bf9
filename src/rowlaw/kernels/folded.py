"""Violations of a rule by rows that come and go, counted against distinct rows with weights.

The rows of a table are folded: rows with the same values in the columns that a rule compares are one *tuple* with a
weight, the count of living rows like it. Tuples are found by an open-addressing table, and linked by the values of the
columns that the rule asks to be equal: once as ``s`` and once as ``t``, because a rule may ask ``s.A = t.B``. A row
that comes or goes is compared with its group only.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rowlaw.kernels.arrays import Int32Array, Int64Array
from rowlaw.kernels.compiling import njit
from rowlaw.rules.outcomes import EQUAL_BIT, HIGHER_BIT, LOWER_BIT

_u64 = np.uint64
_MIX = _u64(0x9E3779B97F4A7C15)


class Folded(NamedTuple):
    """The arrays of a folded table, with room for more tuples; all of them are written.

    ``tuples``: ``int32[room, fields]``, labels, null below 0. ``weights``: ``int32[room]``. ``rows``: ``int32[room]``,
    a row of each tuple, or -1. ``table``: ``int32[slots]``, tuple + 1, 0 where free. ``s_table``, ``t_table``:
    ``int32[slots]``, the latest tuple + 1 of each group; ``s_next``, ``t_next``: ``int32[room]``, the tuple before it
    in its group, or -1. ``used``: ``int64[1]``, tuples in use.
    """

    tuples: np.ndarray
    weights: np.ndarray
    rows: np.ndarray
    table: np.ndarray
    s_table: np.ndarray
    s_next: np.ndarray
    t_table: np.ndarray
    t_next: np.ndarray
    used: np.ndarray


class Compared(NamedTuple):
    """What a rule compares, as fields of a tuple: field ``left[j]`` of ``s`` with ``right[j]`` of ``t``, where
    ``accepted[j]`` are the outcomes that break the rule. The first ``equal[0]`` comparisons are equalities.
    ``unknown[0]``: no comparison with null is true."""

    left: np.ndarray
    right: np.ndarray
    accepted: np.ndarray
    equal: np.ndarray
    unknown: np.ndarray


@njit(cache=True, nogil=True)
def _hash(values: Int32Array, fields: Int64Array) -> np.uint64:
    """Hash some ``fields`` (``int64[n]``) of a tuple (``values``: ``int32[fields]``)."""
    h = _u64(0)
    for f in fields:
        h = (h ^ (h >> _u64(29)) ^ _u64(np.uint32(values[f]))) * _MIX
    return h >> _u64(20)


@njit(cache=True, nogil=True)
def _same(a: Int32Array, a_fields: Int64Array, b: Int32Array, b_fields: Int64Array) -> bool:
    """Say whether fields of two tuples are equal. ``a``, ``b``: ``int32[fields]``. ``a_fields``, ``b_fields``:
    ``int64[n]``."""
    same = True
    for i in range(len(a_fields)):
        same &= a[a_fields[i]] == b[b_fields[i]]
    return same


@njit(cache=True, nogil=True)
def _place(values: Int32Array, fields: Int64Array, tuples: Int32Array, own: Int64Array, table: Int32Array) -> np.int64:
    """Find where a table has the tuple whose fields ``own`` are the given values, or a free position.

    ``values``: ``int32[fields]``, of which ``fields`` (``int64[n]``) count. ``tuples``: ``int32[capacity,
    fields]``. ``own``: ``int64[n]``. ``table``: ``int32[positions]``.
    """
    mask = np.int64(len(table) - 1)
    i = np.int64(_hash(values, fields)) & mask
    while table[i] and not _same(values, fields, tuples[table[i] - 1], own):
        i = (i + 1) & mask
    return i


@njit(cache=True, nogil=True)
def _link(
    tuples: Int32Array, k: int, fields: Int64Array, unknown: bool, table: Int32Array, following: Int32Array
) -> None:
    """Put tuple ``k`` into its group; one with a null in a field that has to be equal is in none.

    ``tuples``: ``int32[capacity, fields]``. ``fields``: ``int64[n]``. Written: ``table`` (``int32[positions]``) and
    ``following`` (``int32[capacity]``).
    """
    following[k] = -1
    if unknown:
        for f in fields:
            if tuples[k, f] < 0:
                return
    i = _place(tuples[k], fields, tuples, fields, table)
    following[k] = table[i] - 1
    table[i] = np.int32(k + 1)


@njit(cache=True, nogil=True)
def relink(folded: Folded, how: Compared, both: bool) -> None:
    """Fill the empty tables of ``folded`` with the tuples there are. ``both``: groups of ``s`` and of ``t`` differ."""
    every = np.arange(folded.tuples.shape[1])
    equal = how.equal[0]
    for k in range(folded.used[0]):
        folded.table[_place(folded.tuples[k], every, folded.tuples, every, folded.table)] = np.int32(k + 1)
        if equal:
            _link(folded.tuples, k, how.right[:equal], how.unknown[0], folded.t_table, folded.t_next)
            if both:
                _link(folded.tuples, k, how.left[:equal], how.unknown[0], folded.s_table, folded.s_next)


@njit(cache=True, nogil=True)
def insert_uncounted(given: Int32Array, rows: np.ndarray, folded: Folded, how: Compared, both: bool) -> None:
    """Add rows without counting violations. ``folded`` is written, and must have capacity for them.

    ``given``: ``int32[rows, fields]``, the values of the rows, and ``rows``: integers ``[rows]``, their numbers.
    """
    every = np.arange(folded.tuples.shape[1])
    for i in range(len(given)):
        _add(given[i], rows[i], folded, how, both, every)


@njit(cache=True, nogil=True)
def _add(values: Int32Array, row: int, folded: Folded, how: Compared, both: bool, every: Int64Array) -> None:
    """Add one row. ``values``: ``int32[fields]``. ``folded`` is written. ``every``: ``int64[fields]``, all fields."""
    i = _place(values, every, folded.tuples, every, folded.table)
    k = np.int64(folded.table[i]) - 1
    if k < 0:
        k = folded.used[0]
        folded.used[0] += 1
        folded.tuples[k] = values
        folded.weights[k] = 0
        folded.table[i] = np.int32(k + 1)
        equal = how.equal[0]
        if equal:
            _link(folded.tuples, k, how.right[:equal], how.unknown[0], folded.t_table, folded.t_next)
            if both:
                _link(folded.tuples, k, how.left[:equal], how.unknown[0], folded.s_table, folded.s_next)
    folded.weights[k] += 1
    folded.rows[k] = row


@njit(cache=True, nogil=True)
def _breaks(s: Int32Array, t: Int32Array, how: Compared) -> bool:
    """Say whether a pair of tuples (``s``, ``t``: ``int32[fields]``) breaks the rule."""
    for j in range(len(how.left)):
        x, y = s[how.left[j]], t[how.right[j]]
        if how.unknown[0] and (x < 0 or y < 0):
            return False
        outcome = LOWER_BIT if x < y else HIGHER_BIT if x > y else EQUAL_BIT
        if not how.accepted[j] & outcome:
            return False
    return True


@njit(cache=True, nogil=True)
def _partners(
    values: Int32Array,
    row: int,
    is_s: bool,
    folded: Folded,
    how: Compared,
    both: bool,
    found: Int64Array,
    sample: Int64Array,
) -> np.int64:
    """Count the living rows that break the rule with a row, which is ``s`` or ``t``.

    ``values``: ``int32[fields]``. ``sample``: ``int64[limit, 4]``, of which ``found[0]`` (``int64[1]``) are in use,
    both written: the row, a tuple, whether the row is ``s``, and a row of the tuple or -1.
    """
    total, equal = np.int64(0), how.equal[0]
    # a row that is s is compared with tuples that are t; one index serves both where the fields are the same
    table, following = (folded.t_table, folded.t_next) if is_s or not both else (folded.s_table, folded.s_next)
    mine, theirs = (how.left[:equal], how.right[:equal]) if is_s else (how.right[:equal], how.left[:equal])
    k = np.int64(folded.used[0]) - 1
    if equal:
        k = np.int64(table[_place(values, mine, folded.tuples, theirs, table)]) - 1
    while k >= 0:
        if folded.weights[k] > 0 and (
            _breaks(values, folded.tuples[k], how) if is_s else _breaks(folded.tuples[k], values, how)
        ):
            total += folded.weights[k]
            if found[0] < len(sample):
                sample[found[0], 0], sample[found[0], 1], sample[found[0], 2] = row, k, is_s
                sample[found[0], 3] = folded.rows[k]
                found[0] += 1
        k = np.int64(following[k]) if equal else k - 1
    return total


@njit(cache=True, nogil=True)
def insert(
    given: Int32Array,
    rows: np.ndarray,
    folded: Folded,
    how: Compared,
    both: bool,
    found: Int64Array,
    sample: Int64Array,
) -> np.int64:
    """Add rows one after the other, and count the violations that they bring. ``folded`` is written.

    ``given``: ``int32[rows, fields]``, the values of the rows, and ``rows``: integers ``[rows]``, their numbers.
    ``sample``: ``int64[limit, 4]``, of which ``found[0]`` (``int64[1]``) are in use, both written: the row, a
    tuple, whether the row is ``s``, and a row of the tuple or -1.
    """
    every, total = np.arange(folded.tuples.shape[1]), np.int64(0)
    for i in range(len(given)):
        for is_s in (True, False):
            total += _partners(given[i], rows[i], is_s, folded, how, both, found, sample)
        _add(given[i], rows[i], folded, how, both, every)
    return total


@njit(cache=True, nogil=True)
def delete(
    given: Int32Array,
    rows: np.ndarray,
    folded: Folded,
    how: Compared,
    both: bool,
    found: Int64Array,
    sample: Int64Array,
) -> np.int64:
    """Remove rows one after the other, and count the violations that they end. ``folded`` is written.

    ``given``: ``int32[rows, fields]``, the values of the rows, and ``rows``: integers ``[rows]``, their numbers.
    ``sample``: ``int64[limit, 4]``, of which ``found[0]`` (``int64[1]``) are in use, both written: the row, a
    tuple, whether the row is ``s``, and a row of the tuple or -1.
    """
    every, total = np.arange(folded.tuples.shape[1]), np.int64(0)
    for i in range(len(given)):
        _drop(given[i], rows[i], folded, every)
        for is_s in (True, False):
            total += _partners(given[i], rows[i], is_s, folded, how, both, found, sample)
    return total


@njit(cache=True, nogil=True)
def delete_uncounted(given: Int32Array, rows: np.ndarray, folded: Folded) -> None:
    """Remove rows without counting violations. ``folded`` is written.

    ``given``: ``int32[rows, fields]``, the values of the rows, and ``rows``: integers ``[rows]``, their numbers.
    """
    every = np.arange(folded.tuples.shape[1])
    for i in range(len(given)):
        _drop(given[i], rows[i], folded, every)


@njit(cache=True, nogil=True)
def _drop(values: Int32Array, row: int, folded: Folded, every: Int64Array) -> None:
    """Remove one row. ``values``: ``int32[fields]``. ``folded`` is written. ``every``: ``int64[fields]``, all
    fields."""
    k = np.int64(folded.table[_place(values, every, folded.tuples, every, folded.table)]) - 1
    folded.weights[k] -= 1
    if folded.rows[k] == row:
        folded.rows[k] = -1
