"""Which rules simulated errors break, and which rows are most like a row."""

from __future__ import annotations

import numpy as np

from rowlaw.kernels.arrays import BoolArray, Float32Array, Int32Array, Int64Array, Uint8Array, Uint64Array
from rowlaw.kernels.compiling import njit

_f32 = np.float32


@njit(cache=True, nogil=True)
def likeness(codes: Int32Array, row: Int32Array, weights: Float32Array, out: Float32Array) -> None:
    """Write how much each row agrees with one row: the weights of the columns in which it has the same value, added
    up.

    ``codes``: ``int32[columns, rows]``, null -1. ``row``: ``int32[columns]``, the codes of the one row.
    ``weights``: ``float32[columns]``. ``out``: ``float32[rows]``, written.
    """
    for i in range(len(out)):
        out[i] = _f32(0)
    for c in range(len(row)):
        value, weight, column = row[c], weights[c], codes[c]
        if value >= 0:
            for i in range(len(out)):
                out[i] += weight if column[i] == value else _f32(0)


@njit(cache=True, nogil=True)
def distinct_edges(
    edges: Uint64Array,
    often: Int32Array,
    starts: Int64Array,
    kept: Uint64Array,
    counts: Int32Array,
    ends: Int64Array,
) -> int:
    """Keep each distinct edge (or signature) of each error once, and count the edges kept.

    ``edges``: ``uint64[edges, words]``, those of error ``e`` from ``starts[e]`` to ``starts[e + 1]``
    (``int64[errors + 1]``). ``often``: ``int32[edges]``, how often each given edge occurs. Written: ``kept``
    (``uint64[edges, words]``), ``counts`` (``int32[edges]``: how often each kept one occurs) and ``ends``
    (``int64[errors]``: where the kept edges of each error end).
    """
    words = edges.shape[1]
    longest = 0
    for e in range(len(starts) - 1):
        longest = max(longest, starts[e + 1] - starts[e])
    capacity = 16
    while capacity < 2 * longest:
        capacity *= 2
    table = np.full(capacity, -1, np.int64)
    used = np.empty(max(1, longest), np.int64)
    total = 0
    for e in range(len(starts) - 1):
        filled = 0
        for i in range(starts[e], starts[e + 1]):
            h = np.uint64(0)
            for w in range(words):
                h = (h ^ edges[i, w]) * np.uint64(0x9E3779B97F4A7C15)
                h ^= h >> np.uint64(29)
            place = np.int64(h & np.uint64(capacity - 1))
            while True:
                at = table[place]
                if at < 0:
                    table[place] = total
                    used[filled] = place
                    filled += 1
                    for w in range(words):
                        kept[total, w] = edges[i, w]
                    counts[total] = often[i]
                    total += 1
                    break
                same = True
                for w in range(words):
                    if kept[at, w] != edges[i, w]:
                        same = False
                        break
                if same:
                    counts[at] += often[i]
                    break
                place = (place + 1) & (capacity - 1)
        for i in range(filled):
            table[used[i]] = -1
        ends[e] = total
    return total


@njit(cache=True, nogil=True)
def violations(
    rules: Uint64Array,
    most: Int32Array,
    edges: Uint64Array,
    counts: Int32Array,
    ends: Int64Array,
    asked: BoolArray,
    stop: Uint8Array,
    out: Int32Array,
) -> None:
    """Count the pairs by which each error breaks each rule, as far as ``most`` of them.

    ``rules``: ``uint64[rules, words]``, atoms. ``most``: ``int32[rules]``, where counting may stop. ``edges``,
    ``counts``, ``ends``: as :func:`distinct_edges` writes them. ``asked``: ``bool[rules, errors]``, what is to be
    counted. ``out``: ``int32[rules, errors]``, written. ``stop``: ``uint8[1]``; ends early once ``stop[0]`` is set.
    A pair breaks a rule if its edge has no atom of the rule.
    """
    words = rules.shape[1]
    for r in range(len(rules)):
        if stop[0]:
            return
        for e in range(len(ends)):
            if not asked[r, e]:
                continue
            pairs = 0
            for i in range(ends[e - 1] if e else 0, ends[e]):
                hit = False
                for w in range(words):
                    if rules[r, w] & edges[i, w]:
                        hit = True
                        break
                if not hit:
                    pairs += counts[i]
                    if pairs >= most[r]:
                        break
            out[r, e] = pairs
