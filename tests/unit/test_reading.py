"""The list that people read: what is selected, folded, marked and kept."""

import importlib
import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from typer.testing import CliRunner

import rowlaw
from rowlaw.cli.app import app
from rowlaw.deadline import Deadline
from rowlaw.discovery import budget, select
from rowlaw.discovery.budget import Budget
from rowlaw.discovery.dirty import learnt
from rowlaw.discovery.folding import Closures, fold, not_both_ways
from rowlaw.discovery.gain import Prior, greedy
from rowlaw.discovery.goals import Dependencies
from rowlaw.discovery.power import Power
from rowlaw.engine.open import open_local
from rowlaw.errors import RowlawError
from rowlaw.predicates import SpaceOptions, predicate_space
from rowlaw.rules import parse
from rowlaw.rules.implication import implies
from rowlaw.source import open_source

RANDOM = np.random.default_rng(5)


def hospitals(rows=600):
    """Hospitals with a number, a name and a phone that say the same, a city and a state, and what was measured
    there."""
    number = RANDOM.integers(0, 30, rows)
    measure = RANDOM.permutation(np.arange(rows)) % 20
    return pa.table(
        {
            "number": number,
            "name": [f"hospital {n}" for n in number],
            "phone": [f"555-{n:04}" for n in number],
            "city": [f"city {n % 11}" for n in number],
            "state": [f"state {n % 11 % 4}" for n in number],
            "measure": [f"m{m}" for m in measure],
            "score": RANDOM.integers(0, 100, rows),
        }
    )


TABLE = hospitals()


def test_permutations_are_one_line_that_names_the_others():
    found = rowlaw.discover(TABLE, progress=False)
    first = [str(r.rule) for r in found.selected]
    assert "fd (number) -> city" in first
    assert not {"fd (name) -> city", "fd (phone) -> city"} & set(first)
    (main,) = [r for r in found.selected if str(r.rule) == "fd (number) -> city"]
    assert {str(found[id].rule) for id in found.alternatives[main.id]} == {"fd (name) -> city", "fd (phone) -> city"}


def test_what_each_rule_would_catch_is_said():
    found = rowlaw.discover(TABLE, progress=False)
    (rule,) = [r for r in found.selected if str(r.rule) == "fd (number) -> city"]
    assert rule.because.endswith("Would catch 100% of wrong values in city.")
    assert [r.selected for r in found] == [True] * len(found.selected) + [False] * (len(found) - len(found.selected))
    assert len(found.selected) <= 20
    assert sum(r.id in found.weak for r in found.selected) <= select.WEAK_SHOWN
    scores = [r.score for r in found]
    assert scores == sorted(scores, reverse=True)


def test_rules_that_chance_explains_are_weak_and_come_last():
    rows = 400
    table = pa.table(
        {"a": RANDOM.permutation(rows), "b": RANDOM.integers(0, 300, rows), "c": RANDOM.integers(0, 300, rows)}
    )
    found = rowlaw.discover(table, progress=False)
    weak = [r.id in found.weak for r in found.selected]
    assert any(weak)
    assert weak == sorted(weak)
    assert str(found.selected[0].rule) == "key (a)"
    assert all("chance" in r.because for r in found.selected if r.id in found.weak)


def nearly(rows=2_000):
    zips = RANDOM.integers(0, 40, rows)
    cities = [f"city {z}" for z in zips]
    cities[7] = "city 99"
    return pa.table({"zip": zips, "city": cities, "n": RANDOM.integers(0, 50, rows)})


def test_laws_that_nearly_hold_are_listed_and_tolerated(tmp_path):
    table = nearly()
    found = rowlaw.discover(table, progress=False)
    (rule,) = [r for r in found if str(r.rule) == "fd (zip) -> city"]
    assert rule.selected
    assert rule.error == rule.tolerate > 0
    assert found.removed[rule.id] == 1 / 2_000
    assert "1 of 2,000 rows, 0.05%, breaks it (row 7)." in rule.because
    found.save(tmp_path / "laws.yaml")
    loaded = rowlaw.load(tmp_path / "laws.yaml")
    assert [(r.id, r.selected, r.tolerate) for r in loaded] == [(r.id, r.selected, r.tolerate) for r in found]
    result = rowlaw.check(table, loaded, progress=False)
    assert result.exit_code == 0
    assert result[rule.id].status == "tolerated"
    assert not [r for r in rowlaw.discover(table, all=True, progress=False) if r.error]


def test_the_list_on_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    pa.csv.write_csv(TABLE, "hospitals.csv")
    shown = CliRunner().invoke(app, ["discover", "hospitals.csv", "--quiet", "--rules", "laws.yaml"])
    assert shown.exit_code == 0, shown.output
    total = len(rowlaw.load("laws.yaml"))
    lines = shown.stdout.split("\n")
    count = sum(rule.selected for rule in rowlaw.load("laws.yaml"))
    assert 5 < count <= 20
    assert (
        lines[0]
        == f"{count} rules worth reading, of {total} found; --all lists them, --rules FILE and --format json keep them"
    )
    titles = [line for line in lines if line in ("keys", "functional dependencies", "order", "other rules")]
    assert titles == sorted(titles, key=["keys", "functional dependencies", "order", "other rules"].index)
    assert "fd (number) -> city or (name), (phone)" in " ".join(shown.stdout.split())
    assert len(lines) < 120
    document = json.loads(CliRunner().invoke(app, ["discover", "hospitals.csv", "--quiet", "--format", "json"]).stdout)
    flags = [rule["selected"] for rule in document["rules"]]
    assert (len(flags), flags.count(True), flags) == (total, count, sorted(flags, reverse=True))
    everything = CliRunner().invoke(app, ["discover", "hospitals.csv", "--quiet", "--all", "--format", "json"])
    assert json.loads(everything.stdout)["total"] >= total


def test_few_weak_rules_are_shown_unless_more_are_asked_for():
    columns = {name: RANDOM.integers(0, 300, 400) for name in "bcdefg"}
    table = pa.table({"a": RANDOM.permutation(400), **columns})
    found = rowlaw.discover(table, kinds=["key", "fd"], progress=False)
    assert sum(r.id in found.weak for r in found.selected) == select.WEAK_SHOWN
    assert [r.id for r in found.selected] == [f"R{n}" for n in range(1, len(found.selected) + 1)]
    assert len(rowlaw.discover(table, kinds=["key", "fd"], top=8, progress=False).selected) == 8


def test_rules_that_only_excuse_the_exceptions_of_a_law_that_nearly_holds_are_folded_into_it():
    found = rowlaw.discover(nearly(), progress=False)
    (law,) = [r for r in found if str(r.rule) == "fd (zip) -> city"]
    longer = [
        r
        for r in found
        if r.rule != law.rule and r.rule.denials[0].arity == 2 and implies(law.rule.denials[0], r.rule.denials[0])
    ]
    assert {r.kind for r in longer} >= {"dc"}
    assert not [str(r.rule) for r in longer if r.selected and r.kind != "fd"]


def test_a_column_of_one_value_is_no_part_of_a_law_that_nearly_holds():
    names = [f"school {n}" for n in range(1_000)]
    names[1:61:2] = names[61:121:2]  # three percent, where the country is null
    names[4] = names[6]
    table = pa.table({"country": ["USA", None] * 500, "name": names, "n": [n // 100 for n in range(1_000)]})
    broken = [r.rule.columns for r in rowlaw.discover(table, progress=False) if r.error]
    assert not [columns for columns in broken if "country" in columns]


def test_rows_that_break_a_law_are_said_once(tmp_path):
    pa.csv.write_csv(nearly(), tmp_path / "t.csv")
    shown = " ".join(CliRunner().invoke(app, ["discover", str(tmp_path / "t.csv"), "--quiet"]).stdout.split())
    assert "1 of 2,000 rows, 0.05%, breaks it (row 7)." in shown
    assert "of the pairs" not in shown
    shown = " ".join(
        CliRunner()
        .invoke(app, ["discover", str(tmp_path / "t.csv"), "--quiet", "--error", "0.01", "--kinds", "fd"])
        .stdout.split()
    )
    assert "of the pairs" in shown


@pytest.mark.parametrize("kind", ["text", "number"])
def test_a_column_may_be_called_number(kind):
    values = [str(n) if kind == "text" else n for n in range(50)]
    found = rowlaw.discover(pa.table({"number": values, "other": [n * 2 for n in range(50)]}), progress=False)
    assert "key (number)" in {str(r.rule) for r in found}


def test_alternatives_determine_each_other_and_restatements_only_one_way():
    laws = [parse(text) for text in ("fd (a) -> b", "fd (b) -> a", "fd (zip) -> state")]
    rules = [
        parse(t)
        for t in (
            "fd (a) -> c",
            "fd (b) -> c",
            "od {state}: p ~ q",
            "od {zip}: p ~ q",
            "key (a, d)",
            "key (b, d)",
            "key (d)",
        )
    ]
    alternative, restates = fold(rules, Closures.of(laws))
    assert alternative == [None, 0, None, None, None, 4, None]
    assert restates == [None, None, None, 2, None, None, None]
    constants = [parse("fd () -> a"), parse("fd () -> b")]
    assert fold(constants, Closures.of([]))[0] == [None, 0]


def test_what_pairs_of_rows_say_of_a_comparison_in_each_row_is_folded_into_it():
    law = parse("not (s.games < s.openings)")
    same = [
        "not (s.games > t.games and s.games <= t.openings)",
        "not (s.games <= t.openings and s.openings > t.openings)",
        "not (s.games < t.openings and s.openings >= t.games)",
        "not (s.games = t.openings and s.games > t.games and s.team = t.team)",
    ]
    other = ["not (s.games < t.games and s.games >= t.openings)", "not (s.games < t.openings)"]
    alternative, restates = fold([*map(parse, same), law, *map(parse, other)], Closures.of([]))
    assert restates == [4, 4, 4, 4, None, None, None]
    assert not any(other is not None for other in alternative)


def test_a_law_that_holds_both_ways_says_nothing():
    rules = [parse(t) for t in ("od {x}: a ~ b", "od {x}: a ~ b desc", "od {}: a ~ b", "key (a)")]
    assert [str(r) for r in not_both_ways(rules)] == ["od {}: a ~ b", "key (a)"]


def test_the_greedy_choice_is_by_what_is_new():
    caught = np.array([[1, 1, 1, 0], [1, 1, 0, 0], [0, 0, 0, 1]], bool)
    rules = [parse("key (a)"), parse("key (b)"), parse("key (c)")]
    power = Power(caught, ["a", "b", "c", "d"], np.zeros(4, bool))
    order, gains, _ = greedy(rules, np.ones(3), power, 3)
    assert order in ([0, 2, 1], [0, 1, 2])
    assert gains == sorted(gains, reverse=True)
    order, _, _ = greedy(rules, np.ones(3), power, 3, first=np.array([False, True, True]))
    assert order[-1] == 0


def test_priors_prefer_short_rules_and_names():
    prior = Prior(open_local(open_source(pa.table({"team_id": [1, 2], "weight": [0.5, 1.5], "city": ["a", "b"]}))))
    assert prior(parse("key (team_id)")) > prior(parse("key (city)")) > prior(parse("key (weight)"))
    assert prior(parse("not (s.city = t.city and s.weight < t.weight)")) > prior(
        parse("not (s.city = t.city and s.weight < t.weight and s.team_id != t.team_id and s.city != t.team_id)")
    )
    assert prior(parse("not (s.team_id > s.weight)")) > prior(parse("not (s.team_id > t.weight)"))
    assert (
        prior(parse("fd (team_id) -> city"))
        > prior(parse("fd (team_id, weight) -> city"))
        > prior(parse("od {}: team_id ~ weight")) / 3
    )


def test_a_default_run_has_a_budget_and_others_have_none(monkeypatch):
    assert Budget.of(Deadline(), several=True, complete=True, cells=10**9).seconds is None
    assert Budget.of(Deadline(), several=False, complete=False, cells=10**9).seconds is None
    limited = Budget.of(Deadline.after(5), several=True, complete=False, cells=10)
    assert (limited.seconds, limited.shared) == (None, True)
    assert Budget.of(Deadline(), several=True, complete=False, cells=10**12).seconds == budget.MOST_SECONDS
    assert (
        Budget.of(Deadline(), several=True, complete=False, cells=10**7, on_spark=True).seconds > budget.SPARK_SECONDS
    )
    monkeypatch.setattr(budget, "SECONDS", 0.0)
    monkeypatch.setattr(budget, "SECONDS_PER_CELL", 0.0)
    found = rowlaw.discover(TABLE, progress=False)
    assert found.partial
    assert "--all or a single kind" in found.why
    assert not rowlaw.discover(TABLE, kinds=["key"], progress=False).partial


def test_a_default_run_lists_no_more_rules_than_its_budget_has(monkeypatch):
    every = rowlaw.discover(TABLE, all=True, progress=False)
    whole = rowlaw.discover(TABLE, progress=False)
    monkeypatch.setattr(budget, "RULES", 2)
    found = rowlaw.discover(TABLE, progress=False)
    assert found.partial
    assert "only the shortest 2 of" in found.why
    assert "time was up" not in found.why
    assert "or 2 rules; --all" in found.why
    assert 0 < found.total < whole.total
    assert set(rowlaw.check(TABLE, found).counts.values()) <= {0, *(r.tolerate for r in found if r.tolerate)}
    assert {r.rule for r in rowlaw.discover(TABLE, all=True, progress=False)} == {r.rule for r in every}
    assert rowlaw.discover(TABLE, kinds=["dc"], progress=False).total > 2


def test_keys_are_found_where_there_is_no_time_for_functional_dependencies(monkeypatch):
    module = importlib.import_module("rowlaw.discovery.discover")
    whole = module.discover_dependencies

    def stopped(engine, kinds, **options):
        return Dependencies([], "sample", "no time", partial=True) if "fd" in kinds else whole(engine, kinds, **options)

    monkeypatch.setattr(module, "discover_dependencies", stopped)
    table = pa.table(
        {
            "team": [n // 10 for n in range(200)],
            "player": [n % 10 for n in range(200)],
            "n": [n // 3 for n in range(200)],
        }
    )
    found = rowlaw.discover(table, progress=False)
    assert found.partial
    assert "key (player, team)" in {str(r.rule) for r in found.selected}


def test_texts_are_ordered_only_if_asked_for():
    table = pa.table({"day": ["a", "b", "c", "d"], "n": [1, 2, 3, 4], "m": [1, 2, 3, 4]})
    sides = {(r.rule.left, r.rule.right) for r in rowlaw.discover(table, kinds=["od"], progress=False)}
    assert sides == {("m", "n")}
    sides = {
        (r.rule.left, r.rule.right) for r in rowlaw.discover(table, kinds=["od"], order_strings=True, progress=False)
    }
    assert sides == {("m", "n"), ("day", "m"), ("day", "n")}
    levels = rowlaw.discover(table, kinds=["od"], strategy="levels", progress=False)
    assert {(r.rule.left, r.rule.right) for r in levels} == {("m", "n")}


def test_columns_that_share_a_value_or_two_are_not_compared_by_default():
    flags = pa.table(
        {"smoker": [0, 1, 1, 0, 1], "member": [1, 0, 1, 0, 0], "low": [1, 2, 3, 4, 5], "high": [2, 3, 4, 5, 6]}
    )
    statistics = open_local(open_source(flags)).statistics

    def crossed(overlap):
        space = predicate_space(statistics, SpaceOptions(overlap=overlap))
        return {tuple(sorted(p.columns)) for p in space if not p.same_column}

    assert crossed(None) == {("high", "low")}
    assert crossed(0.3) == {("high", "low"), ("member", "smoker")}
    compared = {
        c
        for r in rowlaw.discover(flags, progress=False)
        for p in r.rule.denials[0].predicates
        if not p.same_column
        for c in p.columns
    }
    assert compared <= {"low", "high"}


def dirty(share, rows=1_200):
    random = np.random.default_rng(7)
    zips = random.integers(0, 40, rows)
    cities = np.array([f"city {z}" for z in zips], object)
    wrong = random.random(rows) < share
    cities[wrong] = [f"typo {n}" for n in range(int(wrong.sum()))]
    noise = [f"street {n}" for n in random.integers(0, 200, rows)]
    return pa.table({"zip": [str(z) for z in zips], "city": cities.tolist(), "street": noise}), wrong


@pytest.mark.parametrize("share", [0.02, 0.33])
def test_laws_are_learnt_where_a_third_of_the_cells_is_wrong(share):
    table, _ = dirty(share)
    rules = {str(r.rule) for r in learnt(open_local(open_source(table), "equal"))}
    assert "fd (zip) -> city" in rules
    assert not any("street" in rule for rule in rules)


def test_repair_suggests_and_abstains(tmp_path, monkeypatch):
    table, wrong = dirty(0.05)
    found = rowlaw.repair(table, progress=False)
    cells = found.cells.to_pylist()
    assert {cell["row"] for cell in cells} == set(np.flatnonzero(wrong).tolist())
    assert all(cell["suggestion"] == f"city {table['zip'][cell['row']].as_py()}" for cell in cells)
    assert found.suggested == len(found) == int(wrong.sum())
    assert repr(found).startswith(f"Repairs: {len(found)} suspect cells in 1,200 rows")
    monkeypatch.chdir(tmp_path)
    pa.csv.write_csv(table, "dirty.csv")
    before = (tmp_path / "dirty.csv").read_bytes()
    assert CliRunner().invoke(app, ["repair", "dirty.csv", "--out", "suggestions.csv", "--quiet"]).exit_code == 0
    assert pa.csv.read_csv("suggestions.csv").column_names == [
        "row",
        "column",
        "value",
        "suggestion",
        "confidence",
        "against",
        "backing",
    ]
    assert (tmp_path / "dirty.csv").read_bytes() == before
    refused = CliRunner().invoke(app, ["repair", "dirty.csv", "--out", "dirty.csv", "--quiet"])
    assert isinstance(refused.exception, RowlawError)
    assert "never written" in str(refused.exception)
    shown = CliRunner().invoke(app, ["repair", "dirty.csv", "--quiet"]).stdout
    assert shown.startswith(f"{len(found)} suspect cells in 1,200 rows")
    told = json.loads(
        CliRunner().invoke(app, ["repair", "dirty.csv", "--quiet", "--format", "json", "--limit", "3"]).stdout
    )
    assert len(told["cells"]) == 3


def test_repair_abstains_where_laws_disagree():
    shops = pa.table({"street": [1] * 8, "block": [2] * 8, "phone": [7] * 7 + [8], "name": [*"aaaaaaab"]})
    found = rowlaw.repair(
        pa.concat_tables([shops, shops.slice(7)]), ["fd (street) -> name", "fd (block) -> name", "fd (phone) -> name"]
    )
    assert [(cell["suggestion"], cell["confidence"]) for cell in found.cells.to_pylist()] == [("a", 0.6), ("a", 0.6)]


def test_ranking_goes_on_when_time_is_up(monkeypatch):
    def stopped(*_, **__):
        raise select.Stopped

    monkeypatch.setattr(select, "power", stopped)
    found = rowlaw.discover(TABLE, progress=False)
    assert len(found.selected) == 20  # which of them are weak is not known
    assert "Would catch" not in "".join(r.because for r in found.selected if len(r.rule.columns) > 1)


def test_a_table_without_laws_says_so(tmp_path):
    """No two rows could break a law of one row."""
    (tmp_path / "one.csv").write_text("a,b\n1,2\n")
    shown = CliRunner().invoke(app, ["discover", str(tmp_path / "one.csv"), "--quiet"])
    assert (shown.exit_code, shown.stdout.splitlines()[0]) == (0, "no rules were found")
