"""All minimal hitting sets of more edges from those of fewer: Berge's algorithm, each set by itself and depth first.

In Berge's algorithm a set that misses the next edge gets each vertex of it that leaves all others a critical edge (one that no other
vertex of the set hits). Tested against the edges before it, that makes the results minimal and different without comparing sets. So what
comes of a set depends on nothing but the set and the edges, and whole sets can be taken by threads. The edges of each vertex are
bits of a *bitmap*: those that a set hits once come from a pass for each of its vertices.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rowlaw.kernels.compiling import njit
from rowlaw.kernels.hitting_edges import forbid, only_hit
from rowlaw.kernels.hitting_state import count

_0, _1 = np.uint64(0), np.uint64(1)


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
def missing(edges: Any, first: int, sets: Any, most: int) -> Any:
    """Which sets miss an edge, from ``first`` on; those after ``most`` that do are not looked for."""
    found = np.zeros(len(sets), np.bool_)
    n = 0
    for s in range(len(sets)):
        if first_missed(edges, first, sets[s]) >= 0:
            found[s] = True
            n += 1
            if n > most:
                break
    return found


@njit(cache=True, nogil=True)
def extended(hits: Any, edges: Any, known: int, sets: Any, forbidden: Any, most: int) -> Any:
    """What comes of sets that hit the first ``known`` edges and are minimal there: the minimal hitting sets of all edges, and how many
    sets had to be looked at; more than ``most`` mean that it was given up. ``hits`` are the bitmaps of the edges, or, where few sets do not
    make up for them, have no bits."""
    words, nodes, n = edges.shape[1], 0, 0
    out = np.empty((64, words), np.uint64)
    stack, stages, top = np.empty((64, words), np.uint64), np.empty(64, np.int64), 0
    lanes = (len(edges) + 63) >> 6
    once, twice = np.empty(lanes, np.uint64), np.empty(lanes, np.uint64)
    common = np.empty((len(hits), words), np.uint64)
    chosen, left = np.empty(words, np.uint64), np.empty(words, np.uint64)
    for s in range(len(sets)):
        stack[0], stages[0], top = sets[s], first_missed(edges, known, sets[s]), 1
        while top > 0:
            top -= 1
            chosen[:] = stack[top]
            stage = stages[top]
            if stage < 0:
                if n == len(out):
                    out = _longer(out)
                out[n] = chosen
                n += 1
                continue
            nodes += 1
            if nodes > most:
                return out[:n], nodes
            left[:] = edges[stage]
            forbid(forbidden, chosen, left)
            if hits.shape[1]:
                _hit_once(hits, chosen, stage, once, twice)
            else:
                _look_once(edges, chosen, stage, once)
            _drop_vital(edges, chosen, once[: (stage + 63) >> 6], common, left)
            for v in range(len(hits)):
                place, bit = v >> 6, _1 << np.uint64(v & 63)
                if left[place] & bit == _0:
                    continue
                if top == len(stack):
                    stack, stages = _longer(stack), np.append(stages, stages)
                stack[top] = chosen
                stack[top, place] |= bit
                stages[top] = first_missed(edges, stage + 1, stack[top])
                top += 1
    return out[:n], nodes


@njit(cache=True, nogil=True)
def _hit_once(hits: Any, chosen: Any, stage: int, once: Any, twice: Any) -> None:
    """The edges before ``stage`` that a set hits in one vertex only, as a bitmap."""
    lanes = (stage + 63) >> 6
    once[:lanes] = _0
    twice[:lanes] = _0
    for v in range(len(hits)):
        if chosen[v >> 6] >> np.uint64(v & 63) & _1 != _0:
            for lane in range(lanes):
                twice[lane] |= once[lane] & hits[v, lane]
                once[lane] |= hits[v, lane]
    for lane in range(lanes):
        once[lane] &= ~twice[lane]
    if stage & 63:
        once[lanes - 1] &= (_1 << np.uint64(stage & 63)) - _1


@njit(cache=True, nogil=True)
def _look_once(edges: Any, chosen: Any, stage: int, once: Any) -> None:
    """The same from the edges themselves."""
    once[: (stage + 63) >> 6] = _0
    for i in range(stage):
        if only_hit(edges[i], chosen) >= 0:
            once[i >> 6] |= _1 << np.uint64(i & 63)


@njit(cache=True, nogil=True)
def _drop_vital(edges: Any, chosen: Any, once: Any, common: Any, left: Any) -> None:
    """Drops from ``left`` the vertices that are in all critical edges of a vertex of the set: with them it would not be needed."""
    words = len(chosen)
    common[:] = left
    for lane in range(len(once)):
        bits = once[lane]
        while bits != _0:
            i = (lane << 6) + count((bits & (~bits + _1)) - _1)
            bits &= bits - _1
            for w in range(words):
                hit = edges[i, w] & chosen[w]
                if hit != _0:
                    v = (w << 6) + count(hit - _1)
                    for x in range(words):
                        common[v, x] &= edges[i, x]
    for v in range(len(common)):
        if chosen[v >> 6] >> np.uint64(v & 63) & _1 != _0:
            for w in range(words):
                left[w] &= ~common[v, w]


@njit(cache=True, nogil=True)
def _longer(lines: Any) -> Any:
    longer = np.empty((2 * len(lines), lines.shape[1]), lines.dtype)
    longer[: len(lines)] = lines
    return longer
