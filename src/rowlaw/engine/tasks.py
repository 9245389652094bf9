"""How questions about rules are cut into tasks, and what a worker does with one.

A task is some denials: those of a trie, which share groups, or a piece of one that is too heavy for a single task. It carries rules and the
relation by its folder, so a worker anywhere compiles them for itself; in the driver it uses what is compiled already.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from rowlaw.engine.cells import in_cells
from rowlaw.engine.compile import Compiled, Scales, compile_rule
from rowlaw.engine.count import count
from rowlaw.engine.kinds import in_kinds
from rowlaw.engine.split import split
from rowlaw.engine.trie import Node, build, walk
from rowlaw.engine.witness import counterexamples
from rowlaw.kernels import groups as kernels
from rowlaw.relation.groups import Groups
from rowlaw.rules.model import Denial

SPLIT_SECONDS = 0.2  # a rule estimated below this is not cut


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


def counting_tasks(denials: Sequence[tuple[int, Denial]], compiled: Sequence[Compiled], slots: int) -> list[Task]:
    """Tasks of about equal length, the longest first: tries as they are, single rules cut where they would be the last to end."""
    whole = sum(map(seconds, compiled))
    tasks = []
    for node in _counted_together(compiled):
        numbers = list(node.all_rules())
        heavy = {n for n in numbers if _worth_cutting(compiled[n]) and seconds(compiled[n]) > max(SPLIT_SECONDS, whole / slots / 2)}
        for n in heavy:
            # each piece looks at all rows to find its own, so there are no more of them than are worth it
            pieces = min(slots, math.ceil(seconds(compiled[n]) / max(SPLIT_SECONDS, 1e-9)))
            tasks += [Task((denials[n],), piece, pieces, seconds(compiled[n]) / pieces) for piece in range(pieces)]
        rest = [n for n in numbers if n not in heavy]
        if rest:
            tasks.append(Task(tuple(denials[n] for n in rest), seconds=sum(seconds(compiled[n]) for n in rest)))
    return sorted(tasks, key=lambda task: -task.seconds)


def looking_tasks(denials: Sequence[tuple[int, Denial]], compiled: Sequence[Compiled]) -> list[Task]:
    """A task for each trie: looking ends early, most often, and is not cut."""
    return [Task(tuple(denials[n] for n in node.all_rules())) for node in build(compiled)]


def seconds(rule: Compiled) -> float:
    """About how long counting takes on one core (benchmarks/targets/check.py)."""
    n = len(rule.s) + (0 if rule.t is rule.s else len(rule.t))
    m = len(rule.inequalities)
    cost = 20e-9 * (1 + len(rule.equalities))
    if m:
        cost += 80e-9 * (m if m < 3 else 8 * math.log2(n + 2) ** (m - 2))
    return float(n * cost * 2 ** len(rule.differences))


def _worth_cutting(rule: Compiled) -> bool:
    """Sorting and counting groups is too quick to be cut, so are kinds, and two inequalities alone cost more in ranges than as a whole."""
    return bool(rule.inequalities) and (bool(rule.equalities) or len(rule.inequalities) > 2) and not in_kinds(rule)


def _counted_together(compiled: Sequence[Compiled]) -> list[Node]:
    """Tries for counting: what is counted in cells or by kinds needs nobody's groups."""
    return build(compiled, alone=lambda rule: in_cells(rule) or in_kinds(rule))


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

    def __call__(self, task: Task) -> list[tuple[int, int, np.ndarray, np.ndarray]]:
        compiled = self.compiled(task)
        found: list[tuple[int, int, np.ndarray, np.ndarray]] = []

        def keep(number: int, rule: Compiled, groups: Groups | None) -> None:
            result = count(rule, self.rows, per_row=self.per_row, groups=groups)
            tally = result.per_row if result.pairs else result.per_row[:0]  # a page of zeros that nobody reads costs nothing
            found.append((task.denials[number][0], result.pairs, *taking_part(tally)))

        if task.pieces > 1:
            for piece in split(compiled[0], task.pieces)[task.piece :: task.pieces]:
                keep(0, piece(), None)
        else:
            _visit_all(_counted_together(compiled), compiled, lambda number, groups: keep(number, compiled[number], groups))
        return found


def taking_part(tally: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rows that take part in pairs, and in how many; ``tally`` has all rows."""
    number = np.count_nonzero(tally)
    rows, numbers = np.empty(number, np.int32), np.empty(number, tally.dtype)
    kernels.taking_part(tally, rows, numbers)
    return rows, numbers


@dataclass(frozen=True)
class Looking(_Work):
    """Looks for up to ``most`` counterexamples to each of a task's denials: (number of the rule, pairs)."""

    most: int

    def __call__(self, task: Task) -> list[tuple[int, np.ndarray]]:
        compiled = self.compiled(task)
        found: list[tuple[int, np.ndarray]] = []

        def visit(number: int, groups: Groups | None) -> None:
            some = counterexamples(compiled[number], self.rows, self.most, groups)
            if len(some):
                found.append((task.denials[number][0], some))

        _visit_all(build(compiled), compiled, visit)
        return found


def _visit_all(tries: Sequence[Node], compiled: Sequence[Compiled], visit: Callable[[int, Groups | None], None]) -> None:
    """Visit each rule of the tries with the pairs that satisfy its equalities, or with None where nobody shares them."""
    for node in tries:
        first = compiled[next(node.all_rules())]
        if first.denial.arity == 1 or (len(node.rules) == 1 and not node.children):
            visit(node.rules[0], None)
        else:
            walk(node, Groups.whole(first.s, first.t), visit)
