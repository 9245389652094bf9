"""Hypergraphs over any number of vertices: one step of the search, fewer edges. Sets are rows of words."""

from __future__ import annotations

from typing import Any

import numpy as np

from rowlaw.kernels.compiling import njit
from rowlaw.search.state import count

_0, _1, _ALL = np.uint64(0), np.uint64(1), ~np.uint64(0)


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
        bit, place = _1 << np.uint64(v & 63), v >> 6
        if edges[best, place] & left[place] & bit != _0:
            for w in range(words):
                children[n, 0, w], children[n, 1, w] = chosen[w], rest[w]
            children[n, 0, place] |= bit
            rest[place] |= bit
            n += 1
    return n


@njit(cache=True, nogil=True)
def only_hit(edge: Any, chosen: Any) -> int:
    """The one chosen vertex of an edge; -1 if there is none, -2 if there are several."""
    v = -1
    for w in range(len(chosen)):
        h = edge[w] & chosen[w]
        if h != _0:
            if v >= 0 or h & (h - _1) != _0:
                return -2
            v = 64 * w + count(h - _1)
    return v


@njit(cache=True, nogil=True)
def forbid(forbidden: Any, chosen: Any, left: Any) -> bool:
    """Drops candidates that would complete a forbidden set; whether none is complete already."""
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
def first_hit(edges: Any, sets: Any, times: int) -> Any:
    """For each set the first edge that it hits so many times, or -1."""
    found = np.full(len(sets), -1)
    for s in range(len(sets)):
        for i in range(len(edges)):
            hits = 0
            for w in range(edges.shape[1]):
                hits += count(edges[i, w] & sets[s, w])
            if hits == times:
                found[s] = i
                break
    return found


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
