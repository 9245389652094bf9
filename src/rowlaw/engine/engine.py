"""The violation engine: rules and a relation in; exact counts, rows, witnesses and pairs out.

This is what checking, discovery and upkeep ask. Work is cut into tasks (see `tasks`) that run in the driver's threads while small and as
one Spark job when large.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from rowlaw.engine.compile import Scales, compile_rule
from rowlaw.engine.count import count
from rowlaw.engine.plan import plan
from rowlaw.engine.refine import PairBatch, pairs, partners
from rowlaw.engine.tasks import ALL, Counting, Looking, Part, counting_tasks, looking_tasks, seconds, taking_part
from rowlaw.relation.projections import Projections
from rowlaw.relation.relation import Relation
from rowlaw.rules.model import Denial, Nulls, Rule
from rowlaw.spark.jobs import Done, DriverThreads, SparkTasks, Workers
from rowlaw.spark.session import cluster
from rowlaw.spark.ship import seen_by_all, send_files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

THREAD_SECONDS = 1.0  # estimated work below which the driver's threads do it even when there is a cluster
ROW_BYTES = 8  # of a row that breaks a rule and the number of its pairs, as a worker tells them
AT_ONCE = 1 << 29  # bytes that workers tell at once; Spark's driver takes twice as many by default
PROJECTED_ROWS = 20_000  # tables of fewer rows are looked at as they are

__all__ = ["Engine", "Found", "Pair", "Part"]

Pair = tuple[int, int]  # rows s and t; for a rule about single rows the same row twice


@dataclass(frozen=True, slots=True)
class Found:
    """The violations of a rule: how many pairs, and the rows that take part with the number of pairs each is in."""

    pairs: int
    rows: np.ndarray  # ascending
    per_row: np.ndarray


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
        denials = _numbered(rules)
        compiled = [compile_rule(d, self._scales, part.left, part.right) for _, d in denials]
        workers = self.workers_for(sum(map(seconds, compiled)))
        tasks = counting_tasks(denials, compiled, workers.slots)
        counting = Counting(self._scales, part, per_row)
        totals = [0] * len(rules)
        tallies: dict[int, list[tuple[np.ndarray, np.ndarray]]] = {}
        what = f"check {len(rules)} rules"
        if isinstance(workers, SparkTasks) and per_row and ROW_BYTES * self.relation.rows * len(tasks) > AT_ONCE:
            counted = workers.map(counting, tasks, what, done, taken=lambda result: result)
        else:
            counted = workers.map(counting, tasks, what, done)
        for results in counted:
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
        """For each rule a pair of rows that breaks it (a row twice, for rules about single rows), or None if it holds."""
        return [(int(found[0, 0]), int(found[0, 1])) if len(found) else None for found in self.counterexamples(rules, 1, part)]

    def counterexamples(self, rules: Sequence[Rule], most: int, part: Part = ALL, *, done: Done | None = None) -> list[np.ndarray]:
        """For each rule up to ``most`` pairs of rows that break it, as an array of ``(s, t)``; none only if it holds."""
        denials = _numbered(rules)
        # Whether a rule is broken shows on rows that stand for all; a part of the rows has to be looked at as it is.
        scales = self._scales if part is not ALL else self._distinct
        compiled = [compile_rule(d, scales, part.left, part.right) for _, d in denials]
        workers = self.workers_for(sum(map(seconds, compiled)))
        looking = Looking(scales, part, most)
        found: list[np.ndarray] = [np.zeros((0, 2), np.int32)] * len(rules)
        for results in workers.map(looking, looking_tasks(denials, compiled), f"look for counterexamples to {len(rules)} rules", done):
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

    def workers_for(self, seconds: float, *, on_rows: bool = True) -> Workers:
        """Who does so much work; wherever that is, the relation is there if the work is ``on_rows``.

        Spark tasks where they bring cores: on a cluster, for more than a second of work (see docs/decisions/0002).
        """
        workers = self.workers
        if workers is None:
            session = cluster(self.session) if seconds > THREAD_SECONDS else None
            workers = SparkTasks(session) if session is not None else DriverThreads()
        if on_rows and isinstance(workers, SparkTasks):
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
