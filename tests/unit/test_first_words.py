"""What a new user reads first: help, messages about wrong arguments, and sentences about results."""

import pickle

import pandas as pd
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import rowlaw
from rowlaw.cli.app import app
from rowlaw.errors import RowlawError
from rowlaw.report.explanation import looks_like_an_id
from rowlaw.violations.causes import Causes, RuleCause

PEOPLE = pa.table({"id": [1, 2, 3], "zip": ["1", "1", "2"], "city": ["A", "B", "C"]})


def told(*arguments):
    """What a command prints, or the error that it ends with."""
    found = CliRunner().invoke(app, list(arguments))
    return found.exception.on_command_line() if isinstance(found.exception, RowlawError) else found.output


COMMANDS = [
    "check",
    "discover",
    "profile",
    "repair",
    "explain",
    "report",
    "export",
    "implies",
    "order-by",
    "import",
    "init",
    "apply",
]


@pytest.mark.parametrize(
    "command", [[], *([name] for name in (*COMMANDS, "show", "watch", "demo"))], ids=lambda c: "".join(c) or "rowlaw"
)
def test_help_is_in_plain_words(command):
    text = told(*command, "--help")
    assert "Usage: rowlaw" in text
    assert not [word for word in ("<bool>", "<str>", "<int", "<float", "<list", "…") if word in text], text
    if command and command[0] not in (
        "demo",
        "show",
        "apply",
        "watch",
        "init",
        "implies",
        "order-by",
        "import",
        "export",
    ):
        assert "{SOURCE}" in text or " SOURCE" in text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["check", "t.csv"], "--rule: give a rule or a rule file: rowlaw check SOURCE RULES.yaml"),
        (
            ["explain", "t.csv"],
            "rowlaw explain t.csv: this is no rule; give both a table and a rule: rowlaw explain SOURCE RULE",
        ),
        (["explain", "fd (a) -> b"], "HAVING COUNT(*) > 1"),  # as with a table: groups, not pairs of rows
    ],
)
def test_arguments_that_are_missing(tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    assert words in told(*arguments)


def test_a_rule_without_brackets_is_no_id():
    assert looks_like_an_id("R12")
    assert not looks_like_an_id("s.year>1900")
    assert rowlaw.explain(PEOPLE, "s.id>=2", progress=False).count.pairs == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("year > 1900", "found 'year'; a column of a row is written s.year"),
        ("zip is not null", "found 'zip'; a column of a row is written s.zip"),
        ("fd (a) -> (b, c)", "expected one column name, found '('; write one fd for each column on the right"),
        ("s.a = 1 or s.b = 2", "found 'or'; for 'A or B', write not (...) with the opposites of both"),
    ],
)
def test_rules_that_people_try_first(text, words):
    with pytest.raises(RowlawError) as error:
        rowlaw.parse(text)
    assert words in str(error.value)


@pytest.mark.parametrize("rules", [None, 5])
def test_what_is_no_rule(rules):
    with pytest.raises(
        RowlawError, match=rf"BAD_OPTION: rules={rules}: give a rule such as 'key \(id\)', a list of them"
    ):
        rowlaw.check(PEOPLE, rules, progress=False)
    with pytest.raises(RowlawError, match="rule 'R2': rule must be a rule, or its text, not"):
        rowlaw.check(PEOPLE, ["key (id)", rules], progress=False)


def test_verdicts_by_position():
    result = rowlaw.check(PEOPLE, ["key (id)", "fd (zip) -> city"], progress=False)
    assert (result[0].id, result[-1].id, result["R2"].violations) == ("R1", "R2", 2)
    for wrong in (2, -3):
        with pytest.raises(RowlawError, match=f"no rule {wrong}: the check has 2 rules, result.0. is the first"):
            result[wrong]


def test_a_duration_has_a_name():
    with (
        pytest.warns(rowlaw.RowlawWarning, match=r"'a' \(duration\)"),
        pytest.raises(RowlawError, match="type duration cannot be compared"),
    ):
        rowlaw.check(pd.DataFrame({"a": pd.to_timedelta([1, 1]), "b": [1, 2]}), "key (a)", progress=False)


def cause(id, violations, rows, count=None):
    return RuleCause(id, violations, count or len(rows), True, tuple(rows))


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (Causes((cause("R1", 40, [7, 9]),), (), 100, 40), "2 rows explain all 40 violations: 7, 9"),
        (
            Causes((cause("R1", 40, [7, 9]),), ("R2",), 100, 99),
            "2 rows explain 40 of 99 violations: 7, 9; the other violations are of R2",
        ),
        (
            Causes((cause("R1", 40, [7]), cause("R2", 900, [1], 800)), ("R3", "R4", "R5"), 1000, 5000),
            "1 row explains 40 of 5,000 violations: 7; the other violations are of R2, R3, R4, R5",
        ),
        (
            Causes((cause("R1", 40, [7]),), tuple(f"R{i}" for i in range(2, 8)), 1000, 5000),
            "1 row explains 40 of 5,000 violations: 7; the other violations are of R2, R3, R4 and 3 more rules",
        ),
        (
            Causes((cause("R1", 9000, range(60)),), (), 100, 9000),
            "60 of 100 rows would have to go for the rules to hold: the rules themselves may be wrong",
        ),
    ],
)
def test_causes_say_what_they_do_not_explain(found, words):
    assert str(found) == repr(found) == words


def test_a_comparison_within_a_row_is_shown_as_it_was_written():
    rule = rowlaw.parse("not (s.low > s.high and s.low != 0)")
    assert str(rule) == str(pickle.loads(pickle.dumps(rule))) == "not (s.low > s.high and s.low != 0)"
    assert rule == rowlaw.parse("not (s.high < s.low and s.low != 0)")
    (clash,) = rowlaw.check(pa.table({"low": [7], "high": [3]}), "s.low <= s.high", progress=False).side_by_side("R1")
    assert [(line.left, line.left_value, line.op, line.right_value, line.right) for line in clash.lines] == [
        ("low", 7, ">", 3, "high")
    ]
    assert hash(rule) == hash(rowlaw.parse("not (s.high < s.low and s.low != 0)"))


@pytest.mark.parametrize(
    ("table", "words"),
    [(PEOPLE, "no suspect cells in 3 rows, by 1 law"), (PEOPLE.slice(0, 1), "no suspect cells in 1 row,")],
)
def test_no_suspect_cells(table, words):
    assert words in repr(rowlaw.repair(table, "fd (id) -> city", progress=False))
