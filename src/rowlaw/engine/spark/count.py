"""From plans to counts: the jobs of all parts run side by side, and their signed counts add up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from rowlaw.engine.spark import aggregate
from rowlaw.engine.spark.fold import TooManyRows
from rowlaw.engine.spark.plan import AnyPart, Counted, Job, Plan
from rowlaw.engine.spark.planning import parts_of
from rowlaw.engine.spark.roles import may_be
from rowlaw.engine.spark.view import View
from rowlaw.errors import RowlawError
from rowlaw.spark.jobs import described, failure
from rowlaw.stopping import NEVER, Stop

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_JOBS_AT_ONCE = 3  # jobs that run side by side: one leaves cores idle at its end


@dataclass(frozen=True)
class Counting:
    """Counts parts. ``rows``: the frame that they are counted in, with all columns. Raises ``Stopped`` soon after
    ``stop`` is requested."""

    view: View
    rows: DataFrame
    stop: Stop = NEVER

    def run(self, parts: Sequence[AnyPart], done: Callable[[int, int], None] | None = None) -> dict[int, Counted]:
        """The violations of each rule, and the rows that take part in them where that is known."""
        totals = {part.rule: Counted(part.rule, 0, 0) for part in parts}
        jobs = self._jobs(parts)
        unfolded: list[AnyPart] = []
        with ThreadPoolExecutor(_JOBS_AT_ONCE) as pool:
            for finished, result in enumerate([pool.submit(self._run, job) for job in jobs], 1):
                try:
                    counted = result.result()
                except TooManyRows as fold:
                    unfolded += [part for p in fold.parts for part in parts_of(self.view, p.rule, p.shape.denial())]
                    continue
                for rule, pairs, rows in counted:
                    so_far = totals[rule]
                    both = None if so_far.rows is None or rows is None else so_far.rows + rows
                    totals[rule] = Counted(rule, so_far.pairs + pairs, both)
                if done is not None:
                    done(finished, len(jobs))
        several = {rule for rule, parts_of_it in Counter(part.rule for part in parts).items() if parts_of_it > 1}
        for rule, more in (self.run(unfolded) if unfolded else {}).items():
            totals[rule] = Counted(rule, totals[rule].pairs + more.pairs, more.rows)
        # a row may be in several parts, and would be counted in each
        return {rule: Counted(rule, c.pairs, None) if rule in several else c for rule, c in totals.items()}

    def _jobs(self, parts: Sequence[AnyPart]) -> list[Job]:
        by_plan: dict[Plan, list[AnyPart]] = {}
        for part in parts:
            by_plan.setdefault(part.plan, []).append(part)
        jobs = [job for plan, some in by_plan.items() for job in plan.jobs(self.view, self.rows, some)]
        own = [Job("pairs of rows with themselves", partial(self._itself, part)) for part in parts if part.in_two_roles]
        return [*jobs, *own]

    def _run(self, job: Job) -> list[Counted]:
        self.stop.check()
        with described(self.view.table.session, job.description, stop=self.stop):
            try:
                return job.work()
            except (RowlawError, TooManyRows):
                raise
            except Exception as error:  # Spark's errors come as many types
                self.stop.check()  # the job was cancelled for that
                raise failure(job.description, error) from error

    def _itself(self, part: AnyPart) -> list[Counted]:
        own = itself(self.view, self.rows, part)
        return [Counted(part.rule, -part.sign * own.count(), None)] if own is not None else []


def itself(view: View, rows: DataFrame, part: AnyPart) -> DataFrame | None:
    """The rows that a part in two roles counts as pairs with themselves."""
    own = part.shape.with_itself()
    if own is None:
        return None
    table, shape = view.table, part.shape
    roles = may_be(table, rows, shape, "s", part.scope) & may_be(table, rows, shape, "t", part.scope)
    return rows.where(roles & aggregate.true_of_row(table, rows, own))
