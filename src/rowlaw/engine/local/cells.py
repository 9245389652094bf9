"""Counting by cells: where the columns of a rule have few values together, rows are counted into a table and nothing is
sorted.

A cell is a combination of values: first of the equalities, then of what is compared otherwise (one column, or two with
inequalities). All rows of a cell take part in the same number of pairs, which running sums over the table give.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rowlaw.engine.local import costs
from rowlaw.engine.local.compile import Comparison
from rowlaw.engine.local.method import Question
from rowlaw.kernels import cells as kernels
from rowlaw.relation.groups import Groups, span
from rowlaw.rules.model import Op
from rowlaw.rules.wording import counted


@dataclass(frozen=True, slots=True)
class Cells:
    """Rows counted into a table of all combinations of values.

    For the same columns on both sides, at most two of them not in equalities, and few combinations.
    """

    name: ClassVar[str] = "cells"
    own_groups: ClassVar[bool] = True
    divisible: ClassVar[bool] = False
    after_grouping: ClassVar[bool] = False
    may_decline: ClassVar[bool] = False

    limit: int = costs.CELLS
    per_row: float = costs.CELLS_PER_ROW

    def applies(self, question: Question) -> bool:
        rule = question.rule
        if question.shared is not None or rule.denial.arity == 1 or not rule.reflexive:
            return False
        others = len(rule.others)
        if others > 2 or (others == 2 and rule.differences):
            return False
        return _combinations(question) <= min(self.limit, self.per_row * rule.s_size)

    def because(self, question: Question) -> str:
        combinations = _combinations(question)
        noun = "combination of values is" if combinations == 1 else "combinations of values are"
        return f"{combinations:,} {noun} possible in {counted(question.rule.s_size, 'row')}"

    def seconds(self, question: Question) -> float:
        rule = question.rule
        cell = costs.CELL_BY_TWO if len(rule.others) == 2 else costs.CELL
        return rule.s_size * (costs.KEY * len(rule.comparisons) + costs.CELL_ROW) + _combinations(question) * cell

    def count(self, question: Question) -> int:
        rule, tally = question.rule, question.tally
        others = rule.others
        columns = [c.columns.of_s for c in rule.comparisons]
        keys, _ = Groups.whole(rule.s, rule.t).s.keys(columns)
        cells = np.zeros(span(1, columns), np.uint32)  # enough: no count is beyond twice the number of rows
        kernels.cell_counts(keys, cells)
        each = _two_inequalities(cells, others[0], others[1]) if len(others) == 2 else _at_most_one(cells, others)
        if len(tally):
            kernels.take_cells(keys, each, rule.s, tally)
        return int(kernels.sum_products(cells, each)) // 2


def _combinations(question: Question) -> int:
    return span(1, [c.columns.of_s for c in question.rule.comparisons])


def _at_most_one(cells: np.ndarray, others: tuple[Comparison, ...]) -> np.ndarray:
    """The pairs that a row of each cell takes part in, where at most one column is compared otherwise than by equality.

    A pair of rows that differ there satisfies ``!=`` in both directions and an inequality in one; a pair of rows that
    do not satisfies ``=`` in both.
    """
    op = others[0].op if others else Op.EQ
    lines = cells.reshape(-1, others[0].columns.width if others else 1)
    differ = {Op.EQ: 0, Op.NE: 2}.get(op, 1)
    each = np.uint32(differ) * (lines.sum(axis=1, keepdims=True, dtype=np.uint32) - lines)
    if op & Op.EQ:
        each += np.uint32(2) * (lines - np.uint32(1))
    return each.ravel()


def _two_inequalities(cells: np.ndarray, first: Comparison, second: Comparison) -> np.ndarray:
    """The same for two inequalities: the rows before a cell in both columns and those after it in both."""
    counts = cells.reshape(-1, first.columns.width, second.columns.width)
    flip = tuple(axis for axis, c in ((1, first), (2, second)) if c.op & Op.GT)
    # [a, b]: rows below a and below b
    sums = np.zeros((counts.shape[0], counts.shape[1] + 1, counts.shape[2] + 1), np.uint32)
    np.cumsum(np.flip(counts, flip), axis=1, out=sums[:, 1:, 1:])
    np.cumsum(sums[:, 1:, 1:], axis=2, out=sums[:, 1:, 1:])
    # a weak inequality takes in the cell's own line, a strict one ends before it
    a, b = (slice(1, None) if c.op & Op.EQ else slice(None, -1) for c in (first, second))
    c, d = (slice(None, -1) if c.op & Op.EQ else slice(1, None) for c in (first, second))
    each = sums[:, a, b] + sums[:, -1:, -1:] - sums[:, c, -1:] - sums[:, -1:, d] + sums[:, c, d]
    if first.op & second.op & Op.EQ:
        each -= np.uint32(2)  # the row with itself, in both roles
    return np.ascontiguousarray(np.flip(each, flip)).ravel()


@dataclass(frozen=True, slots=True)
class Exceptions:
    """A functional dependency whose left side has few values, both sides together have not: nearly all rows of a group
    should agree.

    Rows are compared with the first one of their group; only those that differ from it are sorted. Declines if they are
    many.
    """

    name: ClassVar[str] = "exceptions"
    own_groups: ClassVar[bool] = False  # where groups are there, counting in them is as quick and never declines
    divisible: ClassVar[bool] = False
    after_grouping: ClassVar[bool] = False
    may_decline: ClassVar[bool] = True

    limit: int = costs.LEFT_SIDES
    per_row: float = 1.0  # groups that are possible for each row
    few_cells: float = costs.FEW_CELLS
    rows_per_exception: int = costs.ROWS_PER_EXCEPTION

    def applies(self, question: Question) -> bool:
        rule = question.rule
        if question.shared is not None or len(rule.differences) != 1 or rule.inequalities or not rule.reflexive:
            return False
        possible = self._groups(question)
        cells = possible * rule.differences[0].columns.width
        return possible <= min(self.limit, self.per_row * rule.s_size) and cells > self.few_cells * rule.s_size

    def _groups(self, question: Question) -> int:
        return span(1, [c.columns.of_s for c in question.rule.equalities])

    def because(self, question: Question) -> str:
        return (
            f"{self._groups(question):,} groups are possible in {question.rule.s_size:,} rows, "
            f"and at most one row in {self.rows_per_exception} differs from the first of its group"
        )

    def seconds(self, question: Question) -> float:
        rule = question.rule
        return rule.s_size * (costs.KEY * len(rule.equalities) + costs.EXCEPTION)

    def count(self, question: Question) -> int | None:
        rule = question.rule
        column = rule.differences[0].columns
        columns = [c.columns.of_s for c in rule.equalities]
        keys, _ = Groups.whole(rule.s, rule.t).s.keys(columns)
        possible = span(1, columns)
        first, sizes, like = np.full(possible, -2, np.int32), np.zeros(possible, np.int32), np.zeros(possible, np.int32)
        odd = np.empty(len(keys) // self.rows_per_exception, np.int32)
        number = kernels.first_codes(keys, rule.s, column.left, first, sizes, like, odd)
        if number > len(odd):
            return None
        odd = odd[:number]
        _, place, runs = np.unique(
            keys[odd] * np.uint64(column.width) + (column.left[rule.s[odd]] + 1).astype(np.uint64),
            return_inverse=True,
            return_counts=True,
        )
        return int(
            kernels.count_exceptions(keys, rule.s, column.left, first, sizes, like, odd, runs[place], question.tally)
        )
