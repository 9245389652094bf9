"""All minimal hitting sets of more edges from those of fewer: Berge's algorithm, each set by itself and depth first.

In Berge's algorithm a set that misses the next edge gets each vertex of it that leaves all others a critical edge (one that no other
vertex of the set hits). Tested against the edges before it, that makes the results minimal and different without comparing sets. So what
comes of a set depends on nothing but the set and the edges, and whole sets can be taken by threads. The edges of each vertex are
bits of a *bitmap*: those that a set hits once come from a pass for each of its vertices. Sets that begin alike share these passes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rowlaw.kernels.compiling import njit
from rowlaw.search.edges import forbid, only_hit
from rowlaw.search.state import count

BLOCK = 16  # words of a bitmap between two looks at what is missed

_0, _1 = np.uint64(0), np.uint64(1)


@njit(cache=True, nogil=True)
def _lowest(bits: Any) -> Any:
    """The place of the lowest bit."""
    return count((bits & (~bits + _1)) - _1)


@njit(cache=True, nogil=True)
def bitmaps(edges: Any, vertices: int) -> Any:
    """For each vertex the edges that hold it, a bit for each."""
    found = np.zeros((vertices, (len(edges) + 63) >> 6), np.uint64)
    for i in range(len(edges)):
        lane, bit = i >> 6, np.uint64(i & 63)
        for v in range(vertices):
            found[v, lane] |= (edges[i, v >> 6] >> np.uint64(v & 63) & _1) << bit
    return found


@njit(cache=True, nogil=True)
def first_missed(edges: Any, first: int, chosen: Any) -> int:
    """The first edge, from ``first`` on, that a set does not hit; -1 if it hits them all."""
    for i in range(first, len(edges)):
        hit = _0
        for w in range(len(chosen)):
            hit |= edges[i, w] & chosen[w]
        if hit == _0:
            return i
    return -1


@njit(cache=True, nogil=True)
def missing(edges: Any, first: int, sets: Any, most: int, stop: Any) -> Any:
    """Which sets miss an edge, from ``first`` on; those after ``most`` that do are not looked for, nor any once ``stop[0]`` is set."""
    found, n, number = np.zeros(len(sets), np.bool_), 0, len(edges) - first
    if len(sets) < 64 * edges.shape[1]:  # they would not make up for bitmaps
        for s in range(len(sets)):
            if stop[0]:
                break
            found[s] = first_missed(edges, first, sets[s]) >= 0
        return found
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
            if end == lanes and number & 63:  # what is no edge is not missed
                seen[end - start - 1] |= ~_0 << np.uint64(number & 63)
            every = ~_0
            for lane in range(end - start):
                every &= seen[lane]
            if every != ~_0:
                found[s] = True
                break
        if found[s]:
            n += 1
            if n > most:
                break
    return found


@njit(cache=True, nogil=True)
def extended(hits: Any, order: Any, edges: Any, known: int, sets: Any, forbidden: Any, most: int, stop: Any) -> Any:
    """What comes of sets that hit the first ``known`` edges and are minimal there: the minimal hitting sets of all edges, and how many
    sets had to be looked at; more than ``most`` mean that it was given up. ``hits`` are the bitmaps of the edges, or, where few sets do not
    make up for them, have no bits; ``order`` is that of the vertices in which neighbouring sets begin alike.
    Once ``stop[0]`` is set, the result is not all."""
    words, nodes, n = edges.shape[1], 0, 0
    out = np.empty((64, words), np.uint64)
    stack, notes, top = np.empty((64, words), np.uint64), np.empty((64, 2), np.int64), 0  # notes: the edge that is missed, the vertex added
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
            if nodes > most or stop[0]:
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
                place, bit = v >> 6, _1 << np.uint64(v & 63)
                if left[place] & bit == _0:
                    continue
                if top == len(stack):
                    stack, notes = _longer(stack), _longer(notes)
                for w in range(words):
                    stack[top, w] = chosen[w]
                stack[top, place] |= bit
                notes[top, 1] = v
                if hits.shape[1]:
                    notes[top, 0] = _next_missed(once[depth], hits[v], stage + 1, len(edges))
                else:
                    notes[top, 0] = first_missed(edges, stage + 1, stack[top])
                top += 1
    return out[:n], nodes


@njit(cache=True, nogil=True)
def _walk(hits: Any, order: Any, chosen: Any, path: Any, depth: int, once: Any, twice: Any) -> int:
    """Brings the bitmaps of a path to a set: level d tells which edges the first d vertices of it hit, and hit twice. Levels that the last
    set has left are used again. How long the path is."""
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
def _step(hit: Any, once: Any, twice: Any, level: int) -> None:
    for lane in range(len(hit)):
        seen = once[level, lane]
        twice[level + 1, lane] = twice[level, lane] | seen & hit[lane]
        once[level + 1, lane] = seen | hit[lane]


@njit(cache=True, nogil=True)
def _next_missed(hit: Any, more: Any, first: int, edges: int) -> int:
    """As :func:`first_missed`, from two bitmaps of what is hit: all edges before ``first`` are."""
    lane = first >> 6
    while lane << 6 < edges:
        missed = ~(hit[lane] | more[lane])
        if missed != _0:
            found = (lane << 6) + _lowest(missed)
            return found if found < edges else -1
        lane += 1
    return -1


@njit(cache=True, nogil=True)
def _critical(once: Any, twice: Any, stage: int, out: Any) -> None:
    """The edges before ``stage`` that are hit in one vertex only, as a bitmap."""
    lanes = (stage + 63) >> 6
    for lane in range(lanes):
        out[lane] = once[lane] & ~twice[lane]
    if stage & 63:
        out[lanes - 1] &= (_1 << np.uint64(stage & 63)) - _1


@njit(cache=True, nogil=True)
def _look_once(edges: Any, chosen: Any, stage: int, out: Any) -> None:
    """The same from the edges themselves."""
    for lane in range((stage + 63) >> 6):
        out[lane] = _0
    for i in range(stage):
        if only_hit(edges[i], chosen) >= 0:
            out[i >> 6] |= _1 << np.uint64(i & 63)


@njit(cache=True, nogil=True)
def _drop_vital(edges: Any, chosen: Any, critical: Any, common: Any, alive: Any, left: Any) -> None:
    """Drops from ``left`` the vertices that are in all critical edges of a vertex of the set: with them it would not be needed.

    ``alive`` are the vertices of the set whose critical edges still have such a vertex in common.
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
def _share(edges: Any, critical: Any, common: Any, alive: Any) -> None:
    """Takes from what the critical edges of each vertex have in common what they have not."""
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
def _share_narrow(edges: Any, critical: Any, common: Any, alive: Any) -> Any:
    """The same for sets of one word, in half the time; what is alive then."""
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
    longer = np.empty((2 * len(lines), lines.shape[1]), lines.dtype)
    for i in range(len(lines)):
        for w in range(lines.shape[1]):
            longer[i, w] = lines[i, w]
    return longer
