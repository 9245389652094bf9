"""Violations in folders of Parquet: on Spark the workers write them, and no row passes the driver."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

import rowlaw
from rowlaw.errors import RowlawError
from rowlaw.spark.jobs import frame_of

pytestmark = pytest.mark.usefixtures("quick_spark")

TABLE = pa.table(
    {
        "id": [f"r{i}" for i in range(30)],
        "day": [i // 6 for i in range(30)],
        "place": [i % 6 for i in range(30)],
        "zip": [i % 4 for i in range(30)],
        "ci ty": [f"{i % 5}" for i in range(30)],
        "low": [i * 7 % 30 for i in range(30)],
        "when": pa.array([i * 3_600_000_000 for i in range(30)], pa.timestamp("us", "UTC")),
    }
)
RULES = {
    "city": "fd (zip) -> `ci ty`",
    "one": "not (s.low > 25)",
    "fine": "key (id)",
    "order": "not (s.low < t.low and s.when > t.when)",
}
COLUMNS = ["rule", "s_row", "t_row"]
BOUND = 100


def records(table):
    return sorted(tuple(map(str, r.values())) for r in table.to_pylist())


def bounded(collect):
    """A method that collects, which must not collect more than a few rows."""

    def collected(frame):
        found = collect(frame)
        assert len(found) < BOUND, "rows pass the driver"
        return found

    return collected


@pytest.fixture(scope="module", params=[None, "id", ["day", "place"]], ids=str)
def results(request, quick_spark):
    """The same check on both engines; rows are in one partition, so that their numbers are the same too."""
    frame = frame_of(quick_spark, TABLE).coalesce(1)
    given = {"row_id": request.param, "progress": False}
    found = rowlaw.check(TABLE, RULES, **given), rowlaw.check(frame, RULES, engine="spark", **given)
    yield found
    for result in found:
        result.close()


def test_a_folder_written_by_workers_is_that_of_one_process(results, tmp_path, monkeypatch):
    local, spark = results
    assert local.write_violations(f"{tmp_path}/local/") == sum(local.counts.values())

    frame = type(spark.rows)
    for name in ("collect", "toArrow"):  # histograms of buckets are brought to the driver, rows are not
        monkeypatch.setattr(frame, name, bounded(getattr(frame, name)))
    for name in ("toPandas", "toLocalIterator"):
        monkeypatch.setattr(frame, name, None)
    assert spark.write_violations(f"{tmp_path}/spark.parquet") == sum(spark.counts.values()) > 2 * BOUND
    monkeypatch.undo()
    ours, theirs = pq.read_table(tmp_path / "local"), pq.read_table(tmp_path / "spark.parquet")
    assert ours.column_names == theirs.column_names
    assert ours.column_names[:3] == COLUMNS
    assert records(ours.cast(theirs.schema)) == records(theirs)


def test_a_limit_holds_for_each_rule(results, tmp_path):
    for result in results:
        folder = tmp_path / result.engine.choice.name
        assert result.write_violations(f"{folder}/", limit=3) == 3 + min(3, result.counts["one"]) + 3
        counts = pq.read_table(folder).group_by("rule").aggregate([("s_row", "count")]).to_pylist()
        assert {r["rule"]: r["s_row_count"] for r in counts} == {
            "city": 3,
            "one": min(3, result.counts["one"]),
            "order": 3,
        }


def test_a_folder_that_is_there_stays_as_it_is(results, tmp_path):
    kept = tmp_path / "out"
    kept.mkdir()
    (kept / "precious").write_text("mine")
    for result in results:
        for name in (f"{kept}/", str(kept)):
            with pytest.raises(RowlawError, match="BAD_OPTION: violations=.*exists already"):
                result.write_violations(name)
    assert [p.name for p in kept.iterdir()] == ["precious"]
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_a_single_file_from_spark(results, tmp_path):
    local, spark = results
    assert spark.write_violations(tmp_path / "some.csv", limit=2) == local.write_violations(
        tmp_path / "ours.csv", limit=2
    )
    assert csv.read_csv(tmp_path / "some.csv").column_names == csv.read_csv(tmp_path / "ours.csv").column_names
    assert spark.write_violations(tmp_path / "all.arrow") == sum(spark.counts.values())


def test_no_violations(spark, tmp_path):
    for engine in ("local", "spark"):
        result = rowlaw.check(frame_of(spark, TABLE), {"fine": "key (id)"}, engine=engine, progress=False)
        assert result.write_violations(f"{tmp_path}/{engine}/") == 0
        found = pq.read_table(tmp_path / engine)
        assert (found.num_rows, found.column_names) == (0, [*COLUMNS, "s_id", "t_id"])


def test_streams_have_what_frames_have(results):
    local, spark = results
    for id in RULES:
        listed = spark.violations(id).drop("rule").toArrow()
        streamed = pa.Table.from_batches(spark.pairs(id), None if spark.counts[id] else listed.schema)
        if spark.counts[id]:
            assert records(streamed) == records(listed.select(streamed.column_names))
    for id in ("city", "one"):
        found = [
            {
                str((s, t))
                for batch in result.groups(id)
                for g in batch.to_pylist()
                for s in g["s_rows"]
                for t in g["t_rows"] or [None]
            }
            for result in (local, spark)
        ]
        assert found[1] <= found[0]  # a group of one process may name a row beside itself


def test_an_object_store_needs_spark(tmp_path):
    result = rowlaw.check(TABLE, RULES, progress=False)
    with pytest.raises(RowlawError, match="BAD_OPTION: violations=.*only the spark engine"):
        result.write_violations("s3://bucket/out")
