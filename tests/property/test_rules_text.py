"""Rule text and rule files on generated rules: what is written is read back the same, and nothing else gets through."""

import datetime as dt
import os
import random
import tempfile
from decimal import Decimal

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rowlaw.errors import RowlawError
from rowlaw.rules import (
    Column,
    Constant,
    Denial,
    FunctionalDependency,
    IsNull,
    Key,
    Matches,
    NamedRule,
    OneOf,
    Op,
    OrderCompatible,
    OrderDependency,
    Predicate,
    Range,
    RuleSet,
    SortColumn,
    bind,
    english,
    load,
    parse,
    parse_located,
    sql,
)
from tests.strategies import PATTERNS

UNICODE = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
ODD = [
    "1",
    "01",
    "",
    " ",
    "a b",
    "a.b",
    "a`b",
    "``",
    "'",
    '"',
    "a\nb",
    "\r",
    "\t",
    "#",
    "# x",
    "😀",
    "and",
    "NOT",
    "null",
    "Date",
]
ODD += [
    "s",
    "t",
    "t'",
    "s.a",
    "-",
    "->",
    "~",
    "{a}: b",
    "a: b",
    "naïve",
    "名前",
    "ﬁ",
    "\u212a",
    "\u2028",
    "\ufeff",
    "\x00",
    "\x85",
]
ODD += ["\\", "${x}", "yes", "1e5", "*a", "&a", "%", "@"]
NAMES = st.sampled_from(["a", "b", "zip_code"]) | st.sampled_from(ODD) | UNICODE
NUMBERS = (
    st.integers()
    | st.decimals(allow_nan=False, allow_infinity=False, places=5)
    | st.floats(allow_nan=False, allow_infinity=False)
)
LITERALS = st.one_of(
    st.booleans(),
    NUMBERS,
    st.sampled_from([Decimal("1E+5"), Decimal("0E-9"), Decimal("-0"), Decimal("9e999"), 10**999]),
    UNICODE | st.sampled_from(ODD),
    st.dates(),
    st.datetimes(),
).map(Constant)
COLUMNS = st.builds(Column, st.sampled_from("st"), NAMES)
CONDITIONS = st.one_of(
    st.just(IsNull()),
    st.lists(LITERALS, min_size=1, max_size=3)
    .filter(lambda v: len({c.type for c in v}) == 1)
    .map(lambda v: OneOf(tuple(v))),
    st.tuples(LITERALS, LITERALS)
    .filter(lambda v: v[0].type == v[1].type)
    .map(lambda v: Range(*sorted(v, key=lambda c: c.value))),
    st.sampled_from([*PATTERNS, "it's", "[']"]).map(Matches),
)
TESTS = st.tuples(COLUMNS, st.sampled_from([Op.EQ, Op.NE]), CONDITIONS).map(lambda p: Predicate(*p))
COMPARISONS = (
    st.tuples(COLUMNS, st.sampled_from(Op), COLUMNS | LITERALS)
    .filter(lambda p: p[0] != p[2])
    .map(lambda p: Predicate(*p))
)
PREDICATES = COMPARISONS | COMPARISONS | TESTS
LISTS = st.lists(NAMES, max_size=4).map(tuple)
SORTS = st.lists(st.builds(SortColumn, NAMES, st.booleans()), max_size=3).map(tuple)
RULES = st.one_of(
    st.lists(PREDICATES, min_size=1, max_size=5).map(lambda p: Denial(tuple(p))),
    LISTS.filter(bool).map(Key),
    st.builds(FunctionalDependency, LISTS, NAMES),
    st.builds(OrderCompatible, LISTS, NAMES, NAMES, st.booleans()),
    st.builds(OrderDependency, SORTS, SORTS.filter(bool)),
)


@given(RULES)
@settings(max_examples=500, deadline=None)
def test_text_round_trip(rule):
    again = parse(str(rule))
    assert again == rule
    assert str(again) == str(rule)
    assert hash(again) == hash(rule)


@given(RULES)
@settings(max_examples=200, deadline=None)
def test_places_are_those_of_the_names(rule):
    parsed = parse_located(str(rule))
    assert {m.name for m in parsed.mentions} == set(rule.columns)
    for m in parsed.mentions:
        spelled = str(rule)[m.start : m.end]
        assert m.name in (spelled, spelled[1:-1].replace("``", "`"))


@given(RULES)
@settings(max_examples=200, deadline=None)
def test_every_rule_has_a_sentence_and_a_query(rule):
    sentence = english(rule)
    assert sentence.isprintable()
    assert sentence.endswith(".")
    assert "SELECT" in sql(rule, "t", nulls="equal")


@given(RULES, st.data())
@settings(max_examples=200, deadline=None)
def test_bind_accepts_or_says_why(rule, data):
    types = {
        name: data.draw(st.sampled_from(["number", "text", "boolean", "date", "timestamp"])) for name in rule.columns
    }
    try:
        bound = bind(rule, types)
    except RowlawError as error:
        assert error.condition in ("INCOMPATIBLE_TYPES", "BAD_LITERAL", "PATTERN_NEEDS_TEXT")
        assert error.place is not None
    else:
        assert bind(bound, types) == bound
        for p in (p for d in bound.denials for p in d.predicates):
            if isinstance(p.right, IsNull | Matches):
                continue
            right = types[p.right.name] if isinstance(p.right, Column) else p.right.type
            assert right == types[p.left.name]


IDS = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=8)
IDS |= st.sampled_from(["yes", "1", "~", "a b", "'", "R1", "# x", "=", "<<"])
SHARES = st.floats(0, 1)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False)
    | UNICODE
    | st.sampled_from(ODD),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(IDS, inner, max_size=3),
    max_leaves=6,
)
NAMED = st.builds(
    NamedRule,
    IDS,
    RULES,
    st.sampled_from(["error", "warn"]),
    SHARES,
    st.none() | UNICODE | st.sampled_from(ODD),
    st.none() | SHARES,
    st.none() | st.integers(0, 10**18),
    st.none() | st.floats(allow_nan=False, allow_infinity=False),
)
RULE_SETS = st.builds(
    RuleSet,
    st.lists(NAMED | st.builds(NamedRule, IDS, RULES), max_size=4, unique_by=lambda r: r.id).map(tuple),
    st.sampled_from(["unknown", "equal"]),
    st.dictionaries(IDS, VALUES, max_size=3),
)


def _same(a, b):
    """Equal, and of the same types: 1, 1.0 and True are equal in Python."""
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(_same(a[k], b[k]) for k in a)
    return type(a) is type(b) and a == b


@given(RULE_SETS)
@example(RuleSet(settings={"a": {"b": [[], {}, "", "null", 1e-7, -0.0]}}))
@settings(max_examples=200, deadline=None)
def test_file_round_trip(rules):
    with tempfile.TemporaryDirectory() as folder:
        path, second = os.path.join(folder, "a.yaml"), os.path.join(folder, "b.yaml")
        rules.save(path)
        again = load(path)
        again.save(second)
        with open(path, "rb") as a, open(second, "rb") as b:
            assert a.read() == b.read()
    assert again == rules
    assert _same(dict(again.settings), dict(rules.settings))


SEEDS = [
    "not (s.state = t.state and s.salary < t.salary and s.rate > t.rate)",
    "not (t.A == t'.A ∧ t.B <> t'.B & 5.5e3 >= t.`x``y`)",
    "not (s.d < date '2020-01-31' and t.ts >= timestamp '2020-01-31 12:00:00' and s.x = 'it''s') # why",
    "key (area_code, 1, `odd name`)",
    "fd (zip) -> city",
    "od {country}: population ~ density desc",
    "od [year asc, week desc] -> [quarter asc]",
]
PIECES = [
    "not",
    "(",
    ")",
    "s.",
    "t.",
    "t'.",
    "and",
    "&",
    "∧",
    "=",
    "!=",
    "<<",
    "'",
    "`",
    '"',
    "#",
    "\n",
    " ",
    ",",
    "key",
    "fd",
    "od",
]
PIECES += ["{", "}", "[", "]"]
PIECES += [
    ":",
    "~",
    "->",
    "date",
    "null",
    "true",
    "1",
    "-1.5",
    "1e9999999",
    "a",
    "é",
    "\x00",
    "\ud800",
    "desc",
    ".",
    "-",
    "9" * 50,
    "≤",
]


def _mutated(random):
    text = random.choice(SEEDS)
    for _ in range(random.randint(1, 4)):
        at = random.randrange(len(text) + 1)
        text = text[:at] + random.choice([random.choice(PIECES), ""]) + text[at + random.choice([0, 0, 1, 5]) :]
    return text


def test_ten_thousand_texts_end_in_a_rule_or_an_error():
    source = random.Random(20240229)
    outcomes = {"rule": 0, "error": 0}
    for n in range(10_000):
        text = _mutated(source) if n % 2 else "".join(source.choice(PIECES) for _ in range(source.randint(0, 25)))
        try:
            rule = parse(text)
        except RowlawError as error:
            outcomes["error"] += 1
            assert error.condition in ("RULE_SYNTAX", "BAD_LITERAL")
            assert 0 <= error.place.start <= error.place.end <= len(text) + 1
            assert "^" in str(error)
        else:
            outcomes["rule"] += 1
            assert parse(str(rule)) == rule
    assert outcomes["rule"] > 200  # mutation keeps some texts good
    assert outcomes["error"] > 5000


@given(st.binary(max_size=60) | st.text(max_size=60).map(lambda t: ("rules:\n  R1: " + t).encode("utf-8", "replace")))
@settings(max_examples=300, deadline=None)
def test_any_file_ends_in_rules_or_an_error(data):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "a.yaml")
        with open(path, "wb") as stream:
            stream.write(data)
        try:
            load(path)
        except RowlawError as error:
            assert "a.yaml" in str(error)


@pytest.mark.parametrize(
    "value", [dt.date(1, 1, 1), dt.datetime(9999, 12, 31, 23, 59, 59, 999999), dt.datetime(1, 1, 1)]
)
def test_the_ends_of_time(value):
    rule = Denial((Predicate(Column("s", "a"), Op.LT, Constant(value)),))
    assert parse(str(rule)) == rule
