"""Groups of rows with equal keys: packing keys, cutting sorted keys into groups, counting pairs by group sizes.

A *side* of a set of pairs is rows laid out group after group: ``rows[starts[g]:starts[g + 1]]`` is group ``g``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rowlaw.kernels.compiling import njit


@njit(cache=True, nogil=True)
def group_numbers(starts: Any, out: Any) -> None:
    """The number of its group for each place of a side."""
    for g in range(len(starts) - 1):
        for i in range(starts[g], starts[g + 1]):
            out[i] = g


@njit(cache=True, nogil=True)
def extend_keys(keys: Any, rows: Any, codes: Any, width: Any, descending: bool) -> None:
    """``key * width + digit`` for each row: another column at the low end of the key.

    The digit is the code plus one (0 stands for null), counted down from the top if ``descending``.
    """
    top = width - keys.dtype.type(1)
    for i in range(len(rows)):
        digit = keys.dtype.type(codes[rows[i]] + np.int32(1))
        keys[i] = keys[i] * width + (top - digit if descending else digit)


@njit(cache=True, nogil=True)
def stripped(keys: Any, order: Any, rows: Any, divisor: Any, out: Any, width: Any, digits: Any) -> Any:
    """Groups of at least two rows whose (sorted) keys agree but for what ``divisor`` cuts off: a row alone is in no pair.

    ``out`` is room for as many rows as there are keys. So is ``digits``, if wanted: it gets each key's last digit (below ``width``).
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
def matched(s_keys: Any, s_order: Any, s_rows: Any, t_keys: Any, t_order: Any, t_rows: Any) -> Any:
    """Groups of equal keys that both sides have, except a row with itself alone."""
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
def count_products(s_rows: Any, s_starts: Any, t_rows: Any, t_starts: Any, sign: int, per_row: Any) -> int:
    """Pairs of each group: every ``s`` with every ``t``.

    ``per_row`` (empty if not wanted) gets for each row the pairs it takes part in, on either side.
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
def count_below(s_rows: Any, s_starts: Any, t_rows: Any, t_starts: Any, a: Any, b: Any, sign: int, per_row: Any) -> int:
    """Pairs of each group with ``a < b``, where ``a`` and ``b`` ascend within groups: one walk along both sides."""
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
def same_group(s_rows: Any, s_starts: Any, t_rows: Any, t_starts: Any, marks: Any) -> Any:
    """Rows that stand on both sides of one group, and so pair with themselves. ``marks`` is -1 for every row of the table."""
    found = np.empty(min(len(s_rows), len(t_rows)), np.int32)
    n = 0
    for g in range(len(s_starts) - 1):
        for i in range(s_starts[g], s_starts[g + 1]):
            marks[s_rows[i]] = g
        for j in range(t_starts[g], t_starts[g + 1]):
            if marks[t_rows[j]] == g:
                found[n] = t_rows[j]
                n += 1
    return found[:n].copy()


@njit(cache=True, nogil=True)
def chosen_rows(rows: Any, chosen: Any, out: Any) -> int:
    """Write the rows for which ``chosen`` (bool, one for each row of the table) is true to ``out``, which has room for all of them.

    Returns how many they are.
    """
    n = 0
    for i in range(len(rows)):
        out[n] = rows[i]
        n += chosen[rows[i]]
    return n


@njit(cache=True, nogil=True)
def mark_unknown(rows: Any, codes: Any, keep: Any) -> None:
    """Clear ``keep`` (bool, one for each place of a side) where the code of the row is unknown (-1)."""
    for i in range(len(rows)):
        if codes[rows[i]] < 0:
            keep[i] = False


@njit(cache=True, nogil=True)
def kept_reflexive(rows: Any, starts: Any, keep: Any) -> Any:
    """The rows to keep of a side and where their groups start; groups of fewer than two such rows are dropped."""
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
def kept_sides(s_rows: Any, s_starts: Any, s_keep: Any, t_rows: Any, t_starts: Any, t_keep: Any) -> Any:
    """The same for two sides; groups that have no pair of different rows are dropped."""
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
def count_unlike(rows: Any, starts: Any, codes: Any, per_row: Any) -> int:
    """Pairs of each group with different codes (one for each place), where equal codes are neighbours: all less those of each run."""
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
def cell_counts(keys: Any, counts: Any) -> None:
    """How often each key occurs."""
    for i in range(len(keys)):
        counts[keys[i]] += 1


@njit(cache=True, nogil=True)
def sum_products(cells: Any, each: Any) -> Any:
    """The rows of each cell times the pairs of each of its rows."""
    total = np.int64(0)
    for i in range(len(cells)):
        if cells[i]:
            total += np.int64(cells[i]) * np.int64(each[i])
    return total


@njit(cache=True, nogil=True)
def first_codes(keys: Any, rows: Any, codes: Any, first: Any, sizes: Any, like: Any, odd: Any) -> int:
    """For each key the code of its first row, how many rows it has and how many of them have that code; which others there are.

    ``first`` is -2 throughout. Stops when ``odd`` is full.
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
def count_exceptions(keys: Any, rows: Any, codes: Any, first: Any, sizes: Any, like: Any, odd: Any, runs: Any, per_row: Any) -> Any:
    """Pairs of equal keys and different codes, given what :func:`first_codes` says and how many rows are like each odd one."""
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
def mark(rows: Any, codes: Any, marks: Any) -> None:
    """Which codes there are, null too (at 0)."""
    for i in range(len(rows)):
        marks[codes[rows[i]] + 1] = True


@njit(cache=True, nogil=True)
def marked(rows: Any, codes: Any, marks: Any, out: Any) -> int:
    """The rows whose code is marked."""
    n = 0
    for i in range(len(rows)):
        out[n] = rows[i]
        n += marks[codes[rows[i]] + 1]
    return n


@njit(cache=True, nogil=True)
def take_cells(keys: Any, cells: Any, rows: Any, out: Any) -> None:
    """What its cell says, for each row."""
    for i in range(len(keys)):
        out[rows[i]] = cells[keys[i]]


@njit(cache=True, nogil=True)
def taking_part(tally: Any, rows: Any, numbers: Any) -> None:
    """The rows that have a number, and their numbers; there is room for just those."""
    n = 0
    for row in range(len(tally)):
        if tally[row]:
            rows[n], numbers[n] = row, tally[row]
            n += 1


@njit(cache=True, nogil=True)
def first_two(keys: Any, order: Any, rows: Any) -> Any:
    """Of each run of equal (sorted) keys the rows of the first two."""
    out = np.empty(len(keys), np.int32)
    n = 0
    for i in range(len(keys)):
        if i < 2 or keys[i] != keys[i - 2]:
            out[n] = rows[order[i]]
            n += 1
    return out[:n].copy()
