"""Dirty tables with the truth beside them, and what is said of what was found in them."""

import importlib.util
import json

from benchmarks.case import Options
from benchmarks.tables import dirty, shared
from benchmarks.targets import dirty as target
from tests.pages import ROOT

CLEAN = {"zip": [str(n // 10) for n in range(200)], "city": [f"city {n // 10}" for n in range(200)]}


def test_planted_errors_are_the_cells_that_differ():
    found = dirty.planted(CLEAN, share=0.1)
    differ = {
        (row, name) for name, values in CLEAN.items() for row in range(200) if found.columns[name][row] != values[row]
    }
    assert found.wrong == differ
    assert 30 <= len(differ) <= 40  # a cell may get the value that it has
    assert found == dirty.planted(CLEAN, share=0.1)
    assert dirty.planted(CLEAN, share=0.1, seed=2).wrong != found.wrong


def test_twins_are_compared_by_place(tmp_path, monkeypatch):
    monkeypatch.setenv("ROWLAW_DATA", str(tmp_path))
    (tmp_path / "beers_clean.csv").write_text("id,brewery-name\n1,Bend\n2,\n")
    (tmp_path / "beers_dirty.csv").write_text("id,brewery_name\n1,\n2,\n")
    assert dirty.names() == ["beers", "tax"]
    assert dirty.dirty("beers").wrong == {(0, "brewery_name")}


def test_without_tables_there_is_the_generated_one(monkeypatch):
    monkeypatch.delenv("ROWLAW_DATA", raising=False)
    assert shared.names() == []
    assert [c.title for c in target.CASES(Options())] == ["repair, tax", "suspects, tax", "exceptions, tax"]


def test_what_is_found_is_measured(monkeypatch):
    wanted = {"wrong": 3, "found": 4, "right": 2, "precision": 0.5, "recall": 0.6667, "f1": 0.5714}
    assert target.measured({1, 2, 3, 4}, {3, 4, 5}) == wanted
    monkeypatch.setattr(dirty, "dirty", lambda name: dirty.planted(CLEAN, share=0.02))
    shares = {}
    for how in ("suspects", "exceptions"):
        case = target.Found("made", how)
        case.prepare()
        told = case.in_short(case.run())
        assert told["cells"]["wrong"] == len(dirty.planted(CLEAN, share=0.02).wrong)
        assert told["columns with suspects"]["recall"] >= told["cells"]["recall"] > 0.4
        shares[how] = told["cells"]["precision"]
    assert shares["suspects"] > 0.5


def test_repairs_are_measured(monkeypatch):
    monkeypatch.setattr(dirty, "dirty", lambda name: dirty.planted(CLEAN, share=0.02))
    case = target.Repaired("made")
    case.prepare()
    told = case.in_short(case.run())
    assert told["cells"]["precision"] > 0.5
    assert told["repair"]["right"] <= told["repair"]["suggested"] == told["cells"]["found"]
    assert told["added"] == round((told["cells"]["found"] - told["cells"]["right"]) / told["cells"]["wrong"], 4)


def test_the_page_shows_what_was_measured(tmp_path):
    spec = importlib.util.spec_from_file_location("figures", ROOT / "docs/hooks/figures.py")
    figures = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(figures)
    assert "No results" in figures.dirty(tmp_path)
    cells = target.measured({1, 2, 3, 4}, {3, 4, 5})
    answer = {"cells": cells, "columns with suspects": {**cells, "recall": 1.0}, "rows": cells}
    case = {"name": "suspects, beers", "contenders": [{"label": "rowlaw", "answer": answer}]}
    repaired = {
        "name": "repair, beers",
        "contenders": [{"label": "rowlaw", "answer": {**answer, "repair": cells, "added": 0.25}}],
    }
    broken = {"name": "suspects, tax", "contenders": [{"label": "rowlaw", "answer": None}]}
    (tmp_path / "summary.json").write_text(
        json.dumps({"dirty": {"when": "2024-01-01", "comparisons": [case, repaired, broken]}})
    )
    shown = figures.dirty(tmp_path)
    assert "| suspects, beers | 3 | 4 | 0.50 | 0.67 | 0.57 | 1.00 | 0.50 | 0.67 | 0.57 |  |  |  |  |" in shown
    assert (
        "| repair, beers | 3 | 4 | 0.50 | 0.67 | 0.57 | 1.00 | 0.50 | 0.67 | 0.57 | 0.50 | 0.67 | 0.57 | 0.25 |"
        in shown
    )
    assert "tax" not in shown
    assert "<!-- dirty -->" in (ROOT / "docs/how-to/dirty-data.md").read_text()
