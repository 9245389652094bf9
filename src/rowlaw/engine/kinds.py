"""Counting by kinds: where rows repeat in the columns of a rule, each combination of values is looked at once, and only these are sorted.

Unlike cells, kinds need not be few among all that are possible: large tables have columns of thousands of values, of which far fewer
combinations occur than there are rows.
"""

from __future__ import annotations

import numpy as np

from rowlaw.engine.compile import Comparison, Compiled
from rowlaw.engine.inequality import descending
from rowlaw.kernels import groups as group_kernels
from rowlaw.kernels import kinds as kernels
from rowlaw.kernels.sort import sort_keys
from rowlaw.relation.groups import KEY_BITS, Groups, Side, Sorted, span
from rowlaw.rules.model import Op

LARGE = 1 << 19  # rows for which it is worth finding out how often they repeat
SAMPLE = 1 << 15  # rows that this is estimated from
REPEATED = 4  # rows of each kind, below which sorting them all is as quick


def in_kinds(rule: Compiled) -> bool:
    """Whether a rule is counted so: two inequalities on the same columns of both rows, whose rows repeat."""
    if rule.denial.arity == 1 or rule.s is not rule.t or not all(c.columns.same for c in rule.comparisons):
        return False
    if len(rule.inequalities) != 2 or rule.differences or len(rule.s) < LARGE:
        return False
    columns = _columns(rule)
    return span(1, columns).bit_length() <= KEY_BITS and _kinds(rule.s, columns) * REPEATED < len(rule.s)


def count_kinds(rule: Compiled, tally: np.ndarray) -> int | None:
    """The pairs that break the rule; ``tally`` (empty if not wanted) gets those of each row. None if there are many kinds after all."""
    first, second = _ordered(rule)
    keys, bits = Groups.whole(rule.s, rule.t).s.keys(_columns(rule))
    most = len(keys) // 2 + 1
    kinds, weights, numbers = np.empty(most, keys.dtype), np.empty(most, np.int32), np.empty(len(keys), np.int32)
    many = kernels.number_kinds(keys, kinds, weights, numbers)
    if many > most:
        return None
    ordered, order = sort_keys(kinds[:many].copy(), bits)
    weak = (bool(c.op & Op.EQ) for c in (first, second))
    of_kind = np.empty(many, np.int64)
    total = kernels.pairs_of_kinds(ordered, weights[order], first.columns.width, second.columns.width, *weak, of_kind)
    if len(tally):
        each = np.empty(many, np.uint32)
        each[order] = of_kind
        group_kernels.take_cells(numbers, each, rule.s, tally)
    return int(total)


def _ordered(rule: Compiled) -> tuple[Comparison, Comparison]:
    """The inequality with fewer values second: its tree is smaller."""
    first, second = sorted(rule.inequalities, key=lambda c: -c.columns.width)
    return first, second


def _columns(rule: Compiled) -> list[Sorted]:
    """What a key is made of: inequalities are turned so that ``s`` is below ``t``."""
    turned = (Sorted(c.columns.left, c.columns.width, descending(c.op)) for c in _ordered(rule))
    return [*(c.columns.of_s for c in rule.equalities), *turned]


def _kinds(rows: np.ndarray, columns: list[Sorted]) -> float:
    """About how many kinds there are, by how often two of a sample are alike."""
    places = np.unique(np.random.default_rng(0).integers(0, len(rows), SAMPLE))
    keys, _ = Side.whole(rows[places]).keys(columns)
    alike = len(keys) - len(np.unique(keys))
    return len(keys) ** 2 / 2 / max(alike, 0.5)
