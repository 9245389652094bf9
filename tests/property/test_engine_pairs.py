"""Violating pairs equal the oracle's, by every method, as pairs and as groups, one rule or several, with and without a
limit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rowlaw.engine.local import listing
from rowlaw.engine.local.compile import Scales, compile_rule
from rowlaw.engine.local.count import count
from rowlaw.engine.local.division import SCAN_ALL, Division
from rowlaw.engine.local.listing import list_pairs
from rowlaw.engine.local.plan import METHODS, Plan, plan
from rowlaw.engine.local.refine import groups, pairs, written
from rowlaw.relation import encode
from rowlaw.relation.groups import Groups
from rowlaw.source import open_source
from tests import naive
from tests.strategies import denials, nulls, tables, to_arrow

batches = st.sampled_from([1, 3, 1 << 18])
scans = st.sampled_from([0, 1, 4, SCAN_ALL])


def collected(found):
    return sorted((int(s), int(t)) for batch in found for s, t in zip(*batch, strict=True))


def about_pairs(table, **more):
    return denials(table, condition=True, **more).filter(lambda d: d.arity == 2)


@given(
    data=st.data(), table=tables(), nulls=nulls(), batch=batches, pruned=st.booleans(), method=st.sampled_from(METHODS)
)
def test_pairs(data, table, nulls, batch, pruned, method):
    rule = data.draw(about_pairs(table))
    with encode(open_source(to_arrow(table))) as relation:
        compiled = compile_rule(rule, Scales(relation, nulls))
        taking_part = count(compiled, relation.rows).per_row if pruned else None
        steps = plan(compiled, method)
        expected = naive.violations(rule, table.values, nulls)
        assert collected(pairs(compiled, taking_part, steps=steps, batch=batch)) == expected
        limit = data.draw(st.integers(0, len(expected) + 1))
        some = collected(pairs(compiled, taking_part, steps=steps, batch=batch, limit=limit))
        assert len(some) == min(limit, len(expected))
        assert set(some) <= set(expected)


@given(data=st.data(), table=tables(), nulls=nulls(), batch=batches, scan=scans)
def test_groups(data, table, nulls, batch, scan):
    """No pair is in two groups; a row with itself does not count."""
    rule = data.draw(about_pairs(table, max_predicates=6))
    with encode(open_source(to_arrow(table))) as relation:
        compiled = compile_rule(rule, Scales(relation, nulls))
        found = list(groups(compiled, batch=batch, scan=scan))
        listed = [
            (int(s), int(t))
            for some in found
            for g in range(some.number)
            for s in some.s.rows[some.s.starts[g] : some.s.starts[g + 1]]
            for t in some.t.rows[some.t.starts[g] : some.t.starts[g + 1]]
            if s != t
        ]
        assert sorted(listed) == collected(written(iter(found), batch)) == naive.violations(rule, table.values, nulls)


@given(data=st.data(), table=tables(), nulls=nulls(), batch=batches, scan=scans, every=st.integers(1, 3))
def test_shares_of_a_division(data, table, nulls, batch, scan, every):
    """Work that is given away, again and again, is done once."""
    rule = data.draw(about_pairs(table))
    with encode(open_source(to_arrow(table))) as relation:
        compiled = compile_rule(rule, Scales(relation, nulls))
        whole = Groups.whole(compiled.s, compiled.t).refine([c.columns for c in compiled.equalities])
        waiting = [Division(whole, (*compiled.inequalities, *compiled.differences), batch, scan)]
        found, steps = [], 0
        while waiting:
            division = waiting.pop()
            while not division.done:
                found.append(division.step())
                steps += 1
                if steps % every == 0 and (other := division.share()) is not None:
                    waiting.append(other)
        assert collected(written(iter(found))) == naive.violations(rule, table.values, nulls)


@given(
    data=st.data(),
    table=tables(min_columns=2),
    nulls=nulls(),
    batch=batches,
    threads=st.integers(1, 3),
    limited=st.booleans(),
)
def test_several_rules(data, table, nulls, batch, threads, limited):
    with pytest.MonkeyPatch.context() as patch:
        # below 0: threads help after the first batch
        patch.setattr(listing, "ALONE_SECONDS", data.draw(st.sampled_from([-1.0, 1.0])))
        compare_several_rules(data, table, nulls, batch, threads, limited)


def compare_several_rules(data, table, nulls, batch, threads, limited):
    rules = data.draw(st.lists(denials(table, condition=True), max_size=6))
    limit = data.draw(st.integers(0, 4)) if limited else None
    with encode(open_source(to_arrow(table))) as relation:
        scales = Scales(relation, nulls)
        compiled = [compile_rule(rule, scales) for rule in rules]
        listed = [[] for _ in rules]
        for number, s, t in list_pairs(compiled, limit=limit, threads=threads, batch=batch):
            listed[number] += zip(s.tolist(), t.tolist(), strict=True)
        for rule, found in zip(rules, listed, strict=True):
            expected = [(p[0], p[-1]) for p in naive.violations(rule, table.values, nulls)]
            if limit is None:
                assert sorted(found) == expected
            else:
                assert len(found) == len(set(found)) == min(limit, len(expected))
                assert set(found) <= set(expected)


def test_a_plan_is_used_as_given():
    """Each method's plan names its own stages: tests above would otherwise compare one method with itself."""
    import pyarrow as pa

    from rowlaw.rules import bind, parse

    table = pa.table({"a": [1, 2, 3], "b": [3, 2, 1], "c": [1, 1, 2]})
    with encode(open_source(table)) as relation:
        rule = bind(parse("not (s.a < t.a and s.b > t.b and s.c <= t.c and s.c != t.a)"), relation.types)
        compiled = compile_rule(rule.denials[0], Scales(relation, "unknown"))
        stages = {method: [stage.algorithm for stage in plan(compiled, method).stages] for method in METHODS}
        assert stages == {
            "divide": ["divide"],
            "iejoin": ["iejoin", "test"],
            "hsm": ["hsm"] * 3 + ["differ"],
            "bhsm": ["bhsm"] * 3 + ["differ"],
        }
        assert collected(pairs(compiled, steps=Plan(compiled, ()))) == [
            (s, t) for s in range(3) for t in range(3) if s != t
        ]
