"""Difference sets: the columns in which two rows differ, and for which questions that speaks.

Sets of columns are words of bits. A *table* has an entry for each distinct difference set, with *facts* in words: word
0 is 1 (it speaks about keys); then the columns in which both rows have a value and these differ (about functional
dependencies to such a column); then, if order is asked for, for each column ``a`` the columns ``b > a`` that run
against it, and for each column ``a`` those that run with it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rowlaw.kernels.arrays import BoolArray, Int32Array, Int64Array, Uint8Array, Uint64Array
from rowlaw.kernels.compiling import njit

TILE = 1024  # pairs compared at a time: their words stay in the first-level cache
_0, _1 = np.uint64(0), np.uint64(1)
_MIX = np.uint64(0x9E3779B97F4A7C15)


class Table(NamedTuple):
    """An open-addressing hash table: ``places`` (a power of two, -1 is free) say where a set's entry is."""

    places: Int32Array  # int32[positions]
    sets: Uint64Array  # uint64[capacity, words]
    facts: Uint64Array  # uint64[capacity, facts]
    used: Int64Array  # int64[1]


def new_table(words: int, facts: int, room: int = 256) -> Table:
    """An empty table."""
    places = np.full(2 * room, -1, np.int32)
    return Table(places, np.zeros((room, words), np.uint64), np.zeros((room, facts), np.uint64), np.zeros(1, np.int64))


@njit(cache=True, nogil=True)
def _entry(places: Int32Array, sets: Uint64Array, used: Int64Array, source: Uint64Array, j: int) -> int:
    """Give the number of the entry of set ``source[:, j]``, a new one if there is none. There must be capacity for
    one more.

    ``places``: ``int32[positions]``, ``sets``: ``uint64[capacity, words]`` and ``used``: ``int64[1]``, of a table,
    all written. ``source``: ``uint64[words, n]``.
    """
    words = len(source)
    h = _0
    for w in range(words):
        h = (h ^ (h >> np.uint64(29)) ^ source[w, j]) * _MIX
    mask = np.int64(len(places) - 1)
    i = np.int64(h >> np.uint64(32)) & mask
    while places[i] >= 0:
        n = places[i]
        same = True
        for w in range(words):
            same &= sets[n, w] == source[w, j]
        if same:
            return n
        i = (i + 1) & mask
    n = used[0]
    places[i] = n
    for w in range(words):
        sets[n, w] = source[w, j]
    used[0] = n + 1
    return n


@njit(cache=True, nogil=True)
def _with_room(table: Table, more: int) -> Table:
    """Give the table, or a copy of it with capacity for ``more`` entries."""
    used = table.used[0]
    if used + more <= len(table.sets):
        return table
    room = len(table.sets)
    while room < used + more:
        room *= 2
    sets = np.zeros((room, table.sets.shape[1]), np.uint64)
    facts = np.zeros((room, table.facts.shape[1]), np.uint64)
    places = np.full(2 * room, -1, np.int32)
    again = np.zeros(1, np.int64)
    turned = table.sets.T
    for n in range(used):
        _entry(places, sets, again, turned, n)
        for w in range(facts.shape[1]):
            facts[n, w] = table.facts[n, w]
    return Table(places, sets, facts, again)


@njit(cache=True, nogil=True)
def _absorb(
    places: Int32Array,
    sets: Uint64Array,
    facts: Uint64Array,
    used: Int64Array,
    pairs: int,
    differ: Uint64Array,
    known: Uint64Array,
    less: Uint64Array,
    columns: int,
) -> None:
    """Enter the words of a tile of ``pairs`` pairs into a table.

    ``places``: ``int32[positions]``, ``sets``: ``uint64[capacity, words]``, ``facts``: ``uint64[capacity, facts]``
    and ``used``: ``int64[1]``, of a table, all written. ``differ``, ``known``, ``less``: ``uint64[words, TILE]``:
    the columns that differ, that differ in known values, and that are less in the first row.
    """
    words = len(differ)
    ordered = facts.shape[1] > 1 + words
    for j in range(pairs):
        n = _entry(places, sets, used, differ, j)
        facts[n, 0] = _1
        for w in range(words):
            facts[n, 1 + w] |= known[w, j]
        if not ordered:
            continue
        for a in range(columns):
            bit = np.uint64(a & 63)
            here = -(known[a >> 6, j] >> bit & _1)  # all ones if the column says anything
            turned = -(less[a >> 6, j] >> bit & _1)
            here &= ~((np.uint64(2) << bit) - _1)  # columns after it; for bit 63 the shift gives 0, and none is
            at = 1 + words + a * words
            for w in range(a >> 6, words):
                both = known[w, j] & here
                against = (less[w, j] ^ turned) & both
                facts[n, at + w] |= against
                facts[n, at + columns * words + w] |= both & ~against
                here = -(known[a >> 6, j] >> bit & _1)


@njit(cache=True, nogil=True)
def _compare(
    x: Int32Array,
    y: Int32Array,
    unknown: bool,
    bit: np.uint64,
    differ: Uint64Array,
    known: Uint64Array,
    less: Uint64Array,
) -> None:
    """Add the outcome of one column to the words of a tile of pairs, ``x`` beside ``y``: ``DIFFERENCE`` in
    :mod:`rowlaw.rules.outcomes`.

    ``x``, ``y``: ``int32[pairs]``, codes. ``differ``, ``known``, ``less``: ``uint64[TILE]``, written.
    """
    for j in range(len(x)):
        other = np.uint64(x[j] != y[j])
        below = np.uint64(x[j] < y[j])
        missing = np.uint64(unknown & ((x[j] < np.int32(0)) | (y[j] < np.int32(0))))
        differ[j] |= (other | missing) << bit
        known[j] |= (other & ~missing) << bit
        less[j] |= (below & ~missing) << bit


@njit(cache=True, nogil=True)
def compare_all(
    codes: Int32Array, part: int, parts: int, unknown: bool, table: Table, most: int, stop: Uint8Array
) -> Table:
    """Enter all pairs of rows into a table, every ``parts``-th row with all after it.

    ``codes``: ``int32[columns, rows]``. ``table`` is written. ``stop``: ``uint8[1]``; ends when ``stop[0]`` is set,
    and sets it to 2 where there would be more than ``most`` entries.
    """
    columns, rows = codes.shape
    words = table.sets.shape[1]
    differ, known, less = (
        np.zeros((words, TILE), np.uint64),
        np.zeros((words, TILE), np.uint64),
        np.zeros((words, TILE), np.uint64),
    )
    same = np.empty(TILE, np.int32)
    for i in range(part, rows, parts):
        if stop[0]:
            break
        for begin in range(i + 1, rows, TILE):
            n = min(TILE, rows - begin)
            if table.used[0] + n > most:
                stop[0] = 2
                return table
            differ[:, :n] = _0
            known[:, :n] = _0
            less[:, :n] = _0
            for c in range(columns):
                w, bit = c >> 6, np.uint64(c & 63)
                same[:n] = codes[c, i]
                _compare(same[:n], codes[c, begin : begin + n], unknown, bit, differ[w], known[w], less[w])
            table = _with_room(table, n)
            _absorb(table.places, table.sets, table.facts, table.used, n, differ, known, less, columns)
    return table


@njit(cache=True, nogil=True)
def compare_listed(
    codes: Int32Array, chosen: Int64Array, s: Int32Array, t: Int32Array, unknown: bool, table: Table
) -> Table:
    """Enter the pairs of rows ``s[i]`` and ``t[i]`` into a table.

    ``codes``: ``int32[columns, rows]``, of which the ``chosen`` columns (``int64[n]``) count. ``s``, ``t``:
    ``int32[pairs]``. ``table`` is written.
    """
    columns = len(chosen)
    words = table.sets.shape[1]
    differ, known, less = (
        np.zeros((words, TILE), np.uint64),
        np.zeros((words, TILE), np.uint64),
        np.zeros((words, TILE), np.uint64),
    )
    x, y = np.empty(TILE, np.int32), np.empty(TILE, np.int32)
    for begin in range(0, len(s), TILE):
        n = min(TILE, len(s) - begin)
        differ[:, :n] = _0
        known[:, :n] = _0
        less[:, :n] = _0
        for c in range(columns):
            w, bit = c >> 6, np.uint64(c & 63)
            for j in range(n):
                x[j], y[j] = codes[chosen[c], s[begin + j]], codes[chosen[c], t[begin + j]]
            _compare(x[:n], y[:n], unknown, bit, differ[w], known[w], less[w])
        table = _with_room(table, n)
        _absorb(table.places, table.sets, table.facts, table.used, n, differ, known, less, columns)
    return table


@njit(cache=True, nogil=True)
def merge(table: Table, sets: Uint64Array, facts: Uint64Array) -> Table:
    """Enter the entries of another table.

    ``table`` is written. ``sets``: ``uint64[n, words]``. ``facts``: ``uint64[n, facts]``.
    """
    table = _with_room(table, len(sets))
    turned = sets.T
    for i in range(len(sets)):
        n = _entry(table.places, table.sets, table.used, turned, i)
        for k in range(facts.shape[1]):
            table.facts[n, k] |= facts[i, k]
    return table


@njit(cache=True, nogil=True)
def keep_minimal(sets: Uint64Array, sizes: Int64Array, facts: Uint64Array, stop: Uint8Array) -> int:
    """Move the difference sets that are minimal for some question to the front, with the facts for which they are,
    and count them.

    ``sets``: ``uint64[n, words]``, by size. ``sizes``: ``int64[n]``, their columns. ``facts``: ``uint64[n,
    facts]``. All three are written. ``stop``: ``uint8[1]``.

    A set says nothing about a question that a smaller set within it speaks about. Those that have nothing to say
    any more need not be compared with: what they had said, a set within them says. When ``stop[0]`` is set, the
    rest is kept as it is: sets that are not minimal do no harm.
    """
    words, number = sets.shape[1], facts.shape[1]
    kept = 0
    for i in range(len(sets)):
        alive = True
        for k in range(kept):
            if sizes[k] == sizes[i] or stop[0]:
                break
            inside = True
            for w in range(words):
                inside &= sets[k, w] & ~sets[i, w] == _0
            if inside:
                left = _0
                for f in range(number):
                    facts[i, f] &= ~facts[k, f]
                    left |= facts[i, f]
                if left == _0:
                    alive = False
                    break
        if alive:
            sets[kept] = sets[i]
            facts[kept] = facts[i]
            sizes[kept] = sizes[i]
            kept += 1
    return kept


@njit(cache=True, nogil=True)
def holds_any(sets: Uint64Array, parts: Uint64Array) -> BoolArray:
    """Say which sets contain one of ``parts``: ``bool[sets]``.

    ``sets``: ``uint64[sets, words]``. ``parts``: ``uint64[parts, words]``.
    """
    holding = np.zeros(len(sets), np.bool_)
    for i in range(len(sets)):
        for k in range(len(parts)):
            inside = True
            for w in range(sets.shape[1]):
                inside &= parts[k, w] & ~sets[i, w] == _0
            if inside:
                holding[i] = True
                break
    return holding
