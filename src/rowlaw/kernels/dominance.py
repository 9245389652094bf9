"""Counting pairs under several inequalities without looking at pairs.

All inequalities of a rule are brought to the form ``a_k < b_k`` (strict, of integers) by the caller. The rows of one
group become *elements*: an ``s`` element has coordinates ``a``, a ``t`` element ``b``, doubled so that an odd number
marks an ``s`` and at a tie the ``t`` comes first: then ``a < b`` is simply "comes before".

Two inequalities: lay the elements out by the first and count, while merge-sorting by the second, how many ``s`` come
from the left half below each ``t`` of the right one. More: split by the value of one coordinate at its median; pairs
across the split satisfy it and are counted by the remaining coordinates, pairs within a half by recursion.
``O(n log n)`` for two, a factor ``log n`` for each further one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rowlaw.kernels.arrays import Int32Array, Int64Array, IntArray, Uint32Array
from rowlaw.kernels.compiling import njit

_RUN = 16  # runs this short are sorted and counted by insertion
_BRUTE = 48  # lists this short are counted pair by pair
_SAMPLE = 31  # values looked at for a median


@njit(cache=True, nogil=True)
def merge_count(values: IntArray, counts: Int64Array) -> Any:
    """Count for elements laid out by one coordinate how many they dominate or are dominated by, given the other.

    ``values``: ``int32`` or ``int64[n]``, the other coordinate (odd: an ``s``), written, of no use afterwards.
    ``counts``: ``int64[n]``, written. Returns the order of the elements by the other coordinate (``int32[n]``) and
    ``counts`` in that order, increased: for a ``t`` by the ``s`` elements before it in both coordinates, for an
    ``s`` by the ``t`` elements after it in both.
    """
    n = len(values)
    order = np.arange(n).astype(np.int32)
    for low in range(0, n, _RUN):
        high = min(low + _RUN, n)
        for i in range(low + 1, high):
            value, place = values[i], order[i]
            count = np.int64(0)
            j = i - 1
            is_t = value & 1 == 0
            # the run before i is sorted: its elements above `value` move up, those below are walked for the count
            while j >= low and values[j] > value:
                values[j + 1], order[j + 1], counts[j + 1] = values[j], order[j], counts[j]
                j -= 1
            values[j + 1], order[j + 1] = value, place
            if is_t:
                for k in range(low, j + 1):
                    if values[k] & 1 == 1:
                        count += 1
                        counts[k] += 1
            counts[j + 1] = count
    other, other_order, other_counts = np.empty_like(values), np.empty_like(order), np.empty_like(counts)
    width = _RUN
    while width < n:
        for low in range(0, n, 2 * width):
            middle, high = min(low + width, n), min(low + 2 * width, n)
            below = np.int64(0)  # s elements of the left half passed so far
            above = np.int64(0)  # t elements of the right half not passed yet
            for j in range(middle, high):
                above += 1 - (values[j] & 1)
            i, j = low, middle
            for k in range(low, high):
                if j >= high or (i < middle and values[i] <= values[j]):
                    value = values[i]
                    odd = value & 1
                    below += odd
                    other[k], other_order[k] = value, order[i]
                    other_counts[k] = counts[i] + odd * above
                    i += 1
                else:
                    value = values[j]
                    even = 1 - (value & 1)
                    above -= even
                    other[k], other_order[k] = value, order[j]
                    other_counts[k] = counts[j] + even * below
                    j += 1
        values, other = other, values
        order, other_order = other_order, order
        counts, other_counts = other_counts, counts
        width *= 2
    return order, counts


@njit(cache=True, nogil=True)
def _brute(points: IntArray, places: Int32Array, first: int, counts: Int64Array) -> None:
    """Count the pairs of a few elements one by one, by the coordinates from ``first`` on.

    ``points``: ``int32`` or ``int64[coordinates, n]``. ``places``: ``int32[few]``, which elements. ``counts``:
    ``int64[n]``, written.
    """
    dims = len(points)
    for x in range(len(places)):
        i = places[x]
        if points[0, i] & 1 == 0:
            continue
        for y in range(len(places)):
            j = places[y]
            if points[0, j] & 1 == 1:
                continue
            good = True
            for d in range(first, dims):
                if points[d, i] > points[d, j]:
                    good = False
                    break
            if good:
                counts[i] += 1
                counts[j] += 1


@njit(cache=True, nogil=True)
def _pivot(points: IntArray, dim: int, places: Int32Array) -> np.int64:
    """Give a value near the median that leaves elements on both sides of "below it", or -1 if all values are equal.

    ``points``: ``int32`` or ``int64[coordinates, n]``, of which ``dim`` counts. ``places``: ``int32[some]``, which
    elements.
    """
    n = len(places)
    sample = np.empty(min(n, _SAMPLE), points.dtype)
    step = n // len(sample)
    for k in range(len(sample)):
        value = points[dim, places[k * step]]
        j = k - 1
        while j >= 0 and sample[j] > value:
            sample[j + 1] = sample[j]
            j -= 1
        sample[j + 1] = value
    pivot = sample[len(sample) // 2]
    lowest, above = pivot, np.int64(-1)
    for k in range(n):
        value = points[dim, places[k]]
        lowest = min(lowest, value)
        if value > pivot and (above < 0 or value < above):
            above = value
    return np.int64(pivot) if lowest < pivot else above


@njit(cache=True, nogil=True)
def _divide(points: IntArray, counts: Int64Array) -> None:
    """Count pairs among elements laid out by the last but one coordinate.

    ``points``: ``int32`` or ``int64[coordinates, n]``. ``counts``: ``int64[n]``, written. Works through a stack of
    lists of elements, each with the first coordinate that is still to be satisfied. (A recursive kernel would read
    better, and crashes when Numba loads it from its cache.)
    """
    dims, n = points.shape
    buffer = np.empty(4 * n + 64, np.int32)
    lengths, firsts = np.empty(4096, np.int64), np.empty(4096, np.int64)
    for i in range(n):
        buffer[i] = i
    lengths[0], firsts[0] = n, 0
    depth, top = 1, n
    while depth:
        depth -= 1
        size, first = lengths[depth], firsts[depth]
        top -= size
        places = buffer[top : top + size].copy()
        if size <= _BRUTE:
            _brute(points, places, first, counts)
            continue
        if first == dims - 2:
            values = np.empty(size, points.dtype)
            for k in range(size):
                values[k] = points[dims - 1, places[k]]
            order, above = merge_count(values, np.zeros(size, np.int64))
            for k in range(size):
                counts[places[order[k]]] += above[k]
            continue
        pivot = _pivot(points, first, places)
        if pivot < 0:
            continue  # no value is below another
        if top + 2 * size > len(buffer):
            larger = np.empty(2 * (top + 2 * size), np.int32)
            for i in range(top):
                larger[i] = buffer[i]
            buffer = larger
        if depth + 3 > len(lengths):
            lengths, firsts = np.append(lengths, lengths), np.append(firsts, firsts)
        # across the split this coordinate is satisfied; within a half it is not decided yet
        for part in range(3):
            begin = top
            for k in range(size):
                place = places[k]
                low = points[first, place] < pivot
                is_s = points[0, place] & 1 == 1
                if (part == 0 and low) or (part == 1 and not low) or (part == 2 and low == is_s):
                    buffer[top] = place
                    top += 1
            lengths[depth], firsts[depth] = top - begin, first + (part == 2)
            depth += 1


@njit(cache=True, nogil=True)
def count_dominated(
    s_rows: Int32Array,
    s_starts: Int64Array,
    t_rows: Int32Array,
    t_starts: Int64Array,
    a: IntArray,
    b: IntArray,
    sign: int,
    per_row: Uint32Array,
) -> int:
    """Count the pairs of each group with ``a[k] < b[k]`` for every inequality ``k``, two or more, times ``sign``.

    ``s_rows``: ``int32[s positions]``, ``s_starts``: ``int64[groups + 1]``, and ``t_rows``, ``t_starts`` alike: the
    two sides. ``a``: ``int32`` or ``int64[inequalities, s positions]``, ``b``: the same for ``t``; within a group
    both ascend by the last but one inequality. ``per_row``: ``uint32[rows of the table]``, written, or of length 0:
    each row gets the pairs it takes part in, on either side, times ``sign``.
    """
    dims = len(a)
    total = 0
    for g in range(len(s_starts) - 1):
        s0, s1, t0, t1 = s_starts[g], s_starts[g + 1], t_starts[g], t_starts[g + 1]
        n = (s1 - s0) + (t1 - t0)
        points = np.empty((dims, n), a.dtype)
        rows = np.empty(n, np.int32)
        i, j = s0, t0
        for k in range(n):
            # a tie is no pair, so the t comes first
            if j >= t1 or (i < s1 and a[dims - 2, i] < b[dims - 2, j]):
                for d in range(dims):
                    points[d, k] = 2 * a[d, i] + 1
                rows[k] = s_rows[i]
                i += 1
            else:
                for d in range(dims):
                    points[d, k] = 2 * b[d, j]
                rows[k] = t_rows[j]
                j += 1
        counts = np.zeros(n, np.int64)
        if dims == 2:
            order, larger = merge_count(points[1].copy(), np.zeros(n, np.int64))
            for k in range(n):
                counts[order[k]] = larger[k]
        else:
            _divide(points, counts)
        for k in range(n):
            if points[0, k] & 1 == 0:
                total += counts[k]
            if len(per_row):
                per_row[rows[k]] += sign * counts[k]
    return sign * total


@njit(cache=True, nogil=True)
def count_ascents(rows: Int32Array, starts: Int64Array, values: IntArray, sign: int, per_row: Uint32Array) -> int:
    """Count the pairs ``(s, t)`` of each group where ``s`` stands before ``t`` and has a smaller value, times
    ``sign``.

    ``rows``: ``int32[positions]``, ``starts``: ``int64[groups + 1]``. ``values``: ``int32`` or
    ``int64[positions]``. ``per_row``: ``uint32[rows of the table]``, written, or of length 0: each row gets the
    pairs it takes part in, on either side, times ``sign``.

    Two strict inequalities on the same columns of both rows: a row need not be two elements, which halves the work
    of :func:`count_dominated`. The caller lays a group out by one column and, at ties, against the other.
    """
    total = 0
    longest = 0
    for g in range(len(starts) - 1):
        longest = max(longest, starts[g + 1] - starts[g])
    x, y = np.empty(longest, values.dtype), np.empty(longest, values.dtype)
    tallied = len(per_row) > 0
    extra = longest if tallied else 0
    x_rows, y_rows = np.empty(extra, np.int32), np.empty(extra, np.int32)
    x_counts, y_counts = np.empty(extra, np.int64), np.empty(extra, np.int64)
    for g in range(len(starts) - 1):
        start, n = starts[g], starts[g + 1] - starts[g]
        for low in range(0, n, _RUN):
            for i in range(low, min(low + _RUN, n)):
                value = values[start + i]
                j = i - 1
                while j >= low and x[j] >= value:
                    x[j + 1] = x[j]
                    if tallied:
                        x_rows[j + 1], x_counts[j + 1] = x_rows[j], x_counts[j]
                    j -= 1
                x[j + 1] = value
                total += j + 1 - low
                if tallied:
                    x_rows[j + 1], x_counts[j + 1] = rows[start + i], j + 1 - low
                    for k in range(low, j + 1):
                        x_counts[k] += 1
        width = _RUN
        while width < n:
            for low in range(0, n, 2 * width):
                middle, high = min(low + width, n), min(low + 2 * width, n)
                i, j = low, middle
                for k in range(low, high):
                    # at a tie the right one goes first: equal values are no pair
                    if j >= high or (i < middle and x[i] < x[j]):
                        y[k] = x[i]
                        if tallied:
                            y_rows[k], y_counts[k] = x_rows[i], x_counts[i] + (high - j)
                        i += 1
                    else:
                        y[k] = x[j]
                        total += i - low
                        if tallied:
                            y_rows[k], y_counts[k] = x_rows[j], x_counts[j] + (i - low)
                        j += 1
            x, y = y, x
            x_rows, y_rows = y_rows, x_rows
            x_counts, y_counts = y_counts, x_counts
            width *= 2
        if tallied:
            for k in range(n):
                per_row[x_rows[k]] += sign * x_counts[k]
    return sign * total


@njit(cache=True, nogil=True)
def count_ascents_narrow(
    rows: Int32Array, starts: Int64Array, values: IntArray, width: int, sign: int, per_row: Uint32Array
) -> np.int64:
    """Count as :func:`count_ascents`, for few values ``0 .. width - 1``: a Fenwick tree of counts stays in the
    first-level cache.

    ``rows``: ``int32[positions]``, ``starts``: ``int64[groups + 1]``. ``values``: ``int32`` or
    ``int64[positions]``. ``per_row``: ``uint32[rows of the table]``, written, or of length 0: each row gets the
    pairs it takes part in, on either side, times ``sign``.

    ``O(n + r log width)`` for ``r`` runs of equal values, which are no pairs among themselves: forward for the
    smaller values before each run and, where per-row counts are wanted, backward for the greater ones after it.
    """
    total = np.int64(0)
    tree = np.zeros(width + 1, np.int64)
    for g in range(len(starts) - 1):
        begin, end = starts[g], starts[g + 1]
        tree[:] = 0
        before = np.empty(end - begin if len(per_row) else 0, np.uint32)  # by the last row of each run
        i = begin
        while i < end:
            value, first = np.int64(values[i]), i
            i += 1
            while i < end and values[i] == value:
                i += 1
            below = np.int64(0)
            k = value  # counts of the values below this one
            while k > 0:
                below += tree[k]
                k &= k - 1
            total += below * (i - first)
            if len(per_row):
                before[i - 1 - begin] = below
            k = value + 1
            while k <= width:
                tree[k] += i - first
                k += k & -k
        if len(per_row):
            tree[:] = 0
            i = end - 1
            while i >= begin:
                value, last = np.int64(values[i]), i
                above = np.int64(before[i - begin])
                k = width - 1 - value  # the values turned round: above becomes below
                place = k
                while k > 0:
                    above += tree[k]
                    k &= k - 1
                while i >= begin and values[i] == value:
                    per_row[rows[i]] += sign * above  # rows are all over memory: once is enough
                    i -= 1
                k = place + 1
                while k <= width:
                    tree[k] += last - i
                    k += k & -k
    return sign * total
