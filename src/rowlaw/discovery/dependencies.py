"""All minimal keys, functional dependencies and order compatibilities of a relation: one search over difference sets.

A set of columns is a key, determines a column or puts two columns in order exactly when it hits all difference sets that speak about that
(see :mod:`rowlaw.discovery.differences`); the minimal laws are the minimal hitting sets. Two strategies give the same laws.
*pairs*: the difference sets of all pairs of distinct rows. *sample*: those of a few pairs that agree on much, and then in rounds: all laws
that are not proven yet are validated on all rows, context by context; pairs that break one are new difference sets; until nothing breaks.
Nothing is lost by sampling: a law that survives holds, and it is minimal because a pair of rows refutes each of its parts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np

from rowlaw.discovery.approximate_dependencies import Approximate
from rowlaw.discovery.deadline import Deadline
from rowlaw.discovery.differences import MEMORY, Differences, fold
from rowlaw.discovery.goals import Dependencies, Goal, Goals
from rowlaw.engine.contexts import Contexts, Partition, Question, ask
from rowlaw.engine.engine import Engine
from rowlaw.progress import Phase, Progress
from rowlaw.rules.model import Kind
from rowlaw.spark.jobs import DriverThreads

Strategy = Literal["auto", "pairs", "sample"]

ALWAYS_PAIRS = 1_000  # rows whose pairs are compared without a second thought
COUNTEREXAMPLES = 10  # pairs asked for per broken law and round: HyOD section V.C
SAMPLED = 20_000  # neighbours compared for each column, at most
MANY_ROWS = 1 << 17  # of a larger table, so many rows are enough to find neighbours by a column of few values
PAIR_SECONDS, ORDER_SECONDS = 30e-9, 4e-9  # to compare a pair, and for each column if order is asked for
LAW_SECONDS, ROW_SECONDS = 5e-5, 40e-9  # to validate a law, and for each row


def discover_dependencies(
    engine: Engine,
    kinds: Iterable[Kind] = ("key", "fd", "od"),
    *,
    columns: Sequence[str] | None = None,
    error: float = 0.0,
    strategy: Strategy = "auto",
    deadline: Deadline | None = None,
    progress: Progress | None = None,
) -> Dependencies:
    """All minimal laws of the given kinds that hold on all rows, but for a share of at most ``error`` of them (g3).

    ``columns``: those that may occur; all but the one that names the rows if not given.

    >>> import pyarrow as pa
    >>> from rowlaw.relation import encode
    >>> from rowlaw.source import open_source
    >>> table = pa.table({"year": [1, 1, 2, 2], "week": [1, 2, 3, 4], "city": ["x", "x", "x", "x"]})
    >>> found = discover_dependencies(Engine(encode(open_source(table))))
    >>> [str(rule) for rule in found.rules]
    ['key (week)', 'fd (week) -> year', 'fd () -> city', 'od {}: week ~ year']
    """
    relation = engine.relation
    names = columns if columns is not None else [c.name for c in relation.columns if c.name != relation.row_id]
    goals = Goals(names, frozenset(kinds), deadline or Deadline())
    shown = progress or Progress(quiet=True)
    return Approximate(engine, goals, shown, error).run() if error else Exact(engine, goals, shown).run(strategy)


class Exact:
    """A run for laws without exception."""

    def __init__(self, engine: Engine, goals: Goals, progress: Progress) -> None:
        self.engine = engine
        self.goals = goals
        self.deadline = goals.deadline
        self.progress = progress
        self.differences = Differences(engine.relation, engine.nulls, goals.names, ordered=bool(goals.second))
        self.contexts = Contexts(engine.relation, engine.nulls, goals.names)
        self.rounds = 0
        self.complete = False  # whether all pairs have been compared: then what the search finds is proven
        self.why = ""

    def run(self, strategy: Strategy) -> Dependencies:
        rows = self.engine.relation.rows
        self.why = "asked for" if strategy != "auto" else f"{rows:,} rows are few"
        if strategy == "pairs" or (strategy == "auto" and rows <= ALWAYS_PAIRS):
            self._compare_all()
        else:
            with self.progress.phase("sample"):
                self._sample()
        for goals in (self.goals.first, self.goals.second):
            if goals and not self.deadline.passed:
                with self.progress.phase("search"):
                    self._search(goals)
                if not self.complete and strategy == "auto" and self._pairs_are_quicker(goals):
                    self._compare_all()
                    self._search(goals)
                if not self.complete:
                    with self.progress.phase("validate") as phase:
                        self._converse(goals, phase)
        rules = self.goals.rules(proven=self.complete)
        return Dependencies(rules, "pairs" if self.complete else "sample", self.why, self.deadline.stopped, self.rounds)

    def _compare_all(self) -> None:
        with self.progress.phase("differences"):
            self.complete = self.differences.add_all(fold(self.engine.relation, self.goals.names), self.deadline)
        if not self.complete:
            self.deadline.stop(f"{self.goals.columns:,} columns have difference sets for more than {MEMORY >> 30} GiB: name fewer columns")

    def _pairs_are_quicker(self, goals: Sequence[Goal]) -> bool:
        """Whether comparing all pairs is quicker than validating what the search proposes."""
        rows, laws = self.engine.relation.rows, sum(len(goal.sets) for goal in goals)
        each = PAIR_SECONDS + ORDER_SECONDS * self.goals.columns * bool(self.goals.second)
        compare, validate = rows * rows / 2 * each, laws * (LAW_SECONDS + ROW_SECONDS * rows)
        self.why = f"validating {laws:,} laws takes about {validate:.1f} s, comparing all pairs {compare:.1f} s"
        return compare < validate

    def _sample(self) -> None:
        """Neighbours in each column's groups: pairs that agree on that column, and often on others that follow from it."""
        step = max(1, self.engine.relation.rows // MANY_ROWS)

        def partition(column: int) -> Partition:
            few = step > 1 and self.contexts.has_few_values(column, MANY_ROWS)
            return self.contexts.thinned(column, step) if few else self.contexts.single(column)

        pairs = []
        for found in DriverThreads().map(partition, range(self.goals.columns), "partition"):
            last = np.zeros(len(found.rows) + 1, bool)
            last[found.starts[1:]] = True
            at = np.flatnonzero(~last[1:])
            at = at[:: max(1, len(at) // max(1, SAMPLED))][:SAMPLED]
            pairs.append(np.stack((found.rows[at], found.rows[at + 1]), axis=1))
        if pairs:
            self.differences.add_pairs(np.concatenate(pairs))

    def _search(self, goals: Sequence[Goal]) -> None:
        self.goals.search(goals, self.differences.edges)

    def _converse(self, goals: Sequence[Goal], phase: Phase) -> None:
        """Validate and search in turn until nothing breaks."""
        while not self.deadline.passed:
            self.rounds += 1
            asked: dict[tuple[int, ...], list[tuple[Goal, bytes]]] = {}
            for goal in goals:
                for name, context in goal.open(goal.portion):
                    asked.setdefault(context, []).append((goal, name))
            if not asked or self.deadline.passed:
                return
            questions = [Question(context, tuple(goal.target for goal, _ in about)) for context, about in asked.items()]
            learnt = []
            held, broken = Counter[int](), Counter[int]()
            answers = ask(self.engine, self.contexts, questions, COUNTEREXAMPLES, lambda: self.deadline.passed)
            for about, answer in zip(asked.values(), answers, strict=True):
                for (goal, name), pairs in zip(about, answer, strict=False):  # an answer is empty where time did not suffice
                    if len(pairs):
                        learnt.append(pairs)
                        broken[id(goal)] += 1
                    else:
                        goal.proven.add(name)
                        held[id(goal)] += 1
            for goal in goals:
                goal.answered(held[id(goal)], broken[id(goal)])
            phase.update(self.rounds, note=f"{sum(len(goal.proven) for goal in goals):,} laws proven")
            if learnt:
                self.differences.add_pairs(np.concatenate(learnt))
                self._search(goals)
