"""How questions about rules are cut into tasks, and what a worker does with one.

A task is some denials: those of a trie, which share groups, or a piece of one that is too heavy for a single task. It
carries rules and the relation by its folder, so a worker anywhere compiles them for itself; in the driver it uses what
is compiled already.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from rowlaw.engine.local.compile import Compiled, Scales, compile_rule
from rowlaw.engine.local.costs import SPLIT_SECONDS
from rowlaw.engine.local.count import METHODS, answer, empty_tally, expected_method
from rowlaw.engine.local.method import Method, Question
from rowlaw.engine.local.split import split
from rowlaw.engine.local.terms import Terms
from rowlaw.engine.local.trie import build
from rowlaw.engine.local.witness import counterexamples
from rowlaw.kernels import groups as kernels
from rowlaw.relation.groups import Groups
from rowlaw.rules.model import Denial
from rowlaw.stopping import NEVER, Stop, Stopped


@dataclass(frozen=True, slots=True)
class Part:
    """Rows to look at: ``s`` among ``left``, ``t`` among ``right``; all if None."""

    left: np.ndarray | None = None
    right: np.ndarray | None = None


ALL = Part()


@dataclass(frozen=True, slots=True)
class Task:
    """Some denials, each with the number of its rule; or, of one denial, piece ``piece`` of ``pieces``."""

    denials: tuple[tuple[int, Denial], ...]
    piece: int = 0
    pieces: int = 1
    seconds: float = 0.0


def counting_tasks(
    denials: Sequence[tuple[int, Denial]], compiled: Sequence[Compiled], slots: int, methods: Sequence[Method] = METHODS
) -> list[Task]:
    """Tasks of about equal length, the longest first: tries as they are, single rules cut where they would be the last
    to end."""
    expected = [_expected(rule, methods) for rule in compiled]
    estimates = [estimate for _, estimate in expected]
    limit = max(SPLIT_SECONDS, sum(estimates) / slots / 2)
    tasks = []
    for trie in build(compiled, alone=lambda number: expected[number][0].own_groups):
        numbers = list(trie.root.all_rules())
        heavy = {n for n in numbers if estimates[n] > limit and _worth_cutting(compiled[n], expected[n][0])}
        for n in heavy:
            # each piece looks at all rows to find its own, so there are no more of them than are worth it
            pieces = min(slots, math.ceil(estimates[n] / max(SPLIT_SECONDS, 1e-9)))
            tasks += [Task((denials[n],), piece, pieces, estimates[n] / pieces) for piece in range(pieces)]
        rest = [n for n in numbers if n not in heavy]
        if rest:
            tasks.append(Task(tuple(denials[n] for n in rest), seconds=sum(estimates[n] for n in rest)))
    return sorted(tasks, key=lambda task: -task.seconds)


def looking_tasks(denials: Sequence[tuple[int, Denial]], compiled: Sequence[Compiled]) -> list[Task]:
    """A task for each trie: looking ends early, most often, and is not cut."""
    return [Task(tuple(denials[n] for n in trie.root.all_rules())) for trie in build(compiled)]


def seconds(rule: Compiled) -> float:
    """Cost estimate of counting by the general method, on one core: no rule takes much longer, and no row is looked at
    to tell."""
    return Terms().seconds(Question(rule, 0))


def _expected(rule: Compiled, methods: Sequence[Method]) -> tuple[Method, float]:
    """The method that is likely to count a rule by itself, and its cost estimate in seconds."""
    question = Question(rule, 0)
    method = expected_method(question, methods)
    return method, method.seconds(question)


def _worth_cutting(rule: Compiled, method: Method) -> bool:
    """Sorting and counting groups is too quick to be cut, and two inequalities alone cost more in ranges than as a
    whole."""
    return method.divisible and bool(rule.inequalities) and (bool(rule.equalities) or len(rule.inequalities) > 2)


@dataclass(frozen=True)
class _Work:
    """Work on the denials of a task."""

    scales: Scales
    part: Part

    @property
    def rows(self) -> int:
        return self.scales.relation.rows

    def compiled(self, task: Task) -> list[Compiled]:
        return [compile_rule(d, self.scales, self.part.left, self.part.right) for _, d in task.denials]


@dataclass(frozen=True)
class Counting(_Work):
    """Counts a task's denials: (number of the rule, pairs, rows that take part, pairs of each)."""

    per_row: bool
    methods: tuple[Method, ...] = METHODS
    stop: Stop = NEVER

    def __call__(self, task: Task) -> list[tuple[int, int, np.ndarray, np.ndarray]]:
        counts: list[tuple[int, int, np.ndarray, np.ndarray]] = []
        for number, question in self.questions(task):
            self.stop.check()
            result = answer(question, self.methods)
            # a page of zeros that is never read costs nothing
            tally = result.per_row if result.pairs else result.per_row[:0]
            counts.append((task.denials[number][0], result.pairs, *taking_part(tally)))
        return counts

    def questions(self, task: Task, only: Collection[int] | None = None) -> Iterator[tuple[int, Question]]:
        """What is counted: the index of each denial in the task (or of ``only`` some) with a question for it, or one
        for each piece."""
        compiled = self.compiled(task)
        if task.pieces > 1:
            for piece in split(compiled[0], task.pieces)[task.piece :: task.pieces]:
                yield 0, self._question(piece(), None)
            return
        for trie in build(
            compiled, alone=lambda number: expected_method(Question(compiled[number], 0), self.methods).own_groups
        ):
            for number, groups in trie.walk(compiled, only):
                yield number, self._question(compiled[number], groups)

    def _question(self, rule: Compiled, groups: Groups | None) -> Question:
        return Question(rule, self.rows, groups, empty_tally(self.rows if self.per_row else 0))


def taking_part(tally: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rows that take part in pairs, and in how many; ``tally`` has all rows."""
    number = np.count_nonzero(tally)
    rows, numbers = np.empty(number, np.int32), np.empty(number, tally.dtype)
    kernels.taking_part(tally, rows, numbers)
    return rows, numbers


@dataclass(frozen=True)
class Looking(_Work):
    """Looks for up to ``most`` counterexamples to each of a task's denials: (number of the rule, pairs), None if there
    was no time."""

    most: int
    stop: Stop = NEVER

    def __call__(self, task: Task) -> list[tuple[int, np.ndarray | None]]:
        compiled = self.compiled(task)
        pairs: list[tuple[int, np.ndarray | None]] = []
        left = set(range(len(compiled)))
        with suppress(Stopped):
            for trie in build(compiled):
                for number, groups in trie.walk(compiled):
                    self.stop.check()
                    some = counterexamples(compiled[number], self.rows, self.most, groups)
                    left.discard(number)
                    if len(some):
                        pairs.append((task.denials[number][0], some))
        return pairs + [(task.denials[number][0], None) for number in left]
