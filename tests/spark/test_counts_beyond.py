"""Counts stay exact beyond 64 bits: ten billion rows have 10^20 pairs. With ANSI mode on, a sum that does not fit would
be an error."""

import numpy as np
import pytest
from pyspark.sql import functions as f

from rowlaw.engine.answers import Count
from rowlaw.engine.spark.aggregate import SAFE_ROWS, as_count, count_alike, count_different, exact, total
from rowlaw.engine.spark.bucket import _ascending

BILLION = 10**9
SIZES = [("a", "x", 7 * BILLION), ("a", "y", 3 * BILLION), ("b", "x", 1), ("c", "x", 5 * BILLION)]
ROWS = sum(size for *_, size in SIZES)


@pytest.fixture(params=["true", "false"])
def sizes(spark, request):
    before = spark.conf.get("spark.sql.ansi.enabled")
    spark.conf.set("spark.sql.ansi.enabled", request.param)
    yield spark.createDataFrame(SIZES, "left string, right string, size bigint")
    spark.conf.set("spark.sql.ansi.enabled", before)


def test_groups_of_billions(sizes):
    assert ROWS > SAFE_ROWS
    pairs = sum(size * (size - 1) for *_, size in SIZES)
    assert as_count(count_alike(sizes, ROWS).first()) == Count(pairs, ROWS - 1)
    different = 2 * 7 * BILLION * 3 * BILLION
    assert as_count(count_different(sizes, ["left"], ROWS).first()) == Count(different, 10 * BILLION)
    product = exact(f.col("size"), ROWS) * exact(f.col("size"), ROWS)
    assert int(sizes.agg(total(product, ROWS)).first()[0]) == sum(size * size for *_, size in SIZES)
    assert min(pairs, different) > 2**63


def test_histograms_of_billions():
    cells = np.array([[0, 7 * BILLION, 0], [0, 0, 3 * BILLION], [0, 0, 5 * BILLION]])
    assert _ascending(cells, cells, (False, False)) == 7 * BILLION * 8 * BILLION
    assert _ascending(cells, cells, (True, True)) == 7 * BILLION * 8 * BILLION
    assert _ascending(cells, cells, (True, False)) == 0
