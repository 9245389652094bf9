"""Distinct rows with weights are counted as the rows that they stand for."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from rowlaw.engine.local.rows import RowEngine
from rowlaw.engine.local.weighted import SAFE_ROWS, WeightedCount, count_weighted
from rowlaw.relation.memory import MemoryRelation
from rowlaw.rules import parse
from rowlaw.spark.jobs import DriverThreads
from tests import naive
from tests.strategies import denials, nulls, tables, to_arrow


@given(data=st.data(), table=tables(max_rows=5), nulls=nulls())
def test_weights_are_repeated_rows(data, table, nulls):
    weights = data.draw(st.lists(st.integers(1, 6), min_size=table.rows, max_size=table.rows))
    denial = data.draw(denials(table).filter(lambda d: d.arity == 2))
    repeated = {
        name: [v for v, w in zip(values, weights, strict=True) for _ in range(w)]
        for name, values in table.values.items()
    }
    violations = naive.violations(denial, repeated, nulls)
    engine = RowEngine(MemoryRelation.of(to_arrow(table)), nulls, workers=DriverThreads(1))
    expected = WeightedCount(len(violations), len({row for pair in violations for row in pair}))
    assert count_weighted(engine, denial, np.array(weights, np.int64)) == expected


def test_counts_beyond_64_bits():
    """Ten billion rows have more pairs than 64 bits hold."""
    engine = RowEngine(MemoryRelation.of(pa.table({"a": [1, 1, 2], "b": [1, 2, 3]})), workers=DriverThreads(1))
    large = SAFE_ROWS * 2
    weights = np.array([large, large, 1])
    for text, pairs in {
        "key (a)": 2 * large * (2 * large - 1),
        "fd (a) -> b": 2 * large * large,
        "not (s.a < t.a)": 2 * large,
        "not (s.a <= t.a and s.b <= t.b)": 2 * large * (large - 1) + large * large + 2 * large,
    }.items():
        assert count_weighted(engine, parse(text).denials[0], weights).pairs == pairs, text
