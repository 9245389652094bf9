"""The plan of a rule: which method will count it and which stages will list it, found on the way that counting itself
takes.

Tasks, tries, pieces and methods are chosen by the same functions as in counting, for the rule by itself or among others
that are counted together with it. Where the choice depends on groups, rows are grouped; methods that may decline are
tried. So the method that is named is the method that counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import numpy as np

from rowlaw.engine.local.compile import Compiled, Scales, compile_rule
from rowlaw.engine.local.costs import LISTED_PAIR, STAGE
from rowlaw.engine.local.count import METHODS, answer, count, settled_method
from rowlaw.engine.local.method import Method, Question
from rowlaw.engine.local.plan import plan
from rowlaw.engine.local.refine import pairs
from rowlaw.engine.local.tasks import ALL, Counting, Task, counting_tasks
from rowlaw.engine.plans import CountPlan, DenialPlan, ListPlan, RulePlan
from rowlaw.rules.model import Denial, Rule
from rowlaw.rules.wording import counted

LISTED = 10_000_000  # violations that are listed to measure it: under a second
_SHORT = 1.0  # seconds; what takes less is measured again, since the first call loads compiled kernels

T = TypeVar("T")


@dataclass(frozen=True)
class Explaining:
    """Makes the plan of a rule. ``slots`` is how many tasks run at once."""

    scales: Scales
    slots: int
    methods: tuple[Method, ...] = METHODS

    def plan(self, rule: Rule, among: Sequence[Rule] = (), *, analyze: bool = False) -> RulePlan:
        """The plan of a rule that is counted together with the rules ``among``; ``analyze``: counted and listed, with
        measured times."""
        together = [rule, *(other for other in among if other != rule)]
        denials = [(i, denial) for i, other in enumerate(together) for denial in other.denials]
        compiled = [compile_rule(denial, self.scales) for _, denial in denials]
        tasks = counting_tasks(denials, compiled, self.slots, self.methods)
        return RulePlan(
            tuple(self._denial(denial, compiled[n], tasks, analyze) for n, denial in enumerate(rule.denials))
        )

    def _denial(self, denial: Denial, rule: Compiled, tasks: Sequence[Task], analyze: bool) -> DenialPlan:
        return DenialPlan(str(denial), self._count(denial, tasks, analyze), self._list(rule, analyze))

    def _count(self, denial: Denial, tasks: Sequence[Task], analyze: bool) -> CountPlan:
        own = [task for task in tasks if (0, denial) in task.denials]
        names: dict[str, None] = {}
        reasons: dict[str, None] = {}
        seconds, shared_by = 0.0, 0
        for task in own:
            for question in self._questions(task, denial, per_row=False):
                method = settled_method(question, self.methods)
                names[method.name] = reasons[method.because(question)] = None
                seconds += method.seconds(question)
                if question.shared is not None:
                    shared_by = len(task.denials)
        if not names:  # no piece of it has rows
            names["none"] = reasons["no rows can break it"] = None
        if shared_by:
            reasons[f"in groups that {shared_by:,} denial constraints share"] = None
        if own[0].pieces > 1:
            reasons[f"cut into {own[0].pieces} pieces"] = None
        plan = CountPlan(" and ".join(names), ", ".join(reasons), seconds)
        if not analyze:
            return plan
        violations = 0
        measured = 0.0
        for task in own:
            for question in self._questions(task, denial, per_row=True):
                counted, taken = _measured(partial(self._answer, question))
                violations += counted
                measured += taken
        return replace(plan, measured=measured, violations=violations)

    def _answer(self, question: Question) -> int:
        """Count a question anew: what its methods found out before is not used."""
        return answer(replace(question, tally=np.zeros_like(question.tally)), self.methods).pairs

    def _questions(self, task: Task, denial: Denial, *, per_row: bool) -> Iterator[Question]:
        counting = Counting(self.scales, ALL, per_row, self.methods)
        for _, question in counting.questions(task, only=(task.denials.index((0, denial)),)):
            yield question

    def _list(self, rule: Compiled, analyze: bool) -> ListPlan:
        rows = self.scales.relation.rows
        if rule.denial.arity == 1:
            taken = (0.0, len(rule.s)) if analyze else (None, None)
            return ListPlan((f"take the rows that break it, of {rows:,}",), 0.0, LISTED_PAIR, *taken)
        if not analyze:
            stages = plan(rule).stages
            start = (
                f"start with the rows that take part in violations, of {_sides(rule)}; what follows is "
                "planned again for those"
            )
            return ListPlan((start, *map(str, stages)), _stage_seconds(rule, len(stages)), LISTED_PAIR)
        tally = count(rule, rows, methods=self.methods).per_row
        involved = _involved(rule, tally)
        stages = plan(involved).stages
        start = f"start with the rows that take part in violations: {_sides(involved)}, of {_sides(rule)}"
        listed, measured = _measured(lambda: _listed(rule, tally))
        return ListPlan(
            (start, *map(str, stages)), _stage_seconds(involved, len(stages)), LISTED_PAIR, measured, listed
        )


def _measured(work: Callable[[], T]) -> tuple[T, float]:
    """What some work gives and how many seconds it takes, without what only a first call does."""
    for _ in range(2):
        begin = time.perf_counter()
        result = work()
        seconds = time.perf_counter() - begin
        if seconds > _SHORT:
            break
    return result, seconds


def _listed(rule: Compiled, tally: np.ndarray) -> int:
    """List violations, but not more than a batch beyond the limit."""
    listed = 0
    for s, _ in pairs(rule, tally):
        listed += len(s)
        if listed >= LISTED:
            break
    return listed


def _involved(rule: Compiled, tally: np.ndarray) -> Compiled:
    """The rule on the rows that take part in violations: what listing plans for."""
    s = rule.s[tally[rule.s] > 0]
    return replace(rule, s=s, t=s if rule.t is rule.s else rule.t[tally[rule.t] > 0])


def _stage_seconds(rule: Compiled, stages: int) -> float:
    return (len(rule.s) + len(rule.t)) / 2 * stages * STAGE


def _sides(rule: Compiled) -> str:
    rows = counted(len(rule.s), "row")
    return rows if rule.s is rule.t else f"{rows} for s and {len(rule.t):,} for t"
