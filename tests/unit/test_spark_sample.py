"""What a sample of a table of Spark says about all its rows."""

from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from rowlaw.engine.spark.sample import TableSample
from rowlaw.relation.memory import MemoryRelation

ROWS, SAMPLED = 5_000_000, 20_000


def sample_of(values):
    """The sample of a table, as it comes from Spark."""
    table = SimpleNamespace(rows=ROWS, nulls="unknown")
    sample = TableSample(table, ("a",), SAMPLED)
    sample.__dict__["relation"] = MemoryRelation.of(pa.table({"a": values}))
    return sample


@pytest.mark.parametrize("distinct", [50, 5_000, 100_000, 1_000_000])
def test_values_that_repeat_are_told_from_those_that_do_not(distinct):
    values = np.random.default_rng(0).integers(0, distinct, SAMPLED)
    estimate = sample_of(values).distinct_rows(["a"])
    assert distinct / 4 <= estimate <= 4 * max(distinct, np.sqrt(ROWS / SAMPLED) * SAMPLED / 4)


def test_values_that_are_all_different():
    assert sample_of(np.arange(SAMPLED)).distinct_rows(["a"]) == ROWS


def test_half_of_the_rows_are_alike():
    """The others are all different, which the half that repeats must not hide."""
    values = np.where(np.arange(SAMPLED) % 2, -1, np.arange(SAMPLED))
    assert sample_of(values).distinct_rows(["a"]) == ROWS
