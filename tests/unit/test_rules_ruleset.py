"""Named rules and rule sets."""

import pickle

import pytest

from rowlaw.errors import RowlawError
from rowlaw.rules import Key, NamedRule, RuleSet, parse


def test_of_takes_what_people_have():
    rule = parse("key (a)")
    named = NamedRule("N", rule, severity="warn")
    for given in ("key (a)", rule, ["key (a)"], (rule,), {"R1": "key (a)"}, {"R1": rule}, iter([rule])):
        assert [(r.id, r.rule) for r in RuleSet.of(given)] == [("R1", rule)]
    assert RuleSet.of(named).rules == (named,)
    assert RuleSet.of({"M": named})["M"] == NamedRule("M", rule, severity="warn")
    assert len(RuleSet.of([])) == 0


def test_ids_are_generated_past_those_taken():
    named = [NamedRule("R2", Key(("a",))), NamedRule("R1", Key(("b",)))]
    assert [r.id for r in RuleSet.of(["key (x)", *named, "key (y)"])] == ["R3", "R2", "R1", "R4"]


def test_a_rule_set_is_kept():
    rules = RuleSet.of(["key (a)"], nulls="equal", settings={"cross": False})
    assert RuleSet.of(rules) == rules
    assert RuleSet.of(rules, nulls="unknown").settings == {"cross": False}
    assert RuleSet.of(rules, nulls="unknown") != rules


def test_lookup():
    rules = RuleSet.of({"one": "key (a)", "two": "fd (a) -> b"}, nulls="equal")
    assert rules["two"].kind == "fd"
    assert "one" in rules
    assert "key (a)" not in rules
    assert [r.id for r in rules] == ["one", "two"]
    with pytest.raises(RowlawError, match="UNKNOWN_RULE: no rule 'twoo'; did you mean 'two'"):
        rules["twoo"]
    assert [r.id for r in rules.of_kind("fd", "dc")] == ["two"]
    assert rules.of_kind("key").nulls == "equal"


def test_values():
    settings = {"overlap": 0.3}
    rules = RuleSet.of(["key (a)"], settings=settings)
    settings["overlap"] = 0.5
    assert rules.settings == {"overlap": 0.3}
    assert pickle.loads(pickle.dumps(rules)) == rules
    assert pickle.loads(pickle.dumps(rules))["R1"].kind == "key"
    with pytest.raises(AttributeError):
        rules.nulls = "equal"


def test_origin_is_not_part_of_the_value():
    assert RuleSet.of("key ( a )") == RuleSet.of("key (a)")
    assert RuleSet.of("key ( a )")["R1"].origin.source.text == "key ( a )"
    assert "origin" not in repr(RuleSet.of("key (a)")["R1"])


def test_repr_is_short():
    text = repr(RuleSet.of([f"key (c{i})" for i in range(1200)]))
    assert text.startswith("RuleSet of 1,200 rules, nulls='unknown'\n  R1   key (c0)\n")
    assert text.endswith("\n  ... and 1,180 more")
    assert text.count("\n") == 21
    assert len(repr(RuleSet.of("key (" + "c" * 5000 + ")"))) < 200
    assert repr(RuleSet.of("key (`a\nb`)")).count("\n") == 1
    assert repr(RuleSet()) == "RuleSet of 0 rules, nulls='unknown'"


def test_bad_text_names_the_rule():
    with pytest.raises(RowlawError, match="in rule zip"):
        RuleSet.of({"zip": "fd (zip -> city"})


@pytest.mark.parametrize(
    ("facts", "field"),
    [
        ({"severity": "fatal"}, "severity"),
        ({"tolerate": -0.1}, "tolerate"),
        ({"tolerate": 1.5}, "tolerate"),
        ({"tolerate": None}, "tolerate"),
        ({"tolerate": "0.1"}, "tolerate"),
        ({"tolerate": True}, "tolerate"),
        ({"tolerate": float("nan")}, "tolerate"),
        ({"error": 2}, "error"),
        ({"score": float("inf")}, "score"),
        ({"support": -1}, "support"),
        ({"support": 1.5}, "support"),
        ({"because": 5}, "because"),
    ],
)
def test_facts_are_checked(facts, field):
    with pytest.raises(RowlawError) as caught:
        NamedRule("R1", Key(("a",)), **facts)
    assert (caught.value.condition, caught.value.parameters["field"]) == ("BAD_RULE", field)


@pytest.mark.parametrize("id", ["", "a\nb", "x" * 201, 5])
def test_ids_are_checked(id):
    with pytest.raises(RowlawError, match="BAD_RULE"):
        NamedRule(id, Key(("a",)))


def test_numbers_of_numpy_become_plain():
    import numpy as np

    rule = NamedRule("R", Key(("a",)), error=np.float64(0.25), support=np.int64(7))
    assert (type(rule.error), type(rule.support), rule.support) == (float, int, 7)


def test_what_is_refused():
    with pytest.raises(RowlawError, match="DUPLICATE_RULE_ID"):
        RuleSet((NamedRule("A", Key(("a",))), NamedRule("A", Key(("b",)))))
    with pytest.raises(RowlawError, match="BAD_OPTION"):
        RuleSet(nulls="maybe")
    with pytest.raises(RowlawError, match="BAD_RULE"):
        RuleSet.of([5])
