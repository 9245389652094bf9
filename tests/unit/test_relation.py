"""The encoded relation: identity of rows, common scales, literals, files that go away."""

import datetime as dt
import pickle
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from rowlaw.errors import RowlawError
from rowlaw.relation import encode
from rowlaw.relation.align import position
from rowlaw.source import open_source


def relation_of(**columns):
    return encode(open_source(pa.table(columns)))


def test_row_identity():
    with relation_of(a=[5, 6]) as relation:
        assert relation.row_labels([1]).to_pylist() == [1]
    with encode(open_source(pa.table({"a": [5, 6], "id": ["x", "y"]})), row_id="id") as relation:
        assert relation.row_labels([1, 0]).to_pylist() == ["y", "x"]


@pytest.mark.parametrize(("ids", "problem"), [(["x", "x"], "1 of 2 rows repeat"), (["x", None], "1 nulls")])
def test_bad_row_ids(ids, problem):
    with pytest.raises(RowlawError, match=f"BAD_ROW_ID.*{problem}"):
        encode(open_source(pa.table({"id": ids})), row_id="id")
    with pytest.raises(RowlawError, match="UNKNOWN_COLUMN"):
        encode(open_source(pa.table({"id": ids})), row_id="idd")


def test_columns_of_different_types_on_one_scale():
    big = 2**53
    with relation_of(
        i=[big, big + 1, -1, None], f=[float(big), -1.0, 0.5, None], d=[Decimal("0.5"), Decimal(-1), None, Decimal(7)]
    ) as relation:
        i, f = relation.aligned("i", "f")
        assert (i[0] == f[0], i[1] > f[0], i[2] == f[1], i[3]) == (True, True, True, -1)
        d, f = relation.aligned("d", "f")
        assert (d[0] == f[2], d[1] == f[1], d[2], d[3] > f[2]) == (True, True, -1, True)


def test_position_of_literals():
    values = pa.array([1, 5, 9])
    assert [position(values, v) for v in (0, 1, 3, 9, 10, Decimal("5.0"))] == [
        (0, False),
        (0, True),
        (1, False),
        (2, True),
        (3, False),
        (1, True),
    ]
    stamps = pa.array([dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 2)], pa.timestamp("ns"))
    assert position(stamps, dt.datetime(2020, 1, 2)) == (1, True)
    assert position(stamps, dt.datetime(2020, 1, 1, 12)) == (1, False)


def test_scratch_goes_away():
    relation = relation_of(a=[1])
    folder = relation.folder
    assert folder.exists()
    relation.close()
    assert not folder.exists()
    relation = relation_of(a=[1])
    folder = relation.folder
    del relation
    assert not folder.exists()


def test_failure_leaves_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.setenv("ROWLAW_SCRATCH", str(tmp_path))
    with pytest.raises(RowlawError):
        encode(open_source(pa.table({"id": [1, 1]})), row_id="id")
    assert list(tmp_path.iterdir()) == []


def test_workers_map_the_same_files():
    with relation_of(a=[3, 1, 2]) as relation:
        copy = pickle.loads(pickle.dumps(relation))
        assert np.array_equal(copy.codes("a"), relation.codes("a"))
        copy.close()  # a copy owns nothing
        assert relation.folder.exists()


def test_unknown_column():
    with relation_of(salary=[1]) as relation, pytest.raises(RowlawError, match="did you mean 'salary'"):
        relation.codes("Salary")


def test_changed_rows_of_a_relation_in_memory():
    """Codes mean what they mean in the relation that the rows came from."""
    from rowlaw.relation.changed import changed_rows
    from rowlaw.relation.memory import MemoryRelation

    relation = MemoryRelation.of(pa.table({"a": [1, 2, 3], "b": ["x", "y", "z"]}))
    made = changed_rows(relation, np.array([0, 2]), np.array([2]), np.array([1]), np.array([0]))
    assert made.decode().to_pylist() == [{"a": 1, "b": "x"}, {"a": 3, "b": "z"}, {"a": 3, "b": "x"}]
    assert made.dictionary("b").to_pylist() == ["x", "y", "z"]
