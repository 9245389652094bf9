"""Profiles equal what the values say, on both engines."""

import json

import pyarrow as pa
from hypothesis import given, settings
from typer.testing import CliRunner

import rowlaw
from rowlaw.cli.app import app
from tests import naive
from tests.strategies import tables, to_arrow

PEOPLE = pa.table({"id": [1, 2, 3, 4], "city": ["Ulm", "Ulm", None, "Bonn"], "land": ["DE"] * 4})


def expected(values):
    """Nulls, distinct values, lowest and highest, and how often each value occurs."""
    known = [v for v in values if not naive.is_null(v)]
    distinct = sorted(set(known))
    counts = sorted((-known.count(v), i) for i, v in enumerate(distinct))
    ends = (distinct[0], distinct[-1]) if distinct else (None, None)
    return len(values) - len(known), len(distinct), *ends, [(distinct[i], -n) for n, i in counts]


@settings(max_examples=100)
@given(table=tables(max_rows=10))
def test_profiles(table):
    found = rowlaw.profile(to_arrow(table), top=20, progress=False)
    assert found.rows == table.rows
    for name, values in table.values.items():
        column = found[name]
        nulls, distinct, lowest, highest, counts = expected(values)
        assert (column.nulls, column.distinct, column.lowest, column.highest) == (nulls, distinct, lowest, highest)
        assert [n for _, n in column.frequent] == [n for _, n in counts]
        assert set(column.frequent) == set(counts)
        assert column.unique == (table.rows > 0 and distinct == table.rows)


def test_what_columns_take_part_in():
    found = rowlaw.profile(PEOPLE, rules={"k": "key (id)", "f": "fd (city) -> land"}, progress=False)
    assert [found.part(column) for column in found.columns] == ["unique, 1 key", "1 law", "constant, 1 law"]
    assert "city    text     1 (25%)  2         Bonn  Ulm  Ulm (50%)" in str(found)
    assert str(found).endswith("4 rows, 3 columns")


def test_on_the_command_line(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("id,city\n1,Ulm\n2,Ulm\n3,\n")
    (tmp_path / "laws.yaml").write_text("rules:\n  k: key (id)\n")

    def run(*arguments):
        found = CliRunner().invoke(app, ["profile", str(path), "--quiet", *arguments])
        assert found.exit_code == 0, found.output
        return found.output

    assert "unique, 1 key" in run("--rules", str(tmp_path / "laws.yaml"))
    document = json.loads(run("--format", "json", "--top", "1"))
    assert document["columns"][1] == {
        "name": "city",
        "type": "text",
        "nulls": 1,
        "distinct": 1,
        "exact": True,
        "lowest": "Ulm",
        "highest": "Ulm",
        "frequent": [{"value": "Ulm", "rows": 2}],
        "unique": False,
        "constant": False,
        "keys": [],
        "rules": [],
    }
    assert "| id | integer |  | 3 | 1 | 3 |" in run("--format", "markdown")


def test_numbers_in_words():
    assert "1 row, 1 column" in str(rowlaw.profile(pa.table({"a": [1]}), progress=False))
