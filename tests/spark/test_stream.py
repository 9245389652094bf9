"""Structured Streaming: every batch of a stream is applied exactly once, also when the process stops in the middle."""

import os
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rowlaw
from rowlaw.maintain import Laws
from tests.rediscovery import Rediscovery

pytestmark = pytest.mark.usefixtures("quick_spark")

SCHEMA = "id long, zip string, city string"
NOW = {"availableNow": True}


def people(start, number, city="Hoboken"):
    ids = list(range(start, start + number))
    return pa.table({"id": ids, "zip": [f"0{i % 5}" for i in ids], "city": [f"{city} {i % 5}" for i in ids]})


@pytest.fixture
def laws(tmp_path):
    return Laws.create(tmp_path / "state", people(0, 10), row_id="id", progress=False, evolution=Rediscovery)


def stream(spark, folder, schema=SCHEMA):
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder))


def write(folder, name, table):
    """Add a file to a folder. A stream takes files by the times at which they were written, so no two have the same."""
    folder.mkdir(exist_ok=True)
    pq.write_table(table, folder / f".{name}")
    latest = max((int(file.stat().st_mtime) for file in folder.glob("*.parquet")), default=0)
    written = max(int(time.time()), latest + 1)
    os.utime(folder / f".{name}", (written, written))
    (folder / f".{name}").rename(folder / f"{name}.parquet")


def finished(query):
    query.awaitTermination()
    assert query.exception() is None
    return query


def test_every_batch_is_counted_once_across_a_restart(spark, laws, tmp_path):
    incoming = tmp_path / "incoming"
    for number in range(4):
        write(incoming, f"{number}", people(10 * (number + 1), 10))
    heard = []

    class Stopped(Exception):  # noqa: N818 - stands for the end of a process
        """The process dies after the state has the batch, and before Spark knows."""

    def on_change(change):
        heard.append(change)
        if len(heard) == 2:
            raise Stopped

    query = rowlaw.watch(stream(spark, incoming), laws, on_change=on_change, trigger=NOW)
    with pytest.raises(Exception, match="Stopped"):
        query.awaitTermination()
    assert (laws.batch, laws.table.living) == (2, 30)
    write(incoming, "4", people(50, 10))
    query = finished(rowlaw.watch(stream(spark, incoming), laws, on_change=heard.append, trigger=NOW))
    assert [change.repeated for change in heard] == [False, False, True, False, False, False]
    assert len({change.batch_id for change in heard}) == 5
    assert all(change.batch_id.startswith(str(query.id)) for change in heard)
    assert (laws.batch, laws.table.living) == (5, 60)
    found = laws.table.decode(range(60), ["id"]).column(0).to_pylist()
    assert sorted(found) == list(range(60))


def test_events_reach_the_user_while_the_stream_runs(spark, laws, tmp_path):
    incoming, events = tmp_path / "incoming", []
    incoming.mkdir()
    query = rowlaw.watch(stream(spark, incoming), laws, on_change=lambda change: events.extend(change.events))
    try:
        write(incoming, "bad", pa.table({"id": [99], "zip": ["00"], "city": ["Newark"]}))
        query.processAllAvailable()
        assert "not (s.zip = t.zip and s.city != t.city)" in {str(e.rule) for e in events if e.kind == "retired"}
        assert laws.table.living == 11
        assert any(row["id"] == 99 for e in events for row in e.witness)
    finally:
        query.stop()


def test_change_feeds_and_the_guard(spark, laws, tmp_path):
    incoming, aside = tmp_path / "incoming", tmp_path / "aside"
    changes = [
        ("insert", 20, "00", "Hoboken 0", 1),
        ("delete", 1, None, None, 2),
        ("update", 2, "02", "Hoboken 2", 3),
        ("insert", 21, "00", "Newark", 4),  # breaks the guard's rule
        ("delete", 20, None, None, 5),
        ("insert", 20, "04", "Hoboken 4", 6),
    ]
    names = ["_change_type", "id", "zip", "city", "_commit_version"]
    write(incoming, "0", pa.table({name: [row[i] for row in changes] for i, name in enumerate(names)}))
    query = rowlaw.watch(
        stream(spark, incoming, f"_change_type string, {SCHEMA}, _commit_version long"),
        laws,
        change_column="_change_type",
        order_column="_commit_version",
        guard=["fd (zip) -> city"],
        quarantine=aside,
        trigger=NOW,
    )
    finished(query)
    rows = {row["id"]: row["zip"] for row in laws.table.decode(laws.table.relation().table_rows).to_pylist()}
    assert rows == {0: "00", 2: "02", **{i: f"0{i % 5}" for i in range(3, 10)}, 20: "04"}
    (file,) = aside.iterdir()
    assert pq.read_table(file).to_pylist() == [{"id": 21, "zip": "00", "city": "Newark"}]


def test_a_batch_that_does_not_fit_stops_the_stream_and_changes_nothing(spark, laws, tmp_path):
    incoming = tmp_path / "incoming"
    write(incoming, "0", people(5, 3))
    query = rowlaw.watch(stream(spark, incoming), laws, trigger=NOW)
    with pytest.raises(Exception, match="DUPLICATE_ROW_ID"):
        query.awaitTermination()
    assert (laws.batch, laws.table.living) == (0, 10)


def test_spark_frames_as_batches(spark, laws):
    change = laws.apply(spark.createDataFrame(people(10, 5)), spark.createDataFrame([(1,), (2,)], "id int"))
    assert (change.inserted, change.deleted) == (5, 2)
