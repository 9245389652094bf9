"""The Spark session that work runs in: that of the frame, else the active one, else a local one that is started here.

A session that somebody else started is used as it is. One that is started here is set up for a command line on one
machine: quick to start, silent, and with workers that run this very Python.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rowlaw.cache import numba_cache
from rowlaw.errors import RowlawError
from rowlaw.spark import cds
from rowlaw.spark.java import find_java
from rowlaw.spark.jobs import cores
from rowlaw.spark.launch import launch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOCAL = "local[*]"
_LOOPBACK = "127.0.0.1"
CONNECT_SECONDS = 10
# starts a little sooner; an aggregate of 5M rows takes about three times as long (decision 17)
_QUICK_COMPILER = "-XX:TieredStopAtLevel=1"
_HEAP = 4 << 30  # bytes at most: kernels and the encoded table live outside the Java heap

_starting = threading.Lock()


def session(frame: object = None, master: str | None = None, *, short: bool = False) -> SparkSession:
    """Return the session to use for ``frame``; ``master`` says where to run when one has to be started (``local[2]``,
    ``spark://...``, ``sc://...``).

    ``short``: what it will do is known to be little, so a session that is started uses Java's quick compiler only.
    ``session().range(3).count()`` starts a local one, runs a job and gives 3; a second ``session()`` is the same
    session.
    """
    own = getattr(frame, "sparkSession", None)
    if own is not None:
        return own  # type: ignore[no-any-return]
    with _starting:
        return _checked(active_session() or _new(master or _LOCAL, short=short), master)


def settings(master: str, java_options: Sequence[str] = (), *, short: bool = False) -> dict[str, str]:
    """Return what a session that is started here is given, as Spark configuration. ``short``: for a run that is known
    to be short.

    >>> settings("local[*]")["spark.sql.session.timeZone"]
    'UTC'
    """
    conf = {
        "spark.master": master,
        "spark.app.name": "rowlaw",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.python.worker.reuse": "true",  # off costs 2.6 s per job
        "spark.pyspark.python": _python(master),
        "spark.executorEnv.NUMBA_CACHE_DIR": str(numba_cache()),
        "spark.driver.memory": f"{_heap() >> 20}m",
        "spark.driver.defaultJavaOptions": " ".join([*([_QUICK_COMPILER] if short else []), *java_options]),
        "spark.sql.adaptive.enabled": "true",
    }
    if _is_local(master):
        conf["spark.sql.shuffle.partitions"] = str(max(2, cores()))
        conf["spark.driver.host"] = conf["spark.driver.bindAddress"] = _LOOPBACK
    return conf


def active_session() -> SparkSession | None:
    """Return the session of this process if it has one; never starts one."""
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is None and not _by_connect():
        from pyspark import SparkContext

        # A session is active only in the thread that made it; any other thread finds it through the one context of the
        # process.
        if SparkContext._active_spark_context is not None:
            return SparkSession.builder.getOrCreate()
    return active


def runs_here(session: SparkSession) -> bool:
    """Return whether the session's workers are processes of this machine, with this machine's files."""
    return _is_local(session.conf.get("spark.master", None) or _LOCAL)


def cluster(given: SparkSession | None = None) -> SparkSession | None:
    """Return the session given, else the active one, if its workers have other cores than this process; never starts
    one."""
    if given is None and "pyspark" in sys.modules:  # else there is none, and PySpark is slow to import
        given = active_session()
    return None if given is None or runs_here(given) else given


def by_connect(given: SparkSession) -> bool:
    """Return whether the session is one of Spark Connect, whose server may be anywhere."""
    return type(given).__module__.startswith("pyspark.sql.connect")


def start(master: str, java_options: Sequence[str] = (), *, short: bool = False) -> SparkSession:
    """Start a classic session on ``master`` in this process, which must have none, with additional options of its
    Java."""
    environment = {"JAVA_HOME": str(find_java().home), "PYSPARK_PYTHON": _python(master)}
    if _is_local(master):
        environment["SPARK_LOCAL_IP"] = _LOOPBACK  # spares a name lookup, which can take seconds without a network
    return launch(settings(master, java_options, short=short), environment)


def _new(master: str, *, short: bool = False) -> SparkSession:
    from pyspark.sql import SparkSession

    if master.startswith("sc://"):
        return _connect(master)
    # the latter is set by spark-submit, which has the settings already
    if _by_connect() or "PYSPARK_GATEWAY_PORT" in os.environ:
        return SparkSession.builder.getOrCreate()
    return start(master, cds.options(find_java()), short=short)


def _connect(url: str) -> SparkSession:
    """Return a session on a Spark Connect server. Without a look whether one answers, PySpark would try for more than a
    minute."""
    from pyspark.errors import PySparkImportError, PySparkValueError
    from pyspark.sql import SparkSession

    try:
        import grpc
        from pyspark.sql.connect.client import DefaultChannelBuilder

        with DefaultChannelBuilder(url).toChannel() as channel:
            grpc.channel_ready_future(channel).result(timeout=CONNECT_SECONDS)
        return SparkSession.builder.remote(url).getOrCreate()
    except (PySparkImportError, ImportError) as error:
        raise RowlawError(
            "MISSING_PACKAGE", what="Spark Connect", package="grpcio", install="rowlaw[connect]"
        ) from error
    except PySparkValueError as error:
        raise RowlawError("BAD_OPTION", option="master", value=url, problem=str(error)) from error
    except grpc.FutureTimeoutError:
        problem = f"no Spark Connect server answers at {url} within {CONNECT_SECONDS} s"
        raise RowlawError("SPARK_FAILED", problem=problem) from None


def _by_connect() -> bool:
    """Return whether the environment says that PySpark itself would answer with Spark Connect."""
    from pyspark.sql.utils import is_remote

    return is_remote() or "SPARK_REMOTE" in os.environ or os.environ.get("SPARK_API_MODE", "").lower() == "connect"


def _checked(found: SparkSession, master: str | None) -> SparkSession:
    """Return a wish for another master than that of the running session cannot be met: a process has one Spark
    context."""
    if master is not None:
        actual = found.conf.get("spark.master", None)  # by Spark Connect that of the server
        if not by_connect(found) if master.startswith("sc://") else actual not in (None, master):
            raise RowlawError(
                "BAD_OPTION", option="master", value=master, problem=f"a session on {actual} is running; stop it first"
            )
    return found


def _is_local(master: str) -> bool:
    return master.partition("[")[0] == "local"


def _python(master: str) -> str:
    """Return the interpreter of the workers. On a cluster it has to be at the same path on every machine, or
    PYSPARK_PYTHON says where it is."""
    named = os.environ.get("PYSPARK_PYTHON")
    return named if named and not _is_local(master) else sys.executable


def machine_memory() -> int:
    """Bytes of memory that this machine, or the control group of this process, has."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            with open(limit) as file:
                memory = min(memory, int(file.read()))
        except (OSError, ValueError):  # no such control group, or "max"
            continue
    return memory


def _heap() -> int:
    """Return a quarter of the memory, between 1 and 4 GiB."""
    return min(max(machine_memory() // 4, 1 << 30), _HEAP)
