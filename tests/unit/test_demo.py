"""The demo: every part of its story, on the real table and on the built-in one."""

import sys

import pyarrow.parquet as pq
import pytest

import rowlaw
from rowlaw.cli import stories
from rowlaw.cli.demo import show
from rowlaw.errors import RowlawError


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "110")
    return tmp_path


def test_the_whole_story_on_a_real_table(here, capsys):
    show()
    shown = capsys.readouterr().out
    parts = [
        "336,776 flights that left New York in 2013, as a Spark DataFrame",
        "7 rules, checked where the rows are",
        "spark engine: asked for",
        "One that nearly holds",
        "4 errors planted in a copy",
        "What a pipeline does next",
        "The table planes: 3,322 rows",
        "laws that its rows obey",
        "one that nearly holds",
        "5 errors planted",
        "A row arrives",
        "report.html",
    ]
    places = [shown.index(part) for part in parts]
    assert places == sorted(places)
    assert "fd (model) -> engines: 4 violations; without N851NW it would hold" in shown
    assert "retired: " in shown
    assert "fd (dest, origin) -> distance: without 95 of 336,776 rows it would hold" in shown
    for found in ("hour      16      clock, order", "distance  0       length", "minute    0       minutes", "dest      EWR     away"):
        assert found in shown
    assert "tailnum N20001, manufacturer BOEING, model 737-824, seats 166" in shown
    assert "\x1b" not in shown
    folder = here / "rowlaw-demo"
    report = (folder / "report.html").read_text()
    assert "N102UW" in report
    assert len(report) < 2_000_000
    assert rowlaw.Laws.open(folder / "planes.state").batch == 1
    assert "month=1, day=1, carrier=UA, flight=194, origin=JFK" in (folder / "flights.html").read_text()
    written = pq.read_table(folder / "violations")
    assert written.column_names[:3] == ["rule", "s_row", "t_row"]
    assert written.num_rows == pq.read_table(folder / "violations", columns=["rule"]).num_rows > 1_000
    assert pq.read_table(folder / "clean.parquet", columns=["broken_rules"]).column(0).combine_chunks().flatten().to_pylist() == []


@pytest.mark.parametrize("name", ["planes", "staff"])
def test_every_planted_error_is_found(name):
    """Each is blamed by some law: the smallest repair of the law removes its row."""
    told = stories.story(name)
    found = rowlaw.discover(told.table, progress=False)
    laws = rowlaw.RuleSet((*found.rules[:40], *told.rules), found.nulls)
    assert rowlaw.check(told.table, laws, progress=False).broken == ()
    result = rowlaw.check(told.with_errors, laws, row_id=told.row_id, progress=False)
    blamed = set()
    for verdict in result.broken:
        blamed |= set(result.rows_to_remove(verdict.id).first)
    assert {error.row for error in told.planted} <= blamed
    assert all(error.was != error.became for error in told.planted)
    result.close()


def test_without_the_package_there_is_a_small_table(here, capsys, monkeypatch):
    monkeypatch.setattr(stories, "PACKAGE", "no_such_package")
    show("again")
    shown = capsys.readouterr()
    assert "is not installed" in shown.err
    assert "The table staff: 12 rows" in shown.out
    show("again")  # what a demo has left is written anew
    assert (here / "again" / "staff.csv").exists()


def test_a_folder_of_somebody_else_is_left_alone(here):
    (here / "mine").mkdir()
    (here / "mine" / "thesis.txt").write_text("all my work")
    with pytest.raises(RowlawError, match="no demo made it"):
        show("mine")
    assert (here / "mine" / "thesis.txt").read_text() == "all my work"


def test_the_package_is_not_imported():
    """Importing it would read all its tables, and warn."""
    stories.story("planes")
    assert stories.PACKAGE not in sys.modules
