"""All minimal hitting sets of a hypergraph: the one search behind rules, dependencies and keys.

The problem is cut by *branches* ``(chosen, candidates)``: all minimal hitting sets that hold ``chosen`` and else only
candidates. A branch with at most 64 candidates is loaded into lists of one-word edges: the uncovered ones, and for each
chosen vertex those that only it hits (*critical*: a set is minimal when no such list is empty). Two engines take turns:

*Lists* (MMCS: Murakami and Uno, Discrete Applied Mathematics 170, 2014). A vertex that hits nothing, or all critical
edges of a chosen vertex, is no candidate any more. Then branch over the vertices of the smallest uncovered edge.

*Boxes* (:mod:`rowlaw.search.boxes`): bitmaps over vectors of digits, 64 subsets at a time. They take over as soon as a
bitmap has no more words than the lists have edges. Both run on explicit stacks and can be left and entered again.

Measured on one busy core (nodes, CPU seconds; the first prototype, MMCS with bitsets over edges, took 25.6 s and 4.1
million nodes for ``adult``): ``abalone`` 3,912, 0.003; ``uce`` 383,377, 0.22; ``adult`` 357,218, 0.23. What was tried:

- lists down to truth tables over the last 12 (20) candidates: 3.1 s (2.1 s) for ``adult``, most of it for critical
  edges;
- only some critical edges in the lists, looked up again when they run out: 7 s, the looking up costs more than it
  saves;
- boxes without the symmetry: 0.44 s instead of 0.26 s at that time (``adult``), 0.49 s instead of 0.26 s (``uce``);
- columns of few vertices first and by entropy among them, uneven ones first: 0.4 s; even ones first: 1.0 s (``uce``),
  1.7 s (``adult``), both without the symmetry; a local search over orders saves a quarter of the nodes on ``uce``, half
  on ``adult``;
- three digits written out instead of a loop over digits: a quarter faster; stopping early over critical bitmaps: no
  gain;
- bitmaps of up to 8 words per edge instead of 1: 70 % slower on sparse evidence; always up to 2,048 words instead of
  64: two to three times slower.
"""

from __future__ import annotations

import numpy as np

from rowlaw.kernels.arrays import Int64Array, Uint64Array
from rowlaw.kernels.compiling import njit
from rowlaw.search.boxes import open_boxes, search_boxes, write_sets
from rowlaw.search.layout import plan
from rowlaw.search.state import DONE, GROW_BITMAPS, GROW_EDGES, GROW_FOUND, PAUSED, BranchState, count

_0, _1, _ALL = np.uint64(0), np.uint64(1), ~np.uint64(0)
_NOTHING, _MINIMAL, _OPEN = 0, 1, 2  # what is left of a node: no set, just the chosen vertices, or a search


@njit(cache=True, nogil=True)
def _squeeze_steps(mask: np.uint64, steps: Uint64Array) -> None:
    """Find the six moves that bring the bits under ``mask`` together at the low end (Hacker's Delight, section 7-4).

    ``steps``: ``uint64[6]``, written.
    """
    to_right = ~mask << _1
    for i in range(6):
        moving = to_right
        for k in range(6):
            moving ^= moving << (_1 << np.uint64(k))
        steps[i] = moving & mask
        mask = (mask ^ steps[i]) | (steps[i] >> (_1 << np.uint64(i)))
        to_right &= ~moving


@njit(cache=True, nogil=True)
def _squeeze(word: np.uint64, steps: Uint64Array) -> np.uint64:
    """Make the moves of :func:`_squeeze_steps` (``steps``: ``uint64[6]``)."""
    for i in range(6):
        moved = word & steps[i]
        word = (word ^ moved) | (moved >> (_1 << np.uint64(i)))
    return word


@njit(cache=True, nogil=True)
def load(edges: Uint64Array, chosen: Uint64Array, candidates: Uint64Array, state: BranchState) -> None:
    """Make the lists of a branch. ``O(edges)``.

    ``edges``: ``uint64[edges, words]``. ``chosen``, ``candidates``: ``uint64[words]``, the branch. ``state`` is
    written. The vertices of the branch are its candidates, in order.
    """
    words = edges.shape[1]
    steps = np.empty((words, 6), np.uint64)
    shift = np.empty(words, np.uint64)
    ends = np.zeros(64 * words + 2, np.int64)  # of the list of each chosen vertex; the last is that of uncovered edges
    uncovered = 64 * words
    total = np.int64(0)
    for w in range(words):
        _squeeze_steps(candidates[w], steps[w])
        shift[w] = np.uint64(total)
        total += count(candidates[w])
    for turn in range(2):  # first the sizes of the lists, then the lists
        for i in range(len(edges)):
            hits, v = 0, uncovered
            for w in range(words):
                hit = edges[i, w] & chosen[w]
                if hit != _0:
                    hits += count(hit)
                    v = 64 * w + count((hit & (~hit + _1)) - _1)
            if hits > 1:
                continue
            if turn == 0:
                ends[v + 1] += 1
            else:
                edge = _0
                for w in range(words):
                    part = edges[i, w] & candidates[w]
                    if part != _0:
                        edge |= _squeeze(part, steps[w]) << shift[w]
                state.edges[ends[v]] = edge
                ends[v] += 1
        if turn == 0:
            for v in range(uncovered + 1):
                ends[v + 1] += ends[v]
    segments = 0
    begin = np.int64(0)
    for v in range(64 * words):
        if chosen[v >> 6] >> np.uint64(v & 63) & _1 != _0:
            state.segments[segments].begin, state.segments[segments].end = begin, ends[v]
            segments += 1
        begin = ends[v]
    frame = state.frames[0]
    frame.uncovered_begin, frame.uncovered_end = begin, ends[uncovered]
    frame.segments_begin, frame.segments_end = 0, segments
    frame.edges_begin, frame.edges_end = 0, ends[uncovered]
    frame.chosen = _0
    frame.candidates = _ALL >> np.uint64(64 - total) if total > 0 else _0
    counters = state.counters[0]
    counters.depth, counters.found, counters.work, counters.nodes = 0, 0, 0, 0
    counters.columns, counters.levels, counters.needed = 0, 0, 0
    counters.is_new, counters.level = 1, -1


@njit(cache=True, nogil=True)
def _reduce(state: BranchState, depth: int) -> int:
    """Drop vertices that are no candidates any more, and say what is left of the node. Edges and segments of ``state``
    are written."""
    edges, segments, frame = state.edges, state.segments, state.frames[depth]
    chosen, candidates = frame.chosen, frame.candidates
    first = frame.segments_begin
    while True:
        left = candidates
        kept = first
        for s in range(first, frame.segments_end):
            common, is_free = _ALL, False
            for i in range(segments[s].begin, segments[s].end):
                edge = edges[i] & candidates
                edges[i] = edge
                common &= edge
                is_free |= edge == _0
            if is_free:  # no candidate hits this edge: it stays critical
                continue
            if segments[s].begin == segments[s].end:
                return _NOTHING
            segments[kept].begin, segments[kept].end = segments[s].begin, segments[s].end
            kept += 1
            left &= ~common
        frame.segments_end = kept
        if frame.uncovered_begin == frame.uncovered_end:
            return _MINIMAL
        union, is_lost = _0, False
        for i in range(frame.uncovered_begin, frame.uncovered_end):
            edge = edges[i] & candidates
            edges[i] = edge
            union |= edge
            is_lost |= edge == _0
        if is_lost:
            return _NOTHING
        left &= union
        for i in range(len(state.forbidden)):
            missing = state.forbidden[i] & ~chosen
            if missing & (missing - _1) == _0:
                left &= ~missing
        if left == candidates:
            frame.candidates = candidates
            return _OPEN
        candidates = left


@njit(cache=True, nogil=True)
def _branch(state: BranchState, depth: int) -> None:
    """Choose the smallest uncovered edge to branch over. The frame of ``state`` is written."""
    frame = state.frames[depth]
    begin, end = frame.uncovered_begin, frame.uncovered_end
    if depth == 0:
        _order_by_frequency(state.edges[begin:end], state.order)
    smallest, fewest = _0, np.int64(65)
    for i in range(begin, end):
        size = count(state.edges[i])
        if size < fewest:
            smallest, fewest = state.edges[i], size
    frame.untried, frame.tried = smallest, _0
    frame.others = frame.candidates & ~smallest


@njit(cache=True, nogil=True)
def _order_by_frequency(edges: Uint64Array, order: Int64Array) -> None:
    """Write the vertices to ``order`` (``int64[vertices]``), those of few ``edges`` (``uint64[edges]``) first."""
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
def _descend(state: BranchState, depth: int) -> bool:
    """Make the frame for the next vertex of the branching edge; the vertices tried before it stay candidates.

    False if the list of edges of ``state`` is too short, which ``counters.needed`` says.
    """
    edges, segments, parent, child = state.edges, state.segments, state.frames[depth], state.frames[depth + 1]
    begin, end = parent.uncovered_begin, parent.uncovered_end
    first, last = parent.segments_begin, parent.segments_end
    top = parent.edges_end
    child.edges_begin = top
    state.counters[0].needed = 2 * top - parent.edges_begin
    if state.counters[0].needed > len(edges):
        return False
    vertex = _0
    for v in state.order:
        vertex = _1 << np.uint64(v)
        if parent.untried & vertex != _0:
            break
    parent.untried ^= vertex
    candidates = parent.others | parent.tried
    parent.tried |= vertex
    new = last
    for s in range(first, last):
        segments[new].begin = top
        for i in range(segments[s].begin, segments[s].end):
            edge = edges[i]
            edges[top] = edge & candidates
            top += edge & vertex == _0
        segments[new].end = top
        new += 1
    # uncovered edges from the near end, critical ones of the new vertex from the far end
    low, high = top, top + end - begin
    for i in range(begin, end):
        edge = edges[i]
        if edge & vertex == _0:
            edges[low] = edge & candidates
            low += 1
        else:
            high -= 1
            edges[high] = edge & candidates
    segments[new].begin, segments[new].end = high, top + end - begin
    child.uncovered_begin, child.uncovered_end = top, low
    child.edges_end = top + end - begin
    child.segments_begin, child.segments_end = last, new + 1
    child.chosen = parent.chosen | vertex
    child.candidates = candidates
    return True


@njit(cache=True, nogil=True)
def advance(state: BranchState, budget: int) -> int:
    """Continue a branch for about ``budget`` words of work; ``state`` is written.

    Returns a status. ``GROW_...`` asks for a longer array (of ``counters.needed`` elements at least), and for another
    call.
    """
    counters = state.counters[0]
    counters.work = 0
    while True:
        if counters.level >= 0:
            status = search_boxes(state, budget)
            if status != DONE:
                return status
        depth = counters.depth
        if depth < 0:
            return DONE
        if counters.work > budget:
            return PAUSED
        if counters.found + 64 > len(state.found):
            return GROW_FOUND
        frame = state.frames[depth]
        if not counters.is_new:
            if frame.untried == _0:
                counters.depth = depth - 1
            elif _descend(state, depth):
                counters.depth, counters.is_new = depth + 1, 1
            else:
                return GROW_EDGES
            continue
        counters.work += 4 * (frame.uncovered_end - frame.uncovered_begin + len(state.forbidden)) + 64
        verdict = _reduce(state, depth)
        if verdict == _OPEN:
            words = plan(state, depth)
            if words == 0:
                _branch(state, depth)
                counters.is_new, counters.nodes = 0, counters.nodes + 1
                continue
            counters.needed = words * (frame.segments_end - frame.segments_begin + 1)
            if counters.needed > len(state.bitmaps) or words > len(state.undecided):
                return GROW_BITMAPS
            open_boxes(state, depth, words)
        elif verdict == _MINIMAL:
            state.inner_sets[0] = _0
            write_sets(state, frame.chosen, _1)
        counters.depth, counters.is_new = depth - 1, 0


@njit(cache=True, nogil=True)
def rename(local: Uint64Array, chosen: Uint64Array, candidates: Uint64Array, out: Uint64Array) -> None:
    """Write sets of a branch as sets of all vertices.

    ``local``: ``uint64[sets]``. ``chosen``, ``candidates``: ``uint64[words]``, the branch. ``out``: ``uint64[sets,
    words]``, written.
    """
    words = len(chosen)
    vertices = np.empty(64, np.int64)
    n = 0
    for v in range(64 * words):
        if candidates[v // 64] >> np.uint64(v % 64) & _1 != _0:
            vertices[n] = v
            n += 1
    for i in range(len(local)):
        for w in range(words):
            out[i, w] = chosen[w]
        for k in range(n):
            v = vertices[k]
            out[i, v >> 6] |= (local[i] >> np.uint64(k) & _1) << np.uint64(v & 63)
