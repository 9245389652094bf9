"""Rules against the columns of a table."""

import datetime as dt

import pytest

from rowlaw.errors import RowlawError
from rowlaw.rules import Constant, bind, parse, parse_located

TYPES = {
    "n": "number",
    "m": "number",
    "x": "text",
    "b": "boolean",
    "d": "date",
    "ts": "timestamp",
    "Salary": "number",
    "a b": "text",
}


@pytest.mark.parametrize(
    "text",
    [
        "not (s.n < t.m and s.x <= t.`a b` and s.b < t.b and s.d > t.d and s.ts != t.ts)",
        "not (s.n = 5)",
        "not (s.n = 5.5)",
        "not (s.x = '5')",
        "not (s.b = true)",
        "not (s.d = date '2020-01-31')",
        "not (s.ts = timestamp '2020-01-31 00:00:00')",
        "key (n, x)",
        "fd (n) -> x",
        "od {n}: x ~ d desc",
        "od [n] -> [x desc]",
    ],
)
def test_what_fits_is_unchanged(text):
    rule = parse(text)
    assert bind(rule, TYPES) == rule
    assert bind(parse_located(text), TYPES) == rule


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("not (s.d < '2020-01-31')", dt.date(2020, 1, 31)),
        ("not (s.ts < '2020-01-31')", dt.datetime(2020, 1, 31)),
        ("not (s.ts < '2020-01-31 12:30')", dt.datetime(2020, 1, 31, 12, 30)),
        ("not (s.ts < date '2020-01-31')", dt.datetime(2020, 1, 31)),
    ],
)
def test_literals_take_the_type_of_the_column(text, value):
    (predicate,) = bind(parse(text), TYPES).predicates
    assert predicate.right == Constant(value)


@pytest.mark.parametrize(
    ("text", "condition", "message", "caret"),
    [
        ("key (n, Salry)", "UNKNOWN_COLUMN", "no column 'Salry'; did you mean 'Salary'?", "Salry"),
        ("not (s.n = t.n and t.salary > 5)", "UNKNOWN_COLUMN", "no column 'salary'; did you mean 'Salary'?", "salary"),
        ("fd (n) -> zzzzzz", "UNKNOWN_COLUMN", "no column 'zzzzzz'; the columns are '", "zzzzzz"),
        ("od {`a c`}: n ~ x", "UNKNOWN_COLUMN", "no column 'a c'; did you mean 'a b'?", "`a c`"),
        ("od [n] -> [q desc]", "UNKNOWN_COLUMN", "no column 'q'", "q"),
        (
            "not (s.n = t.n and s.n = t.x)",
            "INCOMPATIBLE_TYPES",
            "cannot compare s.n (number) with t.x (text)",
            "s.n = t.x",
        ),
        ("not (s.d < t.ts)", "INCOMPATIBLE_TYPES", "cannot compare s.d (date) with t.ts (timestamp)", "s.d < t.ts"),
        ("not (t.n = '5')", "INCOMPATIBLE_TYPES", "t.n (number) with '5' (text); drop the quotes", "t.n = '5'"),
        ("not (s.n = 'five')", "INCOMPATIBLE_TYPES", "s.n (number) with 'five' (text)", "s.n = 'five'"),
        (
            "not (s.x = 5)",
            "INCOMPATIBLE_TYPES",
            "s.x (text) with 5 (number); write the text as '5', or give the column another type (types, --types)",
            "s.x = 5",
        ),
        (
            "not (s.x = date '2020-01-31')",
            "INCOMPATIBLE_TYPES",
            "write the text as '2020-01-31'",
            "s.x = date '2020-01-31'",
        ),
        ("not (s.b = 1)", "INCOMPATIBLE_TYPES", "s.b (boolean) with 1 (number); write true or false", "s.b = 1"),
        ("not (s.b = 'True')", "INCOMPATIBLE_TYPES", "drop the quotes", "s.b = 'True'"),
        ("not (s.n = true)", "INCOMPATIBLE_TYPES", "s.n (number) with true (boolean)", "s.n = true"),
        (
            "not (s.d = timestamp '2020-01-31 12:00')",
            "INCOMPATIBLE_TYPES",
            "write date '2020-01-31'",
            "s.d = timestamp '2020-01-31 12:00'",
        ),
        ("not (s.d < 'soon')", "BAD_LITERAL", "'soon' is not a date; write it as '2020-01-31'", "s.d < 'soon'"),
        (
            "not (s.ts < '31.1.2020')",
            "BAD_LITERAL",
            "is not a timestamp; write it as '2020-01-31 12:00:00'",
            "s.ts < '31.1.2020'",
        ),
    ],
)
def test_what_does_not_fit_is_an_error_with_a_caret(text, condition, message, caret):
    with pytest.raises(RowlawError) as caught:
        bind(parse_located(text, "laws.yaml", 3, "R1"), TYPES)
    assert caught.value.condition == condition
    assert message in caught.value.message
    place = caught.value.place
    assert text[place.start : place.end] == caret
    assert (place.file, place.line, place.rule) == ("laws.yaml", 3, "R1")


def test_a_rule_without_text_gets_a_caret_too():
    with pytest.raises(RowlawError) as caught:
        bind(parse("fd (n) -> Salry"), TYPES)
    assert str(caught.value).endswith("  | fd (n) -> Salry\n  |           ^^^^^")


def test_predicates_that_the_rule_merged_are_all_checked():
    with pytest.raises(RowlawError, match="INCOMPATIBLE_TYPES"):
        bind(parse_located("not (s.n = 1 and s.n = true)"), TYPES)
