"""Nothing large passes the driver: with a limit of zero, and results of at most a few megabytes, everything works."""

import json
import sys

import pytest

SETUP = """
    import json
    import numpy as np, pyarrow as pa
    import rowlaw
    from pyspark.sql import SparkSession

    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false").config("spark.sql.shuffle.partitions", "4")
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1")
        .config("spark.driver.maxResultSize", "3m")
        .config("spark.rowlaw.driverBytes", "0")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    random = np.random.default_rng(5)
    n = 200_000
    zips = random.integers(0, 900, n)
    salary = random.integers(0, 50_000, n)
    columns = {"id": np.arange(n), "zip": zips, "city": zips // 7, "state": zips // 50}
    columns |= {"salary": salary, "tax": salary // 3}
    columns["x"] = random.random(n)
    columns["city"][11] = 999_999
    table = pa.table(columns)
    frame = spark.createDataFrame(table).repartition(6)
"""


def run(script, text):
    done = script(SETUP + text, PYSPARK_PYTHON=sys.executable)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.timeout(600)
def test_a_table_cannot_be_collected(script):
    """The limit is effective: collecting the table fails."""
    seen = run(
        script,
        """
    try:
        frame.toArrow()
        print(json.dumps("collected"))
    except Exception as error:
        print(json.dumps("maxResultSize" in str(error)))
""",
    )
    assert seen is True


@pytest.mark.timeout(600)
def test_checks(script):
    seen = run(
        script,
        """
    rules = ["key (id)", "fd (zip) -> city", "od {state}: salary ~ tax"]
    rules += ["not (s.salary < t.salary and s.x < t.x and s.zip = t.zip)", "not (s.tax > s.salary)"]
    result = rowlaw.check(frame, rules, progress=False)
    assert str(result.engine.choice).startswith("spark"), result.engine.choice
    broken = result.violations("R2").count()
    rows = result.rows.where("rule = 'R2'").count()
    clashes = result.clashes("R2", 3).num_rows
    worst = result.worst(2)
    removal = result.rows_to_remove("R2").count
    flagged = result.flagged().where("size(broken_rules) > 0").count()
    result.to_html("report.html")
    plan = str(result.engine.explain(result["R4"].rule).count.method)
    print(json.dumps([list(result.counts.values()), broken, rows, clashes, len(worst), removal, flagged >= rows, plan]))
""",
    )
    counts, broken, rows, clashes, worst, removal, flagged, plan = seen
    assert counts[0] == counts[2] == counts[4] == 0
    assert counts[1] == broken > 0
    assert counts[3] > 10**6
    assert (clashes, worst, removal, flagged, plan) == (3, 2, 1, True, "partition")
    assert rows > 2


@pytest.mark.timeout(600)
def test_discovery(script):
    seen = run(
        script,
        """
    found = rowlaw.discover(frame, kinds=["key", "fd"], progress=False)
    print(json.dumps([found.rows, sorted(str(rule.rule) for rule in found)]))
""",
    )
    rows, rules = seen
    assert rows == 200_000
    assert {"key (id)", "fd (salary) -> tax", "fd (zip) -> state"} <= set(rules)
    assert "fd (zip) -> city" not in rules


@pytest.mark.timeout(600)
def test_new_rows_against_the_table(script):
    seen = run(
        script,
        """
    wrong = "city + cast(id % 500 = 0 as int) as city"
    new = frame.where("id < 1000").selectExpr("id + 1000000 as id", "zip", wrong, "salary", "tax")
    result = rowlaw.check(new, ["key (id)", "fd (zip) -> city", "od {}: salary ~ tax"], against=frame, progress=False)
    assert str(result.engine.choice).startswith("spark"), result.engine.choice
    rows = result.rows.where("new and rule = 'R2'").count()
    print(json.dumps([list(result.counts.values()), rows, result.violations("R2").count()]))
""",
    )
    counts, rows, pairs = seen
    assert counts[0] == counts[2] == 0
    assert counts[1] == pairs > rows > 2
