"""Discovery on a real cluster: the same rules as in threads, with every heavy phase done by workers, also when one of
them dies."""

import time

import pytest

SETUP = """
    import numpy as np, pyarrow as pa
    from unittest import mock
    from rowlaw.discovery import shared
    from rowlaw.discovery.discover import run
    from rowlaw.engine.local import contexts, rows
    from rowlaw.engine.local.engine import LocalEngine
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

    def noted(self, function, tasks, description, *more, **named):
        if description != "look for shared files":
            phases.append(description.split(" ")[0])
        return usual(self, function, tasks, description, *more, **named)

    jobs.SparkTasks.map = noted

    def rules(strategy, kinds=("dc",), error=0.0):
        engine = LocalEngine(relation, session=spark)
        found = run(engine, SpaceOptions(cross=False), kinds=kinds, strategy=strategy, error=error)
        return sorted(str(r.rule) for r in found)

    def by_workers():
        '''From here on workers do what they can, however little it is.'''
        for module, name in ((rows, "THREAD_SECONDS"), (shared, "ALONE_SECONDS"), (contexts, "ALONE_SECONDS")):
            mock.patch.object(module, name, 0.0).start()  # an error if there is no such name any more
        mock.patch.object(shared, "MOST_ROWS", 1).start()
"""

ASK = """
    here = [rules("pairs"), rules("sample")]
    by_workers()
    there = [rules("pairs"), rules("sample")]
    print(json.dumps([here[0] == here[1] == there[0] == there[1], len(here[0]), sorted(set(phases))]))
"""


def test_the_same_rules(cluster):
    same, number, phases = cluster.run(SETUP + ASK)
    assert same
    assert number > 10
    # sampling, tiles, the branches of the search and the questions to the engine
    assert {"sample", "evidence", "search", "look"} <= set(phases)


DEPENDENCIES = """
    from rowlaw import Laws
    kinds = ("key", "fd", "od")
    def all_ways():
        return [rules("sample", kinds), rules("levels", kinds), rules("sample", kinds, error=0.02)]
    def made(name):
        laws = Laws.create(os.path.join(os.environ["FOLDER"], name), table.slice(0, 500), progress=False)
        first = sorted(str(r.rule) for r in laws.rules)
        laws.apply(table.slice(500), table.slice(0, 20))
        return [first, sorted(str(r.rule) for r in laws.rules)]
    here, state = all_ways(), made("here")
    assert not phases, phases
    by_workers()
    ways = [here == all_ways(), [len(laws) for laws in here], sorted(set(phases))]
    phases.clear()
    print(json.dumps([ways, [state == made("there"), state[0] == state[1], sorted(set(phases))]]))
"""


@pytest.fixture(scope="module")
def seen(cluster, tmp_path_factory):
    """What a driver tells about dependencies and about a state."""
    return cluster.run(SETUP + DEPENDENCIES, FOLDER=str(tmp_path_factory.mktemp("states")))


def test_the_same_dependencies(seen):
    """Keys, functional dependencies and order compatibilities, without exceptions and with some, and as HyOD was
    published."""
    same, numbers, phases = seen[0]
    assert same
    assert numbers[0] == numbers[1]
    assert all(number > 5 for number in numbers)
    # questions about contexts, and a level of HyOD
    assert {"ask", "validate"} <= set(phases)


def test_a_state_is_made_and_changed(seen):
    """`init` and `apply` find the session by themselves; a growing table writes the files that workers need."""
    same, unchanged, phases = seen[1]
    assert same
    assert not unchanged
    assert {"evidence", "ask"} & set(phases)


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
