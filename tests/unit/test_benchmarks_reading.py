"""How default runs are judged: documented laws among the first rules, and what the first rules catch of random
errors."""

import importlib.util
import json

import numpy as np
import pyarrow as pa
import pytest

import rowlaw
from benchmarks.case import Options
from benchmarks.tables import documented
from benchmarks.targets import reading as target
from rowlaw.engine.open import open_local
from rowlaw.rules import NamedRule, parse
from rowlaw.source import open_source
from tests import naive
from tests.pages import ROOT


def named(*laws, error=0.0):
    return [NamedRule(f"R{n}", parse(law), error=error, tolerate=error) for n, law in enumerate(laws, 1)]


def test_a_law_is_listed_if_it_is_a_rule_or_follows_from_rules_that_hold():
    rules = named("key (id)", "fd (zip) -> city", "fd (city) -> state")
    assert target.listed("fd (zip) -> city", rules)
    assert target.listed("fd (id) -> city", rules)
    assert target.listed("fd (street, zip) -> city", rules)
    assert not target.listed("fd (city) -> zip", rules)
    assert not target.listed("fd (zip) -> state", rules)  # a city may be null
    broken = named("fd (zip) -> city", error=0.001)
    assert target.listed("fd (zip) -> city", broken)
    assert not target.listed("fd (street, zip) -> city", broken)


@pytest.mark.parametrize("nulls", ["unknown", "equal"])
def test_an_error_is_caught_by_the_first_rule_that_the_changed_row_breaks(nulls):
    random = np.random.default_rng(3)
    values = {
        "a": random.integers(0, 4, 14).tolist(),
        "b": [n // 5 for n in range(14)],
        "c": random.integers(0, 3, 14).tolist(),
    }
    values["a"][3] = None
    values["b"][8] = None
    rules = [
        NamedRule(f"R{n}", rule, error=naive.count(rule, values, nulls) / 182)
        for n, rule in enumerate(
            map(parse, ("fd (a, b) -> c", "od {}: b ~ c", "not (s.a = t.a and s.b < t.b and s.c > t.c)", "key (a, c)")),
            1,
        )
    ]
    engine = open_local(open_source(pa.table(values)), nulls)
    trial = target.Trial(engine, rules, np.random.default_rng(0), 40)
    places = trial.caught()
    assert len(set(places)) > 2
    for i, place in enumerate(places):
        column, row = trial.names[i], trial.own[i]
        value = engine.sample().dictionary(column)[int(trial.codes[i])].as_py()
        broken = []
        for n, rule in enumerate(rules):
            after, before = naive.caught(rule.rule, values, row, column, value, nulls, inserted=trial.inserted[i])
            if after > (before if rule.error else 0):
                broken.append(n)
        assert place == (broken[0] if broken else None)
    engine.close()


def test_what_the_first_rules_catch_is_a_share_of_what_all_catch(monkeypatch):
    zips = np.random.default_rng(1).integers(0, 20, 300)
    table = pa.table({"id": range(300), "zip": zips, "city": [f"city {z % 7}" for z in zips]})
    found = rowlaw.discover(table, progress=False)
    told = target.powers(table, found)
    assert 0 < told["caught"] <= told["errors"] == target.ERRORS
    assert told["first 10"] <= told["first 20"] <= 1
    monkeypatch.setattr(target, "MOST_ROWS", 100)
    assert target.powers(table, found)["errors"] == target.ERRORS
    assert target.powers(table.slice(0, 1), found)["errors"] == 0


def test_the_panel_has_two_halves_and_its_laws_are_rules():
    assert len({t.name for t in documented.PANEL}) == len(documented.PANEL) >= 8
    for tuned in (True, False):
        laws = [parse(law) for t in documented.PANEL if t.tuned is tuned for law in t.laws]
        assert len(laws) > 20
    assert all(t.laws and t.source for t in documented.PANEL)


def test_tables_are_those_at_hand(monkeypatch):
    monkeypatch.delenv("ROWLAW_DATA", raising=False)
    monkeypatch.setattr(documented.importlib.util, "find_spec", lambda name: None)
    names = [case.name for case in target.CASES(Options())]
    assert names == ["tax", "lineitem", "orders", "part", "partsupp", "customer"]


def test_a_default_run_is_judged(monkeypatch):
    zips = np.random.default_rng(2).integers(0, 20, 300)
    table = pa.table({"zip": zips, "city": [f"city {z % 7}" for z in zips], "n": np.arange(300) % 50})
    made = documented.Documented("made", lambda: table, ("fd (zip) -> city", "fd (city) -> zip"), "here", tuned=False)
    monkeypatch.setattr(documented, "PANEL", (made,))
    case = target.Read("made")
    case.prepare()
    told = case.in_short(case.run())
    assert (told["half"], told["laws"], told["in the first 20"], told["missing"]) == (
        "held out",
        2,
        1,
        ["fd (city) -> zip"],
    )
    (fact,) = case.facts()
    assert fact.name == "share of ranking"
    assert 0 < fact.value < 100


def test_the_page_shows_both_halves(tmp_path):
    spec = importlib.util.spec_from_file_location("figures", ROOT / "docs/hooks/figures.py")
    figures = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(figures)
    assert "No results" in figures.reading(tmp_path)

    def case(name, half, laws, listed, first_10, missing):
        answer = {
            "half": half,
            "laws": laws,
            "in the first 20": listed,
            "missing": missing,
            "rules": 1_234,
            "first 10": first_10,
            "first 20": 1.0,
        }
        return {"name": name, "contenders": [{"label": "rowlaw", "answer": answer}]}

    cases = [case("tax", "tuning", 8, 8, 0.9, []), case("beers", "held out", 4, 3, 0.98, ["key (id)"])]
    broken = {"name": "part", "contenders": [{"label": "rowlaw", "answer": None}]}
    measured = {"reading": {"when": "2024-01-01", "comparisons": [*cases, broken]}}
    (tmp_path / "summary.json").write_text(json.dumps(measured))
    shown = figures.reading(tmp_path)
    assert "| beers | held out | 1,234 | 3 of 4 | 0.98 | 1.00 | `key (id)` |" in shown
    assert "Tuning: 8 of 8 laws (1.00). Held out: 3 of 4 laws (0.75)." in shown
    assert "first 10 rules catch 0.94 of what all rules catch (median), 0.90 at least" in shown
    assert "part" not in shown
    assert "<!-- reading -->" in (ROOT / "docs/discovery.md").read_text()
