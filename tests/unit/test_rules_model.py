"""The rule model: what is equal, what is refused."""

import datetime as dt
import pickle
from decimal import Decimal

import pytest

from rowlaw.rules import Column, Constant, Denial, Op, OrderDependency, Predicate, SortColumn


def test_literals_of_different_classes_are_different():
    assert Constant(1) != Constant(True)
    assert Constant(0) != Constant(False)
    assert Constant(1) == Constant(Decimal("1.00"))
    assert hash(Constant(1)) == hash(Constant(Decimal("1.00")))
    assert Constant(dt.date(2020, 1, 1)) != Constant(dt.datetime(2020, 1, 1))
    assert Constant(1) != 1


def test_a_rule_keeps_predicates_on_literals_of_different_classes():
    a = Column("s", "a")
    assert len(Denial((Predicate(a, Op.EQ, Constant(1)), Predicate(a, Op.EQ, Constant(True)))).predicates) == 2
    assert (
        str(Denial((Predicate(a, Op.LE, Constant(1)), Predicate(a, Op.GE, Constant(Decimal("1.0"))))))
        == "not (s.a = 1)"
    )


def test_predicates_sort_by_the_value_of_their_literals():
    a = Column("s", "a")
    values = [Constant(10), Constant(Decimal("9.5")), Constant(Decimal(-3))]
    assert str(Denial(tuple(Predicate(a, Op.NE, v) for v in values))) == "not (s.a != -3 and s.a != 9.5 and s.a != 10)"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), Decimal("1e1000"), Decimal("-Infinity"), 10**1000])
def test_numbers_that_no_rule_text_can_spell_are_refused(value):
    with pytest.raises(ValueError, match="finite number of at most 1000 digits"):
        Constant(value)


def test_a_timestamp_with_an_offset_is_refused():
    with pytest.raises(ValueError, match="offset"):
        Constant(dt.datetime(2020, 1, 1, tzinfo=dt.UTC))


def test_floats_become_the_decimal_they_print_as():
    import numpy as np

    assert Constant(0.1).value == Decimal("0.1")
    assert Constant(np.float64(0.1)) == Constant(Decimal("0.1"))


@pytest.mark.parametrize("value", [True, 5, Decimal("1.5"), "x", dt.date(2020, 1, 2), dt.datetime(2020, 1, 2, 3)])
def test_rules_travel_to_workers(value):
    rule = Denial((Predicate(Column("s", "a"), Op.LT, Constant(value)),))
    assert pickle.loads(pickle.dumps(rule)) == rule


def test_a_lexicographic_order_that_holds_everywhere_has_no_denials():
    assert OrderDependency((SortColumn("a"),), (SortColumn("a"),)).denials == ()
