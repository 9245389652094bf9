"""Counts and per-row counts equal the oracle's."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rowlaw.engine import cells, kinds
from rowlaw.engine.compile import Scales, compile_rule
from rowlaw.engine.count import count
from rowlaw.relation import encode
from rowlaw.source import open_source
from tests import naive
from tests.strategies import denials, nulls, tables, to_arrow


@pytest.fixture(params=["as usual", "by kinds"], autouse=True)
def way(request):
    """Small tables never repeat enough for their kinds to be counted: once they are told to."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "by kinds":
            patch.setattr(kinds, "LARGE", 1)
            patch.setattr(kinds, "REPEATED", 0)
            patch.setattr(cells, "CELLS", 0)
        yield


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])  # nothing is left behind by an example
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
