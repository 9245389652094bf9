"""The published knobs of upkeep and the questions about rules, on the command line; in this process, so that none has
to start."""

import json
import sys

import pyarrow as pa
import pytest

import rowlaw
from rowlaw.cli.app import main
from rowlaw.errors import RowlawError

LAWS = (
    "nulls: equal\nrules:\n  one_state: fd (zip) -> state\n  one_country: fd (state) -> country\n  week: "
    "'od [week] -> [month]'\n"
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "laws.yaml").write_text(LAWS)
    (tmp_path / "people.csv").write_text("name,phone,age\nLee,345,20\nPayne,245,30\nLee,234,30\n")
    (tmp_path / "new.csv").write_text("name,phone,age\nPayne,245,31\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(folder, monkeypatch, capsys):
    """Run a command: its exit code, what it printed, what it complained about."""

    def command(*arguments):
        monkeypatch.setattr(sys, "argv", ["rowlaw", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        return ended.value.code or 0, printed.out, printed.err

    return command


def test_implies(run):
    code, text, _ = run("implies", "laws.yaml", "fd (zip) -> country")
    assert (code, text) == (0, "follows: fd (zip) -> country\n")
    code, text, _ = run("implies", "laws.yaml", "fd (zip) -> country", "fd (country) -> zip", "--format", "json")
    assert code == 1
    assert json.loads(text)["answers"] == [
        {"rule": "fd (zip) -> country", "implied": True},
        {"rule": "fd (country) -> zip", "implied": False},
    ]


def test_order_by(run):
    assert run("order-by", "laws.yaml", "month, week")[:2] == (0, "week\n")
    code, text, _ = run("order-by", "laws.yaml", "week, price desc", "--format", "json")
    assert (code, json.loads(text)) == (0, {"given": "week, price desc", "order_by": ["week", "price desc"]})


def test_questions_to_a_state(run):
    assert run("init", "state", "people.csv", "--kinds", "key", "--quiet")[0] == 0
    assert run("implies", "state", "key (phone, name)")[:2] == (0, "follows: key (phone, name)\n")


def test_maximal_non_uniques_of_discover(run):
    code, text, _ = run("discover", "people.csv", "--kinds", "key", "--non-keys", "--format", "json", "--quiet")
    assert code == 0
    assert json.loads(text)["non_keys"] == [["age"], ["name"]]


def test_maximal_non_uniques_follow_batches(run):
    run("init", "state", "people.csv", "--kinds", "key", "--index-quota", "3", "--quiet")
    code, text, _ = run("apply", "state", "--insert", "new.csv", "--format", "json", "--quiet")
    assert code == 0
    assert set(json.loads(text)["counters"]) == {"candidates", "validations", "pairs"}
    assert json.loads(text)["counters"]["pairs"] > 0
    shown = json.loads(run("show", "state", "--keys", "--format", "json")[1])
    assert shown["keys"] == [["age", "name"], ["age", "phone"]]
    assert shown["non_keys"] == [["age"], ["name", "phone"]]


def test_the_index_quota_of_a_state(folder):
    table = pa.table({"a": [1, 1, 2, 2], "b": [1, 2, 1, 2], "c": [1, 1, 1, 2], "d": [1, 2, 3, 3]})
    few, many = (
        rowlaw.Laws.create(folder / f"state-{quota}", table, kinds=["key"], index_quota=quota, progress=False)
        for quota in (0, 4)
    )
    assert few.keys == many.keys
    assert len(few._loaded.uniques.indexed) <= len(many._loaded.uniques.indexed) <= 4


@pytest.mark.parametrize("rules", [None, {"k": "key (name)", "f": "fd (name) -> age"}], ids=["found", "chosen"])
def test_a_time_limit_that_has_passed_leaves_nothing(folder, rules):
    with pytest.raises(RowlawError, match=r"STATE_LATE: .*nothing was written"):
        rowlaw.Laws.create(folder / "state", "people.csv", rules=rules, time_limit=0.0, progress=False)
    with pytest.raises(RowlawError, match="NO_STATE"):
        rowlaw.Laws.open(folder / "state")


def test_the_command_says_what_to_do_when_time_is_up(run):
    code, _, complaint = run("init", "state", "people.csv", "--time-limit", "0", "--quiet")
    assert code == 3
    assert "STATE_LATE" in complaint
    assert "--rules" in complaint
