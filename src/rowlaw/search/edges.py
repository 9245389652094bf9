"""Hypergraphs over any number of vertices: one step of the search, fewer edges.

A set is a row of words (``uint64[words]``): vertex ``v`` is bit ``v % 64`` of word ``v // 64``.
"""

from __future__ import annotations

import numpy as np

from rowlaw.kernels.arrays import Int64Array, Uint64Array
from rowlaw.kernels.compiling import njit
from rowlaw.search.state import count

_0, _1, _ALL = np.uint64(0), np.uint64(1), ~np.uint64(0)


@njit(cache=True, nogil=True)
def split(
    edges: Uint64Array, chosen: Uint64Array, candidates: Uint64Array, forbidden: Uint64Array, children: Uint64Array
) -> int:
    """Make one step of the list search on sets of any number of words. ``O(edges)``.

    ``edges``: ``uint64[edges, words]``. ``chosen``, ``candidates``: ``uint64[words]``, the branch. ``forbidden``:
    ``uint64[forbidden, words]``. ``children``: ``uint64[64 * words, 2, words]``, written: the chosen vertices and the
    candidates of smaller branches. Returns how many these are; -1 if ``chosen`` itself is a minimal hitting set. If
    dropping candidates leaves at most 64, the only child is the branch with the candidates that are left.
    """
    words = edges.shape[1]
    common = np.full((64 * words, words), _ALL)
    union, left = np.zeros(words, np.uint64), np.empty(words, np.uint64)
    critical = np.zeros(64 * words, np.bool_)
    uncovered = False
    for i in range(len(edges)):
        v = only_hit(edges[i], chosen)
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
    if not forbid(forbidden, chosen, left):
        return 0
    if not uncovered:
        return -1
    total = 0
    for w in range(words):
        total += count(left[w])
    if total <= 64:
        for w in range(words):
            children[0, 0, w], children[0, 1, w] = chosen[w], left[w]
        return 1
    best, fewest = -1, 64 * words + 1
    for i in range(len(edges)):
        if only_hit(edges[i], chosen) == -1:
            size = 0
            for w in range(words):
                size += count(edges[i, w] & left[w])
            if size < fewest:
                best, fewest = i, size
    n = 0
    rest = np.empty(words, np.uint64)
    for w in range(words):
        rest[w] = left[w] & ~edges[best, w]
    for v in range(64 * words):
        bit, word = _1 << np.uint64(v & 63), v >> 6
        if edges[best, word] & left[word] & bit != _0:
            for w in range(words):
                children[n, 0, w], children[n, 1, w] = chosen[w], rest[w]
            children[n, 0, word] |= bit
            rest[word] |= bit
            n += 1
    return n


@njit(cache=True, nogil=True)
def only_hit(edge: Uint64Array, chosen: Uint64Array) -> int:
    """Give the one vertex that ``edge`` and ``chosen`` (both ``uint64[words]``) share; -1 if there is none, -2 if there
    are several."""
    v = -1
    for w in range(len(chosen)):
        h = edge[w] & chosen[w]
        if h != _0:
            if v >= 0 or h & (h - _1) != _0:
                return -2
            v = 64 * w + count(h - _1)
    return v


@njit(cache=True, nogil=True)
def forbid(forbidden: Uint64Array, chosen: Uint64Array, left: Uint64Array) -> bool:
    """Drop candidates that would complete a forbidden set; whether none is complete already.

    ``forbidden``: ``uint64[forbidden, words]``. ``chosen``: ``uint64[words]``. ``left``: ``uint64[words]``, the
    candidates, written.
    """
    words = len(chosen)
    for i in range(len(forbidden)):
        missing, last = 0, -1
        for w in range(words):
            x = forbidden[i, w] & ~chosen[w]
            if x != _0:
                missing += count(x)
                last = w
        if missing == 0:
            return False
        if missing == 1:
            left[last] &= ~(forbidden[i, last] & ~chosen[last])
    return True


@njit(cache=True, nogil=True)
def first_hit(edges: Uint64Array, sets: Uint64Array, times: int) -> Int64Array:
    """Give for each set the first edge that it hits so many times, or -1: ``int64[sets]``.

    ``edges``: ``uint64[edges, words]``. ``sets``: ``uint64[sets, words]``.
    """
    first = np.full(len(sets), -1)
    for s in range(len(sets)):
        for i in range(len(edges)):
            hits = 0
            for w in range(edges.shape[1]):
                hits += count(edges[i, w] & sets[s, w])
            if hits == times:
                first[s] = i
                break
    return first


@njit(cache=True, nogil=True)
def drop_supersets(edges: Uint64Array, sizes: Int64Array, limit: int) -> int:
    """Move the edges that contain no other edge to the front, and count them. At most ``limit`` comparisons are made.

    ``edges``: ``uint64[edges, words]``, by size and without repeats, written. ``sizes``: ``int64[edges]``, their
    vertices, written.
    """
    words = edges.shape[1]
    kept, work = 0, 0
    for i in range(len(edges)):
        keep = True
        if work < limit:
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
