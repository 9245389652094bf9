"""Frames of other libraries."""

import re
from datetime import date
from decimal import Decimal

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from rowlaw.errors import RowlawError
from rowlaw.relation import encode
from rowlaw.source import open_source

ROWS = [{"a": 2, "b": "x"}, {"a": 1, "b": None}]


def read(frame):
    with encode(open_source(frame)) as relation:
        return relation.decode().to_pylist()


def test_every_library_gives_the_same_rows():
    table = pa.table({"a": [2, 1], "b": ["x", None]})
    assert read(table) == ROWS
    assert read(pd.DataFrame({"a": [2, 1], "b": ["x", None]}, index=[7, 3])) == ROWS
    assert read(pl.DataFrame(ROWS)) == ROWS
    assert read(pl.DataFrame(ROWS).lazy().collect()) == ROWS
    with duckdb.connect() as connection:
        connection.register("frame", table)
        assert read(connection.sql("select * from frame order by a desc")) == ROWS
    assert read(table.to_reader()) == ROWS


def test_categories_that_no_row_has():
    frame = pd.DataFrame({"c": pd.Categorical(["b", "a", None], categories=["z", "b", "a", "unused"])})
    with encode(open_source(frame)) as relation:
        assert relation.column("c").distinct == 2
        assert relation.codes("c").tolist() == [1, 0, -1]
    odd = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, None, 3], pa.int8()), pa.array(["x", "x", None, "y"]))
    with encode(open_source(pa.table({"c": odd}))) as relation:
        assert relation.codes("c").tolist() == [0, 0, -1, -1, 1]


def test_names_that_are_not_text():
    assert read(pd.DataFrame({1: [5]})) == [{"1": 5}]


@pytest.mark.parametrize(
    ("frame", "condition"),
    [
        (pa.table({"a": [[1]]}), "UNSUPPORTED_TYPE"),
        (pa.table({"a": [{"b": 1}]}), "UNSUPPORTED_TYPE"),
        (pa.table({"a": [b"x"]}), "UNSUPPORTED_TYPE"),
        (pa.table([[1], [2]], names=["a", "a"]), "DUPLICATE_COLUMN"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "DUPLICATE_COLUMN"),
        (pd.DataFrame({"a": [1, "x"]}), "MIXED_TYPES"),
        (pa.table({}), "NO_COLUMNS"),
        (7, "NOT_A_TABLE"),
    ],
)
def test_bad_frames(frame, condition):
    with pytest.raises(RowlawError) as raised:
        read(frame)
    assert raised.value.condition == condition


@pytest.mark.parametrize(
    ("values", "wanted", "shown"),
    [
        ([1.5, 2.0], "integer", "1.5 cannot be read as integer"),
        ([1, 2], "date", "1 cannot be read as date"),
        ([date(2020, 1, 1)], "boolean", "'2020-01-01' cannot be read as boolean"),
        ([7, 12345], "decimal(3,0)", "12345 cannot be read as decimal(3,0)"),
        (["x"], "integer", "'x' cannot be read as integer"),
    ],
)
def test_values_that_have_not_the_type_given(values, wanted, shown):
    with pytest.raises(RowlawError, match=re.escape(f"BAD_VALUE: Table, column 'a': {shown}")):
        encode(open_source(pa.table({"a": values}), types={"a": wanted}))


def test_another_type_for_typed_columns():
    table = pa.table({"a": [7, None], "b": pa.array([None, None], pa.int64()), "c": [date(2020, 1, 1), None]})
    with encode(open_source(table, types={"a": "decimal(3,1)", "b": "date", "c": "string"})) as relation:
        assert relation.decode().to_pylist() == [
            {"a": Decimal("7.0"), "b": None, "c": "2020-01-01"},
            {"a": None, "b": None, "c": None},
        ]
