"""Row ids of several columns: LocalEngine names the rows that the oracle finds."""

import json

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rowlaw
from rowlaw.errors import RowlawError
from rowlaw.rules import RuleSet
from rowlaw.source.row_ids import CompositeId, row_names
from tests import naive
from tests.strategies import nulls, rules, tables, to_arrow

ID = ["row id, part 1", "row id.part 2"]


def with_ids(table, data):
    """The table with two more columns whose values together are unique, and for each row its id."""
    many = st.lists(
        st.tuples(st.integers(0, 2), st.sampled_from(["", "x", "é", "10", "9"])),
        unique=True,
        min_size=table.rows,
        max_size=table.rows,
    )
    ids = data.draw(many)
    arrow = to_arrow(table)
    for i, name in enumerate(ID):
        arrow = arrow.append_column(name, pa.array([id[i] for id in ids], [pa.int64(), pa.string()][i]))
    return arrow, ids


@given(data=st.data(), table=tables(min_columns=2, max_rows=8), nulls=nulls())
def test_rows_go_by_their_ids(data, table, nulls):
    arrow, ids = with_ids(table, data)
    rule = data.draw(rules(table))
    result = rowlaw.check(arrow, RuleSet.of([rule], nulls=nulls), row_id=ID, progress=False)
    expected = sorted(tuple(ids[row] for row in pair) for pair in naive.violations(rule, table.values, nulls))
    found = [
        pair
        for batch in result.pairs("R1")
        for pair in zip(
            *(
                row_names(batch.column(c))
                for c in range(batch.num_columns)
                if batch.schema.names[c] in ("s_row", "t_row")
            ),
            strict=True,
        )
    ]
    assert sorted(tuple(pair) for pair in found) == expected
    counts = {ids[row]: pairs for row, pairs in naive.row_counts(rule, table.values, nulls).items()}
    assert dict(result.worst(table.rows + 1)) == counts
    removal = result.rows_to_remove("R1")
    assert set(removal.first) <= set(counts)
    sample = json.loads(result.to_json())["rules"][0]["sample"]
    assert all(tuple(map(tuple, pair)) in expected for pair in sample)


def test_ids_in_python_and_in_text():
    table = pa.table({"origin": ["EWR", "EWR", "JFK"], "flight": [1, 2, 1], "tail": ["N1", "N1", "N2"]})
    result = rowlaw.check(table, "key (tail)", row_id=["origin", "flight"], progress=False)
    (clash,) = result.side_by_side("R1")
    assert (clash.s_row, clash.t_row) == (("EWR", 1), ("EWR", 2))
    assert str(clash.s_row) == "origin=EWR, flight=1"
    assert result.worst(1) == [(("EWR", 1), 2)]
    assert result.clashes("R1").column("s_row").to_pylist() == [{"origin": "EWR", "flight": 1}]
    alone = rowlaw.check(table.append_column("id", pa.array([7, 8, 9])), "key (tail)", row_id=["id"], progress=False)
    assert alone.worst(1) == [(7, 2)]


@pytest.mark.parametrize(
    ("row_id", "message"),
    [
        (["a", "b"], "BAD_ROW_ID: row_id column 'a, b' is not unique: 1 of 4 rows repeat an id"),
        (["a", "c"], "BAD_ROW_ID: row_id column 'c' has 1 nulls; every row needs an id"),
        (["a", "x"], "UNKNOWN_COLUMN: no column 'x'"),
        (["a", "a"], "BAD_OPTION: row_id=.* the column 'a' is named twice"),
        (7, "BAD_OPTION: row_id=7: give the name of a column, or a list of names"),
    ],
)
def test_bad_ids(row_id, message):
    table = pa.table({"a": [1, 1, 2, 1], "b": ["x", "y", "x", "x"], "c": [1, 2, None, 4]})
    with pytest.raises(RowlawError, match=message):
        rowlaw.check(table, "key (b)", row_id=row_id, progress=False)


@given(ids=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 3)), max_size=12))
def test_whether_ids_are_unique(ids):
    table = pa.table({name: pa.array([id[i] for id in ids], pa.int64()) for i, name in enumerate("abc")})
    if len(set(ids)) == len(ids):
        assert rowlaw.check(table, "key (a, b, c)", row_id=["a", "b", "c"], progress=False).counts == {"R1": 0}
        return
    with pytest.raises(RowlawError, match=f"{len(ids) - len(set(ids))} of {len(ids)} rows repeat an id"):
        rowlaw.check(table, "key (a)", row_id=["a", "b", "c"], progress=False)


def test_discovery_leaves_out_what_only_names_rows():
    table = pa.table({"id": [1, 2, 3, 4], "a": [1, 1, 2, 2], "b": ["x", "y", "x", "y"], "c": [5, 6, 5, 6]})
    assert "key (a, b)" in {
        str(found.rule) for found in rowlaw.discover(table, kinds=["key"], row_id=["a", "b"], progress=False)
    }
    assert all("id" not in found.rule.columns for found in rowlaw.discover(table, row_id="id", progress=False))


def test_a_composite_id_survives_pickling():
    import pickle

    id = CompositeId(["a", "b"], [1, "x"])
    again = pickle.loads(pickle.dumps(id))
    assert (again, again.names, str(again)) == ((1, "x"), ("a", "b"), "a=1, b=x")
