"""Rows that a guard keeps out of an old table: the same as if they came one after the other."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rowlaw.engine.against.open import open_against
from rowlaw.engine.against.refuse import PARTNERS, refused
from rowlaw.engine.local import later
from rowlaw.rules import bind, parse
from rowlaw.source import open_source
from tests import naive
from tests.property.test_against import split
from tests.strategies import nulls, rules, tables, to_arrow


def check(result, chosen, new, old, nulls):
    expected = naive.refused(chosen, new.values, old.values, nulls)
    assert result.broken == expected
    inside = new.take([i for i in range(new.rows) if i not in expected])
    both = {name: [*old.values[name], *inside.values[name]] for name in new.values}
    columns = result.partners.schema.field("values").type
    named = {}
    for partner in result.partners.to_pylist():
        named.setdefault((partner["row"], partner["rule"]), []).append(
            (partner["new"], tuple(partner["values"].values()))
        )
    names = [columns.field(i).name for i in range(columns.num_fields)]
    places = {True: range(old.rows, old.rows + inside.rows), False: range(old.rows)}
    for row, broken in expected.items():
        single = {name: [*both[name], new.values[name][row]] for name in both}
        last = old.rows + inside.rows
        for rule in broken:
            partners = {
                place for pair in naive.violations(chosen[rule], single, nulls) if last in pair for place in pair
            } - {last}
            told = named.pop((row, rule), [])
            assert len(told) == min(PARTNERS, len(partners))
            for is_new, values in told:
                alike = [p for p in partners if p in places[is_new] and same(values, [both[n][p] for n in names])]
                assert alike, "a partner that is none"
    assert not named


def same(values, others):
    return all((naive.is_null(a) and naive.is_null(b)) or a == b for a, b in zip(values, others, strict=True))


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), table=tables(min_columns=2, max_rows=10), nulls=nulls(), few=st.booleans())
def test_rows_that_stay_out(monkeypatch, data, table, nulls, few):
    """``few``: as if there were too many violations to list."""
    monkeypatch.setattr(later, "LISTED", 2 if few else later.LISTED)
    new, old = split(data, table)
    chosen = data.draw(st.lists(rules(table), min_size=1, max_size=3))
    columns = list(dict.fromkeys(c for rule in chosen for c in rule.columns))
    engine = open_against(
        open_source(to_arrow(new)), open_source(to_arrow(old)), nulls, columns=columns, engine="local"
    )
    check(refused(engine, [bind(rule, engine.types) for rule in chosen]), chosen, new, old, nulls)
    engine.close()


def test_a_batch_that_is_all_alike_is_not_listed(monkeypatch):
    """Ten thousand rows with one id have 10^8 violations: one row comes in."""
    import pyarrow as pa

    monkeypatch.setattr(later, "LISTED", 100)
    new = pa.table({"id": [1] * 10_000, "n": range(10_000)})
    engine = open_against(open_source(new), open_source(new.slice(0, 0)), columns=["id"], engine="local")
    result = refused(engine, [bind(parse("key (id)"), engine.types)])
    assert sorted(result.broken) == list(range(1, 10_000))
    assert result.partners.num_rows == 9_999
    assert set(result.partners.column("new").to_pylist()) == {True}


@pytest.mark.parametrize("few", [1, 1000])
def test_every_row_is_told_a_partner(monkeypatch, few):
    """A row with very many partners does not hide those of the others."""
    import pyarrow as pa

    from rowlaw.engine.against import refuse

    monkeypatch.setattr(refuse, "FIRST_LIST", few)
    old = pa.table({"zip": [1] * 500 + [2, 3, 4], "city": ["a"] * 503})
    new = pa.table({"zip": [1, 2, 3, 4, 5], "city": ["b", "b", "b", "b", "b"]})
    engine = open_against(open_source(new), open_source(old), columns=["zip", "city"], engine="local")
    result = refused(engine, [bind(parse("fd (zip) -> city"), engine.types)])
    assert [partner["row"] for partner in result.partners.to_pylist()] == [0, 0, 0, 1, 2, 3]
