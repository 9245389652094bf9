"""Inequalities over columns in which one value has half of the rows: no task gets all of them."""

import numpy as np
import pyarrow as pa
import pytest

import rowlaw
from rowlaw.engine.spark.bucket import Buckets
from rowlaw.engine.spark.engine import SparkEngine
from rowlaw.engine.spark.limits import SparkLimits
from rowlaw.engine.spark.shape import Shape
from rowlaw.engine.spark.table import SparkTable
from rowlaw.engine.spark.view import View
from rowlaw.rules import parse
from rowlaw.source import open_source
from rowlaw.spark.jobs import frame_of

ROWS = 2_000
LIMITS = SparkLimits(task_bytes=8_000, buckets=16)
HUGE = 2**60  # neighbours have one order key


def table():
    random = np.random.default_rng(5)
    number = np.arange(ROWS)
    half = number % 2 == 0
    return pa.table(
        {
            "amount": np.where(half, 0, 1 + random.permutation(ROWS)),
            "share": np.where(half, -0.0, random.normal(size=ROWS)),
            "name": np.where(half, "none", random.permutation(ROWS).astype(str)),
            "huge": HUGE + number % 7,
            "exact": pa.array([f"0.{'0' * 18}{n % 5}" for n in number]).cast(pa.decimal128(38, 20)),
            "other": random.permutation(ROWS),
        }
    )


def of(session, arrow):
    source = open_source(frame_of(session, arrow).repartition(3))
    return SparkTable(source.frame, source.schema, "unknown")


@pytest.mark.parametrize("column", ["amount", "share", "name"])
def test_rows_of_a_frequent_value_are_not_sent(quick_spark, column):
    held = of(quick_spark, table())
    mine, other = held.names[column], held.names["other"]
    (denial,) = parse(f"not (s.{mine} < t.{mine} and s.{other} > t.{other})").denials
    buckets = Buckets(View(held, (mine, other), LIMITS), Shape.of(denial))
    sent = buckets.passes(held.plain).groupBy("part").count().collect()
    assert {row["part"]: row["count"] for row in sent} == {0: ROWS // 2, 1: ROWS}


@pytest.mark.parametrize("column", ["amount", "share", "name", "huge", "exact"])
def test_the_counts_stay_exact(quick_spark, column):
    texts = [
        text
        for op in ("<", "<=", ">", ">=")
        for text in (
            f"not (s.{column} {op} t.{column} and s.other > t.other)",
            f"not (s.other < t.other and s.{column} {op} t.{column})",
        )
    ]
    rules = {text: text for text in texts}
    parsed = [parse(rule) for rule in rules.values()]
    engine = SparkEngine(of(quick_spark, table()), LIMITS)
    found = [count.pairs for count in engine.check(parsed).counts]
    engine.close()
    assert found == list(rowlaw.check(table(), rules, engine="local", progress=False).counts.values())
