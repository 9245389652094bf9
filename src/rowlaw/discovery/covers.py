"""Which lists of columns are worth covering: comparing all pairs of rows that agree on them.

A pair that breaks a rule agrees on all columns of the rule's equalities. So once all pairs that agree on some of these
columns are evidence, every such rule that the search still proposes is proven. One cover proves many rules, and finds
everything that breaks them at once; its time goes with the pairs of rows that agree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

Columns = tuple[str, ...]

COVER_SECONDS = 0.05  # to group some rows and refine the search, beside comparing pairs
ROW_SECONDS = 1e-7  # to lay out a row by a list of columns: a million rows in 0.1 s
_SIZE = 3  # columns of a list, at most
_LISTS = 2_000  # candidates, at most: shorter lists first
_COVERS = 64  # chosen at once, at most


class Cover(NamedTuple):
    """A list of columns to cover, and about how long that takes."""

    columns: Columns
    seconds: float


def worth_covering(
    names: Sequence[str],
    equal: np.ndarray,
    answer_seconds: float,
    pair_seconds: Callable[[Columns], float],
    rows: int,
) -> list[Cover]:
    """Choose lists of columns whose pairs are compared more quickly than the rules are asked about that they prove.

    ``equal``: which columns each rule has among its equalities, shape (rules, names), dtype bool. Greedily: the list
    that saves most time comes first.

    >>> equal = np.array([[1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 0, 0], [0, 0, 0, 1]], bool)
    >>> seconds = {("a",): 1.0, ("b",): 0.1, ("d",): 9.0}
    >>> [cover.columns for cover in worth_covering("abcd", equal, 2.0, lambda c: seconds.get(c, 9.0), 4)]
    [('a',)]
    """
    if not len(equal) or not answer_seconds:
        return []
    bit = {name: i for i, name in enumerate(names)}
    members, counts = np.unique(equal, axis=0, return_counts=True)
    base = COVER_SECONDS + ROW_SECONDS * rows
    served = {
        columns: served
        for columns in _candidates(members, names)
        if (served := members[:, [bit[name] for name in columns]].all(axis=1)) @ counts * answer_seconds > base
    }
    left, chosen, cost = counts, list[Cover](), dict[Columns, float]()
    while served and len(chosen) < _COVERS:
        gains = {columns: float(users @ left) * answer_seconds for columns, users in served.items()}
        best: Columns = ()
        most = 0.0
        for columns in sorted(gains, key=lambda c: (-gains[c], c)):
            if gains[columns] - base <= most:
                break
            if columns not in cost:
                cost[columns] = base + pair_seconds(columns)
            if gains[columns] - cost[columns] > most:
                best, most = columns, gains[columns] - cost[columns]
        if not best:
            break
        chosen.append(Cover(best, cost[best]))
        left = np.where(served.pop(best), 0, left)
    return chosen


def _candidates(members: np.ndarray, names: Sequence[str]) -> list[Columns]:
    """Lists of columns that are together in some rule, shorter ones first: ``members`` has a line for each different
    set of columns."""
    lists: dict[Columns, None] = {}
    for size in range(1, _SIZE + 1):
        for line in members:
            for columns in combinations(np.flatnonzero(line).tolist(), size):
                lists[tuple(names[c] for c in columns)] = None
                if len(lists) >= _LISTS:
                    return list(lists)
    return list(lists)
