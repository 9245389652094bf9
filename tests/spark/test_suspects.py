"""Cells that are probably wrong are the same on both engines."""

import random

import pyarrow as pa
import pytest

from rowlaw.engine.local.engine import LocalEngine
from rowlaw.engine.spark.engine import SparkEngine
from rowlaw.engine.spark.table import SparkTable
from rowlaw.relation import encode
from rowlaw.rules import parse
from rowlaw.source import open_source
from rowlaw.spark.jobs import frame_of

# of each: was it learnt with exceptions
RULES = {"fd (zip) -> city": False, "fd (phone) -> city": True, "fd (city) -> state": False, "fd (age) -> state": True}
ONE_FOR_A_COLUMN = {"fd (zip) -> city": False, "fd (zip) -> state": True, "fd () -> age": False}


@pytest.fixture(scope="module")
def table():
    chance = random.Random(3)
    zips = [chance.randrange(6) for _ in range(90)]
    columns = {
        "id": list(range(90)),
        "zip": [None if i == 5 else zip for i, zip in enumerate(zips)],
        "phone": [f"{zip}-{chance.randrange(2)}" for zip in zips],
        "city": [f"c{zip // 2}" if chance.random() > 0.1 else f"x{chance.randrange(3)}" for zip in zips],
        "state": [None if chance.random() < 0.05 else zip // 4 for zip in zips],
        "age": [7 if chance.random() > 0.1 else chance.randrange(5) for _ in zips],
    }
    return pa.table(columns)


@pytest.mark.parametrize(
    "rules", [RULES, ONE_FOR_A_COLUMN, {"fd (age) -> phone": True}], ids=["several", "one", "none"]
)
@pytest.mark.parametrize(("nulls", "limit"), [("unknown", None), ("equal", 4)])
def test_both_engines_find_the_same(quick_spark, table, rules, nulls, limit):
    parsed = {parse(text): learnt for text, learnt in rules.items()}
    local = LocalEngine(encode(open_source(table), row_id="id"), nulls)
    source = open_source(frame_of(quick_spark, table).repartition(2))
    on_spark = SparkEngine(SparkTable(source.frame, source.schema, nulls, ("id",)))
    expected = local.check([]).suspects(parsed, limit)
    found = on_spark.check([]).suspects(parsed, limit)
    assert found.to_pylist() == expected.to_pylist()
    assert bool(expected.num_rows) == (rules in (RULES, ONE_FOR_A_COLUMN))
    on_spark.close()
    local.close()
