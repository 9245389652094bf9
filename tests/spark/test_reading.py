"""Tables that Spark reads, and the same tables encoded by Spark tasks and by the driver's threads."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rowlaw
from rowlaw.errors import RowlawError, RowlawWarning
from rowlaw.relation import encode
from rowlaw.source import open_source
from rowlaw.spark.jobs import DriverThreads, SparkTasks
from rowlaw.spark.ship import SharedFolder

ROWS = 5_000


@pytest.fixture(scope="module")
def table():
    random = np.random.default_rng(0)
    words = np.array(["", "a", "ab", "é", "😀", "zz"])
    return pa.table(
        {
            "n": pa.array(random.integers(-50, 50, ROWS), mask=random.random(ROWS) < 0.1),
            "x.y": pa.array(np.where(random.random(ROWS) < 0.1, np.nan, random.normal(size=ROWS).round(1))),
            "`w`": pa.array(words[random.integers(0, 6, ROWS)]),
            "day": pa.array([dt.date(2020, 1, 1) + dt.timedelta(int(d)) for d in random.integers(0, 90, ROWS)]),
            "at": pa.array(
                [dt.datetime(2020, 1, 1, 0, 0, int(s)) for s in random.integers(0, 60, ROWS)], pa.timestamp("us", "UTC")
            ),
            "ok": pa.array(random.random(ROWS) < 0.5),
            "price": pa.array([Decimal(int(v)) / 4 for v in random.integers(0, 99, ROWS)], pa.decimal128(10, 2)),
        }
    )


def facts(source, **options):
    with encode(source, **options) as relation:
        return relation.columns, relation.matrix.copy(), relation.decode()


def test_frames_files_and_threads_agree(spark, table, tmp_path):
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=777)
    columns, codes, values = facts(open_source(tmp_path / "t.parquet"), workers=DriverThreads())
    assert values.to_pylist()[:3] == [
        {k: None if v != v else v for k, v in row.items()} for row in table.slice(0, 3).to_pylist()
    ]
    others = {
        "file by Spark tasks": (open_source(tmp_path / "t.parquet"), SparkTasks(spark)),
        "frame in memory by Spark tasks": (open_source(table), SparkTasks(spark)),
        "Spark frame": (open_source(spark.read.parquet(str(tmp_path / "t.parquet")).coalesce(1)), None),
        "created Spark frame": (open_source(spark.createDataFrame(table)), None),
    }
    for name, (source, workers) in others.items():
        found, found_codes, found_values = facts(source, workers=workers)
        assert [(c.name, c.type, c.distinct, c.nulls) for c in found] == [
            (c.name, c.type, c.distinct, c.nulls) for c in columns
        ], name
        assert np.array_equal(found_codes, codes), name
        assert found_values.to_pylist() == values.to_pylist(), name


def test_partitions_and_their_chunks_keep_their_order(spark):
    frame = spark.range(0, 1000, 1, 7).selectExpr("id * 3 as a", "cast(id % 10 as string) as b")
    with encode(open_source(frame)) as relation:
        assert relation.decode(columns=["a"]).column(0).to_pylist() == [3 * i for i in range(1000)]
        assert relation.column("b").distinct == 10


def test_row_id_and_chosen_columns(spark):
    frame = spark.range(5).selectExpr("id * 10 as key", "id % 2 as `od.d`", "array(id) as nested")
    with pytest.raises(RowlawError, match="UNSUPPORTED_TYPE.*'nested'"):
        open_source(frame, columns=["key", "nested"])
    with encode(open_source(frame, columns=["od.d", "key"]), row_id="key") as relation:
        assert relation.row_labels([4]).to_pylist() == [40]


def test_columns_that_cannot_be_compared(spark, tmp_path):
    """Spark's own types too; a column of type void is all null. Names may repeat, and differ only in case."""
    odd = [
        *(
            "parse_json('1') as v",
            "interval 1 day as d",
            "interval 1 year as y",
            "make_interval(1) as i",
            "array(1) as l",
        ),
        *("map('a', 1) as m", "struct(1 as x) as st", "cast('a' as binary) as b", "1 as twice", "2 as twice"),
    ]
    frame = spark.range(4).selectExpr(*odd, "id", "id % 2 as a", "-id as A", "null as n")
    with pytest.warns(RowlawWarning, match="skipped 9 columns .*'v' \\(variant\\)"):
        source = open_source(frame)
    with encode(source) as relation:
        assert [c.name for c in relation.columns] == ["id", "a", "A", "n"]
        assert relation.decode().to_pylist()[3] == {"id": 3, "a": 1, "A": -3, "n": None}
        assert relation.column("n").nulls == 4
    for name, condition in (("v", "UNSUPPORTED_TYPE"), ("i", "UNSUPPORTED_TYPE"), ("twice", "DUPLICATE_COLUMN")):
        with pytest.raises(RowlawError, match=condition):
            open_source(frame, columns=["id", name])
        with pytest.warns(RowlawWarning), pytest.raises(RowlawError, match=condition):
            rowlaw.check(frame, f"key ({name})", progress=False)
    assert rowlaw.check(frame, ["key (a)", "key (A)"], columns=["A", "a"], progress=False).counts == {"R1": 4, "R2": 0}
    with pytest.warns(RowlawWarning):
        laws = rowlaw.Laws.create(tmp_path / "state", frame, row_id="id", progress=False)
    assert laws.apply(frame.withColumn("id", frame["id"] + 10)).inserted == 4


def test_empty_frame(spark):
    with encode(open_source(spark.createDataFrame([], "a int, b string"))) as relation:
        assert (relation.rows, [c.type for c in relation.columns]) == (0, ["number", "text"])


def test_catalog_table(spark):
    spark.range(3).createOrReplaceTempView("numbers")
    with encode(open_source("numbers", session=spark)) as relation:
        assert relation.rows == 3
    with encode(open_source("numbers")) as relation:
        assert relation.rows == 3
    with pytest.raises(RowlawError, match="NO_SUCH_TABLE"):
        open_source("spark_catalog.default.nothing")


def test_jdbc(spark, tmp_path):
    url = f"jdbc:derby:{tmp_path}/db;create=true"
    spark.range(4).selectExpr("id as n", "cast(id as string) as w").write.format("jdbc").options(
        url=url, dbtable="t"
    ).save()
    with encode(open_source(url, options={"dbtable": "t"}, session=spark)) as relation:
        assert sorted(relation.decode().column("n").to_pylist()) == [0, 1, 2, 3]
    with pytest.raises(RowlawError, match="BAD_FILE"):
        open_source(url, options={"dbtable": "nothing"}, session=spark)


def test_remote_addresses_are_read_by_spark(spark, tmp_path):
    with pytest.raises(RowlawError, match="BAD_FILE"):
        open_source("hdfs://127.0.0.1:1/nothing.parquet", session=spark)
    pq.write_table(pa.table({"a": [1]}), tmp_path / "t.parquet")
    with encode(open_source(f"file://{tmp_path}/t.parquet")) as relation:
        assert relation.rows == 1


def test_named_errors_come_back_from_workers(spark, tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n3\n")
    with pytest.raises(RowlawError, match="RAGGED_ROW.*line 3"):
        encode(open_source(tmp_path / "t.csv"), workers=SparkTasks(spark))
    (tmp_path / "u.csv").write_text("a,b\n1,2\nx,3\n")
    with pytest.raises(RowlawError, match="BAD_VALUE.*line 3"):
        encode(open_source(tmp_path / "u.csv", types={"a": "int"}), workers=SparkTasks(spark))


def test_workers_that_do_not_share_files(spark, table, monkeypatch):
    """The mark in the scratch folder is what tells a worker that it shares it: without it, results come back by
    Spark."""
    monkeypatch.setattr(SharedFolder, "make", staticmethod(lambda folder: SharedFolder(str(folder), "no such mark")))
    _, codes, values = facts(open_source(table), workers=SparkTasks(spark))
    monkeypatch.undo()
    assert np.array_equal(codes, facts(open_source(table))[1])
    assert values.num_rows == ROWS


def test_unexpected_failures_name_the_job(spark):
    def fail(task):
        raise ZeroDivisionError(task)

    with pytest.raises(RowlawError, match="(?s)JOB_FAILED.*'break things'.*ZeroDivisionError"):
        SparkTasks(spark).map(fail, [1, 2], "break things")


def test_many_small_tasks_keep_their_order(spark):
    assert SparkTasks(spark).map(lambda i: i * i, list(range(1500)), "squares") == [i * i for i in range(1500)]
    assert SparkTasks(spark).map(lambda i: i, [], "nothing") == []
    assert SparkTasks(spark).slots >= 1
