"""Violations one by one: groups of pairs flow depth-first through the stages of a plan (FACET sections 3.2 and 5)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from rowlaw.engine.compile import Compiled
from rowlaw.engine.inequality import BATCH
from rowlaw.engine.plan import Plan, Stage, plan
from rowlaw.kernels.pairs import write_pairs
from rowlaw.relation.groups import Groups

PairBatch = tuple[np.ndarray, np.ndarray]  # rows s and rows t of some violations


def pairs(rule: Compiled, taking_part: np.ndarray | None = None) -> Iterator[PairBatch]:
    """All violations of a compiled rule about pairs, in batches; memory stays bounded by the batch and the stages.

    ``taking_part`` are the counts of :func:`rowlaw.engine.count.count`: rows in no violation need not be looked at, which
    makes the work follow the violations rather than the table.
    """
    if taking_part is not None:
        s = rule.s[taking_part[rule.s] > 0]
        t = s if rule.t is rule.s else rule.t[taking_part[rule.t] > 0]
        rule = Compiled(rule.denial, s, t, rule.equalities, rule.inequalities, rule.differences)
    steps: Plan = plan(rule)
    for groups in _flow(Groups.whole(rule.s, rule.t), steps.stages):
        group, place = 0, 0
        while group < groups.number:
            found_s, found_t, group, place = write_pairs(
                groups.s.rows, groups.s.starts, groups.t.rows, groups.t.starts, group, place, BATCH
            )
            if len(found_s):
                yield found_s, found_t


def _flow(groups: Groups, stages: Sequence[Stage]) -> Iterator[Groups]:
    if groups.number == 0:
        return
    if not stages:
        yield groups
        return
    for refined in stages[0].apply(groups):
        yield from _flow(refined, stages[1:])


def partners(rule: Compiled, row: int) -> tuple[np.ndarray, np.ndarray]:
    """The violations that one row takes part in: rows ``t`` that clash with it as ``s``, and rows ``s`` that clash with it as ``t``.

    Compares the row with all others, which for one row is quicker than any plan.
    """
    one = np.array([row], np.int32)
    as_s, as_t = rule.t[:0], rule.s[:0]
    if row in rule.s:
        as_s = rule.t[rule.t != row]
        for c in rule.comparisons:
            as_s = as_s[c.holds(one, as_s)]
    if row in rule.t:
        as_t = rule.s[rule.s != row]
        for c in rule.comparisons:
            as_t = as_t[c.holds(as_t, one)]
    return as_s, as_t
