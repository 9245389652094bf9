"""``rowlaw.Laws``: a state from its making to its history."""

import os
import threading

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rowlaw
from rowlaw.errors import RowlawError
from rowlaw.maintain import Laws, state
from rowlaw.maintain.feed import net
from rowlaw.storage import store
from rowlaw.streams.applier import Applier
from rowlaw.streams.folder import Skipped, watch_folder
from tests.rediscovery import Rediscovery

PEOPLE = pa.table(
    {
        "id": [1, 2, 3],
        "zip": ["07030", "07030", "10001"],
        "city": ["Hoboken", "Hoboken", "New York"],
        "age": [30, 40, 50],
    }
)
STRANGER = pa.table({"id": [4], "zip": ["07030"], "city": ["Newark"], "age": [20]})
CITY = "not (s.zip = t.zip and s.city != t.city)"


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "people.state"


@pytest.fixture
def laws(folder):
    return Laws.create(folder, PEOPLE, row_id="id", progress=False, evolution=Rediscovery)


def again(laws):
    return Laws.open(laws.path, evolution=Rediscovery)


def texts(rules):
    return {str(r.rule) for r in rules}


def test_public_names():
    assert rowlaw.Laws is Laws
    assert rowlaw.watch.__module__ == "rowlaw.streams.query"


def test_rules_are_those_of_the_table(laws):
    assert CITY in texts(laws.rules)
    assert texts(laws.rules) == texts(again(laws).rules)
    assert laws.rules.settings["cross"] is True
    assert "4 rules" not in repr(laws)
    assert repr(laws).endswith(f"{len(laws.rules)} rules of 3 rows, batch 0)")


def test_apply_says_what_changed_and_why(laws):
    before = laws.rules
    change = laws.apply(STRANGER, batch_id="monday")
    assert CITY in texts(change.removed)
    assert texts(change.rules) == texts(before) - texts(change.removed) | texts(change.added)
    assert (change.inserted, change.deleted, change.total, change.batch) == (1, 0, len(change.rules), 1)
    retired = next(e for e in change.events if str(e.rule) == CITY)
    assert {row["city"] for row in retired.witness} == {"Newark", "Hoboken"}
    assert {row["id"] for row in retired.witness} >= {4}
    document = change.to_dict()
    assert (document["inserted"], document["rules"], document["batch_id"]) == (1, change.total, "monday")
    assert {r["rule"] for r in document["removed"]} == texts(change.removed)
    assert set(document["seconds"]) >= {"read", "take", "evolve", "save"}
    assert repr(change).startswith("batch 1 (monday): +1 -0 rows; ")
    assert CITY in repr(change)


def test_ids_last_as_long_as_rules_and_are_never_used_again(laws):
    first = {str(r.rule): r.id for r in laws.rules}
    laws.apply(STRANGER)
    second = {str(r.rule): r.id for r in again(laws).rules}
    assert all(first[text] == second[text] for text in first.keys() & second.keys())
    other = again(laws)
    back = other.apply(deletes=[4])
    third = {str(r.rule): r.id for r in other.rules}
    assert set(third) == set(first)
    assert third[CITY] not in {*first.values(), *second.values()}
    assert CITY in texts(back.added)


def test_history(laws):
    laws.apply(STRANGER, batch_id="monday")
    laws.apply(deletes=[4])
    history = again(laws).history
    assert [(b.number, b.id, b.inserted, b.deleted) for b in history.batches] == [
        (0, None, 3, 0),
        (1, "monday", 1, 0),
        (2, None, 0, 1),
    ]
    events = [e for e in history if str(e.rule) == CITY]
    assert [(e.kind, e.batch.number) for e in events] == [("born", 0), ("retired", 1), ("born", 2)]
    assert events[1].witness
    assert history.of(events[0].id) == tuple(events[:2])
    assert str(events[1]).endswith(f"batch 1: {events[1].id} retired: {CITY}")


def test_many_batches_rewrite_the_rules_now_and_then(laws, monkeypatch):
    monkeypatch.setattr(state, "SNAPSHOT", 0.5)
    written = []
    for _ in range(4):
        laws.apply(STRANGER)
        written.append(laws._store.facts["rules_at"])
        laws.apply(deletes=[4])
        assert texts(again(laws).rules) == texts(laws.rules)
    assert written[-1] > written[0]
    assert len(laws.history.batches) == 9


def test_a_batch_is_applied_once(laws):
    laws.apply(STRANGER, batch_id='odd "id", é')
    for handle in (laws, again(laws)):
        change = handle.apply(STRANGER, batch_id='odd "id", é')
        assert change.repeated
        assert "nothing changed" in repr(change)
        assert (change.added, change.removed, change.batch) == ([], [], 1)
    assert laws.table.living == 4
    with pytest.raises(RowlawError, match="DUPLICATE_ROW_ID"):
        laws.apply(STRANGER, batch_id="id")


def test_errors_change_nothing(laws):
    files = sorted(os.listdir(laws._store.data))
    for batch in (
        {"deletes": [9]},
        {"inserts": PEOPLE},
        {"inserts": PEOPLE.select(["id"])},
        {"inserts": "nothing.csv"},
    ):
        with pytest.raises(RowlawError):
            laws.apply(**batch)
    assert laws.batch == again(laws).batch == 0
    assert sorted(os.listdir(laws._store.data)) == files
    assert laws.apply(STRANGER).inserted == 1


def test_an_evolution_that_fails_changes_nothing(laws, monkeypatch):
    def fail(*_):
        raise ZeroDivisionError

    monkeypatch.setattr(Rediscovery, "apply", fail)
    with pytest.raises(ZeroDivisionError):
        laws.apply(STRANGER)
    monkeypatch.undo()
    assert laws.table.rows == 3
    assert laws.apply(STRANGER).inserted == 1
    again(laws).table._check()


def test_another_process_may_write_in_between(laws):
    other = again(laws)
    other.apply(STRANGER)
    assert laws.table.living == 3  # what it has seen
    change = laws.apply(deletes=[4])
    assert change.batch == 2
    assert not laws.refresh()
    assert other.refresh()
    assert texts(other.rules) == texts(laws.rules)
    assert other.table.living == 3


def test_readers_while_a_writer_works(laws):
    """Whatever a reader opens at any moment is one whole generation."""
    seen, over = [], threading.Event()

    def read():
        while not over.is_set():
            reader = again(laws)
            seen.append((reader.batch, reader.table.living, len(reader.rules), len(reader.history.batches)))

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    expected = {(0, 3, len(laws.rules), 1)}
    try:
        for i in range(10):
            laws.apply(STRANGER) if i % 2 == 0 else laws.apply(deletes=[4])
            expected.add((i + 1, 4 - i % 2, len(laws.rules), i + 2))
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert len(set(seen)) > 1
    assert set(seen) <= expected


def test_two_writers(laws):
    other = again(laws)
    with laws._store.writing(), pytest.raises(RowlawError, match="STATE_LOCKED"):
        other.apply(STRANGER)
    other.apply(STRANGER)


def test_compaction(folder):
    many = pa.table({"id": np.arange(100), "a": np.arange(100) % 7})
    laws = Laws.create(folder, many, row_id="id", progress=False, evolution=Rediscovery)
    laws.apply(deletes=list(range(50)))
    assert laws.table.rows == 100
    laws.apply(deletes=[50])
    assert (laws.table.rows, laws.table.living) == (49, 49)
    other = again(laws)
    other.table._check()
    other.apply(many.slice(0, 3), deletes=[99])
    assert sorted(other.table.decode(np.flatnonzero(other.table.alive), ["id"]).column(0).to_pylist()) == [
        0,
        1,
        2,
        *range(51, 99),
    ]


def test_opening_reads_next_to_nothing(folder, monkeypatch):
    """Labels are mapped, not read: what a reader touches is a few pages."""
    many = pa.table({"a": np.arange(50_000), "b": [f"text {i}" for i in range(50_000)]})
    Laws.create(folder, many, cross=False, progress=False, evolution=Rediscovery)
    read = []
    original = store.Reader.array

    def counted(self, name):
        read.append(name)
        return original(self, name)

    monkeypatch.setattr(store.Reader, "array", counted)
    laws = Laws.open(folder, evolution=Rediscovery)
    assert read == []
    assert laws.table.living == 50_000
    assert not laws.table.labels("a").flags.owndata  # pages of the file


def test_tables_without_rows_or_rules(folder):
    laws = Laws.create(folder, PEOPLE.slice(0, 0), progress=False, evolution=Rediscovery)
    assert laws.apply(PEOPLE).inserted == 3
    assert laws.apply(deletes=PEOPLE).deleted == 3
    assert laws.table.living == 0
    assert laws.apply().batch == 3


def test_a_state_is_not_made_over_another(laws, folder):
    with pytest.raises(RowlawError, match="STATE_EXISTS"):
        Laws.create(folder, PEOPLE, progress=False, evolution=Rediscovery)
    assert laws.table.living == 3


def test_a_state_that_could_not_be_made_leaves_room_for_another(folder):
    with pytest.raises(RowlawError, match="BAD_ROW_ID"):
        Laws.create(folder, PEOPLE, row_id="zip", progress=False, evolution=Rediscovery)
    Laws.create(folder, PEOPLE, row_id="id", progress=False, evolution=Rediscovery)


def test_columns_that_were_chosen(folder, tmp_path):
    laws = Laws.create(folder, PEOPLE, row_id="id", columns=["zip", "city"], progress=False, evolution=Rediscovery)
    assert laws.table.names == ("id", "zip", "city")
    assert laws.apply(STRANGER).inserted == 1


def test_guard(laws):
    batch = pa.table(
        {
            "id": [4, 5, 6, 7],
            "zip": ["07030", "20001", "20001", "30001"],
            "city": ["x", "y", "z", "w"],
            "age": [1, 2, 3, -1],
        }
    )
    rules = ["fd (zip) -> city", "not (s.age < 0)"]
    change = laws.apply(batch, guard=rules)
    assert change.quarantined.column("id").to_pylist() == [4, 6, 7]
    assert (change.inserted, laws.table.living) == (1, 4)
    assert CITY in texts(laws.rules)
    assert "3 quarantined" in change.summary
    # a row that goes in the same batch clashes with nobody
    change = laws.apply(batch.slice(0, 1), deletes=[1, 2], guard=rules)
    assert change.quarantined.num_rows == 0
    assert laws.apply(guard=rules).batch == 3
    with pytest.raises(RowlawError, match="UNKNOWN_COLUMN"):
        laws.apply(STRANGER.set_column(0, "id", [[9]]), guard=["key (nothing)"])


@pytest.mark.parametrize(
    ("feed", "coming", "going"),
    [
        ([("insert", 7, 1), ("delete", 7, 1)], [], []),
        ([("delete", 1, None), ("insert", 1, 9)], [(1, 9)], [1]),
        ([("update_preimage", 1, 5), ("update_postimage", 1, 6), ("u", 1, 7)], [(1, 7)], [1]),
        ([("U", 8, 1)], [(8, 1)], []),
        ([("+", 8, 1), ("-", 8, 1), ("c", 8, 2)], [(8, 2)], []),
        ([("d", 2, None)], [], [2]),
    ],
)
def test_feeds_by_id(folder, feed, coming, going):
    laws = Laws.create(
        folder, pa.table({"id": [1, 2], "n": [5, 6]}), row_id="id", progress=False, evolution=Rediscovery
    )
    frame = pa.table(
        {"op": [f[0] for f in feed], "id": [f[1] for f in feed], "n": pa.array([f[2] for f in feed], pa.int64())}
    )
    inserts, deletes = net(frame, laws.table, "op")
    change = laws.apply(inserts, deletes)
    assert (change.inserted, change.deleted) == (len(coming), len(going))
    rows = {1: 5, 2: 6}
    for id in going:
        del rows[id]
    rows |= dict(coming)
    found = laws.table.decode(np.flatnonzero(laws.table.alive)).to_pylist()
    assert {row["id"]: row["n"] for row in found} == rows


def test_feeds_by_row_and_bad_feeds(folder):
    laws = Laws.create(folder, pa.table({"n": [5, 6]}), progress=False, evolution=Rediscovery)
    feed = pa.table(
        {"n": [5, 5, 7, 8, 8], "op": ["insert", "delete", "insert", "delete", "insert"], "at": [5, 4, 3, 2, 1]}
    )
    change = laws.apply(*net(feed, laws.table, "op", "at"))
    assert (change.inserted, change.deleted) == (1, 0)
    for wrong, words in ((["perhaps"], "neither insert, update nor delete"), (pa.nulls(1, pa.string()), "nulls")):
        with pytest.raises(RowlawError, match=words):
            net(pa.table({"n": [1], "op": wrong}), laws.table, "op")
    with pytest.raises(RowlawError, match="no column 'what'"):
        net(feed, laws.table, "what")
    with pytest.raises(RowlawError, match="no column 'n'"):
        net(feed.drop_columns(["n"]), laws.table, "op")


def test_a_folder_is_watched_file_by_file(laws, tmp_path):
    incoming, aside = tmp_path / "incoming", tmp_path / "aside"
    incoming.mkdir()
    heard = []
    applier = Applier(laws, guard=["key (age)"], quarantine=aside, on_change=heard.append)
    assert list(watch_folder(applier, incoming)) == []
    (incoming / "1.csv").write_text("id,zip,city,age\n4,07030,Hoboken,60\n5,07030,Hoboken,50\n")
    (incoming / "2.csv.tmp").write_text("half")
    (incoming / ".hidden").write_text("half")
    changes = list(watch_folder(applier, incoming))
    assert [c.batch_id for c in changes] == ["file:1.csv"]
    assert pq.read_table(aside / "file-1.csv.parquet").column("id").to_pylist() == [5]
    assert laws.table.living == 4  # it sees what is applied for it
    pq.write_table(STRANGER.set_column(0, "id", [[9]]), incoming / "2.parquet")
    another = Applier(again(laws), guard=["key (age)"])
    assert [c.batch_id for c in watch_folder(another, incoming)] == ["file:2.parquet"]
    assert list(watch_folder(another, incoming)) == []
    assert len(heard) == 1
    with pytest.raises(RowlawError, match="watch needs a folder"):
        list(watch_folder(applier, tmp_path / "nothing"))


def test_a_folder_of_changes(laws, tmp_path):
    incoming = tmp_path / "incoming"
    incoming.mkdir()
    (incoming / "1.csv").write_text("what,id,zip,city,age,at\ninsert,4,10001,New York,60,1\ndelete,1,,,,2\n")
    changes = list(watch_folder(Applier(laws, change_column="what", order_column="at"), incoming))
    assert [(c.inserted, c.deleted) for c in changes] == [(1, 1)]
    for options in ({"order_column": "at"}, {"quarantine": tmp_path}):
        with pytest.raises(RowlawError, match="BAD_OPTION"):
            Applier(laws, **options)


def test_a_file_that_does_not_fit_is_skipped_and_tried_again(laws, tmp_path):
    incoming = tmp_path / "incoming"
    incoming.mkdir()
    for i, text in enumerate(
        ("id,zip\n7,1\n", "id,zip,city,age\n8,07030,Hoboken,60,1\n", "id,zip,city,age\n9,07030,Hoboken,70\n")
    ):
        (incoming / f"{i}.csv").write_text(text)
        os.utime(incoming / f"{i}.csv", (i + 1, i + 1))
    (incoming / "picture.png").write_bytes(b"\x89PNG")
    outcomes = list(watch_folder(Applier(laws), incoming))
    assert [one.file for one in outcomes if isinstance(one, Skipped)] == ["0.csv", "1.csv", "picture.png"]
    assert [one.error.condition for one in outcomes if isinstance(one, Skipped)] == [
        "BATCH_COLUMNS",
        "RAGGED_ROW",
        "UNKNOWN_FORMAT",
    ]
    assert [one.batch_id for one in outcomes if not isinstance(one, Skipped)] == ["file:2.csv"]
    assert laws.table.living == 4
    (incoming / "0.csv").write_text("id,zip,city,age\n7,10001,New York,20\n")
    outcomes = list(watch_folder(Applier(laws), incoming))
    assert [one.summary.split(":")[0] for one in outcomes if isinstance(one, Skipped)] == [
        "skipped 1.csv",
        "skipped picture.png",
    ]
    assert laws.table.living == 5
    (incoming / "3.csv").write_text("id,zip,city,age\n17,10001,New York,20\n")
    with pytest.raises(RowlawError, match="UNKNOWN_COLUMN"):  # the guard is wrong, not the file
        list(watch_folder(Applier(laws, guard=["key (nothing)"]), incoming))
