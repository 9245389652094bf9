"""One real cluster for all tests of this folder: a standalone master and two workers with one core each, on loopback.

How to write a test here: a process has room for one Spark context, so the driver is Python text that `cluster.run`
executes in a process of its own. The text finds `json`, `os` and `session()` (a session on the cluster, as rowlaw
starts it) and prints its result as JSON in its last line, which `run` gives back. A driver that fails, or that writes
to standard error, fails the test with all it said. For a job to disturb, `cluster.start` gives the running driver; let
the tasks leave files in `tmp_path` (all processes share this machine) to know how far it is, use
`cluster.kill_worker(i)`, and `cluster.restart_worker(i)` afterwards for the tests that follow.

    def test_count(cluster):
        assert cluster.run("print(json.dumps(session().range(10).count()))") == 10
"""

import pytest

from tests.cluster.standalone import Cluster


@pytest.fixture(scope="session")
def cluster():
    with Cluster(workers=2, cores=1, memory="2g") as running:
        yield running
