"""How nearly groups of rows agree on other columns: what laws with exceptions are measured by."""

from __future__ import annotations

from typing import Any

from rowlaw.kernels.arrays import Int32Array, Int64Array
from rowlaw.kernels.compiling import njit


@njit(cache=True, nogil=True)
def grouped(groups: Int32Array, number: int, order: Int32Array, starts: Int64Array) -> None:
    """Write the rows group by group, and where each group begins.

    ``groups``: ``int32[rows]``, the group of each row, -1 for rows that are in none; those are left out. Written:
    ``order`` (``int32[rows]``) and ``starts`` (``int64[number + 1]``).
    """
    for g in range(number + 1):
        starts[g] = 0
    for i in range(len(groups)):
        if groups[i] >= 0:
            starts[groups[i] + 1] += 1
    for g in range(number):
        starts[g + 1] += starts[g]
    at = starts[:number].copy()
    for i in range(len(groups)):
        if groups[i] >= 0:
            order[at[groups[i]]] = i
            at[groups[i]] += 1


@njit(cache=True, nogil=True)
def agreement(
    order: Int32Array, starts: Int64Array, codes: Int32Array, counts: Int32Array, large: int, doubtful: int
) -> Any:
    """Measure how a column varies within groups.

    ``order``: ``int32[rows]``, ``starts``: ``int64[groups + 1]``, as :func:`grouped` writes them. ``codes``:
    ``int32[rows]``, null -1: such rows are left out. ``counts``: ``int32[distinct]``, scratch space, 0 before and
    after. Returns how many rows were looked at, how many groups they are in, how many rows have to go so that each
    group has one value, and the sum over groups of ``sum(count^2) / size``; then, of groups of at least ``large``
    rows, how many rows they have, and how many of these are in groups of which at least half have one value; and of
    groups in which at least ``doubtful`` rows differ from the most frequent value, how many do, and how many of
    those have the second value.
    """
    rows, groups, removed, squares = 0, 0, 0, 0.0
    in_large, agreed, differing, second_value = 0, 0, 0, 0
    for g in range(len(starts) - 1):
        size, most, second, square = 0, 0, 0, 0.0
        for i in range(starts[g], starts[g + 1]):
            code = codes[order[i]]
            if code >= 0:
                size += 1
                counts[code] += 1
        if size == 0:
            continue
        for i in range(starts[g], starts[g + 1]):
            code = codes[order[i]]
            if code >= 0 and counts[code] > 0:
                count = counts[code]
                square += float(count) * count
                if count > most:
                    second = most
                    most = count
                elif count > second:
                    second = count
                counts[code] = 0
        rows += size
        groups += 1
        removed += size - most
        squares += square / size
        if size >= large:
            in_large += size
            if 2 * most >= size:
                agreed += size
        if size - most >= doubtful:
            differing += size - most
            second_value += second
    return rows, groups, removed, squares, in_large, agreed, differing, second_value
