"""The violations of several rules at once: rules with common equalities share groups, threads share the work.

Rules are put into tries by their equalities, as for counting. A thread takes a trie, or a part of the work on a rule
that another thread has given away because some thread was idle. What threads find waits in a queue of limited length,
so memory stays bounded however slowly the caller reads.
"""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from rowlaw.engine.local.compile import Compiled
from rowlaw.engine.local.division import Division
from rowlaw.engine.local.inequality import BATCH
from rowlaw.engine.local.plan import Stage, plan
from rowlaw.engine.local.refine import PairBatch, first, refined, written
from rowlaw.engine.local.trie import Trie, build
from rowlaw.relation.groups import Groups
from rowlaw.spark.jobs import cores

_QUEUED = 8  # batches that wait for the caller: 16 MiB
SMALL = 50_000  # rows of all rules below which starting threads takes longer than the work
ALONE_SECONDS = 0.02  # of listing in one thread before others help (benchmarks/targets/list.py)
PATIENCE = 0.1  # seconds between two looks at whether the caller has gone

Listed = tuple[int, np.ndarray, np.ndarray]  # the number of a rule, rows s and rows t of some of its violations


def list_pairs(
    rules: Sequence[Compiled], *, limit: int | None = None, threads: int | None = None, batch: int = BATCH
) -> Iterator[Listed]:
    """List the violations of compiled rules, for each at most ``limit``, in batches ``(number of the rule, rows s, rows
    t)``.

    Batches of different rules are mixed, and the order of pairs changes from run to run unless there is a limit or one
    thread: with a limit the pairs of a rule are always the same. For a rule about single rows a violation is a row
    twice. ``threads``: by default all cores, or this thread alone if there are few rows. Closing the iterator ends the
    threads.
    """
    if threads is None:
        threads = 1 if sum(len(rule.s) for rule in rules) < SMALL else cores()
    if limit is not None:
        batch = max(1, min(batch, limit))
    work = _Work(list(rules), limit, batch)
    for trie in build(rules, alone=lambda number: rules[number].denial.arity == 1):
        work.add(partial(work.list_trie, trie))
    return work.in_turn() if threads < 2 else work.alone_first(threads)


Job = Callable[[], Iterator[Listed]]


@dataclass
class _Work:
    """Jobs to do, and what threads need to know of each other."""

    rules: list[Compiled]
    limit: int | None
    batch: int
    jobs: deque[Job] = field(default_factory=deque)
    unfinished: int = 0  # jobs waiting or under way
    idle: int = 0  # threads without a job
    stopped: bool = False
    changed: threading.Condition = field(default_factory=threading.Condition)  # guards all of the above
    found: queue.Queue[Listed | BaseException | None] = field(default_factory=lambda: queue.Queue(_QUEUED))

    def add(self, job: Job) -> None:
        with self.changed:
            self.jobs.append(job)
            self.unfinished += 1
            self.changed.notify()

    def in_turn(self) -> Iterator[Listed]:
        """All jobs in this thread."""
        while self.jobs:
            yield from self.jobs.popleft()()

    def alone_first(self, threads: int) -> Iterator[Listed]:
        """All jobs in this thread while they are short, and what is left then in threads: starting these takes longer
        than short work."""
        until = time.perf_counter() + ALONE_SECONDS
        while self.jobs:
            batches = self.jobs.popleft()()
            for batch in batches:
                yield batch
                if time.perf_counter() > until:
                    self.jobs.appendleft(lambda rest=batches: rest)  # type: ignore[misc]
                    yield from self.in_threads(threads)
                    return
            self.unfinished -= 1

    def in_threads(self, threads: int) -> Iterator[Listed]:
        """All jobs in threads of their own, until all are done or the caller closes the iterator."""
        workers = [threading.Thread(target=self._run, name=f"rowlaw-list-{i}", daemon=True) for i in range(threads)]
        for worker in workers:
            worker.start()
        running = threads
        try:
            while running:
                batch = self.found.get()
                if isinstance(batch, BaseException):
                    raise batch
                if batch is None:
                    running -= 1
                else:
                    yield batch
        finally:
            with self.changed:
                self.stopped = True
                self.changed.notify_all()
            for worker in workers:
                worker.join()

    def _run(self) -> None:
        try:
            while (job := self._next()) is not None:
                for batch in job():
                    if not self._put(batch):
                        return
                with self.changed:
                    self.unfinished -= 1
                    self.changed.notify_all()
            self._put(None)
        except BaseException as error:  # the caller raises it
            self._put(error)

    def _next(self) -> Job | None:
        with self.changed:
            self.idle += 1
            while not self.jobs and self.unfinished and not self.stopped:
                self.changed.wait()
            self.idle -= 1
            return self.jobs.popleft() if self.jobs and not self.stopped else None

    def _put(self, batch: Listed | BaseException | None) -> bool:
        """Hand a batch to the caller; False if there is none any more."""
        while not self.stopped:
            try:
                self.found.put(batch, timeout=PATIENCE)
            except queue.Full:
                continue
            return True
        return False

    def list_trie(self, trie: Trie) -> Iterator[Listed]:
        """The violations of all rules of a trie."""
        for number, shared in trie.walk(self.rules):
            rule = self.rules[number]
            if rule.denial.arity == 1:
                if len(rule.s):
                    yield from self._numbered(number, iter([(rule.s, rule.s)]))
                continue
            stages = plan(rule).stages
            groups = shared if shared is not None else Groups.whole(rule.s, rule.t)
            if rule.equalities:  # the first stage, which a trie has done already
                groups = groups if shared is not None else next(stages[0].apply(groups))
                stages = stages[1:]
            yield from self._list(number, groups, stages)

    def _list(self, number: int, groups: Groups, stages: Sequence[Stage]) -> Iterator[Listed]:
        """The violations of a rule among the pairs that satisfy its equalities."""
        comparisons = stages[0].comparisons if stages else ()
        division = Division(groups, comparisons, self.batch)
        if self.limit is None:
            return self._shared(number, division, stages[1:])
        smaller_groups = (smaller for some in division for smaller in refined(some, stages[1:], self.batch))
        return self._numbered(number, written(smaller_groups, self.batch))

    def _shared(self, number: int, division: Division, stages: Sequence[Stage]) -> Iterator[Listed]:
        """The same, giving work away while a thread is idle."""
        while not division.done:
            yield from self._numbered(number, written(refined(division.step(), stages, self.batch), self.batch))
            if self.idle > len(self.jobs) and (other := division.share()) is not None:
                self.add(partial(self._shared, number, other, stages))

    def _numbered(self, number: int, batches: Iterator[PairBatch]) -> Iterator[Listed]:
        for s, t in first(batches, self.limit):
            yield number, s, t
