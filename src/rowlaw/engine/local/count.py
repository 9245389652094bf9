"""How many pairs break a rule, and in how many each row takes part, without looking at pairs.

There is a list of counting methods; the first that applies, and does not decline, counts. The last one applies to every
rule about pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rowlaw.engine.local.cells import Cells, Exceptions
from rowlaw.engine.local.compile import Compiled
from rowlaw.engine.local.kinds import DistinctRows
from rowlaw.engine.local.method import Method, Question
from rowlaw.engine.local.terms import Ascents, Runs, Scan, SingleRows, Terms
from rowlaw.relation.groups import Groups

METHODS: tuple[Method, ...] = (SingleRows(), Exceptions(), Cells(), DistinctRows(), Runs(), Ascents(), Scan(), Terms())


@dataclass(frozen=True, slots=True)
class Count:
    """Violations of a rule: pairs in all and, if wanted, for each row of the table the pairs it takes part in; and the
    method used."""

    pairs: int
    per_row: np.ndarray
    method: Method


def count(
    rule: Compiled,
    rows: int,
    *,
    per_row: bool = True,
    groups: Groups | None = None,
    methods: Sequence[Method] = METHODS,
) -> Count:
    """Count the violations of a compiled rule in a table of ``rows`` rows by the first of the methods that can.

    ``groups`` are the pairs that satisfy its equalities, where the caller has them already.
    """
    return answer(Question(rule, rows, groups, empty_tally(rows if per_row else 0)), methods)


def empty_tally(rows: int) -> np.ndarray:
    """A zero for each row. Unsigned 32 bits are enough for a result, and what leaves them on the way (terms have signs)
    comes back."""
    return np.zeros(rows, np.uint32)


def answer(question: Question, methods: Sequence[Method] = METHODS) -> Count:
    """Count by the first method that applies and does not decline."""
    for method in methods:
        if method.applies(question):
            pairs = method.count(question)
            if pairs is not None:
                return Count(pairs, question.tally, method)
    raise ValueError(f"none of the methods {', '.join(m.name for m in methods)} counts {question.rule.denial}")


def expected_method(question: Question, methods: Sequence[Method] = METHODS) -> Method:
    """The method that is likely to count, as far as it can be said without grouping rows."""
    return next(method for method in methods if not method.after_grouping and method.applies(question))


def settled_method(question: Question, methods: Sequence[Method] = METHODS) -> Method:
    """The method that will count: rows are grouped if that decides, and methods that may decline are tried, for the
    total only."""
    total_only = question if not len(question.tally) else Question(question.rule, question.rows, question.shared)
    return next(m for m in methods if m.applies(total_only) and not (m.may_decline and m.count(total_only) is None))
