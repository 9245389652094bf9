"""Reading on a real cluster: the same codes, whether workers see the driver's files or not."""

import pytest

SETUP = """
    import numpy as np, pyarrow as pa, pyarrow.parquet as pq
    from rowlaw.relation import encode
    from rowlaw.source import open_source
    from rowlaw.spark import ship
    from rowlaw.spark.jobs import DriverThreads, SparkTasks
    import sys
    from unittest import mock
    encoding = sys.modules["rowlaw.relation.encode"]

    random = np.random.default_rng(4)
    table = pa.table({"a": random.integers(0, 50, 5000), "b": [f"x{i}" for i in random.integers(0, 900, 5000)]})
    file = os.path.join(os.environ["FOLDER"], "t.parquet")
    pq.write_table(table, file, row_group_size=700)
    spark = session()

    def facts(source, **more):
        with encode(source, **more) as made:
            values = [made.dictionary(name).to_pylist() for name in ("a", "b")]
            return [sorted(zip(*made.matrix.tolist())), values]  # Spark may read rows in another order

    here = facts(open_source(file), workers=DriverThreads())
"""


ASKED = """
    small = encoding._workers(open_source(file), spark)
    mock.patch.object(encoding, "SMALL_SOURCE", 0).start()
    large = encoding._workers(open_source(file), None)
    who = [type(small).__name__, type(large).__name__, facts(open_source(file)) == here]

    class Elsewhere(ship.SharedFolder):
        visible = False  # as if the workers had other disks

    make = ship.SharedFolder.make
    def made(folder):
        real = make(folder)
        return Elsewhere(real.path, real.mark)
    ship.SharedFolder.make = staticmethod(made)
    taken = []
    stored = encoding._Part.stored
    encoding._Part.stored = lambda self, folder: (taken.append(self.data is not None), stored(self, folder))[1]
    by_file = facts(open_source(file), workers=SparkTasks(spark))
    by_frame = facts(open_source(spark.read.parquet(file)))
    print(json.dumps([who, [by_file == here, by_frame == here, len(taken) > 4, all(taken)]]))
"""


@pytest.fixture(scope="module")
def seen(cluster, tmp_path_factory):
    """What a driver tells about both."""
    return cluster.run(SETUP + ASKED, FOLDER=str(tmp_path_factory.mktemp("table")))


def test_who_reads_what(seen):
    """Large files are read by the cluster, small ones by the driver's threads."""
    assert seen[0] == ["DriverThreads", "SparkTasks", True]


def test_workers_without_the_drivers_files(seen):
    """What they have read stays on their disks until the driver takes it, piece by piece."""
    assert seen[1] == [True, True, True, True]
