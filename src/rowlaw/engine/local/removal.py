"""Which rows to remove so that a rule holds: as few as possible.

Rows that break a rule together are an edge of a graph, and rows to remove are a vertex cover of it. For keys and
functional dependencies the graph falls into groups that say at once what to keep; for order compatibilities what is
kept is the longest part of each group that ascends. For other rules the smallest cover is out of reach (the problem is
NP-hard), and a greedy one bounds it from above.
"""

from __future__ import annotations

import heapq
from bisect import bisect_right
from dataclasses import dataclass

import numpy as np

from rowlaw.engine.local.rows import Found, Part, RowEngine
from rowlaw.relation.relation import Relation
from rowlaw.rules.model import FunctionalDependency, Key, OrderCompatible, Rule, about_single_rows

LISTED = 1 << 20  # pairs that are held in memory at once


@dataclass(frozen=True, slots=True)
class RemovedRows:
    """Rows, by position, without which the rule holds; ``exact``: no smaller set will do."""

    rows: np.ndarray
    exact: bool

    def __len__(self) -> int:
        return len(self.rows)


def rows_to_remove(engine: RowEngine, rule: Rule, found: Found | None = None) -> RemovedRows:
    """The smallest set of rows without which a rule holds, or an upper bound of it. ``found`` is what counting gave, if
    it is known.

    >>> import pyarrow as pa
    >>> from rowlaw.relation import encode
    >>> from rowlaw.rules import parse
    >>> from rowlaw.source import open_source
    >>> engine = RowEngine(encode(open_source(pa.table({"zip": [1, 1, 1, 2], "city": ["a", "b", "a", "c"]}))))
    >>> removal = rows_to_remove(engine, parse("fd (zip) -> city"))
    >>> removal.rows.tolist(), removal.exact
    ([1], True)

    ``O(n log n)`` in the rows that take part, and for the greedy bound in the violations, of which at most a million
    are looked at one by one: while there are more, the rows in most of them go first, many at a time.
    """
    found = found if found is not None else engine.count([rule])[0]
    if not found.pairs:
        return RemovedRows(np.zeros(0, np.int32), exact=True)
    match rule:
        case Key(columns):
            return RemovedRows(_all_but_first(engine.relation, columns, found.rows), exact=True)
        case FunctionalDependency(left, right):
            return RemovedRows(_all_but_most(engine.relation, left, right, found.rows), exact=True)
        case OrderCompatible(context, left, right, descending):
            return RemovedRows(
                _not_ascending(engine.relation, context, left, right, descending, found.rows), exact=True
            )
    if about_single_rows(rule):
        return RemovedRows(found.rows, exact=True)
    rows, fewest = _cover(engine, rule, found)
    return RemovedRows(rows, exact=len(rows) == fewest)


def group_numbers(relation: Relation, columns: tuple[str, ...], rows: np.ndarray) -> np.ndarray:
    """A number for each row: equal for rows that agree on the columns."""
    groups = np.zeros(len(rows), np.int64)
    for name in columns:
        codes = relation.codes(name)[rows].astype(np.int64) + 1
        groups = np.unique(groups * (codes.max(initial=0) + 1) + codes, return_inverse=True)[1]
    return groups


def _all_but_first(relation: Relation, columns: tuple[str, ...], rows: np.ndarray) -> np.ndarray:
    """A key is kept by one row of each group: the first."""
    first = np.unique(group_numbers(relation, columns, rows), return_index=True)[1]
    return np.delete(rows, first)


def _all_but_most(relation: Relation, left: tuple[str, ...], right: str, rows: np.ndarray) -> np.ndarray:
    """A functional dependency is kept by the rows of each group that have its most frequent value."""
    groups = group_numbers(relation, left, rows)
    _, cells, sizes = np.unique(group_numbers(relation, (*left, right), rows), return_inverse=True, return_counts=True)
    order = np.lexsort((cells, -sizes[cells], groups))  # in each group the largest cell comes first
    heads = np.unique(groups[order], return_index=True)[1]
    kept = cells[order][heads]
    return rows[cells != kept[groups]]


def _not_ascending(
    relation: Relation, context: tuple[str, ...], left: str, right: str, descending: bool, rows: np.ndarray
) -> np.ndarray:
    """An order compatibility is kept by rows that, sorted by one column, do not descend in the other: as many as there
    are."""
    groups = group_numbers(relation, context, rows)
    first, second = relation.codes(left)[rows], relation.codes(right)[rows] * (-1 if descending else 1)
    order = np.lexsort((second, first, groups))
    ends = [*np.flatnonzero(np.diff(groups[order])) + 1, len(rows)]
    kept = np.zeros(len(rows), bool)
    start = 0
    for end in ends:
        part = order[start:end]
        kept[part[_longest(second[part].tolist())]] = True
        start = end
    return rows[~kept]


def _longest(values: list[int]) -> list[int]:
    """The places of a longest part that does not descend."""
    tops: list[int] = []  # the lowest last value of a part of each length
    last: list[int] = []  # its place
    before = [-1] * len(values)
    for i, value in enumerate(values):
        length = bisect_right(tops, value)
        before[i] = last[length - 1] if length else -1
        tops[length : length + 1] = [value]
        last[length : length + 1] = [i]
    places = []
    at = last[-1] if last else -1
    while at >= 0:
        places.append(at)
        at = before[at]
    return places


def _cover(engine: RowEngine, rule: Rule, found: Found) -> tuple[np.ndarray, int]:
    """Rows of which every violation has one, always the row in most of those left; and how many any such set has, at
    least.

    The bound from below is a number of violations without a row in common: each of them needs a row of its own.
    """
    removed: list[np.ndarray] = []
    alive = found.rows
    while found.pairs > LISTED:
        worst = found.rows[np.argsort(-found.per_row, kind="stable")]
        heavy = worst[: max(1, min(len(alive) // 2, int(np.count_nonzero(2 * found.per_row >= found.per_row.max()))))]
        removed.append(heavy)
        alive = np.setdiff1d(alive, heavy)
        found = engine.count([rule], Part(alive, alive))[0]
    partners: dict[int, set[int]] = {}
    apart: set[int] = set()
    if found.pairs:
        for s, t in engine.pairs(rule, Part(alive, alive), involved=found):
            for a, b in zip(s.tolist(), t.tolist(), strict=True):
                partners.setdefault(a, set()).add(b)
                partners.setdefault(b, set()).add(a)
                if a not in apart and b not in apart:
                    apart |= {a, b}
    heap = [(-len(others), row) for row, others in partners.items()]
    heapq.heapify(heap)
    greedy = []
    while heap:
        number, row = heapq.heappop(heap)
        others = partners[row]
        if not others:
            continue
        if -number != len(others):  # some of its partners went meanwhile
            heapq.heappush(heap, (-len(others), row))
            continue
        greedy.append(row)
        for other in others:
            partners[other].discard(row)
        partners[row] = set()
    return np.sort(np.concatenate([*removed, np.array(greedy, np.int32)]).astype(np.int32)), len(apart) // 2
