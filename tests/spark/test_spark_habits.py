"""What Spark itself would do differently does not change an answer: time zones, decimals, names, and texts with rules
of their own."""

import datetime as dt
import time
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rowlaw
from rowlaw.engine.spark.engine import SparkEngine
from rowlaw.engine.spark.expressions import order_key
from rowlaw.engine.spark.limits import SparkLimits
from rowlaw.engine.spark.table import SparkTable
from rowlaw.rules import bind, parse_located
from rowlaw.source import open_source
from rowlaw.spark.jobs import frame_of
from tests import naive

TINY = SparkLimits(task_bytes=120, buckets=3)
HERE = "America/New_York"
# both are 1:30 in New York: clocks were set back between them
BEFORE, AFTER = (dt.datetime(2023, 11, 5, hour, 30) for hour in (5, 6))


@pytest.fixture
def elsewhere(spark, monkeypatch):
    """This process and the session have a time zone in which an hour came twice."""
    monkeypatch.setenv("TZ", HERE)
    time.tzset()
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", HERE)
    yield spark
    spark.conf.set("spark.sql.session.timeZone", before)
    monkeypatch.undo()
    time.tzset()


def moments(zone):
    return pa.timestamp("us", zone)


@pytest.fixture
def times():
    """`z` is an instant, `n` a local time; the first ten rows alternate, so that both values of `z` are in many
    rows."""
    z = [BEFORE, AFTER] * 5 + [None, BEFORE - dt.timedelta(days=1)]
    n = [BEFORE, BEFORE, AFTER, AFTER] * 3
    return {"z": z, "n": n, "a": [3, 1, 2, 5, 4, 1, 2, 3, 5, 0, 1, 2], "b": [1, 2, 3, 1, 2, 3, 5, 4, 0, 1, 1, 1]}


RULES = [
    "key (z)",
    "fd (z) -> a",
    "not (s.z = t.z and s.a < t.a and s.b > t.b)",
    "not (s.z = t.z and s.a < t.a and s.n != t.n)",
    "not (s.z < t.z and s.n > t.n)",
    "not (s.z = t.n)",
    "not (s.z = t.n and s.a < t.a)",
    "not (s.z < t.n)",
    "not (s.z >= t.n and s.a < t.b)",
    "not (s.z > s.n)",
    "not (s.z >= '2023-11-05 06:00:00')",
    "not (s.n = t.n and s.z < t.z and s.a < t.a)",
]


def test_moments_do_not_follow_a_time_zone(elsewhere, times):
    types = {"z": moments("UTC"), "n": moments(None), "a": pa.int64(), "b": pa.int64()}
    table = pa.table({name: pa.array(values, types[name]) for name, values in times.items()})
    source = open_source(frame_of(elsewhere, table).repartition(2))
    opened = SparkEngine(SparkTable(source.frame, source.schema, "unknown"), TINY)
    rules = [bind(parse_located(text), opened.types) for text in RULES]
    findings = opened.check(rules)
    held = opened.table.numbered.orderBy("row_number").toArrow().select(range(len(times))).rename_columns(list(times))
    values = {name: held.column(name).cast(moments(None) if name in "zn" else pa.int64()).to_pylist() for name in times}
    involved = findings.rows(RULES).toArrow().to_pylist()
    for i, rule in enumerate(rules):
        expected = naive.violations(rule, values, "unknown")
        assert findings.counts[i].pairs == len(expected), RULES[i]
        rows = {r["row"]: r["pairs"] for r in involved if r["rule"] == RULES[i]}
        assert rows == naive.row_counts(rule, values, "unknown"), RULES[i]
        listed = findings.violations(i, RULES[i]).toArrow().to_pylist()
        pairs = [(r["s_row"],) if r["t_row"] is None else (r["s_row"], r["t_row"]) for r in listed]
        assert sorted(pairs) == sorted(expected), RULES[i]
    opened.close()


def test_equal_numbers_of_all_types_have_one_key(spark):
    # Spark rounds these twice on the way from a short decimal to a double
    numbers = [Decimal(n).scaleb(-4) for n in (172757217426062276, 342061413842535958, 465971457039397689)]
    frame = spark.createDataFrame([(n, n) for n in numbers], "short decimal(18,4), long decimal(38,4)")
    keys = [
        order_key(frame[name], "number", pa.decimal128(digits, 4)) for name, digits in (("short", 18), ("long", 38))
    ]
    assert [tuple(row) for row in frame.select(*keys).collect()] == [(float(n), float(n)) for n in numbers]


@pytest.mark.parametrize("engine", ["spark", "auto"])
def test_columns_that_files_cannot_hold(spark, engine):
    frame = spark.sql("select id, id % 2 as c, make_interval(0, 0, 0, id) as i, null as n from range(3)")
    with pytest.warns(rowlaw.RowlawWarning, match="'i'"):
        result = rowlaw.check(frame, "key (c)", engine=engine, progress=False)
    flagged = result.flagged().drop("i").collect()
    assert sorted((r["id"], r["n"], r["broken_rules"]) for r in flagged) == [
        (0, None, ["R1"]),
        (1, None, []),
        (2, None, ["R1"]),
    ]
    assert {r["row"] for r in result.rows.collect()} == {r["row"] for r in flagged if r["broken_rules"]}
    result.close()


def test_files_that_would_cut_microseconds(spark):
    spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MILLIS")
    try:
        frame = spark.sql("select timestamp_micros(1000000 + id % 2) as m from range(3)")
        result = rowlaw.check(frame, "key (m)", engine="spark", progress=False)
        listed = result.violations("R1").collect()
        assert [len(listed), result.counts["R1"], result.rows.count()] == [2, 2, 2]
        result.close()
    finally:
        spark.conf.unset("spark.sql.parquet.outputTimestampType")


@pytest.mark.parametrize("sensitive", ["true", "false"])
@pytest.mark.parametrize("engine", ["spark", "auto"])
def test_names_that_differ_in_case_only(spark, tmp_path, engine, sensitive):
    spark.conf.set("spark.sql.caseSensitive", sensitive)
    try:
        frame = frame_of(spark, pa.table({"a": [1, 1, 2], "A": [5, 6, 7], "a.b": [1, 1, 1], "b`": ["x", "y", "x"]}))
        result = rowlaw.check(frame, ["fd (a) -> A", "fd (`a.b`) -> `b```"], engine=engine, progress=False)
        assert list(result.counts.values()) == [2, 4]
        assert result.violations("R1").columns == ["rule", "s_row", "t_row", "s_A", "t_A", "s_a", "t_a"]
        assert sorted(r["broken_rules"] for r in result.flagged().collect()) == [["R1", "R2"], ["R1", "R2"], ["R2"]]
        assert result.write_violations(tmp_path / "out/") == 6
        written = pq.read_table(tmp_path / "out")
        assert sorted(v for v in written.column("s_A").to_pylist() if v is not None) == [5, 6]
        result.close()
    finally:
        spark.conf.unset("spark.sql.caseSensitive")
