"""Level by level gives the oracle's sets: complete, minimal, exact, under both meanings of null."""

from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rowlaw.deadline import Deadline
from rowlaw.discovery import levels as module
from rowlaw.discovery.levels import discover_levels
from rowlaw.engine.local.engine import LocalEngine
from rowlaw.evidence.partitions import Candidates, Rows
from rowlaw.kernels.levels import BROKEN, HOLDS_FULLY
from rowlaw.relation import encode
from rowlaw.rules.model import FunctionalDependency, OrderCompatible
from rowlaw.source import open_source
from rowlaw.spark.jobs import DriverThreads
from tests import naive
from tests.strategies import nulls, tables, to_arrow


def agreeing(columns, values, nulls):
    """The pairs of rows that agree on the columns: what a smaller context may have more of."""
    return {pair for group in naive._groups(columns, values, nulls) for pair in combinations(group, 2)}


@given(data=st.data(), table=tables(max_rows=10, max_columns=5), nulls=nulls(), pairs=st.sampled_from([1, 10]))
def test_equals_the_oracle(data, table, nulls, pairs):
    """Whatever rows there are to begin with; ``pairs``: how many that break a dependency join them."""
    sample = data.draw(st.none() | st.lists(st.integers(0, table.rows - 1))) if table.rows else None
    saved, module.PAIRS = module.PAIRS, pairs
    try:
        with encode(open_source(to_arrow(table))) as relation:
            found = discover_levels(LocalEngine(relation, nulls), sample=sample)
    finally:
        module.PAIRS = saved
    assert not found.partial
    assert len(found.fds) == len(set(found.fds))
    assert set(found.fds) == naive.minimal_fds(table.values, nulls)
    assert len(found.ods) == len(set(found.ods))
    assert set(found.ods) == naive.minimal_ods(table.values, nulls)


@given(data=st.data(), table=tables(max_rows=8, min_columns=2), nulls=nulls())
def test_some_columns(data, table, nulls):
    columns = data.draw(st.lists(st.sampled_from(table.columns), min_size=1, unique=True))
    ordered = data.draw(st.sets(st.sampled_from(table.columns)))
    values = {c: table.values[c] for c in columns}
    with encode(open_source(to_arrow(table))) as relation:
        found = discover_levels(
            LocalEngine(relation, nulls, workers=DriverThreads(3)), columns=columns, ordered=ordered
        )
    assert set(found.fds) == naive.minimal_fds(values, nulls)
    assert set(found.ods) == naive.minimal_ods(values, nulls, ordered=ordered)


@given(data=st.data(), table=tables(min_rows=1, max_rows=10, min_columns=2), nulls=nulls())
def test_checks(data, table, nulls):
    """Answers about one context, and the rows that break what does not hold; on all rows and on some."""
    context = data.draw(st.sets(st.integers(0, len(table.columns) - 1), max_size=len(table.columns) - 1))
    chosen = sorted(data.draw(st.sets(st.integers(0, table.rows - 1))))
    others = [c for c in range(len(table.columns)) if c not in context]
    sides = [(a, b, down) for a in others for b in others if a < b for down in (0, 1)]
    asked = Candidates(
        sum(1 << c for c in context), np.array(others, np.int64), np.array(sides, np.int32).reshape(-1, 3)
    )
    names = [table.columns[c] for c in context]
    rules = [
        *(FunctionalDependency(names, table.columns[c]) for c in others),
        *(OrderCompatible(names, table.columns[a], table.columns[b], bool(down)) for a, b, down in sides),
    ]
    with encode(open_source(to_arrow(table))) as relation:
        whole, some = Rows.whole(relation, nulls), Rows.some(relation, nulls, np.array(chosen, np.int32))
        for rows, values in ((whole, table), (some, table.take(chosen))):
            answers = rows.check(asked, 2)
            broken = [*(answers.constants == BROKEN), *(answers.orders == BROKEN)]
            violations = [naive.violations(rule, values.values, nulls) for rule in rules]
            assert broken == [bool(v) for v in violations]
            breaking = set(answers.breaking.tolist())
            assert all(any({s, t} <= breaking for s, t in v) for v in violations if v)
            assert breaking <= {row for v in violations for pair in v for row in pair}
            for c, answer in zip(others, answers.constants, strict=True):
                same_pairs = agreeing([*names, table.columns[c]], values.values, nulls) == agreeing(
                    names, values.values, nulls
                )
                assert (answer == HOLDS_FULLY) == same_pairs


@given(table=tables(max_rows=8), nulls=nulls(), reads=st.integers(0, 30))
def test_what_is_found_before_the_deadline_holds(table, nulls, reads):
    class Soon(Deadline):
        left = reads

        @property
        def passed(self):
            self.left -= 1
            self.stopped = self.stopped or self.left < 0
            return self.stopped

    with encode(open_source(to_arrow(table))) as relation:
        found = discover_levels(LocalEngine(relation, nulls), deadline=Soon(), sample=range(min(3, table.rows)))
    fds, ods = naive.minimal_fds(table.values, nulls), naive.minimal_ods(table.values, nulls)
    assert set(found.fds) <= fds
    assert set(found.ods) <= ods
    assert found.partial or (set(found.fds), set(found.ods)) == (fds, ods)
