"""What follows from all minimal dependencies of a table is what holds on it, without touching it."""

from itertools import permutations, product

from hypothesis import given
from hypothesis import strategies as st

from rowlaw.rules import RuleSet, SortColumn, is_trivial, set_based
from rowlaw.rules.parse import parse_sort
from tests import naive
from tests.strategies import functional_dependencies, keys, nulls, order_compatibles, order_dependencies, rules, tables

small = tables(max_rows=7, max_columns=4, min_columns=2, types=["integer", "text"])


def discovered(table, nulls, *, keys=False):
    """All that holds, also what no rows could break and discovery therefore leaves out."""
    found = [
        *naive.minimal_fds(table.values, nulls, vacuous=True),
        *naive.minimal_ods(table.values, nulls, vacuous=True),
    ]
    return RuleSet.of([*found, *naive.minimal_keys(table.values, nulls, vacuous=True)] if keys else found, nulls=nulls)


@given(data=st.data(), table=small, nulls=nulls())
def test_lexicographic_order_dependencies_are_decided(data, table, nulls):
    known = discovered(table, nulls)
    for _ in range(5):
        rule = data.draw(order_dependencies(table))
        assert known.implies(rule) == naive.lex_holds(rule.left, rule.right, table.values, nulls)
        assert known.implies(str(rule)) == known.implies(rule)


@given(data=st.data(), table=small, nulls=nulls())
def test_keys_functional_and_order_dependencies_are_decided(data, table, nulls):
    known = discovered(table, nulls, keys=True)
    for some in (keys, functional_dependencies, order_compatibles):
        rule = data.draw(some(table))
        assert known.implies(rule) == (not naive.exists(rule, table.values, nulls))


@given(data=st.data(), table=small, nulls=nulls())
def test_what_follows_from_valid_rules_is_valid(data, table, nulls):
    """Whatever rules are known, and whatever is asked."""
    listed = [
        rule for rule in data.draw(st.lists(rules(table), max_size=8)) if not naive.exists(rule, table.values, nulls)
    ]
    listed += data.draw(
        st.lists(st.sampled_from([*discovered(table, nulls, keys=True)] or [None]), max_size=8, unique=True)
    )
    known = RuleSet.of([getattr(r, "rule", r) for r in listed if r is not None], nulls=nulls)
    for rule in known:
        assert known.implies(rule)
    for _ in range(5):
        rule = data.draw(rules(table))
        assert not (known.implies(rule) and naive.exists(rule, table.values, nulls))


@given(data=st.data(), table=small, nulls=nulls())
def test_set_based_dependencies_say_the_same(data, table, nulls):
    rule = data.draw(order_dependencies(table))
    parts = set_based(rule, nulls)
    assert not any(is_trivial(d) for part in parts for d in part.denials)
    holds = not any(naive.exists(part, table.values, nulls) for part in parts)
    assert holds == naive.lex_holds(rule.left, rule.right, table.values, nulls)
    assert len(parts) <= len(rule.right) * (1 + len(rule.left))


def all_lists(columns, length):
    for names in permutations(columns, length):
        for downs in product((False, True), repeat=length):
            yield tuple(map(SortColumn, names, downs))


@given(data=st.data(), table=small, nulls=nulls())
def test_the_shortest_sort_list(data, table, nulls):
    column = st.builds(SortColumn, st.sampled_from(table.columns), st.booleans())
    full = data.draw(st.lists(column, max_size=4))
    also = data.draw(st.sampled_from([[], table.columns]))
    texts = discovered(table, nulls).order_by(map(str, full), also=also)
    found = [c for text in texts for c in parse_sort(text)]
    assert naive.lex_holds(found, full, table.values, nulls)
    for length in range(len(found)):
        assert not any(
            naive.lex_holds(other, full, table.values, nulls)
            for other in all_lists(also or {c.name for c in full}, length)
        )


@given(data=st.data(), table=small)
def test_sorting_by_the_shortest_list_sorts(data, table):
    """With null as a value, smallest; rows in any order to begin with."""
    rows = data.draw(st.permutations(range(table.rows)))
    full = data.draw(st.lists(st.builds(SortColumn, st.sampled_from(table.columns), st.booleans()), max_size=3))
    short = [c for text in discovered(table, "equal").order_by(full) for c in parse_sort(text)]

    def by(columns):
        codes = {c.name: naive.ranks(table.values[c.name]) for c in columns}
        return lambda row: tuple(-codes[c.name][row] if c.descending else codes[c.name][row] for c in columns)

    assert [by(full)(row) for row in sorted(rows, key=by(short))] == [
        by(full)(row) for row in sorted(rows, key=by(full))
    ]
