"""The violation engine: rules and a relation in; exact counts, rows, witnesses and pairs out.

This is what checking, discovery and upkeep ask. Work is cut into tasks (tries of rules that share groups, and pieces of
rules too heavy for one task) that run in the driver's threads while small and as one Spark job when large.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from rowlaw.engine.cells import in_cells
from rowlaw.engine.compile import Compiled, Scales, compile_rule
from rowlaw.engine.count import count
from rowlaw.engine.plan import plan
from rowlaw.engine.refine import PairBatch, pairs, partners
from rowlaw.engine.split import split
from rowlaw.engine.trie import Node, build, walk
from rowlaw.engine.witness import Pair, counterexamples
from rowlaw.relation.groups import Groups
from rowlaw.relation.projections import Projections
from rowlaw.relation.relation import Relation
from rowlaw.rules.model import Denial, Nulls, Rule
from rowlaw.spark.jobs import Done, DriverThreads, SparkTasks, Workers, cores
from rowlaw.spark.ship import SharedFolder, send_files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

THREAD_SECONDS = 1.0  # estimated work below which the driver's threads do it even when there is a cluster
PROJECTED_ROWS = 20_000  # tables of fewer rows are looked at as they are
SPLIT_SECONDS = 0.2  # a rule estimated below this is not cut


@dataclass(frozen=True, slots=True)
class Found:
    """The violations of a rule: how many pairs, and the rows that take part with the number of pairs each is in."""

    pairs: int
    rows: np.ndarray  # ascending
    per_row: np.ndarray


@dataclass(frozen=True, slots=True)
class Part:
    """Rows to look at: ``s`` among ``left``, ``t`` among ``right``; all if None."""

    left: np.ndarray | None = None
    right: np.ndarray | None = None


ALL = Part()


@dataclass(frozen=True, slots=True)
class _Task:
    """Some denials to count, one by one or cut: piece ``piece`` of ``pieces``."""

    denials: tuple[tuple[int, Denial], ...]
    piece: int = 0
    pieces: int = 1
    seconds: float = 0.0


@dataclass(frozen=True)
class Engine:
    """The engine over one relation under one meaning of null.

    >>> import pyarrow as pa
    >>> from rowlaw.relation import encode
    >>> from rowlaw.rules import parse
    >>> from rowlaw.source import open_source
    >>> relation = encode(open_source(pa.table({"zip": [1, 1, 2], "city": ["a", "b", "a"]})))
    >>> engine = Engine(relation)
    >>> rule = parse("fd (zip) -> city")
    >>> engine.count([rule])[0].pairs, engine.witness([rule])
    (2, [(0, 1)])
    >>> [(int(s), int(t)) for batch in engine.pairs(rule) for s, t in zip(*batch)]
    [(0, 1), (1, 0)]
    """

    relation: Relation
    nulls: Nulls = "unknown"
    session: SparkSession | None = None
    workers: Workers | None = None
    _scales: Scales = field(init=False, repr=False)
    _shipped: list[SparkSession] = field(default_factory=list, init=False, repr=False)  # whose workers have the relation

    def __post_init__(self) -> None:
        object.__setattr__(self, "_scales", Scales(self.relation, self.nulls))

    @cached_property
    def _distinct(self) -> Scales:
        return Scales(self.relation, self.nulls, Projections(self.relation) if self.relation.rows > PROJECTED_ROWS else None)

    def count(self, rules: Sequence[Rule], part: Part = ALL, *, per_row: bool = True, done: Done | None = None) -> list[Found]:
        """For each rule the exact number of violations and the rows that take part. Rules must be bound to the relation."""
        denials = [(i, d) for i, rule in enumerate(rules) for d in rule.denials]
        compiled = [compile_rule(d, self._scales, part.left, part.right) for _, d in denials]
        tasks = _tasks(denials, compiled, cores())
        workers = self._workers(sum(task.seconds for task in tasks))
        totals = [0] * len(rules)
        tallies: dict[int, list[tuple[np.ndarray, np.ndarray]]] = {}
        counted = _Counting(self.relation, self.nulls, part, per_row)
        if isinstance(workers, SparkTasks):
            self.ship(workers.session)
        else:
            counted = _Counting(self.relation, self.nulls, part, per_row, self._scales)
        for results in workers.map(counted, tasks, f"check {len(rules)} rules", done):
            for i, number, rows, numbers in results:
                totals[i] += number
                if len(rows):
                    tallies.setdefault(i, []).append((rows, numbers))
        return [Found(totals[i], *self._merged(tallies.pop(i, []))) for i in range(len(rules))]

    def _merged(self, parts: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
        """Rows and their pairs from the pieces of a rule."""
        if len(parts) < 2:
            rows, numbers = parts[0] if parts else (np.zeros(0, np.int32), np.zeros(0, np.uint32))
            return rows, numbers.astype(np.int64)
        tally = np.zeros(self.relation.rows, np.uint32)
        for rows, numbers in parts:
            tally[rows] += numbers
        rows = np.flatnonzero(tally).astype(np.int32)
        return rows, tally[rows].astype(np.int64)

    def witness(self, rules: Sequence[Rule], part: Part = ALL) -> list[Pair | None]:
        """For each rule a pair of rows that breaks it (a row twice, for rules about single rows), or None if it holds."""
        return [(int(found[0, 0]), int(found[0, 1])) if len(found) else None for found in self.counterexamples(rules, 1, part)]

    def counterexamples(self, rules: Sequence[Rule], most: int, part: Part = ALL, *, done: Done | None = None) -> list[np.ndarray]:
        """For each rule up to ``most`` pairs of rows that break it, as an array of ``(s, t)``; none only if it holds."""
        denials = [(i, d) for i, rule in enumerate(rules) for d in rule.denials]
        # Whether a rule is broken shows on rows that stand for all; a part of the rows has to be looked at as it is.
        scales = self._scales if part is not ALL else self._distinct
        compiled = [compile_rule(d, scales, part.left, part.right) for _, d in denials]
        looking = _Looking(self.relation, self.nulls, part, most)
        tasks = [_Task(tuple(denials[n] for n in node.all_rules())) for node in build(compiled)]
        workers = self._workers(sum(seconds(rule) for rule in compiled))
        if isinstance(workers, SparkTasks):
            self.ship(workers.session)
        else:
            looking = _Looking(self.relation, self.nulls, part, most, scales)
        found: list[np.ndarray] = [np.zeros((0, 2), np.int32)] * len(rules)
        for results in workers.map(looking, tasks, f"look for counterexamples to {len(rules)} rules", done):
            for i, more in results:
                found[i] = np.concatenate((found[i], more))[:most]
        return found

    def pairs(self, rule: Rule, part: Part = ALL, *, involved: Found | None = None) -> Iterator[PairBatch]:
        """All violations of a rule, in batches of rows ``s`` and rows ``t``, without ever holding them all.

        ``involved`` are the rows known to take part (from :meth:`count`); without them they are counted first, so that
        the work follows the violations.
        """
        for denial in rule.denials:
            compiled = compile_rule(denial, self._scales, part.left, part.right)
            if denial.arity == 1:
                if len(compiled.s):
                    yield compiled.s, compiled.s
                continue
            if involved is None:
                tally = count(compiled, self.relation.rows).per_row
            else:
                tally = np.zeros(self.relation.rows, np.uint32)
                tally[involved.rows] = 1
            yield from pairs(compiled, tally)

    def partners(self, rule: Rule, row: int) -> list[Pair]:
        """The violations of a rule about pairs that one row takes part in, as ``(s, t)``."""
        found = []
        for denial in rule.denials:
            as_s, as_t = partners(compile_rule(denial, self._scales), row)
            found += [(row, t) for t in as_s.tolist()] + [(s, row) for s in as_t.tolist()]
        return found

    def explain(self, rule: Rule) -> str:
        """The plan of a rule in words."""
        plans = [str(plan(compile_rule(denial, self._scales))) for denial in rule.denials]
        return "\n\n".join(plans) or "nothing to do: the rule is true on every table"

    def _workers(self, seconds: float) -> Workers:
        """Spark tasks where they bring cores: on a cluster, for more than a second of work (see docs/decisions/0002)."""
        if self.workers is not None:
            return self.workers
        if seconds > THREAD_SECONDS:
            from rowlaw.spark.session import active_session

            session = self.session or active_session()
            if session is not None and not _is_local(session):
                return SparkTasks(session)
        return DriverThreads()

    def workers_for(self, seconds: float) -> Workers:
        """Who does so much work on the relation; wherever that is, the relation is there."""
        workers = self._workers(seconds)
        if isinstance(workers, SparkTasks):
            self.ship(workers.session)
        return workers

    def ship(self, session: SparkSession) -> None:
        """Make sure that workers have the relation: they see its folder, or they are sent its files."""
        if not _is_local(session) and session not in self._shipped:
            self._shipped.append(session)
            folder, tasks = SharedFolder.make(self.relation.folder), SparkTasks(session)
            if not all(tasks.map(lambda _: folder.visible, [0] * tasks.slots, "look for shared files")):
                send_files(session, self.relation.folder)


def _is_local(session: SparkSession) -> bool:
    """Whether the session's workers are processes of this machine, with this machine's files."""
    master = session.conf.get("spark.master", None) or "local"
    return master.split("[")[0] == "local"


@dataclass(frozen=True)
class _Work:
    """Work on the denials of a task, each with the pairs that satisfy its equalities."""

    relation: Relation
    nulls: Nulls
    part: Part

    def compiled(self, task: _Task, scales: Scales | None) -> list[Compiled]:
        known = scales or Scales(self.relation, self.nulls)
        return [compile_rule(d, known, self.part.left, self.part.right) for _, d in task.denials]


def _walk(tries: Sequence[Node], compiled: Sequence[Compiled], visit: Callable[[int, Groups | None], None]) -> None:
    for node in tries:
        first = compiled[next(node.all_rules())]
        if first.denial.arity == 1 or (len(node.rules) == 1 and not node.children):
            visit(node.rules[0], None)  # nothing to share
        else:
            walk(node, Groups.whole(first.s, first.t), visit)


@dataclass(frozen=True)
class _Counting(_Work):
    """Counts a task's denials: (number of the rule, pairs, rows that take part, pairs of each)."""

    per_row: bool
    scales: Scales | None = None

    def __call__(self, task: _Task) -> list[tuple[int, int, np.ndarray, np.ndarray]]:
        compiled = self.compiled(task, self.scales)
        found: list[tuple[int, int, np.ndarray, np.ndarray]] = []

        def keep(number: int, rule: Compiled, groups: Groups | None) -> None:
            result = count(rule, self.relation.rows, per_row=self.per_row, groups=groups)
            rows = np.flatnonzero(result.per_row).astype(np.int32) if result.pairs else np.zeros(0, np.int32)
            found.append((task.denials[number][0], result.pairs, rows, result.per_row[rows]))

        if task.pieces > 1:
            for piece in split(compiled[0], task.pieces)[task.piece :: task.pieces]:
                keep(0, piece(), None)
        else:
            _walk(_counted(compiled), compiled, lambda number, groups: keep(number, compiled[number], groups))
        return found


@dataclass(frozen=True)
class _Looking(_Work):
    """Looks for counterexamples to a task's denials: (number of the rule, pairs)."""

    most: int
    scales: Scales | None = None

    def __call__(self, task: _Task) -> list[tuple[int, np.ndarray]]:
        compiled = self.compiled(task, self.scales)
        found: list[tuple[int, np.ndarray]] = []

        def visit(number: int, groups: Groups | None) -> None:
            some = counterexamples(compiled[number], self.relation.rows, self.most, groups)
            if len(some):
                found.append((task.denials[number][0], some))

        _walk(build(compiled), compiled, visit)
        return found


def _counted(compiled: Sequence[Compiled]) -> list[Node]:
    """Tries for counting: what is counted in cells needs nobody's groups."""
    return build(compiled, alone=in_cells)


def _tasks(denials: Sequence[tuple[int, Denial]], compiled: Sequence[Compiled], slots: int) -> list[_Task]:
    """Tasks of about equal length, the longest first: tries as they are, single rules cut where they would be the last to end."""
    tries = [list(node.all_rules()) for node in _counted(compiled)]
    whole = sum(seconds(rule) for rule in compiled)
    tasks = []
    for numbers in tries:
        cost = sum(seconds(compiled[n]) for n in numbers)
        heavy = [n for n in numbers if _worth_cutting(compiled[n]) and seconds(compiled[n]) > max(SPLIT_SECONDS, whole / slots / 2)]
        for n in heavy:
            tasks += [_Task((denials[n],), piece, slots, seconds(compiled[n]) / slots) for piece in range(slots)]
        if len(heavy) < len(numbers):
            tasks.append(_Task(tuple(denials[n] for n in numbers if n not in heavy), seconds=cost))
    return sorted(tasks, key=lambda task: -task.seconds)


def _worth_cutting(rule: Compiled) -> bool:
    """Sorting and counting groups is too quick to be cut, and two inequalities alone cost more in ranges than as a whole."""
    return bool(rule.inequalities) and (bool(rule.equalities) or len(rule.inequalities) > 2)


def seconds(rule: Compiled) -> float:
    """About how long counting takes on one core (benchmarks/targets/check.py)."""
    n = len(rule.s) + (0 if rule.t is rule.s else len(rule.t))
    m = len(rule.inequalities)
    cost = 20e-9 * (1 + len(rule.equalities))
    if m:
        cost += 80e-9 * (m if m < 3 else 8 * math.log2(n + 2) ** (m - 2))
    return float(n * cost * 2 ** len(rule.differences))
