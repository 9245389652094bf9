"""Violating pairs equal the oracle's, by every algorithm."""

from hypothesis import given
from hypothesis import strategies as st

from rowlaw.engine import inequality, plan
from rowlaw.engine.compile import Scales, compile_rule
from rowlaw.engine.count import count
from rowlaw.engine.refine import pairs
from rowlaw.relation import encode
from rowlaw.source import open_source
from tests import naive
from tests.strategies import denials, nulls, tables, to_arrow


def all_pairs(rule, taking_part=None):
    return sorted((int(s), int(t)) for batch in pairs(rule, taking_part) for s, t in zip(*batch, strict=True))


@given(data=st.data(), table=tables(), nulls=nulls(), batch=st.sampled_from([1, 3, 1 << 20]), pruned=st.booleans())
def test_pairs(data, table, nulls, batch, pruned):
    rule = data.draw(denials(table).filter(lambda d: d.arity == 2))
    algorithms = data.draw(st.sampled_from([(10_000, 1 << 13), (0, 1 << 13), (10_000, 0)]))
    saved = inequality.BATCH, inequality.BINS, plan.BHSM_VALUES, plan.IEJOIN_VALUES
    inequality.BATCH, inequality.BINS, (plan.BHSM_VALUES, plan.IEJOIN_VALUES) = batch, 3, algorithms
    try:
        with encode(open_source(to_arrow(table))) as relation:
            compiled = compile_rule(rule, Scales(relation, nulls))
            taking_part = count(compiled, relation.rows).per_row if pruned else None
            assert all_pairs(compiled, taking_part) == naive.violations(rule, table.values, nulls)
    finally:
        inequality.BATCH, inequality.BINS, plan.BHSM_VALUES, plan.IEJOIN_VALUES = saved
