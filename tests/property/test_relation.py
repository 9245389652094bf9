"""decode(encode(table)) = table, with order kept, on nasty tables, however the table is cut."""

import math

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rowlaw.relation import columns, encode
from rowlaw.relation.memory import MemoryRelation
from rowlaw.source.files import memory_splits
from rowlaw.source.source import FileSource
from rowlaw.spark.jobs import DriverThreads
from tests import naive
from tests.strategies import tables, to_arrow


def plain(value):
    """A value as it comes back: NaN is null, and there is one zero."""
    if isinstance(value, float):
        return None if math.isnan(value) else value + 0.0
    return value


@given(table=tables(), cut=st.integers(1, 5), threads=st.integers(1, 2), shuffled=st.booleans())
def test_encoding_keeps_values_and_order(table, cut, threads, shuffled):
    arrow = to_arrow(table)
    if shuffled:  # columns as dictionaries in the order of the library that made them
        arrow = (
            pa.table([c.dictionary_encode() for c in arrow.columns], names=arrow.column_names)
            if arrow.num_columns
            else arrow
        )
    source = FileSource("table", arrow.schema, tuple(memory_splits(arrow, rows=cut)))
    with encode(source, workers=DriverThreads(threads)) as relation:
        assert relation.rows == naive.row_count(table.values)
        for name, values in table.values.items():
            assert relation.codes(name).tolist() == naive.ranks(values)
            assert relation.column(name).type == table.types[name]
            assert relation.column(name).nulls == sum(naive.is_null(v) for v in values)
            assert relation.column(name).distinct == len({plain(v) for v in values} - {None})
        decoded = relation.decode()
        assert decoded.to_pydict() == {name: [plain(v) for v in values] for name, values in table.values.items()}


@given(table=tables(), first_rows=st.sampled_from([1, columns.FIRST_ROWS]))
def test_a_partition_is_encoded_alike_sorted_or_hashed(table, first_rows):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(columns, "FIRST_ROWS", first_rows)
        patch.setattr(columns, "MANY_DIFFERENT", -1.0)
        relation = MemoryRelation.of(pa.concat_tables([to_arrow(table), to_arrow(table)]))
    for name, values in table.values.items():
        assert relation.codes(name).tolist() == 2 * naive.ranks(values)
    assert relation.decode().to_pydict() == {
        name: 2 * [plain(v) for v in values] for name, values in table.values.items()
    }


@given(table=tables(max_columns=3))
def test_columns_of_one_class_share_a_scale(table):
    arrow = to_arrow(table)
    with encode(FileSource("table", arrow.schema, tuple(memory_splits(arrow)))) as relation:
        for left in table.values:
            for right in table.values:
                if table.types[left] != table.types[right]:
                    continue
                a, b = relation.aligned(left, right)
                for i, x in enumerate(table.values[left]):
                    for j, y in enumerate(table.values[right]):
                        expected = naive.outcome(x, y, "equal")
                        assert (a[i] < b[j], a[i] == b[j], a[i] > b[j]) == (expected == 1, expected == 2, expected == 4)
