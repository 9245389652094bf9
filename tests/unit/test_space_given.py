"""A predicate space that the user gives, how it is stored, and the options of sampling; in Python and on the command
line."""

import json

import numpy as np
import pyarrow as pa
import pytest

import rowlaw
from rowlaw.cli.app import main
from rowlaw.cli.options import operators_of
from rowlaw.deadline import Deadline
from rowlaw.discovery import denial, hydra
from rowlaw.discovery.denial import discover_denials
from rowlaw.engine.local.engine import LocalEngine
from rowlaw.engine.local.statistics import RelationStatistics
from rowlaw.errors import RowlawError
from rowlaw.evidence import EvidenceSet, SampleOptions, Sampler, Slots, pairs
from rowlaw.maintain import Laws
from rowlaw.predicates import SpaceOptions, predicate_space
from rowlaw.relation import encode
from rowlaw.rules import Column, Op, Predicate
from rowlaw.source import open_source

STAFF = pa.table(
    {
        "zip": ["07030", "07030", "10001", "10001"],
        "city": ["Hoboken", "Hoboken", "New York", "New York"],
        "salary": [10, 20, 30, 40],
        "rate": [1, 2, 3, 4],
        "Salary cap": [40, 40, 50, 50],
    }
)


def texts(rules):
    return {str(r.rule) for r in rules}


def space_of(*predicates):
    with encode(open_source(STAFF)) as relation:
        return [str(p) for p in predicate_space(RelationStatistics(relation), SpaceOptions.of(predicates=predicates))]


def test_the_space_is_what_was_given_and_its_exchange():
    assert space_of("s.zip = t.zip", "t.salary > s.salary") == [
        "s.zip = t.zip",
        "s.salary < t.salary",
        "s.salary > t.salary",
    ]
    assert space_of("s.salary <= t.`Salary cap`") == ["s.salary <= t.`Salary cap`", "s.`Salary cap` >= t.salary"]
    assert space_of("t.rate < t.salary", "s.salary = 10") == [
        "t.rate < t.salary",
        "s.rate < s.salary",
        "s.salary = 10",
        "t.salary = 10",
    ]
    assert space_of("t.zip <> t'.zip", Predicate(Column("s", "zip"), Op.NE, Column("t", "zip"))) == ["s.zip != t.zip"]


@pytest.mark.parametrize("strategy", ["auto", "pairs", "sample", "hydra"])
def test_rules_use_given_predicates_only(strategy):
    found = rowlaw.discover(
        STAFF,
        predicates=["s.zip = t.zip", "s.salary < t.salary", "s.rate > t.rate", "s.city != t.city"],
        strategy=strategy,
        progress=False,
    )
    assert texts(found) == {"not (s.zip = t.zip and s.city != t.city)", "not (s.rate < t.rate and s.salary > t.salary)"}
    assert found.predicates == 6
    assert {r.kind for r in found} == {"dc"}


def test_one_predicate_needs_no_list():
    assert texts(rowlaw.discover(STAFF, predicates="s.salary = t.salary", progress=False)) == {
        "not (s.salary = t.salary)"
    }


def test_other_kinds_come_if_they_are_asked_for():
    found = rowlaw.discover(STAFF, predicates=["s.salary > t.`Salary cap`"], kinds=["key", "dc"], progress=False)
    assert "key (salary)" in texts(found)


@pytest.mark.parametrize(
    ("predicates", "words"),
    [
        (["s.zip = t.zipp"], ["UNKNOWN_COLUMN", "did you mean 'zip'?", "  | s.zip = t.zipp\n  |           ^^^^"]),
        (["s.zip = t.zip", "s.zip < t.salary"], ["INCOMPATIBLE_TYPES", "  | s.zip < t.salary\n  | ^^^^^^^^^^^^^^^^"]),
        (["s.zip << t.zip"], ["RULE_SYNTAX", "'<<'", "^^"]),
        (
            ["s.zip = t.zip and s.city = t.city"],
            ["RULE_SYNTAX", "the end of the predicate", "give each predicate by itself", "^^^"],
        ),
        (["s.zip ="], ["RULE_SYNTAX", "found the end of the predicate"]),
        (["key (zip)"], ["RULE_SYNTAX", "found 'key'"]),
        (["  "], ["RULE_SYNTAX", "the predicate is empty"]),
        (["s.zip = s.zip"], ["RULE_SYNTAX", "compared with itself"]),
        ([Predicate(Column("s", "Zip"), Op.EQ, Column("t", "Zip"))], ["UNKNOWN_COLUMN", "did you mean 'zip'?", "^^^"]),
        (["s.salary = 'ten'"], ["INCOMPATIBLE_TYPES", "^"]),
        (["x" * 100_000], ["RULE_TOO_LONG"]),
        ([], ["BAD_OPTION: predicates"]),
        ([7], ["BAD_OPTION: predicates=7"]),
    ],
)
def test_bad_predicates_are_pointed_at(predicates, words):
    with pytest.raises(RowlawError) as caught:
        rowlaw.discover(STAFF, predicates=predicates, progress=False)
    assert all(word in str(caught.value) for word in words), str(caught.value)


@pytest.mark.parametrize(
    "other",
    [{"cross": False}, {"overlap": 0.5}, {"single_row": True}, {"constants": 0.1}, {"operators_of": {"zip": "="}}],
)
def test_given_predicates_are_the_whole_space(other):
    (name,) = other
    with pytest.raises(RowlawError, match=f"BAD_OPTION: {name}=.*whole predicate space"):
        rowlaw.discover(STAFF, predicates=["s.zip = t.zip"], progress=False, **other)


@pytest.mark.parametrize(
    "options",
    [
        {"predicates": ["s.zip = t.zip", "s.city != t.city", "s.`Salary cap` >= t.salary", "s.zip = '07030'"]},
        {"operators_of": {"zip": "= !=", "Salary cap": "< >"}, "cross": False},
        {"single_row": True, "overlap": 0.0},
    ],
)
def test_settings_say_what_the_space_was(options, tmp_path):
    found = rowlaw.discover(STAFF, kinds=["dc"], progress=False, **options)
    assert len(found)
    found.save(tmp_path / "laws.yaml")
    loaded = rowlaw.load(tmp_path / "laws.yaml")
    assert loaded.settings == found.settings
    assert {name: loaded.settings[name] for name in options} == options
    again = rowlaw.discover(STAFF, kinds=["dc"], progress=False, **loaded.settings)
    assert texts(again) == texts(found) == texts(loaded)
    assert set(rowlaw.check(STAFF, loaded).counts.values()) == {0}
    loaded.save(tmp_path / "again.yaml")
    assert (tmp_path / "again.yaml").read_text() == (tmp_path / "laws.yaml").read_text()


def test_a_state_keeps_its_predicates(tmp_path):
    given = ["s.zip = t.zip", "s.city != t.city"]
    laws = Laws.create(tmp_path / "state", STAFF, predicates=given, progress=False)
    assert texts(laws.rules) == {"not (s.zip = t.zip and s.city != t.city)"}
    laws.apply(STAFF.slice(0, 1).set_column(1, "city", [["Newark"]]))
    opened = Laws.open(tmp_path / "state")
    assert texts(opened.rules) == set()
    assert opened.rules.settings["predicates"] == given
    opened.apply(deletes=STAFF.slice(0, 1).set_column(1, "city", [["Newark"]]))
    assert texts(opened.rules) == {"not (s.zip = t.zip and s.city != t.city)"}


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("sample_partners", 0),
        ("sample_partners", 2.5),
        ("sample_efficiency", 0),
        ("sample_efficiency", 2),
        ("seed", -1),
        ("seed", None),
    ],
)
def test_bad_options_of_sampling(option, value):
    with pytest.raises(RowlawError, match=f"BAD_OPTION: {option}="):
        rowlaw.discover(STAFF, progress=False, **{option: value})


def test_more_partners_and_less_efficiency_sample_more():
    random = np.random.default_rng(3)
    with encode(open_source(pa.table({f"c{i}": random.integers(0, 40, 300) for i in range(6)}))) as relation:
        slots = Slots.same_column(relation)

        def pairs(**options):
            sampler = Sampler(slots, SampleOptions(**options))
            sampler.look_as_published()
            return sampler.evidence.pairs

        assert pairs() < pairs(partners=60)
        assert pairs(efficiency=0.1) < pairs(efficiency=0.001)
        assert pairs(seed=1) == pairs(seed=1)


@pytest.mark.parametrize("strategy", ["sample", "hydra"])
@pytest.mark.parametrize(
    "options", [{"sample_partners": 1, "sample_efficiency": 0.5}, {"sample_partners": 50, "seed": 3}]
)
def test_sampling_does_not_change_the_result(strategy, options):
    found = rowlaw.discover(STAFF, kinds=["dc"], strategy=strategy, progress=False, **options)
    assert texts(found) == texts(rowlaw.discover(STAFF, kinds=["dc"], strategy="pairs", progress=False))


def wide():
    random = np.random.default_rng(5)
    return pa.table({f"c{i}": random.integers(0, 30, 200) for i in range(7)})


def test_hydra_says_so_and_lists_each_violating_pair_once(monkeypatch):
    """One round: the engine lists the violations of every preliminary rule at most once."""
    listed = []
    usual = LocalEngine.pairs
    monkeypatch.setattr(LocalEngine, "pairs", lambda self, rule: (listed.append(rule), usual(self, rule))[1])
    with encode(open_source(wide())) as relation:
        space = predicate_space(RelationStatistics(relation), SpaceOptions(cross=False))
        few = SampleOptions(partners=1, efficiency=1.0)
        found = discover_denials(LocalEngine(relation), space, strategy="hydra", sample=few)
        assert (found.strategy, found.rounds, found.partial) == ("hydra", 1, False)
        assert len(listed) == len(set(listed)) > 0
        assert set(found.denials) == set(discover_denials(LocalEngine(relation), space, strategy="pairs").denials)


def test_hydra_stopped_in_its_completion_gives_what_holds(monkeypatch):
    table = wide()
    soon = Deadline()
    usual = hydra.Completion._list

    def stopped(self, denials):
        assert denials
        soon.stopped = True
        return usual(self, denials)

    monkeypatch.setattr(hydra.Completion, "_list", stopped)
    with encode(open_source(table)) as relation:
        space = predicate_space(RelationStatistics(relation), SpaceOptions(cross=False))
        few = SampleOptions(partners=1, efficiency=1.0)
        found = discover_denials(LocalEngine(relation), space, strategy="hydra", deadline=soon, sample=few)
        everything = set(discover_denials(LocalEngine(relation), space, strategy="pairs").denials)
    assert found.partial
    assert 0 < len(found.denials) < len(everything)
    assert set(found.denials) <= everything


def test_a_row_that_violates_a_rule_alone_does_so_beside_every_other_row(monkeypatch):
    """Nothing is sampled, so all that is known comes from completion, which has but one round."""
    monkeypatch.setattr(
        denial, "published_sample", lambda slots, *_: EvidenceSet.of(np.zeros((0, slots.words), np.uint64), np.zeros(0))
    )
    monkeypatch.setattr(pairs, "ROWS_AT_ONCE", 1)
    table = {"a": [0, 0, 1, 0, 0, 1, 0], "b": [0, 0, 0, 0, 5, 0, 5]}
    found = rowlaw.discover(pa.table(table), predicates=["s.a = 1", "s.b = 5"], strategy="hydra", progress=False)
    assert texts(found) == {"not (s.a = 1 and s.b = 5)"}
    few = rowlaw.discover(
        pa.table(table).slice(0, 5), predicates=["s.a = 1", "s.b = 5"], strategy="hydra", progress=False
    )
    assert texts(few) == {"not (s.a = 1 and s.b = 5)", "not (s.a = 1 and t.a = 1)", "not (s.b = 5 and t.b = 5)"}


def test_hydra_with_exceptions_is_the_usual_strategy():
    found = rowlaw.discover(STAFF, strategy="hydra", error=0.2, progress=False)
    assert texts(found) == texts(rowlaw.discover(STAFF, error=0.2, progress=False))


def run(monkeypatch, capsys, *arguments):
    monkeypatch.setattr("sys.argv", ["rowlaw", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    shown = capsys.readouterr()
    return ended.value.code or 0, shown.out, shown.err


@pytest.fixture
def people(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text(
        "id,zip,city,a=b\n1,07030,Hoboken,30\n2,07030,Hoboken,40\n3,10001,New York,-1\n"
    )
    return tmp_path


def test_predicates_on_the_command_line(people, monkeypatch, capsys):
    given = ["--predicate", "s.zip = t.zip", "--predicate", "s.city != t.city"]
    tuned = ["--strategy", "hydra", "--sample-partners", "3", "--sample-efficiency", "0.1", "--seed", "7"]
    code, out, _ = run(
        monkeypatch,
        capsys,
        "discover",
        "people.csv",
        *given,
        *tuned,
        "--format",
        "json",
        "--rules",
        "laws.yaml",
        "--quiet",
    )
    assert code == 0
    document = json.loads(out)
    assert [r["rule"] for r in document["rules"]] == ["not (s.zip = t.zip and s.city != t.city)"]
    assert document["strategy"] == "hydra"
    assert rowlaw.load("laws.yaml").settings["predicates"] == ["s.zip = t.zip", "s.city != t.city"]
    assert run(monkeypatch, capsys, "check", "people.csv", "laws.yaml", "--quiet")[0] == 0
    code, _, err = run(monkeypatch, capsys, "discover", "people.csv", "--predicate", "s.zp = t.zip", "--quiet")
    assert code == 2
    assert "did you mean 'zip'?\n  | s.zp = t.zip\n  |   ^^" in err


def test_operators_on_the_command_line(people, monkeypatch, capsys):
    only = ["--operators", "zip==", "--operators", "id=< >", "--operators", "`a=b`=!=", "--columns", "id,zip,`a=b`"]
    code, out, err = run(
        monkeypatch,
        capsys,
        "discover",
        "people.csv",
        "--kinds",
        "dc",
        "--no-cross",
        *only,
        "--format",
        "json",
        "--quiet",
    )
    assert code == 0, err
    used = {tuple(p) for r in json.loads(out)["rules"] for p in r["predicates"]}
    assert used <= {("s.zip", "=", "t.zip"), ("s.id", "<", "t.id"), ("s.id", ">", "t.id"), ("s.`a=b`", "!=", "t.`a=b`")}
    code, out, _ = run(
        monkeypatch, capsys, "init", "state", "people.csv", "--operators", "zip==", "--format", "json", "--quiet"
    )
    assert code == 0
    assert Laws.open("state").rules.settings["operators_of"] == {"zip": "="}
    for bad in ("zip", "zip=", "=<", "zip=about"):
        code, _, err = run(monkeypatch, capsys, "discover", "people.csv", "--operators", bad, "--quiet")
        assert code == 2
        assert "BAD_OPTION" in err
    assert "UNKNOWN_COLUMN" in run(monkeypatch, capsys, "discover", "people.csv", "--operators", "zp==", "--quiet")[2]


def test_names_of_columns_with_operators():
    assert operators_of([" zip = < >", "`a``=b` = !="]) == {"zip": "< >", "a`=b": "!="}
    with pytest.raises(RowlawError, match="given twice"):
        operators_of(["a==", "a=<"])
