"""Comparisons that every row obeys: those of a default run against the definition."""

import datetime as dt

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

import rowlaw
from rowlaw.discovery import within
from rowlaw.discovery.within import within_rows
from rowlaw.engine.open import open_local
from rowlaw.predicates.space import ORDERED_TYPES, SpaceOptions
from rowlaw.rules.model import Column, Denial, Op, Predicate
from rowlaw.source import open_source
from rowlaw.stopping import NEVER
from tests import naive
from tests.strategies import nulls, tables, to_arrow


def found(table, **options):
    with_nulls = options.pop("nulls", "unknown")
    engine = open_local(open_source(table), with_nulls)
    try:
        return {str(law) for law in within_rows(engine, SpaceOptions(**options), stop=NEVER)}
    finally:
        engine.close()


@given(table=tables(min_columns=2, max_rows=9), nulls=nulls(), chance=st.sampled_from([0.0, 0.05]))
def test_exactly_the_comparisons_that_hold_and_that_chance_would_break(table, nulls, chance):
    arrow = to_arrow(table)
    engine = open_local(open_source(arrow), nulls)
    before = within.BY_CHANCE, within.ROWS_BY_CHANCE
    within.BY_CHANCE, within.ROWS_BY_CHANCE = chance, 0.0
    try:
        laws = within_rows(engine, SpaceOptions(), stop=NEVER)
        assert all(law.arity == 1 and not naive.count(law, table.values, nulls) for law in laws)
        types = {c.name: c.type for c in engine.statistics.columns if c.type in ORDERED_TYPES and c.distinct > 1}
        said = {frozenset(law.columns) for law in laws}
        for a in types:
            for b in types:
                law = (
                    Denial.canonical((Predicate(Column("s", a), Op.GT, Column("s", b)),))
                    if a != b and types[a] == types[b]
                    else None
                )
                if (
                    law is None
                    or chance
                    or naive.count(law, table.values, nulls)
                    or not naive.breakable(law, table.values, nulls)
                ):
                    continue
                assert frozenset((a, b)) in said or len(types) > 2
    finally:
        within.BY_CHANCE, within.ROWS_BY_CHANCE = before
        engine.close()


def test_the_law_that_people_know():
    random = np.random.default_rng(0)
    low = random.integers(0, 100, 500)
    day = [dt.date(2024, 1, 1) + dt.timedelta(days=int(n)) for n in low]
    table = pa.table(
        {
            "low": low,
            "middle": low + random.integers(0, 9, 500),
            "high": low + random.integers(10, 20, 500),
            "far": low + 1_000,
            "other": random.integers(0, 100, 500),
            "start": day,
            "end": [d + dt.timedelta(days=int(n)) for d, n in zip(day, random.integers(1, 9, 500), strict=True)],
        }
    )
    # low < high follows from the two others, and far is above all of them in any two rows
    assert found(table) == {"not (s.low > s.middle)", "not (s.middle >= s.high)", "not (s.start >= s.end)"}
    assert not found(table, cross=False)
    assert not found(table, single_row=True)
    assert "not (s.low > s.middle)" not in found(table, operators={"low": (Op.EQ,)})
    laws = rowlaw.discover(table, progress=False)
    rule = next(r for r in laws if str(r.rule) == "not (s.low > s.middle)")
    assert rule.kind == "dc"
    assert "Would catch" in rule.because
    assert not [
        r
        for r in rowlaw.discover(table.select(["low", "high"]), all=True, progress=False)
        if r.rule.denials[0].arity == 1
    ]


def test_all_rows_are_asked():
    rows = 10_000
    low = np.arange(rows) % 100
    high = low + 5
    high[3_333] = 0
    assert found(pa.table({"low": low, "high": low + 5})) == {"not (s.low >= s.high)"}
    assert found(pa.table({"low": low, "high": high})) == set()
    high[3_333] = low[3_333]
    assert found(pa.table({"low": low, "high": high})) == {"not (s.low > s.high)"}
