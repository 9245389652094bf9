"""What holds within the groups of a stripped partition (see `partitions`), and which pairs of rows break what does not.

``codes`` has a line per column. With ``unknown`` a negative code (null) agrees with nothing and is in no comparison.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rowlaw.kernels.compiling import njit
from rowlaw.kernels.partitions import arrange

BROKEN, HOLDS, HOLDS_FULLY = 0, 1, 2  # fully: no value of the column is unknown in any group
_NONE = np.int64(-(2**40))  # below every code


@njit(cache=True, nogil=True)
def constants(rows: Any, starts: Any, codes: Any, columns: Any, unknown: bool, out: Any) -> None:
    """Whether each of the columns is constant within every group: ``out`` gets one of the three answers above."""
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
def orders(rows: Any, starts: Any, codes: Any, by_value: Any, sides: Any, unknown: bool, out: Any) -> None:
    """Whether two columns are order compatible within every group, for each line ``(left, right, descending)`` of ``sides``.

    It is enough to compare each class of equal left values with the one before it: if no value is below the highest of that class,
    the highest values ascend from class to class. Lines with one left column stand together: they share its sorted partition.
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
def unlike(rows: Any, starts: Any, codes: Any, column: int, unknown: bool, most: int) -> Any:
    """The pairs that show that a column is not constant: each row against the first of its group; the ``most`` that agree most."""
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
def swaps(rows: Any, starts: Any, codes: Any, by_value: Any, left: int, right: int, descending: bool, unknown: bool, most: int) -> Any:
    """The pairs that show that two columns are not order compatible: the highest row of a class of equal left values against each lower
    one of the next class; the ``most`` that agree most."""
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
def _offer(codes: Any, unknown: bool, s: int, t: int, best: Any, scores: Any, n: int) -> int:
    """Keep a pair if it agrees on more columns than the worst one kept; returns how many are kept."""
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
