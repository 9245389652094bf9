"""All minimal keys, functional dependencies and order compatibilities of a relation: one search over difference sets.

A set of columns is a key, determines a column or puts two columns in order exactly when it hits all difference sets
that speak about that (see :mod:`rowlaw.evidence.differences`); the minimal laws are the minimal hitting sets. Two
strategies give the same laws. *pairs*: the difference sets of all pairs of distinct rows. *sample*: those of a few
pairs that agree on much, and then in rounds: all laws that are not proven yet are validated on all rows, context by
context; pairs that break one are new difference sets; until nothing breaks. Nothing is lost by sampling: a law that
survives holds, and it is minimal because a pair of rows refutes each of its parts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Literal

from rowlaw.deadline import Deadline
from rowlaw.discovery.approximate_dependencies import Approximate
from rowlaw.discovery.goals import Dependencies, Goal, Goals
from rowlaw.discovery.vacuous import not_vacuous
from rowlaw.engine.protocol import DiscoveryEngine
from rowlaw.engine.questions import Question
from rowlaw.errors import RowlawError
from rowlaw.evidence.differences import MEMORY, MINIMISING, Differences, fold
from rowlaw.predicates.space import ORDERED_TYPES
from rowlaw.progress import Phase, Progress
from rowlaw.relation.pairs import Pairs
from rowlaw.rules.model import Kind
from rowlaw.rules.wording import counted
from rowlaw.source.row_ids import naming_only
from rowlaw.spark.jobs import finished
from rowlaw.stopping import Stopped

Strategy = Literal["auto", "pairs", "sample"]

ALWAYS_PAIRS = 1_000  # rows whose pairs are compared without a second thought
COUNTEREXAMPLES = 10  # pairs asked for per broken law and round: HyOD section V.C
PAIR_SECONDS, ORDER_SECONDS = 30e-9, 4e-9  # to compare a pair, and for each column if order is asked for
_EVERYTHING = 1 << 40  # laws to ask about at once
LAW_SECONDS, ROW_SECONDS = 5e-5, 40e-9  # to validate a law, and for each row


def discover_dependencies(
    engine: DiscoveryEngine,
    kinds: Iterable[Kind] = ("key", "fd", "od"),
    *,
    columns: Sequence[str] | None = None,
    error: float = 0.0,
    strategy: Strategy = "auto",
    order_strings: bool = True,
    deadline: Deadline | None = None,
    progress: Progress | None = None,
) -> Dependencies:
    """All minimal laws of the given kinds that hold on all rows, but for a share of at most ``error`` of them (g3).

    ``columns``: those that may occur; all but the one that names the rows if not given. ``order_strings``: whether
    texts and booleans may be the sides of an order compatibility; all columns may be in its context.

    >>> import pyarrow as pa
    >>> from rowlaw.engine.open import open_local
    >>> from rowlaw.source import open_source
    >>> table = pa.table({"year": [1, 1, 2, 2], "week": [1, 2, 3, 4], "city": ["x", "x", "x", "x"]})
    >>> found = discover_dependencies(open_local(open_source(table)))
    >>> [str(rule) for rule in found.rules]
    ['key (week)', 'fd (week) -> year', 'fd () -> city', 'od {}: week ~ year']
    """
    known = engine.statistics
    names = (
        columns if columns is not None else [c.name for c in known.columns if c.name not in naming_only(known.row_id)]
    )
    sides = None if order_strings else [name for name in names if known.column(name).type in ORDERED_TYPES]
    goals = Goals(names, frozenset(kinds), deadline or Deadline(), sides)
    shown = progress or Progress(quiet=True)
    with goals.deadline.watched():
        dependencies = (
            Approximate(engine, goals, shown, error).run() if error else Exact(engine, goals, shown).run(strategy)
        )
    dependencies.rules = not_vacuous(dependencies.rules, engine.known_rows)
    return dependencies


class Exact:
    """A run for laws without exception."""

    def __init__(self, engine: DiscoveryEngine, goals: Goals, progress: Progress) -> None:
        self.engine = engine
        self.goals = goals
        self.deadline = goals.deadline
        self.progress = progress
        self.differences = Differences(engine.sample(), engine.nulls, goals.names, ordered=bool(goals.second))
        self.rounds = self.candidates = self.validations = 0
        self.complete = False  # whether all pairs have been compared: then what the search finds is proven
        self.why = ""

    def run(self, strategy: Strategy) -> Dependencies:
        if not self.engine.sample_is_whole:
            return self._validate_those_of_sample(strategy)
        rows = self.engine.rows
        self.why = "asked for" if strategy != "auto" else f"comparing all pairs of {counted(rows, 'row')} is quick"
        if strategy == "pairs" or (strategy == "auto" and rows <= ALWAYS_PAIRS):
            self._compare_all()
        else:
            with self.progress.phase("sample"), suppress(Stopped):
                self._sample()
        with suppress(Stopped):
            for goals in (self.goals.first, self.goals.second):
                self._find(goals, strategy)
        rules, late = self.goals.rules(proven=self.complete)
        partial = self.deadline.stopped or bool(late)
        dependencies = Dependencies(
            rules, "pairs" if self.complete else "sample", self.why + late, partial, self.rounds
        )
        dependencies.candidates, dependencies.validations = self.candidates, self.validations
        dependencies.key_sets = next(
            (goal.sets for goal in self.goals.first if goal.kind == "key" and not partial), None
        )
        return dependencies

    def _validate_those_of_sample(self, strategy: Strategy) -> Dependencies:
        """All laws of the sample first, then the conversation about all rows."""
        if strategy == "pairs":
            problem = "the table is larger than what this process may hold; use auto"
            raise RowlawError("BAD_OPTION", option="strategy", value=strategy, problem=problem)
        on_sample = Exact(self.engine.on_sample, self.goals, self.progress)
        on_sample.run("auto")
        self.differences = on_sample.differences
        self.why = f"laws of {self.engine.sample().rows:,} rows are validated on all {self.engine.rows:,}"
        for goal in (*self.goals.first, *self.goals.second):
            goal.proven.clear()
            goal.portion = _EVERYTHING  # most laws of the sample hold, and a round of questions takes long
        with self.progress.phase("validate") as phase, suppress(Stopped):
            self._converse(self.goals.first, phase)
            for goal in self.goals.second:  # contexts that determined a side of the sample may not do so in the table
                goal.searched = b""
            self._search(self.goals.second)
            self._converse(self.goals.second, phase)
        rules, late = self.goals.rules(proven=False)
        return Dependencies(rules, "sample", self.why + late, self.deadline.stopped or bool(late), self.rounds)

    def _find(self, goals: Sequence[Goal], strategy: Strategy) -> None:
        if not goals or self.deadline.passed:
            return
        with self.progress.phase("search"):
            self._search(goals)
        if not self.complete and strategy == "auto" and self._pairs_are_quicker(goals):
            self._compare_all()
            if self.complete:  # what the sample proposed is proven no sooner than it is found again
                for goal in goals:
                    goal.sets, goal.searched = goal.sets[:0], b""
                self._search(goals)
        if not self.complete:
            with self.progress.phase("validate") as phase:
                self._converse(goals, phase)

    def _compare_all(self) -> None:
        with self.progress.phase("differences"), suppress(Stopped):
            folded = finished(lambda: fold(self.engine.sample(), self.goals.names), self.deadline)
            self.complete = self.differences.add_all(folded, self.deadline)
        if not self.complete:
            self.deadline.stop(
                f"{self.goals.columns:,} columns have difference sets for more than {MEMORY >> 30} GiB: name "
                "fewer columns"
            )

    def _pairs_are_quicker(self, goals: Sequence[Goal]) -> bool:
        """Whether comparing all pairs is quicker than validating what the search proposes."""
        rows, laws = self.engine.rows, sum(len(goal.sets) for goal in goals)
        each = PAIR_SECONDS + ORDER_SECONDS * self.goals.columns * bool(self.goals.second)
        compare, validate = rows * rows / 2 * each, laws * (LAW_SECONDS + ROW_SECONDS * rows)
        self.why = f"validating {laws:,} laws takes about {validate:.1f} s, comparing all pairs {compare:.1f} s"
        return compare < validate

    def _sample(self) -> None:
        self._learn([self.engine.neighbours(self.goals.names, self.deadline)])

    def _learn(self, pairs: list[Pairs]) -> None:
        """Take in pairs of rows."""
        part = self.deadline.part(MINIMISING)

        def learn() -> None:
            for some in Pairs.merge(pairs):
                self.differences.add_pairs(some, part)

        finished(learn, self.deadline)

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
            first = self.engine.asked_first([question.denials(self.goals.names) for question in questions])
            contexts = list(asked)
            asked, questions = {contexts[i]: asked[contexts[i]] for i in first}, [questions[i] for i in first]
            self.candidates += sum(map(len, asked.values()))
            self.validations += len(questions)
            learnt = []
            held, broken = Counter[int](), Counter[int]()
            answers = self.engine.ask(self.goals.names, questions, COUNTEREXAMPLES, self.deadline)
            for about, answer in zip(asked.values(), answers, strict=True):
                # an answer is empty where time did not suffice
                for (goal, name), pairs in zip(about, answer, strict=False):
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
                self._learn(learnt)
                self._search(goals)
