"""Cutting groups of pairs into smaller ones by an inequality or a difference, and writing pairs out.

Every kernel here works from a cursor up to a limit and says where it stopped, so that the caller can go depth-first
with bounded memory. Sides ascend within groups by the coordinates ``a`` and ``b``, and ``a < b`` is the inequality.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rowlaw.kernels.arrays import Int32Array, Int64Array, Uint64Array
from rowlaw.kernels.compiling import njit

_DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)  # moved up by 0 to 63 bits, its six highest bits are different each time ...
_PLACES = np.empty(64, np.int64)  # ... and say by how many it was
_PLACES[(np.uint64(1) << np.arange(64, dtype=np.uint64)) * _DE_BRUIJN >> np.uint64(58)] = np.arange(64)


@njit(cache=True, nogil=True)
def cut_below(
    s_starts: Int64Array, t_starts: Int64Array, a: Int32Array, b: Int32Array, group: int, place: int, limit: int
) -> Any:
    """Pair the ``s`` of equal or neighbouring values with the ``t`` above them: hash-sort-merge (FACET section 5.3)
    on sorted sides.

    ``s_starts``, ``t_starts``: ``int64[groups + 1]``. ``a``: ``int32[s positions]``, ``b``: ``int32[t positions]``;
    both ascend within groups. ``group`` and ``place`` are where to start. Returns ranges ``(s_from, s_to, t_from,
    t_to)`` of positions (``int64[n, 4]``) of about ``limit`` positions together, and where to go on. Neighbouring
    values with nothing of ``t`` between them stay together.
    """
    ranges = np.empty((1024, 4), np.int64)
    n, size = 0, 0
    while group < len(s_starts) - 1:
        s1, t1 = s_starts[group + 1], t_starts[group + 1]
        i = max(place, s_starts[group])
        j = t_starts[group]
        while i < s1:
            while j < t1 and b[j] <= a[i]:
                j += 1
            if j == t1:
                break
            k = i + 1
            while k < s1 and a[k] < b[j]:
                k += 1
            if n and size + (k - i) + (t1 - j) > limit:
                return ranges[:n], group, i
            if n == len(ranges):
                ranges = np.concatenate((ranges, np.empty_like(ranges)))
            ranges[n, 0], ranges[n, 1], ranges[n, 2], ranges[n, 3] = i, k, j, t1
            size += (k - i) + (t1 - j)
            n += 1
            i = k
        group += 1
        place = 0
    return ranges[:n], group, np.int64(0)


@njit(cache=True, nogil=True)
def cut_unequal(
    s_starts: Int64Array, t_starts: Int64Array, a: Int32Array, b: Int32Array, group: int, place: int, limit: int
) -> Any:
    """Pair the ``s`` of each value with the ``t`` of all others (FACET section 5.2).

    ``s_starts``, ``t_starts``: ``int64[groups + 1]``. ``a``: ``int32[s positions]``, ``b``: ``int32[t positions]``;
    both ascend within groups. ``group`` and ``place`` are where to start. On a sorted side "all others" is two
    ranges: returns ``(s_from, s_to, t_from, t_to, t_from, t_to)`` (``int64[n, 6]``) of about ``limit`` positions
    together, and where to go on.
    """
    ranges = np.empty((1024, 6), np.int64)
    n, size = 0, 0
    while group < len(s_starts) - 1:
        s1, t0, t1 = s_starts[group + 1], t_starts[group], t_starts[group + 1]
        i = max(place, s_starts[group])
        j = t0
        while i < s1:
            k = i + 1
            while k < s1 and a[k] == a[i]:
                k += 1
            while j < t1 and b[j] < a[i]:
                j += 1
            e = j
            while e < t1 and b[e] == a[i]:
                e += 1
            others = (t1 - t0) - (e - j)
            if others:
                if n and size + (k - i) + others > limit:
                    return ranges[:n], group, i
                if n == len(ranges):
                    ranges = np.concatenate((ranges, np.empty_like(ranges)))
                ranges[n, 0], ranges[n, 1], ranges[n, 2], ranges[n, 3] = i, k, t0, j
                ranges[n, 4], ranges[n, 5] = e, t1
                size += (k - i) + others
                n += 1
            i = k
        group += 1
        place = 0
    return ranges[:n], group, np.int64(0)


@njit(cache=True, nogil=True)
def gather(ranges: Int64Array, rows: Int32Array, first: int) -> Any:
    """Lay the rows of ranges out, group after group: rows (``int32``) and starts (``int64``).

    ``ranges``: ``int64[n, 4 or 6]``, as :func:`cut_below` and :func:`cut_unequal` make them; ``first`` is 0 for the
    ranges of ``s`` and 2 for those of ``t``. ``rows``: ``int32[positions]``.
    """
    n = len(ranges)
    starts = np.zeros(n + 1, np.int64)
    last = ranges.shape[1] if first else 2
    for g in range(n):
        size = 0
        for c in range(first, last, 2):
            size += ranges[g, c + 1] - ranges[g, c]
        starts[g + 1] = starts[g] + size
    out = np.empty(starts[n], np.int32)
    k = 0
    for g in range(n):
        for c in range(first, last, 2):
            for i in range(ranges[g, c], ranges[g, c + 1]):
                out[k] = rows[i]
                k += 1
    return out, starts


@njit(cache=True, nogil=True)
def _next_bit(words: Uint64Array, summary: Uint64Array, start: int) -> int:
    """Find the first set bit from ``start`` on, or -1.

    ``words``: ``uint64[words]``. ``summary``: ``uint64[words / 64]``, a bit for each word that is not 0.
    """
    word = start >> 6
    if word >= len(words):
        return -1
    value = words[word] & (~np.uint64(0) << np.uint64(start & 63))
    if value == 0:
        block = (word + 1) >> 6
        if block >= len(summary):
            return -1
        rest = summary[block] & (~np.uint64(0) << np.uint64((word + 1) & 63))
        while rest == 0:
            block += 1
            if block >= len(summary):
                return -1
            rest = summary[block]
        word = (block << 6) + _lowest(rest)
        value = words[word]
    return (word << 6) + _lowest(value)


@njit(cache=True, nogil=True, inline="always")
def _lowest(value: np.uint64) -> int:
    """Give the position of the lowest set bit."""
    return _PLACES[(value & (~value + np.uint64(1))) * _DE_BRUIJN >> np.uint64(58)]  # type: ignore[no-any-return]


@njit(cache=True, nogil=True)
def ie_join(
    s_rows: Int32Array,
    s_starts: Int64Array,
    t_rows: Int32Array,
    t_starts: Int64Array,
    a: Int32Array,
    b: Int32Array,
    t_order: np.ndarray,
    group: int,
    place: int,
    limit: int,
) -> Any:
    """Pair rows under two inequalities at once, ``a[0] < b[0]`` and ``a[1] < b[1]``: IEJoin (FACET section 5.3).

    ``s_rows``: ``int32[s positions]``, ``s_starts``: ``int64[groups + 1]``, and ``t_rows``, ``t_starts`` alike: the
    two sides. ``a``: ``int32[2, s positions]``, ``b``: ``int32[2, t positions]``; both ascend by the first
    inequality within groups. ``t_order``: integers ``[t positions]``, the positions of ``t`` by the second
    inequality, group after group. ``group`` and ``place`` are where to start. Returns rows (``int32``) and ends
    (``int64``) of the groups of both sides, about ``limit`` rows, and where to go on.

    Going down the first inequality, every ``t`` that comes into reach sets its bit in the order of the second; the
    partners of an ``s`` are the bits above its own position there. The bitmap only grows while a group is worked
    through; neighbours with the same partners stay together.
    """
    longest = 0
    for g in range(len(t_starts) - 1):
        longest = max(longest, t_starts[g + 1] - t_starts[g])
    s_out, t_out = np.empty(limit + len(s_rows), np.int32), np.empty(limit + longest, np.int32)
    s_ends, t_ends = np.empty(1024, np.int64), np.empty(1024, np.int64)
    words = np.zeros((longest >> 6) + 1, np.uint64)
    summary = np.zeros((len(words) >> 6) + 1, np.uint64)
    rank = np.empty(longest, np.int64)
    n, s_n, t_n = 0, 0, 0
    while group < len(s_starts) - 1:
        s0, s1, t0, t1 = s_starts[group], s_starts[group + 1], t_starts[group], t_starts[group + 1]
        size = t1 - t0
        words[: (size >> 6) + 1] = 0
        summary[:] = 0
        for k in range(size):
            rank[t_order[t0 + k] - t0] = k
        i = s1 - 1 - place
        j = t1 - 1
        last_low, last_j, open_group = -1, -1, False
        while i >= s0:
            while j >= t0 and b[0, j] > a[0, i]:
                bit = rank[j - t0]
                words[bit >> 6] |= np.uint64(1) << np.uint64(bit & 63)
                summary[bit >> 12] |= np.uint64(1) << np.uint64((bit >> 6) & 63)
                j -= 1
            low, high = 0, size  # first place in the second order with b above a
            while low < high:
                middle = (low + high) >> 1
                if b[1, t_order[t0 + middle]] <= a[1, i]:
                    low = middle + 1
                else:
                    high = middle
            if open_group and low == last_low and j == last_j:
                s_out[s_n] = s_rows[i]
                s_n += 1
                s_ends[n - 1] = s_n
            else:
                if t_n >= limit or s_n >= limit:
                    return s_out[:s_n], s_ends[:n], t_out[:t_n], t_ends[:n], group, s1 - 1 - i
                begin = t_n
                bit = _next_bit(words, summary, low)
                while bit >= 0:
                    t_out[t_n] = t_rows[t_order[t0 + bit]]
                    t_n += 1
                    bit = _next_bit(words, summary, bit + 1)
                last_low, last_j, open_group = low, j, t_n > begin
                if open_group:
                    if n == len(s_ends):
                        s_ends, t_ends = np.append(s_ends, s_ends), np.append(t_ends, t_ends)
                    s_out[s_n] = s_rows[i]
                    s_n += 1
                    s_ends[n], t_ends[n] = s_n, t_n
                    n += 1
            i -= 1
        group += 1
        place = 0
    return s_out[:s_n], s_ends[:n], t_out[:t_n], t_ends[:n], group, np.int64(0)


@njit(cache=True, nogil=True)
def write_pairs(
    s_rows: Int32Array,
    s_starts: Int64Array,
    t_rows: Int32Array,
    t_starts: Int64Array,
    group: int,
    place: int,
    limit: int,
) -> Any:
    """Write the pairs of different rows of groups, from ``group`` and row ``place`` of its shorter side on.

    ``s_rows``: ``int32[s positions]``, ``s_starts``: ``int64[groups + 1]``, and ``t_rows``, ``t_starts`` alike: the
    two sides. Ends after ``limit`` pairs, or more by those of one row of the shorter side. Returns rows ``s``, rows
    ``t`` (both ``int32``), and where to go on.
    """
    s_out, t_out = np.empty(limit, np.int32), np.empty(limit, np.int32)
    n = 0
    while group < len(s_starts) - 1:
        s_from, s_to, t_from, t_to = s_starts[group], s_starts[group + 1], t_starts[group], t_starts[group + 1]
        by_s = s_to - s_from <= t_to - t_from  # the longer side is the inner loop
        longer = t_to - t_from if by_s else s_to - s_from
        for i in range((s_from if by_s else t_from) + place, s_to if by_s else t_to):
            if n >= limit:
                return s_out[:n], t_out[:n], group, i - (s_from if by_s else t_from)
            if n + longer > len(s_out):
                s_out, t_out = _longer(s_out, n, longer), _longer(t_out, n, longer)
            if by_s:
                s = s_rows[i]
                for j in range(t_from, t_to):
                    t = t_rows[j]
                    s_out[n], t_out[n] = s, t
                    n += s != t
            else:
                t = t_rows[i]
                for j in range(s_from, s_to):
                    s = s_rows[j]
                    s_out[n], t_out[n] = s, t
                    n += s != t
        group += 1
        place = 0
    return s_out[:n], t_out[:n], group, 0


@njit(cache=True, nogil=True)
def _longer(array: Int32Array, used: int, more: int) -> Int32Array:
    """Copy the first ``used`` elements of ``array`` (``int32[n]``) to one with capacity for ``more`` others."""
    longer = np.empty(used + more, array.dtype)
    longer[:used] = array[:used]
    return longer
