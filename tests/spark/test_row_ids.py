"""Row ids on Spark: of one column or several, they are the oracle's, and all frames of a result join by them."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rowlaw
from rowlaw.engine.open import open_engine
from rowlaw.engine.spark.limits import SparkLimits
from rowlaw.errors import RowlawError
from rowlaw.source import open_source
from rowlaw.source.row_ids import named_records, row_names
from rowlaw.spark.jobs import frame_of
from tests import naive
from tests.property.test_row_ids import ID, with_ids
from tests.spark.examples import few
from tests.strategies import nulls, rules, tables

pytestmark = pytest.mark.usefixtures("quick_spark")

TINY = SparkLimits(task_bytes=120, buckets=3)


@few(5)
@given(
    data=st.data(),
    table=tables(min_columns=2, max_rows=6),
    nulls=nulls(),
    limits=st.sampled_from([TINY, SparkLimits()]),
)
def test_ids_of_several_columns_are_those_of_the_oracle(spark, data, table, nulls, limits):
    arrow, ids = with_ids(table, data)
    rule = data.draw(rules(table))
    engine = open_engine(
        open_source(frame_of(spark, arrow).repartition(2)),
        nulls,
        row_id=ID,
        engine="spark",
        columns=list(rule.columns),
        limits=limits,
    )
    findings = engine.check([rule])
    violations = naive.violations(rule, table.values, nulls)
    expected = sorted(tuple(ids[row] for row in pair) for pair in violations)
    listed = named_records(findings.violations(0, "R").select("s_row", "t_row").toArrow())
    assert sorted(tuple(id for id in (r["s_row"], r["t_row"]) if id is not None) for r in listed) == expected
    counts = {ids[row]: pairs for row, pairs in naive.row_counts(rule, table.values, nulls).items()}
    rows = findings.rows(["R"]).toArrow()
    assert dict(zip(row_names(rows.column("row")), rows.column("pairs").to_pylist(), strict=True)) == counts
    assert {worst.row: worst.pairs for worst in findings.worst(table.rows + 1, rule.columns)} == counts
    shown = [tuple(r[name] for name in ("s_row", "t_row") if name in r) for r in named_records(findings.first(0, 3))]
    assert set(shown) <= set(expected)
    assert len(shown) == min(3, len({frozenset(pair) for pair in expected}))
    assert set(findings.rows_to_remove(0).first) <= set(counts)
    engine.close()


@pytest.mark.parametrize("engine", ["local", "spark", "auto"])
@pytest.mark.parametrize("row_id", [None, "id", ["day", "flight no"]])
def test_frames_of_a_result_join_with_each_other_and_with_the_input(spark, engine, row_id):
    table = pa.table(
        {
            "id": [f"r{i}" for i in range(40)],
            "day": [i // 8 for i in range(40)],
            "flight no": [i % 8 for i in range(40)],
            "zip": [i % 10 for i in range(40)],
            "city": [str(i % 9) for i in range(40)],
        }
    )
    frame = frame_of(spark, table).repartition(3)
    result = rowlaw.check(frame, ["fd (zip) -> city", "not (s.day > 3)"], row_id=row_id, engine=engine, progress=False)
    flagged, rows, violations = result.flagged(), result.rows, result.violations("R1")
    assert flagged.columns == [*table.column_names, "row", "broken_rules"]
    assert flagged.count() == 40
    joined = flagged.join(rows, "row")
    assert joined.count() == rows.count()
    assert joined.where("array_contains(broken_rules, rule)").count() == rows.count()
    sides = violations.join(flagged.withColumnRenamed("row", "s_row"), "s_row")
    assert sides.count() == result.counts["R1"]
    assert sides.where("s_city != city or s_zip != zip").count() == 0
    if row_id == "id":
        assert rows.join(frame, rows["row"] == frame["id"]).count() == rows.count()
    elif row_id is not None:
        assert dict(rows.dtypes)["row"] == "struct<day:bigint,flight no:bigint>"
        assert rows.select("row.*", "rule").join(frame, ["day", "flight no"]).count() == rows.count()
    result.close()


@pytest.mark.parametrize("engine", ["local", "spark"])
def test_bad_ids(spark, engine):
    frame = frame_of(spark, pa.table({"a": [1, 1, 2, 1], "b": ["x", "y", "x", "x"], "c": [1, 2, None, 4]}))
    for row_id, message in [
        (["a", "b"], "'a, b' is not unique: 1 of 4 rows repeat an id"),
        (["a", "c"], "'c' has 1 nulls"),
        ("b", "'b' is not unique: 2 of 4 rows repeat an id"),
        (["a", "x"], "UNKNOWN_COLUMN: no column 'x'"),
    ]:
        with pytest.raises(RowlawError, match=message):
            rowlaw.check(frame, "key (b)", row_id=row_id, engine=engine, progress=False)
