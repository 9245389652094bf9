"""Witnesses are violations and are found exactly when there are any; pieces of a rule add up to the rule."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rowlaw.engine.local.compile import Scales, compile_rule
from rowlaw.engine.local.count import count
from rowlaw.engine.local.split import split
from rowlaw.engine.local.witness import counterexamples
from rowlaw.relation import encode
from rowlaw.source import open_source
from tests import naive
from tests.strategies import denials, nulls, tables, to_arrow


@given(data=st.data(), table=tables(), nulls=nulls(), pairs_per_row=st.sampled_from([0, 50]))
def test_witness(data, table, nulls, pairs_per_row):
    """``pairs_per_row`` decides between looking at every pair of a group and counting first."""
    with encode(open_source(to_arrow(table))) as relation:
        scales = Scales(relation, nulls)
        for most in (2, 3, 5):
            rule = data.draw(denials(table, max_predicates=most, condition=True))
            expected = naive.violations(rule, table.values, nulls)
            for wanted in (1, 3):
                found = counterexamples(compile_rule(rule, scales), relation.rows, wanted, pairs_per_row=pairs_per_row)
                assert len(found) <= wanted
                assert {tuple(pair[: rule.arity]) for pair in found.tolist()} <= set(expected)
                assert bool(len(found)) == bool(expected)


@given(data=st.data(), table=tables(), nulls=nulls(), parts=st.integers(1, 5))
def test_pieces_add_up(data, table, nulls, parts):
    rule = data.draw(denials(table, condition=True))
    with encode(open_source(to_arrow(table))) as relation:
        compiled = compile_rule(rule, Scales(relation, nulls))
        whole = count(compiled, relation.rows)
        found = [count(piece(), relation.rows) for piece in split(compiled, parts)]
        assert sum(c.pairs for c in found) == whole.pairs
        assert np.array_equal(sum((c.per_row for c in found), np.zeros(relation.rows, np.int64)), whole.per_row)


@given(data=st.data(), table=tables(min_rows=1), nulls=nulls())
def test_a_part_against_a_part(data, table, nulls):
    rule = data.draw(denials(table, condition=True).filter(lambda d: d.arity == 2))
    rows = st.sets(st.integers(0, table.rows - 1))
    left, right = data.draw(rows), data.draw(rows)
    with encode(open_source(to_arrow(table))) as relation:
        compiled = compile_rule(
            rule, Scales(relation, nulls), np.array(sorted(left), np.int32), np.array(sorted(right), np.int32)
        )
        expected = [(s, t) for s, t in naive.violations(rule, table.values, nulls) if s in left and t in right]
        assert count(compiled, relation.rows).pairs == len(expected)
