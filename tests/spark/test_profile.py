"""A profile by Spark is that of the local engine, but for estimates of many distinct values; it is one job."""

import datetime as dt

import pytest
from hypothesis import given

from rowlaw.engine.open import open_local
from rowlaw.engine.spark.engine import SparkEngine
from rowlaw.engine.spark.table import SparkTable
from rowlaw.source import open_source
from rowlaw.spark.jobs import frame_of
from tests.spark.examples import few
from tests.strategies import tables, to_arrow

pytestmark = pytest.mark.usefixtures("quick_spark")


def opened(session, arrow):
    source = open_source(frame_of(session, arrow).repartition(2))
    return SparkEngine(SparkTable(source.frame, source.schema, "unknown"))


def bare(value):
    """A moment without its zone: Spark's frames of local times may have one."""
    return value.replace(tzinfo=None) if isinstance(value, dt.datetime) else value


@few(8)
@given(table=tables(max_rows=8, max_columns=3))
def test_profiles_are_equal(spark, table):
    arrow = to_arrow(table)
    local = open_local(open_source(arrow))
    engine = opened(spark, arrow)
    for here, there in zip(local.profile(table.columns, 20), engine.profile(table.columns, 20), strict=True):
        assert (there.rows, there.nulls, bare(there.lowest), bare(there.highest)) == (
            here.rows,
            here.nulls,
            here.lowest,
            here.highest,
        )
        assert there.exact
        assert (there.distinct, {(bare(v), n) for v, n in there.frequent}) == (here.distinct, set(here.frequent))
    engine.close()
    local.close()


def test_many_values_are_estimated(spark):
    of_types = ("double", "float", "decimal(12, 2)", "string", "timestamp", "timestamp_ntz")
    typed = [
        f"cast({'timestamp_seconds(id)' if 'time' in kind else 'id'} as {kind}) as c{i}"
        for i, kind in enumerate(of_types)
    ]
    typed += ["date_add(date'2000-01-01', cast(id as int)) as c6", "if(id % 2 = 0, 0.0D, -0.0D) as zero"]
    frame = spark.range(20_000).selectExpr("id", "id % 7 as day", "cast(null as string) as nothing", *typed)
    source = open_source(frame)
    engine = SparkEngine(SparkTable(source.frame, source.schema, "unknown"))
    id, day, nothing, zero, *others = engine.profile(["id", "day", "nothing", "zero", *(f"c{i}" for i in range(7))], 3)
    for column in (id, *others):
        assert not column.exact
        assert abs(column.distinct - 20_000) < 1_000, column.type
    assert zero.distinct == 1
    assert (day.exact, day.distinct, day.frequent[0][1]) == (True, 7, 2858)
    assert (nothing.nulls, nothing.distinct, nothing.lowest) == (20_000, 0, None)
