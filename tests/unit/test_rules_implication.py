"""What follows from what, and what is always true: cases one can check by hand."""

import pytest

from rowlaw.rules import canonical, implies, is_trivial, minimal, parse


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("not (s.a = t.a)", "not (s.a = t.a)", True),
        ("not (s.a = t.a)", "not (s.a = t.a and s.b = t.b)", True),
        ("not (s.a = t.a and s.b = t.b)", "not (s.a = t.a)", False),
        ("not (s.a <= t.a)", "not (s.a < t.a)", True),
        ("not (s.a <= t.a)", "not (s.a = t.a)", True),
        ("not (s.a != t.a)", "not (s.a > t.a)", True),
        ("not (s.a < t.a)", "not (s.a <= t.a)", False),
        ("not (s.a < t.a)", "not (s.a > t.a)", True),  # by exchange
        ("not (s.a < t.a and s.b < t.b)", "not (s.a < t.a and s.b > t.b)", False),
        ("not (s.a < t.b)", "not (t.a < s.b and s.c = t.c)", True),
        ("not (s.a > 5)", "not (t.a > 5 and s.b = t.b)", True),  # a rule about one row, on the other row
        ("not (s.a > 5)", "not (s.a > 6)", False),  # no reasoning about literals here
    ],
)
def test_implies(a, b, expected):
    assert implies(parse(a), parse(b)) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("not (s.a < t.a and s.a > t.a)", True),
        ("not (s.a = t.a and s.a != t.a)", True),
        ("not (s.a <= t.a and s.a >= t.a)", False),
        ("not (s.a < t.a and t.a < s.b and s.b < t.b and t.b < s.a)", True),
        ("not (s.a <= t.a and t.a <= s.b and s.b <= t.b and t.b <= s.a)", False),
        ("not (s.a <= t.a and t.a <= s.b and s.b <= t.b and t.b <= s.a and s.a != s.b)", True),
        ("not (s.a = t.b and t.b = s.c and s.a != s.c)", True),
        ("not (s.a > 5 and s.a < 4)", True),
        ("not (s.a > 5 and t.a < 4 and s.a < t.a)", True),
        ("not (s.a > 5 and t.a < 4 and s.a > t.a)", False),
        ("not (s.a >= 5 and s.a <= 5.0 and s.a != 5)", True),
        ("not (s.a > 1 and s.a < 2)", False),  # dense: the gap between integers does not count
        ("not (s.a = 'x' and s.a = 'y')", True),
        ("not (s.a = date '2020-01-01' and s.a < date '2019-01-01')", True),
        ("not (s.a = true and s.a = false)", True),
        ("not (s.a = t.a)", False),
    ],
)
def test_is_trivial(text, expected):
    assert is_trivial(parse(text)) is expected


def test_a_long_chain_needs_no_stack():
    chain = [f"s.c{i} < s.c{i + 1}" for i in range(999)]
    assert not is_trivial(parse(f"not ({' and '.join(chain)})"))
    assert is_trivial(parse(f"not ({' and '.join(chain)} and s.c999 <= s.c0)"))


def test_canonical():
    a, b = parse("not (s.a < t.b and s.c = t.c)"), parse("not (t.a < s.b and s.c = t.c)")
    assert a != b
    assert canonical(a) == canonical(b)


def test_minimal():
    texts = [
        "not (s.a < t.a and s.b = t.b)",
        "not (s.a <= t.a and s.b = t.b)",
        "not (s.a >= t.a and s.b = t.b)",  # its exchange
        "not (s.c = t.c and s.c != t.c)",  # trivial
        "not (s.c > 1)",
        "not (t.c > 1 and s.d = t.d)",
    ]
    expected = ["not (s.c > 1)", "not (s.b = t.b and s.a <= t.a)"]
    assert [str(d) for d in minimal(map(parse, texts))] == expected
    assert [str(d) for d in minimal(map(parse, reversed(texts)))] == expected
    assert minimal([]) == []
