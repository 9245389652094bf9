"""The engine as a whole: many rules of all kinds at once."""

from hypothesis import given
from hypothesis import strategies as st

from rowlaw.engine.local import tasks
from rowlaw.engine.local.engine import LocalEngine
from rowlaw.relation import encode
from rowlaw.source import open_source
from rowlaw.spark.jobs import DriverThreads
from tests import naive
from tests.strategies import nulls, rules, tables, to_arrow


@given(data=st.data(), table=tables(min_columns=2), nulls=nulls(), threads=st.integers(1, 3), cut=st.booleans())
def test_many_rules_at_once(data, table, nulls, threads, cut):
    chosen = data.draw(st.lists(rules(table), max_size=8))
    saved, tasks.SPLIT_SECONDS = tasks.SPLIT_SECONDS, 0.0 if cut else 1.0
    try:
        with encode(open_source(to_arrow(table))) as relation:
            engine = LocalEngine(relation, nulls, workers=DriverThreads(threads))
            found, witnesses = engine.count(chosen), engine.witness(chosen)
            for rule, count, witness in zip(chosen, found, witnesses, strict=True):
                expected = naive.violations(rule, table.values, nulls)
                assert count.pairs == len(expected)
                assert dict(zip(count.rows.tolist(), count.per_row.tolist(), strict=True)) == naive.row_counts(
                    rule, table.values, nulls
                )
                assert (witness is None) == (not expected)
                assert witness is None or witness in expected or witness[:1] in expected
                for involved in (None, count):
                    pairs = sorted(
                        (int(s), int(t))
                        for batch in engine.pairs(rule, involved=involved)
                        for s, t in zip(*batch, strict=True)
                    )
                    assert pairs == sorted((p[0], p[-1]) for p in expected)
    finally:
        tasks.SPLIT_SECONDS = saved
