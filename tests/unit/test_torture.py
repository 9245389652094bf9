"""What ``make torture`` has found and is mended, and that it would find it again."""

import errno
import importlib.util
import json
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import rowlaw
from rowlaw.cli import demo
from rowlaw.engine.local.engine import LocalEngine
from rowlaw.errors import RowlawError
from rowlaw.relation import encode, relation
from rowlaw.relation.groups import Side, Sorted
from rowlaw.rules import parse
from rowlaw.source import open_source
from rowlaw.storage import arrays
from rowlaw.streams.applier import Applier
from rowlaw.streams.folder import watch_folder
from tests.torture import cases
from tests.torture.__main__ import _write as write
from tests.torture.commands import complaint
from tests.torture.outcome import Outcome

ROOT = Path(__file__).parents[2]
ROWLAW = str(Path(sys.executable).with_name("rowlaw"))


def run(*arguments, **options):
    return subprocess.run([ROWLAW, *arguments], capture_output=True, check=False, **options)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    path = tmp_path_factory.mktemp("states") / "state"
    table = pa.table({"id": list(range(8)), "zip": [i % 3 for i in range(8)], "city": [f"c{i % 3}" for i in range(8)]})
    rowlaw.Laws.create(path, table, row_id="id", kinds=["key"], progress=False)
    return path


@pytest.fixture
def state(made, tmp_path):
    return shutil.copytree(made, tmp_path / "state")


def test_a_disk_that_fills_up_while_a_batch_is_taken(state, monkeypatch):
    laws = rowlaw.Laws.open(state)

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(arrays.os, "pwrite", full)
        with pytest.raises(RowlawError, match="STATE_NOT_WRITTEN.*No space left") as caught:
            laws.apply(pa.table({"id": [9], "zip": [1], "city": ["c"]}))
    assert caught.value.exit_code == 3
    assert rowlaw.Laws.open(state).batch == laws.batch == 0
    assert laws.apply(pa.table({"id": [9], "zip": [1], "city": ["c"]})).inserted == 1


def test_no_room_for_scratch(tmp_path):
    """A limit on the size of files stands in for the disk; a mapped page without room would end the process."""
    (tmp_path / "t.csv").write_text("a,b\n" + "".join(f"{i % 7},{i % 5}\n" for i in range(5000)))

    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, resource.RLIM_INFINITY))

    done = run("check", "t.csv", "--rule", "key (a)", cwd=tmp_path, preexec_fn=limited)
    assert done.returncode == 3
    assert done.stderr.startswith(b"NO_ROOM: ")
    assert b"ROWLAW_SCRATCH" in done.stderr


def test_quarantined_rows_of_files_with_similar_names(state, tmp_path):
    incoming, aside = tmp_path / "incoming", tmp_path / "aside"
    incoming.mkdir()
    names = ["a b.csv", "a-b.csv", "a:b.csv", "é" * 120 + ".csv"]
    for i, name in enumerate(names):
        (incoming / name).write_text(f"id,zip,city\n{100 + i},0,elsewhere\n")
    list(watch_folder(Applier(state, guard=["fd (zip) -> city"], quarantine=aside), incoming))
    assert len(list(aside.iterdir())) == len(names)


def test_a_name_that_is_not_unicode(tmp_path, state):
    name = os.fsdecode(b"odd-\xff.csv")
    (tmp_path / name).write_text("a\n1\n2\n")
    done = run("check", os.fsencode(name), "--rule", "key (a)", cwd=tmp_path)
    assert done.returncode == 2
    assert rb"BAD_FILE: odd-\udcff.csv: the name is not valid Unicode" in done.stderr
    os.rename(state, os.fsencode(tmp_path) + b"/\xff.state")
    done = run("show", b"\xff.state", "--format", "json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert rb"\udcff.state" in done.stdout
    done = run("show", b"\xff.state", "--format", "json", "--out", "told.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "told.json").read_text())["state"] == "\udcff.state"


def test_difference_sets_of_many_equal_rows_are_sorted_as_numbers(tmp_path, monkeypatch):
    usual, compared = np.unique, []

    def noted(values, *rest, axis=None, **options):
        if axis is not None:
            compared.append(len(values))
        return usual(values, *rest, axis=axis, **options)

    monkeypatch.setattr(np, "unique", noted)
    rows = 5000
    table = pa.table({"a": np.full(rows, 7), "b": np.full(rows, 1)})
    rowlaw.Laws.create(tmp_path / "state", table, kinds=["key", "fd"], progress=False)
    assert max(compared, default=0) < rows


def test_a_literal_is_looked_up_once(monkeypatch):
    opened, usual = [], relation.read_dictionary
    monkeypatch.setattr(relation, "read_dictionary", lambda *place: opened.append(place) or usual(*place))
    with encode(open_source(pa.table({"a": [1, 2, 3]}))) as table:
        engine = LocalEngine(table)
        for _ in range(3):
            assert engine.count([parse("not (s.a > 2)"), parse("not (s.a < t.a and s.a > 2)")])[0].pairs == 1
    assert len(opened) == 1


def test_random_cases_find_a_wrong_answer(monkeypatch):
    monkeypatch.setattr(cases, "TABLES", 2)
    monkeypatch.setattr(cases, "RULES", 10)
    tally = cases.chunk(3)
    assert (tally.cases, tally.failures) == (40, [])
    monkeypatch.setattr(cases.naive, "holds", lambda *_: True)
    assert cases.chunk(3).failures


@pytest.mark.parametrize(
    ("code", "told", "fine"),
    [
        (0, "", True),
        (2, "NO_STATE: no", True),
        (1, "", False),
        (2, "oh no", False),
        (3, "Traceback (most recent call last):\nX: y", False),
        (-7, "", False),
    ],
)
def test_what_counts_as_broken(code, told, fine):
    assert (complaint(code, told, (0, 2, 3)) is None) == fine


def test_every_find_is_kept():
    for find in json.loads((ROOT / "tests/torture/found.json").read_text()):
        assert (ROOT / find["kept"]).is_file(), find


def test_the_page_is_made_from_a_run(tmp_path):
    place = importlib.util.spec_from_file_location("figures", ROOT / "docs/hooks/figures.py")
    figures = importlib.util.module_from_spec(place)
    place.loader.exec_module(figures)
    assert figures.torture(tmp_path) == figures.torture_found(tmp_path) == figures.NOTHING
    bounds = {"wide, check": {"seconds": 2.5, "megabytes": 1234}}
    parts = [
        Outcome("cases", "random rules", 1_234_567, 60.0, {"rules_broken": 5000}),
        Outcome("shapes", "odd", 1, 2.0, {"commands": bounds}, ["wide: it broke"]),
    ]
    write(tmp_path / "summary.json", parts, 62.0, 10.0)
    page = figures.torture(tmp_path)
    for told in (
        "1,234,568 cases in 1.0 minutes",
        "rules broken: 5,000",
        "| wide, check | 2 s | 1,234 MB |",
        "`wide: it broke`",
        "Failures: 1.",
    ):
        assert told in page
    assert "FILE_NOT_WRITTEN" in figures.torture_found(tmp_path)
    assert not figures._read(tmp_path)  # what was compared is something else
    text = (ROOT / "docs/torture.md").read_text()
    assert "<!-- torture -->" in text
    assert "<!-- found -->" in text


def test_a_demo_that_was_killed_can_be_run_again(tmp_path):
    (tmp_path / "empty").mkdir()
    for name in ("empty", "new"):
        home = demo._fresh(str(tmp_path / name))
        (home / "state").mkdir()
        (home / "half.csv").write_text("half")
        assert [path.name for path in demo._fresh(str(home)).iterdir()] == ["README.txt"]


def test_a_table_of_more_columns_than_calls_can_be_nested():
    columns = sys.getrecursionlimit() + 100
    table = pa.table({f"c{i}": [i % 3, 1, i % 2, i % 3] for i in range(columns)})
    with encode(open_source(table)) as wide:
        codes = [Sorted(wide.codes(f"c{i}"), 4, False) for i in range(columns)]
        order = Side.whole(np.arange(4, dtype=np.int32)).sorted_by(codes)[1]
        assert order.tolist() == np.lexsort(wide.matrix[::-1]).tolist()
