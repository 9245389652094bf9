"""Rules and a relation in; exact counts, positions of rows and pairs of positions out.

Work is cut into tasks (see `tasks`) that run in the driver's threads while small and as one Spark job when large.
:class:`~rowlaw.engine.local.engine.LocalEngine` puts the answers into the form that the protocol asks for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from rowlaw.engine.local.compile import Compiled, Scales, compile_rule
from rowlaw.engine.local.explain import Explaining
from rowlaw.engine.local.listing import Listed, list_pairs
from rowlaw.engine.local.refine import PairBatch, among, groups, partners
from rowlaw.engine.local.tasks import ALL, Counting, Looking, Part, counting_tasks, looking_tasks, seconds, taking_part
from rowlaw.engine.plans import RulePlan
from rowlaw.relation.groups import Groups
from rowlaw.relation.projections import Projections
from rowlaw.relation.relation import Relation
from rowlaw.rules.model import Denial, Nulls, Rule
from rowlaw.spark.jobs import Done, DriverThreads, SparkTasks, Workers, finished
from rowlaw.spark.session import cluster
from rowlaw.spark.ship import seen_by_all, send_files
from rowlaw.stopping import NEVER, Stop, Stopped

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

THREAD_SECONDS = 1.0  # estimated work below which the driver's threads do it even when there is a cluster
_ROW_BYTES = 8  # of a row that breaks a rule and the count of its pairs, in the result of a task
AT_ONCE = 1 << 29  # bytes of results that are collected at once; Spark's driver takes twice as many by default
PROJECTED_ROWS = 20_000  # tables of fewer rows are looked at as they are

__all__ = ["Found", "Pair", "Part", "RowEngine"]

Pair = tuple[int, int]  # rows s and t; for a rule about single rows the same row twice


@dataclass(frozen=True, slots=True)
class Found:
    """The violations of a rule: how many pairs, and the rows that take part with the number of pairs each is in."""

    pairs: int
    rows: np.ndarray  # ascending
    per_row: np.ndarray


class Origin(Protocol):
    """Where the rows of a relation came from, if only some of their columns were brought."""

    def flagged(self, broken: DataFrame, relation: Relation) -> DataFrame:
        """The whole table, with what each row is called and the rules that it breaks; ``relation``: what was brought of
        it."""


@dataclass(frozen=True)
class RowEngine:
    """The questions about one relation under one meaning of null whose answers are positions of rows.

    >>> import pyarrow as pa
    >>> from rowlaw.relation import encode
    >>> from rowlaw.rules import parse
    >>> from rowlaw.source import open_source
    >>> relation = encode(open_source(pa.table({"zip": [1, 1, 2], "city": ["a", "b", "a"]})))
    >>> engine = RowEngine(relation)
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
    origin: Origin | None = None  # the Spark frame that the relation was brought from
    _scales: Scales = field(init=False, repr=False)
    # whose workers have the relation
    _shipped: list[SparkSession] = field(default_factory=list, init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_scales", Scales(self.relation, self.nulls))

    @cached_property
    def _distinct(self) -> Scales:
        return Scales(
            self.relation, self.nulls, Projections(self.relation) if self.relation.rows > PROJECTED_ROWS else None
        )

    def count(
        self,
        rules: Sequence[Rule],
        part: Part = ALL,
        *,
        per_row: bool = True,
        done: Done | None = None,
        stop: Stop = NEVER,
    ) -> list[Found]:
        """For each rule the exact number of violations and the rows that take part. Rules must be bound to the
        relation.

        Raises ``Stopped`` soon after ``stop`` is requested.
        """
        denials = _numbered(rules)
        compiled = finished(lambda: [compile_rule(d, self._scales, part.left, part.right) for _, d in denials], stop)
        # counting is near-linear: sending the table to others would take longer
        workers = self.workers or DriverThreads()
        if workers.session is not None:
            self.ship(workers.session)
        tasks = counting_tasks(denials, compiled, workers.slots)
        counting = Counting(self._scales, part, per_row, stop=stop)
        totals = [0] * len(rules)
        tallies: dict[int, list[tuple[np.ndarray, np.ndarray]]] = {}
        large = per_row and _ROW_BYTES * self.relation.rows * len(tasks) > AT_ONCE
        for results in workers.map(counting, tasks, f"check {len(rules)} rules", done, large=large, stop=stop):
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
        rows, numbers = taking_part(tally)
        return rows, numbers.astype(np.int64)

    def witness(self, rules: Sequence[Rule], part: Part = ALL) -> list[Pair | None]:
        """For each rule a pair of rows that breaks it (a row twice, for rules about single rows), or None if it
        holds."""
        return [
            (int(pairs[0, 0]), int(pairs[0, 1])) if len(pairs) else None
            for pairs in self.violating_pairs(rules, 1, part)
        ]

    def violating_pairs(
        self, rules: Sequence[Rule], most: int, part: Part = ALL, *, done: Done | None = None
    ) -> list[np.ndarray]:
        """For each rule up to ``most`` pairs of rows that break it, as an array of ``(s, t)``; none only if it
        holds."""
        return [pairs for pairs in self.examined(rules, most, part, done=done) if pairs is not None]

    def examined(
        self, rules: Sequence[Rule], most: int, part: Part = ALL, *, done: Done | None = None, stop: Stop = NEVER
    ) -> list[np.ndarray | None]:
        """As :meth:`violating_pairs`, but None for rules that could not be examined before a request to ``stop``."""
        denials = _numbered(rules)

        def compiled() -> tuple[Scales, list[Compiled]]:
            # Whether a rule is broken shows on rows that stand for all; a part of the rows has to be looked at as it
            # is.
            scales = self._scales if part is not ALL else self._distinct
            ready = []
            for _, denial in denials:
                stop.check()
                ready.append(compile_rule(denial, scales, part.left, part.right))
            return scales, ready

        try:
            scales, every = finished(compiled, stop)
        except Stopped:
            return [None] * len(rules)
        tasks = looking_tasks(denials, every)
        workers = self.workers_for(sum(map(seconds, every)))
        looking = Looking(scales, part, most, stop)
        try:
            results: Sequence[Any] = workers.map(
                looking, tasks, f"look for counterexamples to {len(rules)} rules", done, stop=stop
            )
        except Stopped as stopped:
            results = stopped.results or [None] * len(tasks)
        violating = [np.zeros((0, 2), np.int32)] * len(rules)
        missing: set[int] = set()
        for task, answers in zip(tasks, results, strict=True):
            if answers is None:
                missing.update(i for i, _ in task.denials)
                continue
            for i, more in answers:
                if more is None:
                    missing.add(i)
                else:
                    violating[i] = np.concatenate((violating[i], more))[:most]
        return [None if i in missing and not len(pairs) else pairs for i, pairs in enumerate(violating)]

    def pairs(
        self, rule: Rule, part: Part = ALL, *, involved: Found | None = None, limit: int | None = None
    ) -> Iterator[PairBatch]:
        """All violations of a rule, or the first ``limit``, in batches of rows ``s`` and rows ``t``, without ever
        holding them all.

        ``involved`` are the rows known to take part (from :meth:`count`): the others are left out from the start.
        """
        for _, s, t in self.listed([rule], part, involved=None if involved is None else [involved], limit=limit):
            yield s, t

    def listed(
        self,
        rules: Sequence[Rule],
        part: Part = ALL,
        *,
        involved: Sequence[Found] | None = None,
        limit: int | None = None,
    ) -> Iterator[Listed]:
        """The violations of several rules, for each the first ``limit``, in batches ``(index of the rule, rows s, rows
        t)``.

        Rules share groups, and threads share the work. A rule of several denials may give ``limit`` violations of each.
        """
        denials = _numbered(rules)
        compiled = []
        for number, denial in denials:
            rule = compile_rule(denial, self._scales, part.left, part.right)
            compiled.append(
                rule
                if involved is None or denial.arity == 1
                else among(rule, involved[number].rows, self.relation.rows)
            )
        for place, s, t in list_pairs(compiled, limit=limit):
            yield denials[place][0], s, t

    def groups(self, rule: Rule, part: Part = ALL) -> Iterator[Groups]:
        """All violations of a rule about pairs as groups: every ``s`` of a group with every ``t`` of it, except a row
        with itself."""
        for denial in rule.denials:
            yield from groups(compile_rule(denial, self._scales, part.left, part.right))

    def partners(self, rule: Rule, row: int, part: Part = ALL) -> list[Pair]:
        """The violations of a rule about pairs that one row takes part in, as ``(s, t)``."""
        pairs = []
        for denial in rule.denials:
            as_s, as_t = partners(compile_rule(denial, self._scales, part.left, part.right), row)
            pairs += [(row, t) for t in as_s.tolist()] + [(s, row) for s in as_t.tolist()]
        return pairs

    def explain(self, rule: Rule, *, analyze: bool = False, among: Sequence[Rule] = ()) -> RulePlan:
        """The plan of a rule: the method that counts its violations and the stages that list them, with cost estimates;
        print it.

        ``among`` are rules that are counted together with it: they may share groups. ``analyze`` counts and lists, and
        gives the measured times too.
        """
        estimate = sum(seconds(compile_rule(d, self._scales)) for _, d in _numbered([rule, *among]))
        slots = self.workers_for(estimate, on_rows=False).slots
        return Explaining(self._scales, slots).plan(rule, among, analyze=analyze)

    def workers_for(self, seconds: float, *, on_rows: bool = True) -> Workers:
        """Choose the workers for so much work; if the work is ``on_rows``, make sure that they have the relation.

        Spark tasks where they bring cores: on a cluster, for more than a second of work (see docs/decisions/0002).
        """
        workers = self.workers
        if workers is None:
            session = cluster(self.session) if seconds > THREAD_SECONDS else None
            workers = SparkTasks(session) if session is not None else DriverThreads()
        if on_rows and workers.session is not None:
            self.ship(workers.session)
        return workers

    def ship(self, session: SparkSession) -> None:
        """Make sure that workers have the relation: they see its folder, or they are sent its files."""
        if session not in self._shipped:
            self._shipped.append(session)
            if not seen_by_all(session, self.relation.folder):
                send_files(session, self.relation.folder)


def _numbered(rules: Sequence[Rule]) -> list[tuple[int, Denial]]:
    """The denials of some rules, each with the number of its rule."""
    return [(i, denial) for i, rule in enumerate(rules) for denial in rule.denials]
