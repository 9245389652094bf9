"""From rules to plans, and from plans to counts.

A denial becomes a few signed parts, each counted by one plan; the parts of all rules that share a partitioning share a job, and jobs run
side by side.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from rowlaw.engine.spark import aggregate
from rowlaw.engine.spark.bucket import Buckets
from rowlaw.engine.spark.keyed import Keyed, heavy_keys, key_predicates, shared
from rowlaw.engine.spark.roles import Scope, Within, may_be
from rowlaw.engine.spark.shape import Shape
from rowlaw.engine.spark.view import View
from rowlaw.engine.spark.worker import COUNT_SCHEMA, CountTask, Item
from rowlaw.errors import RowlawError
from rowlaw.rules.model import Denial
from rowlaw.spark.jobs import described

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

JOBS_AT_ONCE = 3  # jobs that run side by side: one leaves cores idle at its end


@dataclass(frozen=True)
class Part:
    """A signed part of the violations of rule ``rule``, within a scope.

    ``plan``: "filter" (single rows), "aggregate" (a key or functional dependency), "products" (equalities only), "keyed" or "bucket".
    """

    rule: int
    sign: int
    plan: str
    shape: Shape
    scope: Scope = ()

    @property
    def in_two_roles(self) -> bool:
        """Whether rows have a position for each role, so that the pair of a row with itself is counted and has to be taken off."""
        if self.plan == "products":
            return True
        if self.plan == "bucket":
            return not self.shape.reflexive
        return self.plan == "keyed" and self.meeting_columns is None

    @property
    def meeting_columns(self) -> tuple[str, ...] | None:
        """The columns by which rows of a keyed part meet; None: rows are sent in two roles."""
        return self.shape.same_equal if self.shape.same_equal and self.shape.one_side else None


def parts_of(view: View, rule: int, denial: Denial) -> list[Part]:
    """The parts whose violations add up to those of a denial (over safe names)."""
    shape = replace(Shape.of(denial), apart=view.sides.s != view.sides.t)
    if denial.arity == 1:
        return [Part(rule, 1, "filter", shape, view.scope)]
    return _planned(view, rule, 1, shape, view.scope)


def _planned(view: View, rule: int, sign: int, shape: Shape, scope: Scope) -> list[Part]:
    if not shape.inequalities and aggregate.in_spark(view.table, shape.between):
        if aggregate.simple(shape) and not scope:
            return [Part(rule, sign, "aggregate", shape)]
        return [Part(rule, sign * s, "products", term, scope) for s, term in shape.terms()]
    found: list[Part] = []
    if shape.equal:
        heavy = heavy_keys(view, shape)
        keys = key_predicates(shape)
        if not heavy or not shape.inequalities:
            return [Part(rule, sign, "keyed", shape, scope)]
        found.append(Part(rule, sign, "keyed", shape, (*scope, Within(keys, heavy, inside=False))))
        scope = (*scope, Within(keys, heavy, inside=True))
    for s, term in shape.terms():
        if len(term.equal) > len(shape.equal):
            found += _planned(view, rule, sign * s, term, scope)
        elif term.inequalities:
            found.append(Part(rule, sign * s, "bucket", term, scope))
        else:
            found.append(Part(rule, sign * s, "products", term, scope))
    return found


class Counted(NamedTuple):
    """Signed violations of one rule, from one job; ``rows`` is None where the job does not tell the rows that take part."""

    rule: int
    pairs: int
    rows: int | None


Job = Callable[[], list[Counted]]


@dataclass(frozen=True)
class Counting:
    """Counts parts. ``rows``: the frame that they are counted in, with all columns."""

    view: View
    rows: DataFrame

    def run(self, parts: Sequence[Part], done: Callable[[int, int], None] | None = None) -> dict[int, Counted]:
        """The violations of each rule, and the rows that take part in them where that is known."""
        totals = {part.rule: Counted(part.rule, 0, 0) for part in parts}
        jobs = self._jobs(parts)
        with ThreadPoolExecutor(JOBS_AT_ONCE) as pool:
            for finished, result in enumerate([pool.submit(job) for job in jobs], 1):
                for rule, pairs, rows in result.result():
                    so_far = totals[rule]
                    both = None if so_far.rows is None or rows is None else so_far.rows + rows
                    totals[rule] = Counted(rule, so_far.pairs + pairs, both)
                if done is not None:
                    done(finished, len(jobs))
        several = {rule for rule, parts_of_it in Counter(part.rule for part in parts).items() if parts_of_it > 1}
        # a row may be in several parts, and would be counted in each
        return {rule: Counted(rule, c.pairs, None) if rule in several else c for rule, c in totals.items()}

    def _jobs(self, parts: Sequence[Part]) -> list[Job]:
        jobs: list[Job] = []
        keyed = []
        for number, part in enumerate(parts):
            match part.plan:
                case "keyed":
                    keyed.append(Keyed((Item(number, part.shape.denial()),), (part.shape,), part.meeting_columns, part.scope))
                case "filter":
                    jobs.append(self._job(f"filter rows for {part.shape.denial()}", self._filter, part))
                case "aggregate":
                    jobs.append(self._job(f"aggregate {part.shape.denial()}", self._aggregate, part))
                case "products":
                    jobs.append(self._job("aggregate", self._products, part))
                case _:
                    jobs += [self._job("bucket", self._passes, number, part), self._job("histogram", self._histogram, part)]
            if part.in_two_roles:
                jobs.append(self._job("pairs of rows with themselves", self._itself, part))
        for plan in shared(keyed):
            jobs.append(self._job(f"partition by {', '.join(plan.columns or ('two roles',))}", self._keyed, plan, parts))
        return jobs

    def _job(self, description: str, work: Callable[..., list[Counted]], *given: Any) -> Job:
        def job() -> list[Counted]:
            with described(self.view.table.session, description):
                try:
                    return work(*given)
                except RowlawError:
                    raise
                except Exception as error:  # Spark's errors come as many types
                    raise RowlawError("JOB_FAILED", job=description, problem=str(error)) from error

        return job

    def _filter(self, part: Part) -> list[Counted]:
        count = single_rows(self.view, self.rows, part.shape).count()
        return [Counted(part.rule, count, count)]

    def _aggregate(self, part: Part) -> list[Counted]:
        count = aggregate.as_count(aggregate.count_simple(self.view.table, self.rows, part.shape).first())
        return [Counted(part.rule, part.sign * count.pairs, count.rows)]

    def _products(self, part: Part) -> list[Counted]:
        row = aggregate.count_products(self.view.table, self.rows, part.shape, part.scope).first()
        return [Counted(part.rule, part.sign * int(row["pairs"] or 0), None)] if row is not None else []

    def _itself(self, part: Part) -> list[Counted]:
        own = itself(self.view, self.rows, part)
        return [Counted(part.rule, -part.sign * own.count(), None)] if own is not None else []

    def _keyed(self, plan: Keyed, parts: Sequence[Part]) -> list[Counted]:
        task = CountTask(plan.items, self.view.table.nulls)
        counted = []
        for row in plan.frame(self.view, self.rows).mapInArrow(task, COUNT_SCHEMA).collect():
            part = parts[row["item"]]
            counted.append(Counted(part.rule, part.sign * int(row["pairs"]), None if part.in_two_roles else row["rows"]))
        return counted

    def _passes(self, number: int, part: Part) -> list[Counted]:
        buckets = Buckets(self.view, part.shape, part.scope)
        task = CountTask(buckets.items(number), self.view.table.nulls, with_rows=False)
        pairs = sum(int(row["pairs"]) for row in buckets.passes(self.rows).mapInArrow(task, COUNT_SCHEMA).collect())
        return [Counted(part.rule, part.sign * pairs, None)]

    def _histogram(self, part: Part) -> list[Counted]:
        buckets = Buckets(self.view, part.shape, part.scope)
        return [Counted(part.rule, part.sign * buckets.decided(buckets.histograms(self.rows)), None)]


def single_rows(view: View, rows: DataFrame, shape: Shape) -> DataFrame:
    """The rows that break a rule about single rows, of those that may stand for ``s``."""
    predicates = (*shape.s_filters, *shape.t_filters)
    return rows.where(may_be(view.table, rows, shape, "s", view.scope) & aggregate.true_of_row(view.table, rows, predicates))


def itself(view: View, rows: DataFrame, part: Part) -> DataFrame | None:
    """The rows that a part counts as pairs with themselves."""
    own = aggregate.with_itself(part.shape)
    if own is None:
        return None
    table, shape = view.table, part.shape
    roles = may_be(table, rows, shape, "s", part.scope) & may_be(table, rows, shape, "t", part.scope)
    return rows.where(roles & aggregate.true_of_row(table, rows, own))
