"""Listing the pairs that satisfy several comparisons at once, by divide and conquer.

A *node* is a set of rows ``s``, a set of rows ``t``, and the comparisons that are not yet known to hold for all their
pairs (the open ones). Splitting both sides at a value of an open comparison gives smaller nodes, and one in which that
comparison always holds. A node without open comparisons is a group: every ``s`` of it with every ``t`` of it. Nodes
with few pairs are compared pair by pair.

Nodes wait on a stack; their rows and coordinates lie in two *arenas*, one for each side: int32 arrays of shape (1 +
comparisons, capacity), row ids in line 0, coordinates of comparison ``c`` in line ``c + 1``. A call ends when its
output is full or when it has done a given amount of work; the next call continues with the same stack and arenas.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rowlaw.kernels.arrays import Int8Array, Int32Array, Int64Array, RecordArray, Uint8Array
from rowlaw.kernels.compiling import njit

ASCENDING, UNEQUAL = 0, 1  # what a comparison asks of the coordinates a (of s) and b (of t): a < b, or a != b
SAMPLE = 16  # values of each side whose median is the split value

NODE = np.dtype(
    (
        np.record,
        [
            ("s_from", np.int64),  # the node's rows s in their arena
            ("s_to", np.int64),
            ("t_from", np.int64),  # the node's rows t in their arena
            ("t_to", np.int64),
            ("open", np.int64),  # a bit for each comparison that some pair of the node may not satisfy
            ("s_top", np.int64),  # where the arenas are free when this node is taken from the stack
            ("t_top", np.int64),
        ],
    )
)


@njit(cache=True, nogil=True)
def fill(rows: Int32Array, codes: Int32Array, factor: np.int32, summand: np.int32, out: Int32Array) -> None:
    """Write ``factor * code + summand`` of each row into a line of an arena.

    ``rows``: ``int32[n]``. ``codes``: ``int32[rows of the table]``. ``out``: ``int32[n]``, written.
    """
    for i in range(len(rows)):
        out[i] = factor * codes[rows[i]] + summand


@njit(cache=True, nogil=True)
def narrow(s_arena: Int32Array, s_rows: int, t_arena: Int32Array, t_rows: int, kinds: Int8Array) -> Any:
    """Drop rows that have no partner for some inequality from the beginnings of the arenas, which are one group.
    Returns how many are left.

    ``s_arena`` and ``t_arena``: ``int32[1 + comparisons, capacity]``, written, of which ``s_rows`` and ``t_rows``
    rows are in use. ``kinds``: ``int8[comparisons]``.
    """
    comparisons = len(kinds)
    s_bounds, t_bounds = np.zeros((2, comparisons), np.int32), np.zeros((2, comparisons), np.int32)
    is_open = (np.int64(1) << comparisons) - 1
    _bound(s_arena, 0, s_rows, is_open, s_bounds)
    _bound(t_arena, 0, t_rows, is_open, t_bounds)
    keep = np.empty(max(s_rows, t_rows), np.uint8)
    _with_partner(s_arena, 0, s_rows, kinds, is_open, t_bounds[1], True, keep)
    s_rows = _kept(s_arena, s_rows, keep)
    _with_partner(t_arena, 0, t_rows, kinds, is_open, s_bounds[0], False, keep)
    return s_rows, _kept(t_arena, t_rows, keep)


@njit(cache=True, nogil=True)
def divide(
    s_arena: Int32Array,
    t_arena: Int32Array,
    stack: RecordArray,
    depth: int,
    s_starts: Int64Array,
    t_starts: Int64Array,
    group: int,
    kinds: Int8Array,
    scan: int,
    limit: int,
    work: int,
) -> Any:
    """Take nodes from the stack, and groups from ``group`` on when it is empty, until there is output enough or
    work done.

    ``s_arena`` and ``t_arena``: ``int32[1 + comparisons, capacity]``, beginning with the rows of all groups,
    written behind them. ``stack``: ``NODE[capacity]``, of which ``depth`` are in use, written. ``s_starts``,
    ``t_starts``: ``int64[groups + 1]``. ``kinds``: ``int8[comparisons]``, ASCENDING or UNEQUAL, in the order in
    which nodes are split. ``scan``: pairs for each row of a node up to which they are compared one by one;
    ``limit``: output rows of one side; ``work``: rows of nodes.

    Returns the rows and ends of the output groups for both sides (``int32``, ``int64``), then arenas, stack, depth
    and group for the next call.
    """
    comparisons = len(kinds)
    # the least, the greatest coordinate
    s_bounds, t_bounds = np.zeros((2, comparisons), np.int32), np.zeros((2, comparisons), np.int32)
    s_out, t_out = np.empty(1024, np.int32), np.empty(1024, np.int32)
    s_ends, t_ends = np.empty(256, np.int64), np.empty(256, np.int64)
    keep, places = np.empty(1024, np.uint8), np.empty((2, 1024), np.int32)
    groups, s_n, t_n = 0, 0, 0
    while s_n < limit and t_n < limit and work > 0:
        if depth == 0:
            if group == len(s_starts) - 1:
                break
            s_from, s_to, t_from, t_to = s_starts[group], s_starts[group + 1], t_starts[group], t_starts[group + 1]
            s_top, t_top = s_starts[-1], t_starts[-1]
            is_open = (np.int64(1) << comparisons) - 1
            group += 1
        else:
            depth -= 1
            s_from, s_to, t_from, t_to = stack[depth].s_from, stack[depth].s_to, stack[depth].t_from, stack[depth].t_to
            s_top, t_top, is_open = stack[depth].s_top, stack[depth].t_top, stack[depth].open
        s_rows, t_rows = s_to - s_from, t_to - t_from
        work -= s_rows + t_rows + 16  # a node costs something without any row
        _bound(s_arena, s_from, s_to, is_open, s_bounds)
        _bound(t_arena, t_from, t_to, is_open, t_bounds)
        is_open, never = _judged(kinds, is_open, s_bounds, t_bounds)
        if never:
            continue
        if is_open == 0:
            s_out, t_out = _extended(s_out, s_n, s_rows), _extended(t_out, t_n, t_rows)
            s_ends, t_ends = _extended(s_ends, groups, 1), _extended(t_ends, groups, 1)
            s_out[s_n : s_n + s_rows] = s_arena[0, s_from:s_to]
            t_out[t_n : t_n + t_rows] = t_arena[0, t_from:t_to]
            s_n, t_n = s_n + s_rows, t_n + t_rows
            s_ends[groups], t_ends[groups] = s_n, t_n
            groups += 1
            continue
        longest = max(s_rows, t_rows)
        if len(keep) < longest:
            keep, places = np.empty(2 * longest, np.uint8), np.empty((2, 2 * longest), np.int32)
        if s_rows * t_rows <= scan * (s_rows + t_rows):
            outer_rows, inner_rows = min(s_rows, t_rows), longest
            s_ends, t_ends = _extended(s_ends, groups, outer_rows), _extended(t_ends, groups, outer_rows)
            s_out, t_out = (
                _extended(s_out, s_n, inner_rows + outer_rows),
                _extended(t_out, t_n, inner_rows + outer_rows),
            )
            done = 0
            while done < outer_rows and s_n < limit and t_n < limit:
                if s_rows <= t_rows:
                    matches = _matching(s_arena, s_from + done, t_arena, t_from, t_to, kinds, is_open, True, keep)
                    if matches:
                        t_out = _extended(t_out, t_n, inner_rows)
                        _chosen(t_arena[0, t_from:t_to], keep, t_out[t_n:])
                        s_out[s_n] = s_arena[0, s_from + done]
                        s_n, t_n = s_n + 1, t_n + matches
                else:
                    matches = _matching(t_arena, t_from + done, s_arena, s_from, s_to, kinds, is_open, False, keep)
                    if matches:
                        s_out = _extended(s_out, s_n, inner_rows)
                        _chosen(s_arena[0, s_from:s_to], keep, s_out[s_n:])
                        t_out[t_n] = t_arena[0, t_from + done]
                        s_n, t_n = s_n + matches, t_n + 1
                if matches:
                    s_ends[groups], t_ends[groups] = s_n, t_n
                    groups += 1
                done += 1
            if done < outer_rows:  # the output is full
                if s_rows <= t_rows:
                    s_from += done
                else:
                    t_from += done
                stack, depth = _pushed(stack, depth, s_from, s_to, t_from, t_to, is_open, s_top, t_top)
            continue
        by = 0
        while is_open >> by & 1 == 0:
            by += 1
        less = kinds[by] == ASCENDING
        low = s_bounds[0, by] if less else min(s_bounds[0, by], t_bounds[0, by])
        high = t_bounds[1, by] if less else max(s_bounds[1, by], t_bounds[1, by])
        split = _split_value(s_arena[by + 1, s_from:s_to], t_arena[by + 1, t_from:t_to], low + np.int32(1), high)
        s_arena, t_arena = _longer(s_arena, s_top + s_rows), _longer(t_arena, t_top + t_rows)
        _with_partner(s_arena, s_from, s_to, kinds, is_open, t_bounds[1], True, keep)
        s_middle, s_end = _parted(s_arena, s_from, s_to, s_top, by + 1, split, keep, places)
        _with_partner(t_arena, t_from, t_to, kinds, is_open, s_bounds[0], False, keep)
        t_middle, t_end = _parted(t_arena, t_from, t_to, t_top, by + 1, split, keep, places)
        others = is_open ^ (np.int64(1) << by)
        stack, depth = _pushed(stack, depth, s_middle, s_end, t_middle, t_end, is_open, s_end, t_end)
        stack, depth = _pushed(stack, depth, s_top, s_middle, t_top, t_middle, is_open, s_end, t_end)
        stack, depth = _pushed(stack, depth, s_top, s_middle, t_middle, t_end, others, s_end, t_end)
        if not less:
            stack, depth = _pushed(stack, depth, s_middle, s_end, t_top, t_middle, others, s_end, t_end)
    return s_out[:s_n], s_ends[:groups], t_out[:t_n], t_ends[:groups], s_arena, t_arena, stack, depth, group


@njit(cache=True, nogil=True)
def _bound(arena: Int32Array, begin: int, end: int, is_open: int, bounds: Int32Array) -> None:
    """Write the least and the greatest coordinate of rows ``begin .. end`` for each open comparison.

    ``arena``: ``int32[1 + comparisons, capacity]``. ``bounds``: ``int32[2, comparisons]``, written.
    """
    for c in range(bounds.shape[1]):
        if is_open >> c & 1:
            values = arena[c + 1, begin:end]
            low = high = values[0]
            for i in range(len(values)):
                low = min(low, values[i])
                high = max(high, values[i])
            bounds[0, c], bounds[1, c] = low, high


@njit(cache=True, nogil=True)
def _judged(kinds: Int8Array, is_open: np.int64, s_bounds: Int32Array, t_bounds: Int32Array) -> Any:
    """Give the comparisons that stay open, and whether there is one that no pair satisfies.

    ``kinds``: ``int8[comparisons]``. ``s_bounds``, ``t_bounds``: ``int32[2, comparisons]``, as :func:`_bound`
    writes them.
    """
    for c in range(len(kinds)):
        if is_open >> c & 1:
            a_low, a_high, b_low, b_high = s_bounds[0, c], s_bounds[1, c], t_bounds[0, c], t_bounds[1, c]
            if kinds[c] == ASCENDING:
                never, always = a_low >= b_high, a_high < b_low
            else:
                never, always = a_low == a_high == b_low == b_high, a_high < b_low or b_high < a_low
            if never:
                return is_open, True
            if always:
                is_open ^= np.int64(1) << c
    return is_open, False


@njit(cache=True, nogil=True)
def _pushed(
    stack: RecordArray, depth: int, s_from: int, s_to: int, t_from: int, t_to: int, is_open: int, s_top: int, t_top: int
) -> Any:
    """Put a node on the stack (``NODE[capacity]``, written) unless one of its sides is empty. Returns ``stack``,
    maybe longer, and its depth."""
    if s_from == s_to or t_from == t_to:
        return stack, depth
    if depth == len(stack):
        longer = np.empty(2 * len(stack), stack.dtype)
        longer[:depth] = stack
        stack = longer
    stack[depth].s_from, stack[depth].s_to, stack[depth].t_from, stack[depth].t_to = s_from, s_to, t_from, t_to
    stack[depth].open, stack[depth].s_top, stack[depth].t_top = is_open, s_top, t_top
    return stack, depth + 1


@njit(cache=True, nogil=True)
def _split_value(a: Int32Array, b: Int32Array, low: np.int32, high: np.int32) -> np.int32:
    """Give the median of some values of both sides (``a``, ``b``: ``int32[n]``), moved into ``low .. high``."""
    sample = np.empty(2 * SAMPLE, np.int32)
    n = 0
    for values in (a, b):
        few = min(SAMPLE, len(values))
        for k in range(few):
            value, place = values[(2 * k + 1) * len(values) // (2 * few)], n
            while place and sample[place - 1] > value:  # insertion sort
                sample[place] = sample[place - 1]
                place -= 1
            sample[place] = value
            n += 1
    return min(max(sample[n // 2], low), high)


@njit(cache=True, nogil=True)
def _matching(
    one: Int32Array,
    place: int,
    many: Int32Array,
    begin: int,
    end: int,
    kinds: Int8Array,
    is_open: int,
    one_is_s: bool,
    keep: Uint8Array,
) -> int:
    """Mark the rows of ``many`` that satisfy all open comparisons with the row ``place`` of ``one``, and count
    them.

    ``one``, ``many``: ``int32[1 + comparisons, capacity]``, arenas. ``kinds``: ``int8[comparisons]``. ``keep``:
    ``uint8[capacity]``, written: 1 or 0.
    """
    n = end - begin
    keep[:n] = 1
    for c in range(len(kinds)):
        if is_open >> c & 1:
            value, values = one[c + 1, place], many[c + 1, begin:end]
            if kinds[c] == UNEQUAL:
                for i in range(n):
                    keep[i] &= np.uint8(values[i] != value)
            elif one_is_s:
                for i in range(n):
                    keep[i] &= np.uint8(value < values[i])
            else:
                for i in range(n):
                    keep[i] &= np.uint8(values[i] < value)
    total = 0
    for i in range(n):
        total += keep[i]
    return total


@njit(cache=True, nogil=True)
def _chosen(rows: Int32Array, keep: Uint8Array, out: Int32Array) -> None:
    """Copy the rows that are marked. ``rows``: ``int32[n]``. ``keep``: ``uint8[n]``. ``out``: ``int32[n + 1]``,
    written."""
    n = 0
    for i in range(len(rows)):
        out[n] = rows[i]
        n += keep[i]


@njit(cache=True, nogil=True)
def _with_partner(
    arena: Int32Array,
    begin: int,
    end: int,
    kinds: Int8Array,
    is_open: int,
    bounds: Int32Array,
    is_s: bool,
    keep: Uint8Array,
) -> None:
    """Mark the rows ``begin .. end`` that for each open inequality have some partner: the extreme value on the
    other side.

    ``arena``: ``int32[1 + comparisons, capacity]``. ``kinds``: ``int8[comparisons]``. ``bounds``:
    ``int32[comparisons]``, the extreme values. ``keep``: ``uint8[capacity]``, written: 1 or 0.
    """
    n = end - begin
    keep[:n] = 1
    for c in range(len(kinds)):
        if is_open >> c & 1 and kinds[c] == ASCENDING:
            bound, values = bounds[c], arena[c + 1, begin:end]
            if is_s:
                for i in range(n):
                    keep[i] &= np.uint8(values[i] < bound)
            else:
                for i in range(n):
                    keep[i] &= np.uint8(bound < values[i])


@njit(cache=True, nogil=True)
def _kept(arena: Int32Array, rows: int, keep: Uint8Array) -> int:
    """Move the marked rows of an arena to its beginning, in order, and count them.

    ``arena``: ``int32[1 + comparisons, capacity]``, written, of which ``rows`` are in use. ``keep``:
    ``uint8[rows]``.
    """
    total = 0
    for i in range(rows):
        total += keep[i]
    if total < rows:
        for line in range(arena.shape[0]):
            _chosen(arena[line, :rows], keep, arena[line])
    return total


@njit(cache=True, nogil=True)
def _parted(
    arena: Int32Array, begin: int, end: int, top: int, by: int, split: np.int32, keep: Uint8Array, places: Int32Array
) -> Any:
    """Copy the marked rows ``begin .. end`` of an arena behind ``top``, those below ``split`` in line ``by`` first.
    Returns where the others begin and end.

    ``arena``: ``int32[1 + comparisons, capacity]``, written. ``keep``: ``uint8[rows]``. ``places``: ``int32[2,
    rows]``, scratch space.
    """
    values = arena[by, begin:end]
    below, above = 0, 0
    for i in range(end - begin):
        places[0, below] = places[1, above] = i
        low = np.uint8(values[i] < split)
        below += keep[i] & low
        above += keep[i] & (low ^ np.uint8(1))
    for line in range(arena.shape[0]):
        source, target = arena[line, begin:end], arena[line, top : top + below + above]
        for i in range(below):
            target[i] = source[places[0, i]]
        for i in range(above):
            target[below + i] = source[places[1, i]]
    return top + below, top + below + above


@njit(cache=True, nogil=True)
def _longer(arena: Int32Array, needed: int) -> Int32Array:
    """Give ``arena`` (``int32[1 + comparisons, capacity]``), or a longer copy of it, with capacity for ``needed``
    rows."""
    if needed <= arena.shape[1]:
        return arena
    longer = np.empty((arena.shape[0], max(needed, arena.shape[1] * 3 // 2)), np.int32)
    longer[:, : arena.shape[1]] = arena
    return longer


@njit(cache=True, nogil=True)
def _extended(array: Any, used: int, more: int) -> Any:
    """Give ``array`` (of any type), or a longer copy of its first ``used`` elements, with capacity for ``more``
    others."""
    if used + more <= len(array):
        return array
    longer = np.empty(max(used + more, 2 * len(array)), array.dtype)
    longer[:used] = array[:used]
    return longer
