"""The arrays of one branch of the search, which :mod:`rowlaw.search.lists` and :mod:`rowlaw.search.boxes` work on.

Sets of at most 64 vertices are words (``uint64``): vertex ``v`` of the branch is bit ``v``. Kernels take no objects, so
a value that changes is a field of a record in an array. All arrays of :class:`BranchState` are written, except
``forbidden`` and ``exchange``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rowlaw.kernels.arrays import Int64Array, RecordArray, Uint64Array
from rowlaw.kernels.compiling import njit

# What a call of the search returns. GROW_...: an array is too short for the next step; call again with a longer one.
DONE, PAUSED, GROW_EDGES, GROW_BITMAPS, GROW_FOUND = 0, 1, 2, 3, 4

INNER = 6  # vertices inside a word
ATOMS = 3  # vertices of a column at most
PATTERNS = 1 << ATOMS  # patterns of an edge in a column; also a limit of the choices
DIGITS = 4  # patterns that may occur in a column; where more do, its vertices become columns

COUNTERS = np.dtype(
    (
        np.record,
        [
            ("depth", np.int64),  # the current frame; below 0 when the list search is done
            ("is_new", np.int64),  # 1 if the current frame is not reduced yet
            ("level", np.int64),  # the current level of the box search; below 0 when it is not running
            ("found", np.int64),  # sets found so far
            ("work", np.int64),  # words of work since the call began
            ("columns", np.int64),  # columns of the box search
            ("levels", np.int64),  # columns that are decided one after the other; the others are inside the word
            ("nodes", np.int64),  # nodes of the search tree so far
            ("needed", np.int64),  # elements that an array must have for the next step
            ("short_words", np.int64),  # bitmaps of at most so many words are always used
            ("quarter_words", np.int64),  # quarters of a word for each listed edge, up to which bitmaps are used
        ],
    )
)
# A node on the path of the list search. Its edges are edges_begin .. edges_end: the critical ones segment by segment,
# and the uncovered.
FRAME = np.dtype(
    (
        np.record,
        [
            ("uncovered_begin", np.int64),
            ("uncovered_end", np.int64),
            ("segments_begin", np.int64),
            ("segments_end", np.int64),
            ("edges_begin", np.int64),
            ("edges_end", np.int64),
            ("chosen", np.uint64),
            ("candidates", np.uint64),
            ("untried", np.uint64),  # vertices of the branching edge that are still to be tried
            ("tried", np.uint64),
            ("others", np.uint64),  # candidates that are not in the branching edge
        ],
    )
)
SEGMENT = np.dtype((np.record, [("begin", np.int64), ("end", np.int64)]))  # the critical edges of a chosen vertex
# A column that is decided, and the node on the path of the box search that decides it.
LEVEL = np.dtype(
    (
        np.record,
        [
            ("digits", np.int64),  # how many digits the column has
            ("choices", np.int64),  # how many choices it has
            ("words", np.int64),  # words of a bitmap at this level
            ("bitmaps", np.int64),  # how many bitmaps the node has
            ("next_choice", np.int64),
            ("bitmaps_end", np.int64),  # where the array of bitmaps is free
            ("is_symmetric", np.int64),  # whether all choices so far are their own images under the exchange
            ("only_choice", np.int64),  # the one choice to be made, or -1: all
            ("is_silent", np.int64),  # whether sets found here are not written
            ("chosen", np.uint64),
            ("alive", np.uint64),  # a bit for each subset of the inner vertices that may still lead to a set
        ],
    )
)
CHOICE = np.dtype(
    (
        np.record,
        [
            ("kept_digits", np.int64),  # a bit for each digit whose edges are not hit
            ("vertices", np.int64),  # how many vertices are chosen
            ("alone_digits", np.int64, (ATOMS,)),  # for each of them, a bit for each digit whose edges only it hits
            ("is_skipped", np.int64),  # whether its image under the exchange comes before it
            ("is_symmetric", np.int64),  # whether it is its own image
            ("chosen", np.uint64),
        ],
    )
)


class BranchState(NamedTuple):
    """A branch being searched."""

    counters: RecordArray  # COUNTERS[1]
    edges: Uint64Array  # uint64[capacity]: lists of edges, those of a frame after those of the frame above
    frames: RecordArray  # FRAME[vertices + 2]
    segments: RecordArray  # SEGMENT[capacity]
    order: Int64Array  # int64[vertices]: rare vertices first
    forbidden: Uint64Array  # uint64[forbidden]
    exchange: Int64Array  # int64[vertices], or of length 0: the image of each vertex under the symmetry
    column_vertices: Int64Array  # int64[columns, ATOMS]: the vertices of each column
    column_sizes: Int64Array  # int64[columns]: how many vertices a column has
    levels: RecordArray  # LEVEL[columns + 1]
    choices: RecordArray  # CHOICE[columns, PATTERNS]
    digits: Int64Array  # int64[columns, PATTERNS]: the digit of each pattern, -1 where it does not occur
    bitmap_starts: Int64Array  # int64[columns + 1, capacity]: where the bitmaps of a level begin
    # uint64[columns + 1, capacity, 1 << DIGITS]: for a bitmap, OR over the slices of each set of digits
    unions: Uint64Array
    inner_sets: Uint64Array  # uint64[64]: the vertices of each subset of the inner ones
    bitmaps: Uint64Array  # uint64[capacity]
    undecided: Uint64Array  # uint64[capacity]: all ones where a word does not decide whether all edges can be hit
    found: Uint64Array  # uint64[capacity]: the sets found


@njit(cache=True, nogil=True)
def count(word: np.uint64) -> np.int64:
    """Count the bits of a word (LLVM makes it one instruction)."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))
