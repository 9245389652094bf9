"""SparkEngine, LocalEngine and the oracle give the same answers, whatever plan is taken.

Limits are set so low that tables of a few rows are cut by every plan: many tasks, groups that are too large for one,
few buckets. An example is a chain of Spark jobs, so there are few here. Most tables come in stacks, many to a job:
those of ``test_torture.py`` and the parts of a stack below; ``make torture`` compares thousands.
"""

import random
from contextlib import closing

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rowlaw.engine.answers import Sides
from rowlaw.engine.spark.limits import SparkLimits
from rowlaw.rules import parse
from tests import naive
from tests.spark.examples import few
from tests.strategies import nulls, rules, tables, to_arrow
from tests.torture import cases
from tests.torture.spark import TINY, Listing, engine_of, random_rules, stack, within

CUT = SparkLimits(task_bytes=1_000, buckets=3)  # a stack in some tasks; for TINY ones it takes minutes
FOLDED = SparkLimits(fold_share=10.0)  # every rule is counted from a fold
LIMITS = [TINY, SparkLimits(), FOLDED]
NEW = "which rows are new"


@few(10)
@given(data=st.data(), table=tables(min_columns=2, max_rows=8), nulls=nulls(), limits=st.sampled_from(LIMITS))
def test_counts(quick_spark, data, table, nulls, limits):
    chosen = data.draw(st.lists(rules(table), min_size=1, max_size=4))
    with closing(engine_of(quick_spark, to_arrow(table), nulls, limits)) as opened:
        assert opened.counts(chosen) == [len(naive.violations(rule, table.values, nulls)) for rule in chosen]


@few(5)
@given(data=st.data(), table=tables(min_columns=2, max_rows=6), nulls=nulls(), limits=st.sampled_from(LIMITS))
def test_rows_and_pairs(quick_spark, data, table, nulls, limits):
    rule = data.draw(rules(table))
    with closing(engine_of(quick_spark, to_arrow(table), nulls, limits)) as opened:
        assert Listing.of(opened, table.columns, nulls).problems([rule], [rule]) == []


SIDES = st.tuples(*[st.sampled_from(["all", "old", "new"])] * 2)


@few(4)
@given(
    data=st.data(),
    table=tables(min_columns=2, max_rows=6),
    nulls=nulls(),
    limits=st.sampled_from(LIMITS),
    sides=SIDES,
)
def test_part_against_part(quick_spark, data, table, nulls, limits, sides):
    rule = data.draw(rules(table))
    new = data.draw(st.lists(st.booleans(), min_size=table.rows, max_size=table.rows))
    whole = to_arrow(table).append_column(NEW, pa.array(new, pa.bool_()))
    with closing(engine_of(quick_spark, whole, nulls, limits, NEW)) as opened:
        assert Listing.of(opened, table.columns, nulls).problems([rule], [rule], Sides(*sides)) == []


@pytest.mark.parametrize(("seed", "limits", "sides"), [(4, CUT, ("new", "all")), (7, FOLDED, ("old", "new"))])
def test_parts_of_a_stack(quick_spark, seed, limits, sides):
    """Fifteen tables below each other, some rows of each of them new."""
    chance = random.Random(seed)
    first = cases.random_table(chance)
    held = [first, *(cases.random_table(chance, like=first) for _ in range(14))]
    denials = [denial for rule in random_rules(first, chance) for denial in rule.denials][:4]
    whole = stack(held)
    whole = whole.append_column(NEW, pa.array([chance.random() < 0.5 for _ in range(whole.num_rows)]))
    with closing(engine_of(quick_spark, whole, "unknown", limits, NEW)) as opened:
        listing = Listing.of(opened, first.columns, "unknown", stacked=True)
        assert listing.problems([within(denial) for denial in denials], denials, Sides(*sides)) == []


def test_a_column_that_must_be_equal_and_differ(quick_spark):
    opened = engine_of(quick_spark, pa.table({"a": [1, 1, 2]}), "unknown", SparkLimits())
    findings = opened.check([parse("not (s.a = t.a and s.a != t.a)")])
    assert findings.counts[0].pairs == 0
    assert findings.rows(["R"]).count() == 0
    assert findings.violations(0, "R").count() == 0
    opened.close()


def test_a_large_group_in_which_a_column_must_be_equal_and_differ(quick_spark):
    """Taken apart, such a rule asks twice that the column is equal."""
    opened = engine_of(quick_spark, pa.table({"a": [1] * 8 + [2], "b": range(9)}), "unknown", TINY)
    texts = ("not (s.a = t.a and s.a != t.a and s.b < t.b)", "not (s.a = t.a and s.b < t.b and s.b != t.b)")
    assert [count.pairs for count in opened.check([parse(text) for text in texts]).counts] == [0, 28]
    opened.close()


LARGE = 2**53  # of this and the next whole number, doubles have one


@pytest.mark.parametrize(
    "other",
    [
        pa.array([float(LARGE), 0.5, 3.0] * 4),
        pa.array([str(LARGE), "0.50000000000000000001", "3"] * 4).cast(pa.decimal128(38, 20)),
    ],
    ids=["float", "decimal"],
)
def test_numbers_of_two_types_in_large_groups(quick_spark, other):
    """Doubles that they meet by are equal; the numbers are not."""
    table = pa.table({"a": [LARGE + 1, LARGE, 3] * 4, "b": other, "c": [1, 1, 2, 2] * 3, "g": [1] * 12})
    values = {name: table.column(name).to_pylist() for name in table.column_names}
    rules = [parse(f"not (s.g = t.g and {text})") for text in ("s.a = t.b and s.c <= t.c", "s.b = t.a and s.c < t.c")]
    opened = engine_of(quick_spark, table, "unknown", TINY)
    expected = [list(naive.violations(rule, values, "unknown")) for rule in rules]
    findings = opened.check(rules)
    assert [count.pairs for count in findings.counts] == [len(pairs) for pairs in expected]
    assert [count.rows for count in findings.counts] == [len({r for pair in pairs for r in pair}) for pairs in expected]
    opened.close()
