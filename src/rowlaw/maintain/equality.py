"""Indexes of rows by values: which rows that came before agree with a row on some columns (IncDC section 7, equality
indexes).

Beyond the paper: an index may be of several columns, and a :class:`TupleIndex` finds one row of each *kind*, which is
enough to know whether a rule that speaks of nothing else is broken.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rowlaw.kernels import links as kernels
from rowlaw.maintain.cells import Cells
from rowlaw.maintain.ledger import Ledger
from rowlaw.rules.outcomes import ANY, EQUAL_BIT
from rowlaw.storage.label_rows import spare

if TYPE_CHECKING:
    from rowlaw.storage.store import Reader, Writer

SORTED = 256  # rows for which it pays to have those of one group together
_FIRST = 256  # places of a new table


class EqualityIndex:
    """Rows linked by equal values in some columns, the latest first. Taking in a row and finding its group take
    constant time.

    With ``unknown`` nulls a row that has one in these columns agrees with nothing and is left out. Rows that are gone
    stay linked until the table is compacted; who walks along the links asks whether a row is alive.
    """

    def __init__(self, cells: Cells, columns: Sequence[str], *, unknown: bool) -> None:
        self.names = tuple(columns)
        self.columns = np.array([cells.column(name) for name in columns], np.int64)
        self.unknown = unknown
        self.groups = 0
        self.table = np.zeros(_FIRST, np.int32)
        self._buffer = np.zeros(_FIRST, np.int32)
        self.rows = 0
        self.saved: tuple[int, int] | None = None  # rows and groups that the files have

    def save(self, writer: Writer) -> dict[str, Any]:
        """Write the links, unless those in the files are nearly all; what is needed to load them."""
        if self.saved is None or "links" not in writer:
            writer.array("links", self._buffer)
            writer.array("groups", self.table)
            self.saved = (self.rows, self.groups)
        else:
            writer.keep("links")
            writer.keep("groups")
        return {"names": self.names, "saved": self.saved}

    @staticmethod
    def load(reader: Reader, facts: Mapping[str, Any], cells: Cells, *, unknown: bool) -> EqualityIndex:
        """What was saved; rows that came since are to be taken in."""
        made = EqualityIndex(cells, facts["names"], unknown=unknown)
        made.rows, made.groups = made.saved = tuple(facts["saved"])
        made.table, made._buffer = reader.private("groups"), reader.private("links")
        return made

    @property
    def following(self) -> np.ndarray:
        return self._buffer[: self.rows]

    @property
    def nbytes(self) -> int:
        return self.table.nbytes + self.following.nbytes

    def add_rows(self, cells: Cells, rows: np.ndarray) -> None:
        """Take in rows; their numbers are above those of all rows taken in before."""
        before, self.rows = self.rows, cells.rows
        if self.rows > len(self._buffer):
            buffer = np.zeros(self.rows + spare(self.rows), np.int32)
            buffer[:before] = self._buffer[:before]
            self._buffer, self.saved = buffer, None
        self._buffer[before : self.rows] = -2
        needed = 2 * (self.groups + len(rows))
        if needed > len(self.table):
            larger = np.zeros(1 << needed.bit_length(), np.int32)
            kernels.move_groups(cells.matrix, self.columns, self.table, larger)
            self.table, self.saved = larger, None
        self.groups += kernels.link(
            cells.matrix, self.columns, np.asarray(rows, np.int64), self.unknown, self.table, self._buffer
        )

    def sorted_by_similarity(self, cells: Cells, rows: np.ndarray) -> np.ndarray:
        """Rows in an order in which those of one group are near each other: what they meet is then at hand."""
        rows = np.asarray(rows, np.int64)
        return (
            rows[np.argsort(cells.matrix[rows, self.columns[0]])] if len(self.columns) and len(rows) > SORTED else rows
        )

    def compare(self, cells: Cells, rows: np.ndarray, alive: np.ndarray, ledger: Ledger) -> None:
        """See each of ``rows`` with all living rows that came before it and agree with it."""
        rows = self.sorted_by_similarity(cells, rows)
        ledger.replace_pages(
            cells.slots, kernels.compare_linked(cells.matrix, cells.how, rows, self.following, alive, ledger.pages)
        )

    def compare_groups(self, cells: Cells, alive: np.ndarray, ledger: Ledger) -> None:
        """See all pairs of living rows that agree."""
        rows, starts = np.empty(self.rows, np.int64), np.empty(self.groups + 1, np.int64)
        number, groups = kernels.grouped(self.table, self.following, alive, rows, starts)
        rows, starts = rows[:number], starts[: groups + 1]
        near = Ledger(cells.slots.words, counted=False)
        near.replace_pages(cells.slots, kernels.compare_groups(cells.matrix[rows], cells.how, starts, near.pages))
        ledger.merge(near, rows, cells.slots)

    def _check(self, cells: Cells, alive: np.ndarray) -> None:
        """Every invariant: the links of living rows lead through all earlier living rows of equal values, and no
        others."""
        matrix = cells.matrix[:, self.columns]
        for row in np.flatnonzero(alive):
            null = self.unknown and bool((matrix[row] < 0).any())
            assert (self.following[row] == -2) == null
            linked, t = [], int(self.following[row])
            while t >= 0:
                if alive[t]:
                    linked.append(t)
                t = int(self.following[t])
            equal = (matrix[:row] == matrix[row]).all(axis=1) & alive[:row] & (not null)
            assert linked == np.flatnonzero(equal)[::-1].tolist()


class TupleIndex:
    """One row of each kind, by group: *kinds* are rows that agree on all ``columns`` of a rule, groups those that agree
    on its ``equal`` ones.

    A pair of rows breaks the rule exactly if every pair of their kinds does. So a new row of a kind that was there
    before can break the rule only with a row of its own kind, and one of a new kind is compared with one row of each
    other kind. The cost follows the number of kinds.
    """

    def __init__(self, cells: Cells, columns: Sequence[str], equal: Sequence[str], *, unknown: bool) -> None:
        self.tuples = EqualityIndex(cells, columns, unknown=False)  # rows with the same nulls are of one kind
        self.groups = EqualityIndex(cells, equal, unknown=unknown)

    @property
    def nbytes(self) -> int:
        return self.tuples.nbytes + self.groups.nbytes

    def save(self, writer: Writer) -> dict[str, Any]:
        """Write both indexes, at the same moment."""
        if self.tuples.saved is None or self.groups.saved is None:
            self.tuples.saved = self.groups.saved = None
        return {"kinds": self.tuples.save(writer.under("kinds")), "groups": self.groups.save(writer.under("groups"))}

    @staticmethod
    def load(reader: Reader, facts: Mapping[str, Any], cells: Cells, *, unknown: bool) -> TupleIndex:
        """What was saved; rows that came since are to be taken in."""
        made = TupleIndex(cells, (), (), unknown=unknown)
        made.tuples = EqualityIndex.load(reader.under("kinds"), facts["kinds"], cells, unknown=False)
        made.groups = EqualityIndex.load(reader.under("groups"), facts["groups"], cells, unknown=unknown)
        return made

    def add_rows(self, cells: Cells, rows: np.ndarray) -> None:
        """Take in rows; their numbers are above those of all rows taken in before."""
        self.tuples.add_rows(cells, rows)
        founders = np.empty(len(rows), np.int64)
        number = kernels.found_kinds(np.asarray(rows, np.int64), self.tuples.following, founders)
        self.groups.add_rows(cells, founders[:number])

    def compare(self, cells: Cells, rows: np.ndarray, alive: np.ndarray, rules: np.ndarray, ledger: Ledger) -> None:
        """See each of ``rows`` with as many living rows as it takes to know whether it breaks one of the rules, which
        are given as the outcomes they accept in each slot, and are about these columns."""
        rows = self.groups.sorted_by_similarity(cells, rows)
        used = np.flatnonzero((rules != ANY).any(axis=0))
        # rows of a group agree: look at that last
        used = used[np.argsort((rules[:, used] == EQUAL_BIT).all(axis=0), kind="stable")]
        about = (cells.how.left[used], cells.how.right[used], np.ascontiguousarray(rules[:, used]))
        kinds = (self.tuples.columns, self.tuples.table, self.tuples.following)
        groups = (self.groups.columns, self.groups.table, self.groups.following)
        ledger.replace_pages(
            cells.slots, kernels.compare_kinds(cells.matrix, cells.how, rows, kinds, groups, alive, about, ledger.pages)
        )

    def _check(self, cells: Cells, alive: np.ndarray) -> None:
        """Every invariant: besides those of its two indexes, that the first row of every kind is in its group."""
        self.tuples._check(cells, alive)
        matrix = cells.matrix[:, self.tuples.columns]
        equal = cells.matrix[:, self.groups.columns]
        for row in np.flatnonzero(alive):
            first = int(np.flatnonzero((matrix == matrix[row]).all(axis=1) & (self.tuples.following == -1))[0])
            assert (self.groups.following[first] == -2) == (self.groups.unknown and bool((equal[row] < 0).any()))
