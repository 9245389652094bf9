"""Rows of one result agree: a row is called the same in all frames, though the input comes in another order whenever it
is computed."""

import pyarrow as pa
import pytest

import rowlaw
from tests.agreement import disagreements

pytestmark = pytest.mark.usefixtures("quick_spark")

RULES = {
    "fd": "fd (a) -> b",
    "order": "not (s.a = t.a and s.b < t.b and s.x > t.x)",
    "roles": "not (s.a = t.b and s.x < t.x)",
    "bucket": "not (s.x < t.x and s.b > t.b)",
    "row": "not (s.a < s.b)",
}


def another_order(batches):
    """The same rows of a partition, in an order that differs each time it is computed."""
    import numpy as np

    for batch in batches:
        yield batch.take(pa.array(np.random.default_rng().permutation(batch.num_rows)))


@pytest.fixture
def table(spark):
    return spark.range(0, 200, numPartitions=3).selectExpr(
        "id", "pmod(id, 20) as a", "pmod(id * 7, 13) as b", "pmod(id * 31, 101) as x"
    )


@pytest.fixture(params=["order", "partition"])
def restless(request, table):
    """A frame whose rows, each time, come in another order or in another partition."""
    if request.param == "order":
        return table.mapInArrow(another_order, table.schema)
    # hashes of true random numbers: each computation deals the rows out anew
    dealt = table.mapInArrow(_with_chance, "id long, a long, b long, x long, chance long")
    return dealt.repartition(4, "chance").drop("chance")


def _with_chance(batches):
    import numpy as np

    for batch in batches:
        yield batch.append_column("chance", pa.array(np.random.default_rng().integers(0, 1 << 40, batch.num_rows)))


def test_the_input_is_restless(restless):
    """Or the test below would prove nothing."""
    # two plans: of one plan Spark would use the shuffle again
    one, other = ([r["id"] for r in restless.where(f"id > {least}").collect()] for least in (-1, -2))
    assert one != other
    assert sorted(one) == sorted(other)


@pytest.mark.parametrize("row_id", [None, "id"])
def test_rows_violations_and_flagged(restless, table, row_id):
    result = rowlaw.check(restless, RULES, engine="spark", row_id=row_id, progress=False)
    assert all(result.counts.values())
    assert disagreements(result, RULES, {r["id"]: r.asDict() for r in table.collect()}, row_id) == []
    result.close()
