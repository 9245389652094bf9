"""All minimal hitting sets of a hypergraph: the one search behind rules, dependencies and keys.

The problem is cut by *branches* ``(chosen, candidates)``: all minimal hitting sets that hold ``chosen`` and else only
candidates. A branch with at most 64 candidates is loaded into lists of one-word edges: the uncovered ones, and for each
chosen vertex those that only it hits (*critical*: a set is minimal when no such list is empty). Two engines take turns:

*Lists* (MMCS, Murakami and Uno 2014). Vertices that hit nothing, or all critical edges of a chosen vertex, are no
candidates any more. Then branch over the vertices of the smallest uncovered edge.

*Boxes*. Vertices fall into *columns*: a forbidden set (the atoms of one comparison) is one column, any other vertex one
by itself. An edge is then a vector of digits, what it has in each column, and a list of edges is a bitmap over all
such vectors: dense where evidence is (``uce``: 109k of 3^11 vectors), and edges that become equal melt into one bit. The
sets that are *not* hit by chosen vertices are boxes in this space, so minimal hitting sets are the maximal empty boxes.
Six vertices live inside the 64-bit word, bit ``S`` of which says "some edge is not hit by the subset S of the six", so
each node of the search treats 64 subsets at once; the other columns are decided one after the other, each choice being
the OR of some slices of the bitmap. A node dies when no bit is left alive, that is, for each of the 64 subsets a chosen
vertex has no critical edge, or an edge can no longer be hit. Lists are left for boxes as soon as the bitmap is not longer
than the lists. Time per node is linear in the bitmap, which shrinks by the digits of a column at each level.

Measured on one busy core (nodes; CPU seconds; MMCS with bitsets over edges, the first prototype, in brackets):
``MEASURED``
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

DONE, PAUSED, GROW_LISTS, GROW_BOXES, GROW_FOUND = 0, 1, 2, 3, 4

INNER = 6  # vertices inside a word
ATOMS = 3  # most vertices of a column
DIGITS = 1 << ATOMS  # most patterns of an edge in a column, and most choices
FEW_WORDS = 1024  # bitmaps this short (words) are always worth it
WORDS_PER_EDGE = 2  # longer bitmaps only if they have no more words than this for each listed edge

# places in Task.numbers
DEPTH, FRESH, LEVEL, FOUND, WORK, COLUMNS, INSIDE, NODES, LEVELS = range(9)
# places in Task.frames (a node on the path of the list engine)
U_BEGIN, U_END, S_BEGIN, S_END = range(4)
# places in Task.frame_sets
F_CHOSEN, F_CANDIDATES, F_TODO, F_TRIED, F_REST = range(5)
# places in Task.levels (a column, and the node on the path of the box engine)
L_DIGITS, L_CHOICES, L_SIZE, L_ARRAYS, L_CHOICE, L_TOP, L_SAME = range(7)
# places in Task.choices
C_KEEP, C_CRITICAL, C_FIRST, C_SKIP, C_SAME = 0, 1, 2, 5, 6
# places in Task.column_vertices
K_ATOMS = 3


class Task(NamedTuple):
    """A branch being searched; sets of (local) vertices are words."""

    numbers: Any  # int64[9]
    lists: Any  # uint64: edges
    frames: Any  # int64[4, depth]
    frame_sets: Any  # uint64[5, depth]
    segments: Any  # int64[2, many]: where lists of critical edges begin and end
    order: Any  # int64[vertices]: rare vertices first
    forbidden: Any  # uint64
    exchange: Any  # int64[vertices], or empty: the symmetry
    columns: Any  # int64[columns, 4]: the vertices of a column (-1: none), and how many
    levels: Any  # int64[columns + 1, 7]
    level_sets: Any  # uint64[columns + 1, 2]: chosen, alive
    choices: Any  # int64[columns, DIGITS, 7]
    choice_sets: Any  # uint64[columns, DIGITS]
    digit: Any  # int64[columns, DIGITS]: the digit of a pattern
    arrays: Any  # int64[columns + 1, many]: where the bitmaps of a node are
    some: Any  # uint64[columns + 1, many, DIGITS]: OR over a slice of a bitmap
    inside: Any  # uint64[64]: the vertices of each subset of the inner ones
    boxes: Any  # uint64: bitmaps
    unless: Any  # uint64: all ones where a word says nothing on whether all can be hit
    found: Any  # uint64


_0, _1 = np.uint64(0), np.uint64(1)
_ALL = ~np.uint64(0)
# bit S of the i-th word: S lacks vertex i
_LACKS = np.array(
    [0x5555555555555555, 0x3333333333333333, 0x0F0F0F0F0F0F0F0F, 0x00FF00FF00FF00FF, 0x0000FFFF0000FFFF, 0x00000000FFFFFFFF], np.uint64
)


@njit(cache=True, nogil=True, inline="always")
def _count(x: Any) -> Any:
    """Bits of a word (LLVM makes it one instruction)."""
    x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((x * np.uint64(0x0101010101010101)) >> np.uint64(56))


@njit(cache=True, nogil=True)
def _squeeze_steps(mask: Any, steps: Any) -> None:
    """The six moves that bring the bits under ``mask`` together at the low end (Hacker's Delight, section 7-4)."""
    to_right = ~mask << _1
    for i in range(6):
        moving = to_right
        for k in range(6):
            moving ^= moving << (_1 << np.uint64(k))
        steps[i] = moving & mask
        mask = (mask ^ steps[i]) | (steps[i] >> (_1 << np.uint64(i)))
        to_right &= ~moving


@njit(cache=True, nogil=True, inline="always")
def _squeeze(x: Any, steps: Any) -> Any:
    for i in range(6):
        t = x & steps[i]
        x = (x ^ t) | (t >> (_1 << np.uint64(i)))
    return x


@njit(cache=True, nogil=True)
def load(edges: Any, chosen: Any, candidates: Any, task: Task) -> None:
    """Makes the lists of a branch; ``O(edges)``. Vertices are numbered anew: the candidates in order."""
    words = edges.shape[1]
    steps = np.empty((words, 6), np.uint64)
    shift = np.empty(words, np.uint64)
    place = np.zeros(64 * words + 2, np.int64)  # of the list of each chosen vertex; the last is that of uncovered edges
    last = 64 * words
    total = 0
    for w in range(words):
        _squeeze_steps(candidates[w], steps[w])
        shift[w] = np.uint64(total)
        total += _count(candidates[w])
    for turn in range(2):
        for i in range(len(edges)):
            hits, v = 0, last
            for w in range(words):
                h = edges[i, w] & chosen[w]
                if h != _0:
                    hits += _count(h)
                    v = 64 * w + _count((h & (~h + _1)) - _1)
            if hits > 1:
                continue
            if turn == 0:
                place[v + 1] += 1
            else:
                edge = _0
                for w in range(words):
                    part = edges[i, w] & candidates[w]
                    if part != _0:
                        edge |= _squeeze(part, steps[w]) << shift[w]
                task.lists[place[v]] = edge
                place[v] += 1
        if turn == 0:
            for v in range(last + 1):
                place[v + 1] += place[v]
    segments = 0
    begin = 0
    for w in range(words):
        for b in range(64):
            v = 64 * w + b
            if chosen[w] >> np.uint64(b) & _1 != _0:
                task.segments[0, segments], task.segments[1, segments] = begin, place[v]
                segments += 1
            begin = place[v]
    task.frames[U_BEGIN, 0], task.frames[U_END, 0] = begin, place[last]
    task.frames[S_BEGIN, 0], task.frames[S_END, 0] = 0, segments
    task.frame_sets[F_CHOSEN, 0] = _0
    task.frame_sets[F_CANDIDATES, 0] = _ALL >> np.uint64(64 - total) if total > 0 else _0
    task.numbers[:] = 0
    task.numbers[FRESH], task.numbers[LEVEL] = 1, -1


@njit(cache=True, nogil=True)
def _reduce(task: Task, depth: int) -> int:
    """Drops what can be no candidate any more. 0: nothing to find here, 1: the chosen set is minimal, 2: to be searched."""
    lists, segments = task.lists, task.segments
    chosen, candidates = task.frame_sets[F_CHOSEN, depth], task.frame_sets[F_CANDIDATES, depth]
    first = task.frames[S_BEGIN, depth]
    while True:
        left = candidates
        kept = first
        for s in range(first, task.frames[S_END, depth]):
            common, free = _ALL, False
            for i in range(segments[0, s], segments[1, s]):
                edge = lists[i] & candidates
                lists[i] = edge
                common &= edge
                free |= edge == _0
            if free:  # critical for good
                continue
            if segments[0, s] == segments[1, s]:
                return 0
            segments[0, kept], segments[1, kept] = segments[0, s], segments[1, s]
            kept += 1
            left &= ~common
        task.frames[S_END, depth] = kept
        if task.frames[U_BEGIN, depth] == task.frames[U_END, depth]:
            return 1
        union, lost = _0, False
        for i in range(task.frames[U_BEGIN, depth], task.frames[U_END, depth]):
            edge = lists[i] & candidates
            lists[i] = edge
            union |= edge
            lost |= edge == _0
        if lost:
            return 0
        left &= union
        for i in range(len(task.forbidden)):
            missing = task.forbidden[i] & ~chosen
            if missing & (missing - _1) == _0:
                left &= ~missing
        if left == candidates:
            task.frame_sets[F_CANDIDATES, depth] = candidates
            return 2
        candidates = left


@njit(cache=True, nogil=True)
def _branch(task: Task, depth: int) -> None:
    """Chooses the smallest uncovered edge to branch over."""
    lists, begin, end = task.lists, task.frames[U_BEGIN, depth], task.frames[U_END, depth]
    if depth == 0:
        _rare_first(lists[begin:end], task.order)
    best, fewest = _0, 65
    for i in range(begin, end):
        size = _count(lists[i])
        if size < fewest:
            best, fewest = lists[i], size
    task.frame_sets[F_TODO, depth], task.frame_sets[F_TRIED, depth] = best, _0
    task.frame_sets[F_REST, depth] = task.frame_sets[F_CANDIDATES, depth] & ~best


@njit(cache=True, nogil=True)
def _rare_first(edges: Any, order: Any) -> None:
    counts = np.zeros(len(order), np.int64)
    for edge in edges:
        for v in range(len(order)):
            counts[v] += np.int64(edge >> np.uint64(v) & _1)
    for k in range(len(order)):
        j = k - 1
        while j >= 0 and counts[order[j]] > counts[k]:
            order[j + 1] = order[j]
            j -= 1
        order[j + 1] = k


@njit(cache=True, nogil=True)
def _descend(task: Task, depth: int) -> bool:
    """Makes the node for the next vertex of the branching edge; the vertices tried before it stay candidates. False: no room."""
    lists, segments = task.lists, task.segments
    begin, end = task.frames[U_BEGIN, depth], task.frames[U_END, depth]
    first, last = task.frames[S_BEGIN, depth], task.frames[S_END, depth]
    top = end
    lowest = segments[0, first] if last > first else begin
    if top + top - lowest > len(lists):
        return False
    vertex = _0
    for v in task.order:
        vertex = _1 << np.uint64(v)
        if task.frame_sets[F_TODO, depth] & vertex != _0:
            break
    task.frame_sets[F_TODO, depth] ^= vertex
    candidates = task.frame_sets[F_REST, depth] | task.frame_sets[F_TRIED, depth]
    task.frame_sets[F_TRIED, depth] |= vertex
    new = last
    for s in range(first, last):
        segments[0, new] = top
        for i in range(segments[0, s], segments[1, s]):
            edge = lists[i]
            lists[top] = edge & candidates
            top += edge & vertex == _0
        segments[1, new] = top
        new += 1
    # critical edges of the new vertex go to the far end, then to the near end of what is free
    low, high = top, top + end - begin
    for i in range(begin, end):
        edge = lists[i]
        if edge & vertex == _0:
            lists[low] = edge & candidates
            low += 1
        else:
            high -= 1
            lists[high] = edge & candidates
    _reverse_parts(lists, top, low, top + end - begin)
    middle = top + (top + end - begin - low)
    segments[0, new], segments[1, new] = top, middle
    below = depth + 1
    task.frames[U_BEGIN, below], task.frames[U_END, below] = middle, top + end - begin
    task.frames[S_BEGIN, below], task.frames[S_END, below] = last, new + 1
    task.frame_sets[F_CHOSEN, below] = task.frame_sets[F_CHOSEN, depth] | vertex
    task.frame_sets[F_CANDIDATES, below] = candidates
    return True


@njit(cache=True, nogil=True)
def _reverse_parts(lists: Any, begin: int, middle: int, end: int) -> None:
    """Exchanges two neighbouring parts of a list by turning the whole around (their own order does not matter)."""
    i, j = begin, end - 1
    while i < j:
        lists[i], lists[j] = lists[j], lists[i]
        i += 1
        j -= 1


@njit(cache=True, nogil=True)
def _columns(task: Task, depth: int) -> int:
    """Groups the candidates of a node into columns; how many."""
    chosen, free = task.frame_sets[F_CHOSEN, depth], task.frame_sets[F_CANDIDATES, depth]
    columns = task.columns
    n = 0
    for i in range(len(task.forbidden)):
        missing = task.forbidden[i] & ~chosen
        if missing & ~free == _0 and 2 <= _count(missing) <= ATOMS:
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


@njit(cache=True, nogil=True, inline="always")
def _pattern(edge: Any, column: Any) -> Any:
    """What an edge has in a column, a bit for each vertex of the column."""
    pattern = edge >> np.uint64(column[0]) & _1
    for a in range(1, column[K_ATOMS]):
        pattern |= (edge >> np.uint64(column[a]) & _1) << np.uint64(a)
    return np.int64(pattern)


@njit(cache=True, nogil=True)
def _arrange(columns: Any, n: int, seen: Any) -> int:
    """Puts uneven columns first and those for the inside of the word last; how many stay outside.

    ``seen[c, p]`` counts the edges with pattern ``p`` in column ``c``. Uneven columns first means early deaths.
    """
    key = np.empty(n, np.float64)
    for c in range(n):
        total = 0
        for p in range(DIGITS):
            total += seen[c, p]
        key[c] = 10.0 * columns[c, K_ATOMS]
        for p in range(DIGITS):
            if seen[c, p] > 0:
                share = seen[c, p] / total
                key[c] -= share * np.log(share)
    row, counts = np.empty(columns.shape[1], np.int64), np.empty(DIGITS, np.int64)
    for c in range(1, n):
        row[:], counts[:], value = columns[c], seen[c], key[c]
        j = c - 1
        while j >= 0 and key[j] > value:
            columns[j + 1], seen[j + 1], key[j + 1] = columns[j], seen[j], key[j]
            j -= 1
        columns[j + 1], seen[j + 1], key[j + 1] = row, counts, value
    room = INNER
    outside = n
    for c in range(n - 1, -1, -1):
        if columns[c, K_ATOMS] <= room:
            room -= columns[c, K_ATOMS]
            row[:], counts[:] = columns[c], seen[c]
            for j in range(c, outside - 1):
                columns[j], seen[j] = columns[j + 1], seen[j + 1]
            outside -= 1
            columns[outside], seen[outside] = row, counts
    return outside


@njit(cache=True, nogil=True)
def _digits(task: Task, level: int, seen: Any) -> int:
    """Numbers the patterns of a column; how many digits. The first digits are those that decide whether all can be hit.

    An edge that has nothing in a column stays whatever is chosen there. Without such edges, any choice (never all of the
    column) leaves one vertex, and so the edges that have just that vertex.
    """
    m = task.columns[level, K_ATOMS]
    digit = task.digit[level]
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
def _choices(task: Task, level: int) -> None:
    """What can be chosen of a column (of a forbidden one not all), and which digits each choice keeps or leaves critical."""
    column, digit = task.columns[level], task.digit[level]
    m = column[K_ATOMS]
    image = np.empty(ATOMS, np.int64)  # of each vertex under the symmetry, as a place in the column
    for a in range(m):
        image[a] = -1
        if len(task.exchange):
            for b in range(m):
                if task.exchange[column[a]] == column[b]:
                    image[a] = b
    n = 0
    for chosen in range((1 << m) - (m > 1)):
        choice = task.choices[level, n]
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
        task.choice_sets[level, n] = vertices
        n += 1
    task.levels[level, L_CHOICES] = n


@njit(cache=True, nogil=True)
def _plan(task: Task, depth: int) -> int:
    """Lays out columns, digits and choices for the box search of a node; words of a bitmap, or 0 if lists are better."""
    columns = task.columns
    n = _columns(task, depth)
    begin, end = task.frames[U_BEGIN, depth], task.frames[U_END, depth]
    if task.frames[S_END, depth] > task.frames[S_BEGIN, depth]:
        begin = task.segments[0, task.frames[S_BEGIN, depth]]
    most = max(FEW_WORDS, WORDS_PER_EDGE * (end - begin))
    size, inside = 1.0, 0
    for c in range(n - 1, -1, -1):
        m = columns[c, K_ATOMS]
        if inside + m <= INNER:
            inside += m
        else:
            size *= max(2, m)
    if size > most:
        return 0
    seen = np.zeros((n, DIGITS), np.int64)
    for i in range(begin, end):
        edge = task.lists[i]
        for c in range(n):
            seen[c, _pattern(edge, columns[c])] += 1
    outside = _arrange(columns, n, seen)
    words = 1
    task.levels[outside, L_SIZE] = 1
    for level in range(outside - 1, -1, -1):
        digits = _digits(task, level, seen[level])
        task.levels[level, L_DIGITS] = digits
        words *= digits
        if words > most:
            return 0
        task.levels[level, L_SIZE] = words
        _choices(task, level)
    task.numbers[COLUMNS], task.numbers[LEVELS] = n, outside
    return words


@njit(cache=True, nogil=True)
def _inner(task: Task) -> Any:
    """Names the subsets of the vertices inside the word; the bits of those that are not forbidden."""
    vertices = 0
    fine = _ALL
    for s in range(64):
        task.inside[s] = _0
    for c in range(task.numbers[LEVELS], task.numbers[COLUMNS]):
        m = task.columns[c, K_ATOMS]
        whole = ((1 << m) - 1) << vertices
        for s in range(64):
            if m > 1 and s & whole == whole:
                fine &= ~(_1 << np.uint64(s))
            for a in range(m):
                if s >> (vertices + a) & 1:
                    task.inside[s] |= _1 << np.uint64(task.columns[c, a])
        vertices += m
    for s in range(1 << vertices, 64):
        fine &= ~(_1 << np.uint64(s))
    task.numbers[INSIDE] = vertices
    return fine


@njit(cache=True, nogil=True)
def _draw(task: Task, begin: int, end: int, base: int) -> None:
    """Draws a list of edges as a bitmap and closes it inside the words: who misses an edge with S misses it with less."""
    boxes, levels, columns, digit = task.boxes, task.levels, task.columns, task.digit
    outside, n = task.numbers[LEVELS], task.numbers[COLUMNS]
    size = levels[0, L_SIZE]
    for i in range(base, base + size):
        boxes[i] = _0
    everything = np.uint64((1 << task.numbers[INSIDE]) - 1)
    for i in range(begin, end):
        edge = task.lists[i]
        word = base
        for c in range(outside):
            word += digit[c, _pattern(edge, columns[c])] * levels[c + 1, L_SIZE]
        bit, shift = _0, 0
        for c in range(outside, n):
            bit |= np.uint64(_pattern(edge, columns[c]) << shift)
            shift += columns[c, K_ATOMS]
        boxes[word] |= _1 << (bit ^ everything)
    for i in range(base, base + size):
        x = boxes[i]
        for v in range(6):
            x |= (x >> (_1 << np.uint64(v))) & _LACKS[v]
        boxes[i] = x


@njit(cache=True, nogil=True)
def _mark_deciding(task: Task) -> None:
    """``unless``: zero for the vectors of digits that decide whether all edges can be hit (see ``_digits``)."""
    task.unless[0] = _0
    for level in range(task.numbers[LEVELS] - 1, -1, -1):
        m = task.columns[level, K_ATOMS]
        deciding = 1 if task.digit[level, 0] >= 0 else m
        size = task.levels[level + 1, L_SIZE]
        for t in range(1, task.levels[level, L_DIGITS]):
            for i in range(size):
                task.unless[t * size + i] = task.unless[i] if t < deciding else _ALL


@njit(cache=True, nogil=True, inline="always")
def _minimal_inside(missed: Any) -> Any:
    """Subsets S inside the word such that S without any one of its vertices misses an edge."""
    good = _ALL
    for v in range(6):
        good &= ((missed & _LACKS[v]) << (_1 << np.uint64(v))) | _LACKS[v]
    return good


@njit(cache=True, nogil=True)
def _emit(task: Task, chosen: Any, bits: Any) -> None:
    """Notes the sets ``chosen`` with each subset inside the word whose bit is set, unless one is forbidden."""
    n = task.numbers[FOUND]
    while bits != _0:
        low = bits & (~bits + _1)
        bits ^= low
        found = chosen | task.inside[_count(low - _1)]
        fine = True
        for i in range(len(task.forbidden)):
            fine &= task.forbidden[i] & ~found != _0
        task.found[n] = found
        n += fine
    task.numbers[FOUND] = n


@njit(cache=True, nogil=True)
def _open_boxes(task: Task, depth: int, words: int) -> None:
    """Starts the box search below a node of the list search."""
    first, last = task.frames[S_BEGIN, depth], task.frames[S_END, depth]
    alive = _inner(task)
    _mark_deciding(task)
    missed = _0
    for k in range(last - first + 1):
        base = k * words
        if k == 0:
            _draw(task, task.frames[U_BEGIN, depth], task.frames[U_END, depth], base)
        else:
            _draw(task, task.segments[0, first + k - 1], task.segments[1, first + k - 1], base)
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
    _emit(task, chosen, alive & ~missed)
    alive &= missed
    task.numbers[LEVEL] = 0 if alive != _0 and task.numbers[LEVELS] > 0 else -1
    task.levels[0, L_ARRAYS], task.levels[0, L_TOP] = last - first + 1, words * (last - first + 1)
    task.levels[0, L_SAME] = len(task.exchange) > 0 and depth == 0
    task.level_sets[0, 0], task.level_sets[0, 1] = chosen, alive
    if task.numbers[LEVEL] == 0:
        _enter(task, 0)


@njit(cache=True, nogil=True)
def _enter(task: Task, level: int) -> None:
    """Starts a node of the box search: the OR over each slice of its bitmaps."""
    boxes, some = task.boxes, task.some
    size = task.levels[level + 1, L_SIZE]
    n = task.levels[level, L_ARRAYS]
    for k in range(n):
        base = task.arrays[level, k]
        for t in range(task.levels[level, L_DIGITS]):
            x = _0
            for i in range(base, base + size):
                x |= boxes[i]
            some[level, k, t] = x
            base += size
    task.levels[level, L_CHOICE] = 0
    task.numbers[WORK] += n * task.levels[level, L_SIZE]
    task.numbers[NODES] += 1


@njit(cache=True, nogil=True, inline="always")
def _join(some: Any, digits: Any) -> Any:
    """OR over the slices of some digits."""
    x = _0
    t = 0
    while digits:
        if digits & 1:
            x |= some[t]
        digits >>= 1
        t += 1
    return x


@njit(cache=True, nogil=True)
def _cut(task: Task, source: int, digits: int, size: int, top: int) -> int:
    """The OR of some slices of a bitmap, written to ``top`` unless it is one slice as it stands; where it is."""
    boxes = task.boxes
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
def _hopeless(task: Task, base: int, size: int) -> Any:
    """The subsets inside the word with which some edge will be missed whatever is chosen of the columns left."""
    boxes, unless = task.boxes, task.unless
    x = _ALL
    for i in range(size):
        x &= boxes[base + i] | unless[i]
    return x


@njit(cache=True, nogil=True)
def _search_boxes(task: Task, budget: int) -> int:
    """Decides column after column, depth first, until done or until the work is enough."""
    levels, choices, some = task.levels, task.choices, task.some
    outside = task.numbers[LEVELS]
    level = task.numbers[LEVEL]
    while level >= 0:
        number = levels[level, L_CHOICE]
        if number == levels[level, L_CHOICES]:
            level -= 1
            continue
        n, size = levels[level, L_ARRAYS], levels[level + 1, L_SIZE]
        task.numbers[LEVEL] = level
        if task.numbers[FOUND] + 64 > len(task.found):
            return GROW_FOUND
        if levels[level, L_TOP] + (n + ATOMS) * size > len(task.boxes):
            return GROW_BOXES
        if task.numbers[WORK] > budget:
            return PAUSED
        levels[level, L_CHOICE] = number + 1
        choice = choices[level, number]
        if levels[level, L_SAME] and choice[C_SKIP]:
            continue
        task.numbers[WORK] += 8
        alive = task.level_sets[level, 1]
        keep = choice[C_KEEP]
        for k in range(choice[C_CRITICAL]):
            alive &= _join(some[level, 0], choice[C_FIRST + k])
        for k in range(1, n):
            alive &= _join(some[level, k], keep)
            if alive == _0:
                break
        if alive == _0:
            continue
        missed = _join(some[level, 0], keep)
        alive &= _minimal_inside(missed)
        if alive == _0:
            continue
        chosen = task.level_sets[level, 0] | task.choice_sets[level, number]
        if alive & ~missed != _0:
            _emit(task, chosen, alive & ~missed)
            alive &= missed
        if alive == _0 or level + 1 == outside:
            continue
        top = levels[level, L_TOP]
        base = _cut(task, task.arrays[level, 0], keep, size, top)
        alive &= ~_hopeless(task, base, size)
        if alive == _0:
            continue
        below = level + 1
        task.arrays[below, 0] = base
        top += size
        for k in range(1, n):
            task.arrays[below, k] = _cut(task, task.arrays[level, k], keep, size, top)
            top += size
        for k in range(choice[C_CRITICAL]):
            task.arrays[below, n + k] = _cut(task, task.arrays[level, 0], choice[C_FIRST + k], size, top)
            top += size
        levels[below, L_ARRAYS], levels[below, L_TOP] = n + choice[C_CRITICAL], top
        levels[below, L_SAME] = levels[level, L_SAME] and choice[C_SAME]
        task.level_sets[below, 0], task.level_sets[below, 1] = chosen, alive
        level = below
        _enter(task, level)
    task.numbers[LEVEL] = -1
    return DONE


@njit(cache=True, nogil=True)
def advance(task: Task, budget: int) -> int:
    """Goes on with a branch for about ``budget`` words of work. A status ``GROW_...`` asks for a longer array, then call again."""
    numbers = task.numbers
    numbers[WORK] = 0
    while True:
        if numbers[LEVEL] >= 0:
            status = _search_boxes(task, budget)
            if status != DONE:
                return status
        depth = numbers[DEPTH]
        if depth < 0:
            return DONE
        if numbers[WORK] > budget:
            return PAUSED
        if numbers[FOUND] + 64 > len(task.found):
            return GROW_FOUND
        if not numbers[FRESH]:
            if task.frame_sets[F_TODO, depth] == _0:
                numbers[DEPTH] = depth - 1
            elif _descend(task, depth):
                numbers[DEPTH], numbers[FRESH] = depth + 1, 1
            else:
                return GROW_LISTS
            continue
        numbers[WORK] += 4 * (task.frames[U_END, depth] - task.frames[U_BEGIN, depth]) + 64
        verdict = _reduce(task, depth)
        if verdict == 2:
            words = _plan(task, depth)
            if words == 0:
                _branch(task, depth)
                numbers[FRESH], numbers[NODES] = 0, numbers[NODES] + 1
                continue
            arrays = task.frames[S_END, depth] - task.frames[S_BEGIN, depth] + 1
            if words * arrays > len(task.boxes) or words > len(task.unless):
                return GROW_BOXES
            _open_boxes(task, depth, words)
        elif verdict == 1:
            task.inside[0] = _0
            _emit(task, task.frame_sets[F_CHOSEN, depth], _1)
        numbers[DEPTH], numbers[FRESH] = depth - 1, 0


@njit(cache=True, nogil=True)
def name(found: Any, chosen: Any, candidates: Any, out: Any) -> None:
    """Local sets of a branch as sets of all vertices."""
    words = len(chosen)
    vertices = np.empty(64, np.int64)
    n = 0
    for v in range(64 * words):
        if candidates[v // 64] >> np.uint64(v % 64) & _1 != _0:
            vertices[n] = v
            n += 1
    for i in range(len(found)):
        for w in range(words):
            out[i, w] = chosen[w]
        x = found[i]
        for k in range(n):
            v = vertices[k]
            out[i, v >> 6] |= (x >> np.uint64(k) & _1) << np.uint64(v & 63)
