"""SparkEngine, LocalEngine and the oracle give the same answers, whatever plan is taken.

Limits are set so low that tables of a few rows are cut by every plan: many tasks, groups that are too large for one,
few buckets. ``test_torture.py`` compares two hundred more tables, fifty to a check.
"""

from collections import Counter

import pyarrow as pa
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from rowlaw.engine.answers import Sides
from rowlaw.engine.spark.engine import SparkEngine
from rowlaw.engine.spark.limits import SparkLimits
from rowlaw.engine.spark.table import SparkTable
from rowlaw.rules import parse
from rowlaw.source import open_source
from rowlaw.spark.jobs import frame_of
from tests import naive
from tests.strategies import nulls, rules, tables, to_arrow

TINY = SparkLimits(task_bytes=120, buckets=3)
FOLDED = SparkLimits(fold_share=10.0)  # every rule is counted from a fold
LIMITS = [TINY, SparkLimits(), FOLDED]
# a failing case of some seconds is not made smaller: that would take longer than a test may
SETTINGS = {
    "suppress_health_check": [HealthCheck.function_scoped_fixture],
    "phases": [Phase.explicit, Phase.reuse, Phase.generate],
}


def engine(session, table, nulls, limits):
    source = open_source(frame_of(session, to_arrow(table)).repartition(2))
    return SparkEngine(SparkTable(source.frame, source.schema, nulls), limits)


def in_its_order(opened, table):
    """The table's values in the order in which Spark numbers its rows."""
    held = opened.table.numbered.orderBy("row_number").toArrow()
    columns = [
        held.column(i).cast(pa.timestamp("us")) if pa.types.is_timestamp(held.schema.types[i]) else held.column(i)
        for i in range(len(table.columns))
    ]
    return {name: column.to_pylist() for name, column in zip(table.columns, columns, strict=True)}


def as_pairs(listed):
    return sorted(
        (r["s_row"],) if r["t_row"] is None else (r["s_row"], r["t_row"]) for r in listed.toArrow().to_pylist()
    )


@settings(max_examples=50, **SETTINGS)
@given(data=st.data(), table=tables(min_columns=2, max_rows=8), nulls=nulls(), limits=st.sampled_from(LIMITS))
def test_counts(quick_spark, data, table, nulls, limits):
    chosen = data.draw(st.lists(rules(table), min_size=1, max_size=4))
    opened = engine(quick_spark, table, nulls, limits)
    assert opened.counts(chosen) == [len(naive.violations(rule, table.values, nulls)) for rule in chosen]
    opened.close()


@settings(max_examples=20, **SETTINGS)
@given(data=st.data(), table=tables(min_columns=2, max_rows=6), nulls=nulls(), limits=st.sampled_from(LIMITS))
def test_rows_and_pairs(quick_spark, data, table, nulls, limits):
    rule = data.draw(rules(table))
    opened = engine(quick_spark, table, nulls, limits)
    values = in_its_order(opened, table)
    findings = opened.check([rule])
    expected = naive.violations(rule, values, nulls)
    assert findings.counts[0].pairs == len(expected)
    involved = {r["row"]: r["pairs"] for r in findings.rows(["R"]).toArrow().to_pylist()}
    assert involved == naive.row_counts(rule, values, nulls)
    assert findings.counts[0].rows == len(involved)
    assert as_pairs(findings.violations(0, "R")) == sorted(expected)
    assert_first(findings, expected)
    opened.close()


def assert_first(findings, expected):
    shown = [tuple(r[name] for name in ("s_row", "t_row") if name in r) for r in findings.first(0, 3).to_pylist()]
    assert set(shown) <= set(expected)
    assert len(shown) == min(3, len({frozenset(pair) for pair in expected}))


@settings(max_examples=15, **SETTINGS)
@given(
    data=st.data(),
    table=tables(min_columns=2, max_rows=6),
    nulls=nulls(),
    limits=st.sampled_from(LIMITS),
    sides=st.tuples(*[st.sampled_from(["all", "old", "new"])] * 2),
)
def test_part_against_part(quick_spark, data, table, nulls, limits, sides):
    rule = data.draw(rules(table))
    new = data.draw(st.lists(st.booleans(), min_size=table.rows, max_size=table.rows))
    whole = to_arrow(table).append_column("which rows are new", pa.array(new, pa.bool_()))
    source = open_source(frame_of(quick_spark, whole).repartition(2))
    schema = source.schema.remove(source.schema.get_field_index("which rows are new"))
    opened = SparkEngine(SparkTable(source.frame, schema, nulls, new="which rows are new"), limits)
    values = in_its_order(opened, table)
    order = opened.table.numbered.orderBy("row_number").toArrow()
    flags = order.column(len(table.columns)).to_pylist()

    def of(side, row):
        return side == "all" or flags[row] == (side == "new")

    expected = [
        pair
        for pair in naive.violations(rule, values, nulls)
        if of(sides[0], pair[0]) and (len(pair) == 1 or of(sides[1], pair[1]))
    ]
    findings = opened.check([rule], Sides(*sides))
    assert findings.counts[0].pairs == len(expected)
    assert as_pairs(findings.violations(0, "R")) == sorted(expected)
    involved = {r["row"]: r["pairs"] for r in findings.rows(["R"]).toArrow().to_pylist()}
    assert involved == Counter(row for pair in expected for row in pair)
    assert_first(findings, expected)
    opened.close()


def test_a_column_that_must_be_equal_and_differ(quick_spark):
    source = open_source(frame_of(quick_spark, pa.table({"a": [1, 1, 2]})))
    opened = SparkEngine(SparkTable(source.frame, source.schema, "unknown"), SparkLimits())
    findings = opened.check([parse("not (s.a = t.a and s.a != t.a)")])
    assert findings.counts[0].pairs == 0
    assert findings.rows(["R"]).count() == 0
    assert findings.violations(0, "R").count() == 0
    opened.close()
