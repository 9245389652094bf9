"""The labels of a growing table, row after row, and how a set of slots compares them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, cast

import numpy as np

from rowlaw.evidence.slots import Slot, Slots
from rowlaw.kernels import upkeep as kernels
from rowlaw.kernels.evidence import SLOTS
from rowlaw.kernels.sort import sort_keys
from rowlaw.kernels.upkeep import Comparing
from rowlaw.maintain.living import dense
from rowlaw.rules.model import Column, Nulls
from rowlaw.rules.outcomes import CODE_BITS, DIFFERENT_CODE, HIGHER_CODE

if TYPE_CHECKING:
    from rowlaw.maintain.living import LivingRelation
    from rowlaw.maintain.table import GrowingTable
    from rowlaw.relation.relation import Relation


def loose_slots(slots: tuple[Slot, ...], nulls: Nulls) -> Slots:
    """Slots that are about no relation in particular: their signatures can be read and reversed, and that is all that is asked of them."""
    return Slots(cast("Relation", None), slots, nulls)


def column_slots(names: Sequence[str], nulls: Nulls, *, ordered: bool) -> Slots:
    """A slot for each column, which is compared with itself."""
    return loose_slots(tuple(Slot(Column("s", name), Column("t", name), ordered) for name in names), nulls)


class Cells:
    """``matrix[row, column]``: what the slots compare. Labels of columns are copied as they come; what slots compare besides them
    (columns on different scales, values within a row, literals) is computed anew with every batch."""

    def __init__(self, slots: Slots, table: GrowingTable) -> None:
        self.slots = slots
        plain = [_plain(slot, table) for slot in slots.slots]
        self.names = tuple(
            dict.fromkeys(o.name for s, p in zip(slots.slots, plain, strict=True) if p for o in (s.left, s.right) if isinstance(o, Column))
        )
        self._index = {name: i for i, name in enumerate(self.names)}
        self._other = tuple(s for s, p in zip(slots.slots, plain, strict=True) if not p)
        left, right = np.zeros(len(slots), np.int64), np.zeros(len(slots), np.int64)
        extra = self._computed(table)
        number = 0
        for i, (slot, is_plain) in enumerate(zip(slots.slots, plain, strict=True)):
            if is_plain:
                left[i], right[i] = self._index[slot.left.name], self._index[cast("Column", slot.right).name]
            else:
                assert extra is not None
                left[i], right[i] = len(self.names) + extra.left[number], len(self.names) + extra.right[number]
                number += 1
        greater = np.where(slots.ordered, HIGHER_CODE, DIFFERENT_CODE).astype(np.uint64)
        places = np.arange(len(slots))
        straight = np.array_equal(left, places) and np.array_equal(right, places)
        shift = (CODE_BITS * (places % SLOTS)).astype(np.uint64)
        self.how = Comparing(left, right, greater, shift, np.array([straight]), np.array([slots.unknown]))
        self.rows = 0
        self._order = np.zeros(0, np.int64)
        self._room = np.empty((0, len(self.names) + (len(extra.columns) if extra is not None else 0)), np.int32)
        self.append(table)

    @cached_property
    def compared(self) -> list[list[int]]:
        """The columns of the matrix, those that are compared with each other together."""
        groups = [{c} for c in range(self._room.shape[1])]
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
    def matrix(self) -> np.ndarray:
        return self._room[: self.rows]

    @property
    def nbytes(self) -> int:
        return self.matrix.nbytes + self._order.nbytes

    def append(self, table: GrowingTable, deleted: np.ndarray | None = None) -> None:
        """Take in the rows that have come, and labels that have changed. ``deleted`` rows will be looked at once more."""
        before, self.rows = self.rows, table.rows
        if self.rows > len(self._room):
            room = np.empty((self.rows * 3 // 2, self._room.shape[1]), np.int32)
            room[:before] = self._room[:before]
            self._room = room
        for i, name in enumerate(self.names):
            first = 0 if name in table.relabelled else before
            self._room[first : self.rows, i] = table.labels(name)[first:]
        extra = self._computed(table, deleted)
        if extra is not None:
            rows = cast("LivingRelation", extra.relation).table_rows
            for i, codes in enumerate(extra.columns):
                self._room[before : self.rows, len(self.names) + i] = -1
                self._room[rows, len(self.names) + i] = codes

    def _computed(self, table: GrowingTable, deleted: np.ndarray | None = None) -> Slots | None:
        if not self._other:
            return None
        relation = table.relation()
        if deleted is not None and len(deleted):
            relation = table.relation(np.sort(np.append(relation.table_rows, deleted)))
        return Slots(relation, self._other, self.slots.nulls)

    def neighbourly(self, rows: np.ndarray) -> np.ndarray:
        """Rows in an order in which neighbours are alike: by the columns of fewest values first.

        That of all rows is kept, and rows that came since follow in an order of their own: it makes comparing quicker, nothing else.
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
        columns = sorted(range(some.shape[1]), key=lambda c: -len(np.unique(sampled[:, c])))
        return rows[np.lexsort([some[:, c] for c in columns])] if columns else rows

    def orders(self, rows: np.ndarray, seed: int = 0) -> Iterator[np.ndarray]:
        """At least two rows in one order after the other, without end, in which neighbours agree on more and more.

        As :meth:`rowlaw.evidence.sample.Sampler.neighbouring`: each step sorts by one more column and keeps the order within equal values.
        All columns have their turn before one has it again.
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
        found = np.empty((len(pairs), self.slots.words), np.uint64)
        kernels._signatures(self.matrix, self.how, np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1]), len(pairs), found)
        return found


def _plain(slot: Slot, table: GrowingTable) -> bool:
    """Whether a slot compares labels as they are."""
    right = slot.right
    return (
        isinstance(right, Column)
        and slot.left.row != right.row
        and (slot.left.name == right.name or table.comparable(slot.left.name, right.name))
    )
