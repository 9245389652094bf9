"""The plan that ``explain`` shows is the one that runs: for many shapes of rules, alone, among others, and in
pieces."""

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from rowlaw.engine.local import tasks
from rowlaw.engine.local.compile import Scales, compile_rule
from rowlaw.engine.local.costs import REPEATING_ROWS
from rowlaw.engine.local.count import METHODS, count
from rowlaw.engine.local.engine import LocalEngine
from rowlaw.engine.local.explain import Explaining
from rowlaw.engine.local.trie import build
from rowlaw.engine.plans import NOTHING, CountPlan, ListPlan, RulePlan, time_text
from rowlaw.relation import encode
from rowlaw.rules import parse
from rowlaw.source import open_source
from rowlaw.spark.jobs import DriverThreads
from tests.methods import EAGER, LISTS

N = 400
random = np.random.default_rng(5)
ZIP = random.integers(0, 30, N)


def column(values, share):
    return pa.array(values, mask=random.random(N) < share)


TABLE = pa.table(
    {
        "state": column(random.integers(0, 4, N), 0.0),
        "zip": column(ZIP, 0.02),
        "city": column(np.where(random.random(N) < 0.02, 77, 10 * ZIP), 0.01),
        "noise": column(random.integers(0, 300, N), 0.05),
        "x": column(random.integers(0, 12, N), 0.03),
        "y": column(random.integers(0, 200, N), 0.0),
        "z": column(random.integers(0, 150, N), 0.5),
        "id": column(np.arange(N), 0.0),
    }
)
RULES = [
    "key (id)",
    "key (zip, y)",
    "key (state)",
    "fd (zip) -> city",
    "fd (zip) -> noise",
    "fd (noise) -> city",
    "fd (state, zip) -> x",
    "fd (zip, y) -> noise",
    "od {zip}: y ~ noise",
    "od {state}: y ~ z",
    "od {}: y ~ noise",
    "od [y] -> [noise, z]",
    "not (s.x < t.x)",
    "not (s.y < t.y)",
    "not (s.x <= t.x and s.state >= t.state)",
    "not (s.y <= t.y and s.noise >= t.noise)",
    "not (s.y = t.noise and s.x < t.x)",
    "not (s.y < t.noise and s.z > t.y)",
    "not (s.state = t.state and s.y < t.y and s.noise != t.noise)",
    "not (s.zip = t.zip and s.y < t.y and s.noise > t.noise and s.z < t.z)",
    "not (s.y < t.y and s.noise > t.noise and s.z <= t.z)",
    "not (s.zip = t.zip and s.x != t.x and s.noise != t.noise and s.z != t.z)",
    "not (s.zip = t.zip and s.x > 3 and s.noise < t.noise)",
    "not (s.zip = t.zip and s.x > 3 and t.x > 3 and s.noise != t.noise)",
    "not (s.y > 190)",
    "not (s.y > s.noise)",
]


@pytest.fixture(scope="module")
def relation():
    with encode(open_source(TABLE)) as found:
        yield found


@pytest.fixture
def ran(monkeypatch):
    """Which methods counted which denial constraint."""
    seen: dict[str, set[str]] = {}
    answer = tasks.answer

    def recorded(question, methods):
        result = answer(question, methods)
        seen.setdefault(str(question.rule.denial), set()).add(result.method.name)
        return result

    monkeypatch.setattr(tasks, "answer", recorded)
    return seen


def named(plan):
    """The methods that a plan names for each denial constraint."""
    return {denial.denial: set(denial.count.method.split(" and ")) - {"none"} for denial in plan.denials}


@pytest.mark.parametrize("nulls", ["unknown", "equal"])
@pytest.mark.parametrize("text", RULES)
def test_alone(text, nulls, relation, ran):
    engine, rule = LocalEngine(relation, nulls, workers=DriverThreads(1)), parse(text)
    plan = engine.explain(rule)
    assert plan.count.measured is None
    assert plan.count.violations is None
    (found,) = engine.count([rule])
    assert named(plan) == ran
    analyzed = engine.explain(rule, analyze=True)
    assert analyzed.count.violations == found.pairs == analyzed.list.listed
    assert named(analyzed) == ran


@pytest.mark.parametrize("nulls", ["unknown", "equal"])
def test_among_others(nulls, relation, ran):
    """Rules that share equalities are given groups: other methods count them than alone, and the plan says so."""
    engine, rules = LocalEngine(relation, nulls, workers=DriverThreads(1)), [parse(text) for text in RULES]
    plans = [engine.explain(rule, among=rules) for rule in rules]
    found = engine.count(rules)
    assert {denial: methods for plan in plans for denial, methods in named(plan).items()} == ran
    sharing = plans[RULES.index("fd (zip) -> noise")]
    assert "denial constraints share" in str(sharing)
    assert "denial constraints share" not in str(engine.explain(rules[RULES.index("fd (zip) -> noise")]))
    for rule, one in zip(rules[:8], found, strict=False):
        assert engine.explain(rule, among=rules, analyze=True).count.violations == one.pairs


@pytest.mark.parametrize("text", RULES)
def test_in_pieces(text, relation, ran, monkeypatch):
    monkeypatch.setattr(tasks, "SPLIT_SECONDS", 0.0)  # every rule that is worth it
    engine, rule = LocalEngine(relation, workers=DriverThreads(3)), parse(text)
    plan = engine.explain(rule, analyze=True)
    (found,) = engine.count([rule])
    assert named(plan) == ran
    assert plan.count.violations == found.pairs


@pytest.mark.parametrize("name", LISTS)
def test_every_method_is_named_when_it_counts(name, relation, monkeypatch):
    """With lists that send everything through one method; what that method cannot count, the general one does."""
    explaining = Explaining(LocalEngine(relation)._scales, 1, LISTS[name])
    used = set()
    seen = set()

    def recorded(question, methods):
        result = answer(question, methods)
        seen.add(result.method.name)
        return result

    answer = tasks.answer
    monkeypatch.setattr(tasks, "answer", recorded)
    for rule in map(parse, RULES):
        plan = explaining.plan(rule)
        seen.clear()
        denials = [(0, denial) for denial in rule.denials]
        counting = tasks.Counting(explaining.scales, tasks.ALL, True, LISTS[name])
        for task in tasks.counting_tasks(denials, counting.compiled(tasks.Task(tuple(denials))), 1, LISTS[name]):
            counting(task)
        assert set.union(*named(plan).values()) == seen
        used |= seen
    assert name == "as usual" or name in used


@pytest.mark.parametrize(("values", "method"), [(50, "cells"), (5_000, "distinct rows")])
def test_large_tables_that_repeat(values, method, ran):
    x = np.random.default_rng(3).integers(0, values, REPEATING_ROWS)
    table = pa.table({"x": x, "y": 7 * x % values, "z": np.arange(REPEATING_ROWS) // 100})
    with encode(open_source(table)) as relation:
        engine, rule = LocalEngine(relation, workers=DriverThreads(1)), parse("not (s.x < t.x and s.y >= t.y)")
        plan = engine.explain(rule)
        engine.count([rule])
        assert plan.count.method == method
        assert ran[str(rule.denials[0])] == {method}
        assert engine.explain(parse("od {z}: x ~ y")).count.method == "ascents"  # there few rows are alike


def test_a_list_without_a_method_that_fits(relation):
    (denial,) = parse("not (s.y < t.noise)").denials
    with pytest.raises(ValueError, match="none of the methods cells counts"):
        count(compile_rule(denial, Scales(relation, "unknown")), N, methods=[EAGER["cells"]])


@pytest.mark.parametrize("nulls", ["unknown", "equal"])
def test_nulls_elsewhere_do_not_keep_rules_from_sharing(nulls, relation):
    """One trie for rules with the same equalities, whatever else they compare; none of them writes its own rows."""
    others = [("x", "y"), ("x", "noise"), ("city", "y"), ("noise", "y"), ("city", "noise"), ("city", "x")]
    rules = [
        parse(f"not (s.zip = t.zip and s.state = t.state and s.{a} != t.{a} and s.{b} < t.{b})") for a, b in others
    ]
    scales = Scales(relation, nulls)
    compiled = [compile_rule(rule.denials[0], scales) for rule in rules]
    (trie,) = build(compiled)
    for number, groups in trie.walk(compiled):
        assert (
            count(compiled[number], N, groups=groups).pairs
            == LocalEngine(relation, nulls).count([rules[number]])[0].pairs
        )
    assert sum("s" in rule.__dict__ for rule in compiled) == (0 if nulls == "unknown" else len(compiled))
    assert len({rule.rows_key for rule in compiled}) == (6 if nulls == "unknown" else 1)


def test_few_known_rows_are_grouped_alone(relation):
    """A rule that needs few of the rows that others group is better off with its own."""
    empty = [None] * 9
    with encode(
        open_source(pa.table({"a": [1] * 10, "b": [*empty, 1], "c": list(range(10)), "d": [*empty, 2]}))
    ) as few:
        scales = Scales(few, "unknown")
        for columns, tries in (("bd", 2), ("bc", 2), ("bb", 1), ("cc", 1)):
            rules = [parse(f"not (s.a = t.a and s.{c} {op} t.{c})") for c, op in zip(columns, ("!=", "<"), strict=True)]
            assert len(build([compile_rule(rule.denials[0], scales) for rule in rules])) == tries


def test_a_rule_on_other_rows_shares_those_only(relation):
    rule = compile_rule(parse("fd (zip) -> x").denials[0], Scales(relation, "unknown"))
    few = rule.s[:10]
    other = replace(rule, s=few, t=few)
    assert rule.base is not None
    assert (other.base, other.s_size, other.reflexive) == (None, 10, True)
    assert other.rows_key != rule.rows_key


def test_names_are_different():
    assert len({method.name for method in METHODS}) == len(METHODS)


def test_as_values(relation):
    plan = LocalEngine(relation).explain(parse("fd (zip) -> city"), analyze=True)
    document = json.loads(json.dumps(plan.to_dict()))
    assert set(document) == {"count", "list"}
    assert {"method", "because", "seconds", "measured"} <= set(document["count"])
    assert {"stages", "seconds", "measured"} <= set(document["list"])
    assert document["count"]["measured"] > 0
    several = LocalEngine(relation).explain(parse("od [y] -> [x]")).to_dict()
    assert len(several["denials"]) == 2
    assert several["count"]["seconds"] == pytest.approx(sum(d["count"]["seconds"] for d in several["denials"]))
    assert several["count"]["measured"] is None


def test_as_text():
    assert str(RulePlan(())) == NOTHING
    assert RulePlan(()).to_dict()["count"]["method"] == "none"
    counted = CountPlan("cells", "few values", 2e-5, 3e-3, 1)
    assert str(counted) == "count by cells: few values (estimate under 0.1 ms, measured 3.0 ms; 1 violation)"
    assert (
        str(ListPlan(("a", "b"), 0.5, 1e-8))
        == "list in 2 steps (estimate 500 ms and 10 ms for each million violations)\n1. a\n2. b"
    )
    assert [time_text(s) for s in (0.0, 0.0015, 1.0, 12.34)] == ["0 ms", "1.5 ms", "1.0 s", "12 s"]
