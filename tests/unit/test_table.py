"""A growing table: what a batch may be, how rows are named, and labels that stay."""

import datetime as dt
import math
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rowlaw
from rowlaw.errors import RowlawError
from rowlaw.maintain import Laws
from rowlaw.maintain.feed import net
from rowlaw.relation import encode
from rowlaw.source import open_source
from rowlaw.storage import dictionary as module
from rowlaw.storage.dictionary import Dictionary
from rowlaw.storage.table import GrowingTable
from rowlaw.storage.values import Numbers


def growing(table, **options):
    with encode(open_source(table), row_id=options.pop("row_id", None)) as relation:
        return GrowingTable.of(relation, **options)


PEOPLE = pa.table({"id": [1, 2, 3], "name": ["ann", "bob", None], "age": [30, None, 50]})


@pytest.fixture
def people():
    return growing(PEOPLE, row_id="id")


def refused(table, condition, *words, **batch):
    """The batch is an error, and leaves everything as it was."""
    before = (
        table.decode(np.arange(table.rows)).to_pylist(),
        table.alive.tolist(),
        [table.labels(n).tolist() for n in table.names],
    )
    with pytest.raises(RowlawError) as caught:
        table.take(**batch)
    assert caught.value.condition == condition
    for word in words:
        assert word in str(caught.value)
    table._check()
    assert before == (
        table.decode(np.arange(table.rows)).to_pylist(),
        table.alive.tolist(),
        [table.labels(n).tolist() for n in table.names],
    )


def test_rows_come_and_go(people):
    taken = people.take(pa.table({"age": [40, 30], "name": ["bea", "ann"], "id": [4, 5]}), deletes=[2])
    assert (taken.inserted.tolist(), taken.deleted.tolist()) == ([3, 4], [1])
    assert people.alive.tolist() == [True, False, True, True, True]
    assert (people.rows, people.living) == (5, 4)
    assert people.decode([3, 1]).to_pylist() == [
        {"id": 4, "name": "bea", "age": 40},
        {"id": 2, "name": "bob", "age": None},
    ]
    assert people.labels("age")[4] == people.labels("age")[0]
    assert people.labels("name")[0] < people.labels("name")[3] < people.labels("name")[1]
    assert people.labels("name")[2] == -1
    people._check()


def test_an_update_is_a_delete_and_an_insert(people):
    taken = people.take(pa.table({"id": [2], "name": ["bob"], "age": [41]}), deletes=[2])
    assert people.decode(taken.inserted, ["age"]).to_pylist() == [{"age": 41}]
    refused(people, "DUPLICATE_ROW_ID", "2", inserts=pa.table({"id": [2], "name": ["bob"], "age": [41]}))


def test_ids_of_rows_that_are_gone_may_come_again(people):
    people.take(deletes=[1, 3])
    assert people.take(PEOPLE.slice(0, 1)).inserted.tolist() == [3]
    assert people.row_names([3]).to_pylist() == [1]
    people._check()


def test_bad_ids(people):
    refused(
        people, "DUPLICATE_ROW_ID", "7", "twice", inserts=pa.table({"id": [7, 7], "name": ["x", "y"], "age": [1, 2]})
    )
    refused(people, "BAD_ROW_ID", "1 nulls", inserts=pa.table({"id": [7, None], "name": ["x", "y"], "age": [1, 2]}))
    refused(people, "UNKNOWN_ROW", "no row 9", deletes=[1, 9])
    refused(people, "UNKNOWN_ROW", "1 more", deletes=[9, 10])
    refused(people, "UNKNOWN_ROW", "no row 1", deletes=[1, 1])
    refused(people, "UNKNOWN_ROW", "no row None", deletes=[None])
    refused(people, "BATCH_TYPE", "'id'", deletes=["one"])
    refused(people, "BATCH_COLUMNS", "no column 'id'", deletes=pa.table({"name": ["ann"]}))
    # what goes is right, what comes is not
    refused(people, "DUPLICATE_ROW_ID", "3", inserts=PEOPLE.slice(2), deletes=[1])


@pytest.mark.parametrize(
    ("batch", "condition", "words"),
    [
        ({"id": [4], "name": ["x"]}, "BATCH_COLUMNS", "no column 'age'"),
        ({"id": [4], "name": ["x"], "agee": [1]}, "BATCH_COLUMNS", "did you mean 'agee'"),
        ({"id": [4], "name": ["x"], "age": [1], "more": [1]}, "BATCH_COLUMNS", "the table has no column 'more'"),
        ({"id": [4], "name": ["x"], "age": ["old"]}, "BATCH_TYPE", "string, and the table has int64"),
        ({"id": [4], "name": [5], "age": [1]}, "BATCH_TYPE", "int64, and the table has large_string"),
        ({"id": [4], "name": ["x"], "age": [1.5]}, "BATCH_TYPE", "1.5"),
        ({"id": [4], "name": ["x"], "age": [2**63]}, "BATCH_TYPE", "9223372036854775808"),
        ({"id": [4], "name": ["x"], "age": [Decimal("2.5")]}, "BATCH_TYPE", "2.5"),
    ],
)
def test_batches_that_do_not_fit(people, batch, condition, words):
    if batch.get("age") == [2**63]:
        batch = {**batch, "age": pa.array([2**63], pa.uint64())}
    refused(people, condition, words, inserts=pa.table(batch))


def test_other_types_that_fit(people):
    batch = {"id": pa.array([4], pa.int8()), "name": pa.array(["x"]).dictionary_encode(), "age": [7.0]}
    people.take(pa.table(batch))
    people.take(pa.table({"id": [5], "name": pa.nulls(1), "age": pa.array([Decimal("7.00")])}))
    assert people.decode([3, 4]).to_pylist() == [{"id": 4, "name": "x", "age": 7}, {"id": 5, "name": None, "age": 7}]
    assert people.labels("age")[3] == people.labels("age")[4]


def test_files_are_read_with_the_types_of_the_table(people, tmp_path):
    (tmp_path / "more.csv").write_text("name,id,age\n007,4,NA\n,5,+8\n")
    people.take(tmp_path / "more.csv")
    assert people.decode([3, 4]).to_pylist() == [
        {"id": 4, "name": "007", "age": None},
        {"id": 5, "name": None, "age": 8},
    ]
    (tmp_path / "bad.csv").write_text("name,id,age\nx,6,old\n")
    refused(people, "BAD_VALUE", "bad.csv, line 2", "'old'", inserts=str(tmp_path / "bad.csv"))
    (tmp_path / "large.csv").write_text("name,id,age\nx,6,9223372036854775808\n")
    refused(people, "BAD_VALUE", "9223372036854775808", inserts=str(tmp_path / "large.csv"))
    pq.write_table(PEOPLE.slice(0, 0), tmp_path / "none.parquet")
    assert len(people.take(tmp_path / "none.parquet").inserted) == 0
    (tmp_path / "gone.csv").write_text("id,why\n4,moved\n")
    assert people.take(deletes=tmp_path / "gone.csv").deleted.tolist() == [3]


def test_other_columns_are_left_out_where_columns_were_chosen():
    table = growing(pa.table({"a": [1]}), others=True)
    table.take(pa.table({"b": ["x"], "a": [2]}))
    assert table.decode([1]).to_pylist() == [{"a": 2}]


def test_whole_rows_go_one_by_one():
    table = growing(pa.table({"a": [1, 1, 2, 1], "b": ["x", "x", "x", None]}))
    assert table.take(deletes=pa.table({"a": [1], "b": ["x"]})).deleted.tolist() == [0]
    refused(table, "UNKNOWN_ROW", "'a': 1, 'b': 'x'", deletes=pa.table({"a": [1, 1], "b": ["x", "x"]}))
    refused(table, "UNKNOWN_ROW", deletes=pa.table({"a": [5], "b": ["x"]}))
    gone = table.take(deletes=pa.table({"a": [2, 1, 1], "b": pa.array(["x", None, "x"])}))
    assert gone.deleted.tolist() == [2, 3, 1]
    assert table.living == 0
    assert table.take(pa.table({"a": [9], "b": ["y"]})).inserted.tolist() == [4]


def test_all_types_and_back():
    moment = dt.datetime(2020, 1, 1, 12, 30, 0, 5)
    table = pa.table(
        {
            "i": pa.array([5, None, -(2**63)], pa.int64()),
            "u": pa.array([2**64 - 1, 0, None], pa.uint64()),
            "f": [0.1, math.inf, math.nan],
            "t": ["é", "", None],
            "b": [True, None, False],
            "d": [dt.date(1582, 10, 10), None, dt.date.max],
            "m": pa.array([moment, None, moment], pa.timestamp("us", "UTC")),
            "p": pa.array([Decimal("-1.50"), Decimal("9.99"), None], pa.decimal128(9, 2)),
            "w": pa.array([Decimal("-1.50"), Decimal("9.99"), None], pa.decimal256(50, 2)),
        }
    )
    grown = growing(table)
    grown.take(table.slice(1).select(table.column_names[::-1]))
    values = grown.decode(np.arange(5)).to_pylist()
    expected = [
        {k: None if v != v else v for k, v in row.items()} for row in [*table.to_pylist(), *table.slice(1).to_pylist()]
    ]
    assert [{k: int(v) if k == "u" and v is not None else v for k, v in row.items()} for row in values] == [
        {**row, "m": None if row["m"] is None else row["m"]} for row in expected
    ]
    for name in grown.names:
        assert np.array_equal(grown.labels(name)[[1, 2]], grown.labels(name)[[3, 4]]), name


def test_relation_of_the_living_rows():
    table = growing(pa.table({"a": [3, 1, 2], "b": ["x", "x", None]}))
    table.take(pa.table({"a": [5, 1], "b": ["w", "x"]}), deletes=pa.table({"a": [3], "b": ["x"]}))
    relation = table.relation()
    assert relation.table_rows.tolist() == [1, 2, 3, 4]
    assert relation.codes("a").tolist() == [0, 1, 2, 0]
    assert relation.codes("b").tolist() == [1, -1, 0, 1]
    assert [(c.name, c.distinct, c.nulls) for c in relation.columns] == [("a", 3, 0), ("b", 2, 1)]
    assert relation.decode([2]).to_pylist() == [{"a": 5, "b": "w"}]
    assert table.relation() is relation
    assert table.relation(np.array([0, 4])).codes("a").tolist() == [1, 0]
    import pickle

    copy = pickle.loads(pickle.dumps(relation))  # as workers get it
    assert np.array_equal(copy.matrix, relation.matrix)
    assert copy.decode().equals(relation.decode())


def test_compaction_forgets_rows_and_values():
    table = growing(pa.table({"id": [1, 2, 3, 4], "v": ["a", "b", "c", "d"]}), row_id="id")
    table.take(deletes=[1, 2])
    assert not table.sparse
    table.take(deletes=[4])
    assert table.sparse
    before = table.labels("v")[2]
    assert table.compact().tolist() == [-1, -1, 0, -1]
    assert (table.rows, table.living, table.labels("v").tolist()) == (1, 1, [before])
    assert len(table._dictionaries[1]) == 1
    table._check()
    table.take(pa.table({"id": [1], "v": ["a"]}))
    assert table.labels("v")[1] < before


def test_a_gap_that_is_full_is_relabelled_and_then_wide():
    grown = Dictionary(size=64)
    grown.add(Numbers(np.array([0.0, 1.0])))
    changes = 0
    value = 1.0
    for _ in range(20):
        value /= 2  # always between the first and the last but one
        before = grown.find(Numbers(np.array([0.0, 1.0])))
        _, changed = grown.add(Numbers(np.array([value])))
        grown._check()
        if changed is not None:
            changes += 1
            assert np.array_equal(changed(before), grown.find(Numbers(np.array([0.0, 1.0]))))
    assert 1 <= changes < 12
    assert len(grown) == 22


def test_a_column_that_only_grows_upwards_is_rarely_relabelled():
    grown, changes = Dictionary(), 0
    for batch in range(300):
        changes += grown.add(Numbers(np.arange(batch * 100, batch * 100 + 100)))[1] is not None
    assert changes <= 12  # once for every doubling or so
    assert len(grown.runs) <= 10
    grown._check()


def test_a_full_dictionary_is_an_error():
    grown = Dictionary(size=8)
    with pytest.raises(RowlawError, match="TABLE_TOO_LARGE"):
        grown.add(Numbers(np.arange(5)))


def test_relabelling_changes_only_the_column_concerned(monkeypatch):
    monkeypatch.setattr(module, "LABELS", 64)
    table = growing(pa.table({"a": [0.0, 1.0], "b": [1, 2]}))
    seen = []
    for i in range(1, 20):
        before = {name: table.labels(name).tolist() for name in table.names}
        table.take(pa.table({"a": [0.5**i], "b": [1]}))
        seen += list(table.relabelled)
        table._check()
        assert table.labels("b")[:-1].tolist() == before["b"]
        if "a" in table.relabelled:
            assert table.labels("a")[:-1].tolist() == table.relabelled["a"](np.array(before["a"])).tolist()
        else:
            assert table.labels("a")[:-1].tolist() == before["a"]
    assert set(seen) == {"a"}
    assert table.decode(np.arange(21), ["a"]).column(0).to_pylist() == [0.0, 1.0, *(0.5**i for i in range(1, 20))]


PLACES = pa.table({"origin": ["EWR", "EWR", "JFK"], "flight": [1, 2, 1], "seats": [100, 200, 300]})


def test_ids_of_several_columns():
    table = growing(PLACES, row_id=["origin", "flight"])
    assert table.row_names([2]).to_pylist() == [{"origin": "JFK", "flight": 1}]
    taken = table.take(pa.table({"origin": ["EWR"], "flight": [1], "seats": [150]}), deletes=[("EWR", 1), ("JFK", 1)])
    assert (taken.inserted.tolist(), taken.deleted.tolist()) == ([3], [0, 2])
    assert table.take(deletes=pa.table({"flight": [2], "origin": ["EWR"], "why": ["late"]})).deleted.tolist() == [1]
    table._check()
    refused(
        table,
        "DUPLICATE_ROW_ID",
        "('EWR', 1)",
        "another row",
        inserts=pa.table({"origin": ["EWR"], "flight": [1], "seats": [1]}),
    )
    refused(
        table,
        "DUPLICATE_ROW_ID",
        "('LGA', 7)",
        "twice",
        inserts=pa.table({"origin": ["LGA"] * 2, "flight": [7, 7], "seats": [1, 2]}),
    )
    refused(
        table,
        "BAD_ROW_ID",
        "'flight' has 1 nulls",
        inserts=pa.table({"origin": ["LGA"], "flight": pa.nulls(1), "seats": [1]}),
    )
    refused(table, "UNKNOWN_ROW", "{'origin': 'JFK', 'flight': 1}", deletes=[("JFK", 1)])
    refused(table, "BATCH_COLUMNS", "an id is a tuple of origin, flight", deletes=["JFK"])
    refused(table, "BATCH_TYPE", "'flight'", deletes=[("EWR", "one")])


def test_a_feed_by_ids_of_several_columns():
    table = growing(PLACES, row_id=["origin", "flight"])
    feed = pa.table(
        {
            "op": ["update", "insert", "delete", "delete", "insert"],
            "origin": ["EWR", "LGA", "LGA", "JFK", "JFK"],
            "flight": [1, 1, 1, 1, 2],
            "seats": [111, 5, 5, None, 7],
        }
    )
    coming, going = net(feed, table, "op")
    taken = table.take(coming, going)
    assert table.row_names(taken.deleted).to_pylist() == [
        {"origin": "EWR", "flight": 1},
        {"origin": "JFK", "flight": 1},
    ]
    assert table.decode(taken.inserted).to_pylist() == [
        {"origin": "EWR", "flight": 1, "seats": 111},
        {"origin": "JFK", "flight": 2, "seats": 7},
    ]


def test_a_state_with_ids_of_several_columns(tmp_path):
    laws = Laws.create(tmp_path / "state", PLACES, row_id=["origin", "flight"], progress=False)
    assert ("flight", "origin") in [tuple(sorted(key)) for key in laws.keys]
    laws = Laws.open(tmp_path / "state")
    assert laws.table.row_id == ("origin", "flight")
    change = laws.apply(pa.table({"origin": ["JFK"], "flight": [2], "seats": [300]}), deletes=[("EWR", 2)])
    assert (change.inserted, change.deleted) == (1, 1)
    fresh = {
        str(rule.rule)
        for rule in rowlaw.discover(laws.table.relation().decode(), row_id=["origin", "flight"], progress=False)
    }
    assert {str(rule.rule) for rule in Laws.open(tmp_path / "state").rules} == fresh
