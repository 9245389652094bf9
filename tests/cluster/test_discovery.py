"""Discovery on a real cluster: the same rules as in threads, with every heavy phase done by workers, also when one of them dies."""

import time

SETUP = """
    import numpy as np, pyarrow as pa
    from rowlaw.discovery import shared
    from rowlaw.discovery.discover import run
    from rowlaw.engine import engine
    from rowlaw.predicates import SpaceOptions
    from rowlaw.relation import encode
    from rowlaw.source import open_source
    from rowlaw.spark import jobs

    random = np.random.default_rng(3)
    n = 600
    a = random.integers(0, 60, n)
    x = random.integers(0, 500, n)
    z, w = random.integers(0, 4, n), random.integers(0, 900, n)
    table = pa.table({"a": a, "b": a // 7, "x": x, "y": x * 3 + random.integers(0, 3, n), "z": z, "w": w})
    relation = encode(open_source(table))
    spark = session()
    phases = []
    usual = jobs.SparkTasks.map

    def noted(self, function, tasks, description, done=None):
        phases.append(description.split(" ")[0])
        return usual(self, function, tasks, description, done)

    jobs.SparkTasks.map = noted

    def rules(strategy):
        found = run(relation, SpaceOptions(cross=False), kinds=("dc",), strategy=strategy, session=spark)
        return sorted(str(r.rule) for r in found)
"""

ASK = """
    here = [rules("pairs"), rules("sample")]
    engine.THREAD_SECONDS, shared.ALONE = 0.0, 0.0
    there = [rules("pairs"), rules("sample")]
    print(json.dumps([here[0] == here[1] == there[0] == there[1], len(here[0]), sorted(set(phases))]))
"""


def test_the_same_rules(cluster):
    same, number, phases = cluster.run(SETUP + ASK)
    assert same
    assert number > 10
    # sampling, tiles, the branches of the search and the questions to the engine
    assert {"sample", "evidence", "search", "look"} <= set(phases)


def test_a_worker_that_dies(cluster, tmp_path):
    """The worker is killed once discovery has begun to hand out work."""
    marked = SETUP.replace("phases.append(", 'open(os.environ["MARK"], "a").close(); phases.append(')
    mark = tmp_path / "begun"
    driver = cluster.start(marked + ASK, MARK=str(mark))
    try:
        until = time.monotonic() + 120
        while not mark.exists() and time.monotonic() < until:
            assert driver.process.poll() is None, driver.result()
            time.sleep(0.05)
        cluster.kill_worker(1)
        same, number, _ = driver.result()
    finally:
        cluster.restart_worker(1)
    assert same
    assert number > 10
