"""The plans of a rule on Spark, in words."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rowlaw.engine.plans import CountPlan, DenialPlan, ListPlan, RulePlan
from rowlaw.engine.spark import costs
from rowlaw.engine.spark.count import Counting
from rowlaw.engine.spark.plan import AnyPart
from rowlaw.engine.spark.planning import planned
from rowlaw.engine.spark.view import View
from rowlaw.rules.model import Denial, Rule

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def explained(view: View, rule: Rule, among: Sequence[Rule], rows: DataFrame, *, analyze: bool) -> RulePlan:
    """How the violations of a rule are counted, together with those of ``among``, and listed."""
    every = planned(view, [*rule.denials, *among])  # each denial of the rule as a rule of its own
    plans = []
    for number, denial in enumerate(rule.denials):
        plans.append(_denial_plan(view, rows, denial, [part for part in every if part.rule == number], analyze=analyze))
    return RulePlan(tuple(plans))


def _denial_plan(view: View, rows: DataFrame, denial: Denial, parts: Sequence[AnyPart], *, analyze: bool) -> DenialPlan:
    plans = list(dict.fromkeys(part.plan for part in parts))
    measured = violations = None
    if analyze:
        began = time.perf_counter()
        violations = sum(count.pairs for count in Counting(view, rows).run(parts).values())
        measured = time.perf_counter() - began
    seconds = sum(part.plan.seconds(view, part.shape) for part in parts)
    because = "; ".join(plan.meaning for plan in plans)
    if any(within.inside for part in parts for within in part.scope):
        because += "; groups too large for a task are cut by buckets"
    stages = ("rows that take part are found by the same plans", "each task lists the violations among its rows")
    names = " and ".join(dict.fromkeys(plan.name for plan in plans))
    return DenialPlan(
        str(denial),
        CountPlan(names, because, seconds, measured, violations),
        ListPlan(stages, seconds + costs.PYTHON_JOB, costs.LIST_PAIR),
    )
