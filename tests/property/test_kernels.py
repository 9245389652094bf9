"""Kernels one by one, each beside the obvious loop that says the same."""

from itertools import combinations, groupby, pairwise, permutations, product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rowlaw.kernels import (
    cells,
    dependence,
    dominance,
    evidence,
    groups,
    kinds,
    levels,
    pairs,
    partitions,
    power,
    signatures,
    witness,
)
from rowlaw.kernels.sort import sort_keys
from rowlaw.rules.outcomes import EQUAL_BIT, HIGHER_BIT, LOWER_BIT
from rowlaw.search import edges as edge_kernels
from rowlaw.search.approximate import enumerate_approximate
from rowlaw.stopping import NEVER

I32, I64 = np.int32, np.int64
NO_TALLY = np.zeros(0, np.uint32)


@st.composite
def sides(draw, starts_type=I64, least=1):
    """Rows laid out group after group: the arrays, and the groups as lists."""
    sizes = draw(st.lists(st.integers(least, 5), max_size=4))
    rows = draw(st.permutations(range(sum(sizes))))
    starts = np.concatenate(([0], np.cumsum(sizes, dtype=int)))
    listed = [rows[a:b] for a, b in pairwise(starts)]
    return np.array(rows, I32), starts.astype(starts_type), listed


def codes_of(draw, n, low=0, high=3):
    return np.array(draw(st.lists(st.integers(low, high), min_size=n, max_size=n)), I32)


def tally_of(n, found):
    expected = [0] * n
    for s, t in found:
        expected[s] += 1
        expected[t] += 1
    return expected


@given(st.data())
def test_products_and_inequalities(data):
    rows, starts, listed = data.draw(sides())
    n = len(rows)
    tally = np.zeros(n, np.uint32)
    found = [pair for group in listed for pair in product(group, group)]
    assert groups.count_products(rows, starts, rows, starts, 1, tally) == len(found)
    assert tally.tolist() == tally_of(n, found)

    a = codes_of(data.draw, n)
    ordered = np.concatenate(
        [np.array(sorted(group, key=lambda r: a[r]), I32) for group in listed] or [np.zeros(0, I32)]
    )
    values = a[ordered]
    tally = np.zeros(n, np.uint32)
    found = [(s, t) for group in listed for s, t in product(group, group) if a[s] < a[t]]
    assert groups.count_below(ordered, starts, ordered, starts, values, values, 1, tally) == len(found)
    assert tally.tolist() == tally_of(n, found)
    tally = np.zeros(n, np.uint32)
    unlike = [(s, t) for group in listed for s, t in permutations(group, 2) if a[s] != a[t]]
    assert groups.count_unlike(ordered, starts, values, tally) == len(unlike)
    assert tally.tolist() == tally_of(n, unlike)


@given(st.data())
def test_ascents_and_dominance(data):
    rows, starts, listed = data.draw(sides())
    n, values = len(rows), codes_of(data.draw, len(rows))
    position = {int(row): i for i, row in enumerate(rows)}
    found = [(s, t) for group in listed for s, t in combinations(group, 2) if values[position[s]] < values[position[t]]]
    for kernel, more in ((dominance.count_ascents, ()), (dominance.count_ascents_narrow, (4,))):
        tally = np.zeros(n, np.uint32)
        assert kernel(rows, starts, values, *more, 1, tally) == len(found)
        assert tally.tolist() == tally_of(n, found)
        assert kernel(rows, starts, values, *more, -1, NO_TALLY) == -len(found)
    x, y, z = (codes_of(data.draw, n) for _ in range(3))
    ordered = np.concatenate(
        [np.array(sorted(group, key=lambda r: y[r]), I32) for group in listed] or [np.zeros(0, I32)]
    )
    points = np.stack([x[ordered], y[ordered], z[ordered]])
    tally = np.zeros(n, np.uint32)
    found = [
        (s, t) for group in listed for s, t in product(group, group) if x[s] < x[t] and y[s] < y[t] and z[s] < z[t]
    ]
    assert dominance.count_dominated(ordered, starts, ordered, starts, points, points, 1, tally) == len(found)
    assert tally.tolist() == tally_of(n, found)


@given(st.data())
def test_keys_and_groups(data):
    rows, starts, listed = data.draw(sides())
    codes = codes_of(data.draw, len(rows), low=-1)
    keys = np.zeros(len(rows), np.uint32)
    groups.group_numbers(starts, keys)
    assert keys.tolist() == [g for g, group in enumerate(listed) for _ in group]
    groups.extend_keys(keys, rows, codes, np.uint32(5), False)
    expected = {}
    for g, group in enumerate(listed):
        for row in group:
            expected.setdefault((g, int(codes[row])), []).append(row)
    ordered, order = sort_keys(keys, 32)
    out = np.empty(len(rows), I32)
    kept, bounds = groups.stripped(ordered, order, rows, np.uint32(1), out, np.uint32(1), np.zeros(0, I32))
    found = [sorted(kept[a:b].tolist()) for a, b in pairwise(bounds)]
    assert found == [sorted(group) for _, group in sorted(expected.items()) if len(group) > 1]
    assert sorted(groups.first_two(ordered, order, rows).tolist()) == sorted(
        r for _, g in expected.items() for r in g[:2]
    )


@given(st.data())
def test_cells(data):
    keys = np.array(data.draw(st.lists(st.integers(0, 4), max_size=12)), np.uint32)
    rows, codes = np.arange(len(keys), dtype=I32), codes_of(data.draw, len(keys))
    counts = np.zeros(5, np.uint32)
    cells.cell_counts(keys, counts)
    assert counts.tolist() == [keys.tolist().count(k) for k in range(5)]
    assert cells.sum_products(counts, counts) == sum(int(c) ** 2 for c in counts)
    taken = np.zeros(len(keys), np.uint32)
    cells.take_cells(keys, counts, rows, taken)
    assert taken.tolist() == [counts[k] for k in keys]
    first, sizes, like = np.full(5, -2, I32), np.zeros(5, I32), np.zeros(5, I32)
    odd = np.empty(len(keys), I32)
    number = cells.first_codes(keys, rows, codes, first, sizes, like, odd)
    odd = odd[:number]
    assert odd.tolist() == [i for i in rows if codes[i] != codes[next(j for j in rows if keys[j] == keys[i])]]
    runs = np.array([sum(keys[j] == keys[i] and codes[j] == codes[i] for j in rows) for i in odd], I64)
    tally = np.zeros(len(keys), np.uint32)
    found = [(s, t) for s, t in permutations(rows.tolist(), 2) if keys[s] == keys[t] and codes[s] != codes[t]]
    assert cells.count_exceptions(keys, rows, codes, first, sizes, like, odd, runs, tally) == len(found)
    assert tally.tolist() == tally_of(len(keys), found)


@given(st.data())
def test_kinds(data):
    # group, x and y, each below 2, 3 and 3
    keys = np.array(data.draw(st.lists(st.integers(0, 17), max_size=14)), np.uint32)
    found, weights, numbers = np.empty(len(keys) + 1, np.uint32), np.empty(len(keys) + 1, I32), np.empty(len(keys), I32)
    number = kinds.number_kinds(keys, found, weights, numbers)
    assert found[numbers].tolist() == keys.tolist()
    assert weights[:number].tolist() == [keys.tolist().count(k) for k in found[:number]]
    order = np.argsort(found[:number])
    for weak_x, weak_y in product((False, True), repeat=2):
        each = np.empty(number, I64)
        total = kinds.pairs_of_kinds(found[:number][order], weights[:number][order], 3, 3, weak_x, weak_y, each)

        def below(a, b, weak):
            return a <= b if weak else a < b

        count = [0] * len(keys)
        for s, t in permutations(range(len(keys)), 2):
            (g, x, y), (h, v, w) = ((int(k) // 9, int(k) // 3 % 3, int(k) % 3) for k in (keys[s], keys[t]))
            if g == h and below(x, v, weak_x) and below(y, w, weak_y):
                count[s] += 1
                count[t] += 1
        assert total == sum(count) // 2
        by_key = dict(zip(found[:number][order].tolist(), each.tolist(), strict=True))
        assert [by_key[int(k)] for k in keys] == count


@given(st.data(), st.booleans())
def test_partitions(data, unknown):
    rows, starts, listed = data.draw(sides(I32, least=2))
    n = len(rows)
    a, b = codes_of(data.draw, n, low=-1), codes_of(data.draw, n, low=-1)
    place = np.zeros(5, I32)

    def known(row, *columns):
        return not unknown or all(c[row] >= 0 for c in columns)

    kept, bounds = partitions.refine(rows, starts, a, unknown, place, 1 << 20)
    found = sorted(kept[i:j].tolist() for i, j in pairwise(bounds))
    expected = []
    for group in listed:
        whole = sorted((r for r in group if known(r, a)), key=lambda r: a[r])
        expected += [
            [r for r in group if r in same]
            for same in (list(g) for _, g in groupby(whole, key=lambda r: a[r]))
            if len(same) > 1
        ]
    assert found == sorted(expected)
    assert not place.any()
    order = partitions.ordered(a, place)
    assert order.tolist() == sorted(range(n), key=lambda r: a[r])
    by_group = partitions.arrange(rows, starts, a, order, np.full(n, -1, I32))
    one_by_one = partitions.arrange(rows, starts, a, order[:0], np.full(n, -1, I32))
    for laid in (by_group, one_by_one):
        assert [a[laid[i:j]].tolist() for i, j in pairwise(starts)] == [sorted(a[g].tolist()) for g in listed]
    some = np.empty((len(listed) + 1, 2), I32)
    number = partitions.unequal(rows, starts, a, unknown, some)
    assert number == sum(
        any(a[s] != a[t] and known(s, a) and known(t, a) for s, t in combinations(g, 2)) for g in listed
    )
    assert all(a[s] != a[t] for s, t in some[:number])
    removed = sum(
        len([r for r in g if known(r, a)])
        - max([0, *(sum(a[r] == v and known(r, a) for r in g) for v in range(-1, 4))])
        for g in listed
    )
    assert partitions.removed_for_equal(rows, starts, a, unknown, place) == removed
    for sign in (1, -1):
        fewest = 0
        for group in listed:
            inside = [r for r in group if known(r, a, b)]
            fewest += min(
                len(inside) - size
                for size in range(len(inside) + 1)
                for some_rows in combinations(inside, size)
                if not any(a[s] < a[t] and sign * b[s] > sign * b[t] for s, t in permutations(some_rows, 2))
            )
        assert partitions.removed_for_order(rows, starts, a, b, sign, unknown) == fewest


@given(st.data(), st.booleans())
def test_levels(data, unknown):
    rows, starts, listed = data.draw(sides(I32, least=2))
    codes = np.stack([codes_of(data.draw, len(rows), low=-1) for _ in range(2)])
    by_value = np.stack([np.argsort(c, kind="stable").astype(I32) for c in codes])
    answers = np.empty(2, np.uint8)
    levels.constants(rows, starts, codes, np.arange(2), unknown, answers)
    for column, answer in zip(codes, answers, strict=True):
        broken = any(
            column[s] != column[t] and not (unknown and min(column[s], column[t]) < 0)
            for g in listed
            for s, t in combinations(g, 2)
        )
        assert (answer == levels.BROKEN) == broken
    levels.orders(rows, starts, codes, by_value, np.array([[0, 1, 0], [0, 1, 1]]), unknown, answers)
    a, b = codes
    for sign, answer in zip((1, -1), answers, strict=True):
        swapped = any(
            a[s] < a[t] and sign * b[s] > sign * b[t] and not (unknown and min(a[s], a[t], b[s], b[t]) < 0)
            for g in listed
            for s, t in permutations(g, 2)
        )
        assert (answer == levels.BROKEN) == swapped


@given(st.data())
def test_cuts_and_witnesses(data):
    rows, starts, listed = data.draw(sides())
    n = len(rows)
    a = codes_of(data.draw, n)
    ordered = np.concatenate(
        [np.array(sorted(group, key=lambda r: a[r]), I32) for group in listed] or [np.zeros(0, I32)]
    )
    values = a[ordered]
    for kernel, holds in ((pairs.cut_below, np.less), (pairs.cut_unequal, np.not_equal)):
        found, group, place = [], 0, 0
        while group < len(starts) - 1:
            ranges, group, place = kernel(starts, starts, values, values, group, place, 3)
            (s_rows, s_starts), (t_rows, t_starts) = pairs.gather(ranges, ordered, 0), pairs.gather(ranges, ordered, 2)
            for k in range(len(ranges)):
                found += product(
                    s_rows[s_starts[k] : s_starts[k + 1]].tolist(), t_rows[t_starts[k] : t_starts[k + 1]].tolist()
                )
        assert sorted(found) == sorted((s, t) for g in listed for s, t in product(g, g) if holds(a[s], a[t]))
    written, group, place = [], 0, 0
    while group < len(starts) - 1:
        s_out, t_out, group, place = pairs.write_pairs(rows, starts, rows, starts, group, place, 4)
        written += zip(s_out.tolist(), t_out.tolist(), strict=True)
    assert sorted(written) == sorted(pair for g in listed for pair in permutations(g, 2))
    masks = np.array([LOWER_BIT | EQUAL_BIT, HIGHER_BIT], I64)
    b = codes_of(data.draw, n)
    both = np.stack([a[rows], b[rows]])
    expected = {(s, t) for g in listed for s, t in permutations(g, 2) if a[s] <= a[t] and b[s] > b[t]}
    tally = np.zeros(n, np.uint32)
    assert witness.count_scanned(rows, starts, rows, starts, both, both, masks, tally) == len(expected)
    assert tally.tolist() == tally_of(n, expected)
    some = np.empty((len(expected) + 1, 2), I32)
    number = witness.scan(rows, starts, rows, starts, both, both, masks, 1 << 20, some)
    assert {tuple(pair) for pair in some[:number].tolist()} == expected


@given(st.data())
def test_dependence(data):
    group_of = codes_of(data.draw, data.draw(st.integers(0, 12)), low=-1)
    codes = codes_of(data.draw, len(group_of), low=-1)
    order, starts = np.empty(len(group_of), I32), np.empty(5, I64)
    dependence.grouped(group_of, 4, order, starts)
    listed = [order[i:j].tolist() for i, j in pairwise(starts)]
    assert listed == [[i for i in range(len(group_of)) if group_of[i] == g] for g in range(4)]
    counts = np.zeros(4, I32)
    rows, number, removed, squares, *_ = dependence.agreement(order, starts, codes, counts, 2, 1)
    known = [[codes[i] for i in g if codes[i] >= 0] for g in listed]
    tallies = [[g.count(v) for v in set(g)] for g in known if g]
    assert (rows, number, removed) == (sum(map(len, known)), len(tallies), sum(sum(t) - max(t) for t in tallies))
    assert np.isclose(squares, sum(sum(c * c for c in t) / sum(t) for t in tallies))
    assert not counts.any()


@given(
    st.lists(st.lists(st.integers(0, 3), max_size=5), max_size=4),
    st.lists(st.integers(0, 15), max_size=4),
    st.lists(st.integers(1, 3), min_size=20, max_size=20),
)
def test_errors(listed, rules, often):
    """``often`` says how often each edge given occurs."""
    edges = np.array([e for error in listed for e in error], np.uint64).reshape(-1, 1)
    starts = np.concatenate(([0], np.cumsum([len(error) for error in listed], dtype=int)))
    kept, counts, ends = np.empty_like(edges), np.empty(len(edges), I32), np.empty(len(listed), I64)
    number = power.distinct_edges(edges, np.array(often[: len(edges)], I32), starts, kept, counts, ends)
    again = iter(often)
    listed = [[edge for edge in error for _ in range(next(again))] for error in listed]
    for e, error in enumerate(listed):
        begin = ends[e - 1] if e else 0
        assert dict(zip(kept[begin : ends[e], 0].tolist(), counts[begin : ends[e]].tolist(), strict=True)) == {
            v: error.count(v) for v in set(error)
        }
    out = np.zeros((len(rules), len(listed)), I32)
    most, asked = np.full(len(rules), 100, I32), np.ones(out.shape, np.bool_)
    power.violations(
        np.array(rules, np.uint64).reshape(-1, 1), most, kept[:number], counts[:number], ends, asked, NEVER.flag, out
    )
    assert out.tolist() == [[sum(not rule & edge for edge in error) for error in listed] for rule in rules]


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2), st.integers(1, 9)), max_size=40))
def test_table_of_signatures(added):
    table, used, expected = signatures.new_table(4, 2), 0, {}
    for low, high, count in added:
        if 2 * (used + 1) > len(table):
            table = signatures.grown(table)
        used += signatures.add(table, np.array([low, high], np.uint64), np.uint64(count))
        expected[low, high] = expected.get((low, high), 0) + count
    found, counts = signatures.entries(table, used)
    assert dict(zip(map(tuple, found.tolist()), counts.tolist(), strict=True)) == expected


@given(st.lists(st.integers(-1, 4), max_size=9), st.integers(1, 4), st.booleans())
def test_ranges_of_tiles(codes, tile, nulls):
    tiles = -(-len(codes) // tile)
    low, high, unknown = np.zeros(tiles, I32), np.zeros(tiles, I32), np.zeros(tiles, np.bool_)
    evidence.ranges(np.array(codes, I32), tile, nulls, low, high, unknown)
    for k in range(tiles):
        part = [c for c in codes[k * tile : (k + 1) * tile] if not nulls or c >= 0]
        assert unknown[k] == (nulls and -1 in codes[k * tile : (k + 1) * tile])
        if part:
            assert (low[k], high[k]) == (min(part), max(part))


@given(st.lists(st.integers(0, 31), max_size=8), st.lists(st.integers(0, 31), max_size=6))
def test_edges(edges, sets):
    some = np.array(sorted(set(edges), key=int.bit_count), np.uint64).reshape(-1, 1)
    sizes = np.bitwise_count(some).sum(axis=1, dtype=I64)
    lines, wanted = some.copy(), np.array(sets, np.uint64).reshape(-1, 1)
    for times in range(3):
        first = edge_kernels.first_hit(some, wanted, times)
        assert first.tolist() == [
            next((i for i, e in enumerate(some[:, 0]) if (int(e) & s).bit_count() == times), -1) for s in sets
        ]
    kept = edge_kernels.drop_supersets(lines, sizes, 1 << 20)
    minimal = [e for e in some[:, 0].tolist() if not any(f != e and f & e == f for f in some[:, 0].tolist())]
    assert sorted(lines[:kept, 0].tolist()) == sorted(minimal)


@given(st.lists(st.tuples(st.integers(0, 15), st.integers(1, 4)), max_size=6), st.integers(0, 8))
def test_approximate_hitting_sets(weighted, budget):
    edges = np.array([[e >> v & 1 for v in range(4)] for e, _ in weighted], bool).reshape(-1, 4)
    weights = np.array([w for _, w in weighted], I64)
    lists = [np.flatnonzero(edges[:, v]) for v in range(4)]
    starts = np.concatenate(([0], np.cumsum([len(one) for one in lists], dtype=int)))
    found = enumerate_approximate(
        edges, weights, starts, np.concatenate(lists), np.arange(4), np.full(4, 2), budget, NEVER.flag
    )

    def missed(chosen):
        return sum(w for e, w in weighted if not e & chosen)

    good = [s for s in range(16) if missed(s) <= budget]
    minimal = [s for s in good if not any(t != s and t & s == t for t in good)]
    assert sorted(sum(1 << int(v) for v in np.flatnonzero(line)) for line in found) == minimal
