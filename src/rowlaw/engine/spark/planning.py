"""From rules to parts: which plan counts which part of a rule's violations.

A denial that no plan counts as it is becomes several signed parts: ``!=`` by inclusion and exclusion, groups too large
for a task apart from all others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rowlaw.engine.spark.bucketing import BucketPlan
from rowlaw.engine.spark.fold import folds
from rowlaw.engine.spark.groups import AggregatePlan, ProductsPlan
from rowlaw.engine.spark.partition import PartitionPlan, RolesPlan, heavy_keys, key_predicates
from rowlaw.engine.spark.plan import AnyPart, Part, RowPlan
from rowlaw.engine.spark.roles import Scope, Within
from rowlaw.engine.spark.shape import Shape
from rowlaw.engine.spark.single import FilterPlan
from rowlaw.engine.spark.view import View
from rowlaw.rules.model import Denial, Rule

PLANS: tuple[RowPlan, ...] = (FilterPlan(), AggregatePlan(), ProductsPlan(), PartitionPlan(), RolesPlan(), BucketPlan())


def planned(view: View, rules: Sequence[Rule]) -> list[AnyPart]:
    """The parts of several rules: those that share few distinct rows are counted from one fold of the table."""
    denials = [(number, view.table.safe(denial)) for number, rule in enumerate(rules) for denial in rule.denials]
    shapes = [_shape(view, denial) for _, denial in denials]
    chosen = folds(view, shapes)
    parts: list[AnyPart] = []
    for (number, denial), shape, fold in zip(denials, shapes, chosen, strict=True):
        parts += [Part(number, 1, fold, shape)] if fold is not None else parts_of(view, number, denial)
    return parts


def parts_of(view: View, rule: int, denial: Denial) -> list[Part[RowPlan]]:
    """The parts whose violations add up to those of a denial (over safe names), each row of the table by itself."""
    return _parts(view, rule, 1, _shape(view, denial), view.scope)


def _shape(view: View, denial: Denial) -> Shape:
    return replace(Shape.of(denial), apart=view.sides.s != view.sides.t)


def _parts(view: View, rule: int, sign: int, shape: Shape, scope: Scope) -> list[Part[RowPlan]]:
    plan = next((plan for plan in PLANS if plan.applies(view, shape, scope)), None)
    if plan is not None:
        return [Part(rule, sign, plan, shape, scope)]
    if shape.equal and shape.inequalities:
        return _apart(view, rule, sign, shape, scope)
    return [part for s, term in shape.terms() for part in _parts(view, rule, sign * s, term, scope)]


def _apart(view: View, rule: int, sign: int, shape: Shape, scope: Scope) -> list[Part[RowPlan]]:
    """The groups that are too large for a task are cut by buckets, all others are partitioned."""
    keys, heavy = key_predicates(shape), heavy_keys(view, shape)
    light: RowPlan = PartitionPlan() if shape.same_equal and shape.one_side else RolesPlan()
    parts: list[Part[RowPlan]] = [Part(rule, sign, light, shape, (*scope, Within(keys, heavy, inside=False)))]
    inside = (*scope, Within(keys, heavy, inside=True))
    for s, term in shape.terms():
        if len(term.equal) > len(shape.equal):
            parts += _parts(view, rule, sign * s, term, inside)
        else:
            parts.append(Part(rule, sign * s, BucketPlan(), term, inside))
    return parts
