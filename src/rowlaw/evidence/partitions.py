"""Rows with their stripped partitions, and candidates checked on them: what `levels` asks of its sample and of the
whole table.

A set of columns is an integer with a bit for each.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from rowlaw.deadline import Deadline
from rowlaw.engine.local.contexts import KeptPartitions, Partition
from rowlaw.kernels import levels as kernels
from rowlaw.kernels.partitions import ordered, refine
from rowlaw.kernels.sort import sorted_distinct
from rowlaw.relation.relation import Relation
from rowlaw.rules.model import Nulls

CACHE_BYTES = 256 << 20  # partitions kept; those not used for longest go first
_ALL_GROUPS = 1 << 31


def bits(mask: int) -> Iterator[int]:
    """Return the columns of a set, ascending.

    >>> list(bits(0b1101))
    [0, 2, 3]
    """
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


@dataclass(frozen=True, slots=True)
class Candidates:
    """What is asked about one context: which columns it determines, and which lines ``(left, right, descending)`` are
    in order in it."""

    context: int
    constants: np.ndarray
    orders: np.ndarray

    def kept(self, answers: Answers) -> Candidates:
        """Return those that are not broken."""
        return Candidates(
            self.context,
            self.constants[answers.constants != kernels.BROKEN],
            self.orders[answers.orders != kernels.BROKEN],
        )

    def __len__(self) -> int:
        return len(self.constants) + len(self.orders)


@dataclass(frozen=True, slots=True)
class Answers:
    """For each candidate of a context BROKEN, HOLDS or HOLDS_FULLY, and rows that break the broken ones."""

    constants: np.ndarray
    orders: np.ndarray
    breaking: np.ndarray


_NO_ROWS = np.zeros(0, np.int32)


@dataclass
class Rows:
    """Some rows of a table: their codes, each column's rows in order of value, and the partitions asked for so far."""

    codes: np.ndarray  # read-only, a line per column
    widths: list[int]  # codes of a column lie in -1 .. width - 2
    unknown: bool  # whether null agrees with nothing, and is in no comparison
    _by_value: np.ndarray = field(init=False, repr=False)
    _kept: KeptPartitions = field(init=False, repr=False)
    _sorted: set[int] = field(default_factory=set, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def __post_init__(self) -> None:
        self._by_value = np.empty(self.codes.shape, np.int32)  # costs nothing until it is written
        self._kept = KeptPartitions(CACHE_BYTES)

    @staticmethod
    def whole(relation: Relation, nulls: Nulls) -> Rows:
        """Return all rows of a relation."""
        return Rows(
            _read_only(np.asarray(relation.matrix)), [c.distinct + 1 for c in relation.columns], nulls == "unknown"
        )

    @staticmethod
    def some(relation: Relation, nulls: Nulls, rows: np.ndarray) -> Rows:
        """Return some rows, with codes of their own, as dense as theirs."""
        codes = np.empty((len(relation.columns), len(rows)), np.int32)
        widths = []
        for i in range(len(relation.columns)):
            values, codes[i] = np.unique(relation.matrix[i][rows], return_inverse=True)
            if len(values) and values[0] < 0:
                codes[i] -= 1
            widths.append(len(values) + 1)
        return Rows(_read_only(codes), widths, nulls == "unknown")

    @property
    def number(self) -> int:
        return int(self.codes.shape[1])

    def partition(self, context: int) -> Partition:
        """Return the stripped partition of a context, from that of the smallest parent at hand."""
        partition = self._kept.get(context)
        if partition is None:
            if not context:
                rows = np.arange(self.number if self.number > 1 else 0, dtype=np.int32)
                partition = Partition(rows, np.array([0, len(rows)] if len(rows) else [0], np.int32))
            else:
                column, parent = self._parent(context)
                place = np.zeros(self.widths[column], np.int32)
                rows, starts = refine(parent.rows, parent.starts, self.codes[column], self.unknown, place, _ALL_GROUPS)
                partition = Partition(rows.copy(), starts.copy())  # without the room that was not needed
            self._kept.put(context, partition)
        return partition

    def _parent(self, context: int) -> tuple[int, Partition]:
        """Return the context without one column: the cached one with fewest rows, else without its first, which its
        neighbours share."""
        cached = [(c, p) for c in bits(context) if (p := self._kept.get(context ^ (1 << c))) is not None]
        if cached:
            return min(cached, key=lambda found: len(found[1].rows))
        return next(bits(context)), self.partition(context & (context - 1))

    def _in_order(self, column: int) -> None:
        """Make sure that the column's rows are listed by value."""
        with self._lock:
            if column not in self._sorted:
                self._by_value[column] = ordered(self.codes[column], np.zeros(self.widths[column], np.int32))
                self._sorted.add(column)

    def check(self, asked: Candidates, most: int = 0) -> Answers:
        """Return whether each candidate holds, and with ``most`` the rows of up to so many pairs that break each, those
        that agree most first."""
        constants = np.full(len(asked.constants), kernels.HOLDS_FULLY, np.uint8)
        orders = np.full(len(asked.orders), kernels.HOLDS, np.uint8)
        groups = self.partition(asked.context)
        if not len(groups.rows):
            return Answers(constants, orders, _NO_ROWS)
        if len(constants):
            kernels.constants(groups.rows, groups.starts, self.codes, asked.constants, self.unknown, constants)
        if len(orders):
            for column in set(asked.orders[:, 0].tolist()):
                self._in_order(column)
            kernels.orders(groups.rows, groups.starts, self.codes, self._by_value, asked.orders, self.unknown, orders)
        breaking = [_NO_ROWS]
        if most:
            for column in asked.constants[constants == kernels.BROKEN].tolist():
                breaking.append(
                    kernels.unlike(groups.rows, groups.starts, self.codes, column, self.unknown, most).ravel()
                )
            for left, right, down in asked.orders[orders == kernels.BROKEN].tolist():
                pairs = kernels.swaps(
                    groups.rows, groups.starts, self.codes, self._by_value, left, right, bool(down), self.unknown, most
                )
                breaking.append(pairs.ravel())
        return Answers(constants, orders, sorted_distinct(np.concatenate(breaking)))


_whole = lru_cache(maxsize=1)(Rows.whole)  # a worker elsewhere keeps the rows, with partitions, from task to task


@dataclass(frozen=True)
class Checking:
    """Checks the candidates of a task on the given rows, or on all rows of a relation where it is; None for those after
    the deadline."""

    rows: Rows | None
    deadline: Deadline | None = None
    relation: Relation | None = None
    nulls: Nulls = "unknown"
    most: int = 0

    def __call__(self, task: list[Candidates]) -> list[Answers | None]:
        rows = self.rows
        if rows is None:
            assert self.relation is not None
            rows = _whole(self.relation, self.nulls)
        return [
            None if self.deadline is not None and self.deadline.passed else rows.check(asked, self.most)
            for asked in task
        ]


class GrowingSample:
    """Some rows of a relation, which rows that break candidates join, beside all its rows.

    ``begin``: positions of the rows to begin with; if not given, ``size`` random ones.
    """

    def __init__(
        self, relation: Relation, nulls: Nulls, size: int, seed: int, begin: Sequence[int] | None = None
    ) -> None:
        self._relation, self._nulls = relation, nulls
        random = np.random.default_rng(seed)
        rows = random.choice(relation.rows, min(relation.rows, size), replace=False) if begin is None else begin
        self._rows = sorted_distinct(np.asarray(rows, np.int32))
        self._all = Rows.whole(relation, nulls)
        self._some = Rows.some(relation, nulls, self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def is_all(self) -> bool:
        """Whether the sample has all rows."""
        return len(self._rows) == self._relation.rows

    def on_sample(self, deadline: Deadline) -> Checking:
        """Return what checks candidates on the sample."""
        return Checking(self._some, deadline)

    def on_all(self, deadline: Deadline, pairs: int, *, elsewhere: bool) -> Checking:
        """Return what checks candidates on all rows and gives up to ``pairs`` pairs that break each; ``elsewhere``: in
        other processes."""
        if elsewhere:
            return Checking(None, None, self._relation, self._nulls, pairs)
        return Checking(self._all, deadline, most=pairs)

    def grow(self, answers: Sequence[Answers]) -> None:
        """Add rows that break something to the sample."""
        rows = sorted_distinct(np.concatenate((self._rows, *(answer.breaking for answer in answers)))).astype(np.int32)
        if len(rows) > len(self._rows):
            self._rows = rows
            self._some = Rows.some(self._relation, self._nulls, rows)


def _read_only(codes: np.ndarray) -> np.ndarray:
    """As memory-mapped codes are, so that kernels are compiled once."""
    codes.setflags(write=False)
    return codes
