"""How much work goes into one task, and when a plan pays. All numbers that the plans choose by are here.

A Python task holds the rows of its partition in Arrow, encodes them and counts. How many rows that may be follows from
the memory that the session gives a Python worker (:func:`limits_of`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rowlaw.spark.jobs import SparkTasks, cores
from rowlaw.spark.session import machine_memory

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

UNKNOWN_TASK_BYTES = 128 << 20  # Arrow data of a task where the session does not tell its memory: a worker of 896 MiB
MOST_TASK_BYTES = 256 << 20  # more saves no time
LEAST_TASK_BYTES = 8 << 20
_WORKER_BYTES = 256 << 20  # of a Python worker without rows: the interpreter, NumPy, Arrow, Numba
_TASK_COPIES = 5  # Arrow data, about three times as much to encode and count it, and room for a wrong estimate
# of the machine's memory beside the Java heap that Python workers of a local session may take together
_LOCAL_SHARE = 0.5
# Spark's defaults of spark.executor.memoryOverheadFactor and its minimum
OVERHEAD_FACTOR, LEAST_OVERHEAD = 0.1, 384 << 20
_KUBERNETES_FACTOR = 0.4  # Spark's default there for programs in Python
_EXECUTOR_MEMORY = 1 << 30  # Spark's default of spark.executor.memory


# a setting of the session: bytes of encoded columns that may be brought to the driver
_DRIVER_BYTES = "spark.rowlaw.driverBytes"
_RESULT_BYTES = "spark.driver.maxResultSize"
_RESULT_SHARE = 0.5  # of what one job may bring: a sample's size is an estimate


@dataclass(frozen=True, slots=True)
class SparkLimits:
    """Limits of the plans. Tests set them so low that small tables go through every plan."""

    task_bytes: int = UNKNOWN_TASK_BYTES  # Arrow data of one Python task
    group_share: float = 1.0  # a group with more rows than this share of a task's rows is cut by buckets
    histogram_cells: int = 1 << 20  # cells of the histogram of buckets that the driver sums up
    sample_rows: int = 50_000  # rows that large groups and borders of buckets are estimated from
    learnt_rows: int = 60_000  # rows that discovery takes evidence from; more of a large table, as follows
    learnt_share: float = 0.1  # of the table's rows: what they refute is not asked of Spark
    learnt_bytes: int = 256 << 20  # Arrow data of these rows, at most
    buckets: int = 64  # of each compared column, at most
    fold_share: float = 0.2  # distinct rows of a fold, as a share of the table's rows: more are not worth the way
    driver_bytes: int = 256 << 20  # encoded columns that may be brought to the driver (docs/spark.md)

    def rows_to_learn(self, rows: int, row_bytes: int) -> int:
        """How many rows of a table discovery takes evidence from, about.

        >>> limits = SparkLimits()
        >>> limits.rows_to_learn(100_000, 250), limits.rows_to_learn(2_000_000, 250), limits.rows_to_learn(10**9, 250)
        (60000, 200000, 1073741)
        """
        return max(self.learnt_rows, min(int(self.learnt_share * rows), self.learnt_bytes // row_bytes))


ROW_OVERHEAD = 16  # bytes of a row in Arrow beside its values: role, number, offsets
# bytes of a value in Arrow; texts on average
VALUE_BYTES = {"number": 8, "boolean": 1, "date": 4, "timestamp": 8, "text": 24}


def limits_of(session: SparkSession) -> SparkLimits:
    """The limits for the workers of a session; what it does not tell is assumed."""
    settings = _settings(session)
    brought = settings(_DRIVER_BYTES)
    known = {} if brought is None else {"driver_bytes": int(brought)}
    with suppress(Exception):  # a setting that is no number, a platform that hides its own
        known["task_bytes"] = task_bytes(settings, SparkTasks(session).slots)
    with suppress(Exception):
        if most := _bytes(settings(_RESULT_BYTES) or "0"):
            known["learnt_bytes"] = min(SparkLimits().learnt_bytes, int(_RESULT_SHARE * most))
    return SparkLimits(**known)


def _settings(session: SparkSession) -> Callable[[str], str | None]:
    def get(name: str) -> str | None:
        with suppress(Exception):  # managed platforms refuse some settings
            return session.conf.get(name, None)
        return None

    return get


def task_bytes(get: Callable[[str], str | None], slots: int) -> int:
    """Arrow data of one Python task, from Spark's settings; ``slots``: tasks that run at once in the whole session.

    >>> settings = {"spark.master": "yarn", "spark.executor.memoryOverhead": "4g", "spark.executor.cores": "4"}
    >>> task_bytes(settings.get, 40) >> 20
    153
    """
    memory = worker_memory(get, slots)
    if memory is None:
        return UNKNOWN_TASK_BYTES
    return min(max((memory - _WORKER_BYTES) // _TASK_COPIES, LEAST_TASK_BYTES), MOST_TASK_BYTES)


def worker_memory(get: Callable[[str], str | None], slots: int) -> int | None:
    """Bytes that one Python worker may take; None where the settings do not tell.

    What is set for Python (``spark.executor.pyspark.memory``), else the memory of an executor beside its Java heap,
    else, in a local session, a share of the machine's; divided by the tasks that an executor runs at once.
    """
    master = get("spark.master")
    if master is None:  # a managed platform, which has its own limits
        return None
    local = re.fullmatch(r"local(?:\[(\d+|\*)(?:,.*)?\])?", master)
    at_once = get("spark.executor.cores")
    tasks = int(at_once) if at_once else _local_cores(local[1]) if local else _cores_by_default(master, slots)
    python = get("spark.executor.pyspark.memory")
    if python is not None:
        return _bytes(python) // max(1, tasks)
    if local:
        heap = _bytes(get("spark.driver.memory") or "1g")
        return int(max(0, machine_memory() - heap) * _LOCAL_SHARE) // max(1, tasks)
    overhead = get("spark.executor.memoryOverhead")
    if overhead is not None:
        return _bytes(overhead) // max(1, tasks)
    if master.startswith("spark://"):  # a standalone cluster limits the Java heap only
        return None
    heap = _bytes(get("spark.executor.memory") or str(_EXECUTOR_MEMORY >> 20))
    factor = float(
        get("spark.executor.memoryOverheadFactor")
        or (_KUBERNETES_FACTOR if master.startswith("k8s") else OVERHEAD_FACTOR)
    )
    return max(int(heap * factor), LEAST_OVERHEAD) // max(1, tasks)


def _local_cores(named: str | None) -> int:
    """Tasks of a local session: ``local``, ``local[4]``, ``local[*]``."""
    return 1 if named is None else cores() if named == "*" else int(named)


def _cores_by_default(master: str, slots: int) -> int:
    """Cores of an executor where no setting says so: one, except on a standalone cluster, where it takes all that a
    machine has."""
    in_one_process = re.fullmatch(r"local-cluster\[\s*\d+\s*,\s*(\d+)\s*,\s*\d+\s*\]", master)
    if in_one_process:
        return int(in_one_process[1])
    return slots if master.startswith("spark://") else 1


def _bytes(setting: str) -> int:
    """A size as Spark writes it; a number alone is in MiB.

    >>> _bytes("2g") == 2 << 30, _bytes("512") == 512 << 20, _bytes("1024kb") == 1 << 20
    (True, True, True)
    """
    number, unit = re.fullmatch(r"\s*(\d+)\s*([bkmgtp]?)b?\s*", setting.lower()).groups()  # type: ignore[union-attr]
    return int(number) << {"b": 0, "k": 10, "m": 20, "": 20, "g": 30, "t": 40, "p": 50}[unit]
