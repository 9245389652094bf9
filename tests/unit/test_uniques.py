"""Swan: the example of its Table I, its index selection, and what its sections say about look-ups and position
lists."""

import numpy as np
import pyarrow as pa
import pytest

from rowlaw.maintain.uniques import Uniques, additional_columns, select_columns
from rowlaw.relation import encode
from rowlaw.source import open_source
from rowlaw.storage.table import GrowingTable

PEOPLE = pa.table({"Name": ["Lee", "Payne", "Lee"], "Phone": [345, 245, 234], "Age": [20, 30, 30]})


def growing(table):
    with encode(open_source(table)) as relation:
        return GrowingTable.of(relation)


def test_table_one():
    uniques = Uniques.create(growing(PEOPLE))
    assert uniques.minimal == [("Phone",), ("Age", "Name")]
    assert uniques.maximal_non == [("Age",), ("Name",)]


def test_table_one_with_the_insert():
    table = growing(PEOPLE)
    uniques = Uniques.create(table)
    taken = table.take(inserts=pa.table({"Name": ["Payne"], "Phone": [245], "Age": [31]}))
    uniques.insert(table, taken.inserted)
    assert uniques.minimal == [("Age", "Name"), ("Age", "Phone")]
    assert uniques.maximal_non == [("Age",), ("Name", "Phone")]
    uniques._check(np.asarray(table.alive))


def test_table_one_with_the_delete():
    """The paper deletes its third tuple (Lee, 234, 30) and calls it the first."""
    table = growing(PEOPLE)
    uniques = Uniques.create(table)
    taken = table.take(deletes=PEOPLE.slice(2, 1))
    uniques.delete(table, taken.deleted)
    assert uniques.minimal == [("Age",), ("Name",), ("Phone",)]
    assert uniques.maximal_non == [()]
    uniques._check(np.asarray(table.alive))


def test_frequent_columns_are_indexed():
    """Section III-D: of {A,B}, {A,C}, {A,D}, {C,D} the columns A and C are indexed; D narrows C down, B would narrow
    nothing."""
    uniques = [frozenset(s) for s in ("AB", "AC", "AD", "CD")]
    assert select_columns(uniques) == ["A", "C"]
    assert additional_columns(uniques, ["A", "C"], 3, {"A": 0.5, "B": 0.5, "C": 0.1, "D": 0.5}) == ["D"]


def test_quota_is_kept():
    uniques = [frozenset(s) for s in ("AB", "AC", "AD", "CD")]
    assert additional_columns(uniques, ["A", "C"], 2, dict.fromkeys("ABCD", 0.5)) == []
    wide = additional_columns(uniques, ["A", "C"], 4, {"A": 0.1, "B": 0.5, "C": 0.9, "D": 0.5})
    assert wide == ["B", "D"]  # A finds most rows: B and D narrow it down


def test_a_unique_of_one_column_cannot_be_narrowed_down():
    assert additional_columns([frozenset("A"), frozenset("AB")], ["A"], 3, {"A": 0.1, "B": 0.1}) == []


def test_many_values_before_many_uniques():
    """Where we differ: a column of two values that most uniques have is not the one to look rows up by."""
    weight = {"flag": 0.001, "x": 0.5, "y": 0.5}
    assert select_columns([frozenset({"flag", "x"}), frozenset({"flag", "y"})], weight.__getitem__) == ["x", "y"]


def test_look_ups_are_shared(monkeypatch):
    table = growing(pa.table({"a": [1, 1, 2, 2], "b": [1, 2, 1, 2], "c": [1, 2, 2, 1]}))
    uniques = Uniques.create(table)
    assert uniques.minimal == [("a", "b"), ("a", "c"), ("b", "c")]
    looked = []
    plain = Uniques._look_up
    monkeypatch.setattr(Uniques, "_look_up", lambda self, *args: looked.append(args[0]) or plain(self, *args))
    taken = table.take(inserts=pa.table({"a": [1, 3], "b": [1, 4], "c": [5, 6]}))
    uniques.insert(table, taken.inserted)
    assert len(looked) <= 3
    assert uniques.minimal == [("a", "c"), ("b", "c")]
    assert uniques.maximal_non == [("c",), ("a", "b")]


def test_rows_that_were_alone_change_nothing(monkeypatch):
    """Section IV-B: a row whose value occurs once cannot have been a duplicate, and no lists are intersected."""
    table = growing(pa.table({"a": [1, 1, 2, 9], "b": [1, 2, 2, 8]}))
    uniques = Uniques.create(table)
    assert uniques.maximal_non == [("a",), ("b",)]
    monkeypatch.setattr(Uniques, "_agreeing", lambda *_: pytest.fail("all rows were asked"))
    taken = table.take(deletes=pa.table({"a": [9], "b": [8]}))
    uniques.delete(table, taken.deleted)
    assert uniques.minimal == [("a", "b")]


def test_rows_left_over_decide(monkeypatch):
    """A list that keeps two rows proves the non-unique without any intersection."""
    table = growing(pa.table({"a": [1, 1, 1, 2], "b": [1, 2, 3, 4]}))
    uniques = Uniques.create(table)
    monkeypatch.setattr(Uniques, "_agreeing", lambda *_: pytest.fail("all rows were asked"))
    taken = table.take(deletes=pa.table({"a": [1], "b": [3]}))
    uniques.delete(table, taken.deleted)
    assert uniques.minimal == [("b",)]
    assert uniques.maximal_non == [("a",)]


@pytest.mark.parametrize("rows", [0, 1])
def test_less_than_two_rows(rows):
    table = growing(PEOPLE.slice(0, rows))
    uniques = Uniques.create(table)
    assert uniques.minimal == [("Age",), ("Name",), ("Phone",)]
    assert uniques.maximal_non == []
    taken = table.take(inserts=PEOPLE.slice(rows))
    uniques.insert(table, taken.inserted)
    assert uniques.minimal == [("Phone",), ("Age", "Name")]


def test_null_is_no_duplicate_of_a_row_that_went():
    """A row with null had no duplicates, so rows with null that stay do not keep a combination of columns from being a
    key again."""
    rows = pa.table({"a": [0] * 6, "b": [0, None, 0, 0, None, None], "c": [0.0] * 6})
    table = GrowingTable.of(encode(open_source(rows)))
    uniques = Uniques.create(table)
    assert uniques.minimal == []
    gone = table.take(deletes=rows.slice(0, 3))
    uniques.delete(table, gone.deleted)
    assert uniques.minimal == [("b",)]
    uniques._check(table.alive)
