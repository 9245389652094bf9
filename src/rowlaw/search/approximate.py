"""Minimal sets that hit all edges but some of bounded weight.

As in MMCS, an edge that is not hit yet is chosen and either hit, by one of its vertices after the other, or given up
for good, which uses up some of the weight that may be missed. A vertex without which the set would miss no more than
allowed is superfluous, and stays so when vertices are added: the branch ends.
"""

from __future__ import annotations

import numpy as np

from rowlaw.kernels.arrays import BoolArray, Int32Array, Int64Array, Uint8Array
from rowlaw.kernels.compiling import njit

_HIT, _GIVE_UP = 1, 2


@njit(cache=True, nogil=True)
def _put(
    v: int,
    starts: Int64Array,
    lists: Int64Array,
    weights: Int64Array,
    hits: Int32Array,
    owner: Int64Array,
    critical: Int64Array,
) -> int:
    """Add a vertex to the set, and give the weight of the edges that only it hits.

    ``lists[starts[v]:starts[v + 1]]`` (both ``int64``) are the edges of vertex ``v``. ``weights``: ``int64[edges]``.
    Written: ``hits`` (``int32[edges]``, how often each edge is hit), ``owner`` (``int64[edges]``, the exclusive or of
    the vertices that hit it) and ``critical`` (``int64[vertices]``, the weight of the edges that only this vertex
    hits).
    """
    gained = 0
    for k in range(starts[v], starts[v + 1]):
        e = lists[k]
        if hits[e] == 0:
            gained += weights[e]
            critical[v] += weights[e]
        elif hits[e] == 1:
            critical[owner[e]] -= weights[e]
        hits[e] += 1
        owner[e] ^= v
    return gained


@njit(cache=True, nogil=True)
def _take(
    v: int,
    starts: Int64Array,
    lists: Int64Array,
    weights: Int64Array,
    hits: Int32Array,
    owner: Int64Array,
    critical: Int64Array,
) -> int:
    """Take a vertex out of the set, and give the weight that is missed then. Arrays as in :func:`_put`: ``starts``,
    ``lists`` and ``weights`` are read, ``hits``, ``owner`` and ``critical`` written."""
    lost = 0
    for k in range(starts[v], starts[v + 1]):
        e = lists[k]
        hits[e] -= 1
        owner[e] ^= v
        if hits[e] == 0:
            lost += weights[e]
        elif hits[e] == 1:
            critical[owner[e]] += weights[e]
    critical[v] = 0
    return lost


@njit(cache=True, nogil=True)
def enumerate_approximate(
    edges: BoolArray,
    weights: Int64Array,
    starts: Int64Array,
    lists: Int64Array,
    group: Int64Array,
    group_size: Int64Array,
    budget: int,
    stop: Uint8Array,
) -> BoolArray:
    """List all minimal sets that miss edges of a weight of at most ``budget``: ``bool[sets, vertices]``; fewer once
    ``stop[0]`` is set.

    ``edges``: ``bool[edges, vertices]``. ``weights``: ``int64[edges]``. ``lists[starts[v]:starts[v + 1]]`` (both
    ``int64``) are the edges of vertex ``v``. ``group``: ``int64[vertices]``, ``group_size``: ``int64[groups]``; no set
    has all vertices of a group. ``stop``: ``uint8[1]``.
    """
    n_edges, n_vertices = edges.shape
    hits, owner = np.zeros(n_edges, np.int32), np.zeros(n_edges, np.int64)
    critical = np.zeros(n_vertices, np.int64)
    chosen, candidate = np.zeros(n_vertices, np.bool_), np.ones(n_vertices, np.bool_)
    abandoned = np.zeros(n_edges, np.bool_)
    in_group = np.zeros(len(group_size), np.int64)
    missed = np.int64(0)
    for e in range(n_edges):
        missed += weights[e]
    out = np.empty((64, n_vertices), np.bool_)
    # a line per depth: kind of step, edge, vertex, and which vertices of the edge were candidates
    stack = np.empty((n_vertices + n_edges + 2, n_vertices + 3), np.int32)
    number = 0
    given_up = np.int64(0)
    depth = 0
    entering = True
    while stop[0] == 0:
        if entering:
            if missed <= budget:
                if number == len(out):
                    larger = np.empty((2 * len(out), n_vertices), np.bool_)
                    larger[:number] = out
                    out = larger
                for v in range(n_vertices):
                    out[number, v] = chosen[v]
                number += 1
                entering = False
                continue
            best, fewest = -1, n_vertices + 1
            for e in range(n_edges):
                if hits[e] == 0 and not abandoned[e]:
                    size = 0
                    for v in range(n_vertices):
                        if edges[e, v] and candidate[v]:
                            size += 1
                    if size < fewest:
                        best, fewest = e, size
                        if size == 0:
                            break
            if best < 0:
                entering = False
                continue
            stack[depth, 0], stack[depth, 1], stack[depth, 2] = _GIVE_UP, best, -1
            # vertices of the edge leave the candidates; those tried come back one by one
            for v in range(n_vertices):
                if edges[best, v] and candidate[v]:
                    candidate[v] = False
                    stack[depth, 3 + v] = 1
                else:
                    stack[depth, 3 + v] = 0
            depth += 1
            abandoned[best] = True
            given_up += weights[best]
            entering = given_up <= budget
            continue
        # leave the node above and go on with its next branch
        if depth == 0:
            break
        top = depth - 1
        e = stack[top, 1]
        v = stack[top, 2]
        if stack[top, 0] == _GIVE_UP:
            abandoned[e] = False
            given_up -= weights[e]
            stack[top, 0] = _HIT
        else:
            missed += _take(v, starts, lists, weights, hits, owner, critical)
            chosen[v] = False
            in_group[group[v]] -= 1
            candidate[v] = True
        v += 1
        while v < n_vertices and stack[top, 3 + v] == 0:
            v += 1
        if v == n_vertices:
            for u in range(n_vertices):
                if stack[top, 3 + u]:
                    candidate[u] = True
            depth -= 1
            continue
        stack[top, 2] = v
        missed -= _put(v, starts, lists, weights, hits, owner, critical)
        chosen[v] = True
        in_group[group[v]] += 1
        entering = in_group[group[v]] < group_size[group[v]]
        if entering:
            for u in range(n_vertices):
                if chosen[u] and missed + critical[u] <= budget:
                    entering = False
                    break
    return out[:number]
