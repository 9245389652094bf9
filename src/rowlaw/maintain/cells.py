"""The labels of a growing table, row after row, and how a set of slots compares them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, cast

import numpy as np

from rowlaw.evidence.slots import Slot, Slots
from rowlaw.kernels import upkeep as kernels
from rowlaw.kernels.signatures import SLOTS
from rowlaw.kernels.sort import sort_keys, sorted_distinct
from rowlaw.kernels.upkeep import Comparing
from rowlaw.rules.model import Column, Nulls
from rowlaw.rules.outcomes import CODE_BITS, DIFFERENT_CODE, HIGHER_CODE
from rowlaw.storage.label_rows import LabelRows
from rowlaw.storage.live_relation import dense

if TYPE_CHECKING:
    from rowlaw.relation.relation import Relation
    from rowlaw.storage.live_relation import LiveRelation
    from rowlaw.storage.table import GrowingTable


def detached_slots(slots: tuple[Slot, ...], nulls: Nulls) -> Slots:
    """Slots that are about no relation in particular: their signatures can be read and reversed, and that is all that
    is asked of them."""
    return Slots(cast("Relation", None), slots, nulls)


def column_slots(names: Sequence[str], nulls: Nulls, *, ordered: bool) -> Slots:
    """A slot for each column, which is compared with itself."""
    return detached_slots(tuple(Slot(Column("s", name), Column("t", name), ordered) for name in names), nulls)


class Cells:
    """``matrix[row, column]``: what the slots compare. Mostly these are the labels of the table. What slots compare
    besides them (values within a row, literals, columns on different scales) are outcomes in further columns, and then
    the matrix is a copy."""

    def __init__(self, slots: Slots, table: GrowingTable) -> None:
        self.slots = slots
        plain = [_plain(slot, table) for slot in slots.slots]
        self.names = table.compared_names
        self._index = {name: i for i, name in enumerate(self.names)}
        self._other = tuple(s for s, p in zip(slots.slots, plain, strict=True) if not p)
        self._own_rows = all(not isinstance(s.right, Column) or s.left.row == s.right.row for s in self._other)
        left, right = np.zeros(len(slots), np.int64), np.zeros(len(slots), np.int64)
        # indexes link deleted rows too, by the outcomes that they had
        all_rows = np.arange(table.rows, dtype=np.int32) if self._own_rows else None
        extra = Slots(table.relation(all_rows), self._other, slots.nulls) if self._other else None
        number = 0
        for i, (slot, is_plain) in enumerate(zip(slots.slots, plain, strict=True)):
            if is_plain:
                left[i], right[i] = self._index[slot.left.name], self._index[cast("Column", slot.right).name]
            else:
                assert extra is not None
                left[i], right[i] = len(self.names) + extra.left[number], len(self.names) + extra.right[number]
                number += 1
        # outcomes within a row never change; other columns that are computed may, and no index can be of them
        self.stable = np.array(plain, bool) | self._own_rows
        self._computed = len(extra.columns) if extra is not None else 0
        self._index |= {f"#{i}": len(self.names) + i for i in range(self._computed)}
        greater = np.where(slots.ordered, HIGHER_CODE, DIFFERENT_CODE).astype(np.uint64)
        places = np.arange(len(slots))
        straight = np.array_equal(left, places) and np.array_equal(right, places)
        shift = (CODE_BITS * (places % SLOTS)).astype(np.uint64)
        self.how = Comparing(left, right, greater, shift, np.array([straight]), np.array([slots.unknown]))
        self._order = np.zeros(0, np.int64)
        self._label_rows = table.label_rows
        self._copy: LabelRows | None = None
        if extra is not None:
            every = np.full((len(extra.columns), table.rows), -1, np.int32)
            every[:, cast("LiveRelation", extra.relation).table_rows] = np.stack(extra.columns)
            self._copy = LabelRows.of([*self._label_rows.matrix.T, *every])

    @cached_property
    def compared(self) -> list[list[int]]:
        """The columns of the matrix, those that are compared with each other together."""
        groups = [{c} for c in range(self.matrix.shape[1])]
        for a, b in zip(self.how.left.tolist(), self.how.right.tolist(), strict=True):
            one, other = (next(g for g in groups if c in g) for c in (a, b))
            if one is not other:
                groups.remove(other)
                one |= other
        return [sorted(group) for group in groups]

    def column(self, name: str) -> int:
        """The place of a column's labels."""
        return self._index[name]

    @property
    def column_names(self) -> tuple[str, ...]:
        """A name for each column of the matrix: that of the table's column, or a number with ``#`` for what is
        computed."""
        return (*self.names, *(f"#{i}" for i in range(self._computed)))

    def names_of(self, bits: int) -> list[str]:
        """The names of columns, given as bits."""
        return [name for i, name in enumerate(self.column_names) if bits >> i & 1]

    @property
    def rows(self) -> int:
        return (self._copy or self._label_rows).rows

    @property
    def matrix(self) -> np.ndarray:
        return (self._copy or self._label_rows).matrix

    @property
    def nbytes(self) -> int:
        return self.matrix.nbytes + self._order.nbytes

    def append(self, table: GrowingTable, deleted: np.ndarray | None = None) -> None:
        """Take in the rows that have come, and labels that have changed. ``deleted`` rows will be looked at once
        more."""
        self._label_rows = table.label_rows
        if self._copy is None:
            return
        before, labels = self._copy.rows, self._label_rows.matrix
        for i, name in enumerate(self.names):
            if name in table.relabelled:
                self._copy.replace(i, labels[:before, i])
        fresh = np.arange(before, table.rows, dtype=np.int32)
        if self._own_rows:  # what is compared within a row never changes
            extra = Slots(table.relation(fresh), self._other, self.slots.nulls)
            self._copy.append([*labels[before:].T, *extra.columns])
            return
        relation = table.relation()
        if deleted is not None and len(deleted):
            relation = table.relation(np.sort(np.append(relation.table_rows, deleted)))
        extra = Slots(relation, self._other, self.slots.nulls)
        self._copy.append([*labels[before:].T, *np.full((len(extra.columns), len(fresh)), -1, np.int32)])
        for i, codes in enumerate(extra.columns):
            every = np.full(table.rows, -1, np.int32)
            every[relation.table_rows] = codes
            self._copy.replace(len(self.names) + i, every)

    def sorted_by_similarity(self, rows: np.ndarray) -> np.ndarray:
        """Rows in an order in which neighbours are alike: by the columns of fewest values first.

        That of all rows is kept, and rows that came since follow in an order of their own: it makes comparing quicker,
        nothing else.
        """
        if 2 * len(rows) < self.rows:
            return self._sorted(rows)
        if 4 * len(self._order) < 3 * self.rows:
            self._order = self._sorted(np.arange(self.rows))
        elif len(self._order) < self.rows:
            self._order = np.concatenate((self._order, self._sorted(np.arange(len(self._order), self.rows))))
        wanted = np.zeros(self.rows, bool)
        wanted[rows] = True
        return self._order[wanted[self._order]]

    def _sorted(self, rows: np.ndarray) -> np.ndarray:
        some = self.matrix[rows]
        sampled = some[:: max(1, len(some) // 4096)]
        columns = sorted(range(some.shape[1]), key=lambda c: -len(sorted_distinct(sampled[:, c])))
        return rows[np.lexsort([some[:, c] for c in columns])] if columns else rows

    def orders(self, rows: np.ndarray, seed: int = 0) -> Iterator[np.ndarray]:
        """At least two rows in one order after the other, without end, in which neighbours agree on more and more.

        As :meth:`rowlaw.evidence.sample.Sampler.neighbouring`: each step sorts by one more column and keeps the order
        within equal values. All columns have their turn before one has it again.
        """
        random = np.random.default_rng(seed)
        codes = [(dense(self.matrix[rows, c])[0] + 1).astype(np.uint32) for c in range(self.matrix.shape[1])]
        bits = [int(c.max()).bit_length() for c in codes]
        order = np.arange(len(rows))
        while True:
            for c in random.permutation(len(codes)):
                order = order[sort_keys(codes[c][order], bits[c])[1]]
                yield rows[order]

    def signatures(self, pairs: np.ndarray) -> np.ndarray:
        """The signatures of given pairs."""
        pairs = np.asarray(pairs, np.int64)
        signatures = np.empty((len(pairs), self.slots.words), np.uint64)
        kernels._signatures(
            self.matrix,
            self.how,
            np.ascontiguousarray(pairs[:, 0]),
            np.ascontiguousarray(pairs[:, 1]),
            len(pairs),
            signatures,
        )
        return signatures


def _plain(slot: Slot, table: GrowingTable) -> bool:
    """Whether a slot compares labels as they are."""
    right = slot.right
    return (
        isinstance(right, Column)
        and slot.left.row != right.row
        and (slot.left.name == right.name or table.comparable(slot.left.name, right.name))
    )
