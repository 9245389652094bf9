"""Checking by Spark tasks gives what the driver's threads give; violations and rows as Spark frames."""

import gc

import numpy as np
import pyarrow as pa
import pytest

import rowlaw
from rowlaw.engine.local.engine import LocalEngine
from rowlaw.engine.local.rows import Part
from rowlaw.errors import RowlawError
from rowlaw.relation import encode
from rowlaw.rules import parse
from rowlaw.source import open_source
from rowlaw.spark.jobs import DriverThreads, SparkTasks

RULES = [
    "key (a, b)",
    "fd (a) -> b",
    "fd (a, c) -> d",
    "od {a}: x ~ y",
    "od {}: x ~ y desc",
    "od [a, x desc] -> [y]",
    "not (s.x < t.y and s.y >= t.x)",
    "not (s.a = t.b and s.x < t.x and s.y < t.y and s.c != t.c)",
    "not (s.x < s.y)",
    "not (s.x < 100 and t.y > 900 and s.a = t.a)",
    "not (s.x < t.x and s.y < t.y and s.d > t.d)",
]


@pytest.fixture(scope="module")
def table():
    random = np.random.default_rng(1)
    n = 3_000
    columns = {
        name: random.integers(0, size, n)
        for name, size in {"a": 40, "b": 40, "c": 3, "d": 9, "x": 1000, "y": 1000}.items()
    }
    columns["a"][: n // 2] = 7  # skew: half of the rows in one group
    return pa.table({name: pa.array(values, mask=random.random(n) < 0.02) for name, values in columns.items()})


@pytest.fixture(scope="module")
def relation(table):
    with encode(open_source(table)) as found:
        yield found


@pytest.mark.parametrize("nulls", ["unknown", "equal"])
def test_tasks_and_threads_agree(spark, relation, nulls, monkeypatch):
    monkeypatch.setattr("rowlaw.engine.local.tasks.SPLIT_SECONDS", 0.0)  # every rule in pieces
    rules = [parse(text) for text in RULES]
    threads = LocalEngine(relation, nulls, workers=DriverThreads(1)).count(rules)
    tasks = LocalEngine(relation, nulls, workers=SparkTasks(spark)).count(rules)
    for text, a, b in zip(RULES, threads, tasks, strict=True):
        assert a.pairs == b.pairs, text
        assert np.array_equal(a.rows, b.rows), text
        assert np.array_equal(a.per_row, b.per_row), text


def test_who_does_the_work(spark, relation):
    """A local session has the cores that the driver's threads have; only a cluster brings more."""
    engine = LocalEngine(relation)
    assert isinstance(engine.workers_for(0.5), DriverThreads)
    assert isinstance(engine.workers_for(50.0), DriverThreads)
    assert isinstance(LocalEngine(relation, workers=SparkTasks(spark)).workers_for(0.5), SparkTasks)


def test_progress_of_a_spark_job(spark):
    heard = []
    SparkTasks(spark).map(
        lambda _: __import__("time").sleep(0.7), [0] * 4, "sleep", lambda done, total: heard.append((done, total))
    )
    assert heard
    assert all(0 <= done <= total == 4 for done, total in heard)


def test_violations_as_a_frame(spark, table):
    result = rowlaw.check(table, {"city": "fd (a, c) -> b", "one": "not (s.x < s.y)"})
    frame = result.violations("city")
    assert frame.columns == ["rule", "s_row", "t_row", "s_a", "t_a", "s_b", "t_b", "s_c", "t_c"]
    assert frame.count() == result.counts["city"]
    wrong = frame.where("s_a != t_a or s_c != t_c or s_b = t_b or s_row = t_row or s_b is null")
    assert wrong.count() == 0
    single = result.violations("one")
    assert single.columns == ["rule", "s_row", "t_row", "s_x", "s_y"]
    assert single.where("s_x < s_y").count() == result.counts["one"]
    rows = result.rows
    assert rows.columns == ["row", "rule", "pairs"]
    assert rows.where("rule = 'city'").count() == result["city"].rows
    assert rows.groupBy("rule").sum("pairs").collect()[0][1] in (2 * result.counts["city"], result.counts["one"])
    assert rows.first()["pairs"] == max(result.findings.worst(1)[0].pairs_of.values())


def test_a_frame_outlives_its_result(spark, table):
    frame = rowlaw.check(table, "fd (a, c) -> b").violations("R1")
    assert frame.count() > 0


def test_a_frame_made_from_a_frame_outlives_both(spark, table):
    result = rowlaw.check(table, "fd (a, c) -> b")
    violations = result.counts["R1"]
    derived = result.violations("R1").filter("s_row >= 0")
    result.close()
    del result
    gc.collect()
    assert derived.count() == violations


def test_rows_of_rules_that_hold_and_rules_that_do_not(spark):
    people = spark.createDataFrame([(1, "07030", "Hoboken"), (2, "07030", "Hobken")], "id int, zip string, city string")
    result = rowlaw.check(people, ["fd (zip) -> city", "key (id)"], row_id="id")
    assert sorted(tuple(row) for row in result.rows.collect()) == [(1, "R1", 2), (2, "R1", 2)]
    clean = rowlaw.check(people, ["key (id)"], row_id="id")
    assert clean.rows.schema == result.rows.schema
    assert clean.rows.collect() == []
    assert clean.violations("R1").collect() == []


def test_spark_frame_in_violations_out(spark):
    frame = spark.createDataFrame(
        [("07030", "Hoboken"), ("07030", "Hobken"), (None, "x")], "`zip code` string, city string"
    )
    result = rowlaw.check(frame, "fd (`zip code`) -> city")
    assert result.counts == {"R1": 2}
    assert sorted(r["s_city"] for r in result.violations("R1").collect()) == ["Hobken", "Hoboken"]


def test_part_against_part(spark, relation):
    rule = parse("fd (a) -> b")
    left, right = np.arange(0, 1000, dtype=np.int32), np.arange(500, 3000, dtype=np.int32)
    one = LocalEngine(relation, workers=DriverThreads()).count([rule], Part(left, right))[0]
    other = LocalEngine(relation, workers=SparkTasks(spark)).count([rule], Part(left, right))[0]
    assert one.pairs == other.pairs > 0


def test_the_sql_of_a_rule_finds_the_same_pairs(spark, table):
    from rowlaw.rules import sql

    small = table.slice(0, 400).append_column("id", pa.array(range(400)))
    spark.createDataFrame(small).createOrReplaceTempView("small")
    for nulls in ("unknown", "equal"):
        for text in RULES:
            count = rowlaw.check(small, text, nulls=nulls).counts["R1"]
            query = sql(parse(text), "small", row_id="id", nulls=nulls)
            assert spark.sql(query).count() == count, (text, nulls)
    keyless = sql(parse("fd (a) -> b"), "small")
    assert spark.sql(keyless).count() == rowlaw.check(small, "fd (a) -> b").counts["R1"]


def test_a_job_that_fails_is_a_named_error(spark):
    """Not the exit code of a broken rule, and no traceback of Spark's."""
    from pyspark.sql import functions as f

    broken = spark.range(3).withColumn("a", f.udf(lambda i: 1 // (i - 1), "int", useArrow=False)("id"))
    with pytest.raises(RowlawError, match="JOB_FAILED.*ZeroDivisionError|(?s:JOB_FAILED.*division)") as raised:
        rowlaw.check(broken, "key (a)", engine="spark", progress=False)
    assert raised.value.exit_code == 3


def test_first_violations_where_each_row_has_one_partner(spark):
    """Three pairs of six rows: the three rows in most violations make only two of them."""
    frame = spark.createDataFrame([(value,) for value in (1, 1, 2, 2, 3, 3)], "a int")
    assert rowlaw.check(frame, "key (a)", engine="spark", progress=False).clashes("R1", 3).num_rows == 3
