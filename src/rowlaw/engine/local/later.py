"""Which of some rows, taken one after the other, break a rule together with a row before them that stays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rowlaw.engine.local.rows import Part, RowEngine
from rowlaw.kernels.sort import sorted_distinct
from rowlaw.rules.model import Rule

LISTED = 2_000_000  # violations that are listed at once, 16 bytes each; if there are more, the rows are halved


def later_rows(engine: RowEngine, rows: np.ndarray, rules: Sequence[Rule]) -> np.ndarray:
    """Find the rows that have to go, of ``rows`` (positions, ascending): those that break a rule by themselves or with
    an earlier one.

    A row that goes breaks no rule together with rows after it. The violations are counted first, and listed only if
    they are few: of more, the first half of the rows is decided alone, and rows of the second half that clash with what
    stays of it go unlisted.
    """
    counts = engine.count(rules, Part(rows, rows))
    involved = sorted_distinct(np.concatenate([np.zeros(0, np.int32), *(one.rows for one in counts)]))
    if not len(involved):
        return involved
    if sum(one.pairs for one in counts) <= LISTED:
        return _listed(engine, involved, rules)
    first, second = np.array_split(involved, 2)
    gone = later_rows(engine, first, rules)
    clashing = clashing_rows(engine, second, np.setdiff1d(first, gone), rules)
    return np.concatenate((gone, np.union1d(clashing, later_rows(engine, np.setdiff1d(second, clashing), rules))))


def clashing_rows(engine: RowEngine, rows: np.ndarray, others: np.ndarray, rules: Sequence[Rule]) -> np.ndarray:
    """Find the rows of ``rows`` that break a rule together with one of ``others``; positions, ascending, and none of
    them in both."""
    clashing = [np.zeros(0, np.int32)]
    for part in (Part(rows, others), Part(others, rows)) if len(rows) and len(others) else ():
        clashing += [one.rows for one in engine.count(rules, part)]
    return np.intersect1d(np.concatenate(clashing), rows)


def _listed(engine: RowEngine, rows: np.ndarray, rules: Sequence[Rule]) -> np.ndarray:
    clashes = [np.zeros((0, 2), np.int32)]
    for rule in rules:
        clashes += [
            np.stack((np.minimum(s, t), np.maximum(s, t)), axis=1) for s, t in engine.pairs(rule, Part(rows, rows))
        ]
    pairs = np.unique(np.concatenate(clashes), axis=0)
    gone: set[int] = set()
    for first, second in pairs[np.lexsort((pairs[:, 0], pairs[:, 1]))].tolist():
        # a rule about one row clashes with itself
        if first not in gone or first == second:
            gone.add(second)
    return np.array(sorted(gone), np.int32)
