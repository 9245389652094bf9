"""What the pairs of a batch say: signatures, and where they stand in a ledger that grows.

*Cells* are the labels of a table, row after row (``int32[rows, columns]``, null -1): a pair of rows is two cache lines.
A *signature* is written as in :mod:`rowlaw.kernels.signatures`. A ledger finds signatures by an open-addressing
``table`` (``int32``: place + 1, 0 is free); for each it counts the pairs seen (``tally``) and keeps the first few of
them (``pairs``, of which ``held`` are in use).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from rowlaw.kernels import evidence
from rowlaw.kernels.arrays import BoolArray, Int32Array, Int64Array, Uint16Array, Uint32Array, Uint64Array
from rowlaw.kernels.compiling import njit
from rowlaw.kernels.signatures import SLOTS
from rowlaw.rules.outcomes import CODES, LOWER_CODE, UNKNOWN_CODE

BLOCK = 1024  # pairs compared at a time, before room is looked at

_u32, _u64 = np.uint32, np.uint64
_MIX = _u64(0x9E3779B97F4A7C15)


class Pages(NamedTuple):
    """The arrays of a ledger, with room for more; ``used[0]`` entries are in use."""

    table: np.ndarray
    signatures: np.ndarray
    tally: np.ndarray
    pairs: np.ndarray
    held: np.ndarray
    used: np.ndarray


class Comparing(NamedTuple):
    """How two rows are compared, slot by slot: columns of ``s`` and of ``t``, the code of *higher*, and where in a
    word. ``straight[0]``: slot number c compares column c with itself; ``unknown[0]``: nulls are unknown."""

    left: np.ndarray
    right: np.ndarray
    greater: np.ndarray
    shift: np.ndarray
    straight: np.ndarray
    unknown: np.ndarray


@njit(cache=True, nogil=True)
def _start(signature: Uint64Array, mask: np.int64) -> np.int64:
    """Give the first position of a ``signature`` (``uint64[words]``) in a hash table."""
    h = _u64(0)
    for w in range(len(signature)):
        h = (h ^ (h >> _u64(29)) ^ signature[w]) * _MIX
    return np.int64(h >> _u64(32)) & mask


@njit(cache=True, nogil=True)
def _fill(table: Int32Array, signatures: Uint64Array, used: int) -> None:
    """Fill an empty ``table`` (``int32[positions]``, written) with the first ``used`` ``signatures``
    (``uint64[capacity, words]``)."""
    mask = np.int64(len(table) - 1)
    for k in range(used):
        i = _start(signatures[k], mask)
        while table[i]:
            i = (i + 1) & mask
        table[i] = np.int32(k + 1)


@njit(cache=True, nogil=True)
def grown(pages: Pages, more: int) -> Pages:
    """Give the ledger, or a copy with capacity for ``more`` signatures."""
    used = pages.used[0]
    if used + more <= len(pages.signatures) and 2 * (used + more) <= len(pages.table):
        return pages
    room, size = max(2 * len(pages.signatures), used + more), len(pages.table)
    while size < 2 * room:
        size *= 2
    table = np.zeros(size, np.int32)
    signatures = np.empty((room, pages.signatures.shape[1]), np.uint64)
    tally, held = np.zeros(room, np.int64), np.zeros(room, np.int8)
    pairs = np.zeros((room, pages.pairs.shape[1], 2), np.int32)
    signatures[:used], tally[:used] = pages.signatures[:used], pages.tally[:used]
    pairs[:used], held[:used] = pages.pairs[:used], pages.held[:used]
    _fill(table, signatures, used)
    return Pages(table, signatures, tally, pairs, held, pages.used)


@njit(cache=True, nogil=True)
def find_or_add(pages: Pages, given: Uint64Array, places: Int64Array) -> Pages:
    """Find the positions of signatures; those that are new are added. Returns the ledger, maybe longer.

    ``pages`` is written. ``given``: ``uint64[n, words]``. ``places``: ``int64[n]``, written.
    """
    pages = grown(pages, len(given))
    table, signatures, used, words = pages.table, pages.signatures, pages.used[0], given.shape[1]
    mask = np.int64(len(table) - 1)
    for g in range(len(given)):
        i = _start(given[g], mask)
        k = np.int64(-1)
        while table[i]:
            k = np.int64(table[i] - 1)
            same = True
            for w in range(words):
                same &= signatures[k, w] == given[g, w]
            if same:
                break
            k = np.int64(-1)
            i = (i + 1) & mask
        if k < 0:
            k = used
            used += 1
            table[i] = np.int32(k + 1)
            pages.tally[k], pages.held[k] = 0, 0
            for w in range(words):
                signatures[k, w] = given[g, w]
        places[g] = k
    pages.used[0] = used
    return pages


@njit(cache=True, nogil=True)
def _signatures(
    cells: Int32Array, how: Comparing, s_rows: Int64Array, t_rows: Int64Array, n: int, out: Uint64Array
) -> None:
    """Write the signatures of the first ``n`` pairs of rows.

    ``cells``: ``int32[rows, columns]``. ``s_rows``, ``t_rows``: ``int64[pairs]``. ``out``: ``uint64[pairs,
    words]``, written.
    """
    left, right, greater, shift, unknown = how.left, how.right, how.greater, how.shift, how.unknown[0]
    slots = len(left)
    if how.straight[0] and slots <= SLOTS:  # whole rows are compared at once
        for i in range(n):
            s, t, bits = s_rows[i], t_rows[i], _u64(0)
            for c in range(slots):
                x, y = cells[s, c], cells[t, c]
                bits |= (_u64(x < y) * _u64(LOWER_CODE) | _u64(x > y) * greater[c]) << shift[c]
            if unknown:
                for c in range(slots):
                    bits |= _u64((cells[s, c] | cells[t, c]) < 0) * _u64(UNKNOWN_CODE) << shift[c]
            out[i, 0] = bits
        return
    for i in range(n):
        for w in range(out.shape[1]):
            out[i, w] = _u64(0)
        for c in range(slots):
            x, y = cells[s_rows[i], left[c]], cells[t_rows[i], right[c]]
            outcome = _u64(x < y) * _u64(LOWER_CODE) | _u64(x > y) * greater[c]
            if unknown and (x | y) < 0:
                outcome = _u64(UNKNOWN_CODE)
            out[i, c // SLOTS] |= outcome << shift[c]


@njit(cache=True, nogil=True)
def _count_pairs(
    cells: Int32Array, how: Comparing, s_rows: Int64Array, t_rows: Int64Array, n: int, pages: Pages
) -> Pages:
    """Count the signatures of the first ``n`` pairs, and keep the pairs of signatures of which few are kept.

    ``cells``: ``int32[rows, columns]``. ``s_rows``, ``t_rows``: ``int64[pairs]``. ``pages`` is written; returns it,
    maybe longer.
    """
    given = np.empty((n, pages.signatures.shape[1]), np.uint64)
    _signatures(cells, how, s_rows, t_rows, n, given)
    return add_counted(pages, given, np.ones(n, np.int64), s_rows, t_rows)


@njit(cache=True, nogil=True)
def add_counted(pages: Pages, given: Uint64Array, counts: Int64Array, s_rows: Int64Array, t_rows: Int64Array) -> Pages:
    """Enter signatures that so many pairs have, of which one is given; it is kept where there is capacity.

    ``pages`` is written; returns it, maybe longer. ``given``: ``uint64[n, words]``. ``counts``: ``int64[n]``.
    ``s_rows``, ``t_rows``: ``int64[n]``.
    """
    places = np.empty(len(given), np.int64)
    pages = find_or_add(pages, given, places)
    tally, pairs, held, most = pages.tally, pages.pairs, pages.held, pages.pairs.shape[1]
    for g in range(len(given)):
        k = places[g]
        tally[k] += counts[g]
        h = np.int64(held[k])
        if h < most:
            fresh = True
            for i in range(h):
                fresh &= not (pairs[k, i, 0] == s_rows[g] and pairs[k, i, 1] == t_rows[g])
            if fresh:
                pairs[k, h, 0], pairs[k, h, 1] = s_rows[g], t_rows[g]
                held[k] = h + 1
    return pages


@njit(cache=True, nogil=True)
def _counted(table: Uint64Array, pairs: Int32Array, signature: Uint64Array, count: np.uint64, s: int, t: int) -> int:
    """Count a signature in a table; the first pair is kept. Returns 1 if it is new, else 0.

    ``table``: ``uint64[positions, words + 1]``, whose last column counts, and ``pairs``: ``int32[positions, 2]``, a
    pair of each; both are written. ``signature``: ``uint64[words]``. As :func:`rowlaw.kernels.signatures.add`, which
    cannot say where. One function for the search in both is not inlined, and adding would take half as long again.
    """
    words = table.shape[1] - 1
    mask = np.int64(len(table) - 1)
    i = _start(signature, mask)
    while table[i, words]:
        same = True
        for w in range(words):
            same &= table[i, w] == signature[w]
        if same:
            table[i, words] += count
            return 0
        i = (i + 1) & mask
    for w in range(words):
        table[i, w] = signature[w]
    table[i, words] = count
    pairs[i, 0], pairs[i, 1] = s, t
    return 1


@njit(cache=True, nogil=True)
def _larger(table: Uint64Array, pairs: Int32Array) -> Any:
    """Copy a table to one with twice as many positions. ``table``: ``uint64[positions, words + 1]``, whose last
    column counts, and ``pairs``: ``int32[positions, 2]``, a pair of each."""
    words = table.shape[1] - 1
    larger, larger_pairs = np.zeros((2 * len(table), words + 1), np.uint64), np.empty((2 * len(table), 2), np.int32)
    mask = np.int64(len(larger) - 1)
    for k in range(len(table)):
        if table[k, words]:
            i = _start(table[k, :words], mask)
            while larger[i, words]:
                i = (i + 1) & mask
            larger[i] = table[k]
            larger_pairs[i] = pairs[k]
    return larger, larger_pairs


class Layout(NamedTuple):
    """Rows to compare, first those that are ``s``, then the others: codes in 16 bits where they fit (``place`` -1) and
    in 32 where not, and the bounds of the codes of each tile. Tiles do not cross from one part to the other:
    ``tiles[i]`` is where tile i begins."""

    narrow: np.ndarray
    wide: np.ndarray
    place: np.ndarray
    low: np.ndarray
    high: np.ndarray
    unknown: np.ndarray
    tiles: np.ndarray
    rows: np.ndarray


@njit(cache=True, nogil=True)
def compare_all(layout: Layout, how: Comparing, ordered: BoolArray, t_tiles: Int64Array, own: int, most: int) -> Any:
    """Count the signatures of all pairs of the rows of the first ``own`` tiles with those of some tiles; where
    these are among the first, with rows that come later.

    ``ordered``: ``bool[slots]``. ``t_tiles``: ``int64[n]``. Returns the signatures (``uint64[n, words]``), how many
    pairs have each (``int64[n]``), and one of them (``int32[n, 2]``). As
    :func:`rowlaw.kernels.evidence.count_tiles`: outcomes are digits of a number that addresses one of at most
    ``most`` counters.
    """
    slots, words = len(how.left), max(1, (len(how.left) + SLOTS - 1) // SLOTS)
    left, right, tile = how.left, how.right, 1
    for b in range(len(layout.tiles) - 1):
        tile = max(tile, layout.tiles[b + 1] - layout.tiles[b])
    possible, digit = np.zeros((slots, CODES), np.bool_), np.zeros((slots, CODES), np.int64)
    all_active, all_radix, all_piece = np.empty(slots, np.int64), np.empty(slots, np.int64), np.empty(slots, np.int64)
    all_less, all_greater, all_missing = (
        np.empty(slots, np.uint16),
        np.empty(slots, np.uint16),
        np.empty(slots, np.uint16),
    )
    all_start = np.zeros((max(2, (slots + 7) // 8), tile), np.uint16)
    all_lanes, fixed = np.zeros_like(all_start), np.zeros(words, np.uint64)
    counts = np.zeros(most, np.uint32)
    touched, touched_pairs = np.empty(most, np.int32), np.empty((most, 2), np.int32)
    table, pairs, used = np.zeros((1 << 12, words + 1), np.uint64), np.empty((1 << 12, 2), np.int32), 0
    signature = np.empty(words, np.uint64)
    for b in t_tiles:
        for a in range(b if b < own else 0, own):
            evidence._outcomes(ordered, left, right, layout.low, layout.high, layout.unknown, a, b, possible)
            n, total = evidence._number(possible, ordered, all_active, all_radix, digit, fixed)
            direct = total <= most
            active, radix = all_active[:n], all_radix[:n]
            pieces, first = evidence._steps(
                active, radix, digit, direct, ordered, all_piece, all_less, all_greater, all_missing
            )
            steps = (all_piece, all_less, all_greater, all_missing, possible)
            pieces = pieces if direct else (slots + 7) // 8
            lanes, start = all_lanes[:pieces], all_start[:pieces]
            t0, t1 = layout.tiles[b], layout.tiles[b + 1]
            evidence._starts(layout.wide, layout.narrow, layout.place, right, t0, t1, active, steps, start)
            seen = 0
            for s in range(layout.tiles[a], layout.tiles[a + 1]):
                stop = min(t1, s) if b == a else t1
                if stop <= t0:
                    continue
                evidence._compare(
                    layout.narrow, layout.wide, layout.place, left, right, s, t0, stop, active, steps, start, lanes
                )
                if direct:
                    seen = _count(lanes, stop - t0, first, counts, touched, touched_pairs, seen, s, t0)
                    continue
                if 2 * (used + stop - t0) > len(table):
                    table, pairs = _larger(table, pairs)
                for j in range(stop - t0):
                    for w in range(words):
                        signature[w] = fixed[w]
                    for p in range(len(lanes)):
                        signature[p // 4] |= _u64(lanes[p, j]) << _u64(16 * (p % 4))
                    used += _counted(table, pairs, signature, _u64(1), layout.rows[s], layout.rows[t0 + j])
            if seen:
                low_bits, cut = evidence._spread(active, radix, digit, possible, words, 1 << 9)
                high_bits, _ = evidence._spread(active[cut:], radix[cut:], digit, possible, words, most)
                while 2 * (used + seen) > len(table):
                    table, pairs = _larger(table, pairs)
                for k in range(seen):
                    i = np.int64(touched[k])
                    for w in range(words):
                        signature[w] = fixed[w] | low_bits[i % len(low_bits), w] | high_bits[i // len(low_bits), w]
                    s, j = layout.rows[touched_pairs[k, 0]], layout.rows[touched_pairs[k, 1]]
                    used += _counted(table, pairs, signature, _u64(counts[i]), s, j)
                    counts[i] = _u32(0)
    return _entries(table, pairs, used)


@njit(cache=True, nogil=True)
def _count(
    lanes: Uint16Array,
    n: int,
    first: int,
    counts: Uint32Array,
    touched: Int32Array,
    pairs: Int32Array,
    seen: int,
    s: int,
    t0: int,
) -> int:
    """Raise the counters that the numbers of pairs address, and note those that were 0, with the pair. Returns how
    many are noted now.

    ``lanes``: ``uint16[pieces, tile]``. Written: ``counts`` (``uint32[numbers]``), ``touched`` (``int32[numbers]``)
    and ``pairs`` (``int32[numbers, 2]``), of which ``seen`` were in use.
    """
    low, high = lanes[0], lanes[len(lanes) - 1]
    step = first if len(lanes) > 1 else 0
    for j in range(n):
        i = np.int64(low[j]) + step * np.int64(high[j])
        if counts[i] == _u32(0):
            touched[seen] = np.int32(i)
            pairs[seen, 0], pairs[seen, 1] = s, t0 + j
            seen += 1
        counts[i] += _u32(1)
    return seen


@njit(cache=True, nogil=True)
def _entries(table: Uint64Array, pairs: Int32Array, used: int) -> Any:
    """List the signatures of a table, their counts and their pairs. ``table``: ``uint64[positions, words + 1]``,
    whose last column counts, and ``pairs``: ``int32[positions, 2]``, a pair of each."""
    words = table.shape[1] - 1
    signatures, counts, first = (
        np.empty((used, words), np.uint64),
        np.empty(used, np.int64),
        np.empty((used, 2), np.int32),
    )
    k = 0
    for i in range(len(table)):
        if table[i, words]:
            for w in range(words):
                signatures[k, w] = table[i, w]
            counts[k] = np.int64(table[i, words])
            first[k] = pairs[i]
            k += 1
    return signatures, counts, first


@njit(cache=True, nogil=True)
def compare_listed(cells: Int32Array, how: Comparing, s_rows: Int64Array, t_rows: Int64Array, pages: Pages) -> Pages:
    """Count the signatures of given pairs. Returns the ledger, maybe longer.

    ``cells``: ``int32[rows, columns]``. ``s_rows``, ``t_rows``: ``int64[pairs]``. ``pages`` is written.
    """
    for first in range(0, len(s_rows), BLOCK):
        last = min(first + BLOCK, len(s_rows))
        pages = _count_pairs(cells, how, s_rows[first:last], t_rows[first:last], last - first, pages)
    return pages
