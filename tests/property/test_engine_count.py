"""Counts and per-row counts equal the oracle's, by every counting method, for rules by themselves and for rules that
share groups."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rowlaw.engine.local.compile import Scales, compile_rule
from rowlaw.engine.local.count import count
from rowlaw.engine.local.engine import LocalEngine
from rowlaw.engine.local.tasks import ALL, Part
from rowlaw.engine.local.trie import build
from rowlaw.engine.local.witness import counterexamples
from rowlaw.relation import encode
from rowlaw.rules.model import Column, Denial, Op, Predicate
from rowlaw.source import open_source
from rowlaw.spark.jobs import DriverThreads
from tests import naive
from tests.methods import LISTS
from tests.strategies import denials, nulls, predicates, tables, to_arrow


def same_column(columns, ops):
    return st.builds(
        lambda name, op: Predicate(Column("s", name), op, Column("t", name)),
        st.sampled_from(columns),
        st.sampled_from(ops),
    )


def shaped(table):
    """Rules as most are: equalities and up to three other comparisons, each of one column."""
    equal = st.lists(same_column(table.columns, [Op.EQ]), max_size=2)
    others = st.lists(same_column(table.columns, [op for op in Op if op != Op.EQ]), max_size=3)
    return (
        st.tuples(equal, others)
        .map(lambda parts: [*parts[0], *parts[1]])
        .filter(bool)
        .map(lambda found: Denial(tuple(found)))
    )


def check(found, rule, table, nulls):
    assert found.pairs == naive.count(rule, table.values, nulls)
    expected = naive.row_counts(rule, table.values, nulls)
    assert {int(r): int(found.per_row[r]) for r in np.flatnonzero(found.per_row)} == expected


@pytest.mark.parametrize("methods", LISTS.values(), ids=LISTS)
@given(data=st.data(), table=tables(), nulls=nulls())
def test_counts(methods, data, table, nulls):
    with encode(open_source(to_arrow(table))) as relation:
        scales = Scales(relation, nulls)
        for _ in range(3):
            rule = data.draw(st.one_of(denials(table, condition=True), shaped(table)))
            found = count(compile_rule(rule, scales), relation.rows, methods=methods)
            check(found, rule, table, nulls)
            assert count(compile_rule(rule, scales), relation.rows, per_row=False, methods=methods).pairs == found.pairs


def sharing(table):
    """Rules with some equalities in common, and single-row predicates too: what they compare otherwise has nulls here
    and there."""
    equality = st.one_of(
        same_column(table.columns, [Op.EQ]), predicates(table, single_row=False, literal=False, operators=[Op.EQ])
    )
    common = st.lists(equality, min_size=1, max_size=2)
    own = st.lists(predicates(table, condition=True), max_size=3)
    return st.tuples(common, st.lists(own, min_size=2, max_size=5)).map(
        lambda drawn: [Denial((*drawn[0], *more)) for more in drawn[1]]
    )


@pytest.mark.parametrize("methods", LISTS.values(), ids=LISTS)
@given(data=st.data(), table=tables(min_columns=2), nulls=nulls())
def test_counts_in_shared_groups(methods, data, table, nulls):
    rules = data.draw(sharing(table))
    with encode(open_source(to_arrow(table))) as relation:
        scales = Scales(relation, nulls)
        compiled = [compile_rule(rule, scales) for rule in rules]
        seen = []
        for trie in build(compiled):
            for number, groups in trie.walk(compiled):
                seen.append(number)
                check(
                    count(compiled[number], relation.rows, groups=groups, methods=methods), rules[number], table, nulls
                )
        assert sorted(seen) == list(range(len(rules)))


@given(data=st.data(), table=tables(min_columns=2), nulls=nulls(), pairs_per_row=st.sampled_from([0, 50]))
def test_counterexamples_in_shared_groups(data, table, nulls, pairs_per_row):
    rules = data.draw(sharing(table))
    with encode(open_source(to_arrow(table))) as relation:
        scales = Scales(relation, nulls)
        compiled = [compile_rule(rule, scales) for rule in rules]
        for trie in build(compiled):
            for number, groups in trie.walk(compiled):
                expected = naive.violations(rules[number], table.values, nulls)
                for wanted in (1, 3):
                    found = counterexamples(compiled[number], relation.rows, wanted, groups, pairs_per_row)
                    assert len(found) <= wanted
                    assert {tuple(pair[: rules[number].arity]) for pair in found.tolist()} <= set(expected)
                    assert bool(len(found)) == bool(expected)


@given(data=st.data(), table=tables(min_columns=2), nulls=nulls(), parted=st.booleans())
def test_rules_of_one_engine_share_groups(data, table, nulls, parted):
    """The whole way: tasks, tries, counting and looking; for all rows and for one part against another."""
    rules = data.draw(sharing(table))
    left = right = set(range(table.rows))
    part = ALL
    if parted and table.rows:
        left, right = (data.draw(st.sets(st.integers(0, table.rows - 1))) for _ in range(2))
        part = Part(np.array(sorted(left), np.int32), np.array(sorted(right), np.int32))
    with encode(open_source(to_arrow(table))) as relation:
        engine = LocalEngine(relation, nulls, workers=DriverThreads(1))
        for rule, found, witness in zip(rules, engine.count(rules, part), engine.witness(rules, part), strict=True):
            expected = [
                pair
                for pair in naive.violations(rule, table.values, nulls)
                if pair[0] in left and (rule.arity == 1 or pair[1] in right)
            ]
            assert found.pairs == len(expected)
            assert (witness is None) == (not expected)
            assert witness is None or witness[: rule.arity] in expected
