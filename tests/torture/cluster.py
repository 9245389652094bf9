"""Kills a worker of a real cluster in every phase that runs there, and compares what comes out with the driver's
threads."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from tests.cluster.standalone import Cluster
from tests.torture.outcome import Outcome

LEAST = 6  # phases that must have been met, or the driver did not do what it is there for

# The driver does everything twice: in threads, and on the cluster, where each first job of a phase waits in its tasks
# for the kill.
DRIVER = """
    import time
    from unittest import mock
    import numpy as np, pyarrow as pa, pyarrow.parquet as pq
    from rowlaw.discovery import shared
    from rowlaw.discovery.discover import run
    from rowlaw.engine.local import rows as module, tasks
    from rowlaw.engine.local.engine import LocalEngine
    from rowlaw.predicates import SpaceOptions
    from rowlaw.relation import encode
    from rowlaw.rules import parse
    from rowlaw.source import open_source
    from rowlaw.spark import jobs

    FOLDER = os.environ["FOLDER"]
    random = np.random.default_rng(3)
    n = 600
    a, x = random.integers(0, 60, n), random.integers(0, 500, n)
    ways = (("dc",), "pairs"), (("dc",), "sample"), (("key", "fd", "od"), "sample"), (("fd", "od"), "levels")
    y, z = x * 3 + random.integers(0, 3, n), random.integers(0, 4, n)
    table = pa.table({"a": a, "b": a // 7, "x": x, "y": y, "z": z})
    pq.write_table(table, FOLDER + "/table.parquet")
    texts = "key (a, b, x)", "fd (a) -> x", "od {a}: x ~ y", "not (s.x < t.y and s.b != t.b and s.z < t.z)"
    rules = [parse(text) for text in texts]
    spark = session()
    usual = jobs.SparkTasks.map

    def waiting(function, folder, phase):
        def work(task):
            import os, time
            open(f"{folder}/{phase}-{os.getpid()}-{time.time_ns()}.begun", "w").close()
            until = time.monotonic() + 60
            while not os.path.exists(f"{folder}/{phase}.killed") and time.monotonic() < until:
                time.sleep(0.02)
            return function(task)
        return work

    def disturbed(self, function, tasks, description, *more, **named):
        phase = " ".join([word for word in description.split() if word.isalpha()][:3])
        if not os.path.exists(f"{FOLDER}/{phase}.killed"):
            function = waiting(function, FOLDER, phase)
        return usual(self, function, tasks, description, *more, **named)

    def all_of_it(workers, session):
        relation = encode(open_source(FOLDER + "/table.parquet"), workers=workers)
        counts = LocalEngine(relation, workers=workers).count(rules)
        found = [(c.pairs, c.rows.tolist(), c.per_row.tolist()) for c in counts]
        engine = LocalEngine(relation, session=session)
        for kinds, strategy in ways:
            discovered = run(engine, SpaceOptions(cross=False), kinds=kinds, strategy=strategy)
            found.append(sorted(str(r.rule) for r in discovered))
        return found

    here = all_of_it(jobs.DriverThreads(), None)
    jobs.SparkTasks.map = disturbed
    for where, name in ((tasks, "SPLIT_SECONDS"), (module, "THREAD_SECONDS"), (shared, "ALONE_SECONDS")):
        mock.patch.object(where, name, 0.0).start()  # an error if there is no such name any more
    there = all_of_it(jobs.SparkTasks(spark), spark)
    print(json.dumps([here == there, len(here[-1])]))
"""


def run(seconds: float = 400) -> Outcome:
    """One driver; in each phase of it a worker is killed while its tasks run, and another one takes its place."""
    outcome = Outcome("cluster", "a worker killed in every distributed phase")
    killed: list[str] = []
    with tempfile.TemporaryDirectory() as folder, Cluster(workers=2, cores=1) as cluster:
        home = Path(folder)
        driver = cluster.start(DRIVER, FOLDER=folder)
        until = time.monotonic() + seconds
        while driver.process.poll() is None and time.monotonic() < until:
            begun = {name.name.split("-")[0] for name in home.glob("*.begun")} - set(killed)
            for phase in sorted(begun):
                cluster.kill_worker(len(killed) % 2)
                (home / f"{phase}.killed").touch()
                cluster.restart_worker(len(killed) % 2)
                killed.append(phase)
            time.sleep(0.05)
        try:
            same, rules = driver.result(max(1.0, until - time.monotonic()))
        except Exception as error:
            outcome.failures.append(f"the driver failed after kills in {killed}: {str(error)[-800:]}")
            same, rules = True, 1
    outcome.cases = len(killed)
    outcome.facts = {"phases": killed}
    if not same or not rules:
        outcome.failures.append("the cluster found something else than the driver's threads")
    if len(killed) < LEAST:
        outcome.failures.append(f"only these phases were met: {killed}")
    return outcome
