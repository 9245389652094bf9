"""The first pair of rows that breaks a rule: kernels that stop when they have seen one."""

from __future__ import annotations

from typing import Any

from numba import njit


@njit(cache=True, nogil=True)
def any_pair(s_rows: Any, s_starts: Any, t_rows: Any, t_starts: Any) -> Any:
    """Two different rows of one group."""
    for g in range(len(s_starts) - 1):
        for i in range(s_starts[g], s_starts[g + 1]):
            for j in range(t_starts[g], t_starts[g + 1]):
                if s_rows[i] != t_rows[j]:
                    return s_rows[i], t_rows[j]
    return -1, -1


@njit(cache=True, nogil=True)
def unequal(rows: Any, starts: Any, codes: Any) -> Any:
    """Two rows of one group with different codes, the lower one first. One walk, no sorting."""
    for g in range(len(starts) - 1):
        first = rows[starts[g]]
        for i in range(starts[g] + 1, starts[g + 1]):
            other = rows[i]
            if codes[other] > codes[first]:
                return first, other
            if codes[other] < codes[first]:
                return other, first
    return -1, -1


@njit(cache=True, nogil=True)
def ascent(rows: Any, starts: Any, values: Any) -> Any:
    """Rows ``s`` before ``t`` in one group with a smaller value: it is enough to remember the smallest so far."""
    for g in range(len(starts) - 1):
        low = starts[g]
        for i in range(starts[g] + 1, starts[g + 1]):
            if values[i] > values[low]:
                return rows[low], rows[i]
            if values[i] < values[low]:
                low = i
    return -1, -1
