"""The state of a search for minimal hitting sets: the arrays of a branch that :mod:`rowlaw.search.lists` and its boxes work on.

Kernels take no objects, so what would be a field elsewhere is a place in an array; the names of the places are here.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from rowlaw.kernels.compiling import njit

DONE, PAUSED, GROW_LISTS, GROW_BOXES, GROW_FOUND = 0, 1, 2, 3, 4

INNER = 6  # vertices inside a word
ATOMS = 3  # most vertices of a column
PATTERNS = 1 << ATOMS  # of an edge in a column; also most choices
DIGITS = 4  # most patterns that occur in a column; else its vertices become columns

# places in Task.numbers
DEPTH, FRESH, LEVEL, FOUND, WORK, COLUMNS, NODES, LEVELS, NEED, FEW, PER_EDGE = range(11)
# places in Task.frames (a node on the path of the list engine)
U_BEGIN, U_END, S_BEGIN, S_END, BASE, TOP = range(6)
# places in Task.frame_sets
F_CHOSEN, F_CANDIDATES, F_TODO, F_TRIED, F_REST = range(5)
# places in Task.levels (a column, and the node on the path of the box engine)
L_DIGITS, L_CHOICES, L_SIZE, L_ARRAYS, L_CHOICE, L_TOP, L_SAME, L_ONLY, L_SILENT = range(9)
# places in Task.choices
C_KEEP, C_CRITICAL, C_FIRST, C_SKIP, C_SAME = 0, 1, 2, 5, 6
# places in a line of Task.columns
K_ATOMS = 3


class Task(NamedTuple):
    """A branch being searched; sets of (local) vertices are words."""

    numbers: Any  # int64[11]
    lists: Any  # uint64: edges
    frames: Any  # int64[6, depth]
    frame_sets: Any  # uint64[5, depth]
    segments: Any  # int64[2, many]: where lists of critical edges begin and end
    order: Any  # int64[vertices]: rare vertices first
    forbidden: Any  # uint64
    exchange: Any  # int64[vertices], or empty: the symmetry
    columns: Any  # int64[columns, 4]: the vertices of a column, and how many
    levels: Any  # int64[columns + 1, 9]; L_ONLY: the one choice to be made (-1: any), L_SILENT: note nothing here
    level_sets: Any  # uint64[columns + 1, 2]: chosen, alive
    choices: Any  # int64[columns, PATTERNS, 7]
    choice_sets: Any  # uint64[columns, PATTERNS]
    digit: Any  # int64[columns, PATTERNS]: the digit of a pattern
    arrays: Any  # int64[columns + 1, many]: where the bitmaps of a node are
    some: Any  # uint64[columns + 1, many, 1 << DIGITS]: for a bitmap, OR over the slices of a set of digits
    inside: Any  # uint64[64]: the vertices of each subset of the inner ones
    boxes: Any  # uint64: bitmaps
    unless: Any  # uint64: all ones where a word says nothing on whether all can be hit
    found: Any  # uint64


@njit(cache=True, nogil=True)
def count(x: Any) -> Any:
    """Bits of a word (LLVM makes it one instruction)."""
    x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((x * np.uint64(0x0101010101010101)) >> np.uint64(56))
