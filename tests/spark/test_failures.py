"""A Spark job that fails is the named error JOB_FAILED with its cause, whatever was asked for."""

import re
import sys

import pytest
from pyspark.sql import functions as f

import rowlaw
from rowlaw.errors import RowlawError

pytestmark = pytest.mark.usefixtures("quick_spark")

RULES = {
    "city": "fd (zip) -> city",
    "key": "key (zip)",
    "order": "not (s.a < t.a and s.b > t.b)",
    "one": "not (s.a > 3)",
}

ACTIONS = {
    "rows of a rule": lambda result: result["order"].rows,
    "rows involved": lambda result: result.findings.rows_involved,
    "clashes": lambda result: result.clashes("city"),
    "side by side": lambda result: result.side_by_side("order"),
    "worst": lambda result: result.worst(3),
    "rows to remove": lambda result: result.rows_to_remove("city"),
    "rows to remove, by pairs": lambda result: result.rows_to_remove("order"),
    "suspects": lambda result: result.suspects(),
    "pairs": lambda result: list(result.pairs("city")),
    "groups": lambda result: list(result.groups("city")),
    "planning of frames": lambda result: result.violations("order"),
    "some rows": lambda result: result.engine.some_rows(2, ["zip"]),
    "json": lambda result: result.to_json(),
}


def failing(spark, switch, rows=12):
    """A table that cannot be computed any more once the file ``switch`` exists."""
    path = str(switch)

    def value(i):
        import os

        if os.path.exists(path):
            raise ValueError("the source is gone")
        return i

    frame = spark.range(rows).withColumn("i", f.udf(value, "bigint", useArrow=False)("id"))
    return frame.selectExpr("id", "i % 4 as zip", "cast(i % 3 as string) as city", "i as a", "i * 7 % 12 as b")


@pytest.fixture(scope="module")
def result(spark, tmp_path_factory):
    """A check whose table is gone since."""
    switch = tmp_path_factory.mktemp("source") / "gone"
    checked = rowlaw.check(failing(spark, switch), RULES, row_id="id", engine="spark", progress=False)
    switch.write_text("")
    yield checked
    checked.close()


@pytest.mark.parametrize("action", ACTIONS)
def test_every_action(result, action):
    with pytest.raises(RowlawError, match=r"(?s)JOB_FAILED: the Spark job .* failed: .*the source is gone") as raised:
        ACTIONS[action](result)
    assert raised.value.exit_code == 3
    assert "\n\tat " not in str(raised.value)  # Java's stack is of no help


@pytest.mark.parametrize("engine", ["auto", "local", "spark"])
@pytest.mark.parametrize("row_id", [None, "id"])
def test_opening_the_table(spark, tmp_path, engine, row_id):
    (tmp_path / "gone").write_text("")
    with pytest.raises(RowlawError, match="(?s)JOB_FAILED.*the source is gone"):
        rowlaw.check(failing(spark, tmp_path / "gone"), RULES, row_id=row_id, engine=engine, progress=False)


def test_nothing_is_left_of_a_folder_that_could_not_be_written(spark, tmp_path):
    result = rowlaw.check(failing(spark, tmp_path / "gone"), RULES, row_id="id", engine="spark", progress=False)
    (tmp_path / "gone").write_text("")
    with pytest.raises(RowlawError, match="(?s)JOB_FAILED.*the source is gone"):
        result.write_violations(f"{tmp_path}/out/")
    assert not (tmp_path / "out").exists()
    result.close()


def test_workers_that_cannot_import_rowlaw(spark, tmp_path):
    """As where they run another Python than this process: the error says which one to name."""

    def value(i):
        raise ModuleNotFoundError("No module named 'rowlaw'")

    frame = spark.range(4).withColumn("i", f.udf(value, "bigint", useArrow=False)("id"))
    with pytest.raises(RowlawError, match=f"NOT_ON_WORKERS: .*PYSPARK_PYTHON={re.escape(sys.executable)}") as raised:
        rowlaw.check(frame, "key (i)", engine="spark", progress=False)
    assert raised.value.exit_code == 3
