"""Laws with exceptions: minimal keys, functional dependencies and order compatibilities that hold without a small share
of the rows (g3).

Rows to remove are counted exactly, group by group: of a key all rows but one of each group; of a functional dependency
all but those with the group's most frequent value; of an order compatibility all outside a longest run that is in order
on both sides. More columns in the context never make it more. So for each goal there are largest sets of columns that
do not suffice, and the minimal laws are the minimal sets that are inside none of them, that is, that hit each
complement. The search proposes such sets; one that does not suffice is grown to a largest one, whose complement is a
new edge (Gunopulos et al., *Discovering all most specific sentences*, TODS 2003).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress

from rowlaw.discovery.goals import Dependencies, Goal, Goals
from rowlaw.engine.protocol import DiscoveryEngine
from rowlaw.engine.questions import Question, Target
from rowlaw.progress import Phase, Progress
from rowlaw.rules.model import Rule
from rowlaw.search.bitsets import pack
from rowlaw.stopping import Stopped

Asked = tuple[Target, frozenset[int]]


class Approximate:
    """A run for laws with exceptions."""

    def __init__(self, engine: DiscoveryEngine, goals: Goals, progress: Progress, error: float) -> None:
        self.engine = engine
        self.goals = goals
        self.deadline = goals.deadline
        self.progress = progress
        self.error = error
        self.rounds = 0
        self._shares: dict[Asked, float] = {}

    def run(self) -> Dependencies:
        with self.progress.phase("count") as phase, suppress(Stopped):
            for goals in (self.goals.first, self.goals.second):
                self._converse(goals, phase)
        rules, late = self.goals.rules(proven=False)
        why = "rows to remove are counted on all rows" + late
        return Dependencies(rules, "counts", why, self.deadline.stopped or bool(late), self.rounds, self._errors())

    def _converse(self, goals: Sequence[Goal], phase: Phase) -> None:
        edges: dict[Target, list[frozenset[int]]] = {goal.target: [] for goal in goals}
        while goals and not self.deadline.passed:
            self.rounds += 1
            self.goals.search(goals, lambda target: pack(edges[target], self.goals.columns))
            proposed = {
                id(goal): [(name, (goal.target, frozenset(columns))) for name, columns in goal.open(goal.portion)]
                for goal in goals
            }
            self._count(asked for some in proposed.values() for _, asked in some)
            if not any(proposed.values()):
                return
            if self.deadline.passed:
                for goal in goals:
                    goal.proven.update(
                        name for name, asked in proposed[id(goal)] if self._shares.get(asked, 1.0) <= self.error
                    )
                return
            short: list[Asked] = []
            for goal in goals:
                broken = [asked for _, asked in proposed[id(goal)] if self._shares[asked] > self.error]
                goal.proven.update(name for name, asked in proposed[id(goal)] if self._shares[asked] <= self.error)
                goal.answered(len(proposed[id(goal)]) - len(broken), len(broken))
                short += broken
            phase.update(self.rounds, note=f"{sum(len(goal.proven) for goal in goals):,} laws proven")
            for target, columns in self._grown(short):
                everything = frozenset(range(self.goals.columns)) - {target.left, target.right}
                edges[target].append(everything - columns)

    def _grown(self, short: Iterable[Asked]) -> set[Asked]:
        """Sets of columns that do not suffice, as large as can be: columns are added one after the other unless that
        helps."""
        grown = list(dict.fromkeys(short))
        for column in range(self.goals.columns):
            larger = [
                (t, columns | {column}) if column not in (t.left, t.right) else (t, columns) for t, columns in grown
            ]
            self._count(larger)
            if self.deadline.passed:
                return set()
            grown = list(
                dict.fromkeys(
                    new if self._shares[new] > self.error else old for old, new in zip(grown, larger, strict=True)
                )
            )
        return set(grown)

    def _count(self, asked: Iterable[Asked]) -> None:
        """The share of rows to remove, for all that is not known yet."""
        new: dict[tuple[int, ...], list[Target]] = {}
        for target, columns in dict.fromkeys(asked):
            if (target, columns) not in self._shares:
                new.setdefault(tuple(sorted(columns)), []).append(target)
        if not new or self.deadline.passed:
            return
        rows = max(1, self.engine.rows)
        questions = [Question(context, tuple(targets)) for context, targets in new.items()]
        answers = self.engine.fewest_removed(self.goals.names, questions, self.deadline)
        for question, numbers in zip(questions, answers, strict=True):
            if not numbers:
                self.deadline.request()  # the clock of a worker may be ahead of ours
            # an answer is empty where time did not suffice
            for target, number in zip(question.targets, numbers, strict=False):
                self._shares[target, frozenset(question.context)] = number / rows

    def _errors(self) -> dict[Rule, float]:
        return {
            self.goals.rule(target, columns): share
            for (target, columns), share in self._shares.items()
            if share <= self.error and (columns or target.left >= 0)
        }
