"""Starts the Java process behind a session, and keeps what it says out of sight.

Java, the launcher scripts, log4j and the Python workers all write to the standard output and error of the process that
started them. For a session that rowlaw starts they get an unnamed file instead: a table or a JSON document on our
standard output stays whole, and the text is there when something fails. ``ROWLAW_SPARK_LOG=FILE`` keeps it,
``ROWLAW_SPARK_LOG=-`` lets it through.
"""

from __future__ import annotations

import os
import tempfile
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from rowlaw.errors import RowlawError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TAIL = 4000  # characters of the log that go into an error: a Java stack trace to its first cause

# bare descriptors, newest last: they live as long as the process, and file objects would complain at its end
_logs: list[int] = []


def launch(conf: Mapping[str, str], environment: Mapping[str, str]) -> SparkSession:
    """Return a classic session in a Java process of its own with these settings; ``SPARK_FAILED`` with the end of the
    log when it does not start.

    ``PYSPARK_SUBMIT_ARGS`` keeps its meaning and has the last word, as with plain PySpark.
    """
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    gateway: Any = None
    # PySpark reads the interpreter of the workers, and Spark its Java, from the environment and from nowhere else.
    with _environment(environment), warnings.catch_warnings():
        # Python 3.12 warns about any fork of a process with threads; the child only runs exec.
        warnings.filterwarnings("ignore", message=".*multi-threaded.*fork", category=DeprecationWarning)
        try:
            # a stopped session left its Java process: options of Java itself come too late
            if SparkContext._gateway is not None:
                context = SparkContext(conf=_fill(SparkConf(), conf))
            else:
                gateway = launch_gateway(_fill(SparkConf(loadDefaults=False), conf), popen_kwargs=_output())  # type: ignore[no-untyped-call]
                context = SparkContext(gateway=gateway)
            return SparkSession(context)
        except Exception as error:
            problem = _reason(error)  # before the end of Java adds to the log
            if gateway is not None:
                end(gateway)  # or the next attempt would inherit the settings of this one
            raise RowlawError("SPARK_FAILED", problem=problem) from error


def end(gateway: Any) -> None:
    """End the Java process of this gateway and wait for it; PySpark itself only lets go of it when Python ends."""
    from pyspark import SparkContext

    if SparkContext._gateway is gateway:
        SparkContext._gateway = SparkContext._jvm = None
    with suppress(Exception):
        gateway.shutdown()
    if gateway.proc is not None:
        with suppress(OSError):
            gateway.proc.stdin.close()  # the signal to end that Spark listens for
        gateway.proc.wait()


def log_tail(characters: int = _TAIL) -> str:
    """Return the end of what Java and the workers have written so far, empty for sessions that were not started
    here."""
    if not _logs:
        return ""
    try:
        size = os.fstat(_logs[-1]).st_size
        start = max(0, size - 4 * characters)
        # pread: the processes write at the position that the file shares with them, and it must not move.
        return os.pread(_logs[-1], size - start, start).decode(errors="replace")[-characters:].strip()
    except OSError:
        return ""


def _output() -> dict[str, Any]:
    wanted = os.environ.get("ROWLAW_SPARK_LOG", "")
    if wanted == "-":
        return {}
    with open(wanted, "ab+", buffering=0) if wanted else tempfile.TemporaryFile(buffering=0) as file:
        _logs.append(os.dup(file.fileno()))
    return {"stdout": _logs[-1], "stderr": _logs[-1]}


def _reason(error: Exception) -> str:
    """Return what Python was told, without the Java stack that follows it, and the end of the log, which has the
    cause."""
    said = "\n".join(takewhile(lambda line: not line.lstrip().startswith("at "), str(error).splitlines()))
    return "\n".join(filter(None, [said, log_tail()]))


def _fill(conf: Any, settings: Mapping[str, str]) -> Any:
    for name, value in settings.items():
        conf.set(name, value)
    return conf


_changing = threading.Lock()


@contextmanager
def _environment(changes: Mapping[str, str]) -> Iterator[None]:
    with _changing:
        before = {name: os.environ.get(name) for name in changes}
        os.environ.update(changes)
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value
