"""All minimal hitting sets of more edges from those of fewer: Berge's algorithm, each set by itself and depth first.

In Berge's algorithm a set that misses the next edge gets each vertex of it that leaves all others a critical edge (one
that no other vertex of the set hits). Tested against the edges before it, that makes the results minimal and different
without comparing sets. So what comes of a set depends on nothing but the set and the edges, and whole sets can be taken
by threads. The edges of each vertex are bits of a *bitmap*: those that a set hits once come from a pass for each of its
vertices. Sets that begin alike share these passes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rowlaw.kernels.arrays import BoolArray, Int64Array, Uint8Array, Uint64Array
from rowlaw.kernels.compiling import njit
from rowlaw.search.edges import forbid, only_hit
from rowlaw.search.state import count

BLOCK = 16  # words of a bitmap between two looks at what is missed

_0, _1 = np.uint64(0), np.uint64(1)


@njit(cache=True, nogil=True)
def _lowest(bits: np.uint64) -> np.int64:
    """Give the position of the lowest bit."""
    return count((bits & (~bits + _1)) - _1)


@njit(cache=True, nogil=True)
def bitmaps(edges: Uint64Array, vertices: int) -> Uint64Array:
    """Give for each vertex the edges that have it, a bit for each: ``uint64[vertices, lanes]``, 64 edges to a lane.

    ``edges``: ``uint64[edges, words]``.
    """
    hits = np.zeros((vertices, (len(edges) + 63) >> 6), np.uint64)
    for i in range(len(edges)):
        lane, bit = i >> 6, np.uint64(i & 63)
        for v in range(vertices):
            hits[v, lane] |= (edges[i, v >> 6] >> np.uint64(v & 63) & _1) << bit
    return hits


@njit(cache=True, nogil=True)
def first_missed(edges: Uint64Array, first: int, chosen: Uint64Array) -> int:
    """Give the first edge, from ``first`` on, that a set does not hit; -1 if it hits them all.

    ``edges``: ``uint64[edges, words]``. ``chosen``: ``uint64[words]``, the set.
    """
    for i in range(first, len(edges)):
        hit = _0
        for w in range(len(chosen)):
            hit |= edges[i, w] & chosen[w]
        if hit == _0:
            return i
    return -1


@njit(cache=True, nogil=True)
def missing(edges: Uint64Array, first: int, sets: Uint64Array, limit: int, stop: Uint8Array) -> BoolArray:
    """Say which sets miss an edge, from ``first`` on: ``bool[sets]``. Ends after ``limit`` such sets, and once
    ``stop[0]`` is set.

    ``edges``: ``uint64[edges, words]``. ``sets``: ``uint64[sets, words]``. ``stop``: ``uint8[1]``.
    """
    misses, n, new_edges = np.zeros(len(sets), np.bool_), 0, len(edges) - first
    if len(sets) < 64 * edges.shape[1]:  # they would not make up for bitmaps
        for s in range(len(sets)):
            if stop[0]:
                break
            misses[s] = first_missed(edges, first, sets[s]) >= 0
        return misses
    hits = bitmaps(edges[first:], 64 * edges.shape[1])
    lanes = hits.shape[1]
    seen = np.empty(BLOCK, np.uint64)
    for s in range(len(sets)):
        if stop[0]:
            break
        for start in range(0, lanes, BLOCK):
            end = min(start + BLOCK, lanes)
            for lane in range(end - start):
                seen[lane] = _0
            for w in range(sets.shape[1]):
                bits = sets[s, w]
                while bits != _0:
                    v = (w << 6) + _lowest(bits)
                    bits &= bits - _1
                    for lane in range(end - start):
                        seen[lane] |= hits[v, start + lane]
            if end == lanes and new_edges & 63:  # what is no edge is not missed
                seen[end - start - 1] |= ~_0 << np.uint64(new_edges & 63)
            every = ~_0
            for lane in range(end - start):
                every &= seen[lane]
            if every != ~_0:
                misses[s] = True
                break
        if misses[s]:
            n += 1
            if n > limit:
                break
    return misses


@njit(cache=True, nogil=True)
def extended(
    hits: Uint64Array,
    order: Int64Array,
    edges: Uint64Array,
    known: int,
    sets: Uint64Array,
    forbidden: Uint64Array,
    limit: int,
    stop: Uint8Array,
) -> Any:
    """Extend sets that are minimal hitting sets of the first ``known`` edges to those of all edges.

    ``hits``: ``uint64[vertices, lanes]``, the bitmaps of the edges; without lanes where few sets do not make up for
    them. ``order``: ``int64[vertices]``, in which neighbouring sets begin alike. ``edges``: ``uint64[edges, words]``.
    ``sets``: ``uint64[sets, words]``. ``forbidden``: ``uint64[forbidden, words]``. ``stop``: ``uint8[1]``. Returns the
    sets (``uint64[n, words]``) and how many had to be looked at; if these are more than ``limit``, or ``stop[0]`` is
    set, the result is not all.
    """
    words, nodes, n = edges.shape[1], 0, 0
    out = np.empty((64, words), np.uint64)
    # notes: the edge that is missed, the vertex added
    stack, notes, top = np.empty((64, words), np.uint64), np.empty((64, 2), np.int64), 0
    path, depth = np.empty(len(order), np.int64), 0
    once, twice = np.zeros((16, hits.shape[1]), np.uint64), np.zeros((16, hits.shape[1]), np.uint64)
    critical = np.empty((len(edges) + 63) >> 6, np.uint64)
    common = np.empty((len(hits), words), np.uint64)
    chosen, left, alive = np.empty(words, np.uint64), np.empty(words, np.uint64), np.empty(words, np.uint64)
    for s in range(len(sets)):
        size = 0
        for w in range(words):
            stack[0, w] = sets[s, w]
            size += count(sets[s, w])
        if hits.shape[1]:
            while size >= len(once):
                once, twice = _longer(once), _longer(twice)
            depth = _walk(hits, order, sets[s], path, depth, once, twice)
            stage = _next_missed(once[depth], once[depth], known, len(edges))
        else:
            stage = first_missed(edges, known, sets[s])
        notes[0, 0], notes[0, 1], top = stage, -1, 1
        while top > 0:
            top -= 1
            for w in range(words):
                chosen[w] = stack[top, w]
            stage, added = notes[top, 0], notes[top, 1]
            if stage < 0:
                if n == len(out):
                    out = _longer(out)
                for w in range(words):
                    out[n, w] = chosen[w]
                n += 1
                continue
            nodes += 1
            if nodes > limit or stop[0]:
                return out[:n], nodes
            for w in range(words):
                left[w] = edges[stage, w]
            forbid(forbidden, chosen, left)
            if hits.shape[1]:
                if added >= 0:  # one level more than the set it came of, which is on the path
                    depth = 0
                    for w in range(words):
                        depth += count(chosen[w])
                    if depth >= len(once):
                        once, twice = _longer(once), _longer(twice)
                    path[depth - 1] = added
                    _step(hits[added], once, twice, depth - 1)
                _critical(once[depth], twice[depth], stage, critical)
            else:
                _look_once(edges, chosen, stage, critical)
            _drop_vital(edges, chosen, critical[: (stage + 63) >> 6], common, alive, left)
            for v in range(len(hits)):
                word, bit = v >> 6, _1 << np.uint64(v & 63)
                if left[word] & bit == _0:
                    continue
                if top == len(stack):
                    stack, notes = _longer(stack), _longer(notes)
                for w in range(words):
                    stack[top, w] = chosen[w]
                stack[top, word] |= bit
                notes[top, 1] = v
                if hits.shape[1]:
                    notes[top, 0] = _next_missed(once[depth], hits[v], stage + 1, len(edges))
                else:
                    notes[top, 0] = first_missed(edges, stage + 1, stack[top])
                top += 1
    return out[:n], nodes


@njit(cache=True, nogil=True)
def _walk(
    hits: Uint64Array,
    order: Int64Array,
    chosen: Uint64Array,
    path: Int64Array,
    depth: int,
    once: Uint64Array,
    twice: Uint64Array,
) -> int:
    """Make the bitmaps of the path to a set, and count its vertices. Levels that it shares with the path before are not
    made again.

    ``hits``: ``uint64[vertices, lanes]``. ``order``: ``int64[vertices]``. ``chosen``: ``uint64[words]``, the set.
    ``path``: ``int64[vertices]``, written, of which ``depth`` vertices were in use. ``once``, ``twice``:
    ``uint64[levels, lanes]``, written: which edges the first vertices of the path hit at least once and at least twice.
    """
    d, same = 0, True
    for v in order:
        if chosen[v >> 6] >> np.uint64(v & 63) & _1 == _0:
            continue
        same &= d < depth and path[d] == v
        if not same:
            path[d] = v
            _step(hits[v], once, twice, d)
        d += 1
    return d


@njit(cache=True, nogil=True)
def _step(hit: Uint64Array, once: Uint64Array, twice: Uint64Array, level: int) -> None:
    """Make the level after ``level`` from the edges of one more vertex.

    ``hit``: ``uint64[lanes]``. ``once``, ``twice``: ``uint64[levels, lanes]``, written.
    """
    for lane in range(len(hit)):
        seen = once[level, lane]
        twice[level + 1, lane] = twice[level, lane] | seen & hit[lane]
        once[level + 1, lane] = seen | hit[lane]


@njit(cache=True, nogil=True)
def _next_missed(hit: Uint64Array, more: Uint64Array, first: int, edges: int) -> int:
    """Find the first edge that is in none of two bitmaps (``hit``, ``more``: ``uint64[lanes]``), or -1; those before
    ``first`` are."""
    lane = first >> 6
    while lane << 6 < edges:
        missed = ~(hit[lane] | more[lane])
        if missed != _0:
            edge = (lane << 6) + _lowest(missed)
            return edge if edge < edges else -1
        lane += 1
    return -1


@njit(cache=True, nogil=True)
def _critical(once: Uint64Array, twice: Uint64Array, stage: int, out: Uint64Array) -> None:
    """Write the edges before ``stage`` that are hit in one vertex only to ``out``, as a bitmap.

    ``once``, ``twice``, ``out`` (written): ``uint64[lanes]``.
    """
    lanes = (stage + 63) >> 6
    for lane in range(lanes):
        out[lane] = once[lane] & ~twice[lane]
    if stage & 63:
        out[lanes - 1] &= (_1 << np.uint64(stage & 63)) - _1


@njit(cache=True, nogil=True)
def _look_once(edges: Uint64Array, chosen: Uint64Array, stage: int, out: Uint64Array) -> None:
    """Do as :func:`_critical` from the edges themselves.

    ``edges``: ``uint64[edges, words]``. ``chosen``: ``uint64[words]``. ``out``: ``uint64[lanes]``, written.
    """
    for lane in range((stage + 63) >> 6):
        out[lane] = _0
    for i in range(stage):
        if only_hit(edges[i], chosen) >= 0:
            out[i >> 6] |= _1 << np.uint64(i & 63)


@njit(cache=True, nogil=True)
def _drop_vital(
    edges: Uint64Array,
    chosen: Uint64Array,
    critical: Uint64Array,
    common: Uint64Array,
    alive: Uint64Array,
    left: Uint64Array,
) -> None:
    """Drop from ``left`` the vertices that are in all critical edges of a vertex of the set: with them it would not be
    needed.

    ``edges``: ``uint64[edges, words]``. ``chosen``: ``uint64[words]``, the set. ``critical``: ``uint64[lanes]``.
    ``left``: ``uint64[words]``, written. Scratch space: ``common``, ``uint64[vertices, words]``, and ``alive``,
    ``uint64[words]``, the vertices of the set whose critical edges still have a vertex in common.
    """
    words = len(chosen)
    for w in range(words):
        alive[w] = chosen[w]
        for v in range(len(common)):
            common[v, w] = left[w]
    if words == 1:
        alive[0] = _share_narrow(edges, critical, common, chosen[0])
    else:
        _share(edges, critical, common, alive)
    for w in range(words):
        bits = alive[w]
        while bits != _0:
            v = (w << 6) + _lowest(bits)
            bits &= bits - _1
            for x in range(words):
                left[x] &= ~common[v, x]


@njit(cache=True, nogil=True)
def _share(edges: Uint64Array, critical: Uint64Array, common: Uint64Array, alive: Uint64Array) -> None:
    """Intersect the critical edges of each vertex. Arrays as in :func:`_drop_vital`; ``common`` and ``alive`` are
    written."""
    words = len(alive)
    for lane in range(len(critical)):
        bits = critical[lane]
        while bits != _0:
            i = (lane << 6) + _lowest(bits)
            bits &= bits - _1
            for w in range(words):
                hit = edges[i, w] & alive[w]
                if hit != _0:
                    v = (w << 6) + _lowest(hit)
                    some = _0
                    for x in range(words):
                        common[v, x] &= edges[i, x]
                        some |= common[v, x]
                    if some == _0:
                        alive[w] ^= hit


@njit(cache=True, nogil=True)
def _share_narrow(edges: Uint64Array, critical: Uint64Array, common: Uint64Array, alive: np.uint64) -> np.uint64:
    """Do as :func:`_share` for sets of one word, in half the time, and give what is alive then. ``common`` is
    written."""
    for lane in range(len(critical)):
        bits = critical[lane]
        while bits != _0:
            edge = edges[(lane << 6) + _lowest(bits), 0]
            bits &= bits - _1
            hit = edge & alive
            if hit != _0:
                v = _lowest(hit)
                common[v, 0] &= edge
                if common[v, 0] == _0:
                    alive ^= hit
    return alive


@njit(cache=True, nogil=True)
def _longer(lines: Any) -> Any:
    """Copy the rows of a matrix (``lines``, of any type) to one with twice as many rows."""
    longer = np.empty((2 * len(lines), lines.shape[1]), lines.dtype)
    for i in range(len(lines)):
        for w in range(lines.shape[1]):
            longer[i, w] = lines[i, w]
    return longer
