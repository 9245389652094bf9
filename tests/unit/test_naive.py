"""Pins the oracle itself: examples worked by hand, the papers' examples, and agreement between independent
definitions."""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from decimal import Decimal
from itertools import chain, combinations, product

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rowlaw.rules.model import (
    Column,
    Constant,
    Denial,
    FunctionalDependency,
    Key,
    Nulls,
    Op,
    OrderCompatible,
    OrderDependency,
    Predicate,
    SortColumn,
)
from tests import naive, strategies

BOTH: tuple[Nulls, Nulls] = ("unknown", "equal")
OPS = {op.symbol: op for op in Op}

slow = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


def p(left: str, symbol: str, right: str) -> Predicate:
    """``p("s.a", "<", "t.b")``"""
    (r1, a), (r2, b) = left.split("."), right.split(".")
    return Predicate(Column(r1, a), OPS[symbol], Column(r2, b))  # type: ignore[arg-type]


def dc(*texts: str) -> Denial:
    return Denial(tuple(p(*text.split()) for text in texts))


def sort(*names: str) -> tuple[SortColumn, ...]:
    return tuple(SortColumn(n.removeprefix("-"), n.startswith("-")) for n in names)


def texts(rules: object) -> set[str]:
    return set(map(str, rules))  # type: ignore[call-overload]


# FACET, table 1
EMPLOYEE: naive.Table = {
    "ID": [100, 101, 102, 103],
    "Name": ["C. Gardner", "R. Geller", "D. Brown", "H. McCoy"],
    "Dept": ["Sales", "Research", "Research", "Research"],
    "StartDate": [2012, 2014, 2014, 2015],
    "Salary": [3000, 8000, 6000, 8000],
    "SID": [100, 102, 101, 101],
}

# HyOD, table I, times in minutes; and table II
FLIGHTS: naive.Table = {
    "M": [1, 1, 1, 1, 1, 2],
    "W": [2, 2, 3, 3, 4, 6],
    "DT": [454, 454, 454, 545, 382, 610],
    "AT": [622, 526, 526, 730, 437, 700],
    "ET": [168, 72, 72, 185, 55, 90],
    "MTOW": [233, 233, 233, 242, 89, 83],
    "CAP": [253, 253, 253, 293, 204, 185],
    "Type": ["A330", "A330", "A330", "A330", "B738", "A321"],
    "MC": ["FR", "FR", "FR", "FR", "USA", "FR"],
}
HYOD: naive.Table = {"A": [1, 1, 1, 2, 3, 4, 5, 6], "B": [4, 5, 6, 7, 7, 7, 6, 5], "C": [6, 6, 7, 6, 6, 7, 3, 7]}


def rows(table: naive.Table, *numbers: int) -> naive.Table:
    return {c: [v[i - 1] for i in numbers] for c, v in table.items()}


class TestComparisons:
    def test_all_operators_on_the_three_outcomes(self) -> None:
        truths = {op.symbol: [naive.compare(a, 2, op, "unknown") for a in (1, 2, 3)] for op in Op}
        assert truths == {
            "<": [True, False, False],
            "=": [False, True, False],
            "<=": [True, True, False],
            ">": [False, False, True],
            "!=": [True, False, True],
            ">=": [False, True, True],
        }

    @pytest.mark.parametrize("null", [None, math.nan, Decimal("NaN")])
    @pytest.mark.parametrize("op", list(Op))
    def test_unknown_is_never_true(self, null: object, op: Op) -> None:
        assert not naive.compare(null, 1, op, "unknown")
        assert not naive.compare(1, null, op, "unknown")
        assert not naive.compare(null, None, op, "unknown")

    @pytest.mark.parametrize("null", [None, math.nan, Decimal("NaN")])
    def test_equal_nulls_are_one_smallest_value(self, null: object) -> None:
        assert [op.symbol for op in Op if naive.compare(null, -math.inf, op, "equal")] == ["<", "<=", "!="]
        assert [op.symbol for op in Op if naive.compare("", null, op, "equal")] == [">", "!=", ">="]
        assert [op.symbol for op in Op if naive.compare(null, None, op, "equal")] == ["=", "<=", ">="]

    def test_numbers_compare_exactly(self) -> None:
        assert naive.compare(2**53 + 1, 2.0**53, Op.GT, "unknown")
        assert naive.compare(1, Decimal("1.00"), Op.EQ, "unknown")
        assert naive.compare(0.5, Decimal("0.5"), Op.EQ, "unknown")
        assert naive.compare(0.1, Decimal("0.1"), Op.GT, "unknown")  # the double nearest to 0.1 is a little more
        assert naive.compare(0.0, -0.0, Op.EQ, "unknown")

    def test_strings_compare_by_code_point(self) -> None:
        assert naive.compare("\uffff", "\U00010000", Op.LT, "unknown")  # the other way round in UTF-16
        assert naive.compare("Z", "a", Op.LT, "unknown")
        assert naive.compare("", "\x00", Op.LT, "unknown")

    def test_ranks(self) -> None:
        assert naive.ranks([3, None, 1, math.nan, 3, 2]) == [2, -1, 0, -1, 2, 1]
        assert naive.ranks([-0.0, 0.0, math.inf, -math.inf]) == [1, 1, 2, 0]
        assert naive.ranks(["\U00010000", "\uffff", ""]) == [2, 1, 0]
        assert naive.ranks([]) == []
        assert naive.ranks([dt.date.max, dt.date.min, None]) == [1, 0, -1]
        assert naive.shared_ranks([[1, 2.5], [Decimal("2.5"), None, 0]]) == [[1, 2], [2, -1, 0]]

    @given(st.data())
    def test_ranks_preserve_every_comparison(self, data: st.DataObject) -> None:
        table = data.draw(strategies.tables(types=("number",)))
        codes = dict(zip(table.columns, naive.shared_ranks(list(table.values.values())), strict=True))
        predicate = data.draw(strategies.predicates(table, literal=False))
        for s, t in naive.ordered_pairs(table.rows):
            # -1 is smaller than every code and equal to itself: what `equal` asks for
            assert naive.holds(predicate, table.values, s, t, "equal") == naive.holds(predicate, codes, s, t, "equal")


class TestViolations:
    def test_employee_rules(self) -> None:
        supervisors = dc("s.ID = t.SID", "s.SID = t.ID")
        seniority = dc("s.Dept = t.Dept", "s.StartDate < t.StartDate", "s.Salary < t.Salary")
        for nulls in BOTH:
            assert naive.violations(Key(("ID",)), EMPLOYEE, nulls) == []
            assert naive.violations(supervisors, EMPLOYEE, nulls) == [(1, 2), (2, 1)]
            assert naive.violations(seniority, EMPLOYEE, nulls) == [(2, 3)]
            assert naive.row_counts(supervisors, EMPLOYEE, nulls) == {1: 2, 2: 2}
            assert naive.row_counts(seniority, EMPLOYEE, nulls) == {2: 1, 3: 1}
        assert not naive.exists(Key(("ID",)), EMPLOYEE, "unknown")
        assert naive.exists(seniority, EMPLOYEE, "unknown")

    def test_employee_refinements(self) -> None:
        """The intermediate results of FACET sections 3 and 5: a row is its own partner in none."""
        assert naive.violations(dc("s.Dept = t.Dept", "s.Salary < t.Salary"), EMPLOYEE, "unknown") == [(2, 1), (2, 3)]
        assert naive.violations(dc("s.SID = t.ID"), EMPLOYEE, "unknown") == [(1, 2), (2, 1), (3, 1)]

    def test_duplicates_count_in_ordered_pairs(self) -> None:
        table: naive.Table = {"a": ["x"] * 5}
        assert naive.count(Key(("a",)), table, "unknown") == 20
        assert naive.row_counts(Key(("a",)), table, "unknown") == dict.fromkeys(range(5), 8)

    def test_rules_about_one_row(self) -> None:
        table: naive.Table = {"a": [1, 2, None, 3], "b": [2, 1, 0, 3]}
        assert naive.violations(dc("s.a > s.b"), table, "unknown") == [(1,)]
        assert naive.violations(dc("t.a > t.b"), table, "unknown") == [(1,)]
        assert naive.violations(dc("s.a < s.b"), table, "equal") == [(0,), (2,)]
        assert naive.row_counts(dc("s.a < s.b"), table, "equal") == {0: 1, 2: 1}
        large = Denial((Predicate(Column("s", "a"), Op.GE, Constant(2)),))
        assert naive.violations(large, table, "unknown") == [(1,), (3,)]
        # the same predicates about two rows are a rule about pairs
        both = Denial((*large.predicates, Predicate(Column("t", "b"), Op.EQ, Constant(0))))
        assert naive.violations(both, table, "unknown") == [(1, 2), (3, 2)]

    def test_nulls(self) -> None:
        table: naive.Table = {"a": [None, None, 1, math.nan], "b": [1, 2, None, 1]}
        key, fd = Key(("a",)), FunctionalDependency(("a",), "b")
        assert naive.violations(key, table, "unknown") == []
        assert naive.violations(key, table, "equal") == [(0, 1), (0, 3), (1, 0), (1, 3), (3, 0), (3, 1)]
        assert naive.violations(fd, table, "unknown") == []
        assert naive.violations(fd, table, "equal") == [(0, 1), (1, 0), (1, 3), (3, 1)]
        compatible = OrderCompatible((), "a", "b")
        assert naive.violations(compatible, table, "unknown") == []
        # null before 1, but 1 and 2 after null
        assert naive.violations(compatible, table, "equal") == [(0, 2), (1, 2), (3, 2)]

    def test_no_rows_and_one_row(self) -> None:
        for values in ([], [1]):
            assert naive.violations(dc("s.a = t.a"), {"a": values}, "equal") == []
            assert naive.evidence({"a": values}, [p("s.a", "=", "t.a")], "equal") == {}


class TestEvidence:
    def test_by_hand(self) -> None:
        space = [p("s.a", op, "t.a") for op in OPS]
        less, equal, more = (
            {p("s.a", op, "t.a") for op in ops} for ops in (("<", "<=", "!="), ("=", "<=", ">="), (">", ">=", "!="))
        )
        table: naive.Table = {"a": [1, 1, 2, None]}
        assert naive.evidence(table, space, "unknown") == Counter(
            {frozenset(less): 2, frozenset(equal): 2, frozenset(more): 2, frozenset(): 6}
        )
        assert naive.evidence(table, space, "equal") == Counter(
            {frozenset(less): 5, frozenset(equal): 2, frozenset(more): 5}
        )

    def test_duplicate_rows_give_the_all_equal_evidence(self) -> None:
        """Folding equal rows without it would find rules that two equal rows break."""
        once: naive.Table = {"a": [1, 2], "b": ["x", "y"]}
        twice: naive.Table = {"a": [1, 2, 2], "b": ["x", "y", "y"]}
        types: dict[str, naive.TypeClass] = {"a": "number", "b": "text"}
        space = naive.predicate_space(once, types)
        all_equal = frozenset(q for q in space if q.op & Op.EQ)
        assert all_equal not in naive.evidence(once, space, "unknown")
        assert naive.evidence(twice, space, "unknown")[all_equal] == 2
        assert naive.minimal_keys(twice, "unknown") == set()

    @given(st.data())
    def test_evidence_counts_violations(self, data: st.DataObject) -> None:
        table, nulls = data.draw(strategies.tables(max_rows=6)), data.draw(strategies.nulls())
        rule = data.draw(strategies.denials(table, single_row=False, literal=False))
        found = naive.evidence(table.values, rule.predicates, nulls)
        assert found.total() == table.rows * (table.rows - 1)
        assert found[frozenset(rule.predicates)] == naive.count(rule, table.values, nulls)


class TestLexicographic:
    def test_hyod_example_1(self) -> None:
        for nulls in BOTH:
            assert naive.lex_holds(sort("MTOW"), sort("CAP"), FLIGHTS, nulls)
            assert naive.lex_holds(sort("Type"), sort("Type", "MC"), FLIGHTS, nulls)
            assert naive.lex_holds(sort("M", "W"), sort("W", "M"), FLIGHTS, nulls)
            assert naive.lex_holds(sort("W", "M"), sort("M", "W"), FLIGHTS, nulls)
            assert not naive.lex_holds(sort("M"), sort("W"), FLIGHTS, nulls)
            assert naive.lex_holds(sort("DT", "ET"), sort("DT", "AT"), FLIGHTS, nulls)
            assert not naive.lex_holds(sort("ET"), sort("AT"), FLIGHTS, nulls)
            assert not naive.lex_holds(sort("DT", "ET"), sort("AT"), FLIGHTS, nulls)

    def test_hyod_example_2(self) -> None:
        found = naive.lex_violations(sort("W"), sort("DT"), FLIGHTS, "unknown")
        assert (3, 2) in found  # a split: t4 and t3 tie by W
        assert (2, 3) not in found  # the same two rows the other way round are in order
        assert (3, 4) in found  # a swap

    def test_hyod_example_3(self) -> None:
        """The set-based dependencies that example 1 maps to."""
        assert not naive.exists(FunctionalDependency(("MTOW",), "CAP"), FLIGHTS, "unknown")
        assert not naive.exists(OrderCompatible((), "MTOW", "CAP"), FLIGHTS, "unknown")
        assert not naive.exists(FunctionalDependency(("Type",), "MC"), FLIGHTS, "unknown")
        assert not naive.exists(OrderCompatible((), "M", "W"), FLIGHTS, "unknown")
        assert not naive.exists(FunctionalDependency(("DT", "ET"), "AT"), FLIGHTS, "unknown")
        assert not naive.exists(OrderCompatible(("DT",), "ET", "AT"), FLIGHTS, "unknown")

    def test_directions_and_empty_left_side(self) -> None:
        table: naive.Table = {"a": [1, 2, 3], "b": [3, 2, 2]}
        assert naive.lex_holds(sort("a"), sort("-b"), table, "unknown")
        assert naive.lex_violations(sort("-a"), sort("-b"), table, "unknown") == [(1, 0), (2, 0)]
        assert naive.lex_violations((), sort("b"), table, "unknown") == [(0, 1), (0, 2)]

    def test_an_unknown_column_leaves_the_order_unknown(self) -> None:
        table: naive.Table = {"a": [None, 1], "b": [1, 2], "c": [5, 4]}
        assert naive.lex_holds(sort("a", "b"), sort("c"), table, "unknown")
        assert naive.lex_violations(sort("b", "a"), sort("c"), table, "unknown") == [(0, 1)]
        assert naive.lex_violations(sort("a", "b"), sort("c"), table, "equal") == [(0, 1)]

    @given(st.data())
    def test_agrees_with_its_denials(self, data: st.DataObject) -> None:
        table, nulls = data.draw(strategies.tables(max_columns=3)), data.draw(strategies.nulls())
        rule: OrderDependency = data.draw(strategies.order_dependencies(table))
        assert naive.violations(rule, table.values, nulls) == naive.lex_violations(
            rule.left, rule.right, table.values, nulls
        )


class TestPredicateSpace:
    def test_operators_by_type(self) -> None:
        table: naive.Table = {"n": [1], "x": ["a"], "f": [True], "d": [dt.date.min], "m": [dt.datetime.min]}
        types: dict[str, naive.TypeClass] = {"n": "number", "x": "text", "f": "boolean", "d": "date", "m": "timestamp"}
        sizes = Counter(q.left.name for q in naive.predicate_space(table, types))
        assert sizes == {"n": 6, "x": 2, "f": 2, "d": 6, "m": 6}
        assert Counter(q.left.name for q in naive.predicate_space(table, types, order_strings=True))["x"] == 6

    def test_cross_columns_share_values_of_the_larger(self) -> None:
        table: naive.Table = {"a": [1, 2, 3, None], "b": [3, 3, 3, math.nan], "c": [3, 4, 5, 6]}
        types: dict[str, naive.TypeClass] = dict.fromkeys("abc", "number")
        assert naive.shared_values(table["a"], table["b"]) == pytest.approx(1 / 3)
        assert naive.shared_values(table["b"], table["c"]) == 0.25
        assert naive.shared_values(table["a"], [None]) == 0
        space = naive.predicate_space(table, types)
        assert {q.columns for q in space} == {("a", "a"), ("b", "b"), ("c", "c"), ("a", "b"), ("b", "a")}
        assert len(space) == 3 * 6 + 2 * 6
        assert {q.exchanged for q in space} == set(space)
        assert {q.columns for q in naive.predicate_space(table, types, cross=False)} == {
            ("a", "a"),
            ("b", "b"),
            ("c", "c"),
        }
        assert len(naive.predicate_space(table, types, overlap=0.34)) == 18

    def test_order_across_columns_needs_near_means(self) -> None:
        assert naive.near_means([1, 1], [10, 10])
        assert not naive.near_means([1, 1], [10, 11])
        assert not naive.near_means([1], [-1])
        assert naive.near_means([-1], [-2])
        assert naive.near_means([0, None], [-1, 1])
        assert not naive.near_means([0], [1])
        assert naive.near_means([math.inf, 1, math.nan], [2.0])
        assert not naive.near_means([math.inf], [math.inf])
        assert naive.near_means([1e308] * 4, [Decimal("1e308")])
        table: naive.Table = {"a": [1, 1, 1], "b": [1, 1, 1000]}
        space = naive.predicate_space(table, {"a": "number", "b": "number"})
        assert {q.op for q in space if q.columns == ("a", "b")} == {Op.EQ, Op.NE}
        dates: naive.Table = {"a": [dt.date.min], "b": [dt.date.min, dt.date.max]}
        assert {
            q.op for q in naive.predicate_space(dates, {"a": "date", "b": "date"}) if q.columns == ("a", "b")
        } == set(Op)

    def test_single_row_and_constants(self) -> None:
        table: naive.Table = {"a": [1], "b": [1]}
        space = naive.predicate_space(
            table, {"a": "number", "b": "number"}, cross=False, single_row=True, constants={"a": [0]}
        )
        assert len(space) == 12 + 12 + 12
        assert {q.exchanged for q in space} == set(space)
        assert p("s.a", "<", "s.b") in space
        assert Predicate(Column("t", "a"), Op.GE, Constant(0)) in space


class TestTriviality:
    @pytest.mark.parametrize(
        "rule",
        [
            dc("s.a < t.a", "s.a > t.a"),
            dc("s.a = t.a", "s.a != t.a"),
            dc("s.a = t.b", "s.b = t.b", "s.a != s.b"),
            dc("s.a < t.b", "s.b < t.a", "s.a >= t.a", "s.b >= t.b"),
            dc("s.a < s.a"),
            Denial((Predicate(Column("s", "a"), Op.LT, Constant(1)), Predicate(Column("s", "a"), Op.GT, Constant(2)))),
            Denial(
                (Predicate(Column("s", "a"), Op.EQ, Constant("x")), Predicate(Column("s", "a"), Op.EQ, Constant("y")))
            ),
        ],
        ids=str,
    )
    def test_trivial(self, rule: Denial) -> None:
        assert naive.is_trivial(rule)

    @pytest.mark.parametrize(
        "rule",
        [
            dc("s.a < t.a", "s.b > t.b"),
            dc("s.a = t.b", "s.b = t.b", "s.a = s.b"),
            dc("s.a < t.b", "s.b < t.a", "s.a >= t.a", "s.b <= t.b"),
            Denial(
                (
                    Predicate(Column("s", "a"), Op.GT, Constant(1)),
                    Predicate(Column("s", "a"), Op.LT, Constant(2)),
                    p("s.a", "<", "t.a"),
                )
            ),
            Denial(
                (
                    Predicate(Column("s", "a"), Op.LT, Constant(dt.date.max)),
                    Predicate(Column("s", "b"), Op.LT, Constant(2)),
                )
            ),
        ],
        ids=str,
    )
    def test_not_trivial(self, rule: Denial) -> None:
        assert not naive.is_trivial(rule)

    @given(st.data())
    def test_agrees_with_trying_all_values(self, data: st.DataObject) -> None:
        table = strategies.Table({"a": [], "b": []}, {"a": "number", "b": "number"}, {"a": "integer", "b": "integer"})
        rule = data.draw(strategies.denials(table, literal=False))
        tables = ({"a": [sa, ta], "b": [sb, tb]} for sa, ta, sb, tb in product(range(4), repeat=4))
        satisfied = any(all(naive.holds(q, t, 0, 1, "unknown") for q in rule.predicates) for t in tables)
        assert naive.is_trivial(rule) != satisfied


def rules_by_definition(table: naive.Table, space: list[Predicate], nulls: Nulls, error: float) -> set[Denial]:
    """Minimal rules without any cleverness: every set of predicates, tested by its violations, kept when it follows
    from no other.

    A set with two operators for the same operands is written with one, or is trivial.
    """
    n = naive.row_count(table)
    closed = {*space, *(q.exchanged for q in space)}
    sets = chain.from_iterable(combinations(closed, size) for size in range(1, len(closed) + 1))

    def valid(rule: Denial) -> bool:
        total = n if rule.arity == 1 else n * (n - 1)
        return total == 0 or naive.count(rule, table, nulls) / total <= error

    good = [
        rule
        for rule in {naive.canonical(Denial(chosen)) for chosen in sets}
        if not naive.is_trivial(rule) and valid(rule)
    ]
    good.sort(key=lambda rule: len(rule.predicates))
    found = {rule for rule in good if not any(naive.follows(rule, other) for other in good if other != rule)}
    return {rule for rule in found if naive.breakable(rule, table, nulls)}


class TestMinimalDenials:
    def test_follows(self) -> None:
        rule = dc("s.a < t.a", "s.b = t.b")
        assert naive.follows(rule, rule)
        assert all(
            naive.follows(rule, dc(weak))
            for weak in ("s.a < t.a", "s.a <= t.a", "s.a != t.a", "s.a > t.a", "s.b = t.b", "s.b <= t.b")
        )
        assert not any(
            naive.follows(rule, dc(other))
            for other in ("s.a = t.a", "s.b != t.b", "s.b < t.b", "s.c = t.c", "s.a < t.b")
        )
        assert not naive.follows(dc("s.a < t.a"), rule)
        assert naive.follows(dc("s.a = t.a", "t.a < t.b"), dc("s.a < s.b"))  # a rule about one row, at row t

    def test_a_weak_operator_makes_stronger_ones_redundant(self) -> None:
        """b falls strictly while a grows, so `s.a < t.a and s.b <= t.b` never holds; `<` and `=` in its place
        follow."""
        table: naive.Table = {"a": [1, 2, 3], "b": [9, 8, 7]}
        space = naive.predicate_space(table, {"a": "number", "b": "number"}, cross=False)
        assert texts(naive.minimal_denials(table, space, "unknown")) == {
            "not (s.a = t.a)",
            "not (s.b = t.b)",
            "not (s.a <= t.a and s.b <= t.b)",
        }

    def test_with_ties(self) -> None:
        """One tie in a: not even `=` holds of a alone, and weak operators are broken by the tie."""
        table: naive.Table = {"a": [1, 1, 2], "b": [5, 4, 6]}
        space = naive.predicate_space(table, {"a": "number", "b": "number"}, cross=False)
        assert texts(naive.minimal_denials(table, space, "unknown")) == {
            "not (s.b = t.b)",
            "not (s.a < t.a and s.b >= t.b)",
        }

    def test_constant_column(self) -> None:
        space = naive.predicate_space({"a": [1, 1]}, {"a": "number"})
        assert texts(naive.minimal_denials({"a": [1, 1]}, space, "unknown")) == {"not (s.a != t.a)"}

    def test_unknown_column_makes_every_weakest_predicate_a_rule_and_none_is_reported(self) -> None:
        table: naive.Table = {"a": [None, None, math.nan]}
        space = naive.predicate_space(table, {"a": "number"})
        assert texts(naive.minimal_denials(table, space, "unknown", vacuous=True)) == {
            "not (s.a <= t.a)",
            "not (s.a != t.a)",
        }
        assert naive.minimal_denials(table, space, "unknown") == set()
        assert texts(naive.minimal_denials(table, space, "equal")) == {"not (s.a != t.a)"}

    @pytest.mark.parametrize("n", [0, 1])
    def test_fewer_than_two_rows_give_the_weakest_predicates_and_none_is_reported(self, n: int) -> None:
        table: naive.Table = {"a": [1] * n, "b": ["x"] * n}
        space = naive.predicate_space(table, {"a": "number", "b": "text"})
        weakest = {"not (s.a <= t.a)", "not (s.a != t.a)", "not (s.b = t.b)", "not (s.b != t.b)"}
        assert texts(naive.minimal_denials(table, space, "unknown", vacuous=True)) == weakest
        assert naive.minimal_denials(table, space, "unknown") == set()

    def test_one_row_can_break_a_rule_about_one_row(self) -> None:
        table: naive.Table = {"a": [1], "b": [2]}
        space = [p("s.a", op, "s.b") for op in OPS]
        found = naive.minimal_denials(table, space, "unknown")
        assert "not (s.a >= s.b)" in texts(found)
        assert "not (s.a < s.b)" not in texts(found)
        weakest = {dc("s.a <= s.b"), dc("s.a >= s.b"), dc("s.a != s.b")}
        assert naive.minimal_denials({"a": [], "b": []}, space, "unknown", vacuous=True) == weakest
        assert naive.minimal_denials({"a": [], "b": []}, space, "unknown") == set()

    @settings(slow, max_examples=100)
    @given(st.data())
    def test_no_vacuous_rule_implies_one_that_is_not(self, data: st.DataObject) -> None:
        """So leaving vacuous rules out of the result leaves it complete and minimal."""
        table, nulls = data.draw(strategies.tables(max_rows=6)), data.draw(strategies.nulls())
        weak, strong = data.draw(strategies.denials(table)), data.draw(strategies.denials(table))
        longer = Denial((*weak.predicates, *strong.predicates))
        for rule in (weak, longer):
            if naive.follows(rule, strong) and naive.breakable(rule, table.values, nulls):
                assert naive.breakable(strong, table.values, nulls)

    def test_error_is_a_share_of_ordered_pairs(self) -> None:
        table: naive.Table = {"a": [1, 1, 2, 3, 4]}  # 2 of 20 pairs agree
        space = [p("s.a", "=", "t.a")]
        assert naive.minimal_denials(table, space, "unknown", error=0.099) == set()
        assert naive.minimal_denials(table, space, "unknown", error=0.1) == {dc("s.a = t.a")}

    def test_error_limit_is_met_by_the_same_decimal(self) -> None:
        """3 of 10 is within 0.3, although the double 0.3 is below three tenths."""
        table: naive.Table = {"a": [1, 1, 1, 2, 3]}  # 6 of 20 pairs
        assert naive.minimal_denials(table, [p("s.a", "=", "t.a")], "unknown", error=0.3) == {dc("s.a = t.a")}

    def test_the_space_is_closed_under_conjunction(self) -> None:
        table: naive.Table = {"a": [1, 2, 3]}
        assert naive.minimal_denials(table, [p("s.a", "<=", "t.a"), p("s.a", ">=", "t.a")], "unknown") == {
            dc("s.a = t.a")
        }

    def test_employee_across_columns(self) -> None:
        table = {c: EMPLOYEE[c] for c in ("ID", "SID")}
        space = naive.predicate_space(table, {"ID": "number", "SID": "number"})
        found = naive.minimal_denials(table, space, "unknown")
        assert Key(("ID",)).denials[0] in found
        assert not any(naive.follows(dc("s.ID = t.SID", "s.SID = t.ID"), rule) for rule in found)  # it is violated

    @settings(slow, max_examples=150)
    @given(st.data())
    def test_agrees_with_the_definition(self, data: st.DataObject) -> None:
        """On parts of the largest space: same column, across columns, on one row, with a constant."""
        table = data.draw(strategies.tables(max_rows=5, max_columns=3))
        nulls, error = data.draw(strategies.nulls()), data.draw(st.sampled_from([0.0, 0.1, 0.34]))
        constants = {c: [data.draw(strategies.literals(table, c))] for c in table.columns[:1]}
        whole = naive.predicate_space(table.values, table.types, overlap=0.0, single_row=True, constants=constants)
        space = data.draw(st.lists(st.sampled_from(whole), min_size=1, max_size=4, unique=True))
        assert naive.minimal_denials(table.values, space, nulls, error) == rules_by_definition(
            table.values, space, nulls, error
        )

    @settings(slow, max_examples=50)
    @given(st.data())
    def test_cut_at_a_size_is_the_small_part(self, data: st.DataObject) -> None:
        table, nulls = data.draw(strategies.tables(max_rows=5, max_columns=3)), data.draw(strategies.nulls())
        space = naive.predicate_space(table.values, table.types, cross=False)
        everything = naive.minimal_denials(table.values, space, nulls)
        assert naive.minimal_denials(table.values, space, nulls, max_predicates=2) == {
            d for d in everything if len(d.predicates) <= 2
        }


class TestKeysAndDependencies:
    def test_keys(self) -> None:
        assert texts(naive.minimal_keys(EMPLOYEE, "unknown")) == {
            "key (ID)",
            "key (Name)",
            "key (Salary, StartDate)",
            "key (SID, Salary)",
        } | {"key (SID, StartDate)"}
        assert naive.minimal_keys({"a": [], "b": []}, "unknown", vacuous=True) == {Key(("a",)), Key(("b",))}
        assert naive.minimal_keys({"a": [], "b": []}, "unknown") == set()
        assert naive.minimal_keys({"a": [1, 1]}, "unknown") == set()
        assert naive.minimal_keys({"a": [None, None, 1]}, "unknown", vacuous=True) == {Key(("a",))}
        assert naive.minimal_keys({"a": [None, None, 1]}, "unknown") == set()
        assert naive.minimal_keys({"a": [None, 2, 1]}, "unknown") == {Key(("a",))}
        assert naive.minimal_keys({"a": [None, None, 1]}, "equal") == set()

    def test_key_error_is_the_share_of_duplicate_rows(self) -> None:
        table: naive.Table = {"a": [1, 1, 1, None, None]}
        assert naive.key_error(("a",), table, "equal") == 3 / 5
        assert naive.key_error(("a",), table, "unknown") == 2 / 5
        assert naive.minimal_keys(table, "unknown", 0.4) == {Key(("a",))}
        assert naive.minimal_keys(table, "unknown", 0.39) == set()

    def test_functional_dependency_error_is_g3(self) -> None:
        table: naive.Table = {"a": [1, 1, 1, 1, 2, None, None], "b": ["x", "x", "y", None, "z", "p", "q"]}
        assert naive.fd_error(("a",), "b", table, "unknown") == 1 / 7  # y goes; the null conflicts with nothing
        assert naive.fd_error(("a",), "b", table, "equal") == 3 / 7  # y and the null go, and one of p and q
        assert naive.fd_error((), "b", table, "unknown") == 4 / 7  # x twice and the null stay

    def test_constant_and_empty_tables(self) -> None:
        assert naive.minimal_fds({"a": [7, 7, None]}, "unknown") == {FunctionalDependency((), "a")}
        assert naive.minimal_fds({"a": [7, 7, None]}, "equal") == set()
        constants = {FunctionalDependency((), "a"), FunctionalDependency((), "b")}
        assert naive.minimal_fds({"a": [], "b": []}, "equal", vacuous=True) == constants
        assert naive.minimal_fds({"a": [], "b": []}, "equal") == set()
        assert naive.minimal_ods({"a": [1], "b": [1]}, "equal") == set()  # the empty context determines both

    def test_hyod_table_2(self) -> None:
        """Examples 4 and 6: {A, B} determines C and orders B with C in each A; nothing is constant or determined by one
        column."""
        fds, ods = naive.minimal_fds(HYOD, "unknown"), naive.minimal_ods(HYOD, "unknown")
        assert FunctionalDependency(("A", "B"), "C") in fds
        assert not [fd for fd in fds if len(fd.left) < 2]
        assert OrderCompatible(("A",), "B", "C") in ods
        assert naive.exists(OrderCompatible((), "B", "C"), HYOD, "unknown")

    def test_hyod_samples(self) -> None:
        """Example 4: on r1 A determines C, so {A}: B ~ C is not minimal there. Example 6: on r2 C is constant."""
        r1, r2 = rows(HYOD, 5, 6, 8), rows(HYOD, 1, 2, 4, 5)
        assert FunctionalDependency(("A",), "C") in naive.minimal_fds(r1, "unknown")
        assert OrderCompatible(("A",), "B", "C") not in naive.minimal_ods(r1, "unknown")
        assert naive.exists(OrderCompatible((), "B", "C"), r1, "unknown")
        assert {fd for fd in naive.minimal_fds(r2, "unknown") if not fd.left} == {FunctionalDependency((), "C")}
        assert not [fd for fd in naive.minimal_fds(r2, "unknown") if len(fd.left) == 1]

    def test_hyod_example_7(self) -> None:
        """On r3 only A ~ C is ordered the same way; on r4 and on r it no longer is, and they have the same level 1."""

        def level_1(table: naive.Table) -> set[OrderCompatible]:
            return {od for od in naive.minimal_ods(table, "unknown") if not od.context}

        r3, r4 = rows(HYOD, 7, 8), rows(HYOD, 1, 7, 8)
        assert {od for od in level_1(r3) if not od.descending} == {OrderCompatible((), "A", "C")}
        assert level_1(r4) == level_1(HYOD) == set()
        assert (0, 6) in naive.violations(OrderCompatible((), "A", "C"), HYOD, "unknown")
        assert (2, 4) in naive.violations(OrderCompatible((), "A", "C"), HYOD, "unknown")

    def test_hyod_example_9(self) -> None:
        assert {(3, 4), (3, 5)} <= set(naive.violations(FunctionalDependency(("B",), "A"), HYOD, "unknown"))
        assert (2, 6) in naive.violations(OrderCompatible(("B",), "A", "C"), HYOD, "unknown")

    def test_opposite_directions(self) -> None:
        table: naive.Table = {"a": [1, 2, 3], "b": [9, 8, 7], "c": [1, 1, 2]}
        assert texts(naive.minimal_ods(table, "unknown")) == {"od {}: a ~ b desc", "od {}: a ~ c", "od {}: b ~ c desc"}
        assert texts(naive.minimal_ods(table, "unknown", ordered=["a", "c"])) == {"od {}: a ~ c"}

    def test_a_context_that_determines_a_side_is_left_out(self) -> None:
        table: naive.Table = {"x": [1, 1, 2, 2], "a": [1, 1, 2, 2], "b": [1, 2, 1, 2]}
        assert naive.fd_error(("x",), "a", table, "unknown") == 0
        assert not [od for od in naive.minimal_ods(table, "unknown") if od.context]

    @slow
    @given(st.data())
    def test_errors_are_the_least_share_of_rows_to_remove(self, data: st.DataObject) -> None:
        table, nulls = (
            data.draw(strategies.tables(min_rows=1, max_rows=7, min_columns=2)),
            data.draw(strategies.nulls()),
        )
        key = data.draw(strategies.keys(table))
        fd = data.draw(strategies.functional_dependencies(table))
        od = data.draw(strategies.order_compatibles(table))
        values, n = table.values, table.rows
        assert naive.key_error(key.columns, values, nulls) == naive.rows_to_remove(key, values, nulls) / n
        assert naive.fd_error(fd.left, fd.right, values, nulls) == naive.rows_to_remove(fd, values, nulls) / n
        assert (
            naive.od_error(od.context, od.left, od.right, od.descending, values, nulls)
            == naive.rows_to_remove(od, values, nulls) / n
        )

    @slow
    @given(st.data())
    def test_errors_are_zero_exactly_when_the_rule_holds(self, data: st.DataObject) -> None:
        table, nulls = data.draw(strategies.tables(min_columns=2)), data.draw(strategies.nulls())
        od = data.draw(strategies.order_compatibles(table))
        error = naive.od_error(od.context, od.left, od.right, od.descending, table.values, nulls)
        assert (error > 0) == naive.exists(od, table.values, nulls)

    @slow
    @given(st.data())
    def test_keys_are_the_minimal_denials_of_equalities(self, data: st.DataObject) -> None:
        table, nulls = data.draw(strategies.tables()), data.draw(strategies.nulls())
        space = [Predicate(Column("s", c), Op.EQ, Column("t", c)) for c in table.columns]
        keys = naive.minimal_keys(table.values, nulls)
        assert {key.denials[0] for key in keys} == naive.minimal_denials(table.values, space, nulls)

    @slow
    @given(st.data())
    def test_dependencies_are_the_minimal_denials_of_equalities_and_one_difference(self, data: st.DataObject) -> None:
        """As denials, a dependency whose left side is a key follows from the key."""
        table, nulls = data.draw(strategies.tables(min_rows=2)), data.draw(strategies.nulls())
        right = data.draw(st.sampled_from(table.columns))
        others = {c: v for c, v in table.values.items() if c != right}
        space = [Predicate(Column("s", c), Op.EQ, Column("t", c)) for c in others]
        space.append(Predicate(Column("s", right), Op.NE, Column("t", right)))
        keys = naive.minimal_keys(others, nulls)
        fds = {fd for fd in naive.minimal_fds(table.values, nulls) if fd.right == right}
        expected = {fd.denials[0] for fd in fds if not any(set(key.columns) <= set(fd.left) for key in keys)}
        expected |= {key.denials[0] for key in keys}
        assert naive.minimal_denials(table.values, space, nulls) == expected

    @slow
    @given(st.data())
    def test_order_compatibilities_by_their_definition(self, data: st.DataObject) -> None:
        table, nulls = data.draw(strategies.tables(max_rows=6, max_columns=4)), data.draw(strategies.nulls())
        values = table.values
        found = naive.minimal_ods(values, nulls)
        for od in found:
            assert not naive.exists(od, values, nulls)
            for c in od.context:
                smaller = OrderCompatible(tuple(x for x in od.context if x != c), od.left, od.right, od.descending)
                assert naive.exists(smaller, values, nulls)
            for side in (od.left, od.right):
                assert naive.exists(FunctionalDependency(od.context, side), values, nulls)
        if len(table.columns) > 1:
            rule = data.draw(strategies.order_compatibles(table))
            if not naive.exists(rule, values, nulls):
                same = [
                    od for od in found if (od.left, od.right, od.descending) == (rule.left, rule.right, rule.descending)
                ]
                determined = any(
                    not naive.exists(FunctionalDependency(rule.context, side), values, nulls)
                    for side in (rule.left, rule.right)
                )
                assert determined or any(set(od.context) <= set(rule.context) for od in same)


class TestStrategies:
    @given(strategies.tables())
    def test_tables_survive_arrow(self, table: strategies.Table) -> None:
        arrow = strategies.to_arrow(table)
        assert arrow.num_rows == table.rows
        assert arrow.column_names == table.columns
        assert len({c.casefold() for c in table.columns}) == len(table.columns)
        for name, values in table.values.items():
            back = arrow[name].to_pylist()
            assert [naive.is_null(v) for v in back] == [naive.is_null(v) for v in values]
            assert all(naive.is_null(v) or v == w for v, w in zip(values, back, strict=True))

    @given(st.data())
    def test_rules_can_be_counted_on_their_table(self, data: st.DataObject) -> None:
        table, nulls = data.draw(strategies.tables(max_rows=4)), data.draw(strategies.nulls())
        rule = data.draw(strategies.rules(table))
        found = naive.violations(rule, table.values, nulls)
        assert naive.count(rule, table.values, nulls) == len(found)
        assert sum(naive.row_counts(rule, table.values, nulls).values()) == sum(map(len, found))

    @given(strategies.tables(types=("boolean", "number"), null_values=False, min_rows=1, min_columns=2))
    def test_options(self, table: strategies.Table) -> None:
        assert set(table.types.values()) <= {"boolean", "number"}
        assert len(table.columns) >= 2
        assert table.rows >= 1
        assert not any(naive.is_null(v) for values in table.values.values() for v in values)
