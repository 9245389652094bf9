"""Rule text: what is accepted, and how what is not accepted is reported."""

import datetime as dt
from decimal import Decimal

import pytest

from rowlaw.errors import RowlawError
from rowlaw.rules import (
    Column,
    Constant,
    Denial,
    Op,
    OrderCompatible,
    OrderDependency,
    Predicate,
    SortColumn,
    parse,
    parse_located,
)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("not (s.a = t.a)", "not (s.a = t.a)"),
        ("NOT(S.a==T.a AND s.b<>t.b)", "not (s.a = t.a and s.b != t.b)"),
        ("¬(s.a ≠ t.a ∧ s.b ≤ t.b & s.c ≥ t.c)", "not (s.a != t.a and s.b <= t.b and s.c >= t.c)"),
        ("not (t.A = t'.A and t.B > t'.B)", "not (s.A = t.A and s.B > t.B)"),
        ("not (t'.A < t.A)", "not (s.A > t.A)"),
        ("not (t.A = t’.A)", "not (s.A = t.A)"),
        ("not (t.A > 5)", "not (s.A > 5)"),
        ("not (5 < s.A and 'x' = t.b)", "not (s.A > 5 and t.b = 'x')"),
        ("not (s.1 = t.1 and s.2020_x = t.2020_x)", "not (s.`1` = t.`1` and s.`2020_x` = t.`2020_x`)"),
        ("not (s.date = t.date and s.and = t.not)", "not (s.`date` = t.`date` and s.`and` = t.`not`)"),
        ("not (s . a\n = # first\n t . a)", "not (s.a = t.a)"),
        ("not (s.`a b` = t.`c``d`)", "not (s.`a b` = t.`c``d`)"),
        ("not (s.a <= t.a and s.a >= t.a)", "not (s.a = t.a)"),
        ("not (s.a = \"it\"\"s\" and s.b = 'it''s')", "not (s.a = 'it\"s' and s.b = 'it''s')"),
        ("not (t.a = t'.a and t.b = t'.b)", "not (s.a = t.a and s.b = t.b)"),
        ("key (b, a, b)", "key (b, a)"),
        ("KEY (1, 2, `key`, date)", "key (`1`, `2`, `key`, `date`)"),
        ("key (``)", "key (``)"),
        ("key (名前, naïve)", "key (名前, naïve)"),
        ("fd () -> city", "fd () -> city"),
        ("fd (zip, street)->city # why", "fd (zip, street) -> city"),
        ("od {}: b ~ a", "od {}: b ~ a"),
        ("od {c}: a ~ b DESC", "od {c}: a ~ b desc"),
        ("od {c}: a ~ b asc", "od {c}: a ~ b"),
        ("od [a asc, b desc] -> [c]", "od [a, b desc] -> [c]"),
        ("od [] -> [c desc]", "od [] -> [c desc]"),
        ("not (s.a is null)", "not (s.a is null)"),
        ("NOT (t.a IS NOT NULL)", "not (s.a is not null)"),
        ("not (s.a IN ('x', 'y', 'x') and s.b = t.b)", "not (s.a in ('x', 'y') and s.b = t.b)"),
        ("not (s.a not in (1, 2.5))", "not (s.a not in (1, 2.5))"),
        (
            "not (s.a between 1 and 5 and t.a not between 2 and 3)",
            "not (s.a between 1 and 5 and t.a not between 2 and 3)",
        ),
        ("not (s.a between s.low and s.high)", "not (s.a >= s.low and s.a <= s.high)"),
        (r"not (s.zip matches '\d{5}')", r"not (s.zip matches '\d{5}')"),
        (
            "not (s.in in (1) and s.is is null and s.between between 1 and 2)",
            "not (s.in in (1) and s.is is null and s.between between 1 and 2)",
        ),
        ("s.a is not null", "not (s.a is null)"),
        (r"s.zip matches '\d{5}'", r"not (s.zip not matches '\d{5}')"),
        ("t.state in ('NY')", "not (s.state not in ('NY'))"),
        ("s.low <= s.high", "not (s.low > s.high)"),
        ("not (t.b > t.a)", "not (s.b > s.a)"),
        ("0 < s.price", "not (s.price <= 0)"),
    ],
)
def test_accepted(text, canonical):
    assert str(parse(text)) == canonical
    assert parse(canonical) == parse(text)


def test_kinds():
    a, b = Column("s", "a"), Column("t", "b")
    assert parse("not (s.a < t.b)") == Denial((Predicate(a, Op.LT, b),))
    assert parse("od {x, w}: b ~ a desc") == OrderCompatible(("w", "x"), "a", "b", descending=True)
    assert parse("od [a desc] -> [b]") == OrderDependency((SortColumn("a", descending=True),), (SortColumn("b"),))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", 5),
        ("-5", -5),
        ("+5", 5),
        ("1.50", Decimal("1.50")),
        ("1e3", Decimal(1000)),
        ("-2.5E-3", Decimal("-0.0025")),
        ("1e-400", Decimal("1e-400")),
        ("true", True),
        ("FALSE", False),
        ("''", ""),
        ("'# not a comment'", "# not a comment"),
        ("date '2020-02-29'", dt.date(2020, 2, 29)),
        ("Timestamp '2020-01-31 12:00:00.5'", dt.datetime(2020, 1, 31, 12, 0, 0, 500000)),
        ("timestamp '2020-01-31T12:00'", dt.datetime(2020, 1, 31, 12)),
        ("timestamp '2020-01-31'", dt.datetime(2020, 1, 31)),
    ],
)
def test_literals(text, value):
    (predicate,) = parse(f"not (s.a = {text})").predicates
    assert predicate.right == Constant(value)
    assert type(predicate.right.value) is type(value)


@pytest.mark.parametrize(
    ("text", "message", "caret"),
    [
        ("", "the rule is empty", ""),
        ("   # only a comment", "the rule is empty", ""),
        (
            "uniq (a)",
            (
                "expected 'not (', 'key (', 'fd (', 'od {' or 'od [', or a condition such as s.column is not null, "
                "found 'uniq'"
            ),
            "uniq",
        ),
        ("not s.a = t.a", "expected '(', found 's'", "s"),
        ("s.who.zip is not null", "found '.'; if the column is called 'who.zip', write `who.zip`", "."),
        ("key (id, who.zip)", "found '.'; if the column is called 'who.zip', write `who.zip`", "."),
        ("fd (first name) -> id", "found 'name'; if the column is called 'first name', write `first name`", "name"),
        ("not (s.first name = t.id)", "if the column is called 'first name', write `first name`", "name"),
        ("not (s.a << t.a)", "expected a comparison such as '=' or '<=', found '<<'", "<<"),
        ("not (s.a near t.a)", "'<=', or 'is null', 'in', 'between' or 'matches', found 'near'", "near"),
        ("not (s.a like 'x%')", "found 'like'; for patterns, write matches '[A-Z].*'", "like"),
        ("not (s.a is 5)", "expected 'null' or 'not null', found '5'", "5"),
        ("not (s.a is not 5)", "expected 'null', found '5'", "5"),
        ("not (s.a not 5)", "expected 'in', 'between' or 'matches', found '5'", "5"),
        ("not (s.a in 5)", "expected '(', found '5'; write in ('a', 'b')", "5"),
        ("not (s.a in (1, t.b))", "a list holds literals only", "t.b"),
        ("not (s.a in (1, 'x'))", "is a text, and the list begins with a number", "'x'"),
        ("not (s.a in (1, null))", "null cannot be compared; write s.column is null", "null"),
        ("not (s.a in ())", "expected s.column, t.column or a literal, found ')'", ")"),
        ("not (s.a between 1 or 5)", "expected 'and' and the other end of the range, found 'or'", "or"),
        ("not (s.a between 5 and 1)", "the range is empty; write the smaller value first", "between 5 and 1"),
        ("not (s.a between 5 and 'x')", "the range runs from a number to a text", "between 5 and 'x'"),
        ("not (s.a not between s.b and s.c)", "'not between' needs literals", "s.a not between s.b and s.c"),
        ("not (s.a matches 5)", "expected a pattern in quotes", "5"),
        ("not (5 is null)", "a condition is about a column", "5 is null"),
        ("not (s.a matches 'it''s (x')", "the group that begins here is never closed", "("),
        ("not (s.a matches '(?=x)')", "groups that look ahead", "(?="),
        (r"not (s.a matches '(x)\1')", "a pattern cannot refer to its own groups", r"\1"),
        ("not (s.a matches 'x*?')", "a quantifier after a quantifier is not supported", "?"),
        ("not (s.a matches '[z-a]')", "the range runs backwards", "z-a"),
        ("not (s.a matches 'a{9999}')", "the limit is 500", "{9999}"),
        ("s.a = t.a", "a rule about two rows says what must not be: write not (...)", "s.a = t.a"),
        ("s.a > 0 and s.b > 0", "write each part as a rule of its own", "s.a > 0 and"),
        ("s.a between s.b and s.c", "as a rule of its own", "s.a between s.b and s.c"),
        ("not (s.a = t.a", "expected ')' or 'and', found the end of the rule", ""),
        ("not (s.a = t.a << 5)", "expected ')' or 'and', found '<<'", "<<"),
        ("not (s.a = t.a or s.b = t.b)", "found 'or'; for 'or', write two rules", "or"),
        ("not (s.a = t.a && s.b = t.b)", "found '&&'", "&&"),
        ("not (s.a = t.a) extra", "expected the end of the rule, found 'extra'", "extra"),
        ("not (s.a = t.a and )", "expected s.column, t.column or a literal, found ')'", ")"),
        ("not ()", "expected s.column, t.column or a literal, found ')'", ")"),
        ("not (a = t.a)", "found 'a'; write s.a or t.a", "a"),
        ("not (s.a = null)", "null cannot be compared", "null"),
        ("not (1 = 2)", "two literals are compared", "1 = 2"),
        ("not (s.a <= s.a)", "s.a is compared with itself", "s.a <= s.a"),
        ("not (s.a = t'.a)", "mixes the rows s and t'", "s"),
        (
            "not (s.'a' = t.a)",
            "expected a column name, found \"'a'\"; put the name in backticks, without quotes",
            "'a'",
        ),
        ("not (s. = t.a)", "expected a column name, found '='", "="),
        ("not (s.a = 'x)", "the text literal that begins here is never closed", "'"),
        ("key (`a)", "the name in backticks that begins here is never closed", "`"),
        ("key ()", "expected a column name, found ')'", ")"),
        ("key (a b)", "expected ')' or ',', found 'b'", "b"),
        ("key (1.5)", "expected a column name, found '1.5'; put the name in backticks", "1.5"),
        ("key (2a)", "'2a' is not a number; a column name that begins with a digit goes in backticks", "2a"),
        ("fd zip -> city", "expected '(', found 'zip'", "zip"),
        ("fd (zip) city", "expected '->', found 'city'", "city"),
        ("fd (zip) -> city, state", "write one fd for each column on the right", ","),
        ("od (a): b ~ c", "expected '{' or '[', found '('", "("),
        ("od {a}: b -> c", "expected '~', found '->'", "->"),
        ("od [a] -> []", "needs at least one column on its right side", "[]"),
        ("od [a up] -> [b]", "expected ',' or ']', 'asc' or 'desc', found 'up'", "up"),
        ("not (s.a = date 5)", "expected a text literal after 'date', found '5'", "5"),
        ("not (s.a = .5)", "expected s.column, t.column or a literal, found '.'", "."),
        ("key (a\ud800)", "not valid Unicode", "\ud800"),
        ("!(s.a = t.a)", "found '!'", "!"),
    ],
)
def test_refused_with_the_place(text, message, caret):
    with pytest.raises(RowlawError) as caught:
        parse(text)
    error = caught.value
    assert error.condition == "RULE_SYNTAX"
    assert message in error.message
    assert text[error.place.start : error.place.end] == caret


@pytest.mark.parametrize(
    "literal",
    [
        *("1e999999999", "-1e-999999999", "9" * 5000, "0." + "1" * 5000, "1e1000"),
        *("date '2020-02-30'", "date '20200131'", "date '2020-W05-5'"),
        *("timestamp '2020-01-31 25:00'", "timestamp '2020-01-31 12:00:00+01:00'", "timestamp ''"),
    ],
)
def test_bad_literals(literal):
    with pytest.raises(RowlawError) as caught:
        parse(f"not (s.a = {literal})")
    assert caught.value.condition == "BAD_LITERAL"
    assert len(caught.value.message) < 200
    assert caught.value.place.end == len(f"not (s.a = {literal}")


def test_errors_name_file_line_and_rule():
    with pytest.raises(RowlawError) as caught:
        parse_located("not (\n  s.a ! t.a)", "laws.yaml", 7, "R3")
    assert str(caught.value).split("\n")[1:] == ["  in rule R3, laws.yaml:8", "  |   s.a ! t.a)", "  |       ^"]


def test_parts_keep_their_places():
    text = "not (t.`x y` > 5 and 1 < t.b)"
    parsed = parse_located(text)
    assert [(m.name, text[m.start : m.end]) for m in parsed.mentions] == [("x y", "`x y`"), ("b", "b")]
    spelled = [(str(c.predicate), text[c.start : c.end]) for c in parsed.comparisons]
    assert spelled == [("t.`x y` > 5", "t.`x y` > 5"), ("t.b > 1", "1 < t.b")]


def _conjunction(n):
    return "not (" + " and ".join(f"s.c{i}=t.c{i}" for i in range(n)) + ")"


def test_limits():
    assert len(parse(_conjunction(1000)).predicates) == 1000
    for text, unit in [
        (_conjunction(1001), "predicates"),
        ("key (" + ",".join(f"c{i}" for i in range(1001)) + ")", "columns"),
        ("od [" + ",".join(f"c{i}" for i in range(1001)) + "] -> [a]", "columns"),
        ("key (" + "a" * 65536 + ")", "characters"),
    ]:
        with pytest.raises(RowlawError) as caught:
            parse(text)
        assert (caught.value.condition, caught.value.parameters["unit"]) == ("RULE_TOO_LONG", unit)


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "unit",
    [
        *("(", "not (", "t'", "t' ", "`", "``", "'", "''", '"', "s.", "1", "1e", "-", "- 1", "<", "&", "#", "#\n", " "),
        *("key(a,", "s.a=t.a and ", "é", "[", "{a:", "1.", "\0"),
    ],
)
def test_no_text_is_slow(unit):
    for prefix in ("not (s.a = ", "key ("):
        with pytest.raises(RowlawError) as caught:
            parse((prefix + unit * 65536)[:65536])
        assert len(str(caught.value)) < 2000
