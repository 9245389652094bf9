"""The plans of a rule on Spark, in words."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rowlaw.engine.choose import JOB_SECONDS, ROW_SECONDS
from rowlaw.engine.plans import CountPlan, DenialPlan, ListPlan, RulePlan
from rowlaw.engine.spark.count import Counting, Part, parts_of
from rowlaw.engine.spark.view import View
from rowlaw.rules.model import Denial, Rule

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PAIR_SECONDS = 2e-7  # to list a violation in a Python task and hand it to Spark

MEANING = {
    "filter": "one filter in Spark SQL",
    "aggregate": "group sizes in Spark SQL; no row leaves the JVM",
    "products": "products of group sizes in Spark SQL; no row leaves the JVM",
    "keyed": "rows are partitioned by what must be equal, and each partition is counted by a Python task",
    "bucket": "each compared column is cut into ranges; a histogram decides most pairs, and tasks count those that share a range",
}


def explained(view: View, rule: Rule, rows: DataFrame, *, analyze: bool) -> RulePlan:
    """How the violations of a rule are counted and listed."""
    return RulePlan(tuple(_denial_plan(view, rows, denial, analyze=analyze) for denial in rule.denials))


def _denial_plan(view: View, rows: DataFrame, denial: Denial, *, analyze: bool) -> DenialPlan:
    parts = parts_of(view, 0, view.table.safe(denial))
    names = list(dict.fromkeys(part.plan for part in parts))
    measured = violations = None
    if analyze:
        began = time.perf_counter()
        violations = Counting(view, rows).run(parts)[0].pairs
        measured = time.perf_counter() - began
    seconds = sum(_seconds(view, part) for part in parts)
    because = "; ".join(MEANING[name] for name in names)
    if any(within.inside for part in parts for within in part.scope):
        because += "; groups too large for a task are cut by buckets"
    stages = ("rows that take part are found by the same plans", "each task lists the violations among its rows")
    return DenialPlan(
        str(denial),
        CountPlan(" and ".join(names), because, seconds, measured, violations),
        ListPlan(stages, seconds + JOB_SECONDS, PAIR_SECONDS),
    )


def _seconds(view: View, part: Part) -> float:
    """About how long a part takes: each inequality of a bucket plan is another pass over all rows."""
    passes = len(part.shape.inequalities) + 1 if part.plan == "bucket" else 1
    return JOB_SECONDS + passes * view.table.rows * ROW_SECONDS
