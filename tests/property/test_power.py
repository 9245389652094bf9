"""What rules would catch, and what nearly holds: the evidence of changed rows against the definitions."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rowlaw.discovery.power import atoms_for, power
from rowlaw.engine.local.engine import LocalEngine
from rowlaw.evidence import errors as module
from rowlaw.evidence.dependence import Sample
from rowlaw.evidence.errors import simulated
from rowlaw.relation import encode
from rowlaw.rules.conditions import Condition
from rowlaw.rules.model import OrderDependency
from rowlaw.source import open_source
from tests import naive
from tests.strategies import nulls, rules, tables, to_arrow


def with_conditions(rule):
    """Whether a rule has conditions: discovery makes none, so nothing is simulated for them."""
    return any(isinstance(p.right, Condition) for denial in rule.denials for p in denial.predicates)


@given(data=st.data(), table=tables(min_columns=1, max_rows=9), nulls=nulls())
def test_rules_catch_what_the_definition_says(data, table, nulls):
    drawn = data.draw(st.lists(rules(table), min_size=1, max_size=5, unique=True))
    chosen = [
        r
        for r in drawn
        if not isinstance(r, OrderDependency) and r.denials and r.denials[0].arity == 2 and not with_conditions(r)
    ]
    assume(chosen)
    broken = frozenset(rule for rule in chosen if naive.count(rule, table.values, nulls))
    with encode(open_source(to_arrow(table))) as relation:
        engine = LocalEngine(relation, nulls)
        names = [c.name for c in relation.columns]
        made = simulated(relation, names, 12, seed=3)
        found = power(engine, chosen, atoms_for(engine, chosen), inexact=broken, count=12, seed=3)
        assert found.columns == made.names
        for i in range(len(made)):
            column = made.names[i]
            value = relation.dictionary(column)[int(made.codes[i])].as_py()
            assert naive.outcome(value, table.values[column][made.rows[i]], "equal") != naive.Op.EQ
            for r, rule in enumerate(chosen):
                given_row = int(made.rows[i]), column, value
                after, before = naive.caught(rule, table.values, *given_row, nulls, inserted=bool(made.inserted[i]))
                assert found.caught[r, i] == (after > before), (str(rule), given_row)


@pytest.mark.parametrize("alike", [3, 40])
def test_rows_that_agree_on_rare_values_are_partners(monkeypatch, alike):
    """In a large table a random sample has no row with the same rare value: those are looked for."""
    import pyarrow as pa

    monkeypatch.setattr(module, "ALL_ROWS", 100)
    monkeypatch.setattr(module, "RANDOM_ROWS", 20)
    monkeypatch.setattr(module, "ALIKE_ROWS", alike)
    table = pa.table({"pair": [n // 2 for n in range(2_000)], "kind": [n // 2 % 7 for n in range(2_000)]})
    with encode(open_source(table)) as relation:
        made = simulated(relation, ["kind"], 30)
        for row, partners in zip(made.rows.tolist(), made.partners, strict=True):
            assert row ^ 1 in partners.tolist()
            assert len(partners) <= 20 + alike + 1


@given(data=st.data(), table=tables(min_columns=2, max_rows=10), nulls=nulls())
def test_dependence_is_measured_as_defined(data, table, nulls):
    names = list(table.values)
    left = tuple(data.draw(st.lists(st.sampled_from(range(len(names))), min_size=1, max_size=2, unique=True)))
    with encode(open_source(to_arrow(table))) as relation:
        found = list(Sample.of(relation, names, nulls).measure(left))
    told = [names[c] for c in left]
    for law in found:
        assert list(law.left) == told
        if law.right is None:
            rows = sum(len(group) for group in naive._groups(told, table.values, nulls))
            assert law.removed == pytest.approx(
                naive.key_error(told, table.values, nulls) * naive.row_count(table.values) / rows
            )
        else:
            assert law.mu == pytest.approx(naive.mu_plus(told, law.right, table.values, nulls), abs=1e-9)
            known = [row for group in naive._groups(told, table.values, nulls) for row in group]
            codes = naive.ranks(table.values[law.right])
            rows = sum(nulls == "equal" or codes[row] >= 0 for row in known)
            removed = naive.fd_error(told, law.right, table.values, nulls) * naive.row_count(table.values)
            assert law.removed * rows == pytest.approx(removed)
