"""Violations one by one, or as groups: groups of pairs flow depth-first through the stages of a plan (FACET sections
3.2 and 5)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from rowlaw.engine.local.compile import Compiled
from rowlaw.engine.local.division import SCAN, SCAN_FOR_GROUPS
from rowlaw.engine.local.inequality import BATCH
from rowlaw.engine.local.plan import Plan, Stage, plan
from rowlaw.kernels.pairs import write_pairs
from rowlaw.relation.groups import Groups

PairBatch = tuple[np.ndarray, np.ndarray]  # rows s and rows t of some violations


def pairs(
    rule: Compiled,
    taking_part: np.ndarray | None = None,
    *,
    limit: int | None = None,
    steps: Plan | None = None,
    batch: int = BATCH,
) -> Iterator[PairBatch]:
    """All violations of a compiled rule about pairs, or the first ``limit``, in batches; memory is bounded by the batch
    and the stages.

    ``taking_part`` are the counts of :func:`rowlaw.engine.local.count.count`: rows in no violation are left out from
    the start. ``steps``: the plan, if not the usual one. ``batch``: rows that stages hand on at a time, and pairs of a
    batch, about.
    """
    if taking_part is not None:
        rule = _restricted(rule, taking_part > 0)
    if limit is not None:
        batch = max(1, min(batch, limit))
    yield from first(written(groups(rule, steps=steps, batch=batch, scan=SCAN), batch), limit)


def among(rule: Compiled, rows: np.ndarray, table_rows: int) -> Compiled:
    """The rule for some rows only: those that are known to take part in violations."""
    chosen = np.zeros(table_rows, np.bool_)
    chosen[rows] = True
    return _restricted(rule, chosen)


def _restricted(rule: Compiled, chosen: np.ndarray) -> Compiled:
    s = rule.s[chosen[rule.s]]
    return replace(rule, s=s, t=s if rule.t is rule.s else rule.t[chosen[rule.t]])


def groups(
    rule: Compiled, *, steps: Plan | None = None, batch: int = BATCH, scan: int = SCAN_FOR_GROUPS
) -> Iterator[Groups]:
    """All violations of a compiled rule about pairs as groups: each ``s`` of a group with each ``t`` of it, except a
    row with itself.

    No pair is in two groups. The compressed form of the violations: where a rule has very many, the rows of all groups
    are far fewer.
    """
    steps = plan(rule) if steps is None else steps
    yield from refined(Groups.whole(rule.s, rule.t), steps.stages, batch, scan)


def written(found: Iterator[Groups], batch: int = BATCH) -> Iterator[PairBatch]:
    """The pairs of different rows of groups."""
    for some in found:
        group, place = 0, 0
        while group < some.number:
            s, t, group, place = write_pairs(
                some.s.rows, some.s.starts, some.t.rows, some.t.starts, group, place, batch
            )
            if len(s):
                yield s, t


def first(batches: Iterator[PairBatch], limit: int | None) -> Iterator[PairBatch]:
    """The first ``limit`` pairs of some batches, all if None; asks for no further batch."""
    left = limit
    while left is None or left > 0:
        batch = next(batches, None)
        if batch is None:
            return
        s, t = batch
        if left is not None:
            s, t = s[:left], t[:left]
            left -= len(s)
        yield s, t


def refined(found: Groups, stages: Sequence[Stage], batch: int = BATCH, scan: int = SCAN) -> Iterator[Groups]:
    """The pairs of groups that satisfy all stages, depth-first."""
    if found.number == 0:
        return
    if not stages:
        yield found
        return
    for smaller in stages[0].apply(found, batch, scan):
        yield from refined(smaller, stages[1:], batch, scan)


def partners(rule: Compiled, row: int) -> tuple[np.ndarray, np.ndarray]:
    """The violations that one row takes part in: rows ``t`` that clash with it as ``s``, and rows ``s`` that clash with
    it as ``t``.

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
