"""The demo: every part of its story, on the real table and on the built-in one."""

import sys

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


def test_without_java_the_story_is_told_without_spark(here, capsys, monkeypatch):
    def none():
        raise RowlawError("NO_JAVA", minimum=17, found="")

    monkeypatch.setattr("rowlaw.cli.demo.find_java", none)
    show()
    shown = capsys.readouterr()
    assert "NO_JAVA" in shown.err
    assert "the part on Spark is left out" in shown.err
    parts = [
        "The table planes: 3,322 rows",
        "laws that its rows obey",
        "one that nearly holds",
        "5 errors planted",
        "A row arrives",
        "report.html",
    ]
    places = [shown.out.index(part) for part in parts]
    assert places == sorted(places)
    assert "fd (model) -> engines: 4 violations; without N851NW it would hold" in shown.out
    assert "retired: " in shown.out
    assert "tailnum N20001, manufacturer BOEING, model 737-824, seats 166" in shown.out
    assert "\x1b" not in shown.out
    folder = here / "rowlaw-demo"
    report = (folder / "report.html").read_text()
    assert "N102UW" in report
    assert len(report) < 2_000_000
    assert rowlaw.Laws.open(folder / "planes.state").batch == 1


@pytest.mark.parametrize("name", ["planes", "staff"])
def test_every_planted_error_is_found(name):
    """Each is blamed by some law: the smallest repair of the law removes its row."""
    told = stories.read_story(name)
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
    stories.read_story("planes")
    assert stories.PACKAGE not in sys.modules
