"""Difference sets: what pairs of rows say about keys, functional dependencies and order compatibilities, as edges.

For two rows let D be the columns in which they do not agree (a null that is unknown agrees with nothing). A key must
hit every D. A functional dependency to A must hit every D without A of pairs that differ in A; an order compatibility
of A and B every D without both, of pairs in which A and B run against each other (with ``desc``: along). Only minimal
difference sets matter, and of these there are few.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rowlaw.deadline import Deadline
from rowlaw.engine.questions import Target
from rowlaw.evidence.slots import Slots
from rowlaw.evidence.tiles import Folded
from rowlaw.evidence.tiles import fold as fold_slots
from rowlaw.kernels import differences as kernels
from rowlaw.relation.pairs import Pairs
from rowlaw.relation.relation import Relation
from rowlaw.rules.model import Nulls
from rowlaw.search.bitsets import word_count
from rowlaw.spark.jobs import DriverThreads, cores
from rowlaw.stopping import Stopped

_THREAD_ROWS = 512  # rows whose pairs are worth a second thread: some 5 ms
MEMORY = 1 << 30  # bytes for difference sets: of a thousand columns each takes 250 kB, if order is asked for
MINIMISING = 0.3  # of the time left, for leaving out difference sets that are not minimal


def fold(relation: Relation, columns: Sequence[str] | None = None) -> Folded:
    """Return the distinct rows, over some columns, and how often each occurs."""
    return fold_slots(Slots.same_column(relation, columns=columns))


class Differences:
    """The minimal difference sets of the pairs seen so far, with what each speaks about (see the kernels).

    >>> import pyarrow as pa
    >>> from rowlaw.search.bitsets import unpack
    >>> from rowlaw.relation import encode
    >>> from rowlaw.source import open_source
    >>> relation = encode(open_source(pa.table({"a": [1, 1, 2], "b": [1, 2, 1], "c": [5, 5, 6]})))
    >>> seen = Differences(relation, "unknown", ["a", "b", "c"], ordered=False)
    >>> seen.add_all(fold(relation))
    True
    >>> unpack(seen.edges(Target())), unpack(seen.edges(Target(left=2)))
    ([[1], [0, 2]], [[0]])
    """

    def __init__(self, relation: Relation, nulls: Nulls, columns: Sequence[str], *, ordered: bool) -> None:
        self.relation = relation
        self.unknown = nulls == "unknown"
        self.chosen = np.array([relation.index(name) for name in columns], np.int64)
        self.columns = len(columns)
        self.words = word_count(self.columns)
        facts = 1 + self.words * (1 + 2 * self.columns * ordered)
        self.sets = np.zeros((0, self.words), np.uint64)
        self.facts = np.zeros((0, facts), np.uint64)

    def add_pairs(self, pairs: Pairs, deadline: Deadline | None = None) -> None:
        """Take in given pairs of rows; their relation must have the same columns. After the deadline sets that are not
        minimal are kept."""
        if len(pairs):
            table = kernels.new_table(self.words, self.facts.shape[1])
            codes = np.asarray(pairs.relation.matrix)
            s, t = np.ascontiguousarray(pairs.rows[:, 0]), np.ascontiguousarray(pairs.rows[:, 1])
            self._take([kernels.compare_listed(codes, self.chosen, s, t, self.unknown, table)], deadline or Deadline())

    def add_all(self, folded: Folded, deadline: Deadline | None = None) -> bool:
        """Take in all pairs of different rows; whether that was done, or time or memory was up."""
        limit = deadline or Deadline()
        codes = np.asarray(self.relation.matrix)[self.chosen[:, None], folded.rows]
        parts = cores() if codes.shape[1] > _THREAD_ROWS else 1
        most = MEMORY // (8 * (self.words + self.facts.shape[1]) * parts)
        with limit.watched():
            stop = limit.flag

            def compare(part: int) -> kernels.Table:
                table = kernels.new_table(self.words, self.facts.shape[1])
                return kernels.compare_all(codes, part, parts, self.unknown, table, most, stop)

            try:
                tables = DriverThreads(parts).map(compare, range(parts), "compare all pairs", stop=limit)
            except Stopped:
                return False
            if stop[0]:
                return False
            self._take(tables, limit.part(MINIMISING))
        again = folded.rows[folded.weights > 1]  # a row that occurs twice is in a pair with its like
        self.add_pairs(Pairs(self.relation, np.stack((again, again), axis=1).astype(np.int32)))
        return True

    def _take(self, tables: Sequence[kernels.Table], deadline: Deadline) -> None:
        table = tables[0]
        for sets, facts in [
            (self.sets, self.facts),
            *((t.sets[: t.used[0]], t.facts[: t.used[0]]) for t in tables[1:]),
        ]:
            table = kernels.merge(table, sets, facts)
        sets = table.sets[: table.used[0]]
        sizes = np.bitwise_count(sets).sum(axis=1, dtype=np.int64)
        order = np.argsort(sizes, kind="stable")
        sets, facts, sizes = sets[order], table.facts[order], sizes[order]
        with deadline.watched():
            kept = kernels.keep_minimal(sets, sizes, facts, deadline.flag)
        self.sets, self.facts = sets[:kept], facts[:kept]

    def edges(self, target: Target) -> np.ndarray:
        """Return the minimal edges for a target, as words; different from each other."""
        a, b = target.left, target.right
        if a < 0:
            return self.sets[self.facts[:, 0] != 0]
        if b < 0:
            at, column = 1, a
        else:
            a, b = sorted((a, b))
            at, column = 1 + self.words + (a + self.columns * target.descending) * self.words, b
        speak = self.facts[:, at + column // 64] >> np.uint64(column % 64) & np.uint64(1) != 0
        edges = self.sets[speak]
        for c in (a, b):
            if c >= 0:
                edges[:, c // 64] &= ~(np.uint64(1) << np.uint64(c % 64))
        return edges
