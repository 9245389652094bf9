"""Some pairs of rows that break a rule: kernels that stop when they have seen enough."""

from __future__ import annotations

from typing import Any

from rowlaw.kernels.compiling import njit
from rowlaw.rules.outcomes import EQUAL_BIT, HIGHER_BIT, LOWER_BIT


@njit(cache=True, nogil=True)
def unequal_pairs(rows: Any, starts: Any, codes: Any, found: Any) -> int:
    """Up to ``len(found)`` pairs with different codes, the lower one first, one for each group; returns how many."""
    n = 0
    for g in range(len(starts) - 1):
        first = rows[starts[g]]
        for i in range(starts[g] + 1, starts[g + 1]):
            other = rows[i]
            if codes[other] != codes[first]:
                if n == len(found):
                    return n
                if codes[other] > codes[first]:
                    found[n, 0], found[n, 1] = first, other
                else:
                    found[n, 0], found[n, 1] = other, first
                n += 1
                break
    return n


@njit(cache=True, nogil=True)
def ascents(rows: Any, starts: Any, values: Any, found: Any) -> int:
    """Up to ``len(found)`` pairs where ``s`` stands before ``t`` in its group and has a smaller value; returns how many.

    After a find the walk begins afresh behind it, so that the pairs come from all over the group.
    """
    n = 0
    for g in range(len(starts) - 1):
        low = starts[g]
        for i in range(starts[g] + 1, starts[g + 1]):
            if values[i] > values[low]:
                if n == len(found):
                    return n
                found[n, 0], found[n, 1] = rows[low], rows[i]
                n += 1
                low = i
            elif values[i] < values[low]:
                low = i
    return n


@njit(cache=True, nogil=True)
def scan(s_rows: Any, s_starts: Any, t_rows: Any, t_starts: Any, left: Any, right: Any, masks: Any, per_group: int, found: Any) -> int:
    """Up to ``len(found)`` pairs that satisfy all comparisons, by looking at every pair of every group; returns how many.

    ``left`` and ``right`` hold the codes to compare, a line per comparison and a column per place; a mask is the set of outcomes
    it accepts (:mod:`rowlaw.rules.outcomes`).
    """
    n = 0
    for g in range(len(s_starts) - 1):
        here = 0
        for i in range(s_starts[g], s_starts[g + 1]):
            for j in range(t_starts[g], t_starts[g + 1]):
                good = s_rows[i] != t_rows[j]
                for c in range(len(masks)):
                    a, b = left[c, i], right[c, j]
                    outcome = LOWER_BIT if a < b else (EQUAL_BIT if a == b else HIGHER_BIT)
                    if masks[c] & outcome == 0:
                        good = False
                        break
                if good:
                    if n == len(found):
                        return n
                    found[n, 0], found[n, 1] = s_rows[i], t_rows[j]
                    n += 1
                    here += 1
                    if here == per_group:
                        break
            if here == per_group:
                break
    return n


@njit(cache=True, nogil=True)
def count_scanned(s_rows: Any, s_starts: Any, t_rows: Any, t_starts: Any, left: Any, right: Any, masks: Any, per_row: Any) -> Any:
    """How many pairs of the groups satisfy all comparisons, looked at one by one; ``per_row`` (empty if not wanted) as in counting."""
    total = 0
    for g in range(len(s_starts) - 1):
        for i in range(s_starts[g], s_starts[g + 1]):
            s = s_rows[i]
            for j in range(t_starts[g], t_starts[g + 1]):
                good = s != t_rows[j]
                k = 0
                while good and k < len(masks):
                    a, b = left[k, i], right[k, j]
                    good = masks[k] & (LOWER_BIT if a < b else EQUAL_BIT if a == b else HIGHER_BIT) != 0
                    k += 1
                if good:
                    total += 1
                    if len(per_row):
                        per_row[s] += 1
                        per_row[t_rows[j]] += 1
    return total
