"""How work is cut into tasks: the one way in which anything heavy is run.

A phase of an algorithm is a plain function of one picklable task, mapped over a list of tasks. :class:`SparkTasks` runs
them as one Spark job; :class:`DriverThreads` runs them in this process, for work so small that a job (about 0.1 s, and
seconds for the first one) would cost more than it brings. Both give the same answers.
"""

from __future__ import annotations

import gc
import math
import os
import pickle
import queue
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from rowlaw.errors import RowlawError
from rowlaw.stopping import NEVER, Stop, Stopped

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

T = TypeVar("T")
R = TypeVar("R")

Done = Callable[[int, int], None]  # tasks finished, tasks in all

_LOOK_SECONDS = 0.02  # between two looks at a request to stop
_FAILED, _ENDED = -1, -2  # in the place of a task's number
_GRACE_SECONDS = 0.3  # for tasks to end by themselves once they are asked to stop
_JOB_PROPERTIES = ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel")
_CAUSE_LINES = 60  # of what Spark says of a failed job: a Python traceback is among them
_MOST_PARTITIONS = 512  # a task costs about 30 ms: more of them than this are run several to a partition


class Workers(Protocol):
    """Threads or processes that run tasks."""

    @property
    def slots(self) -> int:
        """How many tasks run at once."""

    @property
    def session(self) -> SparkSession | None:
        """The Spark session whose workers run the tasks; None: this process does, and tasks may use its memory."""

    def map(
        self,
        function: Callable[[T], R],
        tasks: Sequence[T],
        description: str,
        done: Done | None = None,
        *,
        large: bool = False,
        stop: Stop = NEVER,
    ) -> list[R]:
        """``[function(task) for task in tasks]``; tasks that come first are started first. ``done`` gets the count of
        finished tasks.

        ``large``: the results together may be too large to be collected at once.
        Raises :class:`Stopped` soon after ``stop`` is requested, also if a task does not end by itself then.
        """


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True, slots=True)
class DriverThreads:
    """Threads of this process: kernels and Arrow release the interpreter's lock."""

    slots: int = field(default_factory=cores)

    @property
    def session(self) -> None:
        """Threads need none."""

    def map(
        self,
        function: Callable[[T], R],
        tasks: Sequence[T],
        description: str,  # noqa: ARG002 - Spark shows it
        done: Done | None = None,
        *,
        large: bool = False,  # noqa: ARG002 - the results are in this process anyway
        stop: Stop = NEVER,
    ) -> list[R]:
        if stop is not NEVER:
            return _until_stopped(function, tasks, self.slots, done, stop)
        results = []
        with ExitStack() as stack:
            if len(tasks) < 2 or self.slots < 2:
                answers: Iterator[R] = map(function, tasks)
            else:
                pool = stack.enter_context(ThreadPoolExecutor(self.slots))
                answers = pool.map(function, tasks)
            for result in answers:
                results.append(result)
                if done is not None:
                    done(len(results), len(tasks))
        return results


def finished(function: Callable[[], R], stop: Stop, grace: float = _GRACE_SECONDS, *, quick: bool = False) -> R:
    """Return the result of a function; raises :class:`Stopped` if there is none ``grace`` seconds after a stop is
    requested.

    The function then goes on in a thread that is not waited for. Its effects must not matter. ``quick``: it takes less
    than ``grace``, so it is called in this thread, unless a stop is requested already.
    """
    if stop is NEVER or quick:
        stop.check()
        return function()
    return _until_stopped(lambda call: call(), [function], 1, None, stop, grace)[0]


def _until_stopped(
    function: Callable[[T], R],
    tasks: Sequence[T],
    threads: int,
    done: Done | None,
    stop: Stop,
    grace: float = _GRACE_SECONDS,
) -> list[R]:
    """Return the results in order. Threads that do not end when they are asked to are left behind: they take no further
    tasks."""
    todo = iter(list(enumerate(tasks)))  # shared: each thread takes the next one
    over = Stop()
    answers: queue.SimpleQueue[tuple[int, Any]] = queue.SimpleQueue()
    results: dict[int, R] = {}

    def work() -> None:
        try:
            for number, task in todo:
                if over() or stop():
                    break
                answers.put((number, function(task)))
        except BaseException as error:
            answers.put((_FAILED, error))
        answers.put((_ENDED, None))

    running = min(threads, len(tasks))
    for _ in range(running):
        threading.Thread(target=work, name="rowlaw-task", daemon=True).start()
    late = math.inf
    try:
        while running:
            if late == math.inf and stop():
                late = time.monotonic() + grace
            if time.monotonic() > late:
                break
            try:
                number, answer = answers.get(timeout=_LOOK_SECONDS)
            except queue.Empty:
                continue
            if number == _ENDED:
                running -= 1
            elif number != _FAILED:
                results[number] = answer
                if done is not None:
                    done(len(results), len(tasks))
            elif not isinstance(answer, Stopped):
                raise answer
    finally:
        over.request()
    if len(results) < len(tasks):
        raise Stopped([results.get(number) for number in range(len(tasks))])
    return [results[number] for number in range(len(tasks))]


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
        *,
        large: bool = False,
        stop: Stop = NEVER,
    ) -> list[R]:
        """As of all workers; ``taken`` is for results too large for the driver's memory (see :meth:`over`)."""
        if not tasks:
            return []
        if large and taken is None:
            taken = _as_it_is
        partitions = min(len(tasks), _MOST_PARTITIONS)
        # Task i goes to partition i % partitions: neighbours are often alike, and so are their costs.
        order = [i for p in range(partitions) for i in range(p, len(tasks), partitions)]
        shuffled = [tasks[i] for i in order]

        def work(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[int, R]]:
            for batch in batches:
                for i in batch.column(0).to_pylist():
                    yield i, function(shuffled[i])

        frame = self.session.range(0, len(tasks), 1, partitions)
        results = {order[i]: result for i, result in self.over(frame, work, description, done, taken, stop=stop)}
        return [results[i] for i in range(len(tasks))]

    def over(
        self,
        frame: DataFrame,
        work: Callable[[Iterator[pa.RecordBatch]], Iterator[tuple[int, R]]],
        description: str,
        done: Done | None = None,
        taken: Callable[[R], R] | None = None,
        *,
        stop: Stop = NEVER,
    ) -> list[tuple[int, R]]:
        """Run ``work`` over each partition of ``frame``: it yields numbered results, which come back in any order.

        With ``taken`` results stay on the disks of the workers until the driver takes them, one partition at a time.
        """
        packed = frame.mapInArrow(_packed(work), "id long, result binary")
        stop.check()
        with job(self.session, description, done, stop):
            if taken is None:
                return [(row["id"], _unpacked(row["result"])) for row in packed.collect()]
            with _on_disk(packed) as stored:
                return [(row["id"], taken(_unpacked(row["result"]))) for row in stored.toLocalIterator()]


def _as_it_is(result: R) -> R:
    return result


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
    """Return a worker's result; its named error is raised here."""
    answer = pickle.loads(result)
    if isinstance(answer, RowlawError):
        raise answer
    return answer


@contextmanager
def described(session: SparkSession, description: str, done: Done | None = None, stop: Stop = NEVER) -> Iterator[None]:
    """Jobs started inside carry the description in Spark's UI; ``done`` hears of finished tasks. Spark Connect offers
    neither.

    A request to ``stop`` cancels the jobs some time later: tasks that know the deadline end by themselves first.
    """
    context = getattr(session, "_sc", None)
    group = f"rowlaw-{uuid.uuid4().hex}"
    over = threading.Event()
    watchers = []
    before = {name: context.getLocalProperty(name) for name in _JOB_PROPERTIES} if context is not None else {}
    if context is not None:
        context.setJobGroup(group, f"rowlaw: {description}", interruptOnCancel=True)
        if done is not None:
            watchers.append(
                threading.Thread(target=_watch, args=(context.statusTracker(), group, done, over), daemon=True)
            )
    elif stop is not NEVER:
        session.addTag(group)

    def cancel() -> None:
        if context is not None:
            context.cancelJobGroup(group)
        elif stop is not NEVER:
            session.interruptTag(group)

    if stop is not NEVER:
        watchers.append(threading.Thread(target=_cancel_later, args=(cancel, stop, over), daemon=True))
    for watcher in watchers:
        watcher.start()
    try:
        yield
    except KeyboardInterrupt:
        cancel()
        raise
    finally:
        over.set()
        for watcher in watchers:
            watcher.join()
        if context is not None:
            for name, value in before.items():  # of the job that this one is a part of, if any
                context.setLocalProperty(name, value)
        elif stop is not NEVER:
            session.removeTag(group)


@contextmanager
def job(session: SparkSession, description: str, done: Done | None = None, stop: Stop = NEVER) -> Iterator[None]:
    """As :func:`described`; what Spark raises inside becomes the named error ``JOB_FAILED``, with its cause."""
    with described(session, description, done, stop):
        try:
            yield
        except RowlawError:
            raise
        except Exception as error:  # Spark's errors come as many types
            stop.check()  # the job was cancelled for that
            raise failure(description, error) from error


def failure(description: str, error: Exception) -> RowlawError:
    """Return the named error for what Spark raised in a job."""
    problem = cause(error)
    if "No module named 'rowlaw'" in problem:  # they run the python3 of their PATH, unless the session names another
        return RowlawError("NOT_ON_WORKERS", python=sys.executable)
    return RowlawError("JOB_FAILED", job=description, problem=problem)


def cause(error: Exception) -> str:
    """Return what an error of Spark says, without the stack of Java's frames that follows it."""
    lines = [line for line in str(error).splitlines() if not line.lstrip().startswith(("at ", "\tat ", "... "))]
    return "\n".join(lines[:_CAUSE_LINES]).strip()


def _cancel_later(cancel: Callable[[], None], stop: Stop, over: threading.Event) -> None:
    while not over.wait(_LOOK_SECONDS * 5):
        if stop():
            while not over.wait(_GRACE_SECONDS):  # again: a job may start after a look
                cancel()
            return


def _watch(tracker: Any, group: str, done: Done, over: threading.Event) -> None:
    while not over.wait(0.5):
        stages = [
            tracker.getStageInfo(stage)
            for job in tracker.getJobIdsForGroup(group)
            for stage in tracker.getJobInfo(job).stageIds
        ]
        known = [stage for stage in stages if stage is not None]
        if known:
            done(sum(stage.numCompletedTasks for stage in known), sum(stage.numTasks for stage in known))


def _packed(
    work: Callable[[Iterator[pa.RecordBatch]], Iterator[tuple[int, Any]]],
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """``work`` as a function from batches to batches of pickles; a named error becomes a result, not a stack trace."""

    def packed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        settle()
        try:
            for number, result in work(batches):
                yield pa.RecordBatch.from_pydict(
                    {"id": pa.array([number], pa.int64()), "result": pa.array([pickle.dumps(result)], pa.binary())}
                )
        except RowlawError as error:
            for _ in batches:  # a half-read input makes Spark complain about the wrong thing
                pass
            yield pa.RecordBatch.from_pydict(
                {"id": pa.array([-1], pa.int64()), "result": pa.array([pickle.dumps(error)], pa.binary())}
            )

    return packed


def frame_of(session: SparkSession, table: pa.Table, schema: Any = None) -> DataFrame:
    """Return a frame of a table in memory, as one chunk: Spark takes an empty chunk for the end of the table."""
    whole = table.combine_chunks()
    return session.createDataFrame(whole) if schema is None else session.createDataFrame(whole, schema)


def settle() -> None:
    """Once per worker: keep loaded modules out of the collection that PySpark runs after each task (30 ms saved)."""
    if not hasattr(sys, "_rowlaw_settled"):
        sys._rowlaw_settled = True  # type: ignore[attr-defined]
        gc.collect()
        gc.freeze()
