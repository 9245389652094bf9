"""Rows that take part in violations are held by this process where they are few; the answers do not depend on it."""

from decimal import Decimal

import pyarrow as pa
import pytest

import rowlaw
from rowlaw.engine.spark.engine import SparkEngine
from rowlaw.engine.spark.limits import SparkLimits
from rowlaw.engine.spark.table import SparkTable
from rowlaw.rules import parse_located
from rowlaw.rules.bind import bind
from rowlaw.source import open_source
from rowlaw.spark.jobs import frame_of

RULES = [
    "fd (row) -> city",
    "key (zip, at)",
    "not (s.row = t.row and s.x < t.x and s.y > t.y)",
    "not (s.x > s.y)",
    "not (s.x < t.y and s.y > t.x and s.row != t.row)",
    "fd () -> zip",
    "key (id)",
    "not (s.at >= '2023-11-05 06:00:00')",
    "od {city}: x ~ y",
    "fd (zip) -> amount",
]


@pytest.fixture(scope="module")
def table():
    n = 24
    return pa.table(
        {
            "id": list(range(n, 0, -1)),
            "row": [i % 5 for i in range(n)],  # a name that tables of rows have too
            "city": [None if i == 7 else "Ulm" if i % 5 else f"Köln {i % 2}" for i in range(n)],
            "zip": ["07030" if i < 20 else "10001" for i in range(n)],
            "x": [float("nan") if i == 3 else i * 7 % 11 / 2 for i in range(n)],
            "y": [i * 5 % 13 / 2 for i in range(n)],
            "amount": pa.array([Decimal(i % 3).scaleb(-2) for i in range(n)], pa.decimal128(9, 2)),
            "at": pa.array(
                [1_699_162_000_000_000 + i % 9 * 3_600_000_000 for i in range(n)], pa.timestamp("us", "UTC")
            ),
        }
    )


@pytest.mark.parametrize(("row_id", "nulls"), [((), "unknown"), (("id",), "equal"), (("zip", "id"), "unknown")])
def test_the_answers_are_the_same(quick_spark, table, row_id, nulls):
    source = open_source(frame_of(quick_spark, table).repartition(2).localCheckpoint())
    answers = []
    for driver_bytes in (0, 1 << 20):
        opened = SparkEngine(
            SparkTable(source.frame, source.schema, nulls, row_id), SparkLimits(driver_bytes=driver_bytes)
        )
        findings = opened.check([bind(parse_located(text), opened.types) for text in RULES])
        broken = [i for i, count in enumerate(findings.counts) if count.pairs]
        assert all((findings.held(i) is None) == (not driver_bytes) for i in broken)
        answers.append(
            {
                "rows": [count.rows for count in findings.counts],
                "involved": findings.rows_involved,
                "first": [findings.first(i, 6) for i in range(len(RULES))],
                "one of each row": [findings.first(i, 6, each=1) for i in range(len(RULES))],
                "worst": findings.worst(5, ["row", "zip"]),
                "removal": [findings.rows_to_remove(i, 3) for i in range(len(RULES))],
                "all removed": [findings.rows_to_remove(i) for i in range(len(RULES))],
            }
        )
        opened.close()
    asked, held = answers
    for name in asked:
        assert held[name] == asked[name], name
    assert asked["involved"] > 0


def test_a_rule_that_most_rows_break_leaves_the_others_held(quick_spark, table):
    source = open_source(frame_of(quick_spark, table))
    two_rows = SparkLimits(driver_bytes=100)
    opened = SparkEngine(SparkTable(source.frame, source.schema, "unknown", ("id",)), two_rows)
    texts = ["not (s.x >= 0)", "not (s.x < t.y and s.y > t.x)", "not (s.id = 3)"]
    findings = opened.check([bind(parse_located(text), opened.types) for text in texts])
    assert [findings.held(i) is None for i in range(3)] == [True, True, False]
    rows = [count.rows for count in findings.counts]
    assert (rows[0], rows[2]) == (23, 1)
    assert rows[1] == findings.involved(1).count() > 2
    opened.close()


def test_a_report_takes_few_jobs(spark, table):
    """One query for what is shown of several rules, not several for each rule."""
    result = rowlaw.check(frame_of(spark, table), RULES, row_id="id", engine="spark", progress=False)
    tracker = spark.sparkContext.statusTracker()

    def jobs():
        return sum(1 for number in range(10_000) if tracker.getJobInfo(number) is not None)

    before = jobs()
    (
        result.causes(),
        result.worst(5),
        [result.side_by_side(v.id) for v in result.verdicts],
        result.findings.rows_involved,
    )
    assert jobs() - before <= 2 * len(RULES)
    result.close()
