"""rowlaw.check and its result."""

import json
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

import rowlaw
from rowlaw.errors import RowlawError

TABLE = pa.table(
    {
        "id": [10, 11, 12, 13],
        "zip": ["07030", "07030", "10001", None],
        "city": ["Hoboken", "Hobken", "New York", "Nowhere"],
        "row": [1, 2, 3, 3],
        "low": [1, 5, 2, 9],
        "high": [2, 4, 3, 9],
    }
)


def test_counts_rows_and_clashes():
    result = rowlaw.check(
        TABLE, {"city": "fd (zip) -> city", "id": "key (id)", "order": "not (s.low > s.high)"}, row_id="id"
    )
    assert result.counts == {"city": 2, "id": 0, "order": 1}
    assert [v.id for v in result.broken] == ["city", "order"]
    assert result.exit_code == 1
    assert result["city"].rows == 2
    assert result["city"].error == 2 / 12
    assert result["order"].error == 1 / 4
    assert result.clashes("city").to_pylist() == [
        {"s_row": 10, "t_row": 11, "s_city": "Hoboken", "t_city": "Hobken", "s_zip": "07030", "t_zip": "07030"}
    ]
    assert result.clashes("order").to_pylist() == [{"s_row": 11, "s_high": 4, "s_low": 5}]
    assert result.worst() == [(11, 3), (10, 2)]
    assert "2 of 3 rules broken" in repr(result)
    with pytest.raises(RowlawError, match="UNKNOWN_RULE.*did you mean 'city'"):
        result.clashes("citi")


def test_nulls():
    assert rowlaw.check(TABLE, "key (zip)").counts == {"R1": 2}
    more = pa.table({"zip": [None, None, "x"]})
    assert rowlaw.check(more, "key (zip)").counts == {"R1": 0}
    assert rowlaw.check(more, "key (zip)", nulls="equal").counts == {"R1": 2}
    assert rowlaw.check(more, rowlaw.RuleSet.of("key (zip)", nulls="equal")).counts == {"R1": 2}


def test_severity_and_tolerance(tmp_path):
    file = tmp_path / "rules.yaml"
    file.write_text(
        "rules:\n  a: {rule: fd (zip) -> city, severity: warn}\n  b: {rule: fd (zip) -> city, tolerate: 0.2}\n"
    )
    result = rowlaw.check(TABLE, file)
    assert [v.id for v in result.broken] == ["a"]
    assert result.exit_code == 0
    assert rowlaw.check(TABLE, str(file)).counts == {"a": 2, "b": 2}


def test_a_column_called_row():
    clash = rowlaw.check(TABLE, "key (row)").clashes("R1").to_pylist()
    assert clash == [{"s_row": 2, "t_row": 3, "s_row_": 3, "t_row_": 3}]


def test_json_document():
    document = json.loads(rowlaw.check(TABLE, ["fd (zip) -> city"]).to_json())
    assert document["rows"] == 4
    assert set(document["seconds"]) == {"read", "check"}
    (rule,) = document["rules"]
    assert (rule["id"], rule["rule"], rule["violations"], rule["rows"]) == ("R1", "fd (zip) -> city", 2, 2)
    assert rule["sample"] == [[0, 1]]


def test_violations_are_streamed_to_a_file(tmp_path):
    result = rowlaw.check(TABLE, {"city": "fd (zip) -> city", "order": "not (s.low > s.high)"})
    assert result.write_violations(tmp_path / "one.parquet", ["city"]) == 2
    values = ["s_city", "t_city", "s_zip", "t_zip"]
    assert pq.read_table(tmp_path / "one.parquet").column_names == ["rule", "s_row", "t_row", *values]
    assert result.write_violations(tmp_path / "all.parquet") == 3
    none = dict.fromkeys([*values, "s_high", "t_high", "s_low", "t_low"])
    zips = {"s_zip": "07030", "t_zip": "07030"}
    expected = [
        none | {"rule": "city", "s_row": 0, "t_row": 1, "s_city": "Hoboken", "t_city": "Hobken"} | zips,
        none | {"rule": "city", "s_row": 1, "t_row": 0, "s_city": "Hobken", "t_city": "Hoboken"} | zips,
        none | {"rule": "order", "s_row": 1, "t_row": None, "s_high": 4, "s_low": 5},
    ]
    assert (
        pq.read_table(tmp_path / "all.parquet").sort_by([("rule", "ascending"), ("s_row", "ascending")]).to_pylist()
        == expected
    )
    assert result.write_violations(tmp_path / "all.arrow") == 3
    assert pa.ipc.open_file(tmp_path / "all.arrow").read_all() == pq.read_table(tmp_path / "all.parquet")
    assert result.write_violations(tmp_path / "all.csv") == 3
    assert csv.read_csv(tmp_path / "all.csv").column_names == pq.read_table(tmp_path / "all.parquet").column_names
    assert result.write_violations(tmp_path / "limited.csv", limit=1) == 2
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "all.arrow",
        "all.csv",
        "all.parquet",
        "limited.csv",
        "one.parquet",
    ]


@pytest.mark.parametrize("name", ["all.parquet", "all.csv", "all.arrow"])
def test_a_file_of_no_violations_has_the_same_columns(tmp_path, name):
    rules = {"city": "fd (zip) -> city", "order": "not (s.low > s.high)"}
    result = rowlaw.check(TABLE.slice(2), rules)
    assert result.write_violations(tmp_path / name) == 0
    written = {"parquet": pq.read_table, "csv": csv.read_csv, "arrow": lambda path: pa.ipc.open_file(path).read_all()}[
        name.split(".")[1]
    ]
    assert written(tmp_path / name).column_names == [
        "rule",
        "s_row",
        "t_row",
        *sorted_values("city", "high", "low", "zip"),
    ]


def sorted_values(*columns):
    return [f"{row}_{column}" for column in columns for row in "st"]


def test_a_file_of_violations_has_a_format_that_its_name_says(tmp_path):
    result = rowlaw.check(TABLE, "fd (zip) -> city")
    with pytest.raises(RowlawError, match=r"BAD_OPTION.*\.parquet, \.csv, \.arrow"):
        result.write_violations(tmp_path / "all.xlsx")
    assert not list(tmp_path.iterdir())


def test_a_closed_result_says_so():
    result = rowlaw.check(TABLE, "fd (zip) -> city")
    result.close()
    result.close()
    assert result.counts == {"R1": 2}
    with pytest.raises(RowlawError, match="RESULT_CLOSED"):
        result.clashes("R1")


@pytest.mark.parametrize("rows", [0, 1])
def test_tables_without_pairs(rows):
    result = rowlaw.check(
        TABLE.slice(0, rows), ["key (id)", "fd () -> city", "not (s.low > s.high)", "not (s.id = t.row)"]
    )
    assert set(result.counts.values()) == {0}
    assert result.worst() == []
    assert result.exit_code == 0
    assert json.loads(result.to_json())["rows"] == rows


def test_all_nulls():
    table = pa.table({"a": pa.nulls(3), "b": pa.nulls(3, pa.int64())})
    rules = ["key (a)", "key (b)", "fd (a) -> b", "od {}: a ~ b", "not (s.b <= t.b)"]
    assert list(rowlaw.check(table, rules).counts.values()) == [0, 0, 0, 0, 0]
    assert list(rowlaw.check(table, rules, nulls="equal").counts.values()) == [6, 6, 0, 0, 6]


@pytest.mark.parametrize(
    ("rule", "condition"),
    [
        ("key (zipp)", "UNKNOWN_COLUMN"),
        ("not (s.zip = t.zip", "RULE_SYNTAX"),
        ("not (s.low << t.low)", "RULE_SYNTAX"),
        ("not (s.zip < t.low)", "INCOMPATIBLE_TYPES"),
        ("not (s.zip = 7030)", "INCOMPATIBLE_TYPES"),
    ],
)
def test_bad_rules_point_at_the_place_and_nothing_runs(rule, condition, monkeypatch):
    # a table with known types is not even read
    monkeypatch.setattr(sys.modules["rowlaw.violations.check"], "open_engine", None)
    with pytest.raises(RowlawError) as raised:
        rowlaw.check(TABLE, rule)
    assert raised.value.condition == condition
    assert "^" in str(raised.value)
    assert raised.value.exit_code == 2


def test_trivial_rule():
    assert rowlaw.check(TABLE, ["od [id] -> [id]", "not (s.low < t.low and s.low > t.low)"]).counts == {
        "R1": 0,
        "R2": 0,
    }


def test_files_go_with_the_result():
    result = rowlaw.check(TABLE, "key (id)")
    folder = result.engine.relation.folder
    assert folder.exists()
    result.close()
    assert not folder.exists()
