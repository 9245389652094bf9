"""The task that counts violations between new rows and weighted old ones, compared with the definition."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rowlaw.engine.against.new_pairs import NewPairsTask, weighted_sum
from rowlaw.engine.against.there import RULES
from rowlaw.engine.spark import looking
from rowlaw.engine.spark.worker import WEIGHT
from tests import naive
from tests.property.test_against import split
from tests.strategies import nulls, rules, tables, to_arrow


@pytest.mark.parametrize("rows_at_once", [1, looking.ROWS_AT_ONCE])
@settings(max_examples=60)
@given(data=st.data(), table=tables(min_columns=2, max_rows=8), nulls=nulls())
def test_pairs_of_weighted_rows(rows_at_once, data, table, nulls):
    new, old = split(data, table)
    chosen = data.draw(st.lists(rules(table), min_size=1, max_size=3))
    per_row = {"min_size": old.rows, "max_size": old.rows}
    weights = data.draw(st.lists(st.integers(1, 3), **per_row))
    could_break = data.draw(st.lists(st.integers(0, (1 << len(chosen)) - 1), **per_row))
    columns = {RULES: pa.array(could_break, pa.int64()), WEIGHT: pa.array(weights, pa.int64())}
    sent = to_arrow(old)
    for name, values in columns.items():
        sent = sent.append_column(name, values)
    denials = tuple(tuple(d for d in rule.denials if d.arity == 2) for rule in chosen)
    task = NewPairsTask(denials, to_arrow(new), nulls)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(looking, "ROWS_AT_ONCE", rows_at_once)
        batches = list(task(iter(sent.to_batches(max_chunksize=2))))
    counted = {r["item"]: r for batch in batches for r in batch.to_pylist()}
    for i, some in enumerate(denials):
        places = [row for row in range(old.rows) if could_break[row] >> i & 1]
        repeated = old.take([row for row in places for _ in range(weights[row])])
        pairs = [pair for d in some for pair in naive.violations_against(d, new.values, repeated.values, nulls)]
        expected = [pair for pair in pairs if {where for where, _ in pair} == {"new", "old"}]
        assert (int(counted[i]["pairs"]) if i in counted else 0) == len(expected)
        flags = np.unpackbits(np.frombuffer(counted[i]["involved"], np.uint8), count=new.rows) if i in counted else []
        assert set(np.flatnonzero(flags)) == {row for pair in expected for where, row in pair if where == "new"}


def test_sums_beyond_64_bits():
    counts, weights = np.full(3, 2**40), np.array([2**40, 2**41, 1])
    assert weighted_sum(counts, weights) == 2**80 + 2**81 + 2**40
    assert weighted_sum(counts[:0], weights[:0]) == 0
