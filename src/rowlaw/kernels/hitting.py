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
PATTERNS = 1 << ATOMS  # of an edge in a column; also most choices
DIGITS = 4  # most patterns that occur in a column; else its vertices become columns

# places in Task.numbers
DEPTH, FRESH, LEVEL, FOUND, WORK, COLUMNS, INSIDE, NODES, LEVELS, NEED, FEW, PER_EDGE = range(12)
# places in Task.frames (a node on the path of the list engine)
U_BEGIN, U_END, S_BEGIN, S_END, BASE, TOP = range(6)
# places in Task.frame_sets
F_CHOSEN, F_CANDIDATES, F_TODO, F_TRIED, F_REST = range(5)
# places in Task.levels (a column, and the node on the path of the box engine)
L_DIGITS, L_CHOICES, L_SIZE, L_ARRAYS, L_CHOICE, L_TOP, L_SAME, L_ONLY, L_SILENT = range(9)
# places in Task.choices
C_KEEP, C_CRITICAL, C_FIRST, C_SKIP, C_SAME = 0, 1, 2, 5, 6
# places in Task.column_vertices
K_ATOMS = 3


class Task(NamedTuple):
    """A branch being searched; sets of (local) vertices are words."""

    numbers: Any  # int64[12]
    lists: Any  # uint64: edges
    frames: Any  # int64[6, depth]
    frame_sets: Any  # uint64[5, depth]
    segments: Any  # int64[2, many]: where lists of critical edges begin and end
    order: Any  # int64[vertices]: rare vertices first
    forbidden: Any  # uint64
    exchange: Any  # int64[vertices], or empty: the symmetry
    columns: Any  # int64[columns, 4]: the vertices of a column (-1: none), and how many
    levels: Any  # int64[columns + 1, 9]; L_ONLY: the one choice to be made (-1: any), L_SILENT: note nothing here
    level_sets: Any  # uint64[columns + 1, 2]: chosen, alive
    choices: Any  # int64[columns, PATTERNS, 7]
    choice_sets: Any  # uint64[columns, PATTERNS]
    digit: Any  # int64[columns, PATTERNS]: the digit of a pattern
    arrays: Any  # int64[columns + 1, many]: where the bitmaps of a node are
    some: Any  # uint64[columns + 1, many, 1 << DIGITS]: for a bitmap, OR over the slices of a set of digits
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


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
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
    task.frames[BASE, 0], task.frames[TOP, 0] = 0, place[last]
    task.frame_sets[F_CHOSEN, 0] = _0
    task.frame_sets[F_CANDIDATES, 0] = _ALL >> np.uint64(64 - total) if total > 0 else _0
    for i in range(FEW):
        task.numbers[i] = 0
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
    base = top = task.frames[TOP, depth]
    task.numbers[NEED] = 2 * top - task.frames[BASE, depth]
    if task.numbers[NEED] > len(lists):
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
    # uncovered edges from the near end, critical ones of the new vertex from the far end
    low, high = top, top + end - begin
    for i in range(begin, end):
        edge = lists[i]
        if edge & vertex == _0:
            lists[low] = edge & candidates
            low += 1
        else:
            high -= 1
            lists[high] = edge & candidates
    segments[0, new], segments[1, new] = high, top + end - begin
    below = depth + 1
    task.frames[U_BEGIN, below], task.frames[U_END, below] = top, low
    task.frames[BASE, below], task.frames[TOP, below] = base, top + end - begin
    task.frames[S_BEGIN, below], task.frames[S_END, below] = last, new + 1
    task.frame_sets[F_CHOSEN, below] = task.frame_sets[F_CHOSEN, depth] | vertex
    task.frame_sets[F_CANDIDATES, below] = candidates
    return True


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


@njit(cache=True, nogil=True)
def _pattern(edge: Any, column: Any) -> Any:
    """What an edge has in a column, a bit for each vertex of the column."""
    pattern = edge >> np.uint64(column[0]) & _1
    for a in range(1, column[K_ATOMS]):
        pattern |= (edge >> np.uint64(column[a]) & _1) << np.uint64(a)
    return np.int64(pattern)


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
    seen = np.zeros((_count(task.frame_sets[F_CANDIDATES, depth]), PATTERNS), np.int64)
    for i in range(begin, end):
        edge = task.lists[i]
        for c in range(n):
            seen[c, _pattern(edge, columns[c])] += 1
    n = _break_up(columns, n, seen)
    outside = _arrange(columns, n, seen)
    words = 1
    task.levels[outside, L_SIZE] = 1
    for level in range(outside - 1, -1, -1):
        digits = _digits(task, level, seen[level])
        task.levels[level, L_DIGITS], task.levels[level, L_ONLY], task.levels[level, L_SILENT] = digits, -1, 0
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


@njit(cache=True, nogil=True)
def _minimal_inside(missed: Any) -> Any:
    """Subsets S inside the word such that S without any one of its vertices misses an edge."""
    good = _ALL
    for v in range(6):
        good &= ((missed & _LACKS[v]) << (_1 << np.uint64(v))) | _LACKS[v]
    return good


@njit(cache=True, nogil=True)
def _emit(numbers: Any, found: Any, inside: Any, forbidden: Any, chosen: Any, bits: Any) -> None:
    """Notes the sets ``chosen`` with each subset inside the word whose bit is set, unless one is forbidden."""
    n = numbers[FOUND]
    while bits != _0:
        low = bits & (~bits + _1)
        bits ^= low
        vertices = chosen | inside[_count(low - _1)]
        fine = True
        for i in range(len(forbidden)):
            fine &= forbidden[i] & ~vertices != _0
        found[n] = vertices
        n += fine
    numbers[FOUND] = n


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
    _emit(task.numbers, task.found, task.inside, task.forbidden, chosen, alive & ~missed)
    alive &= missed
    task.numbers[LEVEL] = 0 if alive != _0 and task.numbers[LEVELS] > 0 else -1
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
def _cut(boxes: Any, sources: Any, targets: Any, digits: int, size: int, top: int) -> int:
    """For each bitmap the OR of the slices of some digits, written from ``top`` on unless one slice is all; where that ends.

    ``targets`` gets the places. Slices have ``size`` words.
    """
    first = _count(np.uint64(digits & -digits) - _1) * size
    digits &= digits - 1
    if digits == 0:
        for k in range(len(sources)):
            targets[k] = sources[k] + first
        return top
    second = _count(np.uint64(digits & -digits) - _1) * size
    digits &= digits - 1
    for k in range(len(sources)):
        x, y = sources[k] + first, sources[k] + second
        for i in range(size):
            boxes[top + i] = boxes[x + i] | boxes[y + i]
        more = digits
        while more:
            z = sources[k] + _count(np.uint64(more & -more) - _1) * size
            for i in range(size):
                boxes[top + i] |= boxes[z + i]
            more &= more - 1
        targets[k] = top
        top += size
    return top


@njit(cache=True, nogil=True)
def _hopeless(boxes: Any, unless: Any, base: int, size: int) -> Any:
    """The subsets inside the word with which some edge will be missed whatever is chosen of the columns left."""
    x = _ALL
    for i in range(size):
        x &= boxes[base + i] | unless[i]
    return x


@njit(cache=True, nogil=True)
def _search_boxes(task: Task, budget: int) -> int:
    """Decides column after column, depth first, until done or until the work is enough."""
    numbers, levels, choices, some, boxes, arrays = task.numbers, task.levels, task.choices, task.some, task.boxes, task.arrays
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
                _emit(numbers, task.found, task.inside, task.forbidden, chosen, alive & ~missed)
            alive &= missed
        if alive == _0 or level + 1 == outside:
            continue
        below = level + 1
        here, there = arrays[level], arrays[below]
        top = _cut(boxes, here[:1], there[:1], keep, size, levels[level, L_TOP])
        alive &= ~_hopeless(boxes, task.unless, there[0], size)
        if alive == _0:
            continue
        top = _cut(boxes, here[1:n], there[1:n], keep, size, top)
        for k in range(choice[C_CRITICAL]):
            top = _cut(boxes, here[:1], there[n + k : n + k + 1], choice[C_FIRST + k], size, top)
        levels[below, L_ARRAYS], levels[below, L_TOP] = n + choice[C_CRITICAL], top
        levels[below, L_SAME] = levels[level, L_SAME] and choice[C_SAME]
        task.level_sets[below, 0], task.level_sets[below, 1] = chosen, alive
        level = below
        _enter(boxes, levels[level], levels[level + 1, L_SIZE], arrays[level], some[level])
        numbers[WORK] += levels[level, L_ARRAYS] * (levels[level, L_SIZE] + 8)
        numbers[NODES] += 1
    numbers[LEVEL] = -1
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
            numbers[NEED] = words * arrays
            if numbers[NEED] > len(task.boxes) or words > len(task.unless):
                return GROW_BOXES
            _open_boxes(task, depth, words)
        elif verdict == 1:
            task.inside[0] = _0
            _emit(task.numbers, task.found, task.inside, task.forbidden, task.frame_sets[F_CHOSEN, depth], _1)
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


@njit(cache=True, nogil=True)
def split(edges: Any, chosen: Any, candidates: Any, forbidden: Any, children: Any) -> int:
    """One step of the list search on sets of any number of words: ``children[i]`` is a branch ``(chosen, candidates)``.

    Returns how many; -1 if ``chosen`` itself is a minimal hitting set. ``O(edges)``. If dropping candidates brings their
    number to 64 or less, the only child is the branch with the candidates that are left.
    """
    words = edges.shape[1]
    common = np.full((64 * words, words), _ALL)
    union, left = np.zeros(words, np.uint64), np.empty(words, np.uint64)
    critical = np.zeros(64 * words, np.bool_)
    uncovered = False
    for i in range(len(edges)):
        v = _only_hit(edges[i], chosen)
        if v == -1:
            uncovered = True
            for w in range(words):
                union[w] |= edges[i, w]
        elif v >= 0:
            critical[v] = True
            for w in range(words):
                common[v, w] &= edges[i, w]
    for w in range(words):
        left[w] = candidates[w] & union[w]
    for v in range(64 * words):
        if chosen[v >> 6] >> np.uint64(v & 63) & _1 != _0:
            for w in range(words):
                left[w] &= ~common[v, w]
            if not critical[v]:
                return 0
    if not _forbid(forbidden, chosen, left):
        return 0
    if not uncovered:
        return -1
    total = 0
    for w in range(words):
        total += _count(left[w])
    if total <= 64:
        for w in range(words):
            children[0, 0, w], children[0, 1, w] = chosen[w], left[w]
        return 1
    best, fewest = -1, 64 * words + 1
    for i in range(len(edges)):
        if _only_hit(edges[i], chosen) == -1:
            size = 0
            for w in range(words):
                size += _count(edges[i, w] & left[w])
            if size < fewest:
                best, fewest = i, size
    n = 0
    rest = np.empty(words, np.uint64)
    for w in range(words):
        rest[w] = left[w] & ~edges[best, w]
    for v in range(64 * words):
        bit, place = _1 << np.uint64(v & 63), v >> 6
        if edges[best, place] & left[place] & bit != _0:
            for w in range(words):
                children[n, 0, w], children[n, 1, w] = chosen[w], rest[w]
            children[n, 0, place] |= bit
            rest[place] |= bit
            n += 1
    return n


@njit(cache=True, nogil=True)
def _only_hit(edge: Any, chosen: Any) -> int:
    """The one chosen vertex of an edge; -1 if there is none, -2 if there are several."""
    v = -1
    for w in range(len(chosen)):
        h = edge[w] & chosen[w]
        if h != _0:
            if v >= 0 or h & (h - _1) != _0:
                return -2
            v = 64 * w + _count(h - _1)
    return v


@njit(cache=True, nogil=True)
def _forbid(forbidden: Any, chosen: Any, left: Any) -> bool:
    """Drops candidates that would complete a forbidden set; whether none is complete already."""
    words = len(chosen)
    for i in range(len(forbidden)):
        missing, last = 0, -1
        for w in range(words):
            x = forbidden[i, w] & ~chosen[w]
            if x != _0:
                missing += _count(x)
                last = w
        if missing == 0:
            return False
        if missing == 1:
            left[last] &= ~(forbidden[i, last] & ~chosen[last])
    return True


@njit(cache=True, nogil=True)
def add_edge(edges: Any, edge: Any, sets: Any, forbidden: Any, out: Any) -> Any:
    """One step of Berge's algorithm: from all minimal hitting sets of ``edges`` to those of ``edges`` and ``edge``.

    Sets that hit the new edge stay. One that does not gets each vertex of it that leaves all others a critical edge: that
    test, against the edges, makes the results minimal and different without comparing sets. Returns how many sets, or how
    many fit at least if ``out`` is too short (then begin again). ``O(edges * sets that miss the new edge)``.
    """
    words = len(edge)
    n = 0
    common = np.empty((64 * words, words), np.uint64)
    left = np.empty(words, np.uint64)
    for s in range(len(sets)):
        chosen = sets[s]
        if _only_hit(edge, chosen) != -1:
            if n < len(out):
                for w in range(words):
                    out[n, w] = chosen[w]
            n += 1
            continue
        _common(edges, edge, chosen, common)
        for w in range(words):
            left[w] = edge[w]
        for v in range(64 * words):
            if chosen[v >> 6] >> np.uint64(v & 63) & _1 != _0:
                for w in range(words):
                    left[w] &= ~common[v, w]
        _forbid(forbidden, chosen, left)
        for v in range(64 * words):
            if left[v >> 6] >> np.uint64(v & 63) & _1 != _0:
                if n < len(out):
                    for w in range(words):
                        out[n, w] = chosen[w]
                    out[n, v >> 6] |= _1 << np.uint64(v & 63)
                n += 1
    return n


@njit(cache=True, nogil=True)
def _common(edges: Any, edge: Any, chosen: Any, common: Any) -> None:
    """For each chosen vertex what all its critical edges share with ``edge``; stops when nothing is shared any more."""
    words = len(edge)
    open_vertices = 0
    for v in range(64 * words):
        if chosen[v >> 6] >> np.uint64(v & 63) & _1 != _0:
            open_vertices += 1
            for w in range(words):
                common[v, w] = edge[w]
    for i in range(len(edges)):
        v = _only_hit(edges[i], chosen)
        if v < 0:
            continue
        before, after = _0, _0
        for w in range(words):
            before |= common[v, w]
            common[v, w] &= edges[i, w]
            after |= common[v, w]
        if before != _0 and after == _0:
            open_vertices -= 1
            if open_vertices == 0:
                return


@njit(cache=True, nogil=True)
def drop_supersets(edges: Any, sizes: Any, most: int) -> int:
    """Keeps, in front, the edges that hold no other one. ``edges`` come by size and differ; ``most`` comparisons are made, at most."""
    words = edges.shape[1]
    kept, work = 0, 0
    for i in range(len(edges)):
        keep = True
        if work < most:
            for k in range(kept):
                if sizes[k] >= sizes[i]:
                    break
                inside = True
                for w in range(words):
                    inside &= edges[k, w] & ~edges[i, w] == _0
                work += 1
                if inside:
                    keep = False
                    break
        if keep:
            for w in range(words):
                edges[kept, w] = edges[i, w]
            sizes[kept] = sizes[i]
            kept += 1
    return kept
