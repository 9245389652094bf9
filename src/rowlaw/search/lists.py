"""All minimal hitting sets of a hypergraph: the one search behind rules, dependencies and keys.

The problem is cut by *branches* ``(chosen, candidates)``: all minimal hitting sets that hold ``chosen`` and else only
candidates. A branch with at most 64 candidates is loaded into lists of one-word edges: the uncovered ones, and for each
chosen vertex those that only it hits (*critical*: a set is minimal when no such list is empty). Two engines take turns:

*Lists* (MMCS: Murakami and Uno, Discrete Applied Mathematics 170, 2014). A vertex that hits nothing, or all critical edges of
a chosen vertex, is no candidate any more. Then branch over the vertices of the smallest uncovered edge.

*Boxes* (:mod:`rowlaw.search.boxes`): bitmaps over vectors of digits, 64 subsets at a time. They take over as soon as a
bitmap has no more words than the lists have edges. Both run on explicit stacks and can be left and entered again.

Measured on one busy core (nodes, CPU seconds; the first prototype, MMCS with bitsets over edges, took 25.6 s and 4.1 million
nodes for ``adult``): ``abalone`` 3,912, 0.003; ``uce`` 383,377, 0.22; ``adult`` 357,218, 0.23. What was tried:

- lists down to truth tables over the last 12 (20) candidates: 3.1 s (2.1 s) for ``adult``, most of it for critical edges;
- only some critical edges in the lists, looked up again when they run out: 7 s, the looking up costs more than it saves;
- boxes without the symmetry: 0.44 s instead of 0.26 s at that time (``adult``), 0.49 s instead of 0.26 s (``uce``);
- columns of few vertices first and by entropy among them, uneven ones first: 0.4 s; even ones first: 1.0 s (``uce``), 1.7 s (``adult``),
  both without the symmetry; a local search over orders saves a quarter of the nodes on ``uce``, half on ``adult``;
- three digits written out instead of a loop over digits: a quarter faster; stopping early over critical bitmaps: no gain;
- bitmaps of up to 8 words per edge instead of 1: 70 % slower on sparse evidence; always up to 2,048 words instead of 64: two to three
  times slower.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rowlaw.kernels.compiling import njit
from rowlaw.search.boxes import emit, open_boxes, search_boxes
from rowlaw.search.layout import plan
from rowlaw.search.state import (
    BASE,
    DEPTH,
    DONE,
    F_CANDIDATES,
    F_CHOSEN,
    F_REST,
    F_TODO,
    F_TRIED,
    FEW,
    FOUND,
    FRESH,
    GROW_BOXES,
    GROW_FOUND,
    GROW_LISTS,
    LEVEL,
    NEED,
    NODES,
    PAUSED,
    S_BEGIN,
    S_END,
    TOP,
    U_BEGIN,
    U_END,
    WORK,
    Task,
    count,
)

_0, _1, _ALL = np.uint64(0), np.uint64(1), ~np.uint64(0)


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
        total += count(candidates[w])
    for turn in range(2):
        for i in range(len(edges)):
            hits, v = 0, last
            for w in range(words):
                h = edges[i, w] & chosen[w]
                if h != _0:
                    hits += count(h)
                    v = 64 * w + count((h & (~h + _1)) - _1)
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
        size = count(lists[i])
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
def advance(task: Task, budget: int) -> int:
    """Goes on with a branch for about ``budget`` words of work. A status ``GROW_...`` asks for a longer array, then call again."""
    numbers = task.numbers
    numbers[WORK] = 0
    while True:
        if numbers[LEVEL] >= 0:
            status = search_boxes(task, budget)
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
        numbers[WORK] += 4 * (task.frames[U_END, depth] - task.frames[U_BEGIN, depth] + len(task.forbidden)) + 64
        verdict = _reduce(task, depth)
        if verdict == 2:
            words = plan(task, depth)
            if words == 0:
                _branch(task, depth)
                numbers[FRESH], numbers[NODES] = 0, numbers[NODES] + 1
                continue
            arrays = task.frames[S_END, depth] - task.frames[S_BEGIN, depth] + 1
            numbers[NEED] = words * arrays
            if numbers[NEED] > len(task.boxes) or words > len(task.unless):
                return GROW_BOXES
            open_boxes(task, depth, words)
        elif verdict == 1:
            task.inside[0] = _0
            emit(task.numbers, task.found, task.inside, task.forbidden, task.frame_sets[F_CHOSEN, depth], _1)
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
