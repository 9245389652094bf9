"""Counting by distinct rows: where rows repeat in the columns of a rule, each combination of values (a *kind* of row)
is looked at once, and only these are sorted.

Unlike cells, kinds need not be few among all that are possible: large tables have columns of thousands of values, of
which far fewer combinations occur than there are rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rowlaw.engine.local import costs
from rowlaw.engine.local.compile import Comparison, Compiled
from rowlaw.engine.local.inequality import descending
from rowlaw.engine.local.method import Question
from rowlaw.kernels import cells as cell_kernels
from rowlaw.kernels import kinds as kernels
from rowlaw.kernels.sort import sort_keys
from rowlaw.relation.groups import KEY_BITS, Groups, Sorted, span
from rowlaw.rules.model import Op


@dataclass(frozen=True, slots=True)
class DistinctRows:
    """Two inequalities on the same columns of both rows, in a table whose rows repeat. Declines if they do not after
    all."""

    name: ClassVar[str] = "distinct rows"
    own_groups: ClassVar[bool] = True
    divisible: ClassVar[bool] = False
    after_grouping: ClassVar[bool] = False
    may_decline: ClassVar[bool] = True

    min_rows: int = costs.REPEATING_ROWS
    repeated: float = costs.REPEATED

    def applies(self, question: Question) -> bool:
        rule = question.rule
        if question.shared is not None or rule.denial.arity == 1 or not rule.reflexive:
            return False
        if len(rule.inequalities) != 2 or rule.differences or rule.s_size < self.min_rows:
            return False
        return span(1, _columns(rule)).bit_length() <= KEY_BITS and question.distinct * self.repeated < rule.s_size

    def because(self, question: Question) -> str:
        return f"about {question.distinct:,.0f} combinations of values occur in {question.rule.s_size:,} rows"

    def seconds(self, question: Question) -> float:
        rule = question.rule
        kinds = min(rule.s_size, question.distinct)
        return rule.s_size * (costs.KEY * len(rule.comparisons) + costs.HASH) + kinds * costs.COMBINATION

    def count(self, question: Question) -> int | None:
        rule, tally = question.rule, question.tally
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
        total = kernels.pairs_of_kinds(
            ordered, weights[order], first.columns.width, second.columns.width, *weak, of_kind
        )
        if len(tally):
            each = np.empty(many, np.uint32)
            each[order] = of_kind
            cell_kernels.take_cells(numbers, each, rule.s, tally)
        return int(total)


def _ordered(rule: Compiled) -> tuple[Comparison, Comparison]:
    """The inequality with fewer values second: its tree is smaller."""
    first, second = sorted(rule.inequalities, key=lambda c: -c.columns.width)
    return first, second


def _columns(rule: Compiled) -> list[Sorted]:
    """What a key is made of: inequalities are turned so that ``s`` is below ``t``."""
    turned = (Sorted(c.columns.left, c.columns.width, descending(c.op)) for c in _ordered(rule))
    return [*(c.columns.of_s for c in rule.equalities), *turned]
