"""Rows of one result agree on a cluster: whatever a worker computes again after another one has died, a row keeps its
name."""

import os
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

DRIVER = """
    import time
    import pyarrow as pa
    import rowlaw
    from tests.agreement import disagreements

    FOLDER, ROW_ID = os.environ["FOLDER"], os.environ.get("ROW_ID")
    spark = session()

    def another_order(batches):
        '''The same rows, in an order that differs each time a partition is computed.'''
        import os, time
        import numpy as np
        open(os.path.join(FOLDER, f"task-{time.time_ns()}-{os.getpid()}"), "w").close()
        for batch in batches:
            yield batch.take(pa.array(np.random.default_rng().permutation(batch.num_rows)))

    values = ("id", "pmod(id, 40) as a", "pmod(id * 7, 13) as b", "pmod(id * 31, 1009) as x")
    plain = spark.range(0, 1_000, numPartitions=4).selectExpr(*values)
    frame = plain.mapInArrow(another_order, plain.schema)
    rules = {
        "key": "key (a, b)",
        "fd": "fd (a) -> b",
        "order": "not (s.a = t.a and s.b < t.b and s.x > t.x)",
        "bucket": "not (s.x < t.x and s.b > t.b)",
        "row": "not (s.a < s.b)",
    }
    result = rowlaw.check(frame, rules, engine="spark", progress=False, **({"row_id": ROW_ID} if ROW_ID else {}))
    first = {(r["row"], r["rule"]): r["pairs"] for r in result.rows.collect()}

    open(os.path.join(FOLDER, "kill"), "w").close()
    until = time.monotonic() + 120
    while not os.path.exists(os.path.join(FOLDER, "killed")) and time.monotonic() < until:
        time.sleep(0.05)

    problems = disagreements(result, rules, {r["id"]: r.asDict() for r in plain.collect()}, ROW_ID)
    if {(r["row"], r["rule"]): r["pairs"] for r in result.rows.collect()} != first:
        problems.append("rows were called otherwise before")
    print(json.dumps([problems, len(first)]))
"""


@pytest.mark.parametrize("row_id", [None, "id"])
def test_after_a_worker_died(cluster, tmp_path, row_id):
    (tmp_path / "scratch").mkdir()
    path = os.pathsep.join(filter(None, (os.environ.get("PYTHONPATH"), str(ROOT))))
    settings = {"FOLDER": str(tmp_path), "ROWLAW_SCRATCH": str(tmp_path / "scratch"), "PYTHONPATH": path}
    settings |= {"ROW_ID": row_id} if row_id else {}
    driver = cluster.start(DRIVER, **settings)
    try:
        until = time.monotonic() + 150
        while not (tmp_path / "kill").exists() and time.monotonic() < until:
            assert driver.process.poll() is None, driver.result()
            time.sleep(0.05)
        before = len(list(tmp_path.glob("task-*")))
        cluster.kill_worker(1)
        (tmp_path / "killed").touch()
        problems, involved = driver.result()
    finally:
        cluster.restart_worker(1)
    assert problems == []
    assert involved > 1_000
    if row_id is not None:
        assert len(list(tmp_path.glob("task-*"))) > before, "no partition was computed again"
