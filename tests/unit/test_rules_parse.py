"""Rule text: what is accepted, and how what is not accepted is reported."""

import datetime as dt
from decimal import Decimal

import pytest

from rowlaw.errors import RowlawError
from rowlaw.rules import Column, Constant, Denial, Op, OrderCompatible, OrderDependency, Predicate, SortColumn, parse, parse_located


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("not (s.a = t.a)", "not (s.a = t.a)"),
        ("NOT(S.a==T.a AND s.b<>t.b)", "not (s.a = t.a and s.b != t.b)"),
        ("¬(s.a ≠ t.a ∧ s.b ≤ t.b & s.c ≥ t.c)", "not (s.b <= t.b and s.c >= t.c and s.a != t.a)"),
        ("not (t.A = t'.A and t.B > t'.B)", "not (s.A = t.A and s.B > t.B)"),
        ("not (t'.A < t.A)", "not (s.A > t.A)"),
        ("not (t.A = t’.A)", "not (s.A = t.A)"),
        ("not (t.A > 5)", "not (s.A > 5)"),
        ("not (5 < s.A and 'x' = t.b)", "not (t.b = 'x' and s.A > 5)"),
        ("not (s.1 = t.1 and s.2020_x = t.2020_x)", "not (s.`1` = t.`1` and s.`2020_x` = t.`2020_x`)"),
        ("not (s.date = t.date and s.and = t.not)", "not (s.`and` = t.`not` and s.`date` = t.`date`)"),
        ("not (s . a\n = # first\n t . a)", "not (s.a = t.a)"),
        ("not (s.`a b` = t.`c``d`)", "not (s.`a b` = t.`c``d`)"),
        ("not (s.a <= t.a and s.a >= t.a)", "not (s.a = t.a)"),
        ("not (s.a = \"it\"\"s\" and s.b = 'it''s')", "not (s.a = 'it\"s' and s.b = 'it''s')"),
        ("not (t.a = t'.a and t.b = t'.b)", "not (s.a = t.a and s.b = t.b)"),
        ("key (b, a, b)", "key (a, b)"),
        ("KEY (1, 2, `key`, date)", "key (`1`, `2`, `date`, `key`)"),
        ("key (``)", "key (``)"),
        ("key (名前, naïve)", "key (naïve, 名前)"),
        ("fd () -> city", "fd () -> city"),
        ("fd (zip, street)->city # why", "fd (street, zip) -> city"),
        ("od {}: b ~ a", "od {}: a ~ b"),
        ("od {c}: a ~ b DESC", "od {c}: a ~ b desc"),
        ("od {c}: a ~ b asc", "od {c}: a ~ b"),
        ("od [a asc, b desc] -> [c]", "od [a, b desc] -> [c]"),
        ("od [] -> [c desc]", "od [] -> [c desc]"),
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
        ("uniq (a)", "expected 'not (', 'key (', 'fd (', 'od {' or 'od [', found 'uniq'", "uniq"),
        ("not s.a = t.a", "expected '(', found 's'", "s"),
        ("not (s.a << t.a)", "expected a comparison such as '=' or '<=', found '<<'", "<<"),
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
        ("not (s.'a' = t.a)", "expected a column name, found \"'a'\"; put the name in backticks, without quotes", "'a'"),
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
