"""Many questions about rows that agree on the same columns: keys, functional dependencies and order compatibilities by
context.

The rows that agree on a context are grouped once (a stripped partition), and all questions with that context are
answered on its groups. Contexts form a trie, columns of most values first, so that a partition is refined from a
shorter context's which has few rows left.
"""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from rowlaw.engine.local.rows import RowEngine
from rowlaw.engine.questions import Question, Target
from rowlaw.kernels import partitions as kernels
from rowlaw.relation.relation import Relation
from rowlaw.rules.model import Nulls
from rowlaw.stopping import NEVER, Stop, Stopped

ALONE_SECONDS = 0.003  # work below which threads cost more than they bring
_SECONDS_A_ROW = 20e-9  # for each question and row: refining and looking
DEAL = 8  # groups are arranged by dealing out all rows if at least one row in so many is in a group ...
SMALL_GROUP = 4  # ... and groups have more rows than this on average
PARTS = 8  # tasks for each worker
FIRST_PIECE, GROWTH = 1 << 15, 4  # rows looked at before more are, and how many more then
FEW_VALUES = 16  # a column of few values: each occurs so often among some rows, on average
_WHOLE = -1  # in the place of a piece's number
KEPT_COLUMNS = 3  # partitions of at most so many columns are kept, as many contexts begin with them
KEPT_BYTES = 256 << 20
_EVERY = 1 << 40  # more groups than there can be
_NONE = np.zeros((0, 2), np.int32)


# for each target pairs of rows that break it; none only if it holds. Without any target: there was no time
Answer = list[np.ndarray]


@dataclass(frozen=True)
class Partition:
    """Rows that agree, group after group."""

    rows: np.ndarray
    starts: np.ndarray

    @property
    def nbytes(self) -> int:
        return self.rows.nbytes + self.starts.nbytes

    def pieces(self) -> Iterator[Partition]:
        """Some groups at a time, each piece with more rows than the one before."""
        begin, size = 0, FIRST_PIECE
        if len(self.rows) <= FIRST_PIECE:
            yield self
            return
        while begin < len(self.starts) - 1:
            end = max(begin + 1, int(np.searchsorted(self.starts, self.starts[begin] + size, side="right")) - 1)
            low, high = self.starts[begin], self.starts[end]
            yield Partition(self.rows[low:high], self.starts[begin : end + 1] - low)
            begin, size = end, GROWTH * size


class KeptPartitions:
    """Partitions that may be needed again: those used last, up to a number of bytes."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._bytes = 0
        self._known: OrderedDict[Hashable, Partition] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, path: Hashable) -> Partition | None:
        with self._lock:
            partition = self._known.get(path)
            if partition is not None:
                self._known.move_to_end(path)
            return partition

    def put(self, path: Hashable, partition: Partition) -> None:
        with self._lock:
            if path not in self._known:
                self._known[path] = partition
                self._bytes += partition.nbytes
            while self._bytes > self._most and self._known:
                self._bytes -= self._known.popitem(last=False)[1].nbytes


class Contexts:
    """Answers questions about some columns of a relation; a worker elsewhere makes its own, once for all its tasks."""

    def __init__(self, relation: Relation, nulls: Nulls, columns: Sequence[str]) -> None:
        self.relation = relation
        self.nulls = nulls
        self.columns = tuple(columns)
        self.unknown = nulls == "unknown"
        self.codes = [relation.codes(name) for name in columns]
        self._distinct = [relation.column(name).distinct for name in columns]
        by_values = sorted(range(len(columns)), key=lambda c: -self._distinct[c])
        self._rank = {c: i for i, c in enumerate(by_values)}
        self._lock = threading.Lock()
        self._orders: dict[int, np.ndarray] = {}
        self._single: dict[int, Partition] = {}
        self._kept = KeptPartitions(KEPT_BYTES)
        self._own = threading.local()

    def __reduce__(self) -> tuple[Any, ...]:
        return _contexts, (self.relation, self.nulls, self.columns)

    def arranged(self, context: tuple[int, ...]) -> tuple[int, ...]:
        """The columns of a context as the trie has them: those of most values first."""
        return tuple(sorted(context, key=self._rank.__getitem__))

    def order(self, column: int) -> np.ndarray:
        """All rows in order of a column."""
        order = self._orders.get(column)
        if order is None:
            order = kernels.ordered(self.codes[column], self._place(column))
            with self._lock:
                self._orders[column] = order
        return order

    def single(self, column: int) -> Partition:
        """The partition by one column."""
        partition = self._single.get(column)
        if partition is None:
            partition = Partition(*kernels.runs(self.order(column), self.codes[column], self.unknown))
            with self._lock:
                self._single[column] = partition
        return partition

    def thinned(self, column: int, step: int) -> Partition:
        """The partition of every ``step``-th row by one column (-1: by none)."""
        if column < 0:
            rows = np.arange(0, self.relation.rows, step, dtype=np.int32)
            return Partition(rows, np.array([0, len(rows)], np.int32))
        codes = self.codes[column][::step].copy()
        rows, starts = kernels.runs(kernels.ordered(codes, self._place(column)), codes, self.unknown)
        return Partition(rows * np.int32(step), starts)

    def has_few_values(self, column: int, rows: int) -> bool:
        """Whether each value of a column occurs often among so many rows."""
        return self._distinct[column] * FEW_VALUES < rows

    @property
    def whole(self) -> Partition:
        """All rows in one group."""
        rows = self.relation.rows
        if rows < 2:
            return Partition(np.zeros(0, np.int32), np.zeros(1, np.int32))
        return Partition(self.relation.all_rows, np.array([0, rows], np.int32))

    def refine(self, partition: Partition, column: int, most: int = _EVERY) -> Partition:
        """The partition cut by another column; at least ``most`` of its groups are enough."""
        codes = self.codes[column]
        return Partition(
            *kernels.refine(partition.rows, partition.starts, codes, self.unknown, self._place(column), most)
        )

    def _place(self, column: int) -> np.ndarray:
        """Room for a thread to work in: a counter for each code of a column."""
        known: dict[int, np.ndarray] = self._own.__dict__.setdefault("places", {})
        if column not in known:
            known[column] = np.zeros(self._distinct[column] + 1, np.int32)
        return known[column]

    def _groups(self) -> np.ndarray:
        own = self._own.__dict__
        if "groups" not in own:
            own["groups"] = np.full(self.relation.rows, -1, np.int32)
        return own["groups"]

    def ask(self, questions: Sequence[Question], most: int, stop: Stop | None = None) -> list[Answer]:
        """Up to ``most`` pairs that break each target of each question, from different groups; empty answers if it is
        time to stop.

        Rows are looked at a piece at a time: what is broken is so early, most often, and then not asked again.
        """
        pairs: list[dict[Target, np.ndarray]] = [{} for _ in questions]
        answered: set[int] = set()

        def answers() -> list[Answer]:
            return [
                [pairs[n].get(t, _NONE) for t in question.targets] if n in answered else []
                for n, question in enumerate(questions)
            ]

        for first, numbers in self._families(questions):
            for k, piece in enumerate(self._pieces(first)):
                left = {n: [t for t in questions[n].targets if t not in pairs[n]] for n in numbers}
                contexts = {n: questions[n].context for n, targets in left.items() if targets}
                for number, partition, column in self._walk(contexts, piece, (k, first)):
                    if stop is not None and stop():
                        return answers()
                    cut = partition
                    if column >= 0:
                        cut = self.refine(partition, column, most if left[number] == [Target()] else _EVERY)
                    if len(cut.rows):
                        pairs[number].update(self._look(cut, left[number], most))
            answered.update(numbers)
        return answers()

    def count(self, questions: Sequence[Question], stop: Stop | None = None) -> list[list[int]]:
        """For each target of each question the fewest rows without which it holds; empty answers if it is time to
        stop."""
        fewest: list[list[int]] = [[] for _ in questions]
        for first, numbers in self._families(questions):
            answers = {n: [0] * len(questions[n].targets) for n in numbers}
            for number, partition, column in self._walk(
                {n: questions[n].context for n in numbers}, self._root(first), (_WHOLE, first)
            ):
                if stop is not None and stop():
                    return fewest
                cut = self.refine(partition, column) if column >= 0 else partition
                answers[number] = [self._removed(cut, target) for target in questions[number].targets]
            for number, answer in answers.items():
                fewest[number] = answer
        return fewest

    def _families(self, questions: Sequence[Question]) -> list[tuple[int, list[int]]]:
        """The numbers of questions whose contexts begin with the same column; -1 stands for none."""
        families: dict[int, list[int]] = {}
        for number, question in enumerate(questions):
            families.setdefault(next(iter(self.arranged(question.context)), -1), []).append(number)
        return list(families.items())

    def _pieces(self, first: int) -> Iterator[Partition]:
        """The partition by a column in pieces; before them some rows of it, if its groups are large: what breaks among
        those is broken."""
        step = self.relation.rows // FIRST_PIECE
        if step > 1 and (first < 0 or self.has_few_values(first, FIRST_PIECE)):
            yield self.thinned(first, step)
        yield from self._root(first).pieces()

    def _root(self, first: int) -> Partition:
        return self.single(first) if first >= 0 else self.whole

    def _walk(
        self, contexts: Mapping[int, tuple[int, ...]], root: Partition, name: tuple[int, ...]
    ) -> Iterator[tuple[int, Partition, int]]:
        """The number and partition of each context; of a leaf its parent's, and the column that is still to be cut by
        (else -1).

        ``root`` is the partition by the contexts' first column, or a piece of it; ``name`` tells it from others.
        """
        trie: dict[Any, Any] = {}
        for number, context in contexts.items():
            node = trie
            for column in self.arranged(context)[1:]:
                node = node.setdefault(column, {})
            node.setdefault(None, []).append(number)
        yield from self._descend(trie, name, root)

    def _descend(
        self, node: dict[Any, Any], path: tuple[int, ...], partition: Partition
    ) -> Iterator[tuple[int, Partition, int]]:
        for number in node.get(None, ()):
            yield number, partition, -1
        for column, child in node.items():
            if column is None or not len(partition.rows):
                continue
            if len(child) == 1 and None in child:
                for number in child[None]:
                    yield number, partition, column
            else:
                yield from self._descend(child, (*path, column), self._extended(path, partition, column))

    def _extended(self, path: tuple[int, ...], partition: Partition, column: int) -> Partition:
        """The partition by one more column."""
        if len(path) > KEPT_COLUMNS:
            return self.refine(partition, column)
        extended = self._kept.get((*path, column))
        if extended is None:
            extended = self.refine(partition, column)
            self._kept.put((*path, column), extended)
        return extended

    def _removed(self, partition: Partition, target: Target) -> int:
        rows, starts = partition.rows, partition.starts
        if target.left < 0:
            return len(rows) - (len(starts) - 1)
        if target.right < 0:
            return int(
                kernels.removed_for_equal(rows, starts, self.codes[target.left], self.unknown, self._place(target.left))
            )
        sign = -1 if target.descending else 1
        return int(
            kernels.removed_for_order(
                rows, starts, self.codes[target.left], self.codes[target.right], sign, self.unknown
            )
        )

    def _look(self, partition: Partition, targets: Sequence[Target], most: int) -> dict[Target, np.ndarray]:
        """Pairs that break the targets; those without any are left out."""
        broken: dict[Target, np.ndarray] = {}
        pairs: list[Target] = []
        for target in targets:
            if target.right >= 0:
                pairs.append(target)
            elif target.left >= 0:
                some = np.empty((most, 2), np.int32)
                broken[target] = some[
                    : kernels.unequal(partition.rows, partition.starts, self.codes[target.left], self.unknown, some)
                ]
            else:
                first = partition.starts[:-1][:most]
                broken[target] = np.stack((partition.rows[first], partition.rows[first + 1]), axis=1)
        if pairs:
            self._compare(partition, pairs, most, broken)
        return {target: some for target, some in broken.items() if len(some)}

    def _compare(
        self, partition: Partition, targets: Sequence[Target], most: int, found: dict[Target, np.ndarray]
    ) -> None:
        """Order: rows are arranged once by each column that many targets have, and both directions are seen in one
        walk."""
        often = Counter(c for target in targets for c in (target.left, target.right))
        jobs: dict[int, dict[int, list[Target]]] = {}
        for target in targets:
            a, b = sorted((target.left, target.right), key=lambda c: (-often[c], c))
            jobs.setdefault(a, {}).setdefault(b, []).append(target)
        nothing = np.zeros(0, np.int32)
        for a, others in jobs.items():
            # small groups are sorted quickly; otherwise all rows are dealt out to their groups, unless few are in one
            dealt = len(partition.rows) * DEAL >= self.relation.rows and len(partition.rows) > SMALL_GROUP * len(
                partition.starts
            )
            order = self.order(a) if dealt else nothing
            rows = kernels.arrange(
                partition.rows, partition.starts, self.codes[a], order, self._groups() if dealt else nothing
            )
            for b, asked in others.items():
                wanted = {target.descending for target in asked}
                against = np.empty((most if False in wanted else 0, 2), np.int32)
                along = np.empty((most if True in wanted else 0, 2), np.int32)
                numbers = kernels.out_of_order(
                    rows, partition.starts, self.codes[a], self.codes[b], self.unknown, against, along
                )
                for target in asked:
                    found[target] = along[: numbers[1]] if target.descending else against[: numbers[0]]


@lru_cache(maxsize=1)
def _contexts(relation: Relation, nulls: Nulls, columns: tuple[str, ...]) -> Contexts:
    return Contexts(relation, nulls, columns)


@dataclass(frozen=True)
class _Asking:
    """Answers a task's questions."""

    contexts: Contexts
    most: int | None  # pairs wanted; None: numbers of rows
    stop: Stop | None = None

    def __call__(self, questions: Sequence[Question]) -> list[Any]:
        if self.most is None:
            return self.contexts.count(questions, self.stop)
        return self.contexts.ask(questions, self.most, self.stop)


def ask(
    engine: RowEngine, contexts: Contexts, questions: Sequence[Question], most: int, stop: Stop | None = None
) -> list[Answer]:
    """Pairs that break each target of each question, up to ``most``: in this thread if little is asked, in threads, or
    as one Spark job.

    ``stop`` is looked at now and then; answers that are not there when it is requested are empty.
    """
    return _run(engine, contexts, questions, most, stop)


def count(
    engine: RowEngine, contexts: Contexts, questions: Sequence[Question], stop: Stop | None = None
) -> list[list[int]]:
    """For each target of each question the fewest rows without which it holds. ``stop``: as for :func:`ask`."""
    return _run(engine, contexts, questions, None, stop)


def _run(
    engine: RowEngine, contexts: Contexts, questions: Sequence[Question], most: int | None, stop: Stop | None
) -> list[Any]:
    asking = _Asking(contexts, most, stop)
    seconds = _SECONDS_A_ROW * engine.relation.rows * sum(len(q.context) + len(q.targets) for q in questions)
    if seconds < ALONE_SECONDS:
        return replace(asking, stop=None)(questions)
    workers = engine.workers_for(seconds)
    at: dict[tuple[int, ...], list[int]] = {}
    for number, question in enumerate(questions):
        at.setdefault(contexts.arranged(question.context)[:2], []).append(number)
    tasks = _even(list(at.values()), PARTS * workers.slots)
    results: list[Any] = [[] for _ in questions]
    described = f"ask about {len(questions)} contexts"
    try:
        answers: Sequence[Any] = workers.map(
            asking, [[questions[n] for n in task] for task in tasks], described, stop=stop or NEVER
        )
    except Stopped as stopped:
        answers = stopped.results or [None] * len(tasks)
    for task, some in zip(tasks, answers, strict=True):
        for number, answer in zip(task, some or (), strict=some is not None):
            results[number] = answer
    return results


def _even(families: list[list[int]], parts: int) -> list[list[int]]:
    """Families of contexts that begin alike, put together to about so many tasks of even length, the longest first."""
    most = max(1, sum(map(len, families)) // parts)
    tasks: list[list[int]] = []
    for family in sorted(families, key=len, reverse=True):
        if tasks and len(tasks[-1]) + len(family) <= most:
            tasks[-1].extend(family)
        else:
            tasks.append(list(family))
    return tasks
