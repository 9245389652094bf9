"""How a node is laid out for :mod:`rowlaw.search.boxes`: its columns, their digits, and what can be chosen of each.

:func:`plan` decides whether boxes are used. The first columns are decided one after the other, the last ones are inside
the word.
"""

from __future__ import annotations

import numpy as np

from rowlaw.kernels.arrays import Int64Array, RecordArray, Uint64Array
from rowlaw.kernels.compiling import njit
from rowlaw.search.state import ATOMS, DIGITS, INNER, PATTERNS, BranchState, count

_0, _1 = np.uint64(0), np.uint64(1)


@njit(cache=True, nogil=True)
def _columns(
    forbidden: Uint64Array, chosen: np.uint64, free: np.uint64, vertices: Int64Array, sizes: Int64Array
) -> int:
    """Group the candidates (``free``) of a node into columns, and count these.

    ``forbidden``: ``uint64[forbidden]``. ``vertices``: ``int64[columns, ATOMS]``, ``sizes``: ``int64[columns]``, both
    written.
    """
    n = 0
    for i in range(len(forbidden)):
        missing = forbidden[i] & ~chosen
        if missing & ~free == _0 and 2 <= count(missing) <= ATOMS:
            free &= ~missing
            size = 0
            for v in range(64):
                if missing >> np.uint64(v) & _1 != _0:
                    vertices[n, size] = v
                    size += 1
            sizes[n] = size
            n += 1
    for v in range(64):
        if free >> np.uint64(v) & _1 != _0:
            vertices[n, 0], sizes[n] = v, 1
            n += 1
    return n


@njit(cache=True, nogil=True)
def pattern(edge: np.uint64, vertices: Int64Array, size: int) -> np.int64:
    """Give what an edge has in a column of ``size`` vertices (``vertices``: ``int64[ATOMS]``), a bit for each
    vertex."""
    bits = edge >> np.uint64(vertices[0]) & _1
    for a in range(1, size):
        bits |= (edge >> np.uint64(vertices[a]) & _1) << np.uint64(a)
    return np.int64(bits)


@njit(cache=True, nogil=True)
def _break_up(vertices: Int64Array, sizes: Int64Array, n: int, counts: Int64Array) -> int:
    """Break columns with too many patterns up into single vertices, and count the columns there are then.

    ``vertices``: ``int64[columns, ATOMS]``, ``sizes``: ``int64[columns]``, ``counts``: ``int64[columns, PATTERNS]``,
    the edges with each pattern; ``n`` of each are in use, and all are written.
    """
    for c in range(n):
        different = 0
        for p in range(PATTERNS):
            different += counts[c, p] > 0
        size = sizes[c]
        if size > 1 and max(different, size + (counts[c, 0] > 0)) > DIGITS:
            whole = np.empty(PATTERNS, np.int64)
            for p in range(PATTERNS):
                whole[p] = counts[c, p]
            for a in range(size - 1, -1, -1):
                part = c if a == 0 else n
                n += a > 0
                vertices[part, 0], sizes[part] = vertices[c, a], 1
                for p in range(PATTERNS):
                    counts[part, p] = 0
                for p in range(1 << size):
                    counts[part, p >> a & 1] += whole[p]
    return n


@njit(cache=True, nogil=True)
def _arrange(vertices: Int64Array, sizes: Int64Array, n: int, counts: Int64Array) -> int:
    """Put uneven columns first and those for the inside of the word last. Returns how many stay outside.

    Arrays as in :func:`_break_up`, all written. Uneven columns first means that branches end early.
    """
    key = np.empty(n, np.float64)
    for c in range(n):
        total = 0
        for p in range(PATTERNS):
            total += counts[c, p]
        key[c] = 10.0 * sizes[c]
        for p in range(PATTERNS):
            if counts[c, p] > 0:
                share = counts[c, p] / total
                key[c] -= share * np.log(share)
    for c in range(1, n):
        j = c
        while j > 0 and key[j - 1] > key[j]:
            key[j - 1], key[j] = key[j], key[j - 1]
            _swap(vertices, sizes, counts, j - 1)
            j -= 1
    capacity = INNER
    outside = n
    for c in range(n - 1, -1, -1):
        if sizes[c] <= capacity:
            capacity -= sizes[c]
            outside -= 1
            for j in range(c, outside):
                _swap(vertices, sizes, counts, j)
    return outside


@njit(cache=True, nogil=True)
def _swap(vertices: Int64Array, sizes: Int64Array, counts: Int64Array, i: int) -> None:
    """Exchange columns ``i`` and ``i + 1``. Arrays as in :func:`_break_up`, all written."""
    sizes[i], sizes[i + 1] = sizes[i + 1], sizes[i]
    for a in range(ATOMS):
        vertices[i, a], vertices[i + 1, a] = vertices[i + 1, a], vertices[i, a]
    for p in range(PATTERNS):
        counts[i, p], counts[i + 1, p] = counts[i + 1, p], counts[i, p]


@njit(cache=True, nogil=True)
def _number_digits(size: int, digits: Int64Array, counts: Int64Array) -> int:
    """Number the patterns of a column of ``size`` vertices that occur, and count them.

    ``digits``: ``int64[PATTERNS]``, written. ``counts``: ``int64[PATTERNS]``, the edges with each pattern. The first
    digits are those that decide whether all edges can be hit. An edge that has nothing in a column stays whatever is
    chosen there. Without such edges, any choice (never all of the column) leaves one vertex, and so the edges that have
    just that vertex.
    """
    n = 0
    for p in range(1 << size):
        digits[p] = -1
    if size == 1 or counts[0] > 0:
        digits[0], n = 0, 1
    for a in range(size):
        if size == 1 or counts[0] == 0 or counts[1 << a] > 0:
            digits[1 << a] = n
            n += 1
    for p in range(1 << size):
        if digits[p] < 0 and counts[p] > 0:
            digits[p] = n
            n += 1
    return n


@njit(cache=True, nogil=True)
def _list_choices(
    vertices: Int64Array, size: int, digits: Int64Array, exchange: Int64Array, choices: RecordArray
) -> int:
    """List what can be chosen of a column (of a forbidden one not all), and count the choices.

    ``vertices``: ``int64[ATOMS]``, of which ``size`` are in use. ``digits``: ``int64[PATTERNS]``. ``exchange``:
    ``int64[vertices]``, or of length 0. ``choices``: ``CHOICE[PATTERNS]``, written.
    """
    image = np.empty(ATOMS, np.int64)  # of each vertex under the symmetry, as a position in the column
    for a in range(size):
        image[a] = -1
        if len(exchange):
            for b in range(size):
                if exchange[vertices[a]] == vertices[b]:
                    image[a] = b
    n = 0
    for subset in range((1 << size) - (size > 1)):
        choice = choices[n]
        chosen = _0
        kept, members, mirror = 0, 0, 0
        for p in range(1 << size):
            if digits[p] >= 0 and p & subset == 0:
                kept |= 1 << digits[p]
        for a in range(size):
            if subset >> a & 1:
                chosen |= _1 << np.uint64(vertices[a])
                alone = 0
                for p in range(1 << size):
                    if digits[p] >= 0 and p & subset == 1 << a:
                        alone |= 1 << digits[p]
                choice.alone_digits[members] = alone
                members += 1
                mirror = -1 if mirror < 0 or image[a] < 0 else mirror | 1 << image[a]
        choice.kept_digits, choice.vertices, choice.chosen = kept, members, chosen
        choice.is_skipped = 0 <= mirror < subset
        choice.is_symmetric = mirror == subset or mirror < 0
        n += 1
    return n


@njit(cache=True, nogil=True)
def plan(state: BranchState, depth: int) -> int:
    """Lay out columns, digits and choices for the box search of a node. Returns the words of a bitmap, or 0 if lists
    are better.

    The columns, levels and choices of ``state`` are written.
    """
    vertices, sizes, frame, counters = state.column_vertices, state.column_sizes, state.frames[depth], state.counters[0]
    n = _columns(state.forbidden, frame.chosen, frame.candidates, vertices, sizes)
    begin, end = frame.edges_begin, frame.edges_end
    limit = max(counters.short_words, counters.quarter_words * (end - begin) // 4)
    estimate, inside = 1.0, 0
    for c in range(n - 1, -1, -1):
        if inside + sizes[c] <= INNER:
            inside += sizes[c]
        else:
            estimate *= max(2, sizes[c])
    if estimate > limit:
        return 0
    counts = np.zeros((count(frame.candidates), PATTERNS), np.int64)
    for i in range(begin, end):
        edge = state.edges[i]
        for c in range(n):
            counts[c, pattern(edge, vertices[c], sizes[c])] += 1
    n = _break_up(vertices, sizes, n, counts)
    outside = _arrange(vertices, sizes, n, counts)
    words = 1
    state.levels[outside].words = 1
    for c in range(outside - 1, -1, -1):
        level = state.levels[c]
        level.digits, level.only_choice, level.is_silent = _number_digits(sizes[c], state.digits[c], counts[c]), -1, 0
        words *= level.digits
        if words > limit:
            return 0
        level.words = words
        level.choices = _list_choices(vertices[c], sizes[c], state.digits[c], state.exchange, state.choices[c])
    counters.columns, counters.levels = n, outside
    return words
