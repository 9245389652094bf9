"""Laws that fewer than two known rows could break are not reported."""

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import rowlaw
from rowlaw.maintain import Laws

ROWLAW = str(Path(sys.executable).with_name("rowlaw"))


def laws(table, **choices):
    return {str(r.rule) for r in rowlaw.discover(table, progress=False, **choices)}


def command(*arguments, cwd):
    return subprocess.run([ROWLAW, *arguments], capture_output=True, text=True, check=False, cwd=cwd, timeout=250)


STRATEGIES = ["auto", "pairs", "sample", "levels"]


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("error", [0.0, 0.1])
@pytest.mark.parametrize("nulls", ["unknown", "equal"])
@pytest.mark.parametrize("rows", [0, 1])
def test_fewer_than_two_rows(rows, nulls, error, strategy):
    table = pa.table({"id": pa.array([1] * rows, pa.int64()), "name": pa.array(["a"] * rows, pa.string())})
    assert laws(table, nulls=nulls, error=error, strategy=strategy) == set()


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("error", [0.0, 0.1])
def test_a_column_with_fewer_than_two_values(error, strategy):
    """Nothing is known of ``none`` and nearly nothing of ``one``; where null is a value, both are columns as any
    other."""
    table = pa.table(
        {"a": [1, 2, 2], "none": pa.array([None] * 3, pa.int64()), "one": [None, 5, None], "two": [7, 7, None]}
    )
    found = laws(table, error=error, strategy=strategy)
    assert found
    assert not [law for law in found if "none" in law or "one" in law]
    assert "fd () -> two" in found
    assert not [law for law in found if "a" in law.split() and "two" in law and law.startswith("key")]
    equal = laws(table, error=error, strategy=strategy, nulls="equal")
    assert "fd () -> none" in equal
    assert [law for law in equal if "one" in law]


def test_columns_that_are_never_known_together():
    """Two rows have a, two have b, and none has both."""
    table = pa.table({"a": [1, 2, None, None], "b": [None, None, 3, 4]})
    assert {law for law in laws(table) if "a" in law and "b" in law and law.startswith(("fd", "od", "key"))} == set()
    assert {"key (a)", "key (b)"} <= laws(table)


def test_a_pair_may_be_known_in_different_columns():
    """``s.a = t.b`` needs a value of ``a`` in one row and one of ``b`` in another."""
    both = {"overlap": 0.0, "kinds": ["dc"]}
    assert "not (s.a >= t.b)" in laws(pa.table({"a": [1, None], "b": [None, 2]}), **both)
    assert laws(pa.table({"a": [1, None], "b": [2, None]}), **both) == set()


def test_rules_about_one_row():
    alone = {"kinds": ["dc"], "cross": False, "single_row": True, "overlap": 0.0}
    assert laws(pa.table({"a": [1], "b": [2]}), **alone) == {"not (s.a >= s.b)"}
    assert laws(pa.table({"a": pa.array([], pa.int64()), "b": pa.array([], pa.int64())}), **alone) == set()
    assert laws(pa.table({"a": [1, None], "b": [2, None]}), **alone) == {"not (s.a >= s.b)"}


@pytest.mark.parametrize("kinds", [("dc",), ("key",), ("fd", "od"), ("key", "fd", "od", "dc")])
def test_upkeep_from_nothing_and_back(tmp_path, kinds):
    """Laws appear with the second row that could break them, and go with it."""
    empty = pa.table({"id": pa.array([], pa.int64()), "a": pa.array([], pa.int64()), "b": pa.array([], pa.int64())})
    state = Laws.create(tmp_path / "state", empty, row_id="id", kinds=kinds, cross=False, progress=False)
    rows = [
        {"id": 1, "a": 1, "b": None},
        {"id": 2, "a": 2, "b": 5},
        {"id": 3, "a": 2, "b": None},
        {"id": 4, "a": 4, "b": 5},
    ]
    living = []
    for come, go in ([0], []), ([1], []), ([2], []), ([3], []), ([], [1]), ([], [3]), ([], [0]), ([], [2]):
        living = [r for r in living if r not in go] + come
        inserts = pa.Table.from_pylist([rows[r] for r in come], empty.schema) if come else None
        state = Laws.open(state.path)
        before = {str(r.rule) for r in state.rules}
        change = state.apply(inserts, [rows[r]["id"] for r in go] or None)
        now = pa.Table.from_pylist([rows[r] for r in living], empty.schema)
        expected = laws(now, row_id="id", kinds=kinds, cross=False)
        assert {str(r.rule) for r in state.rules} == expected, living
        assert {str(r.rule) for r in change.added} == expected - before
        assert {str(r.rule) for r in change.removed} == before - expected
        if "key" in kinds:
            assert {f"key ({', '.join(key)})" for key in state.keys} == laws(now, row_id="id", kinds=["key"])


def test_commands(tmp_path):
    (tmp_path / "t.csv").write_text("id,name\n")
    shown = command("discover", "t.csv", "--quiet", "--format", "json", cwd=tmp_path)
    assert shown.returncode == 0
    assert json.loads(shown.stdout)["rules"] == []
    assert command("discover", "t.csv", "--quiet", cwd=tmp_path).returncode == 0
    assert command("init", "s", "t.csv", "--quiet", cwd=tmp_path).returncode == 0
    (tmp_path / "more.csv").write_text("id,name\n1,a\n2,b\n")
    assert "key (id)" in command("apply", "s", "--insert", "more.csv", "--quiet", cwd=tmp_path).stdout
    (tmp_path / "n.csv").write_text("id,empty\n1,\n2,\n")
    assert [
        r["rule"]
        for r in json.loads(command("discover", "n.csv", "--quiet", "--format", "json", cwd=tmp_path).stdout)["rules"]
    ] == ["key (id)"]


def test_explain_says_why_such_a_rule_is_not_listed(tmp_path):
    (tmp_path / "n.csv").write_text("id,one,two\n1,,a\n2,5,b\n")
    told = command("explain", "n.csv", "key (one)", "--quiet", cwd=tmp_path).stdout
    assert "No rows could break it" in told
    assert "No rows could break it" not in command("explain", "n.csv", "key (two)", "--quiet", cwd=tmp_path).stdout
