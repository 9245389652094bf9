"""Implication against enumeration: every claim is checked on all small assignments or on random tables."""

import itertools
import operator
import random

from hypothesis import given, settings
from hypothesis import strategies as st

from rowlaw.rules import Column, Constant, Denial, Op, Predicate, canonical, implies, is_trivial, minimal

COMPARE = {
    Op.EQ: operator.eq,
    Op.NE: operator.ne,
    Op.LT: operator.lt,
    Op.LE: operator.le,
    Op.GT: operator.gt,
    Op.GE: operator.ge,
}
COLUMNS = [Column(row, name) for row in "st" for name in "ab"]
LITERALS = [Constant(2), Constant(4)]


def _predicates(columns, literals):
    pairs = [(x, y) for x in columns for y in [*columns, *literals] if x != y]
    return st.builds(lambda pair, op: Predicate(pair[0], op, pair[1]), st.sampled_from(pairs), st.sampled_from(Op))


def _denials(columns, literals=(), most=6):
    return st.lists(_predicates(columns, literals), min_size=1, max_size=most).map(lambda p: Denial(tuple(p)))


def _value(operand, assignment):
    return operand.value if isinstance(operand, Constant) else assignment[operand]


def _satisfied(denial, assignment):
    return all(COMPARE[p.op](_value(p.left, assignment), _value(p.right, assignment)) for p in denial.predicates)


# Quarters from 1 to 5 leave room for three different values below, between and above the literals 2 and 4: as good as a
# dense order.
DENSE = [n / 4 for n in range(4, 21)]


def _satisfiable(denial, domain):
    return any(
        _satisfied(denial, dict(zip(COLUMNS, values, strict=True)))
        for values in itertools.product(domain, repeat=len(COLUMNS))
    )


@given(_denials(COLUMNS))
@settings(max_examples=300, deadline=None)
def test_trivial_is_unsatisfiable(denial):
    assert is_trivial(denial) == (not _satisfiable(denial, range(4)))  # four operands need at most four values


@given(_denials(COLUMNS[:3], LITERALS))
@settings(max_examples=300, deadline=None)
def test_trivial_is_unsatisfiable_with_literals(denial):
    found = any(
        _satisfied(denial, dict(zip(COLUMNS[:3], values, strict=True))) for values in itertools.product(DENSE, repeat=3)
    )
    assert is_trivial(denial) == (not found)


def _violated(denial, table, nulls_equal):
    rows = range(len(table))

    def holds(p, i, j):
        cells = {"s": table[i], "t": table[j]}
        left, right = (
            o.value if isinstance(o, Constant) else cells[o.row]["ab".index(o.name)] for o in (p.left, p.right)
        )
        if not nulls_equal and (left is None or right is None):
            return False
        return COMPARE[p.op](-1 if left is None else left, -1 if right is None else right)

    pairs = ((i, i) for i in rows) if denial.arity == 1 else itertools.permutations(rows, 2)
    return any(all(holds(p, i, j) for p in denial.predicates) for i, j in pairs)


@given(
    _denials(COLUMNS, LITERALS, most=3),
    _denials(COLUMNS, LITERALS, most=4),
    st.randoms(use_true_random=False),
    st.booleans(),
)
@settings(max_examples=400, deadline=None)
def test_what_is_implied_holds_where_the_other_holds(a, b, source, nulls_equal):
    # strengthen a into b half of the time, or implication would hardly ever be met
    if source.random() < 0.5:
        extra = tuple(p.exchanged if source.random() < 0.5 else p for p in b.predicates)
        b = Denial((*a.predicates, *extra))
    if source.random() < 0.5:
        b = b.exchanged
    assert implies(a, a)
    assert implies(a, a.exchanged)
    for _ in range(10):
        table = [(source.choice([None, 1, 2, 3, 4, 5]), source.choice([None, 1, 2, 3, 4, 5])) for _ in range(3)]
        if implies(a, b) and not _violated(a, table, nulls_equal):
            assert not _violated(b, table, nulls_equal)
        if is_trivial(b):
            assert not _violated(b, table, nulls_equal)


def test_adding_and_strengthening_is_always_recognised():
    source = random.Random(7)
    everything = [Predicate(x, op, y) for x in COLUMNS for y in COLUMNS if x != y for op in Op]
    for _ in range(500):
        a = Denial(tuple(source.sample(everything, 2)))
        stronger = tuple(
            Predicate(p.left, source.choice([op for op in Op if op.implies(p.op)]), p.right) for p in a.predicates
        )
        b = Denial((*stronger, source.choice(everything)))
        assert implies(a, b)
        assert implies(a, b.exchanged)


@given(_denials(COLUMNS, LITERALS))
@settings(max_examples=300, deadline=None)
def test_canonical_is_one_form_of_both(denial):
    form = canonical(denial)
    assert canonical(form) == form
    assert canonical(denial.exchanged) == form
    assert form in (denial, denial.exchanged)
    assert is_trivial(form) == is_trivial(denial)


@given(st.lists(_denials(COLUMNS, LITERALS[:1], most=3), max_size=12), st.randoms(use_true_random=False))
@settings(max_examples=300, deadline=None)
def test_minimal_is_the_obvious_double_loop(denials, source):
    kept = minimal(denials)
    candidates = {canonical(d) for d in denials if not is_trivial(d)}
    expected = {d for d in candidates if not any(implies(o, d) for o in candidates if o != d)}
    assert set(kept) == expected
    assert len(kept) == len(expected)
    source.shuffle(denials)
    assert minimal(denials) == kept
