"""Which engine answers about a file: by its size, and by the session that is given."""

import pyarrow as pa
import pytest

from rowlaw.engine import choose as module
from rowlaw.engine.choose import choose
from rowlaw.engine.spark.limits import SparkLimits
from rowlaw.source.source import FileSource

MIB = 1 << 20
HERE, CLUSTER = "a local session", "a session on a cluster"


class Piece:
    """A split of a file that nobody reads."""

    columnar = True

    def __init__(self, size):
        self.size = size


@pytest.mark.parametrize(
    ("size", "session", "asked", "name", "why"),
    [
        (5, None, "auto", "local", "5 bytes are read into this process"),
        (63 * MIB, CLUSTER, "auto", "local", "63 MB are read into this process"),
        (64 * MIB, None, "auto", "local", "64 MB fit the memory of this process"),
        (256 * MIB, HERE, "auto", "local", "256 MB fit the memory of this process"),
        (64 * MIB, CLUSTER, "auto", "spark", "64 MB are read by the workers of the cluster"),
        (257 * MIB, None, "auto", "spark", "257 MB are read by Spark's workers"),
        (5, None, "spark", "spark", "asked for"),
        (999 * MIB, CLUSTER, "local", "local", "asked for"),
    ],
)
def test_a_file(monkeypatch, size, session, asked, name, why):
    monkeypatch.setattr(module, "runs_here", lambda session: session == HERE)
    source = FileSource("table", pa.schema([("a", pa.int64())]), (Piece(size),))
    choice, _ = choose(source, asked, ["a"], 1, session, SparkLimits())
    assert (choice.name, choice.why) == (name, why)
