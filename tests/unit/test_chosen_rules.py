"""States that keep chosen rules: counts, clashes, trajectory, and what the commands print."""

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from rowlaw.errors import RowlawError
from rowlaw.maintain import Laws, chosen

PEOPLE = pa.table(
    {"id": [1, 2, 3], "zip": ["07030", "07030", "10001"], "city": ["Hoboken", "Hoboken", "New York"], "age": [1, 2, 3]}
)
RULES = {"one_city": "fd (zip) -> city", "ages": "not (s.age < 0)", "order": "not (s.age < t.age and s.zip > t.zip)"}


def rowlaw(*arguments):
    command = str(Path(sys.executable).with_name("rowlaw"))
    return subprocess.run([command, *arguments], capture_output=True, text=True, check=True)


@pytest.fixture
def laws(tmp_path):
    return Laws.create(tmp_path / "state", PEOPLE, row_id="id", rules=RULES, progress=False)


def test_counts_follow_batches(laws):
    assert laws.counts == {"one_city": 0, "ages": 0, "order": 0}
    change = laws.apply(pa.table({"id": [4], "zip": ["10001"], "city": ["Newark"], "age": [-1]}), batch_id="monday")
    assert change.counts == laws.counts == {"one_city": 2, "ages": 1, "order": 2}
    found = {one.id: one for one in change.chosen}
    assert (found["one_city"].new, found["one_city"].resolved) == (2, 0)
    ids = {frozenset(row["id"] for row in clash) for clash in found["one_city"].new_clashes}
    assert ids == {frozenset({3, 4})}
    change = laws.apply(deletes=[4])
    assert [one.resolved for one in change.chosen] == [2, 1, 2]
    assert [b["one_city"] for b in Laws.open(laws.path).trajectory] == [0, 2, 0]


def test_rules_keep_their_ids_and_no_others_are_searched(laws):
    assert [named.id for named in laws.rules] == list(RULES)
    assert laws.table.names == ("id", "zip", "city", "age")
    assert laws.chosen
    assert laws.history.events == ()


def test_batches_may_have_other_columns(laws):
    change = laws.apply(pa.table({"id": [5], "zip": ["x"], "city": ["y"], "age": [9], "more": [True]}))
    assert change.inserted == 1


def test_rows_without_ids_go_by_the_columns_of_the_rules(tmp_path):
    laws = Laws.create(tmp_path / "state", PEOPLE, rules={"K": "key (zip)"}, progress=False)
    assert laws.table.names == ("zip",)
    assert laws.counts == {"K": 2}
    assert laws.apply(deletes=PEOPLE.slice(0, 1)).counts == {"K": 0}


def test_the_rule_file_says_what_null_means(tmp_path):
    (tmp_path / "laws.yaml").write_text("nulls: equal\nrules:\n  K: key (a)\n")
    laws = Laws.create(
        tmp_path / "state", pa.table({"a": [None, None, 1]}), rules=str(tmp_path / "laws.yaml"), progress=False
    )
    assert (laws.nulls, laws.counts) == ("equal", {"K": 2})


def test_an_unknown_column_is_an_error(tmp_path):
    with pytest.raises(RowlawError, match="UNKNOWN_COLUMN"):
        Laws.create(tmp_path / "state", PEOPLE, rules=["key (zp)"], progress=False)


def test_an_empty_batch_counts_nothing_new(laws):
    change = laws.apply(PEOPLE.slice(0, 0))
    assert [(one.new, one.resolved) for one in change.chosen] == [(0, 0)] * 3


def test_the_engine_counts_where_no_group_helps(laws, monkeypatch):
    monkeypatch.setattr(chosen, "SCANNED", -1)
    change = laws.apply(pa.table({"id": [4], "zip": ["00001"], "city": ["Ulm"], "age": [7]}), deletes=[1])
    found = {one.id: one for one in change.chosen}
    assert (found["order"].violations, found["order"].new, found["order"].resolved) == (2, 2, 0)
    laws._loaded._check(laws.table)


def test_commands(tmp_path):
    (tmp_path / "people.csv").write_text("id,zip,city\n1,07030,Hoboken\n2,07030,Hoboken\n")
    (tmp_path / "new.csv").write_text("id,zip,city\n3,07030,Hobken\n")
    (tmp_path / "laws.yaml").write_text("rules:\n  one_city: fd (zip) -> city\n")
    state = str(tmp_path / "state")
    made = rowlaw(
        "init", state, str(tmp_path / "people.csv"), "--rules", str(tmp_path / "laws.yaml"), "--row-id", "id", "--quiet"
    )
    assert "one_city  fd    0" in made.stdout
    assert "1 chosen rule of 2 rows" in made.stdout
    applied = rowlaw("apply", state, "--insert", str(tmp_path / "new.csv"), "--quiet")
    assert "one_city: 4 violations (+4 -0): fd (zip) -> city" in applied.stdout
    shown = json.loads(rowlaw("show", state, "--history", "--format", "json").stdout)
    assert shown["rules"][0]["violations"] == 4
    assert [batch["violations"] for batch in shown["batches"]] == [{"one_city": 0}, {"one_city": 4}]
    assert "one_city: 4 violations" in rowlaw("show", state, "--history", "--rule", "one_city").stdout
