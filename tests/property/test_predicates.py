"""The predicate space equals the oracle's."""

from hypothesis import given
from hypothesis import strategies as st

from rowlaw.engine.local.statistics import RelationStatistics
from rowlaw.predicates import SpaceOptions, predicate_space
from rowlaw.predicates.space import _literals
from rowlaw.relation import encode
from rowlaw.source import open_source
from tests import naive
from tests.strategies import tables, to_arrow


@given(
    table=tables(),
    cross=st.booleans(),
    single_row=st.booleans(),
    order_strings=st.booleans(),
    overlap=st.sampled_from([0.0, 0.3, 0.5, 1.0]),
    constants=st.sampled_from([None, 0.3, 0.0]),
)
def test_space(table, cross, single_row, order_strings, overlap, constants):
    options = SpaceOptions(
        cross=cross, single_row=single_row, order_strings=order_strings, overlap=overlap, constants=constants
    )
    with encode(open_source(to_arrow(table))) as relation:
        literals = (
            {name: _literals(RelationStatistics(relation), name, constants) for name in table.values}
            if constants is not None
            else None
        )
        for name, values in (literals or {}).items():
            assert all(table.values[name].count(v) >= constants * table.rows for v in values)
        expected = naive.predicate_space(
            table.values,
            table.types,
            cross=cross,
            overlap=overlap,
            order_strings=order_strings,
            single_row=single_row,
            constants=literals,
        )
        assert set(predicate_space(RelationStatistics(relation), options)) == set(expected)
