"""Groups of rows with equal keys: packing keys, cutting sorted keys into groups, counting pairs by group sizes.

A *side* of a set of pairs is rows laid out group after group: ``rows[starts[g]:starts[g + 1]]`` is group ``g``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rowlaw.kernels.arrays import BoolArray, Int32Array, Int64Array, IntArray, Uint32Array, UintArray
from rowlaw.kernels.compiling import njit


@njit(cache=True, nogil=True)
def group_numbers(starts: Int64Array, out: UintArray) -> None:
    """Write the number of its group for each position of a side.

    ``starts``: ``int64[groups + 1]``. ``out``: ``uint32`` or ``uint64[positions]``, written.
    """
    for g in range(len(starts) - 1):
        for i in range(starts[g], starts[g + 1]):
            out[i] = g


@njit(cache=True, nogil=True)
def extend_keys(
    keys: UintArray, rows: Int32Array, codes: Int32Array, width: np.unsignedinteger, descending: bool
) -> None:
    """Append a column at the low end of each key: ``key * width + digit``.

    ``keys``: ``uint32`` or ``uint64[positions]``, written. ``rows``: ``int32[positions]``. ``codes``: ``int32[rows
    of the table]``. The digit is the code plus one (0 stands for null), counted down from the top if
    ``descending``; ``width`` has the type of the keys.
    """
    top = width - keys.dtype.type(1)
    for i in range(len(rows)):
        digit = keys.dtype.type(codes[rows[i]] + np.int32(1))
        keys[i] = keys[i] * width + (top - digit if descending else digit)


@njit(cache=True, nogil=True)
def stripped(
    keys: UintArray,
    order: Int32Array,
    rows: Int32Array,
    divisor: np.unsignedinteger,
    out: Int32Array,
    width: np.unsignedinteger,
    digits: Int32Array,
) -> Any:
    """Make groups of at least two rows whose keys agree but for what ``divisor`` cuts off: a row alone is in no
    pair.

    ``keys``: ``uint32`` or ``uint64[positions]``, sorted. ``order``: ``int32[positions]``, where each key came
    from. ``rows``: ``int32[positions]``. ``out``: ``int32[positions]``, written. ``digits``: ``int32[positions]``,
    written, or of length 0: the last digit of each key (below ``width``). Returns the rows (``int32``, maybe a part
    of ``out``) and starts (``int64``) of the groups.
    """
    n = len(keys)
    starts = np.empty(1024, np.int64)
    starts[0] = 0
    kept, groups = 0, 0
    i = 0
    while i < n:
        last = keys[i] // divisor * divisor + (divisor - keys.dtype.type(1))  # the greatest key of the group
        j = i + 1
        while j < n and keys[j] <= last:
            j += 1
        if j - i > 1:
            for k in range(i, j):
                out[kept] = rows[order[k]]
                if len(digits):
                    digits[kept] = keys[k] % width
                kept += 1
            groups += 1
            if groups == len(starts):
                longer = np.empty(2 * len(starts), np.int64)
                for g in range(groups):
                    longer[g] = starts[g]
                starts = longer
            starts[groups] = kept
        i = j
    return out[:kept].copy() if kept < n // 2 else out[:kept], starts[: groups + 1].copy()


@njit(cache=True, nogil=True)
def matched(
    s_keys: UintArray,
    s_order: Int32Array,
    s_rows: Int32Array,
    t_keys: UintArray,
    t_order: Int32Array,
    t_rows: Int32Array,
) -> Any:
    """Make the groups of equal keys that both sides have, except a row with itself alone.

    ``s_keys``: ``uint32`` or ``uint64[s positions]``, sorted. ``s_order``: ``int32[s positions]``, where each key
    came from. ``s_rows``: ``int32[s positions]``. ``t_keys``, ``t_order`` and ``t_rows`` alike. Returns rows
    (``int32``) and starts (``int64``) of both sides.
    """
    ns, nt = len(s_keys), len(t_keys)
    s_out, t_out = np.empty(ns, np.int32), np.empty(nt, np.int32)
    s_starts, t_starts = np.empty(min(ns, nt) + 1, np.int64), np.empty(min(ns, nt) + 1, np.int64)
    s_starts[0] = t_starts[0] = 0
    groups, s_kept, t_kept = 0, 0, 0
    i, j = 0, 0
    while i < ns and j < nt:
        if s_keys[i] < t_keys[j]:
            i += 1
        elif t_keys[j] < s_keys[i]:
            j += 1
        else:
            key = s_keys[i]
            a, b = i, j
            while i < ns and s_keys[i] == key:
                i += 1
            while j < nt and t_keys[j] == key:
                j += 1
            if i - a == 1 and j - b == 1 and s_rows[s_order[a]] == t_rows[t_order[b]]:
                continue
            for k in range(a, i):
                s_out[s_kept] = s_rows[s_order[k]]
                s_kept += 1
            for k in range(b, j):
                t_out[t_kept] = t_rows[t_order[k]]
                t_kept += 1
            groups += 1
            s_starts[groups], t_starts[groups] = s_kept, t_kept
    return s_out[:s_kept].copy(), s_starts[: groups + 1].copy(), t_out[:t_kept].copy(), t_starts[: groups + 1].copy()


@njit(cache=True, nogil=True)
def count_products(
    s_rows: Int32Array, s_starts: Int64Array, t_rows: Int32Array, t_starts: Int64Array, sign: int, per_row: Uint32Array
) -> int:
    """Count the pairs of each group: every ``s`` with every ``t``; the count is multiplied by ``sign``.

    ``s_rows``: ``int32[s positions]``, ``s_starts``: ``int64[groups + 1]``, and ``t_rows``, ``t_starts`` alike: the
    two sides. ``per_row``: ``uint32[rows of the table]``, written, or of length 0: each row gets the pairs it takes
    part in, on either side, times ``sign``.
    """
    total = 0
    for g in range(len(s_starts) - 1):
        ns, nt = s_starts[g + 1] - s_starts[g], t_starts[g + 1] - t_starts[g]
        total += ns * nt
        if len(per_row):
            for i in range(s_starts[g], s_starts[g + 1]):
                per_row[s_rows[i]] += sign * nt
            for i in range(t_starts[g], t_starts[g + 1]):
                per_row[t_rows[i]] += sign * ns
    return sign * total


@njit(cache=True, nogil=True)
def count_below(
    s_rows: Int32Array,
    s_starts: Int64Array,
    t_rows: Int32Array,
    t_starts: Int64Array,
    a: IntArray,
    b: IntArray,
    sign: int,
    per_row: Uint32Array,
) -> int:
    """Count the pairs of each group with ``a < b``: one walk along both sides; the count is multiplied by ``sign``.

    ``s_rows``: ``int32[s positions]``, ``s_starts``: ``int64[groups + 1]``, and ``t_rows``, ``t_starts`` alike: the
    two sides. ``a``: ``int32`` or ``int64[s positions]``, ``b``: the same for ``t``; both ascend within groups.
    ``per_row``: ``uint32[rows of the table]``, written, or of length 0: each row gets the pairs it takes part in,
    on either side, times ``sign``.
    """
    total = 0
    for g in range(len(s_starts) - 1):
        s0, s1, t0, t1 = s_starts[g], s_starts[g + 1], t_starts[g], t_starts[g + 1]
        i = s0
        for j in range(t0, t1):
            while i < s1 and a[i] < b[j]:
                i += 1
            total += i - s0
            if len(per_row):
                per_row[t_rows[j]] += sign * (i - s0)
        if len(per_row):
            j = t0
            for i in range(s0, s1):
                while j < t1 and b[j] <= a[i]:
                    j += 1
                per_row[s_rows[i]] += sign * (t1 - j)
    return sign * total


@njit(cache=True, nogil=True)
def same_group(
    s_rows: Int32Array, s_starts: Int64Array, t_rows: Int32Array, t_starts: Int64Array, marks: Int32Array
) -> Int32Array:
    """List the rows that stand on both sides of one group, and so pair with themselves: ``int32[rows]``.

    ``s_rows``: ``int32[s positions]``, ``s_starts``: ``int64[groups + 1]``, and ``t_rows``, ``t_starts`` alike: the
    two sides. ``marks``: ``int32[rows of the table]``, -1 throughout, written.
    """
    shared = np.empty(min(len(s_rows), len(t_rows)), np.int32)
    n = 0
    for g in range(len(s_starts) - 1):
        for i in range(s_starts[g], s_starts[g + 1]):
            marks[s_rows[i]] = g
        for j in range(t_starts[g], t_starts[g + 1]):
            if marks[t_rows[j]] == g:
                shared[n] = t_rows[j]
                n += 1
    return shared[:n].copy()


@njit(cache=True, nogil=True)
def chosen_rows(rows: Int32Array, chosen: BoolArray, out: Int32Array) -> int:
    """Write the rows for which ``chosen`` is true to ``out``, and count them.

    ``rows``: ``int32[positions]``. ``chosen``: ``bool[rows of the table]``. ``out``: ``int32[positions + 1]``,
    written.
    """
    n = 0
    for i in range(len(rows)):
        out[n] = rows[i]
        n += chosen[rows[i]]
    return n


@njit(cache=True, nogil=True)
def mark_unknown(rows: Int32Array, codes: Int32Array, keep: BoolArray) -> None:
    """Clear ``keep`` where the code of the row is unknown (-1).

    ``rows``: ``int32[positions]``. ``codes``: ``int32[rows of the table]``. ``keep``: ``bool[positions]``, written.
    """
    for i in range(len(rows)):
        if codes[rows[i]] < 0:
            keep[i] = False


@njit(cache=True, nogil=True)
def kept_reflexive(rows: Int32Array, starts: Int64Array, keep: BoolArray) -> Any:
    """Keep some rows of a side; groups of fewer than two such rows are dropped.

    ``rows``: ``int32[positions]``, ``starts``: ``int64[groups + 1]``, ``keep``: ``bool[positions]``. Returns the
    rows (``int32``) and starts (``int64``) that are left.
    """
    out, out_starts = np.empty(len(rows), np.int32), np.empty(len(starts), np.int64)
    out_starts[0] = 0
    kept, groups = 0, 0
    for g in range(len(starts) - 1):
        begin = kept
        for i in range(starts[g], starts[g + 1]):
            out[kept] = rows[i]
            kept += keep[i]
        if kept - begin > 1:
            groups += 1
            out_starts[groups] = kept
        else:
            kept = begin
    return out[:kept], out_starts[: groups + 1]


@njit(cache=True, nogil=True)
def kept_sides(
    s_rows: Int32Array,
    s_starts: Int64Array,
    s_keep: BoolArray,
    t_rows: Int32Array,
    t_starts: Int64Array,
    t_keep: BoolArray,
) -> Any:
    """Keep some rows of two sides; groups without a pair of different rows are dropped.

    ``s_rows``: ``int32[s positions]``, ``s_starts``: ``int64[groups + 1]``, and ``t_rows``, ``t_starts`` alike: the
    two sides. ``s_keep``: ``bool[s positions]``, ``t_keep``: ``bool[t positions]``. Returns rows (``int32``) and
    starts (``int64``) of both sides.
    """
    s_out, t_out = np.empty(len(s_rows), np.int32), np.empty(len(t_rows), np.int32)
    s_out_starts, t_out_starts = np.empty(len(s_starts), np.int64), np.empty(len(t_starts), np.int64)
    s_out_starts[0] = t_out_starts[0] = 0
    s_kept, t_kept, groups = 0, 0, 0
    for g in range(len(s_starts) - 1):
        s_begin, t_begin = s_kept, t_kept
        for i in range(s_starts[g], s_starts[g + 1]):
            s_out[s_kept] = s_rows[i]
            s_kept += s_keep[i]
        for i in range(t_starts[g], t_starts[g + 1]):
            t_out[t_kept] = t_rows[i]
            t_kept += t_keep[i]
        ns, nt = s_kept - s_begin, t_kept - t_begin
        if ns == 0 or nt == 0 or (ns == 1 and nt == 1 and s_out[s_begin] == t_out[t_begin]):
            s_kept, t_kept = s_begin, t_begin
        else:
            groups += 1
            s_out_starts[groups], t_out_starts[groups] = s_kept, t_kept
    return s_out[:s_kept], s_out_starts[: groups + 1], t_out[:t_kept], t_out_starts[: groups + 1]


@njit(cache=True, nogil=True)
def count_unlike(rows: Int32Array, starts: Int64Array, codes: Int32Array, per_row: Uint32Array) -> int:
    """Count the pairs of each group with different codes: all pairs without those of each run of equal codes.

    ``rows``: ``int32[positions]``, ``starts``: ``int64[groups + 1]``. ``codes``: ``int32[positions]``, equal ones
    side by side within a group. ``per_row``: ``uint32[rows of the table]``, written, or of length 0: each row gets
    the pairs it takes part in, in both roles.
    """
    total = 0
    for g in range(len(starts) - 1):
        begin, end = starts[g], starts[g + 1]
        if codes[begin] == codes[end - 1]:
            continue  # sorted, so all are equal
        n = end - begin
        i = begin
        while i < end:
            code = codes[i]
            j = i + 1
            while j < end and codes[j] == code:
                j += 1
            others = n - (j - i)
            total += (j - i) * others
            if len(per_row):
                for k in range(i, j):
                    per_row[rows[k]] += 2 * others
            i = j
    return total


@njit(cache=True, nogil=True)
def mark(rows: Int32Array, codes: Int32Array, marks: BoolArray) -> None:
    """Mark the codes that occur, null at 0.

    ``rows``: ``int32[positions]``. ``codes``: ``int32[rows of the table]``. ``marks``: ``bool[codes + 1]``,
    written.
    """
    for i in range(len(rows)):
        marks[codes[rows[i]] + 1] = True


@njit(cache=True, nogil=True)
def marked(rows: Int32Array, codes: Int32Array, marks: BoolArray, out: Int32Array) -> int:
    """Write the rows whose code is marked to ``out``, and count them.

    ``rows``: ``int32[positions]``. ``codes``: ``int32[rows of the table]``. ``marks``: ``bool[codes + 1]``.
    ``out``: ``int32[positions + 1]``, written.
    """
    n = 0
    for i in range(len(rows)):
        out[n] = rows[i]
        n += marks[codes[rows[i]] + 1]
    return n


@njit(cache=True, nogil=True)
def taking_part(tally: Uint32Array, rows: Int32Array, numbers: np.ndarray) -> None:
    """Write the rows whose tally is not 0, and these tallies.

    ``tally``: ``uint32[rows of the table]``. ``rows`` and ``numbers``: integers, with one element for each such
    row, both written.
    """
    n = 0
    for row in range(len(tally)):
        if tally[row]:
            rows[n], numbers[n] = row, tally[row]
            n += 1


@njit(cache=True, nogil=True)
def first_two(keys: UintArray, order: Int32Array, rows: Int32Array) -> Int32Array:
    """List the rows of the first two of each run of equal keys: ``int32[rows]``.

    ``keys``: ``uint32`` or ``uint64[positions]``, sorted. ``order``: ``int32[positions]``, where each key came
    from. ``rows``: ``int32[positions]``.
    """
    out = np.empty(len(keys), np.int32)
    n = 0
    for i in range(len(keys)):
        if i < 2 or keys[i] != keys[i - 2]:
            out[n] = rows[order[i]]
            n += 1
    return out[:n].copy()
