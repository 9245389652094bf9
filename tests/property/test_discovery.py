"""Discovered denial constraints equal the oracle's: complete, minimal, exact; by both strategies."""

from hypothesis import given, settings
from hypothesis import strategies as st

from rowlaw.discovery import covers
from rowlaw.discovery import validation as module
from rowlaw.discovery.denial import discover_denials
from rowlaw.engine.local import rows
from rowlaw.engine.local.engine import LocalEngine
from rowlaw.engine.local.statistics import RelationStatistics
from rowlaw.evidence import sample
from rowlaw.predicates import SpaceOptions, predicate_space
from rowlaw.relation import encode
from rowlaw.rules.implication import canonical
from rowlaw.source import open_source
from tests import naive
from tests.strategies import nulls, predicates, tables, to_arrow


def found(table, options, nulls, **choices):
    with encode(open_source(to_arrow(table))) as relation:
        space = predicate_space(RelationStatistics(relation), options)
        result = discover_denials(LocalEngine(relation, nulls), space, **choices)
        assert not result.partial
        return {canonical(d) for d in result.denials}, space


def expected(table, space, nulls, error=0.0):
    return {canonical(d) for d in naive.minimal_denials(table.values, space, nulls, error)}


small = tables(max_rows=7, max_columns=4, types=["integer", "text", "date", "float"])


@given(
    table=small,
    nulls=nulls(),
    strategy=st.sampled_from(["auto", "pairs", "sample", "hydra"]),
    counterexamples=st.sampled_from([1, 20]),
    cover=st.sampled_from([-1e9, 0.3]),
    projected=st.sampled_from([0, 20_000]),
)
def test_same_column(table, nulls, strategy, counterexamples, cover, projected):
    """``cover``: whether all pairs that agree on some columns are taken in first; ``projected``: whether rules are
    asked about few rows."""
    saved = module.COUNTEREXAMPLES, covers.COVER_SECONDS, rows.PROJECTED_ROWS
    module.COUNTEREXAMPLES, covers.COVER_SECONDS, rows.PROJECTED_ROWS = counterexamples, cover, projected
    try:
        rules, space = found(table, SpaceOptions(cross=False), nulls, strategy=strategy)
    finally:
        module.COUNTEREXAMPLES, covers.COVER_SECONDS, rows.PROJECTED_ROWS = saved
    assert rules == expected(table, space, nulls)


@settings(max_examples=40)
@given(
    table=tables(max_rows=6, max_columns=2, types=["integer", "text"]),
    nulls=nulls(),
    strategy=st.sampled_from(["pairs", "sample", "hydra"]),
    single_row=st.booleans(),
    order_strings=st.booleans(),
    sampled=st.sampled_from([2, 1 << 19]),
)
def test_cross_column_and_single_row(table, nulls, strategy, single_row, order_strings, sampled):
    """``sampled``: rows that a sample may look at; what the others say has to come from the engine."""
    options = SpaceOptions(overlap=0.0, single_row=single_row, order_strings=order_strings)
    saved, sample.MOST_ROWS = sample.MOST_ROWS, sampled
    try:
        rules, space = found(table, options, nulls, strategy=strategy)
    finally:
        sample.MOST_ROWS = saved
    assert rules == expected(table, space, nulls)


@settings(max_examples=40)
@given(
    table=tables(max_rows=6, max_columns=2, types=["integer", "text"]),
    nulls=nulls(),
    strategy=st.sampled_from(["pairs", "sample", "hydra"]),
)
def test_literals(table, nulls, strategy):
    rules, space = found(table, SpaceOptions(cross=False, constants=0.4), nulls, strategy=strategy)
    assert rules == expected(table, space, nulls)


@given(
    table=small,
    nulls=nulls(),
    error=st.sampled_from([0.01, 0.1, 0.2, 0.34, 0.5]),
    strategy=st.sampled_from(["pairs", "sample"]),
)
def test_approximate(table, nulls, error, strategy):
    rules, space = found(table, SpaceOptions(cross=False), nulls, error=error, strategy=strategy)
    assert rules == expected(table, space, nulls, error)


@settings(max_examples=40)
@given(
    table=tables(max_rows=6, max_columns=2, types=["integer"]),
    nulls=nulls(),
    error=st.sampled_from([0.1, 0.34]),
    strategy=st.sampled_from(["pairs", "sample"]),
)
def test_approximate_across_columns(table, nulls, error, strategy):
    rules, space = found(table, SpaceOptions(overlap=0.0, single_row=True), nulls, error=error, strategy=strategy)
    assert rules == expected(table, space, nulls, error)


@given(table=small, nulls=nulls(), chosen=st.sampled_from(["=", "= !=", "< >", "<= >=", "= < >"]))
def test_restricted_operators(table, nulls, chosen):
    from rowlaw.predicates.space import operators

    options = SpaceOptions(cross=False, operators={name: operators(chosen) for name in table.values})
    with encode(open_source(to_arrow(table))) as relation:
        space = predicate_space(RelationStatistics(relation), options)
        rules = {canonical(d) for d in discover_denials(LocalEngine(relation, nulls), space).denials}
    assert rules == expected(table, space, nulls)


@given(
    data=st.data(),
    table=tables(max_rows=6, max_columns=3, types=["integer", "text", "date", "boolean"]),
    nulls=nulls(),
    strategy=st.sampled_from(["pairs", "sample", "hydra"]),
    sampled=st.sampled_from([2, 1 << 19]),
)
def test_given_predicates(data, table, nulls, strategy, sampled):
    """Any predicates, with any operators left out, as texts or as predicates: rules over exactly these and their
    exchanges."""
    given_space = data.draw(st.lists(predicates(table), min_size=1, max_size=7))
    texts = [data.draw(st.sampled_from([p, str(p)])) for p in given_space]
    saved, sample.MOST_ROWS = sample.MOST_ROWS, sampled
    try:
        rules, space = found(table, SpaceOptions.of(predicates=texts), nulls, strategy=strategy)
    finally:
        sample.MOST_ROWS = saved
    assert set(space) == {both for p in given_space for both in (p, p.exchanged)}
    assert rules == expected(table, given_space, nulls)


@given(
    data=st.data(),
    table=tables(max_rows=6, max_columns=3, types=["integer", "text"]),
    nulls=nulls(),
    error=st.sampled_from([0.1, 0.34]),
)
def test_given_predicates_with_exceptions(data, table, nulls, error):
    given_space = data.draw(st.lists(predicates(table), min_size=1, max_size=6))
    strategy = data.draw(st.sampled_from(["pairs", "sample", "hydra"]))
    rules, _ = found(table, SpaceOptions.of(predicates=given_space), nulls, error=error, strategy=strategy)
    assert rules == expected(table, given_space, nulls, error)
