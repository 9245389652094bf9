"""New rows against an old table that Spark scans: the same answers as the definition gives, whichever engine answers in
the end."""

import datetime as dt

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rowlaw
from rowlaw.engine.against import engine as against
from rowlaw.engine.against import new_pairs, there
from rowlaw.engine.against.open import open_against
from rowlaw.engine.against.refuse import refused
from rowlaw.engine.spark.limits import SparkLimits
from rowlaw.errors import RowlawError
from rowlaw.rules import bind, parse
from rowlaw.source import open_source
from rowlaw.spark.jobs import frame_of
from tests import naive
from tests.property.test_against import split
from tests.property.test_refused import check
from tests.spark.examples import few
from tests.strategies import nulls, rules, tables, to_arrow

PEOPLE = "id int, zip string, city string, age int, pay double"


def opened(session, new, old, chosen, nulls, engine, limits=None):
    """The engine over two tables that Spark has in two partitions each."""
    sources = [open_source(frame_of(session, to_arrow(table)).coalesce(2)) for table in (new, old)]
    columns = list(dict.fromkeys(c for rule in chosen for c in rule.columns))
    return open_against(*sources, nulls, columns=columns, session=session, engine=engine, limits=limits)


@few(12)
@given(data=st.data(), table=tables(min_columns=2, max_rows=8), nulls=nulls())
def test_counts_after_a_scan_by_spark(quick_spark, data, table, nulls):
    new, old = split(data, table)
    chosen = data.draw(st.lists(rules(table), min_size=1, max_size=4))
    engine = opened(quick_spark, new, old, chosen, nulls, "local")
    assert engine.counts(chosen) == [
        len(naive.violations_against(rule, new.values, old.values, nulls)) for rule in chosen
    ]
    engine.close()


@few(8)
@given(
    data=st.data(),
    table=tables(min_columns=2, max_rows=8),
    nulls=nulls(),
    engine=st.sampled_from(["auto", "spark"]),
    scans=st.sampled_from([1, 12]),
)
def test_counts_where_the_old_rows_are(quick_spark, monkeypatch, data, table, nulls, engine, scans):
    monkeypatch.setattr(against, "FEW_OLD_ROWS", 0)
    monkeypatch.setattr(new_pairs, "RULES_AT_ONCE", 2)
    monkeypatch.setattr(new_pairs, "SCANS", scans)
    new, old = split(data, table)
    chosen = data.draw(st.lists(rules(table), min_size=1, max_size=4))
    opened_engine = opened(quick_spark, new, old, chosen, nulls, engine)
    findings = opened_engine.check(chosen)
    expected = [naive.violations_against(rule, new.values, old.values, nulls) for rule in chosen]
    assert [count.pairs for count in findings.counts] == [len(pairs) for pairs in expected]
    involved = [{row for pair in pairs for where, row in pair if where == "new"} for pairs in expected]
    assert [count.rows for count in findings.counts] == [len(rows) for rows in involved]
    assert findings.rows_involved == len(set().union(*involved))
    opened_engine.close()


@few(4)
@given(data=st.data(), table=tables(min_columns=2, max_rows=6), nulls=nulls(), many=st.booleans())
def test_rows_and_pairs_on_spark(quick_spark, monkeypatch, data, table, nulls, many):
    """``many``: as if there were too many new rows for the driver."""
    monkeypatch.setattr(there, "ROWS_HERE", -1 if many else 10)
    new, old = split(data, table)
    rule = data.draw(rules(table))
    engine = opened(quick_spark, new, old, [rule], nulls, "spark", SparkLimits(driver_bytes=0 if many else 1 << 20))
    findings = engine.check([rule])
    expected = naive.violations_against(rule, new.values, old.values, nulls)
    assert findings.counts[0].pairs == len(expected)
    pairs = [
        tuple(
            ("new" if r[flag] else "old", r[row])
            for row, flag in (("s_row", "new_s"), ("t_row", "new_t"))
            if r[row] is not None
        )
        for r in findings.violations(0, "R").toArrow().to_pylist()
    ]
    assert sorted(pairs) == expected
    involved = {
        ("new" if r["new"] else "old", r["row"]): r["pairs"] for r in findings.rows(["R"]).toArrow().to_pylist()
    }
    assert involved == {row: sum(pair.count(row) for pair in expected) for pair in expected for row in pair}
    assert findings.counts[0].rows == sum(where == "new" for where, _ in involved)
    flagged = findings.flagged(["R"]).toArrow().to_pylist()
    names = list(flagged[0]) if flagged else []
    assert {r[names[-2]] for r in flagged if r[names[-1]]} == {row for where, row in involved if where == "new"}
    assert len(flagged) == new.rows
    engine.close()


OLD = [(i, f"{i % 50:02}", f"city {i % 50}", 20 + i % 40, 100.0 + i % 40) for i in range(1000)]
NEW = [
    (5000, "07", "city 7", 30, 110.0),
    (5001, "07", "elsewhere", 30, 110.0),
    (999, "xx", "city x", 25, 180.0),
    (5003, "99", "a", 19, 1.0),
]
RULES = ["key (id)", "fd (zip) -> city", "not (s.age < t.age and s.pay > t.pay)", "not (s.pay > 150)"]


def test_only_rows_that_could_conflict_are_kept(spark):
    old, new = spark.createDataFrame(OLD, PEOPLE), spark.createDataFrame(NEW, PEOPLE)
    engine = open_against(open_source(new), open_source(old), columns=["id", "zip", "city"])
    both = engine._both([parse("key (id)"), parse("fd (zip) -> city")])
    assert both.names.old_rows == 21  # one id again, and the 20 rows of zip 07
    engine.close()


def assert_alike(result, row_id):
    """Rows have the same names in every answer."""
    named = {r["row"] for r in result.rows.where("new").collect()}
    first = result.worst(1)[0][0]
    if row_id == ["zip", "id"]:
        assert tuple(first) in {tuple(row) for row in named}
        assert str(first) == f"zip={first[0]}, id={first[1]}"
        removal = result.rows_to_remove("R2")
        assert ("07", 5001) in removal.first
        assert removal.exact == (removal.count == 1)  # else an upper bound
        assert result.clashes("R1").to_pylist()[0]["s_row"].keys() == {"zip", "id"}
        pairs = (
            result.violations("R2").where("new_s and not new_t").select("s_row.id", "t_row.zip").distinct().collect()
        )
        assert [tuple(pair) for pair in pairs] == [(5001, "07")]
    else:
        assert first in named


@pytest.mark.parametrize(
    ("engine", "row_id"),
    [
        ("auto", None),
        ("local", "id"),
        ("local", ["zip", "id"]),
        ("spark", None),
        ("spark", "id"),
        ("spark", ["zip", "id"]),
    ],
)
def test_frames_and_files_give_the_same(quick_spark, tmp_path, engine, row_id):
    frames = [quick_spark.createDataFrame(rows, PEOPLE).coalesce(1) for rows in (NEW, OLD)]
    held = [frame.toArrow() for frame in frames]
    paths = []
    for name, table in zip(("new", "old"), held, strict=True):
        paths.append(tmp_path / f"{name}.parquet")
        pa.parquet.write_table(table, paths[-1], row_group_size=300)
    answers = []
    given = [(frames[0], frames[1]), (paths[0], paths[1]), (held[0], frames[1]), (frames[0], paths[1])]
    for new, old in given[:1] if engine == "spark" else given:
        result = rowlaw.check(
            new, RULES, against=old, row_id=row_id, engine=engine, session=quick_spark, progress=False
        )
        rows = sorted((r["row"], r["rule"], r["pairs"], r["new"]) for r in result.rows.collect())
        assert_alike(result, row_id)
        good = sorted(r["id"] for r in result.good().collect())
        answers.append((result.counts, [v.rows for v in result.verdicts], rows, good, result["R2"].error))
        result.close()
    assert all(answer == answers[0] for answer in answers)
    assert answers[0][0] == {"R1": 2, "R2": 42, "R3": answers[0][0]["R3"], "R4": 1}
    assert answers[0][4] == 42 / (4 * 3 + 2 * 4 * 1000)


def test_a_column_that_is_not_there(spark):
    with pytest.raises(RowlawError, match="AGAINST_COLUMN: .*no column 'zip'"):
        rowlaw.check(pa.table({"zip": ["1"]}), "key (zip)", against=pa.table({"zap": ["1"]}), progress=False)


def test_a_column_of_another_type(spark):
    with pytest.raises(RowlawError, match="AGAINST_TYPE: .*'zip': string, and the old table has int64"):
        rowlaw.check(pa.table({"zip": ["1"]}), "key (zip)", against=pa.table({"zip": [1]}), progress=False)
    with pytest.raises(RowlawError, match="AGAINST_TYPE: .*'n': double, and the old table has int64"):
        rowlaw.check(pa.table({"n": [1.5]}), "key (n)", against=pa.table({"n": [1]}), progress=False)
    assert rowlaw.check(
        pa.table({"n": [1.0, None]}), "key (n)", against=pa.table({"n": [1]}), progress=False
    ).counts == {"R1": 2}


def test_text_files_are_typed_together(tmp_path):
    (tmp_path / "new.csv").write_text("zip,n\n07030,1\n12,2\n")
    (tmp_path / "old.csv").write_text("zip,n\nA1,1.5\n12,2\n")
    result = rowlaw.check(tmp_path / "new.csv", ["key (zip)", "key (n)"], against=tmp_path / "old.csv", progress=False)
    assert result.counts == {"R1": 2, "R2": 2}
    typed = pa.table({"zip": ["12"], "n": pa.array([2], pa.int32())})
    assert rowlaw.check(tmp_path / "new.csv", "key (zip, n)", against=typed, progress=False).counts == {"R1": 2}
    with pytest.raises(RowlawError, match=r"BAD_VALUE: .*old.csv, line 2, column 'n': '1.5' cannot be read as integer"):
        rowlaw.check(typed, "key (n)", against=tmp_path / "old.csv", progress=False)


def test_suspects_are_judged_by_all_rows_of_their_group(spark):
    old = pa.table({"zip": [1] * 8, "city": ["Hoboken"] * 8})
    new = pa.table({"zip": [1, 1], "city": ["Hobken", "Hoboken"]})
    for table in (old, spark.createDataFrame(old)):
        result = rowlaw.check(new, "fd (zip) -> city", against=table, progress=False)
        assert [(r["row"], r["usual"]) for r in result.suspects().to_pylist()] == [(0, "Hoboken")]


def test_timestamps_meet_whatever_the_time_zone(spark):
    moments = [dt.datetime(2024, 3, 31, 2, 30), dt.datetime(2024, 7, 1)]
    new = pa.table({"at": pa.array(moments, pa.timestamp("us")), "n": [1, 2]})
    old = spark.createDataFrame(pa.table({"at": pa.array(moments, pa.timestamp("us")), "n": [1, 3]}))
    assert rowlaw.check(new, ["key (at)", "fd (at) -> n"], against=old, progress=False).counts == {"R1": 4, "R2": 2}


@few(4)
@given(
    data=st.data(), table=tables(min_columns=2, max_rows=7), nulls=nulls(), engine=st.sampled_from(["auto", "spark"])
)
def test_rows_that_stay_out_of_a_table_of_spark(quick_spark, data, table, nulls, engine):
    new, old = split(data, table)
    chosen = data.draw(st.lists(rules(table), min_size=1, max_size=2))
    columns = list(dict.fromkeys(c for rule in chosen for c in rule.columns))
    sources = open_source(to_arrow(new)), open_source(frame_of(quick_spark, to_arrow(old)).coalesce(2))
    opened = open_against(*sources, nulls, columns=columns, session=quick_spark, engine=engine)
    check(refused(opened, [bind(rule, opened.types) for rule in chosen]), chosen, new, old, nulls)
    opened.close()
