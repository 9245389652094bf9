"""The cluster itself: Numba in workers of two executors, and a worker that dies in the middle of a job."""

import os
import textwrap
import time

JOB = """
    def work(batches):
        import os, time
        import numba, pyarrow as pa
        square = numba.njit(lambda x: x * x)
        for batch in batches:
            ids = batch["id"].to_numpy()
            with open(os.path.join(FOLDER, f"task-{ids[0]}-{os.getpid()}"), "w"):
                pass
            time.sleep(PAUSE)
            yield pa.record_batch({"id": ids, "square": square(ids), "executor": [os.getppid()] * len(ids)})

    FOLDER, PAUSE = os.environ["FOLDER"], float(os.environ["PAUSE"])
    spark = session()
    rows = spark.range(0, 800, numPartitions=8).mapInArrow(work, "id long, square long, executor long").collect()
    print(json.dumps({
        "master": spark.conf.get("spark.master"),
        "right": sorted((r.id, r.square) for r in rows) == [(i, i * i) for i in range(800)],
        "executors": len({r.executor for r in rows}),
    }))
"""


def test_numba_on_two_executors(cluster, tmp_path):
    assert cluster.master.startswith("spark://127.0.0.1:")
    seen = cluster.run(JOB, FOLDER=str(tmp_path), PAUSE="0.4")
    # The parent of a Python worker is the daemon of its executor, so two parents are two executors.
    assert seen == {"master": cluster.master, "right": True, "executors": 2}


def test_job_outlives_a_worker(cluster, tmp_path):
    driver = cluster.start(JOB, FOLDER=str(tmp_path), PAUSE="1.5")
    try:
        until = time.monotonic() + 120
        while len(list(tmp_path.glob("task-*"))) < 2 and time.monotonic() < until:  # a task on each executor
            assert driver.process.poll() is None, driver.result()
            time.sleep(0.05)
        cluster.kill_worker(0)
        seen = driver.result()
    finally:
        cluster.restart_worker(0)
    assert seen["right"]
    assert len(list(tmp_path.glob("task-*"))) > 8, "no task was run again, so the worker died too late"


def test_whole_again_with_settings_of_our_own(cluster, tmp_path):
    """`Cluster.session` is for a process without another context; a driver is one."""
    own = """
        from tests.cluster.standalone import Cluster
        def session():
            cluster = Cluster()
            cluster.master = os.environ["MASTER_URL"]
            return cluster.session(**{"spark.executor.memory": "600m"})
    """
    told = 'print(json.dumps([spark.conf.get("spark.executor.memory"), len({r.executor for r in rows})]))'
    text = "\n".join([textwrap.dedent(own), textwrap.dedent(JOB), told])
    seen = cluster.run(text, FOLDER=str(tmp_path), PAUSE="0.2", MASTER_URL=cluster.master, PYTHONPATH=os.getcwd())
    assert seen == ["600m", 2]
