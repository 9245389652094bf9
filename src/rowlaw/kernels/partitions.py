"""Stripped partitions: groups of at least two rows that agree on some columns, refined column by column, and what
breaks within them.

A partition is ``rows`` laid out group after group; ``starts`` says where each group begins, and the end. With
``unknown`` a row whose code is negative (null) agrees with none. ``place`` is room to work in, a counter for each code
and null: all zero before and after.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rowlaw.kernels.arrays import Int32Array
from rowlaw.kernels.compiling import njit

_SMALL = 24  # rows of a group that are sorted by insertion
_0 = np.int32(0)
_1 = np.int32(1)


@njit(cache=True, nogil=True)
def refine(rows: Int32Array, starts: Int32Array, codes: Int32Array, unknown: bool, place: Int32Array, most: int) -> Any:
    """Cut the groups of a partition by a column. Stops once there are ``most`` groups. Rows keep their order within
    groups.

    ``rows``: ``int32[positions]``, ``starts``: ``int32[groups + 1]``, the partition. ``codes``: ``int32[rows of the
    table]``. ``place``: ``int32[codes + 1]``, scratch space, 0 before and after. Returns rows and starts (both
    ``int32``).
    """
    out = np.empty(len(rows), np.int32)
    ends = np.empty(256, np.int32)
    ends[0] = 0
    groups, at = 0, _0
    for g in range(len(starts) - 1):
        begin, end = starts[g], starts[g + 1]
        if groups + (end - begin) // 2 >= len(ends) - 1:
            longer = np.empty(2 * len(ends) + (end - begin), np.int32)
            for e in range(groups + 1):
                longer[e] = ends[e]
            ends = longer
        if end - begin == 2:  # most groups are that small
            r, t = rows[begin], rows[begin + 1]
            if codes[r] == codes[t] and not (unknown and codes[r] < 0):
                out[at], out[at + 1] = r, t
                at += np.int32(2)
                groups += 1
                ends[groups] = at
        else:
            for i in range(begin, end):
                place[codes[rows[i]] + 1] += _1
            if unknown:
                place[0] = _0
            for i in range(begin, end):
                c = codes[rows[i]] + 1
                k = place[c]
                if k == 1:
                    place[c] = _0  # alone
                elif k > 1:  # its first row: room for all
                    out[at] = rows[i]
                    place[c] = -at - np.int32(2)
                    at += k
                    groups += 1
                    ends[groups] = at
                elif k < 0:
                    out[-k - 1] = rows[i]
                    place[c] = k - _1
            for i in range(begin, end):
                place[codes[rows[i]] + 1] = _0
        if groups >= most:
            break
    return out[:at] if 2 * at > len(out) else out[:at].copy(), ends[: groups + 1].copy()


@njit(cache=True, nogil=True)
def ordered(codes: Int32Array, place: Int32Array) -> Int32Array:
    """List all rows in order of a column, null first: ``int32[rows]``.

    ``codes``: ``int32[rows]``. ``place``: ``int32[codes + 1]``, scratch space, 0 before and after.
    """
    out = np.empty(len(codes), np.int32)
    for i in range(len(codes)):
        place[codes[i] + 1] += _1
    at = _0
    for c in range(len(place)):
        number = place[c]
        place[c] = at
        at += number
    for i in range(len(codes)):
        c = codes[i] + 1
        out[place[c]] = i
        place[c] += _1
    place[:] = _0
    return out


@njit(cache=True, nogil=True)
def runs(order: Int32Array, codes: Int32Array, unknown: bool) -> Any:
    """Make the partition by one column from its rows in order.

    ``order``: ``int32[rows]``. ``codes``: ``int32[rows]``. Returns rows and starts (both ``int32``).
    """
    out = np.empty(len(order), np.int32)
    ends = np.empty(len(order) // 2 + 1, np.int32)
    ends[0] = 0
    groups, at, i = 0, _0, 0
    while i < len(order):
        code = codes[order[i]]
        j = i + 1
        while j < len(order) and codes[order[j]] == code:
            j += 1
        if j - i > 1 and not (unknown and code < 0):
            for k in range(i, j):
                out[at] = order[k]
                at += _1
            groups += 1
            ends[groups] = at
        i = j
    return out[:at], ends[: groups + 1].copy()


@njit(cache=True, nogil=True)
def arrange(
    rows: Int32Array, starts: Int32Array, codes: Int32Array, order: Int32Array, group: Int32Array
) -> Int32Array:
    """List the rows of each group in order of a column: ``int32[positions]``.

    ``rows``: ``int32[positions]``, ``starts``: ``int32[groups + 1]``, the partition. ``codes``: ``int32[rows of the
    table]``. ``order``: ``int32[rows of the table]``, all rows in that order, to be dealt out to the groups, which
    is quick where most rows are in one; if it is of length 0, the groups are sorted one by one. ``group``:
    ``int32[rows of the table]``, scratch space, -1 before and after.
    """
    out = np.empty(len(rows), np.int32)
    if len(order):
        at = starts[:-1].copy()
        for g in range(len(starts) - 1):
            for i in range(starts[g], starts[g + 1]):
                group[rows[i]] = g
        for i in range(len(order)):
            g = group[order[i]]
            if g >= 0:
                out[at[g]] = order[i]
                at[g] += _1
        for i in range(len(rows)):
            group[rows[i]] = -_1
        return out
    for g in range(len(starts) - 1):
        begin, end = starts[g], starts[g + 1]
        if end - begin > _SMALL:
            keys = codes[rows[begin:end]]
            sorted_places = np.argsort(keys)
            for i in range(end - begin):
                out[begin + i] = rows[begin + sorted_places[i]]
            continue
        for i in range(begin, end):
            r = rows[i]
            code = codes[r]
            j = i
            while j > begin and codes[out[j - 1]] > code:
                out[j] = out[j - 1]
                j -= 1
            out[j] = r
    return out


@njit(cache=True, nogil=True)
def unequal(rows: Int32Array, starts: Int32Array, codes: Int32Array, unknown: bool, found: Int32Array) -> int:
    """Find pairs of rows of a group with different codes, one for each group, and count them.

    ``rows``: ``int32[positions]``, ``starts``: ``int32[groups + 1]``, the partition. ``codes``: ``int32[rows of the
    table]``. ``found``: ``int32[limit, 2]``, written.
    """
    n = 0
    for g in range(len(starts) - 1):
        first = -1
        for i in range(starts[g], starts[g + 1]):
            r = rows[i]
            if unknown and codes[r] < 0:
                continue
            if first < 0:
                first = r
            elif codes[r] != codes[first]:
                found[n, 0], found[n, 1] = rows[i - 1] if codes[rows[i - 1]] == codes[first] else first, r
                n += 1
                if n == len(found):
                    return n
                break
    return n


@njit(cache=True, nogil=True)
def out_of_order(
    rows: Int32Array,
    starts: Int32Array,
    a: Int32Array,
    b: Int32Array,
    unknown: bool,
    against: Int32Array,
    along: Int32Array,
) -> Any:
    """Find pairs of rows of a group in which ``b`` runs against ``a``, and pairs in which it runs along.

    ``rows``: ``int32[positions]``, ``starts``: ``int32[groups + 1]``, the partition, each group in order of ``a``.
    ``a``, ``b``: ``int32[rows of the table]``, codes. ``against``, ``along``: ``int32[limit, 2]``, written: at most
    one pair of each for each group. Returns how many of each.
    """
    n_against, n_along = 0, 0
    for g in range(len(starts) - 1):
        if n_against == len(against) and n_along == len(along):
            break
        top = low = best = least = -1  # rows of greatest and least b: with smaller a; with this a
        code = np.int32(-2)
        need_against, need_along = n_against < len(against), n_along < len(along)
        for i in range(starts[g], starts[g + 1]):
            r = rows[i]
            if unknown and (a[r] < 0 or b[r] < 0):
                continue
            if a[r] != code:
                code = a[r]
                if best >= 0:
                    if top < 0 or b[best] > b[top]:
                        top = best
                    if low < 0 or b[least] < b[low]:
                        low = least
                best = least = r
            else:
                if b[r] >= b[best]:
                    best = r
                if b[r] <= b[least]:
                    least = r
            if top >= 0:
                if need_against and b[r] < b[top]:
                    against[n_against, 0], against[n_against, 1] = top, r
                    n_against += 1
                    need_against = False
                if need_along and b[r] > b[low]:
                    along[n_along, 0], along[n_along, 1] = low, r
                    n_along += 1
                    need_along = False
                if not need_against and not need_along:
                    break
    return n_against, n_along


@njit(cache=True, nogil=True)
def removed_for_equal(rows: Int32Array, starts: Int32Array, codes: Int32Array, unknown: bool, place: Int32Array) -> int:
    """Count the fewest rows without which all rows of each group have one code: all but those with the most
    frequent one.

    ``rows``: ``int32[positions]``, ``starts``: ``int32[groups + 1]``, the partition. ``codes``: ``int32[rows of the
    table]``. ``place``: ``int32[codes + 1]``, scratch space, 0 before and after.
    """
    total = 0
    for g in range(len(starts) - 1):
        most = number = 0
        for i in range(starts[g], starts[g + 1]):
            c = codes[rows[i]] + 1
            if unknown and c == 0:
                continue
            number += 1
            place[c] += _1
            most = max(most, int(place[c]))
        for i in range(starts[g], starts[g + 1]):
            place[codes[rows[i]] + 1] = _0
        total += number - most
    return total


@njit(cache=True, nogil=True)
def removed_for_order(
    rows: Int32Array, starts: Int32Array, a: Int32Array, b: Int32Array, sign: int, unknown: bool
) -> int:
    """Count the fewest rows without which ``b`` (times ``sign``) does not fall while ``a`` rises, in any group.
    ``O(n log n)``.

    ``rows``: ``int32[positions]``, ``starts``: ``int32[groups + 1]``, the partition. ``a``, ``b``: ``int32[rows of
    the table]``, codes. In order of both columns, what can stay is a longest run of values of ``b`` that do not
    fall (patience sorting).
    """
    total = 0
    largest = 0
    for g in range(len(starts) - 1):
        largest = max(largest, starts[g + 1] - starts[g])
    keys, tops = np.empty(largest, np.int64), np.empty(largest, np.int64)
    span = np.int64(1) << 32
    for g in range(len(starts) - 1):
        n = 0
        for i in range(starts[g], starts[g + 1]):
            r = rows[i]
            if not (unknown and (a[r] < 0 or b[r] < 0)):
                keys[n] = a[r] * span + sign * np.int64(b[r])
                n += 1
        keys[:n].sort()
        length = 0
        for i in range(n):
            value = (keys[i] + span // 2) % span  # of b, moved by half the span so that none is negative
            low, high = 0, length
            while low < high:
                middle = (low + high) // 2
                if tops[middle] <= value:
                    low = middle + 1
                else:
                    high = middle
            tops[low] = value
            length = max(length, low + 1)
        total += n - length
    return total
