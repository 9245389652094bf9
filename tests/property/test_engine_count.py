"""Counts and per-row counts equal the oracle's."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rowlaw.engine.compile import Scales, compile_rule
from rowlaw.engine.count import count
from rowlaw.relation import encode
from rowlaw.source import open_source
from tests import naive
from tests.strategies import denials, nulls, tables, to_arrow


@given(data=st.data(), table=tables(), nulls=nulls())
def test_counts(data, table, nulls):
    with encode(open_source(to_arrow(table))) as relation:
        scales = Scales(relation, nulls)
        for _ in range(3):
            rule = data.draw(denials(table))
            found = count(compile_rule(rule, scales), relation.rows)
            assert found.pairs == naive.count(rule, table.values, nulls)
            expected = naive.row_counts(rule, table.values, nulls)
            assert {int(r): int(found.per_row[r]) for r in np.flatnonzero(found.per_row)} == expected
            assert count(compile_rule(rule, scales), relation.rows, per_row=False).pairs == found.pairs
