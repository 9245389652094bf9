"""How a node is laid out for :mod:`rowlaw.search.boxes`: its columns, their digits, and what can be chosen of each.

:func:`plan` decides whether boxes are worth it. The first columns are decided one after the other, the last ones are inside the word.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rowlaw.kernels.compiling import njit
from rowlaw.search.state import (
    ATOMS,
    BASE,
    C_CRITICAL,
    C_FIRST,
    C_KEEP,
    C_SAME,
    C_SKIP,
    COLUMNS,
    DIGITS,
    F_CANDIDATES,
    F_CHOSEN,
    FEW,
    INNER,
    K_ATOMS,
    L_CHOICES,
    L_DIGITS,
    L_ONLY,
    L_SILENT,
    L_SIZE,
    LEVELS,
    PATTERNS,
    PER_EDGE,
    TOP,
    Task,
    count,
)

_0, _1 = np.uint64(0), np.uint64(1)


@njit(cache=True, nogil=True)
def _columns(forbidden: Any, chosen: Any, free: Any, columns: Any) -> int:
    """Groups the candidates (``free``) of a node into columns; how many."""
    n = 0
    for i in range(len(forbidden)):
        missing = forbidden[i] & ~chosen
        if missing & ~free == _0 and 2 <= count(missing) <= ATOMS:
            free &= ~missing
            m = 0
            for v in range(64):
                if missing >> np.uint64(v) & _1 != _0:
                    columns[n, m] = v
                    m += 1
            columns[n, K_ATOMS] = m
            n += 1
    for v in range(64):
        if free >> np.uint64(v) & _1 != _0:
            columns[n, 0], columns[n, K_ATOMS] = v, 1
            n += 1
    return n


@njit(cache=True, nogil=True)
def pattern(edge: Any, column: Any) -> Any:
    """What an edge has in a column, a bit for each vertex of the column."""
    found = edge >> np.uint64(column[0]) & _1
    for a in range(1, column[K_ATOMS]):
        found |= (edge >> np.uint64(column[a]) & _1) << np.uint64(a)
    return np.int64(found)


@njit(cache=True, nogil=True)
def _break_up(columns: Any, n: int, seen: Any) -> int:
    """Columns with too many patterns fall into single vertices; how many columns there are then."""
    for c in range(n):
        kinds = 0
        for p in range(PATTERNS):
            kinds += seen[c, p] > 0
        m = columns[c, K_ATOMS]
        if m > 1 and max(kinds, m + (seen[c, 0] > 0)) > DIGITS:
            counts = np.empty(PATTERNS, np.int64)
            for p in range(PATTERNS):
                counts[p] = seen[c, p]
            for a in range(m - 1, -1, -1):
                place = c if a == 0 else n
                n += a > 0
                columns[place, 0], columns[place, K_ATOMS] = columns[c, a], 1
                for p in range(PATTERNS):
                    seen[place, p] = 0
                for p in range(1 << m):
                    seen[place, p >> a & 1] += counts[p]
    return n


@njit(cache=True, nogil=True)
def _arrange(columns: Any, n: int, seen: Any) -> int:
    """Puts uneven columns first and those for the inside of the word last; how many stay outside.

    ``seen[c, p]`` counts the edges with pattern ``p`` in column ``c``. Uneven columns first means early deaths.
    """
    key = np.empty(n, np.float64)
    for c in range(n):
        total = 0
        for p in range(PATTERNS):
            total += seen[c, p]
        key[c] = 10.0 * columns[c, K_ATOMS]
        for p in range(PATTERNS):
            if seen[c, p] > 0:
                share = seen[c, p] / total
                key[c] -= share * np.log(share)
    for c in range(1, n):
        j = c
        while j > 0 and key[j - 1] > key[j]:
            key[j - 1], key[j] = key[j], key[j - 1]
            _swap(columns, j - 1, j)
            _swap(seen, j - 1, j)
            j -= 1
    room = INNER
    outside = n
    for c in range(n - 1, -1, -1):
        if columns[c, K_ATOMS] <= room:
            room -= columns[c, K_ATOMS]
            outside -= 1
            for j in range(c, outside):
                _swap(columns, j, j + 1)
                _swap(seen, j, j + 1)
    return outside


@njit(cache=True, nogil=True)
def _swap(rows: Any, i: int, j: int) -> None:
    for k in range(rows.shape[1]):
        rows[i, k], rows[j, k] = rows[j, k], rows[i, k]


@njit(cache=True, nogil=True)
def _digits(m: int, digit: Any, seen: Any) -> int:
    """Numbers the patterns of a column of ``m`` vertices; how many digits. The first digits are those that decide whether all can be hit.

    An edge that has nothing in a column stays whatever is chosen there. Without such edges, any choice (never all of the
    column) leaves one vertex, and so the edges that have just that vertex.
    """
    n = 0
    for p in range(1 << m):
        digit[p] = -1
    if m == 1 or seen[0] > 0:
        digit[0], n = 0, 1
    for a in range(m):
        if m == 1 or seen[0] == 0 or seen[1 << a] > 0:
            digit[1 << a] = n
            n += 1
    for p in range(1 << m):
        if digit[p] < 0 and seen[p] > 0:
            digit[p] = n
            n += 1
    return n


@njit(cache=True, nogil=True)
def _choices(column: Any, digit: Any, exchange: Any, choices: Any, choice_sets: Any) -> int:
    """What can be chosen of a column (of a forbidden one not all), and which digits that keeps or leaves critical; how many choices."""
    m = column[K_ATOMS]
    image = np.empty(ATOMS, np.int64)  # of each vertex under the symmetry, as a place in the column
    for a in range(m):
        image[a] = -1
        if len(exchange):
            for b in range(m):
                if exchange[column[a]] == column[b]:
                    image[a] = b
    n = 0
    for chosen in range((1 << m) - (m > 1)):
        choice = choices[n]
        vertices = _0
        choice[C_KEEP], choice[C_CRITICAL], mirror = 0, 0, 0
        for p in range(1 << m):
            if digit[p] >= 0 and p & chosen == 0:
                choice[C_KEEP] |= 1 << digit[p]
        for a in range(m):
            if chosen >> a & 1:
                vertices |= _1 << np.uint64(column[a])
                alone = 0
                for p in range(1 << m):
                    if digit[p] >= 0 and p & chosen == 1 << a:
                        alone |= 1 << digit[p]
                choice[C_FIRST + choice[C_CRITICAL]] = alone
                choice[C_CRITICAL] += 1
                mirror = -1 if mirror < 0 or image[a] < 0 else mirror | 1 << image[a]
        choice[C_SKIP] = 0 <= mirror < chosen
        choice[C_SAME] = mirror == chosen or mirror < 0
        choice_sets[n] = vertices
        n += 1
    return n


@njit(cache=True, nogil=True)
def plan(task: Task, depth: int) -> int:
    """Lays out columns, digits and choices for the box search of a node; words of a bitmap, or 0 if lists are better."""
    columns = task.columns
    candidates = task.frame_sets[F_CANDIDATES, depth]
    n = _columns(task.forbidden, task.frame_sets[F_CHOSEN, depth], candidates, columns)
    begin, end = task.frames[BASE, depth], task.frames[TOP, depth]
    most = max(task.numbers[FEW], task.numbers[PER_EDGE] * (end - begin) // 4)
    size, inside = 1.0, 0
    for c in range(n - 1, -1, -1):
        m = columns[c, K_ATOMS]
        if inside + m <= INNER:
            inside += m
        else:
            size *= max(2, m)
    if size > most:
        return 0
    seen = np.zeros((count(candidates), PATTERNS), np.int64)
    for i in range(begin, end):
        edge = task.lists[i]
        for c in range(n):
            seen[c, pattern(edge, columns[c])] += 1
    n = _break_up(columns, n, seen)
    outside = _arrange(columns, n, seen)
    words = 1
    task.levels[outside, L_SIZE] = 1
    for level in range(outside - 1, -1, -1):
        digits = _digits(columns[level, K_ATOMS], task.digit[level], seen[level])
        task.levels[level, L_DIGITS], task.levels[level, L_ONLY], task.levels[level, L_SILENT] = digits, -1, 0
        words *= digits
        if words > most:
            return 0
        task.levels[level, L_SIZE] = words
        task.levels[level, L_CHOICES] = _choices(
            columns[level], task.digit[level], task.exchange, task.choices[level], task.choice_sets[level]
        )
    task.numbers[COLUMNS], task.numbers[LEVELS] = n, outside
    return words
