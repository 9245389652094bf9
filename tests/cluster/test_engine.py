"""The engine on a real cluster: the same counts, also when a worker dies and when workers do not share the driver's
files."""

import os
import time

import pytest

SETUP = """
    import numpy as np, pyarrow as pa
    import rowlaw
    from rowlaw.engine.local import rows as module, tasks
    from rowlaw.engine.local.engine import LocalEngine
    from rowlaw.relation import encode
    from rowlaw.rules import parse
    from rowlaw.source import open_source
    from rowlaw.spark.jobs import DriverThreads, SparkTasks

    random = np.random.default_rng(2)
    n = 20_000
    sizes = {"a": 50, "b": 5, "x": 2000, "y": 2000}
    table = pa.table({name: random.integers(0, size, n) for name, size in sizes.items()})
    texts = "key (a, b, x)", "fd (a) -> b", "od {a}: x ~ y", "od {}: x ~ y", "not (s.x < t.y and s.b != t.b)"
    rules = [parse(text) for text in texts]
    spark = session()
    tasks.SPLIT_SECONDS = 0.0

    def same(one, other):
        facts = [[(c.pairs, c.rows.tolist(), c.per_row.tolist()) for c in counts] for counts in (one, other)]
        return facts[0] == facts[1]
"""


ASKED = """
    relation = encode(open_source(spark.createDataFrame(table)))
    here = LocalEngine(relation, workers=DriverThreads()).count(rules)
    there = LocalEngine(relation, workers=SparkTasks(spark)).count(rules)
    at_once, module.AT_ONCE = module.AT_ONCE, 0  # results come by way of the workers' disks
    large = LocalEngine(relation, workers=SparkTasks(spark)).count(rules)
    module.AT_ONCE = at_once
    result = rowlaw.check(spark.createDataFrame(table.slice(0, 2000)), "fd (a) -> b", progress=False)
    frame = result.violations("R1").count() == result.counts["R1"]
    alike = [same(here, there) and same(here, large), frame, sum(c.pairs for c in here) > 10**8]

    from rowlaw.spark.ship import send_files
    relation = encode(open_source(table))
    here = LocalEngine(relation, workers=DriverThreads()).count(rules)
    send_files(spark, relation.folder)
    folder = relation.folder
    engine = LocalEngine(relation, workers=SparkTasks(spark))
    engine._scales.compared("x", "y")  # the driver reads its dictionaries while it can
    os.rename(folder, str(folder) + "-moved")
    try:
        LocalEngine.ship = lambda self, session: None
        there = engine.count(rules)
    finally:
        os.rename(str(folder) + "-moved", folder)
    print(json.dumps([alike, same(here, there)]))
"""


@pytest.fixture(scope="module")
def seen(cluster):
    """What a driver tells about both."""
    return cluster.run(SETUP + ASKED)


def test_the_same_results(seen):
    assert seen[0] == [True, True, True]


def test_workers_without_the_drivers_files(seen):
    """The files are sent, and then the folder is moved away: workers must find what they were sent."""
    assert seen[1] is True


def test_a_worker_dies_in_the_middle(cluster, tmp_path):
    driver = cluster.start(
        SETUP
        + """

    class Slow(tasks.Counting):
        '''Leaves a mark for each task, and gives the test time to kill a worker.'''
        def __call__(self, task):
            import os, time
            open(os.path.join(FOLDER, f"task-{os.getpid()}-{time.time_ns()}"), "w").close()
            time.sleep(1.0)
            return super().__call__(task)

    FOLDER = os.environ["FOLDER"]
    relation = encode(open_source(table))
    here = LocalEngine(relation, workers=DriverThreads()).count(rules)
    module.Counting = Slow
    there = LocalEngine(relation, workers=SparkTasks(spark)).count(rules)
    print(json.dumps(same(here, there)))
""",
        FOLDER=str(tmp_path),
    )
    try:
        until = time.monotonic() + 150
        while len(os.listdir(tmp_path)) < 3 and time.monotonic() < until:
            assert driver.process.poll() is None, driver.result()
            time.sleep(0.05)
        cluster.kill_worker(1)
        assert driver.result() is True
    finally:
        cluster.restart_worker(1)
