"""What pairs of rows say: comparing rows in tiles and counting the distinct outcomes.

Signatures and their table are those of :mod:`rowlaw.kernels.signatures`.

Two tiles of rows are compared one row against many, slot by slot, in 16-bit lanes. Ranges of the tiles' codes say which
outcomes of a slot can occur at all: slots with one possible outcome are left out, the others become digits of a small
mixed-radix number, which addresses a counter. Only when the digits are too many are signatures hashed pair by pair.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rowlaw.kernels.arrays import (
    BoolArray,
    Int16Array,
    Int32Array,
    Int64Array,
    Uint8Array,
    Uint16Array,
    Uint32Array,
    Uint64Array,
)
from rowlaw.kernels.compiling import njit
from rowlaw.kernels.signatures import SLOTS, add, entries, grown, new_table
from rowlaw.rules.outcomes import (
    CODE_BITS,
    CODES,
    DIFFERENT_CODE,
    EQUAL_CODE,
    HIGHER_CODE,
    LOWER_CODE,
    UNKNOWN_CODE,
)

NARROW = 1 << 15  # codes below this are compared in 16-bit lanes
_PIECE = 1 << 16  # values of one 16-bit lane
DIRECT = 1 << 20  # counters addressed directly: two sets of them are 8 MiB, of which few are touched
_DECODED = 1 << 9  # signatures of so many low digits are prepared at a time
_NOTHING = (1 << 31) - 1

_u16, _u32, _u64 = np.uint16, np.uint32, np.uint64
_MIX = _u64(0x9E3779B97F4A7C15)


@njit(cache=True, nogil=True)
def ranges(codes: Int32Array, tile: int, nulls: bool, low: Int32Array, high: Int32Array, unknown: BoolArray) -> None:
    """Find the lowest and the highest code of each tile of a column; with ``nulls``, nulls are marked and not
    counted.

    ``codes``: ``int32[rows]``. Written: ``low``, ``high`` (``int32[tiles]``) and ``unknown`` (``bool[tiles]``,
    whether the tile has a null).
    """
    for k in range(len(low)):
        least, most = np.int32(_NOTHING), np.int32(-_NOTHING)
        for i in range(k * tile, min((k + 1) * tile, len(codes))):
            if nulls and codes[i] < 0:
                unknown[k] = True
            else:
                least, most = min(least, codes[i]), max(most, codes[i])
        low[k], high[k] = least, most


@njit(cache=True, nogil=True)
def _outcomes(
    ordered: BoolArray,
    left: Int64Array,
    right: Int64Array,
    low: Int32Array,
    high: Int32Array,
    unknown: BoolArray,
    a: int,
    b: int,
    possible: BoolArray,
) -> None:
    """Find the outcomes that each slot can have for rows ``s`` of tile ``a`` and ``t`` of tile ``b``.

    ``ordered``: ``bool[slots]``. ``left``, ``right``: ``int64[slots]``, the columns compared. ``low``, ``high``:
    ``int32[columns, tiles]`` and ``unknown``: ``bool[columns, tiles]``, as :func:`ranges` writes them.
    ``possible``: ``bool[slots, CODES]``, written.
    """
    for c in range(len(left)):
        s_low, s_high = low[left[c], a], high[left[c], a]
        t_low, t_high = low[right[c], b], high[right[c], b]
        less, greater = s_low < t_high, s_high > t_low
        possible[c, EQUAL_CODE] = max(s_low, t_low) <= min(s_high, t_high)
        possible[c, LOWER_CODE] = less or (greater and not ordered[c])
        possible[c, HIGHER_CODE] = greater and ordered[c]
        possible[c, UNKNOWN_CODE] = unknown[left[c], a] or unknown[right[c], b]


@njit(cache=True, nogil=True)
def _number(
    possible: BoolArray,
    ordered: BoolArray,
    active: Int64Array,
    radix: Int64Array,
    digit: Int64Array,
    fixed: Uint64Array,
) -> Any:
    """Number the outcomes of the slots that can vary. Returns how many slots these are, and how many combinations
    of digits there are.

    ``possible``: ``bool[slots, CODES]``. ``ordered``: ``bool[slots]``. Written: ``active`` (``int64[slots]``: the
    slots that can vary), ``radix`` (``int64[slots]``: the digits of each), ``digit`` (``int64[slots, CODES]``: the
    digit of each outcome) and ``fixed`` (``uint64[words]``: the bits of all other slots).
    """
    for w in range(len(fixed)):
        fixed[w] = _u64(0)
    n = 0
    total = 1.0
    for c in range(len(possible)):
        ways, only = 0, 0
        for outcome in range(CODES):
            if possible[c, outcome]:
                ways += 1
                only = outcome
        if ways < 2:
            fixed[c // SLOTS] |= _u64(only) << _u64(CODE_BITS * (c % SLOTS))
            continue
        next_digit = 1  # equality is 0, possible or not: comparisons add to it
        for outcome in range(EQUAL_CODE + 1, CODES):
            digit[c, outcome] = 0
            if possible[c, outcome]:
                digit[c, outcome] = next_digit
                next_digit += 1
        if not ordered[c]:
            digit[c, HIGHER_CODE] = digit[c, DIFFERENT_CODE]
        active[n], radix[n] = c, next_digit
        total *= next_digit
        n += 1
    return n, total


@njit(cache=True, nogil=True)
def _spread(
    active: Int64Array, radix: Int64Array, digit: Int64Array, possible: BoolArray, words: int, most: int
) -> Any:
    """Make the signature bits of every number made of the first slots' digits, the first slot lowest.

    ``active``: ``int64[n]``, the slots that can vary. ``radix``: ``int64[n]``. ``digit``: ``int64[slots, CODES]``.
    ``possible``: ``bool[slots, CODES]``. Returns at most ``most`` rows of bits (``uint64[numbers, words]``), and of
    how many slots they are.
    """
    total, slots = 1, 0
    while slots < len(active) and total * radix[slots] <= most:
        total *= radix[slots]
        slots += 1
    spread = np.zeros((total, words), np.uint64)
    size = 1
    for k in range(slots):
        c = active[k]
        word, shift = c // SLOTS, _u64(CODE_BITS * (c % SLOTS))
        for outcome in range(EQUAL_CODE + 1, CODES):
            if possible[c, outcome]:
                at = size * digit[c, outcome]
                for i in range(size):
                    for w in range(words):
                        spread[at + i, w] = spread[i, w]
                    spread[at + i, word] |= _u64(outcome) << shift
        size *= radix[k]
    return spread, slots


@njit(cache=True, nogil=True)
def _steps(
    active: Int64Array,
    radix: Int64Array,
    digit: Int64Array,
    direct: bool,
    ordered: BoolArray,
    piece: Int64Array,
    less: Uint16Array,
    greater: Uint16Array,
    missing: Uint16Array,
) -> Any:
    """Write what each comparison adds to which 16-bit piece. Returns the pieces in use, and the numbers that the
    first one counts.

    ``active``: ``int64[n]``, the slots that can vary. ``radix``: ``int64[n]``. ``digit``: ``int64[slots, CODES]``.
    ``ordered``: ``bool[slots]``. Written: ``piece`` (``int64[slots]``), ``less``, ``greater`` (``uint16[slots]``)
    and ``missing`` (``uint16[slots]``: what an unknown adds to *greater*). Null is -1, so a null of ``t`` alone
    compares as *greater*, and a null of ``s`` can be made to (see :func:`_compare`).
    """
    at, weight, first = 0, 1, 1
    for k in range(len(active)):
        c = active[k]
        if direct:
            if weight * radix[k] > _PIECE:
                first, at, weight = weight, 1, 1
            piece[k] = at
            less[k], greater[k] = weight * digit[c, LOWER_CODE], weight * digit[c, HIGHER_CODE]
            missing[k] = weight * (digit[c, UNKNOWN_CODE] - digit[c, HIGHER_CODE])
            weight *= radix[k]
        else:
            piece[k] = c // 8
            shift, higher = CODE_BITS * (c % 8), HIGHER_CODE if ordered[c] else DIFFERENT_CODE
            less[k] = LOWER_CODE << shift
            greater[k] = higher << shift
            missing[k] = (UNKNOWN_CODE - higher) << shift
    return (at + 1, first) if at else (1, 1)


@njit(cache=True, nogil=True)
def _compare(
    narrow: Int16Array,
    wide: Int32Array,
    place: Int64Array,
    left: Int64Array,
    right: Int64Array,
    s: int,
    t0: int,
    t1: int,
    active: Int64Array,
    steps: Any,
    start: Uint16Array,
    lanes: Uint16Array,
) -> None:
    """Compare row ``s`` with rows ``t0 .. t1``: add up what their comparisons add, from ``start``, in ``lanes`` of
    16 bits.

    ``narrow``: ``int16[columns, rows]`` and ``wide``: ``int32[wide columns, rows]``, the codes; ``place``:
    ``int64[columns]``, the line of a column in ``wide``, -1 if it is in ``narrow``. ``left``, ``right``:
    ``int64[slots]``, the columns compared. ``active``: ``int64[n]``, the slots that can vary. ``steps``: the arrays
    ``piece``, ``less``, ``greater`` and ``missing`` of :func:`_steps`, and ``possible``. ``start``:
    ``uint16[pieces, tile]``. ``lanes``: ``uint16[pieces, tile]``, written.
    """
    piece, less, greater, missing, possible = steps
    n = t1 - t0
    for p in range(len(lanes)):
        out, begin = lanes[p], start[p]
        for j in range(n):
            out[j] = begin[j]
    for k in range(len(active)):
        c = active[k]
        a, b, out = left[c], right[c], lanes[piece[k]]
        more, less_more = greater[k], less[k]
        x = wide[place[a], s] if place[a] >= 0 else np.int32(narrow[a, s])
        if possible[c, UNKNOWN_CODE] and x < 0:
            less_more = missing[k]
            for j in range(n):
                out[j] += more
        if place[b] < 0:
            y, z = narrow[b, t0:t1], np.int16(min(x, np.int32(NARROW - 1)))
            for j in range(n):
                out[j] += (less_more if y[j] > z else _u16(0)) + (more if y[j] < z else _u16(0))
        else:
            v = wide[place[b], t0:t1]
            for j in range(n):
                out[j] += (less_more if v[j] > x else _u16(0)) + (more if v[j] < x else _u16(0))


@njit(cache=True, nogil=True)
def _count_direct(lanes: Uint16Array, n: int, first: int, counts: Uint32Array) -> None:
    """Count the numbers of ``n`` pairs.

    ``lanes``: ``uint16[pieces, tile]``; the second piece counts ``first`` each. ``counts``: ``uint32[2 *
    numbers]``, written: two sets of counters, side by side, because neighbours are often alike, and one counter
    cannot be raised twice at once.
    """
    half = n // 2
    low = lanes[0]
    if len(lanes) == 1:
        for j in range(half):
            counts[2 * np.int64(low[j])] += _u32(1)
            counts[2 * np.int64(low[j + half]) + 1] += _u32(1)
        if n % 2:
            counts[2 * np.int64(low[n - 1])] += _u32(1)
    else:
        high = lanes[1]
        for j in range(half):
            counts[2 * (np.int64(low[j]) + first * np.int64(high[j]))] += _u32(1)
            counts[2 * (np.int64(low[j + half]) + first * np.int64(high[j + half])) + 1] += _u32(1)
        if n % 2:
            counts[2 * (np.int64(low[n - 1]) + first * np.int64(high[n - 1]))] += _u32(1)


@njit(cache=True, nogil=True)
def _count_weighted(
    lanes: Uint16Array, n: int, first: int, weight: int, weights: Int64Array, counts: Uint64Array
) -> None:
    """Count as :func:`_count_direct`, each pair as often as its rows occur (``weights``: ``int64[n]``); ``counts`` is
    ``uint64[numbers]``."""
    low, high = lanes[0], lanes[len(lanes) - 1]
    step = first if len(lanes) > 1 else 0
    for j in range(n):
        counts[np.int64(low[j]) + step * np.int64(high[j])] += _u64(weight * weights[j])


@njit(cache=True, nogil=True)
def _count_hashed(
    lanes: Uint16Array, n: int, fixed: Uint64Array, weight: int, weights: Int64Array, table: Uint64Array
) -> int:
    """Count the signatures of ``n`` pairs one by one. Returns how many are new.

    ``lanes``: ``uint16[pieces, tile]``. ``fixed``: ``uint64[words]``. ``weights``: ``int64[n]``. ``table``:
    ``uint64[capacity, words + 1]``, written.
    """
    new, words = 0, len(fixed)
    signature = np.empty(words, np.uint64)
    for j in range(n):
        for w in range(words):
            signature[w] = fixed[w]
        for p in range(len(lanes)):
            signature[p // 4] |= _u64(lanes[p, j]) << _u64(16 * (p % 4))
        new += add(table, signature, _u64(weight * weights[j]))
    return new


@njit(cache=True, nogil=True)
def _count_hashed_word(
    lanes: Uint16Array, n: int, fixed: Uint64Array, weight: int, weights: Int64Array, table: Uint64Array
) -> int:
    """Count as :func:`_count_hashed`, for signatures of one word."""
    new, mask = 0, np.int64(len(table) - 1)
    for j in range(n):
        signature = fixed[0]
        for p in range(len(lanes)):
            signature |= _u64(lanes[p, j]) << _u64(16 * p)
        i = np.int64(signature * _MIX >> _u64(32)) & mask
        while table[i, 1] and table[i, 0] != signature:
            i = (i + 1) & mask
        if not table[i, 1]:
            table[i, 0] = signature
            new += 1
        table[i, 1] += _u64(weight * weights[j])
    return new


@njit(cache=True, nogil=True)
def _flush(
    both: Uint64Array,
    weighted: Uint64Array,
    plain: bool,
    low_bits: Uint64Array,
    high_bits: Uint64Array,
    fixed: Uint64Array,
    table: Uint64Array,
    used: int,
) -> Any:
    """Move the counters to the table, and set them to 0. Returns the table and how many signatures it has.

    ``both``: ``uint64[numbers]``, which sees two counters of 32 bits as one, or ``weighted``: ``uint64[numbers]``;
    one of them is read and written. ``low_bits``, ``high_bits``: ``uint64[n, words]``, as :func:`_spread` makes
    them. ``fixed``: ``uint64[words]``. ``table``: ``uint64[capacity, words + 1]``, written.
    """
    size, words = len(low_bits), len(fixed)
    signature = np.empty(words, np.uint64)
    counters = both if plain else weighted
    for i in range(len(high_bits)):
        while 2 * (used + size) > len(table):
            table = grown(table)
        for j in range(size):
            count = counters[i * size + j]
            if count:
                counters[i * size + j] = _u64(0)
                if plain:
                    count = (count >> _u64(32)) + (count & _u64(0xFFFFFFFF))
                for w in range(words):
                    signature[w] = fixed[w] | low_bits[j, w] | high_bits[i, w]
                used += add(table, signature, count)
    return table, used


@njit(cache=True, nogil=True)
def _starts(
    wide: Int32Array,
    narrow: Int16Array,
    place: Int64Array,
    right: Int64Array,
    t0: int,
    t1: int,
    active: Int64Array,
    steps: Any,
    start: Uint16Array,
) -> None:
    """Write what the nulls of the rows ``t0 .. t1`` add, whatever the row ``s``.

    ``narrow``: ``int16[columns, rows]`` and ``wide``: ``int32[wide columns, rows]``, the codes; ``place``:
    ``int64[columns]``, the line of a column in ``wide``, -1 if it is in ``narrow``. ``right``: ``int64[slots]``,
    the columns of ``t``. ``active``: ``int64[n]``, the slots that can vary. ``steps``: the arrays ``piece``,
    ``less``, ``greater`` and ``missing`` of :func:`_steps`, and ``possible``. ``start``: ``uint16[pieces, tile]``,
    written.
    """
    piece, _, _, missing, possible = steps
    for p in range(len(start)):
        for j in range(t1 - t0):
            start[p, j] = _u16(0)
    for k in range(len(active)):
        if possible[active[k], UNKNOWN_CODE]:
            b = right[active[k]]
            for j in range(t1 - t0):
                null = narrow[b, t0 + j] < 0 if place[b] < 0 else wide[place[b], t0 + j] < 0
                if null:
                    start[piece[k], j] += missing[k]


@njit(cache=True, nogil=True)
def count_tiles(
    pairs: Int64Array,
    tile: int,
    most: int,
    narrow: Int16Array,
    wide: Int32Array,
    place: Int64Array,
    left: Int64Array,
    right: Int64Array,
    ordered: BoolArray,
    bounds: Any,
    weights: Int64Array,
    single: BoolArray,
    stop: Uint8Array,
) -> Any:
    """Count the signatures of rows ``s < t`` for pairs of tiles; of some pairs only once ``stop[0]`` is set.

    ``pairs``: ``int64[pairs, 2]``, tiles. ``narrow``: ``int16[columns, rows]`` and ``wide``: ``int32[wide columns,
    rows]``, the codes; ``place``: ``int64[columns]``, the line of a column in ``wide``, -1 if it is in ``narrow``.
    ``left``, ``right``: ``int64[slots]``, the columns compared. ``ordered``: ``bool[slots]``. ``bounds``: ``low``,
    ``high`` and ``unknown``, each ``[columns, tiles]``, as :func:`ranges` writes them. ``weights``:
    ``int64[rows]``, how often each row occurs. ``single``: ``bool[tiles]``, whether all weights of a tile are 1.
    ``stop``: ``uint8[1]``. At most ``most`` counters are addressed directly. Returns the signatures (``uint64[n,
    words]``) and their counts (``int64[n]``).
    """
    low, high, unknown = bounds
    rows, slots = narrow.shape[1], len(left)
    words = max(1, (slots + SLOTS - 1) // SLOTS)
    table, used = new_table(1 << 12, words), 0
    possible, digit = np.zeros((slots, CODES), np.bool_), np.zeros((slots, CODES), np.int64)
    all_active, all_radix, all_piece = np.empty(slots, np.int64), np.empty(slots, np.int64), np.empty(slots, np.int64)
    all_less, all_greater, all_missing = (
        np.empty(slots, np.uint16),
        np.empty(slots, np.uint16),
        np.empty(slots, np.uint16),
    )
    all_start = np.zeros((max(2, (slots + 7) // 8), tile), np.uint16)
    all_lanes, fixed = np.zeros_like(all_start), np.zeros(words, np.uint64)
    counts, weighted = np.zeros(2 * most, np.uint32), np.zeros(0, np.uint64)
    both = counts.view(np.uint64)
    for q in range(len(pairs)):
        if stop[0]:
            break
        a, b = pairs[q, 0], pairs[q, 1]
        _outcomes(ordered, left, right, low, high, unknown, a, b, possible)
        n, total = _number(possible, ordered, all_active, all_radix, digit, fixed)
        direct, plain = total <= most, single[a] and single[b]
        active, radix = all_active[:n], all_radix[:n]
        pieces, first = _steps(active, radix, digit, direct, ordered, all_piece, all_less, all_greater, all_missing)
        steps = (all_piece, all_less, all_greater, all_missing, possible)
        pieces = pieces if direct else (slots + 7) // 8
        lanes, start = all_lanes[:pieces], all_start[:pieces]
        t1 = min((b + 1) * tile, rows)
        _starts(wide, narrow, place, right, b * tile, t1, active, steps, start)
        if direct and not plain and len(weighted) == 0:
            weighted = np.zeros(most, np.uint64)
        for s in range(a * tile, min((a + 1) * tile, rows)):
            t0 = max(b * tile, s + 1)
            if t0 >= t1:
                break
            _compare(narrow, wide, place, left, right, s, t0, t1, active, steps, start[:, t0 - b * tile :], lanes)
            if direct and plain:
                _count_direct(lanes, t1 - t0, first, counts)
            elif direct:
                _count_weighted(lanes, t1 - t0, first, weights[s], weights[t0:t1], weighted)
            else:
                while 2 * (used + t1 - t0) > len(table):
                    table = grown(table)
                if words == 1:
                    used += _count_hashed_word(lanes, t1 - t0, fixed, weights[s], weights[t0:t1], table)
                else:
                    used += _count_hashed(lanes, t1 - t0, fixed, weights[s], weights[t0:t1], table)
        if direct:
            low_bits, cut = _spread(active, radix, digit, possible, words, _DECODED)
            high_bits, _ = _spread(active[cut:], radix[cut:], digit, possible, words, most)
            table, used = _flush(both, weighted, plain, low_bits, high_bits, fixed, table, used)
    return entries(table, used)
