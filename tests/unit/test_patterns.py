"""Patterns mean what regular expressions mean, and no pattern and no text takes long."""

import random
import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rowlaw.rules.patterns import (
    MAX_KEPT,
    MAX_LENGTH,
    MAX_POSITIONS,
    Matcher,
    PatternError,
    matcher,
    parse_pattern,
    portable,
)
from tests.strategies import PATTERNS

ATOMS = st.sampled_from(
    [
        "a",
        "b",
        "A",
        "é",
        " ",
        ".",
        r"\d",
        r"\w",
        r"\s",
        r"\D",
        r"\.",
        "[ab]",
        "[^a]",
        "[a-c1]",
        r"[\d-]",
        "[😀a]",
        r"\n",
    ]
)
QUANTIFIERS = st.sampled_from(["", "", "", "*", "+", "?", "{2}", "{0,2}", "{1,}", "{0}"])


def grown(inner):
    group = st.builds("({}){}".format, inner, QUANTIFIERS)
    return st.one_of(
        st.builds("{}{}".format, ATOMS, QUANTIFIERS),
        group,
        st.builds("{}{}".format, group, inner),
        st.builds("{}|{}".format, inner, inner),
    )


GENERATED = st.recursive(st.builds("{}{}".format, ATOMS, QUANTIFIERS), grown, max_leaves=6)
TEXTS = st.text(alphabet="abA1é .\n-😀", max_size=6)


@given(GENERATED | st.sampled_from(PATTERNS), TEXTS)
@example("(a|b)*a(a|b){2}", "abab")
@settings(max_examples=1000)
def test_patterns_are_regular_expressions(pattern, text):
    expected = re.fullmatch(pattern, text, re.ASCII) is not None
    assert matcher(pattern).matches(text) == expected
    # other engines are given this spelling
    assert (
        re.fullmatch(re.sub(r"\\x\{([0-9A-F]+)\}", lambda m: re.escape(chr(int(m[1], 16))), portable(pattern)), text)
        is not None
    ) == expected


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("(", "never closed"),
        (")", "closes no group"),
        ("[a", "never closed with ']'"),
        ("*a", "nothing stands before '*'"),
        ("a**", "quantifier after a quantifier"),
        ("a{2,1}", "run backwards"),
        ("a{x}", "expected {n}"),
        ("a{", "expected {n}"),
        (r"\b", "describes the whole text"),
        (r"\p{L}", "write the characters themselves"),
        ("a\\", "backslash at the end"),
        ("a^b", "'^' is not needed"),
        ("(?P<x>a)", "have a name"),
        ("[[:alpha:]]", "not supported in a class"),
        ("[a-\\d]", "a range needs a character"),
        ("(" * 60 + "a" + ")" * 60, "nested more than"),
        ("a" * 2000, "2,000 characters"),
        ("(a{100}){100}", "the limit is"),
    ],
)
def test_what_is_not_supported_is_an_error_with_a_place(pattern, problem):
    with pytest.raises(PatternError, match=re.escape(problem)) as caught:
        parse_pattern(pattern)
    assert 0 <= caught.value.start < caught.value.end <= max(1, len(pattern))


def hostile(seed):
    """Patterns that keep backtracking engines busy: nested and adjacent quantifiers, alternatives that overlap, long
    repetitions."""
    chance = random.Random(seed)
    pattern = chance.choice(["a", "(a|a)", ".", "[ab]", "(a|ab)", r"\w"])
    for _ in range(chance.randint(1, 6)):
        quantifier = chance.choice(["*", "+", "?", "{2}", "{1,3}", "{0,20}"])
        shape = chance.choice(["({}){}", "({0}){1}({0}){1}", "({0}|a){1}", "(a|{0}){1}a", "{0}a*{0}"])
        pattern = shape.format(pattern, quantifier)
    return pattern[: chance.choice([MAX_LENGTH, 60])] + chance.choice(["b", "", "$", "!"])


def test_hostile_patterns_take_few_steps():
    """10,000 patterns: each is refused, or its automaton is small and takes one step for each character."""
    text = "a" * 200 + "c"
    accepted = 0
    for seed in range(10_000):
        try:
            found = Matcher(parse_pattern(hostile(seed)))
        except PatternError:
            continue
        accepted += 1
        assert len(found.follow) <= MAX_POSITIONS
        found.matches(text)
        assert found.steps <= len(text)
    assert accepted > 3_000


def test_what_is_kept_is_bounded():
    found = Matcher(parse_pattern(".*a.{12}"))
    chance = random.Random(1)
    for _ in range(200):
        found.matches("".join(chance.choice("ab") for _ in range(300)))
        assert found.kept <= MAX_KEPT
