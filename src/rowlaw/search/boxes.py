"""The box engine of :mod:`rowlaw.search.lists`; :mod:`rowlaw.search.layout` prepares a node for it.

Vertices fall into *columns*: a forbidden set (the atoms of one comparison) is one column, any other vertex one by itself. An edge
is then a vector of digits, what it has in each column, and a list of edges is a bitmap over all such vectors: dense
where evidence is (``uce``: 109k of the 3^11 vectors), and edges that become equal melt into one bit. What is *not* hit by
the chosen vertices is a box in this space, so minimal hitting sets are the maximal empty boxes (prime implicants, if you like).

Six vertices live inside the 64-bit word, bit S of which says "some edge is not hit by the subset S of the six", so a node
treats 64 subsets at once. The other columns are decided one after the other; to choose of a column is to take the OR of some
slices of the bitmaps. A node has one bitmap of the uncovered edges and one for each chosen vertex, of the edges that only it
hits. It dies when no bit is alive: for each subset a chosen vertex has no critical edge left, or some edge can no longer be hit, or
one vertex of the subset is not needed. The OR over slices, taken once for a node, decides on most children before they are made.

Symmetry: while all choices so far are their own mirror images, of two choices that mirror each other one is skipped.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rowlaw.kernels.compiling import njit
from rowlaw.search.layout import pattern
from rowlaw.search.state import (
    ATOMS,
    C_CRITICAL,
    C_FIRST,
    C_KEEP,
    C_SAME,
    C_SKIP,
    COLUMNS,
    DONE,
    F_CHOSEN,
    FOUND,
    GROW_BOXES,
    GROW_FOUND,
    K_ATOMS,
    L_ARRAYS,
    L_CHOICE,
    L_CHOICES,
    L_DIGITS,
    L_ONLY,
    L_SAME,
    L_SILENT,
    L_SIZE,
    L_TOP,
    LEVEL,
    LEVELS,
    NEED,
    NODES,
    PAUSED,
    S_BEGIN,
    S_END,
    U_BEGIN,
    U_END,
    WORK,
    Task,
    count,
)

_0, _1 = np.uint64(0), np.uint64(1)
_ALL = ~np.uint64(0)
# bit S of the i-th word: S lacks vertex i
_LACKS = np.array(
    [0x5555555555555555, 0x3333333333333333, 0x0F0F0F0F0F0F0F0F, 0x00FF00FF00FF00FF, 0x0000FFFF0000FFFF, 0x00000000FFFFFFFF], np.uint64
)


@njit(cache=True, nogil=True)
def _inner(columns: Any, inside: Any) -> Any:
    """Names the subsets of the vertices inside the word; the bits of those that are not forbidden."""
    vertices = 0
    fine = _ALL
    for s in range(64):
        inside[s] = _0
    for c in range(len(columns)):
        m = columns[c, K_ATOMS]
        whole = ((1 << m) - 1) << vertices
        for s in range(64):
            if m > 1 and s & whole == whole:
                fine &= ~(_1 << np.uint64(s))
            for a in range(m):
                if s >> (vertices + a) & 1:
                    inside[s] |= _1 << np.uint64(columns[c, a])
        vertices += m
    for s in range(1 << vertices, 64):
        fine &= ~(_1 << np.uint64(s))
    return fine


@njit(cache=True, nogil=True)
def _draw(edges: Any, columns: Any, digit: Any, levels: Any, outside: int, boxes: Any) -> None:
    """Draws a list of edges as a bitmap and closes it inside the words: who misses an edge with S misses it with less."""
    n = len(columns)
    for i in range(len(boxes)):
        boxes[i] = _0
    inner = 0
    for c in range(outside, n):
        inner += columns[c, K_ATOMS]
    everything = np.uint64((1 << inner) - 1)
    for edge in edges:
        word = 0
        for c in range(outside):
            word += digit[c, pattern(edge, columns[c])] * levels[c + 1, L_SIZE]
        bit, shift = _0, 0
        for c in range(outside, n):
            bit |= np.uint64(pattern(edge, columns[c]) << shift)
            shift += columns[c, K_ATOMS]
        boxes[word] |= _1 << (bit ^ everything)
    for i in range(len(boxes)):
        x = boxes[i]
        for v in range(6):
            x |= (x >> (_1 << np.uint64(v))) & _LACKS[v]
        boxes[i] = x


@njit(cache=True, nogil=True)
def _mark_deciding(columns: Any, digit: Any, levels: Any, unless: Any) -> None:
    """``unless``: zero for the vectors of digits that decide whether all edges can be hit (see ``_digits``)."""
    unless[0] = _0
    for level in range(len(columns) - 1, -1, -1):
        m = columns[level, K_ATOMS]
        deciding = 1 if digit[level, 0] >= 0 else m
        size = levels[level + 1, L_SIZE]
        for t in range(1, levels[level, L_DIGITS]):
            for i in range(size):
                unless[t * size + i] = unless[i] if t < deciding else _ALL


@njit(cache=True, nogil=True)
def _minimal_inside(missed: Any) -> Any:
    """Subsets S inside the word such that S without any one of its vertices misses an edge."""
    good = _ALL
    for v in range(6):
        good &= ((missed & _LACKS[v]) << (_1 << np.uint64(v))) | _LACKS[v]
    return good


@njit(cache=True, nogil=True)
def emit(numbers: Any, found: Any, inside: Any, forbidden: Any, chosen: Any, bits: Any) -> None:
    """Notes the sets ``chosen`` with each subset inside the word whose bit is set, unless one is forbidden."""
    n = numbers[FOUND]
    while bits != _0:
        low = bits & (~bits + _1)
        bits ^= low
        vertices = chosen | inside[count(low - _1)]
        fine = True
        for i in range(len(forbidden)):
            fine &= forbidden[i] & ~vertices != _0
        found[n] = vertices
        n += fine
        numbers[WORK] += 64 + len(forbidden)
    numbers[FOUND] = n


@njit(cache=True, nogil=True)
def open_boxes(task: Task, depth: int, words: int) -> None:
    """Starts the box search below a node of the list search."""
    first, last = task.frames[S_BEGIN, depth], task.frames[S_END, depth]
    outside = task.numbers[LEVELS]
    columns = task.columns[: task.numbers[COLUMNS]]
    alive = _inner(columns[outside:], task.inside)
    _mark_deciding(columns[:outside], task.digit, task.levels, task.unless)
    missed = _0
    for k in range(last - first + 1):
        begin, end = task.frames[U_BEGIN, depth], task.frames[U_END, depth]
        if k > 0:
            begin, end = task.segments[0, first + k - 1], task.segments[1, first + k - 1]
        base = k * words
        _draw(task.lists[begin:end], columns, task.digit, task.levels, outside, task.boxes[base : base + words])
        some = _0
        for i in range(base, base + words):
            some |= task.boxes[i]
        task.arrays[0, k] = base
        if k == 0:
            missed = some
            alive &= _minimal_inside(some)
        else:
            alive &= some
    chosen = task.frame_sets[F_CHOSEN, depth]
    emit(task.numbers, task.found, task.inside, task.forbidden, chosen, alive & ~missed)
    alive &= missed
    task.numbers[LEVEL] = 0 if alive != _0 and outside > 0 else -1
    task.levels[0, L_ARRAYS], task.levels[0, L_TOP] = last - first + 1, words * (last - first + 1)
    task.levels[0, L_SAME] = len(task.exchange) > 0 and depth == 0
    task.level_sets[0, 0], task.level_sets[0, 1] = chosen, alive
    if task.numbers[LEVEL] == 0:
        _enter(task.boxes, task.levels[0], task.levels[1, L_SIZE], task.arrays[0], task.some[0])


@njit(cache=True, nogil=True)
def _enter(boxes: Any, level: Any, size: int, arrays: Any, some: Any) -> None:
    """Starts a node of the box search: the OR over each set of slices (of ``size`` words), for each of its bitmaps."""
    digits = level[L_DIGITS]
    for k in range(level[L_ARRAYS]):
        base = arrays[k]
        some[k, 0] = _0
        if digits == 3:  # the usual case without a loop over digits
            x, y, z = _0, _0, _0
            for i in range(base, base + size):
                x |= boxes[i]
                y |= boxes[i + size]
                z |= boxes[i + 2 * size]
            some[k, 1], some[k, 2], some[k, 3], some[k, 4] = x, y, x | y, z
            some[k, 5], some[k, 6], some[k, 7] = x | z, y | z, x | y | z
            continue
        for t in range(digits):
            x = _0
            for i in range(base, base + size):
                x |= boxes[i]
            for below in range(1 << t):
                some[k, below + (1 << t)] = some[k, below] | x
            base += size
    level[L_CHOICE] = 0


@njit(cache=True, nogil=True)
def _cut(boxes: Any, source: int, digits: int, size: int, top: int) -> int:
    """The OR of some slices of a bitmap, written to ``top`` unless it is one slice as it stands; where it is."""
    begin = -1
    t = 0
    written = False
    while digits:
        if digits & 1:
            base = source + t * size
            if begin < 0:
                begin = base
            elif not written:
                for i in range(size):
                    boxes[top + i] = boxes[begin + i] | boxes[base + i]
                begin, written = top, True
            else:
                for i in range(size):
                    boxes[top + i] |= boxes[base + i]
        digits >>= 1
        t += 1
    return begin


@njit(cache=True, nogil=True)
def _hopeless(boxes: Any, unless: Any, base: int, size: int) -> Any:
    """The subsets inside the word with which some edge will be missed whatever is chosen of the columns left."""
    x = _ALL
    for i in range(size):
        x &= boxes[base + i] | unless[i]
    return x


@njit(cache=True, nogil=True)
def search_boxes(task: Task, budget: int) -> int:
    """Decides column after column, depth first, until done or until the work is enough."""
    numbers, levels, choices, some, boxes = task.numbers, task.levels, task.choices, task.some, task.boxes
    outside = numbers[LEVELS]
    level = numbers[LEVEL]
    while level >= 0:
        number = levels[level, L_CHOICE]
        if number == levels[level, L_CHOICES]:
            level -= 1
            continue
        n, size = levels[level, L_ARRAYS], levels[level + 1, L_SIZE]
        numbers[LEVEL] = level
        if numbers[FOUND] + 64 > len(task.found):
            return GROW_FOUND
        numbers[NEED] = levels[level, L_TOP] + (n + ATOMS) * size
        if numbers[NEED] > len(boxes):
            return GROW_BOXES
        if numbers[WORK] > budget:
            return PAUSED
        levels[level, L_CHOICE] = number + 1
        choice = choices[level, number]
        if (levels[level, L_SAME] and choice[C_SKIP]) or (levels[level, L_ONLY] >= 0 and levels[level, L_ONLY] != number):
            continue
        numbers[WORK] += 8
        alive = task.level_sets[level, 1]
        keep = choice[C_KEEP]
        for k in range(choice[C_CRITICAL]):
            alive &= some[level, 0, choice[C_FIRST + k]]
        for k in range(1, n):
            alive &= some[level, k, keep]
        if alive == _0:
            continue
        missed = some[level, 0, keep]
        alive &= _minimal_inside(missed)
        if alive == _0:
            continue
        chosen = task.level_sets[level, 0] | task.choice_sets[level, number]
        if alive & ~missed != _0:
            if not levels[level, L_SILENT]:
                emit(numbers, task.found, task.inside, task.forbidden, chosen, alive & ~missed)
            alive &= missed
        if alive == _0 or level + 1 == outside:
            continue
        top = levels[level, L_TOP]
        base = _cut(boxes, task.arrays[level, 0], keep, size, top)
        alive &= ~_hopeless(boxes, task.unless, base, size)
        if alive == _0:
            continue
        below = level + 1
        task.arrays[below, 0] = base
        top += size
        for k in range(1, n):
            task.arrays[below, k] = _cut(boxes, task.arrays[level, k], keep, size, top)
            top += size
        for k in range(choice[C_CRITICAL]):
            task.arrays[below, n + k] = _cut(boxes, task.arrays[level, 0], choice[C_FIRST + k], size, top)
            top += size
        levels[below, L_ARRAYS], levels[below, L_TOP] = n + choice[C_CRITICAL], top
        levels[below, L_SAME] = levels[level, L_SAME] and choice[C_SAME]
        task.level_sets[below, 0], task.level_sets[below, 1] = chosen, alive
        level = below
        _enter(boxes, levels[level], levels[level + 1, L_SIZE], task.arrays[level], some[level])
        numbers[WORK] += levels[level, L_ARRAYS] * (levels[level, L_SIZE] + 8)
        numbers[NODES] += 1
    numbers[LEVEL] = -1
    return DONE
