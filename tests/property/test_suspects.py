"""Suspects: the cells that more functional dependencies contradict than confirm, with the votes."""

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from rowlaw.engine.local.engine import LocalEngine
from rowlaw.engine.local.suspects import suspects
from rowlaw.relation import encode
from rowlaw.rules.model import FunctionalDependency
from rowlaw.source import open_source
from tests import naive
from tests.strategies import functional_dependencies, nulls, tables, to_arrow


def agree(arrow, values, rules, nulls):
    with encode(open_source(arrow)) as relation:
        found = suspects(LocalEngine(relation, nulls), rules).to_pylist()
        first = suspects(LocalEngine(relation, nulls), rules, limit=1).to_pylist()
    votes = {(cell["row"], cell["column"]): (cell["against"], cell["backing"]) for cell in found}
    assert len(votes) == len(found)
    assert votes == naive.suspects(rules, values, nulls)
    margins = [cell["against"] - cell["backing"] for cell in found]
    assert margins == sorted(margins, reverse=True)
    assert first == found[:1]
    return found


@given(data=st.data(), table=tables(min_columns=2, max_rows=12), nulls=nulls())
def test_suspects(data, table, nulls):
    rules = data.draw(st.dictionaries(functional_dependencies(table), st.booleans(), min_size=1, max_size=4))
    agree(to_arrow(table), table.values, rules, nulls)


CODES = st.sampled_from([0, 0, 0, 1, 1, 2, None])  # some values are frequent: groups need a majority


@given(data=st.data(), rows=st.integers(0, 24), nulls=nulls())
def test_suspects_in_large_groups(data, rows, nulls):
    values = {name: data.draw(st.lists(CODES, min_size=rows, max_size=rows)) for name in "abc"}
    rules = {
        FunctionalDependency((left,), right): data.draw(st.booleans())
        for left in "abc"
        for right in "abc"
        if left != right
    }
    rules[FunctionalDependency((), "a")] = False
    found = agree(
        pa.table({name: pa.array(column, pa.int64()) for name, column in values.items()}), values, rules, nulls
    )
    for cell in found:
        code = values[cell["column"]][cell["row"]]
        assert cell["value"] == (None if code is None else str(code)) != cell["usual"]
