"""How nearly groups of rows agree on other columns: what laws with exceptions are measured by."""

from __future__ import annotations

from typing import Any

from rowlaw.kernels.compiling import njit


@njit(cache=True, nogil=True)
def grouped(groups: Any, number: int, order: Any, starts: Any) -> None:
    """Write the rows group by group: ``order`` (``int32[rows]``), and where each group begins (``starts``, ``int64[number + 1]``).

    ``groups``: ``int32[rows]``, the group of each row, -1 for rows that are in none; those are left out.
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
def agreement(order: Any, starts: Any, codes: Any, counts: Any) -> Any:
    """Measure how a column varies within groups.

    ``order``, ``starts``: as :func:`grouped` writes them. ``codes``: ``int32[rows]``, null -1: such rows are left out. ``counts``:
    ``int32[distinct]``, zeros, and zeros again afterwards. Returns how many rows were looked at, how many groups they are in, how many
    rows have to go so that each group has one value, and the sum over groups of ``sum(count^2) / size``.
    """
    rows, groups, removed, squares = 0, 0, 0, 0.0
    for g in range(len(starts) - 1):
        size, most, square = 0, 0, 0.0
        for i in range(starts[g], starts[g + 1]):
            code = codes[order[i]]
            if code >= 0:
                size += 1
                counts[code] += 1
                most = max(most, counts[code])
        if size == 0:
            continue
        for i in range(starts[g], starts[g + 1]):
            code = codes[order[i]]
            if code >= 0 and counts[code] > 0:
                square += float(counts[code]) * counts[code]
                counts[code] = 0
        rows += size
        groups += 1
        removed += size - most
        squares += square / size
    return rows, groups, removed, squares
