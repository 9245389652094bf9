"""Some pairs of rows that break a rule: kernels that stop when they have seen enough."""

from __future__ import annotations

from typing import Any

from rowlaw.kernels.arrays import Int32Array, Int64Array, Uint32Array
from rowlaw.kernels.compiling import njit
from rowlaw.rules.outcomes import EQUAL_BIT, HIGHER_BIT, LOWER_BIT


@njit(cache=True, nogil=True)
def unequal_pairs(rows: Int32Array, starts: Int64Array, codes: Int32Array, found: Int32Array) -> int:
    """Find pairs with different codes, the lower one first, one for each group, and count them.

    ``rows``: ``int32[positions]``, ``starts``: ``int64[groups + 1]``. ``codes``: ``int32[rows of the table]``.
    ``found``: ``int32[limit, 2]``, written.
    """
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
def ascents(rows: Int32Array, starts: Int64Array, values: Int32Array, found: Int32Array) -> int:
    """Find pairs where ``s`` stands before ``t`` in its group and has a smaller value, and count them.

    ``rows``: ``int32[positions]``, ``starts``: ``int64[groups + 1]``. ``values``: ``int32[positions]``. ``found``:
    ``int32[limit, 2]``, written. After each pair the walk starts again behind it, so that the pairs come from
    different parts of the group.
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
def scan(
    s_rows: Int32Array,
    s_starts: Int64Array,
    t_rows: Int32Array,
    t_starts: Int64Array,
    left: Int32Array,
    right: Int32Array,
    masks: Int64Array,
    per_group: int,
    found: Int32Array,
) -> int:
    """Find pairs that satisfy all comparisons, by looking at every pair of every group, and count them; at most
    ``per_group`` of a group.

    ``s_rows``: ``int32[s positions]``, ``s_starts``: ``int64[groups + 1]``, and ``t_rows``, ``t_starts`` alike: the
    two sides. ``left``: ``int32[comparisons, s positions]``, ``right``: ``int32[comparisons, t positions]``, the
    codes to compare. ``masks``: ``int64[comparisons]``, the outcomes that each accepts
    (:mod:`rowlaw.rules.outcomes`). ``found``: ``int32[limit, 2]``, written.
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
def count_scanned(
    s_rows: Int32Array,
    s_starts: Int64Array,
    t_rows: Int32Array,
    t_starts: Int64Array,
    left: Int32Array,
    right: Int32Array,
    masks: Int64Array,
    per_row: Uint32Array,
) -> Any:
    """Count the pairs of the groups that satisfy all comparisons, by looking at each.

    ``s_rows``: ``int32[s positions]``, ``s_starts``: ``int64[groups + 1]``, and ``t_rows``, ``t_starts`` alike: the
    two sides. ``left``: ``int32[comparisons, s positions]``, ``right``: ``int32[comparisons, t positions]``, the
    codes to compare. ``masks``: ``int64[comparisons]``, the outcomes that each accepts
    (:mod:`rowlaw.rules.outcomes`). ``per_row``: ``uint32[rows of the table]``, written, or of length 0: each row
    gets the pairs it takes part in.
    """
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
