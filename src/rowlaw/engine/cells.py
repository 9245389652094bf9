"""Counting by cells: where the columns of a rule have few values together, rows are counted into a table and nothing is sorted.

A cell is a combination of values: first of the equalities, then of what is compared otherwise (one column, or two with inequalities).
All rows of a cell take part in the same number of pairs, which running sums over the table give.
"""

from __future__ import annotations

import numpy as np

from rowlaw.engine.compile import Comparison, Compiled
from rowlaw.kernels import groups as kernels
from rowlaw.relation.groups import Groups, span
from rowlaw.rules.model import Op

CELLS = 1 << 23  # counts that take no more room than the last-level cache has
LINES = 1 << 20  # groups whose sizes fit the cache
EXCEPTIONS = 8  # rows for each that may be one
FEW_CELLS = 0.5  # cells for each row up to which summing costs nearly nothing
CELLS_PER_ROW = 4  # cells for each row beyond which summing costs more than sorting


def in_cells(rule: Compiled) -> bool:
    """Whether a rule can be counted so: the same columns on both sides, at most two that are not equalities, few cells."""
    if rule.denial.arity == 1 or rule.s is not rule.t or not all(c.columns.same for c in rule.comparisons):
        return False
    others = len(rule.inequalities) + len(rule.differences)
    if others > 2 or (others == 2 and rule.differences):
        return False
    return span(1, [c.columns.of_s for c in rule.comparisons]) <= min(CELLS, CELLS_PER_ROW * len(rule.s))


def count_in_cells(rule: Compiled, tally: np.ndarray) -> int:
    """The pairs that break the rule; ``tally`` (empty if not wanted) gets those of each row."""
    others = (*rule.inequalities, *rule.differences)
    columns = [c.columns.of_s for c in (*rule.equalities, *others)]
    keys, _ = Groups.whole(rule.s, rule.t).s.keys(columns)
    cells = np.zeros(span(1, columns), np.uint32)  # enough: no count is beyond twice the number of rows
    kernels.cell_counts(keys, cells)
    each = _two_inequalities(cells, others[0], others[1]) if len(others) == 2 else _at_most_one(cells, others)
    if len(tally):
        kernels.take_cells(keys, each, rule.s, tally)
    return int(kernels.sum_products(cells, each)) // 2


def _at_most_one(cells: np.ndarray, others: tuple[Comparison, ...]) -> np.ndarray:
    """The pairs that a row of each cell takes part in, where at most one column is compared otherwise than by equality.

    A pair of rows that differ there satisfies ``!=`` in both directions and an inequality in one; a pair of rows that do not
    satisfies ``=`` in both.
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
    sums = np.zeros((counts.shape[0], counts.shape[1] + 1, counts.shape[2] + 1), np.uint32)  # [a, b]: rows below a and below b
    np.cumsum(np.flip(counts, flip), axis=1, out=sums[:, 1:, 1:])
    np.cumsum(sums[:, 1:, 1:], axis=2, out=sums[:, 1:, 1:])
    # a weak inequality takes in the cell's own line, a strict one ends before it
    a, b = (slice(1, None) if c.op & Op.EQ else slice(None, -1) for c in (first, second))
    c, d = (slice(None, -1) if c.op & Op.EQ else slice(1, None) for c in (first, second))
    each = sums[:, a, b] + sums[:, -1:, -1:] - sums[:, c, -1:] - sums[:, -1:, d] + sums[:, c, d]
    if first.op & second.op & Op.EQ:
        each -= np.uint32(2)  # the row with itself, in both roles
    return np.ascontiguousarray(np.flip(each, flip)).ravel()


def with_few_exceptions(rule: Compiled) -> bool:
    """Whether a rule is a functional dependency to be counted by its exceptions: the left side has few values, both together have not."""
    if rule.s is not rule.t or len(rule.differences) != 1 or rule.inequalities or not all(c.columns.same for c in rule.comparisons):
        return False
    lines = span(1, [c.columns.of_s for c in rule.equalities])
    return lines <= min(LINES, len(rule.s)) and lines * rule.differences[0].columns.width > FEW_CELLS * len(rule.s)


def count_exceptions(rule: Compiled, tally: np.ndarray) -> int | None:
    """The pairs that break a functional dependency, if nearly all rows of a group agree with its first one; None if they do not.

    Only the rows that do not are sorted.
    """
    column = rule.differences[0].columns
    columns = [c.columns.of_s for c in rule.equalities]
    keys, _ = Groups.whole(rule.s, rule.t).s.keys(columns)
    lines = span(1, columns)
    first, sizes, like = np.full(lines, -2, np.int32), np.zeros(lines, np.int32), np.zeros(lines, np.int32)
    odd = np.empty(len(keys) // EXCEPTIONS, np.int32)
    number = kernels.first_codes(keys, rule.s, column.left, first, sizes, like, odd)
    if number > len(odd):
        return None
    odd = odd[:number]
    _, place, runs = np.unique(
        keys[odd] * np.uint64(column.width) + (column.left[rule.s[odd]] + 1).astype(np.uint64), return_inverse=True, return_counts=True
    )
    return int(kernels.count_exceptions(keys, rule.s, column.left, first, sizes, like, odd, runs[place], tally))
