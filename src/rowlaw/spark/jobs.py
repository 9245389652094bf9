"""How work is cut into tasks: the one way in which anything heavy is run.

A phase of an algorithm is a plain function of one picklable task, mapped over a list of tasks. :class:`SparkTasks` runs
them as one Spark job; :class:`DriverThreads` runs them in this process, for work so small that a job (about 0.1 s, and
seconds for the first one) would cost more than it brings. Both give the same answers.
"""

from __future__ import annotations

import gc
import os
import pickle
import sys
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from rowlaw.errors import RowlawError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

T = TypeVar("T")
R = TypeVar("R")

Done = Callable[[int, int], None]  # tasks finished, tasks in all

MOST_PARTITIONS = 512  # a task costs about 30 ms: more of them than this are run several to a partition


class Workers(Protocol):
    """Who does the work."""

    @property
    def slots(self) -> int:
        """How many tasks run at once."""

    def map(self, function: Callable[[T], R], tasks: Sequence[T], description: str, done: Done | None = None) -> list[R]:
        """``[function(task) for task in tasks]``; tasks that come first are started first. ``done`` hears how many are finished."""


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True, slots=True)
class DriverThreads:
    """Threads of this process: kernels and Arrow release the interpreter's lock."""

    slots: int = field(default_factory=cores)

    def map(self, function: Callable[[T], R], tasks: Sequence[T], description: str, done: Done | None = None) -> list[R]:  # noqa: ARG002 - Spark shows it
        results = []
        with ExitStack() as stack:
            if len(tasks) < 2 or self.slots < 2:
                found: Iterator[R] = map(function, tasks)
            else:
                pool = stack.enter_context(ThreadPoolExecutor(self.slots))
                found = pool.map(function, tasks)
            for result in found:
                results.append(result)
                if done is not None:
                    done(len(results), len(tasks))
        return results


@dataclass(frozen=True, slots=True)
class SparkTasks:
    """Tasks of a Spark job, in the session's Python workers."""

    session: SparkSession

    @property
    def slots(self) -> int:
        try:
            return int(self.session.sparkContext.defaultParallelism)
        except Exception:  # Spark Connect has no context; the setting is all it shows
            return int(self.session.conf.get("spark.default.parallelism", None) or 4)

    def map(
        self,
        function: Callable[[T], R],
        tasks: Sequence[T],
        description: str,
        done: Done | None = None,
        taken: Callable[[R], R] | None = None,
    ) -> list[R]:
        """As of all workers; ``taken`` is for results too large for the driver's memory (see :meth:`over`)."""
        if not tasks:
            return []
        partitions = min(len(tasks), MOST_PARTITIONS)
        # Task i goes to partition i % partitions: neighbours are often alike, and so are their costs.
        order = [i for p in range(partitions) for i in range(p, len(tasks), partitions)]
        shuffled = [tasks[i] for i in order]

        def work(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[int, R]]:
            for batch in batches:
                for i in batch.column(0).to_pylist():
                    yield i, function(shuffled[i])

        frame = self.session.range(0, len(tasks), 1, partitions)
        results = {order[i]: result for i, result in self.over(frame, work, description, done, taken)}
        return [results[i] for i in range(len(tasks))]

    def over(
        self,
        frame: DataFrame,
        work: Callable[[Iterator[pa.RecordBatch]], Iterator[tuple[int, R]]],
        description: str,
        done: Done | None = None,
        taken: Callable[[R], R] | None = None,
    ) -> list[tuple[int, R]]:
        """Run ``work`` over each partition of ``frame``: it yields numbered results, which come back in any order.

        With ``taken`` results stay on the disks of the workers until the driver takes them, one partition at a time.
        """
        packed = frame.mapInArrow(_packed(work), "id long, result binary")
        with described(self.session, description, done):
            try:
                if taken is None:
                    return [(row["id"], _unpacked(row["result"])) for row in packed.collect()]
                with _on_disk(packed) as stored:
                    return [(row["id"], taken(_unpacked(row["result"]))) for row in stored.toLocalIterator()]
            except RowlawError:
                raise
            except Exception as error:
                raise RowlawError("JOB_FAILED", job=description, problem=str(error)) from error


@contextmanager
def _on_disk(frame: DataFrame) -> Iterator[DataFrame]:
    """The frame's rows, made in one job and kept on the disks of the workers."""
    from pyspark import StorageLevel

    stored = frame.persist(StorageLevel.DISK_ONLY)
    try:
        stored.count()
        yield stored
    finally:
        stored.unpersist()


def _unpacked(result: bytes) -> Any:
    """A worker's result; its named error is raised here."""
    found = pickle.loads(result)
    if isinstance(found, RowlawError):
        raise found
    return found


@contextmanager
def described(session: SparkSession, description: str, done: Done | None = None) -> Iterator[None]:
    """Jobs started inside carry the description in Spark's UI; ``done`` hears of finished tasks. Spark Connect offers neither."""
    context = getattr(session, "_sc", None)
    if context is None:
        yield
        return
    group = f"rowlaw-{uuid.uuid4().hex}"
    context.setJobGroup(group, f"rowlaw: {description}", interruptOnCancel=True)
    over = threading.Event()
    watcher = threading.Thread(target=_watch, args=(context.statusTracker(), group, done, over), daemon=True) if done is not None else None
    if watcher is not None:
        watcher.start()
    try:
        yield
    except KeyboardInterrupt:
        context.cancelJobGroup(group)
        raise
    finally:
        over.set()
        if watcher is not None:
            watcher.join()
        for name in ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel"):
            context.setLocalProperty(name, None)


def _watch(tracker: Any, group: str, done: Done, over: threading.Event) -> None:
    while not over.wait(0.5):
        stages = [tracker.getStageInfo(stage) for job in tracker.getJobIdsForGroup(group) for stage in tracker.getJobInfo(job).stageIds]
        known = [stage for stage in stages if stage is not None]
        if known:
            done(sum(stage.numCompletedTasks for stage in known), sum(stage.numTasks for stage in known))


def _packed(
    work: Callable[[Iterator[pa.RecordBatch]], Iterator[tuple[int, Any]]],
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """``work`` as a function from batches to batches of pickles; a named error becomes a result, not a stack trace."""

    def packed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        _settle()
        try:
            for number, result in work(batches):
                yield pa.RecordBatch.from_pydict(
                    {"id": pa.array([number], pa.int64()), "result": pa.array([pickle.dumps(result)], pa.binary())}
                )
        except RowlawError as error:
            for _ in batches:  # a half-read input makes Spark complain about the wrong thing
                pass
            yield pa.RecordBatch.from_pydict({"id": pa.array([-1], pa.int64()), "result": pa.array([pickle.dumps(error)], pa.binary())})

    return packed


def _settle() -> None:
    """Once per worker: keep loaded modules out of the collection that PySpark runs after each task (30 ms saved)."""
    if not hasattr(sys, "_rowlaw_settled"):
        sys._rowlaw_settled = True  # type: ignore[attr-defined]
        gc.collect()
        gc.freeze()
