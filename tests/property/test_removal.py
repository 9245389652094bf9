"""Rows to remove: without them the rule holds, and fewer will not do where that is claimed."""

from unittest import mock

from hypothesis import given
from hypothesis import strategies as st

from rowlaw.engine.local import removal
from rowlaw.engine.local.engine import LocalEngine
from rowlaw.engine.local.removal import rows_to_remove
from rowlaw.relation import encode
from rowlaw.source import open_source
from tests import naive
from tests.strategies import nulls, rules, tables, to_arrow


@given(data=st.data(), table=tables(min_columns=2, max_rows=8), nulls=nulls(), listed=st.sampled_from([0, 2, 1 << 20]))
def test_removal(data, table, nulls, listed):
    rule = data.draw(rules(table))
    with encode(open_source(to_arrow(table))) as relation, mock.patch.object(removal, "LISTED", listed):
        found = rows_to_remove(LocalEngine(relation, nulls), rule)
    rows = found.rows.tolist()
    assert len(set(rows)) == len(rows) == len(found)
    kept = [row for row in range(relation.rows) if row not in rows]
    rest = {name: [values[row] for row in kept] for name, values in table.values.items()}
    assert not naive.violations(rule, rest, nulls)
    smallest = naive.rows_to_remove(rule, table.values, nulls)
    assert len(rows) >= smallest
    assert not found.exact or len(rows) == smallest
    assert found.exact or rule.kind in ("dc", "od")
