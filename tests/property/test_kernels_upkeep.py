"""The kernels that keep a state, one by one, each beside the obvious loop that says the same."""

from itertools import combinations, pairwise, product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rowlaw.kernels import duplicates, folded, links, upkeep
from rowlaw.kernels.signatures import SLOTS
from rowlaw.maintain.ledger import new_pages
from rowlaw.rules.outcomes import ANY, CODE_BITS, DIFFERENT_CODE, EQUAL_BIT, HIGHER_BIT, HIGHER_CODE, LOWER_BIT, compare

I32, I64 = np.int32, np.int64
MASKS = (LOWER_BIT, EQUAL_BIT, HIGHER_BIT, LOWER_BIT | EQUAL_BIT, LOWER_BIT | HIGHER_BIT)


@st.composite
def tables(draw, columns=3, most=10):
    """Cells row after row, which rows live, and whether null is unknown."""
    rows = draw(st.lists(st.lists(st.integers(-1, 2), min_size=columns, max_size=columns), max_size=most))
    alive = draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows)))
    return np.array(rows, I32).reshape(-1, columns), np.array(alive, bool), draw(st.booleans())


def comparing(left, right, ordered, unknown):
    """How rows are compared: slot i is column ``left[i]`` of s with ``right[i]`` of t."""
    places = np.arange(len(left))
    greater = np.where(ordered, HIGHER_CODE, DIFFERENT_CODE).astype(np.uint64)
    straight = list(left) == list(right) == places.tolist()
    shift = (CODE_BITS * (places % SLOTS)).astype(np.uint64)
    return upkeep.Comparing(
        np.array(left, I64), np.array(right, I64), greater, shift, np.array([straight]), np.array([unknown])
    )


def outcome(x, y, unknown):
    """How two codes compare, where null is below 0."""
    return compare(None if x < 0 else x, None if y < 0 else y, unknown=unknown)


def signature(cells, how, s, t):
    """The signature of a pair as one long integer."""
    word = 0
    for slot, (a, b) in enumerate(zip(how.left, how.right, strict=True)):
        code = int(outcome(int(cells[s, a]), int(cells[t, b]), bool(how.unknown[0])))
        if code == HIGHER_CODE:
            code = int(how.greater[slot])
        word |= code << CODE_BITS * slot
    return word


def counted(pages):
    """How many pairs a ledger has seen of each signature; each pair that it keeps has its signature."""
    used = int(pages.used[0])
    return {_joined(pages.signatures[k]): int(pages.tally[k]) for k in range(used)}


def _joined(words):
    return sum(int(word) << 64 * w for w, word in enumerate(words))


def tally(cells, how, pairs):
    """The signatures of pairs, and how many pairs have each."""
    signatures = [signature(cells, how, s, t) for s, t in pairs]
    return {one: signatures.count(one) for one in set(signatures)}


def agree(cells, s, t, columns, unknown):
    """Whether two rows agree on columns; an unknown null agrees with nothing."""
    return all(cells[s, c] == cells[t, c] and not (unknown and cells[s, c] < 0) for c in columns)


def indexed(cells, columns, rows, unknown):
    """An index of rows by columns: its table and its links."""
    table, following = np.zeros(64, I32), np.full(len(cells), -2, I32)
    new = links.link(cells, np.array(columns), np.array(rows, I64), unknown, table, following)
    assert new == np.count_nonzero(table)
    return table, following


@given(tables(), st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=3, unique=True), max_size=5))
def test_agreeing_rows(given_table, sets):
    cells, alive, unknown = given_table
    columns = np.array([c for one in sets for c in one], I64)
    starts = np.concatenate(([0], np.cumsum([len(one) for one in sets], dtype=int)))
    for limit in (1, 2, 20):
        counts, pairs = duplicates.agreeing(cells, alive, columns, starts, unknown, limit)
        begin = 0
        for one, count in zip(sets, counts, strict=True):
            living = [r for r in np.flatnonzero(alive) if not (unknown and (cells[r, one] < 0).any())]
            values = [tuple(cells[r, one].tolist()) for r in living]
            assert count == min(limit, sum(values.count(v) > 1 for v in set(values)))
            mine = pairs[begin : begin + count].tolist()
            assert all(s != t and alive[s] and alive[t] and agree(cells, s, t, one, unknown) for s, t in mine)
            assert len({tuple(cells[s, one].tolist()) for s, _ in mine}) == count, "each of another group"
            begin += count
        assert begin == len(pairs)


@given(tables(), st.lists(st.integers(0, 2), min_size=1, max_size=2, unique=True))
def test_links(given_table, columns):
    cells, alive, unknown = given_table
    rows = np.arange(len(cells))
    table, following = indexed(cells, columns, rows, unknown)
    for row in rows:
        before = [t for t in range(row) if agree(cells, row, t, columns, unknown)]
        known = agree(cells, row, row, columns, unknown)
        assert following[row] == ((before[-1] if before else -1) if known else -2)
    larger = np.zeros(256, I32)
    links.move_groups(cells, np.array(columns), table, larger)
    assert sorted(larger[larger > 0]) == sorted(table[table > 0])

    listed, starts = np.empty(len(cells), I64), np.empty(len(cells) + 2, I64)
    n, groups = links.grouped(larger, following, alive, listed, starts)
    written = {tuple(sorted(listed[starts[g] : starts[g + 1]].tolist())) for g in range(groups)}
    of_row = {r: tuple(t for t in rows if alive[t] and agree(cells, r, t, columns, unknown)) for r in rows if alive[r]}
    assert written == {group for group in of_row.values() if len(group) > 1}
    assert starts[groups] == n

    together = [(s, t) for s in rows for t in range(s) if alive[t] and agree(cells, s, t, columns, unknown)]
    every = np.arange(3)
    begin, out, same = np.array([0, -1]), np.empty((2, 2), I64), []
    while begin[0] < len(rows):
        n = links.earlier(cells, every, rows, following, alive, begin, out)
        same += map(tuple, out[:n].tolist())
    assert sorted(same) == sorted((s, t) for s, t in together if (cells[s] == cells[t]).all())
    s, t = links.twins(following, alive, rows)
    assert (s, t) in together if together else (s, t) == (-1, -1)

    pages = links.compare_linked(
        cells,
        how := comparing([0, 1, 2], [0, 1, 2], [True, False, True], unknown),
        rows,
        following,
        alive,
        new_pages(1, 2),
    )
    assert counted(pages) == tally(cells, how, together)
    some = np.array(list(combinations(rows, 2)), I64).reshape(-1, 2)
    bits = np.empty((len(some), 1), np.uint64)
    links.differences(cells, np.array(columns), unknown, some, bits)
    assert bits[:, 0].tolist() == [
        sum(1 << i for i, c in enumerate(columns) if not agree(cells, s, t, [c], unknown)) for s, t in some
    ]
    for row in rows:
        if following[row] == -2:
            continue
        living = np.empty(len(cells), I64)
        n = links.members(cells, np.array(columns), np.array([0]), row, table, following, alive, living)
        assert sorted(living[:n]) == [
            t for t in rows if alive[t] and agree(cells, row, t, columns, unknown) and cells[t, 0] == cells[row, 0]
        ]


@given(tables(), st.booleans(), st.data())
def test_pairs_across_columns_and_in_groups(given_table, is_s, data):
    cells, alive, unknown = given_table
    rows = np.arange(len(cells))
    table, following = indexed(cells, [1], rows, unknown)
    how = comparing([0, 1, 2], [1, 0, 2], [True, True, False], unknown)
    asked = np.array(data.draw(st.lists(st.sampled_from(rows), unique=True)) if len(rows) else [], I64)
    pages = links.compare_across(cells, how, asked, 0, 1, is_s, table, following, alive, new_pages(1, 1))
    found = [
        (row, t) if is_s else (t, row)
        for row in asked
        for t in rows
        if t != row and alive[t] and cells[row, 0] == cells[t, 1] and not (unknown and cells[row, 0] < 0)
    ]
    assert counted(pages) == tally(cells, how, found)
    cuts = sorted({0, len(rows), *(data.draw(st.lists(st.integers(0, len(rows)), max_size=3)))})
    pages = links.compare_groups(cells, how, np.array(cuts), new_pages(1, 1))
    inside = [pair for a, b in pairwise(cuts) for pair in combinations(range(a, b), 2)]
    assert counted(pages) == tally(cells, how, inside)


@given(tables(most=8), st.lists(st.tuples(*[st.sampled_from((*MASKS, ANY))] * 3), min_size=1, max_size=3))
def test_one_row_of_each_kind(given_table, rules):
    """Every signature that breaks a rule is seen, and no pair that breaks none."""
    cells, alive, _ = given_table
    rows = np.arange(len(cells))
    rules = [(EQUAL_BIT, b, c) for _, b, c in rules]  # the index is by column 0, so all rules ask for its equality
    how = comparing([0, 1, 2], [0, 1, 2], [True] * 3, False)
    kinds = indexed(cells, [0, 1, 2], rows, False)
    founders = np.empty(len(rows), I64)
    n = links.found_kinds(rows, kinds[1], founders)
    assert founders[:n].tolist() == [r for r in rows if not any((cells[r] == cells[t]).all() for t in range(r))]
    groups = indexed(cells, [0], founders[:n], False)
    pages = links.compare_kinds(
        cells,
        how,
        rows[alive],
        (np.arange(3), *kinds),
        (np.array([0]), *groups),
        alive,
        (np.arange(3), np.arange(3), np.array(rules)),
        new_pages(1, 2),
    )

    def breaks(s, t):
        outcomes = [outcome(int(cells[s, c]), int(cells[t, c]), unknown=False) for c in range(3)]
        return any(all(o.accepted_by(m) for o, m in zip(outcomes, rule, strict=True)) for rule in rules)

    broken = [(s, t) for s, t in combinations(rows[alive], 2) if breaks(s, t) or breaks(t, s)]
    either_way = {signature(cells, how, *pair) for s, t in broken for pair in ((s, t), (t, s))}
    seen = counted(pages)
    assert set(seen) <= either_way
    kept = [pages.pairs[k, 0].tolist() for k in range(len(seen))]
    assert {signature(cells, how, *pair) for s, t in kept for pair in ((s, t), (t, s))} == either_way


@given(tables(columns=40, most=4), st.sampled_from((3, 33, 40)), st.booleans())
def test_ledgers(given_table, slots, straight):
    cells, _, unknown = given_table
    rows = range(len(cells))
    left = list(range(slots))
    how = comparing(left, left if straight else left[::-1], [i % 2 for i in left], unknown)
    pairs = list(product(rows, repeat=2)) * 2
    s_rows, t_rows = (np.array([pair[i] for pair in pairs], I64) for i in range(2))
    words = -(-slots // SLOTS)
    pages = upkeep.compare_listed(cells, how, s_rows, t_rows, new_pages(words, 2, capacity=1))
    assert counted(pages) == tally(cells, how, pairs)
    for k in range(int(pages.used[0])):
        kept = [tuple(pair) for pair in pages.pairs[k, : pages.held[k]].tolist()]
        assert 1 <= len(kept) == len(set(kept)) <= 2
        assert all(signature(cells, how, s, t) == _joined(pages.signatures[k]) for s, t in kept)
    used = int(pages.used[0])
    places = np.empty(used, I64)
    again = upkeep.find_or_add(pages, pages.signatures[:used].copy(), places)
    assert places.tolist() == list(range(used))
    assert int(again.used[0]) == used
    counts = np.arange(used, dtype=I64)
    taken = upkeep.add_counted(
        new_pages(words, 1), pages.signatures[:used].copy(), counts, *pages.pairs[:used, 0].T.astype(I64)
    )
    assert list(counted(taken).values()) == counts.tolist()


@st.composite
def rules_of_two(draw):
    """Comparisons of fields of s with fields of t, equalities first."""
    equal = draw(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.just(EQUAL_BIT)), max_size=2))
    other = draw(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.sampled_from(MASKS)), max_size=2))
    return [*equal, *other], len(equal)


@given(tables(most=9), rules_of_two(), st.data())
def test_rows_that_come_and_go(given_table, rule, data):
    cells, _, unknown = given_table
    comparisons, equal = rule
    left, right, accepted = (np.array([c[i] for c in comparisons], I64) for i in range(3))
    how = folded.Compared(left, right, accepted, np.array([equal]), np.array([unknown]))
    both = left[:equal].tolist() != right[:equal].tolist()

    def empty(capacity=32, positions=128):
        flat = {name: np.zeros(capacity, I32) for name in ("weights", "rows", "s_next", "t_next")}
        tables = {name: np.zeros(positions, I32) for name in ("table", "s_table", "t_table")}
        return folded.Folded(tuples=np.zeros((capacity, 3), I32), used=np.zeros(1, I64), **flat, **tables)

    def breaks(s, t):
        outcomes = [outcome(int(cells[s, a]), int(cells[t, b]), unknown) for a, b, _ in comparisons]
        return all(o.accepted_by(c[2]) for o, c in zip(outcomes, comparisons, strict=True))

    def violations(rows):
        return sum(breaks(s, t) for s, t in product(rows, rows) if s != t)

    numbers = list(range(len(cells)))
    first = data.draw(st.integers(0, len(cells)))
    table, living = empty(), numbers[:first]
    folded.insert_uncounted(cells[:first], np.arange(first), table, how, both)
    found, sample = np.zeros(1, I64), np.zeros((100, 4), I64)
    brought = folded.insert(cells[first:], np.arange(first, len(cells)), table, how, both, found, sample)
    assert brought == violations(numbers) - violations(living)
    for row, k, is_s, other in sample[: found[0]]:
        assert other in numbers
        assert cells[other].tolist() == table.tuples[k].tolist()
        assert breaks(row, other) if is_s else breaks(other, row)

    linked = table._replace(**{name: np.zeros(128, I32) for name in ("table", "s_table", "t_table")})
    folded.relink(linked, how, both)
    gone = data.draw(st.lists(st.sampled_from(numbers), unique=True)) if numbers else []
    left_over = [r for r in numbers if r not in gone]
    ended = folded.delete(cells[gone], np.array(gone, I64), linked, how, both, np.zeros(1, I64), sample)
    assert ended == violations(numbers) - violations(left_over)
    folded.delete_uncounted(cells[left_over], np.array(left_over, I64), linked)
    assert not linked.weights.any()


@given(tables(most=9), st.integers(1, 4), st.sampled_from((2, 1 << 10)), st.data())
def test_all_pairs_tile_by_tile(given_table, tile, most, data):
    """Each pair of a batch with itself and with other rows once, by counters (``most`` of them) or by a table."""
    cells, _, unknown = given_table
    rows = data.draw(st.permutations(range(len(cells))))
    first = data.draw(st.integers(0, len(rows)))
    tiles = [*range(0, first, tile), *range(first, len(rows), tile), len(rows)]
    own = len(range(0, first, tile))
    columns = np.ascontiguousarray(cells[rows].T) if len(rows) else np.zeros((3, 0), I32)
    null = (columns < 0) & unknown
    low, high = np.zeros((2, 3, len(tiles) - 1), I32)
    missing = np.zeros((3, len(tiles) - 1), bool)
    for b, (begin, end) in enumerate(pairwise(tiles)):
        missing[:, b] = null[:, begin:end].any(axis=1)
        low[:, b] = np.where(null, 9, columns)[:, begin:end].min(axis=1)
        high[:, b] = np.where(null, -9, columns)[:, begin:end].max(axis=1)
    layout = upkeep.Layout(
        *(columns.astype(np.int16), np.zeros((0, len(rows)), I32), np.full(3, -1)),
        *(low, high, missing, np.array(tiles), np.array(rows, I32)),
    )
    ordered = np.array([True, False, True])
    how = comparing([0, 1, 2], [0, 1, 2], ordered, unknown)
    signatures, counts, pairs = upkeep.compare_all(layout, how, ordered, np.arange(len(tiles) - 1), own, most)
    batch, others = rows[:first], rows[first:]
    expected = [(s, t) for i, s in enumerate(batch) for t in batch[:i]] + list(product(batch, others))
    assert dict(zip(signatures[:, 0].tolist(), counts.tolist(), strict=True)) == tally(cells, how, expected)
    assert all(signature(cells, how, s, t) == word for (s, t), word in zip(pairs, signatures[:, 0], strict=True))
    assert {tuple(pair) for pair in pairs.tolist()} <= set(expected)
