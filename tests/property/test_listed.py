"""What follows from keys, functional dependencies and order compatibilities, against implication case by case."""

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from rowlaw.discovery.together import Implied
from rowlaw.rules.implication import implies
from rowlaw.rules.model import (
    Column,
    Denial,
    FunctionalDependency,
    Key,
    Op,
    OrderCompatible,
    Predicate,
    between_rows,
)

NAMES = "abcde"
STRICT = {op: [case for case in (Op.LT, Op.EQ, Op.GT) if case.implies(op)] for op in Op}


@st.composite
def dependencies(draw):
    columns = draw(st.permutations(NAMES))
    size = draw(st.integers(0, 3))
    match draw(st.sampled_from(["key", "fd", "od"])):
        case "key":
            return Key(tuple(columns[: size + 1]))
        case "fd":
            return FunctionalDependency(tuple(columns[:size]), columns[size])
    return OrderCompatible(tuple(columns[:size]), columns[size], columns[size + 1], draw(st.booleans()))


@st.composite
def denials(draw):
    compared = draw(st.dictionaries(st.sampled_from(NAMES), st.sampled_from(Op), max_size=5))
    across = Predicate(Column("s", "a"), Op.LT, Column(draw(st.sampled_from("st")), "b"))
    other = [across] if not compared or draw(st.booleans()) else []
    return Denial((*(between_rows(name, op) for name, op in compared.items()), *other))


@given(st.lists(dependencies(), max_size=6), denials())
def test_a_rule_follows_where_every_case_does(rules, denial):
    compared = [p for p in denial.predicates if p.same_column]
    cases = [
        [between_rows(p.left.name, op) for p, op in zip(compared, ops, strict=True)]
        for ops in product(*(STRICT[p.op] for p in compared))
    ]
    expected = denial.arity == 2 and all(
        any(bool(case) and implies(rule.denials[0], Denial(tuple(case))) for rule in rules) for case in cases
    )
    assert (denial in Implied(rules)) == expected


@given(st.lists(dependencies(), max_size=6), dependencies())
def test_keys_leave_a_dependency_nothing_to_say(rules, dependency):
    keys = Implied(rule for rule in rules if isinstance(rule, Key))
    if not isinstance(dependency, Key):
        agreed = dependency.left if isinstance(dependency, FunctionalDependency) else dependency.context
        assert keys.identified(agreed) == (dependency.denials[0] in keys)
