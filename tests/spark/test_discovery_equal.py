"""Discovery on Spark finds the rules that discovery in this process finds, from a sample of a few rows."""

import math
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rowlaw
from rowlaw.discovery import covers
from rowlaw.discovery.discover import run
from rowlaw.engine.local.engine import LocalEngine
from rowlaw.engine.questions import Question, Target
from rowlaw.engine.spark import costs, discovery
from rowlaw.engine.spark.discovery import SparkDiscoveryEngine
from rowlaw.engine.spark.limits import SparkLimits
from rowlaw.engine.spark.table import SparkTable
from rowlaw.errors import RowlawError
from rowlaw.predicates import SpaceOptions
from rowlaw.relation import encode
from rowlaw.rules import parse
from rowlaw.source import open_source
from rowlaw.spark.jobs import frame_of
from tests.spark.examples import few
from tests.strategies import nulls, tables, to_arrow

FEW = SparkLimits(learnt_rows=3)
CUT = SparkLimits(learnt_rows=3, task_bytes=400, buckets=3)  # groups that are too large for a task


def on_spark(session, table, nulls, limits):
    source = open_source(frame_of(session, table).repartition(2))
    return SparkDiscoveryEngine(SparkTable(source.frame, source.schema, nulls), limits)


def in_this_process(table, nulls):
    return LocalEngine(encode(open_source(table)), nulls)


def texts(found):
    return sorted(str(rule.rule) for rule in found)


class Way(NamedTuple):
    """How rules are validated: by comparing rows that agree if ``cover`` is cheap, by counting if ``look`` is dear."""

    cover_seconds: float = covers.COVER_SECONDS
    look_row: float = costs.LOOK_ROW


WAYS = [Way(), Way(cover_seconds=-1e9), Way(look_row=1e9)]


def set_way(patch, way):
    patch.setattr(covers, "COVER_SECONDS", way.cover_seconds)
    patch.setattr(costs, "LOOK_ROW", way.look_row)


@few(6)
@given(
    table=tables(min_columns=2, max_columns=3, max_rows=7),
    nulls=nulls(),
    # not comparisons across columns in tasks of a few bytes: hundreds of candidates, each in many tasks, take minutes
    setting=st.sampled_from([(FEW, False), (FEW, True), (CUT, False)]),
    way=st.sampled_from(WAYS),
)
def test_the_same_rules(quick_spark, table, nulls, setting, way):
    limits, cross = setting
    arrow = to_arrow(table)
    options = SpaceOptions(cross=cross, single_row=cross)
    expected = texts(run(in_this_process(arrow, nulls), options))
    engine = on_spark(quick_spark, arrow, nulls, limits)
    with pytest.MonkeyPatch.context() as patch:
        set_way(patch, way)
        assert texts(run(engine, options)) == expected
    engine.close()


@pytest.mark.parametrize("way", WAYS[1:])
def test_the_same_denial_constraints_in_every_way(quick_spark, monkeypatch, way):
    """Columns of different types, so that one in the place of another shows; rules that the sample has and the table
    breaks."""
    table = people(200).append_column("name", pa.array([f"n{i % 50}" for i in range(200)]))
    expected = texts(run(in_this_process(table, "unknown"), SpaceOptions(cross=False), kinds=("dc",)))
    set_way(monkeypatch, way)
    engine = on_spark(quick_spark, table, "unknown", SparkLimits(learnt_rows=60))
    assert texts(run(engine, SpaceOptions(cross=False), kinds=("dc",))) == expected
    engine.close()


def test_more_evidence_than_may_be_brought_here_is_asked_for_rule_by_rule(quick_spark, monkeypatch):
    table = people(300)
    expected = texts(run(in_this_process(table, "unknown"), SpaceOptions(cross=False), kinds=("dc",)))
    set_way(monkeypatch, Way(cover_seconds=-1e9))
    engine = on_spark(quick_spark, table, "unknown", SparkLimits(learnt_rows=60, learnt_bytes=16))
    assert texts(run(engine, SpaceOptions(cross=False), kinds=("dc",))) == expected
    engine.close()


def people(rows=400):
    random = np.random.default_rng(3)
    zips = random.integers(0, 40, rows)
    salary = random.integers(10, 60, rows)
    columns = {
        "zip": zips,
        "city": zips // 3,
        "state": zips // 12,
        "salary": salary,
        "tax": salary * 2 + zips // 12 * 0,
        "id": np.arange(rows),
    }
    columns["city"][7] = 99  # breaks zip -> city, which a small sample does not show
    return pa.table(columns)


@pytest.mark.parametrize("error", [0.0, 0.02])
def test_rules_with_and_without_exceptions(quick_spark, error):
    table = people()
    engine = on_spark(quick_spark, table, "unknown", SparkLimits(learnt_rows=60))
    assert not engine.sample_is_whole
    kinds = ("key", "fd", "od", "dc") if not error else ("key", "fd", "od")
    here, there = (
        run(e, SpaceOptions(cross=False), kinds=kinds, error=error) for e in (in_this_process(table, "unknown"), engine)
    )
    assert texts(there) == texts(here)
    assert "fd (zip) -> city" in texts(run(engine, SpaceOptions(cross=False), kinds=("fd",), error=0.02))
    assert "fd (zip) -> city" not in texts(there) or error
    engine.close()


@few(5)
@given(table=tables(min_columns=2, max_columns=4, max_rows=9), nulls=nulls())
def test_statistics_are_those_of_one_process(quick_spark, table, nulls):
    arrow = to_arrow(table)
    here, there = in_this_process(arrow, nulls), on_spark(quick_spark, arrow, nulls, FEW)
    for column in here.statistics.columns:
        other = there.statistics.column(column.name)
        assert (other.type, other.distinct, other.nulls) == (column.type, column.distinct, column.nulls)
        assert len(there.statistics.frequent_values(column.name, 0.3)) == len(
            here.statistics.frequent_values(column.name, 0.3)
        )
        if column.type == "number":
            assert there.statistics.mean(column.name, exact=True) == here.statistics.mean(column.name, exact=True)
    for a in here.statistics.columns:
        for b in here.statistics.columns:
            if a.type == b.type:
                assert there.statistics.shared_values(a.name, b.name) == here.statistics.shared_values(a.name, b.name)
    of_pairs = np.array([True, False])
    for names in ([c.name for c in here.statistics.columns[:2]], []):
        asked = [[name in names for name in known.names] for known in (here.known_rows, there.known_rows)]
        found = [
            known.could_break(
                *(np.array([line, line]).reshape(2, len(known.names)).astype(bool) for _ in range(2)), of_pairs
            ).tolist()
            for known, line in zip((here.known_rows, there.known_rows), asked, strict=True)
        ]
        assert found[0] == found[1]
    there.close()


def test_counterexamples_are_pairs_of_the_table(quick_spark):
    table = people()
    engine = on_spark(quick_spark, table, "unknown", SparkLimits(learnt_rows=60))
    broken, holds, ordered = (parse(text) for text in ("fd (zip) -> city", "fd (city) -> state", "od {}: salary ~ zip"))
    answers = engine.counterexamples([broken, holds, ordered], 5)
    assert [len(pairs) > 0 for pairs in answers] == [True, False, True]
    rows = answers[0].relation.decode(answers[0].rows.ravel(), ["zip", "city"]).to_pylist()
    assert all(s["zip"] == t["zip"] and s["city"] != t["city"] for s, t in zip(rows[::2], rows[1::2], strict=True))
    assert all(row in table.select(["zip", "city"]).to_pylist() for row in rows)
    names = ["zip", "city", "state"]
    asked = [Question((0,), (Target(1), Target(2))), Question((), (Target(2),))]
    found = [[len(pairs) > 0 for pairs in answer] for answer in engine.ask(names, asked, 5)]
    assert found == [[True, False], [True]]
    assert engine.fewest_removed(names, asked) == in_this_process(table, "unknown").fewest_removed(names, asked)
    engine.close()


def test_partitions_by_two_columns_where_the_groups_of_each_are_too_large(quick_spark):
    rows = np.arange(400)
    table = pa.table({"a": rows % 2, "b": rows // 2 % 2, "c": rows // 4, "d": rows // 8 * (rows % 4)})
    limits = SparkLimits(learnt_rows=60, task_bytes=6_000)  # some 125 rows
    engine = on_spark(quick_spark, table, "unknown", limits)
    a, b, c = (engine.table.names[name] for name in "abc")
    assert engine.roots([[a, b], [a], [c, a]]) == {(c,): [2], (a, b): [0], (): [1]}
    laws = [parse(text).denials for text in ("key (a, b)", "fd (a) -> b", "key (a, c)", "fd () -> b")]
    assert engine.asked_first(laws[:3]) == [2]
    assert engine.asked_first([laws[1], laws[3]]) == [0, 1]
    assert [engine.agreeing_pairs([name]) for name in "ab"] == [math.inf, math.inf]
    assert engine.agreeing_pairs(["a", "b"]) == pytest.approx(20_000, rel=0.3)
    kinds = ("key", "fd", "od")
    assert texts(run(engine, SpaceOptions(cross=False), kinds=kinds)) == texts(
        run(in_this_process(table, "unknown"), SpaceOptions(cross=False), kinds=kinds)
    )
    engine.close()


def test_estimated_counts_are_near_the_exact_ones(quick_spark):
    table = people(5_000)
    rules = [parse(text) for text in ("key (zip)", "fd (state) -> city", "not (s.salary < 20)")]
    exact = in_this_process(table, "unknown").counts(rules)
    whole = on_spark(quick_spark, table, "unknown", SparkLimits())
    assert whole.estimated_counts(rules) == exact
    sampled = on_spark(quick_spark, table, "unknown", SparkLimits(learnt_rows=2_000))
    assert sampled.estimated_counts(rules) == pytest.approx(exact, rel=0.2)
    for engine in (whole, sampled):
        engine.close()


def test_strategies_that_need_all_rows_are_refused(quick_spark):
    engine = on_spark(quick_spark, people(), "unknown", SparkLimits(learnt_rows=60))
    for strategy in ("pairs", "hydra", "levels"):
        with pytest.raises(RowlawError, match="larger than what this process may hold"):
            run(engine, SpaceOptions(cross=False), strategy=strategy)
    engine.close()


def test_a_time_limit_gives_what_is_proven(quick_spark):
    found = rowlaw.discover(frame_of(quick_spark, people()), engine="spark", time_limit=0.5, progress=False)
    assert found.partial


def test_progress_says_which_job_of_how_many_runs(quick_spark, monkeypatch):
    """Each round of validation plans its jobs, one for each column that rows meet by, and says how far it is."""
    told = []
    monkeypatch.setattr(discovery, "jobs", lambda done, planned: told.append((done, planned)))
    table = pa.table({"a": range(30), "b": [i % 3 for i in range(30)], "c": [i % 5 for i in range(30)]})
    run(on_spark(quick_spark, table, "unknown", FEW), SpaceOptions(), kinds=("fd",))
    rounds = [told[i : i + planned] for i, (done, planned) in enumerate(told) if done == 0 and planned]
    assert rounds
    assert all([done for done, _ in one] == list(range(one[0][1])) for one in rounds)
    assert told[-1] == (0, 0)


def test_two_columns_that_differ_and_none_that_is_equal(quick_spark):
    """Taken apart, the rule has a part without any column: all pairs of rows."""
    table = pa.table({"a": [1, 1, 2, 3, 4], "b": [1, 2, 2, 3, 4]})
    engine = on_spark(quick_spark, table, "unknown", CUT)
    (pairs,) = engine.counterexamples([parse("not (s.a != t.a and s.b != t.b)")], 3)
    assert len(pairs) == 3
