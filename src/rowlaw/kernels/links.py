"""Rows linked by the values they share, and the pairs that links lead to.

Rows that agree on some columns are linked, the latest first: ``following[row]`` is the row before it with the same
values (-1: none, -2: the row is not in the index), and an open-addressing table (row + 1) finds the latest row of each
group.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rowlaw.kernels.arrays import BoolArray, Int32Array, Int64Array, Uint64Array
from rowlaw.kernels.compiling import njit
from rowlaw.kernels.upkeep import BLOCK, Comparing, Pages, _count_pairs
from rowlaw.rules.outcomes import ANY, EQUAL_BIT, HIGHER_BIT, LOWER_BIT

_u64 = np.uint64
_MIX = _u64(0x9E3779B97F4A7C15)


@njit(cache=True, nogil=True)
def _group_start(cells: Int32Array, row: np.int64, columns: Int64Array, mask: np.int64) -> np.int64:
    """Give the first position in a hash table for a row's group. ``cells``: ``int32[rows, columns]``. ``columns``:
    ``int64[n]``."""
    h = _u64(0)
    for c in columns:
        h = (h ^ (h >> _u64(29)) ^ _u64(np.uint32(cells[row, c]))) * _MIX
    return np.int64(h >> _u64(32)) & mask


@njit(cache=True, nogil=True)
def _agree(cells: Int32Array, a: int, b: int, columns: Int64Array) -> bool:
    """Say whether rows ``a`` and ``b`` agree on all columns. ``cells``: ``int32[rows, columns]``. ``columns``:
    ``int64[n]``."""
    same = True
    for c in columns:
        same &= cells[a, c] == cells[b, c]
    return same


@njit(cache=True, nogil=True)
def _find_group(cells: Int32Array, row: int, columns: Int64Array, table: Int32Array) -> int:
    """Find the position of a row's group in the table, a free one if there is none.

    ``cells``: ``int32[rows, columns]``. ``columns``: ``int64[n]``. ``table``: ``int32[positions]``.
    """
    mask = np.int64(len(table) - 1)
    i = _group_start(cells, row, columns, mask)
    while table[i] and not _agree(cells, np.int64(table[i] - 1), row, columns):
        i = (i + 1) & mask
    return i


@njit(cache=True, nogil=True)
def link(
    cells: Int32Array, columns: Int64Array, rows: Int64Array, unknown: bool, table: Int32Array, following: Int32Array
) -> int:
    """Put rows into an index, in the order given, and count the new groups. The table must have capacity for them.

    ``cells``: ``int32[rows, columns]``. ``columns``: ``int64[n]``. ``rows``: ``int64[new rows]``. Written:
    ``table`` (``int32[positions]``) and ``following`` (``int32[rows]``).
    """
    new = 0
    for row in rows:
        null = False
        for c in columns:
            null |= cells[row, c] < 0
        if null and unknown:
            following[row] = -2
            continue
        i = _find_group(cells, row, columns, table)
        if table[i]:
            following[row] = table[i] - 1
        else:
            following[row] = -1
            new += 1
        table[i] = np.int32(row + 1)
    return new


@njit(cache=True, nogil=True)
def move_groups(cells: Int32Array, columns: Int64Array, table: Int32Array, larger: Int32Array) -> None:
    """Copy the groups of a table to a larger, empty one.

    ``cells``: ``int32[rows, columns]``. ``columns``: ``int64[n]``. ``table``: ``int32[positions]``. ``larger``:
    ``int32[more positions]``, 0 before, written.
    """
    mask = np.int64(len(larger) - 1)
    for entry in table:
        if entry:
            i = _group_start(cells, np.int64(entry - 1), columns, mask)
            while larger[i]:
                i = (i + 1) & mask
            larger[i] = entry


# Pairs are found a block at a time and counted then: a loop that also changes the ledger counts references to its
# arrays with every pair, which takes longer than finding it. ``begin`` is where to go on.


@njit(cache=True, nogil=True)
def compare_linked(
    cells: Int32Array, how: Comparing, rows: Int64Array, following: Int32Array, alive: BoolArray, pages: Pages
) -> Pages:
    """Count the pairs of rows with the living rows before them that are linked to them. Returns the ledger, maybe
    longer.

    ``cells``: ``int32[rows, columns]``. ``rows``: ``int64[n]``. ``following``: ``int32[rows]``. ``alive``:
    ``bool[rows]``. ``pages`` is written.
    """
    s_rows, t_rows, begin = np.empty(BLOCK, np.int64), np.empty(BLOCK, np.int64), np.array([0, -1])
    while begin[0] < len(rows):
        n = _linked(rows, following, alive, begin, s_rows, t_rows)
        pages = _count_pairs(cells, how, s_rows, t_rows, n, pages)
    return pages


@njit(cache=True, nogil=True)
def _linked(
    rows: Int64Array, following: Int32Array, alive: BoolArray, begin: Int64Array, s_rows: Int64Array, t_rows: Int64Array
) -> int:
    """List pairs of rows with the living rows linked to them, as many as fit, and count them.

    ``rows``: ``int64[n]``. ``following``: ``int32[rows]``. ``alive``: ``bool[rows]``. ``begin``: ``int64[2]``,
    where to go on, written. ``s_rows``, ``t_rows``: ``int64[BLOCK]``, written.
    """
    n, k, t = 0, begin[0], np.int64(begin[1])
    while k < len(rows):
        s = rows[k]
        t = np.int64(following[s]) if t < 0 else t
        while t >= 0:
            if n == len(s_rows):
                begin[0], begin[1] = k, t
                return n
            if alive[t]:
                s_rows[n], t_rows[n] = s, t
                n += 1
            t = np.int64(following[t])
        k += 1
    begin[0] = k
    return n


@njit(cache=True, nogil=True)
def compare_across(
    cells: Int32Array,
    how: Comparing,
    rows: Int64Array,
    mine: int,
    other: int,
    is_s: bool,
    table: Int32Array,
    following: Int32Array,
    alive: BoolArray,
    pages: Pages,
) -> Pages:
    """Count the pairs of rows with living rows whose value in column ``other``, by which they are linked, is theirs
    in column ``mine``.

    ``cells``: ``int32[rows, columns]``. ``rows``: ``int64[n]``. ``table``: ``int32[positions]``. ``following``:
    ``int32[rows]``. ``alive``: ``bool[rows]``. ``pages`` is written; returns it, maybe longer.
    """
    s_rows, t_rows, n = np.empty(BLOCK, np.int64), np.empty(BLOCK, np.int64), 0
    columns, mask = np.array([mine]), np.int64(len(table) - 1)
    for row in rows:
        if how.unknown[0] and cells[row, mine] < 0:
            continue
        i = _group_start(cells, row, columns, mask)
        while table[i] and cells[table[i] - 1, other] != cells[row, mine]:
            i = (i + 1) & mask
        t = np.int64(table[i]) - 1
        while t >= 0:
            if alive[t] and t != row:
                s_rows[n], t_rows[n] = (row, t) if is_s else (t, row)
                n += 1
                if n == BLOCK:
                    pages = _count_pairs(cells, how, s_rows, t_rows, n, pages)
                    n = 0
            t = np.int64(following[t])
    return _count_pairs(cells, how, s_rows, t_rows, n, pages)


@njit(cache=True, nogil=True)
def grouped(table: Int32Array, following: Int32Array, alive: BoolArray, rows: Int64Array, starts: Int64Array) -> Any:
    """Write the living rows of each group that has two or more, group after group. Returns how many rows and
    groups.

    ``table``: ``int32[positions]``. ``following``: ``int32[rows]``. ``alive``: ``bool[rows]``. Written: ``rows``
    (``int64[rows]``) and ``starts`` (``int64[groups + 1]``).
    """
    n, groups = 0, 0
    for entry in table:
        first, t = n, np.int64(entry) - 1
        while t >= 0:
            if alive[t]:
                rows[n] = t
                n += 1
            t = np.int64(following[t])
        if n - first < 2:
            n = first
        else:
            starts[groups] = first
            groups += 1
    starts[groups] = n
    return n, groups


@njit(cache=True, nogil=True)
def compare_groups(cells: Int32Array, how: Comparing, starts: Int64Array, pages: Pages) -> Pages:
    """Count all pairs of each group; rows are numbered as they lie, group after group, so that reading is sequential.

    ``cells``: ``int32[rows, columns]``. ``starts``: ``int64[groups + 1]``. ``pages`` is written; returns it, maybe
    longer.
    """
    s_rows, t_rows, begin = np.empty(BLOCK, np.int64), np.empty(BLOCK, np.int64), np.array([0, 0, 1])
    while begin[0] < len(starts) - 1:
        n = _within(starts, begin, s_rows, t_rows)
        pages = _count_pairs(cells, how, s_rows, t_rows, n, pages)
    return pages


@njit(cache=True, nogil=True)
def _within(starts: Int64Array, begin: Int64Array, s_rows: Int64Array, t_rows: Int64Array) -> int:
    """List pairs of positions of each group, as many as fit, and count them.

    ``starts``: ``int64[groups + 1]``. ``begin``: ``int64[3]``, where to go on, written. ``s_rows``, ``t_rows``:
    ``int64[BLOCK]``, written.
    """
    n, g, i, j = 0, begin[0], begin[1], begin[2]
    while g < len(starts) - 1:
        end = starts[g + 1]
        while i < end:
            while j < end:
                if n == len(s_rows):
                    begin[0], begin[1], begin[2] = g, i, j
                    return n
                s_rows[n], t_rows[n] = i, j
                n += 1
                j += 1
            i += 1
            j = i + 1
        g += 1
    begin[0] = g
    return n


@njit(cache=True, nogil=True)
def found_kinds(rows: Int64Array, same: Int32Array, founders: Int64Array) -> int:
    """Write the rows that are the first of their kind to the front of ``founders``, and count them.

    ``rows``: ``int64[n]``. ``same``: ``int32[rows]``, the row before it of the same kind. ``founders``:
    ``int64[n]``, written.
    """
    n = 0
    for row in rows:
        if same[row] == -1:
            founders[n] = row
            n += 1
    return n


@njit(cache=True, nogil=True)
def _living(row: np.int64, same: Int32Array, alive: BoolArray) -> np.int64:
    """Give the first living row among a row and those linked after it, or -1. ``same``: ``int32[rows]``. ``alive``:
    ``bool[rows]``."""
    while row >= 0 and not alive[row]:
        row = np.int64(same[row])
    return row


@njit(cache=True, nogil=True)
def _breaks(
    cells: Int32Array, s: int, t: int, left: Int64Array, right: Int64Array, accepted: np.ndarray, unknown: bool
) -> bool:
    """Say whether a pair of rows breaks one of the rules.

    ``cells``: ``int32[rows, columns]``. ``left``, ``right``: ``int64[n]``, the columns that rules compare.
    ``accepted``: integers ``[rules, n]``, the outcomes that each accepts.
    """
    for r in range(len(accepted)):
        broken = True
        for j in range(len(left)):
            x, y = cells[s, left[j]], cells[t, right[j]]
            outcome = LOWER_BIT if x < y else HIGHER_BIT if x > y else EQUAL_BIT
            if unknown and (x | y) < 0:
                outcome = 0
            if accepted[r, j] != ANY and not accepted[r, j] & outcome:
                broken = False
                break
        if broken:
            return True
    return False


@njit(cache=True, nogil=True)
def compare_kinds(
    cells: Int32Array,
    how: Comparing,
    rows: Int64Array,
    kinds: Any,
    groups: Any,
    alive: BoolArray,
    rules: Any,
    pages: Pages,
) -> Pages:
    """Count the pairs of rows with one living row of every kind in their group, if these pairs, in either direction,
    break one of the ``rules``.

    ``cells``: ``int32[rows, columns]``. ``rows``: ``int64[n]``. ``kinds`` is an index of all rows (columns, table,
    following), ``groups`` one of the first row of each kind by fewer columns. ``alive``: ``bool[rows]``. ``rules``:
    ``left``, ``right`` and ``accepted`` of :func:`_breaks`. ``pages`` is written; returns it, maybe longer. A row
    whose kind lived before it says nothing new about other kinds, and meets one row of its kind.
    """
    s_rows, t_rows, begin = np.empty(BLOCK, np.int64), np.empty(BLOCK, np.int64), np.array([0, -1])
    while begin[0] < len(rows):
        n = _of_kinds(cells, rows, kinds, groups, alive, rules, how.unknown[0], begin, s_rows, t_rows)
        pages = _count_pairs(cells, how, s_rows, t_rows, n, pages)
    return pages


@njit(cache=True, nogil=True)
def _of_kinds(
    cells: Int32Array,
    rows: Int64Array,
    kinds: Any,
    groups: Any,
    alive: BoolArray,
    rules: Any,
    unknown: bool,
    begin: Int64Array,
    s_rows: Int64Array,
    t_rows: Int64Array,
) -> int:
    """List the pairs that :func:`compare_kinds` counts, as many as fit, and count them.

    ``cells``: ``int32[rows, columns]``. ``rows``: ``int64[n]``. ``kinds``, ``groups``, ``rules`` as there.
    ``alive``: ``bool[rows]``. ``begin``: ``int64[2]``, where to go on, written. ``s_rows``, ``t_rows``:
    ``int64[BLOCK]``, written.
    """
    kind_columns, kind_table, same = kinds
    columns, table, following = groups
    left, right, accepted = rules
    n, k, first = 0, begin[0], np.int64(begin[1])
    while k < len(rows):
        s = rows[k]
        if first < 0:
            if n == len(s_rows):
                break
            t = _living(np.int64(same[s]), same, alive)
            if t < 0:
                first = np.int64(table[_find_group(cells, s, columns, table)]) - 1
            elif _breaks(cells, s, t, left, right, accepted, unknown) or _breaks(
                cells, t, s, left, right, accepted, unknown
            ):
                s_rows[n], t_rows[n] = s, t
                n += 1
        while first >= 0 and n < len(s_rows):
            t = first
            if not alive[t]:
                t = _living(np.int64(kind_table[_find_group(cells, t, kind_columns, kind_table)]) - 1, same, alive)
            if (t >= 0 and t != s) and (
                _breaks(cells, s, t, left, right, accepted, unknown)
                or _breaks(cells, t, s, left, right, accepted, unknown)
            ):
                s_rows[n], t_rows[n] = s, t
                n += 1
            first = np.int64(following[first])
        if first >= 0:
            break
        k += 1
    begin[0], begin[1] = k, first
    return n


@njit(cache=True, nogil=True)
def earlier(
    cells: Int32Array,
    columns: Int64Array,
    rows: Int64Array,
    following: Int32Array,
    alive: BoolArray,
    begin: Int64Array,
    out: np.ndarray,
) -> int:
    """List pairs of rows with living rows linked to them that agree on ``columns`` as well, as many as fit, and
    count them.

    ``cells``: ``int32[rows, columns]``. ``columns``: ``int64[n]``. ``rows``: ``int64[n]``. ``following``:
    ``int32[rows]``. ``alive``: ``bool[rows]``. ``begin``: ``int64[2]``, where to go on, written. ``out``: integers
    ``[limit, 2]``, written.
    """
    n = 0
    while begin[0] < len(rows):
        s = np.int64(rows[begin[0]])
        t = np.int64(begin[1]) if begin[1] >= 0 else np.int64(following[s])
        while t >= 0:
            if n == len(out):
                begin[1] = t
                return n
            if alive[t] and _agree(cells, s, t, columns):
                out[n, 0], out[n, 1] = s, t
                n += 1
            t = np.int64(following[t])
        begin[0], begin[1] = begin[0] + 1, -1
    return n


@njit(cache=True, nogil=True)
def members(
    cells: Int32Array,
    own: Int64Array,
    columns: Int64Array,
    row: int,
    table: Int32Array,
    following: Int32Array,
    alive: BoolArray,
    out: np.ndarray,
) -> int:
    """List the living rows of a row's group (an index by the columns ``own``) that agree with it on ``columns`` as
    well, and count them.

    ``cells``: ``int32[rows, columns]``. ``own``, ``columns``: ``int64[n]``. ``table``: ``int32[positions]``.
    ``following``: ``int32[rows]``. ``alive``: ``bool[rows]``. ``out``: integers ``[limit]``, written.
    """
    n = 0
    t = np.int64(table[_find_group(cells, row, own, table)]) - 1
    while t >= 0 and n < len(out):
        if alive[t] and _agree(cells, row, t, columns):
            out[n] = t
            n += 1
        t = np.int64(following[t])
    return n


@njit(cache=True, nogil=True)
def differences(cells: Int32Array, columns: Int64Array, unknown: bool, pairs: Int64Array, out: Uint64Array) -> None:
    """Write the columns in which pairs of rows do not agree, as bits; an unknown null agrees with nothing.

    ``cells``: ``int32[rows, columns]``. ``columns``: ``int64[n]``. ``pairs``: ``int64[pairs, 2]``. ``out``:
    ``uint64[pairs, words]``, written.
    """
    for i in range(len(pairs)):
        s, t = pairs[i, 0], pairs[i, 1]
        for w in range(out.shape[1]):
            out[i, w] = _u64(0)
        for c in range(len(columns)):
            x, y = cells[s, columns[c]], cells[t, columns[c]]
            if x != y or (unknown and x < 0):
                out[i, c // 64] |= _u64(1) << _u64(c % 64)


@njit(cache=True, nogil=True)
def twins(following: Int32Array, alive: BoolArray, rows: Int64Array) -> Any:
    """Find a pair of living rows that are linked to each other, or (-1, -1).

    ``following``: ``int32[rows]``. ``alive``: ``bool[rows]``. ``rows``: ``int64[n]``.
    """
    for s in rows:
        t = np.int64(following[s])
        while t >= 0 and not alive[t]:
            t = np.int64(following[t])
        if t >= 0:
            return np.int64(s), t
    return np.int64(-1), np.int64(-1)
