"""The kernels that compare, sample and list pairs of rows, one by one, each beside the obvious loop."""

from itertools import combinations, pairwise, product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rowlaw.kernels import differences, divide, sample, signatures
from rowlaw.rules.outcomes import CODE_BITS, DIFFERENT_CODE, HIGHER_CODE, compare
from rowlaw.stopping import NEVER

I32, I64, U64 = np.int32, np.int64, np.uint64


def columns_of(number, least=0, most=7):
    """Columns of codes, null below 0: ``int32[columns, rows]``."""
    row = st.lists(st.integers(-1, 2), min_size=number, max_size=number)
    return st.lists(row, min_size=least, max_size=most).map(lambda rows: np.array(rows, I32).reshape(-1, number).T)


def outcome(x, y, unknown):
    """How two codes compare, where null is below 0."""
    return compare(None if x < 0 else x, None if y < 0 else y, unknown=unknown)


@given(columns_of(3), st.booleans(), st.tuples(st.booleans(), st.booleans(), st.booleans()))
def test_packed_rows(codes, unknown, ordered):
    n = codes.shape[1]
    # code + 1 in two bits, then the guard bit, then a bit for null where it is unknown
    shift = [0, 4, 8]
    packed = np.zeros((n, 1), U64)
    for column, at in zip(codes, shift, strict=True):
        null = U64(1 << at + 3) if unknown else U64(0)
        sample.pack(np.ascontiguousarray(column), U64(at), null, packed[:, 0])
    for i in range(n):
        fields = [(int(c) + 1) << at | (unknown and c < 0) << at + 3 for c, at in zip(codes[:, i], shift, strict=True)]
        assert int(packed[i, 0]) == sum(fields)

    guards = sum(1 << at + 2 for at in shift)
    in_order = sum(1 << at + 2 for at, o in zip(shift, ordered, strict=True) if o)
    nulls = sum(1 << at + 3 for at in shift) if unknown else 0
    masks = tuple(np.array([mask], U64) for mask in (guards, in_order, nulls))
    pairs = np.array([*product(range(n), repeat=2)], I32).reshape(-1, 2)
    table, used, new, compared = sample.count_pairs(
        packed, 0, masks, pairs[:, 0].copy(), pairs[:, 1].copy(), signatures.new_table(4, 1), 0
    )
    assert compared == n * (n - 1)
    keys, counts = signatures.entries(table, used)
    assert sorted(new[:, 0]) == sorted(keys[:, 0])
    words = np.empty((len(keys), 1), U64)
    sample.signatures_from(keys, np.zeros(3, I64), np.array(shift) + 2, np.array(ordered), np.full(3, unknown), words)

    def signature(s, t):
        codes_of_pair = [int(outcome(int(c[s]), int(c[t]), unknown)) for c in codes]
        plain = [
            DIFFERENT_CODE if c == HIGHER_CODE and not o else c for c, o in zip(codes_of_pair, ordered, strict=True)
        ]
        return sum(c << CODE_BITS * slot for slot, c in enumerate(plain))

    every = [signature(s, t) for s, t in pairs if s != t]
    assert dict(zip(words[:, 0].tolist(), counts.tolist(), strict=True)) == {s: every.count(s) for s in set(every)}

    noted, entries = sample.note(signatures.new_table(4, 1), 0, words, np.arange(3), np.array(ordered), U64(7))
    found, marks = signatures.entries(noted, entries)
    assert set(found[:, 0].tolist()) == set(every), "with its reverse each: all ordered pairs were compared"
    assert set(marks.tolist()) <= {7}


@given(st.lists(st.integers(0, 3), min_size=1, max_size=12), st.integers(0, 2**40), st.integers(0, 3))
def test_partners_are_drawn_by_value(values, seed, strategy):
    field = np.array(values, U64)
    order = np.argsort(field, kind="stable").astype(I32)
    starts = np.searchsorted(field[order], np.arange(5)).astype(I32)
    packed = np.stack([field << U64(3), np.arange(len(values), dtype=U64)], axis=1)
    by_value = np.empty_like(packed)
    sample.sort_by(packed, 0, U64(3), U64(3), starts, by_value)
    assert by_value[:, 1].tolist() == order.tolist()
    rows, out = np.arange(len(values), dtype=I32), np.empty(len(values), I32)
    sample.draw(field, order, starts, strategy, rows, U64(seed), out)
    fits = (int.__eq__, int.__ne__, int.__gt__, int.__lt__)[strategy]
    for row, partner in enumerate(out):
        possible = [t for t in range(len(values)) if fits(values[row], values[t])]
        assert partner in possible if possible else partner == row


def test_every_partner_is_drawn():
    field, order, starts = np.zeros(5, U64), np.arange(5, dtype=I32), np.array([0, 5], I32)
    out = np.empty(500, I32)
    sample.draw(field, order, starts, 0, np.zeros(500, I32), U64(1), out)
    assert set(out.tolist()) == set(range(5))


def facts_of(codes, pairs, unknown):
    """For each difference set, as a set of columns, what it says about keys, dependencies and order."""
    said = {}
    for s, t in pairs:
        outcomes = [outcome(int(c[s]), int(c[t]), unknown).name for c in codes]
        differ = frozenset(c for c, o in enumerate(outcomes) if o != "EQUAL")
        known = {c for c in differ if outcomes[c] != "UNKNOWN"}
        orders = {(a, b, outcomes[a] != outcomes[b]) for a, b in combinations(sorted(known), 2)}
        said.setdefault(differ, set()).update({"key"}, known, orders)
    return said


def read_table(table, columns):
    """The same, as a table has it."""
    words, said = table.sets.shape[1], {}

    def bits(line):
        return {c for c in range(columns) if int(line[c >> 6]) >> (c & 63) & 1}

    for entry in range(int(table.used[0])):
        facts = table.facts[entry]
        here = {"key"} if facts[0] else set()
        here |= bits(facts[1 : 1 + words])
        for way, against in ((0, True), (1, False)):
            for a in range(columns):
                at = 1 + words + (way * columns + a) * words
                here |= {(a, b, against) for b in bits(facts[at : at + words])}
        said[frozenset(bits(table.sets[entry]))] = here
    return said


@given(st.sampled_from((3, 66)).flatmap(columns_of), st.booleans(), st.integers(1, 3))
def test_difference_sets(codes, unknown, parts):
    columns, n = codes.shape
    words = -(-columns // 64)
    pairs = [*combinations(range(n), 2)]
    expected = facts_of(codes, pairs, unknown)

    def empty():
        return differences.new_table(words, 1 + words + 2 * columns * words, room=1)

    stop, merged = np.zeros(1, np.uint8), empty()
    for part in range(parts):
        one = differences.compare_all(np.ascontiguousarray(codes), part, parts, unknown, empty(), 1 << 20, stop)
        used = int(one.used[0])
        merged = differences.merge(merged, one.sets[:used], one.facts[:used])
    assert read_table(merged, columns) == expected
    s, t = (np.array([pair[i] for pair in pairs], I32) for i in range(2))
    listed = differences.compare_listed(np.ascontiguousarray(codes), np.arange(columns), s, t, unknown, empty())
    assert read_table(listed, columns) == expected
    if len(pairs) > 1:
        differences.compare_all(np.ascontiguousarray(codes), 0, 1, unknown, empty(), 1, stop)
        assert stop[0] == 2, "more entries than it may have"


@given(st.lists(st.tuples(st.integers(0, 15), st.integers(0, 7)), max_size=8, unique_by=lambda entry: entry[0]))
def test_minimal_difference_sets(entries):
    entries.sort(key=lambda entry: entry[0].bit_count())
    sets, facts = (np.array([entry[i] for entry in entries], U64).reshape(-1, 1) for i in range(2))
    before = {(s, q) for s, f in entries for q in range(3) if f >> q & 1}
    minimal = {(s, q) for s, q in before if not any(p == q and t != s and t & s == t for t, p in before)}
    kept = differences.keep_minimal(sets, np.bitwise_count(sets[:, 0]).astype(I64), facts, NEVER.flag)
    after = {
        (int(s), q) for s, f in zip(sets[:kept, 0], facts[:kept, 0], strict=True) for q in range(3) if int(f) >> q & 1
    }
    assert after == minimal
    parts = np.array([[0b0011], [0b1000]], U64)
    assert differences.holds_any(sets[:kept], parts).tolist() == [
        int(s) & 0b0011 == 0b0011 or bool(int(s) & 0b1000) for s in sets[:kept, 0]
    ]


@given(st.data(), st.lists(st.sampled_from((divide.ASCENDING, divide.UNEQUAL)), min_size=1, max_size=3))
def test_pairs_by_division(data, kinds):
    """Every pair once, however often it is interrupted and whatever is compared pair by pair."""
    arenas, bounds = [], []
    number = data.draw(st.integers(1, 3))
    for _ in range(2):
        sizes = data.draw(st.lists(st.integers(1, 9), min_size=number, max_size=number))
        line = st.lists(st.integers(0, 5), min_size=sum(sizes), max_size=sum(sizes))
        codes = np.array([data.draw(line) for _ in kinds], I32)
        rows = np.array(data.draw(st.permutations(range(sum(sizes)))), I32)
        arena = np.empty((1 + len(kinds), sum(sizes)), I32)
        arena[0] = rows
        for c, column in enumerate(codes):
            divide.fill(rows, column, I32(-1), I32(5), arena[c + 1])
        assert (arena[1:] == 5 - codes[:, rows]).all()
        arenas.append(arena)
        bounds.append(np.concatenate(([0], np.cumsum(sizes))))
    s, t = (arena.copy() for arena in arenas)

    def satisfies(i, j):
        values = [(s[c + 1, i], t[c + 1, j], kind) for c, kind in enumerate(kinds)]
        return all(a < b if kind == divide.ASCENDING else a != b for a, b, kind in values)

    groups = [product(range(a, b), range(c, d)) for (a, b), (c, d) in zip(*map(pairwise, bounds), strict=True)]
    expected = sorted((int(s[0, i]), int(t[0, j])) for group in groups for i, j in group if satisfies(i, j))
    asked = np.array(kinds, np.int8)
    scan, limit, work = (data.draw(st.sampled_from(some)) for some in ((0, 2, 1 << 30), (1, 5, 1 << 20), (1, 1 << 20)))
    stack, depth, group, listed = np.zeros(2, divide.NODE), 0, 0, []
    s_arena, t_arena = arenas
    while depth or group < number:
        s_rows, s_ends, t_rows, t_ends, s_arena, t_arena, stack, depth, group = divide.divide(
            s_arena, t_arena, stack, depth, *bounds, group, asked, scan, limit, work
        )
        s_parts, t_parts = (np.split(rows, ends[:-1]) for rows, ends in ((s_rows, s_ends), (t_rows, t_ends)))
        listed += [pair for a, b in zip(s_parts, t_parts, strict=True) for pair in product(a.tolist(), b.tolist())]
    assert sorted(listed) == expected

    s_kept, t_kept = divide.narrow(s, s.shape[1], t, t.shape[1], asked)
    inside = {(int(a), int(b)) for a, b in product(s[0, :s_kept], t[0, :t_kept])}
    assert set(expected) <= inside
