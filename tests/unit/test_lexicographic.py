"""Lexicographic order dependencies and sort lists: the examples of the HyOD paper, and what people type."""

import pickle

import pytest

from rowlaw.errors import RowlawError
from rowlaw.rules import NamedRule, RuleSet, SortColumn, parse, set_based
from tests import naive

TABLE_I = {
    "M": [1, 1, 1, 1, 1, 2],
    "W": [2, 2, 3, 3, 4, 6],
    "DT": ["07:34", "07:34", "07:34", "09:05", "06:22", "10:10"],
    "AT": ["10:22", "08:46", "08:46", "12:10", "07:17", "11:40"],
    "ET": [168, 72, 72, 185, 55, 90],
    "MTOW": [233, 233, 233, 242, 89, 83],
    "CAP": [253, 253, 253, 293, 204, 185],
    "Type": ["A330", "A330", "A330", "A330", "B738", "A321"],
    "MC": ["FR", "FR", "FR", "FR", "USA", "FR"],
}


@pytest.fixture(scope="module")
def flights():
    """All that is known of Table I."""
    return RuleSet.of([*naive.minimal_fds(TABLE_I, "equal"), *naive.minimal_ods(TABLE_I, "equal")], nulls="equal")


@pytest.mark.parametrize(
    ("rule", "parts"),
    [  # Example 3, and the mapping printed before it
        ("od [MTOW] -> [CAP]", {"fd (MTOW) -> CAP", "od {}: CAP ~ MTOW"}),
        ("od [Type] -> [Type, MC]", {"fd (Type) -> MC"}),
        ("od [M, W] -> [W, M]", {"od {}: M ~ W"}),
        ("od [W, M] -> [M, W]", {"od {}: M ~ W"}),
        ("od [DT, ET] -> [DT, AT]", {"fd (DT, ET) -> AT", "od {DT}: AT ~ ET"}),
        (
            "od [A, B] -> [C, D]",
            {"fd (A, B) -> C", "fd (A, B) -> D", "od {}: A ~ C", "od {A}: B ~ C", "od {C}: A ~ D", "od {A, C}: B ~ D"},
        ),
        # directions count only where they differ
        ("od [a desc] -> [b desc]", {"fd (a) -> b", "od {}: a ~ b"}),
        ("od [a] -> [b desc]", {"fd (a) -> b", "od {}: a ~ b desc"}),
        # a column against itself is constant, again and again
        ("od [a] -> [a desc]", {"fd () -> a"}),
        ("od [b, a] -> [b, a desc]", {"fd (b) -> a"}),
        ("od [a, a desc] -> [a]", set()),
        ("od [] -> [a]", {"fd () -> a"}),
    ],
)
def test_set_based(rule, parts):
    assert {str(part) for part in set_based(parse(rule), "equal")} == parts


def test_with_unknown_nulls_what_comes_before_must_be_known():
    assert "fd (A, B, C) -> D" in {str(part) for part in set_based(parse("od [A, B] -> [C, D]"))}


@pytest.mark.parametrize(
    ("rule", "holds"),
    [  # Examples 1 and 2
        ("od [MTOW] -> [CAP]", True),
        ("od [Type] -> [Type, MC]", True),
        ("od [M, W] -> [W, M]", True),
        ("od [W, M] -> [M, W]", True),
        ("od [M] -> [W]", False),
        ("od [DT, ET] -> [DT, AT]", True),
        ("od [ET] -> [AT]", False),
        ("od [DT, ET] -> [AT]", False),
        ("od [W] -> [DT]", False),
        ("od [W] -> [M]", True),
        ("fd (Type) -> MC", True),
        ("od {}: M ~ W", True),
        ("od {DT}: ET ~ AT", True),
        ("od {}: ET ~ AT", False),
        ("od {DT}: MTOW ~ MTOW desc", True),
        ("not (s.Type = t.Type and s.MC > t.MC)", True),
        ("key (Type)", False),
    ],
)
def test_table_1(flights, rule, holds):
    assert flights.implies(rule) == holds
    assert flights.implies(parse(rule)) == holds
    assert naive.exists(parse(rule), TABLE_I, "equal") != holds


def test_sort_lists_of_table_1(flights):
    assert flights.order_by(["CAP asc", "MTOW asc"]) == ["CAP"]  # here either decides the other
    assert flights.order_by("Type, MC") == ["Type"]
    assert flights.order_by("M, W") == ["W"]
    assert flights.order_by("DT, ET, AT") == ["DT", "ET"]


def test_keys_imply_dependencies():
    rules = RuleSet.of(["key (id)"])
    assert rules.implies("fd (id) -> name")
    assert rules.implies("od {id}: a ~ b")
    assert rules.implies("od [id, name] -> [id, a desc]")
    assert rules.implies("key (id, name)")
    assert not rules.implies("key (name)")
    assert not rules.implies("od [id] -> [a]")
    assert rules.order_by("id, name") == ["id"]


@pytest.mark.parametrize("nulls", ["unknown", "equal"])
def test_chains_need_known_values(nulls):
    rules = RuleSet.of(["fd (zip) -> city", "fd (city) -> state", "od {city, x}: a ~ b", "key (state, y)"], nulls=nulls)
    chained = nulls == "equal"
    assert rules.implies("fd (zip) -> state") == chained
    assert rules.implies("od {zip, x}: a ~ b desc") is False
    assert rules.implies("od {zip, x}: b ~ a") == chained
    assert rules.implies("key (zip, y)") == chained
    assert rules.implies("not (s.zip = t.zip and s.x <= t.x and s.state < t.state)") == chained
    assert rules.implies("not (s.zip = t.zip and s.city != t.city and s.x < 5)")
    assert not rules.implies("not (s.x < 5)")


def test_weak_comparisons_follow_case_by_case():
    rules = RuleSet.of(["od {a}: b ~ c", "fd (a, c) -> b"])
    assert rules.implies("not (s.a = t.a and s.b < t.b and s.c >= t.c)")
    assert not rules.implies("not (s.a = t.a and s.b <= t.b and s.c >= t.c)")
    assert RuleSet.of("not (s.a < t.a and s.b = t.b)").implies("fd (b) -> a")
    many = " and ".join(f"s.c{i} <= t.c{i}" for i in range(40))
    assert not rules.implies(f"not ({many})")


def test_a_rule_about_one_row_does_not_follow_from_pairs():
    assert not RuleSet.of(["key (a)", "fd () -> a"], nulls="equal").implies("not (s.a > 3)")


def test_lexicographic_rules_that_are_listed():
    rules = RuleSet.of("od [year, week] -> [quarter]")
    assert rules.implies("fd (year, week) -> quarter")
    assert rules.implies("od {}: quarter ~ year")
    assert not rules.implies("od [year] -> [quarter]")


def test_rules_that_may_be_broken_prove_nothing():
    fd = parse("fd (a) -> b")
    for facts in ({"tolerate": 0.1}, {"error": 0.1}):
        assert not RuleSet.of(NamedRule("R", fd, **facts)).implies(fd)
    assert RuleSet.of(NamedRule("R", fd, error=0.0)).implies(fd)


def test_what_is_true_on_every_table():
    for rule in (
        "od [a] -> [a]",
        "od [a, b] -> [a]",
        "od {a}: a ~ b",
        "od {}: a ~ a",
        "fd (a, b) -> a",
        "not (s.a < t.a and s.a > t.a)",
    ):
        assert RuleSet().implies(rule)
    assert RuleSet().order_by("a, b desc, a desc") == ["a", "b desc"]
    assert RuleSet().order_by([]) == []


def test_a_shorter_list_may_turn_columns_round_and_change_their_order():
    rules = RuleSet.of(
        ["fd (countdown) -> year", "fd (countdown) -> quarter", "fd (quarter, year) -> countdown"], nulls="equal"
    )
    assert rules.order_by("year, quarter, countdown") == ["year", "quarter"]
    ordered = ["od {}: countdown ~ year desc", "od {year}: countdown ~ quarter desc"]
    rules = RuleSet.of([*(r.rule for r in rules), *ordered], nulls="equal")
    assert rules.order_by("year, quarter, countdown") == ["countdown desc"]
    # decade, name, year: within a decade names ascend with the years
    rules = RuleSet.of(["fd (year) -> decade", "od {}: decade ~ year", "od {decade}: name ~ year"], nulls="equal")
    assert rules.order_by("decade, name, year") == ["year", "name"]


def test_other_columns_only_when_asked_for():
    rules = RuleSet.of(["fd (day) -> year", "fd (day) -> month", "od {}: day ~ year", "od {year}: day ~ month"])
    assert rules.order_by("year, month") == ["year", "month"]
    assert rules.order_by("year, month", also=["day"]) == ["day"]
    assert rules.order_by("year desc, month desc", also=["day"]) == ["day desc"]


def test_what_people_type():
    rules = RuleSet()
    assert rules.order_by(["Year ASC", "`week no` Desc", SortColumn("a,b")]) == ["Year", "`week no` desc", "`a,b`"]
    assert rules.order_by(["desc desc"]) == ["`desc` desc"]
    for text in ("", "a,", "a b", "a desc nulls last", "desc a", "a]", "a -> b"):
        with pytest.raises(RowlawError, match="RULE_SYNTAX"):
            rules.order_by([text])
    with pytest.raises(RowlawError, match="goes in backticks"):
        rules.order_by("area code")
    with pytest.raises(RowlawError, match="RULE_SYNTAX"):
        rules.implies("od [a] -> []")


def test_discovered_rules_know_their_columns():
    from rowlaw.discovery.discover import Discovery

    found = Discovery(RuleSet.of("fd (week) -> month").rules, columns=("week", "month", "name"))
    assert found.order_by("week, month") == ["week"]
    with pytest.raises(RowlawError, match="UNKNOWN_COLUMN: no column 'moth'; did you mean 'month'"):
        found.order_by("week, moth")
    with pytest.raises(RowlawError, match="UNKNOWN_COLUMN: no column 'wek'; did you mean 'week'"):
        found.implies("od [wek] -> [month]")
    with pytest.raises(RowlawError, match="UNKNOWN_COLUMN"):
        found.order_by("week", also=["x"])


def test_a_rule_set_that_was_asked_is_still_a_value():
    rules = RuleSet.of("fd (a) -> b")
    fresh = RuleSet.of("fd (a) -> b")
    assert rules.implies("fd (a, c) -> b")
    assert rules == fresh
    assert pickle.loads(pickle.dumps(rules)).implies("fd (a, c) -> b")
    assert not rules.of_kind("key").implies("fd (a) -> b")


def test_many_rules():
    rules = RuleSet.of(
        [f"fd (a{i}, b{i % 7}) -> c" for i in range(3000)] + [f"od {{a{i}}}: x ~ y" for i in range(3000)], nulls="equal"
    )
    assert rules.implies("od [a17, x] -> [a17, y]") is False
    assert rules.implies("fd (a17, b3, x) -> c")
    assert rules.implies("od {a17, b3}: c ~ z")
    assert rules.order_by("x, a17, y, b3, c") == ["x", "a17", "y", "b3"]
