"""What holds within the groups of a stripped partition (see `partitions`), and which pairs of rows break what does not.

``codes`` has a line per column. With ``unknown`` a negative code (null) agrees with nothing and is in no comparison.
"""

from __future__ import annotations

import numpy as np

from rowlaw.kernels.arrays import Int32Array, Int64Array, Uint8Array
from rowlaw.kernels.compiling import njit
from rowlaw.kernels.partitions import arrange

BROKEN, HOLDS, HOLDS_FULLY = 0, 1, 2  # fully: no value of the column is unknown in any group
_NONE = np.int64(-(2**40))  # below every code


@njit(cache=True, nogil=True)
def constants(
    rows: Int32Array, starts: Int32Array, codes: Int32Array, columns: Int64Array, unknown: bool, out: Uint8Array
) -> None:
    """Decide whether each column is constant within every group.

    ``rows``: ``int32[positions]``, ``starts``: ``int32[groups + 1]``, the partition. ``codes``: ``int32[columns,
    rows of the table]``. ``columns``: ``int64[asked]``. ``out``: ``uint8[asked]``, written: BROKEN, HOLDS or
    HOLDS_FULLY.
    """
    for c in range(len(columns)):
        values = codes[columns[c]]
        answer = HOLDS_FULLY
        for g in range(len(starts) - 1):
            first = np.int32(-2)
            for i in range(starts[g], starts[g + 1]):
                code = values[rows[i]]
                if unknown and code < 0:
                    answer = HOLDS
                elif first < -1:
                    first = code
                elif code != first:
                    answer = BROKEN
                    break
            if answer == BROKEN:
                break
        out[c] = answer


@njit(cache=True, nogil=True)
def orders(
    rows: Int32Array,
    starts: Int32Array,
    codes: Int32Array,
    by_value: Int32Array,
    sides: Int64Array,
    unknown: bool,
    out: Uint8Array,
) -> None:
    """Decide whether two columns are order compatible within every group, for each of ``sides``.

    ``rows``: ``int32[positions]``, ``starts``: ``int32[groups + 1]``, the partition. ``codes``: ``int32[columns,
    rows of the table]``. ``by_value``: ``int32[columns, rows of the table]``, all rows in order of each column.
    ``sides``: ``int64[asked, 3]``: left, right, whether the right one descends; those with one left column stand
    together, and share its sorted partition. ``out``: ``uint8[asked]``, written: BROKEN or HOLDS.

    It is enough to compare each class of equal left values with the one before it: if no value is below the highest
    of that class, the highest values ascend from class to class.
    """
    group = np.full(codes.shape[1], -1, np.int32)
    arranged = rows
    last = -1
    for c in range(len(sides)):
        left, right, sign = codes[sides[c, 0]], codes[sides[c, 1]], -1 if sides[c, 2] else 1
        if sides[c, 0] != last:
            last = sides[c, 0]
            arranged = arrange(rows, starts, left, by_value[last], group)
        out[c] = HOLDS
        for g in range(len(starts) - 1):
            value, floor, high = _NONE, _NONE, _NONE
            for i in range(starts[g], starts[g + 1]):
                a, b = np.int64(left[arranged[i]]), np.int64(right[arranged[i]])
                if unknown and (a < 0 or b < 0):
                    continue
                b *= sign
                if a != value:
                    value, floor, high = a, high, b
                elif b > high:
                    high = b
                if b < floor:
                    out[c] = BROKEN
                    break
            if out[c] == BROKEN:
                break


@njit(cache=True, nogil=True)
def unlike(
    rows: Int32Array, starts: Int32Array, codes: Int32Array, column: int, unknown: bool, most: int
) -> Int32Array:
    """Find pairs that show that a column is not constant: ``int32[n, 2]``, the ``most`` that agree on most columns.

    ``rows``: ``int32[positions]``, ``starts``: ``int32[groups + 1]``, the partition. ``codes``: ``int32[columns,
    rows of the table]``. Each row is compared with the first row of its group.
    """
    best, scores, n = np.empty((most, 2), np.int32), np.empty(most, np.int32), 0
    values = codes[column]
    for g in range(len(starts) - 1):
        first = np.int32(-1)
        for i in range(starts[g], starts[g + 1]):
            row = rows[i]
            if unknown and values[row] < 0:
                continue
            if first < 0:
                first = row
            elif values[row] != values[first]:
                n = _offer(codes, unknown, first, row, best, scores, n)
    return best[:n]


@njit(cache=True, nogil=True)
def swaps(
    rows: Int32Array,
    starts: Int32Array,
    codes: Int32Array,
    by_value: Int32Array,
    left: int,
    right: int,
    descending: bool,
    unknown: bool,
    most: int,
) -> Int32Array:
    """Find pairs that show that two columns are not order compatible: ``int32[n, 2]``, the ``most`` that agree on
    most columns.

    ``rows``: ``int32[positions]``, ``starts``: ``int32[groups + 1]``, the partition. ``codes``: ``int32[columns,
    rows of the table]``. ``by_value``: ``int32[columns, rows of the table]``, all rows in order of each column. The
    highest row of a class of equal left values is compared with each lower one of the next class.
    """
    best, scores, n = np.empty((most, 2), np.int32), np.empty(most, np.int32), 0
    arranged = arrange(rows, starts, codes[left], by_value[left], np.full(codes.shape[1], -1, np.int32))
    sign = -1 if descending else 1
    for g in range(len(starts) - 1):
        value, floor, high = _NONE, _NONE, _NONE
        floor_row, high_row = np.int32(-1), np.int32(-1)
        for i in range(starts[g], starts[g + 1]):
            row = arranged[i]
            a, b = np.int64(codes[left, row]), np.int64(codes[right, row])
            if unknown and (a < 0 or b < 0):
                continue
            b *= sign
            if a != value:
                value, floor, floor_row, high, high_row = a, high, high_row, b, row
            elif b > high:
                high, high_row = b, row
            if b < floor:
                n = _offer(codes, unknown, floor_row, row, best, scores, n)
    return best[:n]


@njit(cache=True, nogil=True)
def _offer(codes: Int32Array, unknown: bool, s: int, t: int, best: Int32Array, scores: Int32Array, n: int) -> int:
    """Keep a pair if it agrees on more columns than the worst one kept. Returns how many are kept.

    ``codes``: ``int32[columns, rows of the table]``. ``best``: ``int32[limit, 2]`` and ``scores``:
    ``int32[limit]``, of which ``n`` are in use, both written.
    """
    score = np.int32(0)
    for c in range(codes.shape[0]):
        if codes[c, s] == codes[c, t] and not (unknown and codes[c, s] < 0):
            score += np.int32(1)
    place = n
    if n == len(best):
        place = 0
        for i in range(1, n):
            if scores[i] < scores[place]:
                place = i
        if score <= scores[place]:
            return n
    best[place, 0], best[place, 1], scores[place] = s, t, score
    return max(n, place + 1)
