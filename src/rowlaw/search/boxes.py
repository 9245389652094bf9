"""The box engine of :mod:`rowlaw.search.lists`; :mod:`rowlaw.search.layout` prepares a node for it.

Vertices fall into *columns*: a forbidden set (the atoms of one comparison) is one column, any other vertex one by
itself. An edge is then a vector of digits, what it has in each column, and a list of edges is a bitmap over all such
vectors: dense where evidence is (``uce``: 109k of the 3^11 vectors), and edges that become equal are one bit. What is
*not* hit by the chosen vertices is a box in this space, so minimal hitting sets are the maximal empty boxes (prime
implicants, if you like).

Six vertices are inside the 64-bit word, bit S of which says "some edge is not hit by the subset S of the six", so a
node treats 64 subsets at once. The other columns are decided one after the other; to choose of a column is to take the
OR of some slices of the bitmaps. A node has one bitmap of the uncovered edges and one for each chosen vertex, of the
edges that only it hits. It ends when no bit is alive: for each subset a chosen vertex has no critical edge left, or
some edge can no longer be hit, or one vertex of the subset is not needed. The OR over slices, taken once for a node,
decides on most children before they are made.

Symmetry: while all choices so far are their own mirror images, of two choices that mirror each other one is skipped.
"""

from __future__ import annotations

import numpy as np

from rowlaw.kernels.arrays import Int64Array, RecordArray, Uint64Array
from rowlaw.kernels.compiling import njit
from rowlaw.search.layout import pattern
from rowlaw.search.state import ATOMS, DONE, GROW_BITMAPS, GROW_FOUND, INNER, PAUSED, BranchState, count

_0, _1 = np.uint64(0), np.uint64(1)
_ALL = ~np.uint64(0)
# bit S of the i-th word: S lacks vertex i
_LACKS = np.array(
    [
        0x5555555555555555,
        0x3333333333333333,
        0x0F0F0F0F0F0F0F0F,
        0x00FF00FF00FF00FF,
        0x0000FFFF0000FFFF,
        0x00000000FFFFFFFF,
    ],
    np.uint64,
)


@njit(cache=True, nogil=True)
def _list_inner_sets(vertices: Int64Array, sizes: Int64Array, inner_sets: Uint64Array) -> np.uint64:
    """List the subsets of the vertices inside the word, and give the bits of those that are not forbidden.

    ``vertices``: ``int64[inner columns, ATOMS]``, ``sizes``: ``int64[inner columns]``. ``inner_sets``: ``uint64[64]``,
    written.
    """
    before = 0
    allowed = _ALL
    for s in range(64):
        inner_sets[s] = _0
    for c in range(len(sizes)):
        size = sizes[c]
        whole = ((1 << size) - 1) << before
        for s in range(64):
            if size > 1 and s & whole == whole:
                allowed &= ~(_1 << np.uint64(s))
            for a in range(size):
                if s >> (before + a) & 1:
                    inner_sets[s] |= _1 << np.uint64(vertices[c, a])
        before += size
    for s in range(1 << before, 64):
        allowed &= ~(_1 << np.uint64(s))
    return allowed


@njit(cache=True, nogil=True)
def _draw(edges: Uint64Array, state: BranchState, bitmap: Uint64Array) -> None:
    """Make the bitmap of a list of edges. An edge that a subset S misses is missed by the subsets of S too, which sets
    their bits.

    ``edges``: ``uint64[edges]``. ``bitmap``: ``uint64[words]``, written.
    """
    vertices, sizes, digits, levels = state.column_vertices, state.column_sizes, state.digits, state.levels
    columns, outside = state.counters[0].columns, state.counters[0].levels
    for i in range(len(bitmap)):
        bitmap[i] = _0
    inner = 0
    for c in range(outside, columns):
        inner += sizes[c]
    everything = np.uint64((1 << inner) - 1)
    for edge in edges:
        word = 0
        for c in range(outside):
            word += digits[c, pattern(edge, vertices[c], sizes[c])] * levels[c + 1].words
        inner_part, shift = _0, 0
        for c in range(outside, columns):
            inner_part |= np.uint64(pattern(edge, vertices[c], sizes[c]) << shift)
            shift += sizes[c]
        bitmap[word] |= _1 << (inner_part ^ everything)
    for i in range(len(bitmap)):
        bits = bitmap[i]
        for v in range(INNER):
            bits |= (bits >> (_1 << np.uint64(v))) & _LACKS[v]
        bitmap[i] = bits


@njit(cache=True, nogil=True)
def _mark_undecided(state: BranchState) -> None:
    """Write ``state.undecided``: zero for the vectors of digits that decide whether all edges can be hit (see
    ``_number_digits``)."""
    undecided, levels = state.undecided, state.levels
    undecided[0] = _0
    for level in range(state.counters[0].levels - 1, -1, -1):
        deciding = 1 if state.digits[level, 0] >= 0 else state.column_sizes[level]
        size = levels[level + 1].words
        for digit in range(1, levels[level].digits):
            for i in range(size):
                undecided[digit * size + i] = undecided[i] if digit < deciding else _ALL


@njit(cache=True, nogil=True)
def _minimal_inside(missed: np.uint64) -> np.uint64:
    """Give the subsets S inside the word such that S without any one of its vertices misses an edge."""
    minimal = _ALL
    for v in range(INNER):
        minimal &= ((missed & _LACKS[v]) << (_1 << np.uint64(v))) | _LACKS[v]
    return minimal


@njit(cache=True, nogil=True)
def write_sets(state: BranchState, chosen: np.uint64, inner: np.uint64) -> None:
    """Write ``chosen`` with each subset inside the word whose bit is set in ``inner`` to ``state.found``, unless it is
    forbidden."""
    counters, forbidden, written = state.counters[0], state.forbidden, state.found
    n = counters.found
    while inner != _0:
        lowest = inner & (~inner + _1)
        inner ^= lowest
        vertices = chosen | state.inner_sets[count(lowest - _1)]
        is_allowed = True
        for i in range(len(forbidden)):
            is_allowed &= forbidden[i] & ~vertices != _0
        written[n] = vertices
        n += is_allowed
        counters.work += 64 + len(forbidden)
    counters.found = n


@njit(cache=True, nogil=True)
def open_boxes(state: BranchState, depth: int, words: int) -> None:
    """Start the box search below a node of the list search, with bitmaps of so many words. ``state`` is written."""
    counters, frame, top = state.counters[0], state.frames[depth], state.levels[0]
    first, last = frame.segments_begin, frame.segments_end
    outside, columns = counters.levels, counters.columns
    alive = _list_inner_sets(
        state.column_vertices[outside:columns], state.column_sizes[outside:columns], state.inner_sets
    )
    _mark_undecided(state)
    missed = _0
    for k in range(last - first + 1):
        begin, end = frame.uncovered_begin, frame.uncovered_end
        if k > 0:
            begin, end = state.segments[first + k - 1].begin, state.segments[first + k - 1].end
        base = k * words
        _draw(state.edges[begin:end], state, state.bitmaps[base : base + words])
        union = _0
        for i in range(base, base + words):
            union |= state.bitmaps[i]
        state.bitmap_starts[0, k] = base
        if k == 0:
            missed = union
            alive &= _minimal_inside(union)
        else:
            alive &= union
    write_sets(state, frame.chosen, alive & ~missed)
    alive &= missed
    counters.level = 0 if alive != _0 and outside > 0 else -1
    top.bitmaps, top.bitmaps_end = last - first + 1, words * (last - first + 1)
    top.is_symmetric = len(state.exchange) > 0 and depth == 0
    top.chosen, top.alive = frame.chosen, alive
    if counters.level == 0:
        _enter(state.bitmaps, state.levels, 0, state.bitmap_starts[0], state.unions[0])


@njit(cache=True, nogil=True)
def _enter(bitmaps: Uint64Array, levels: RecordArray, level: int, starts: Int64Array, unions: Uint64Array) -> None:
    """Start a node of the box search: take the OR over each set of slices, for each of its bitmaps.

    ``bitmaps``: ``uint64[capacity]``. ``levels``: ``LEVEL[columns + 1]``, ``level`` of it is written. ``starts``:
    ``int64[capacity]``, where the bitmaps of the node begin. ``unions``: ``uint64[capacity, 1 << DIGITS]``, written.
    """
    digits, size = levels[level].digits, levels[level + 1].words
    for k in range(levels[level].bitmaps):
        base = starts[k]
        unions[k, 0] = _0
        if digits == 3:  # the usual case without a loop over digits
            x, y, z = _0, _0, _0
            for i in range(base, base + size):
                x |= bitmaps[i]
                y |= bitmaps[i + size]
                z |= bitmaps[i + 2 * size]
            unions[k, 1], unions[k, 2], unions[k, 3], unions[k, 4] = x, y, x | y, z
            unions[k, 5], unions[k, 6], unions[k, 7] = x | z, y | z, x | y | z
            continue
        for digit in range(digits):
            x = _0
            for i in range(base, base + size):
                x |= bitmaps[i]
            for below in range(1 << digit):
                unions[k, below + (1 << digit)] = unions[k, below] | x
            base += size
    levels[level].next_choice = 0


@njit(cache=True, nogil=True)
def _unite(bitmaps: Uint64Array, source: int, digits: int, size: int, top: int) -> int:
    """Write the OR of some slices of a bitmap to ``top``, unless it is one slice as it stands. Returns where the result
    begins.

    ``bitmaps``: ``uint64[capacity]``, written. ``digits`` has a bit for each slice, of ``size`` words.
    """
    begin = -1
    digit = 0
    is_written = False
    while digits:
        if digits & 1:
            base = source + digit * size
            if begin < 0:
                begin = base
            elif not is_written:
                for i in range(size):
                    bitmaps[top + i] = bitmaps[begin + i] | bitmaps[base + i]
                begin, is_written = top, True
            else:
                for i in range(size):
                    bitmaps[top + i] |= bitmaps[base + i]
        digits >>= 1
        digit += 1
    return begin


@njit(cache=True, nogil=True)
def _hopeless(bitmaps: Uint64Array, undecided: Uint64Array, base: int, size: int) -> np.uint64:
    """Give the subsets inside the word with which some edge is missed whatever is chosen of the columns left.

    ``bitmaps``: ``uint64[capacity]``, of which ``size`` words from ``base`` on are looked at. ``undecided``:
    ``uint64[capacity]``.
    """
    bits = _ALL
    for i in range(size):
        bits &= bitmaps[base + i] | undecided[i]
    return bits


@njit(cache=True, nogil=True)
def search_boxes(state: BranchState, budget: int) -> int:
    """Decide column after column, depth first, until done or until the work is more than ``budget``. ``state`` is
    written."""
    counters, levels, unions, bitmaps, starts = (
        state.counters[0],
        state.levels,
        state.unions,
        state.bitmaps,
        state.bitmap_starts,
    )
    outside = counters.levels
    level = counters.level
    while level >= 0:
        node, child = levels[level], levels[level + 1]
        number = node.next_choice
        if number == node.choices:
            level -= 1
            continue
        n, size = node.bitmaps, child.words
        counters.level = level
        if counters.found + 64 > len(state.found):
            return GROW_FOUND
        counters.needed = node.bitmaps_end + (n + ATOMS) * size
        if counters.needed > len(bitmaps):
            return GROW_BITMAPS
        if counters.work > budget:
            return PAUSED
        node.next_choice = number + 1
        choice = state.choices[level, number]
        if (node.is_symmetric and choice.is_skipped) or (node.only_choice >= 0 and node.only_choice != number):
            continue
        counters.work += 8
        alive = node.alive
        kept = choice.kept_digits
        for k in range(choice.vertices):
            alive &= unions[level, 0, choice.alone_digits[k]]
        for k in range(1, n):
            alive &= unions[level, k, kept]
        if alive == _0:
            continue
        missed = unions[level, 0, kept]
        alive &= _minimal_inside(missed)
        if alive == _0:
            continue
        chosen = node.chosen | choice.chosen
        if alive & ~missed != _0:
            if not node.is_silent:
                write_sets(state, chosen, alive & ~missed)
            alive &= missed
        if alive == _0 or level + 1 == outside:
            continue
        top = node.bitmaps_end
        base = _unite(bitmaps, starts[level, 0], kept, size, top)
        alive &= ~_hopeless(bitmaps, state.undecided, base, size)
        if alive == _0:
            continue
        starts[level + 1, 0] = base
        top += size
        for k in range(1, n):
            starts[level + 1, k] = _unite(bitmaps, starts[level, k], kept, size, top)
            top += size
        for k in range(choice.vertices):
            starts[level + 1, n + k] = _unite(bitmaps, starts[level, 0], choice.alone_digits[k], size, top)
            top += size
        child.bitmaps, child.bitmaps_end = n + choice.vertices, top
        child.is_symmetric = node.is_symmetric and choice.is_symmetric
        child.chosen, child.alive = chosen, alive
        level += 1
        _enter(bitmaps, levels, level, starts[level], unions[level])
        counters.work += child.bitmaps * (child.words + 8)
        counters.nodes += 1
    counters.level = -1
    return DONE
