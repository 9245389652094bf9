"""Discovered keys, functional dependencies and order compatibilities equal the oracle's: complete, minimal, exact; by
both strategies."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rowlaw.discovery import dependencies as module
from rowlaw.discovery.dependencies import discover_dependencies
from rowlaw.discovery.discover import KINDS, run
from rowlaw.engine.local import contexts, neighbours
from rowlaw.engine.local.engine import LocalEngine
from rowlaw.predicates import SpaceOptions
from rowlaw.relation import encode
from rowlaw.rules.model import Op
from rowlaw.source import open_source
from tests import naive
from tests.strategies import nulls, tables, to_arrow

small = tables(max_rows=9, max_columns=5)


def found(table, nulls, **choices):
    with encode(open_source(to_arrow(table))) as relation:
        result = discover_dependencies(LocalEngine(relation, nulls), **choices)
        assert not result.partial
        assert len(result.rules) == len(set(result.rules))
        return set(result.rules)


def expected(table, nulls, error=0.0, kinds=("key", "fd", "od")):
    twins = {"key": naive.minimal_keys, "fd": naive.minimal_fds, "od": naive.minimal_ods}
    return {rule for kind in kinds for rule in twins[kind](table.values, nulls, error)}


@settings(max_examples=300)
@given(
    table=small,
    nulls=nulls(),
    strategy=st.sampled_from(["auto", "pairs", "sample"]),
    counterexamples=st.sampled_from([1, 10]),
    sampled=st.sampled_from([0, 1, 20_000]),
    many=st.sampled_from([2, 1 << 17]),
    settings=st.fixed_dictionaries(
        {
            "DEAL": st.sampled_from([0, 1000]),
            "SMALL_GROUP": st.sampled_from([0, 4]),
            "FIRST_PIECE": st.sampled_from([1, 2, 4, 1 << 15]),
            "FEW_VALUES": st.sampled_from([0, 16]),
            "KEPT_COLUMNS": st.sampled_from([0, 3]),
            "KEPT_BYTES": st.sampled_from([0, 1 << 20]),
            "ALONE_SECONDS": st.sampled_from([0.0, 1.0]),
        }
    ),
)
def test_all_kinds(table, nulls, strategy, counterexamples, sampled, many, settings):
    """``sampled``: pairs compared before the first search. The settings choose among ways to group and order rows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "COUNTEREXAMPLES", counterexamples)
        for name, value in {"SAMPLED": sampled, "MANY_ROWS": many}.items():
            patch.setattr(neighbours, name, value)
        for name, value in settings.items():
            patch.setattr(contexts, name, value)
        assert found(table, nulls, strategy=strategy) == expected(table, nulls)


@given(
    table=small, nulls=nulls(), kind=st.sampled_from(["key", "fd", "od"]), strategy=st.sampled_from(["pairs", "sample"])
)
def test_each_kind_alone(table, nulls, kind, strategy):
    assert found(table, nulls, kinds=[kind], strategy=strategy) == expected(table, nulls, kinds=[kind])


@settings(max_examples=200)
@given(table=small, nulls=nulls(), error=st.sampled_from([0.05, 0.1, 0.2, 0.34, 0.5, 0.9]))
def test_approximate(table, nulls, error):
    assert found(table, nulls, error=error) == expected(table, nulls, error)


@given(table=small, nulls=nulls(), error=st.sampled_from([0.1, 0.34]))
def test_errors_are_shares_of_rows_to_remove(table, nulls, error):
    with encode(open_source(to_arrow(table))) as relation:
        result = discover_dependencies(LocalEngine(relation, nulls), error=error)
    for rule in result.rules:
        assert result.errors[rule] == naive.rows_to_remove(rule, table.values, nulls) / max(1, table.rows)


def satisfied(denial, outcomes):
    """Whether rows that compare so, column by column, satisfy all predicates."""
    return all(p.op & outcomes[p.left.name] for p in denial.predicates)


def denied(outcomes, rules):
    """Whether one of the rules says that no two rows compare so; ``s`` and ``t`` may change places."""
    back = {name: op.swapped for name, op in outcomes.items()}
    return any(
        satisfied(d, way)
        for rule in rules
        if set(rule.columns) <= set(outcomes)
        for d in rule.denials
        for way in (outcomes, back)
    )


@settings(max_examples=60)
@given(
    table=tables(max_rows=7, max_columns=4, types=["integer", "text"]),
    nulls=nulls(),
    strategy=st.sampled_from(["pairs", "sample"]),
)
def test_all_kinds_together(table, nulls, strategy):
    """Each law once, under its most specific kind; what is left out follows from what is listed, and nothing listed
    from other kinds."""
    with encode(open_source(to_arrow(table))) as relation:
        options = SpaceOptions(cross=False)
        listed = [r.rule for r in run(LocalEngine(relation, nulls), options, strategy=strategy)]
        alone = [
            r.rule
            for kind in KINDS
            for r in run(LocalEngine(relation, nulls), options, kinds=[kind], strategy=strategy)
        ]
    assert len(listed) == len({d for rule in listed for d in rule.denials})
    assert set(listed) <= set(alone)
    for rule in alone:
        (denial,) = rule.denials
        ways = [
            dict(zip(denial.columns, ops, strict=True))
            for ops in product((Op.LT, Op.EQ, Op.GT), repeat=len(denial.columns))
        ]
        ways = [way for way in ways if satisfied(denial, way)]
        assert all(denied(way, listed) for way in ways), rule
        if rule in listed and rule.kind in ("fd", "dc"):
            others = (
                [r for r in listed if r.kind != "dc" and r != rule]
                if rule.kind == "dc"
                else [r for r in listed if r.kind == "key"]
            )
            assert not all(denied(way, others) for way in ways), rule
