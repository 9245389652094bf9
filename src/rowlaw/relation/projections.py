"""Few rows that stand for all: two of each combination of values that some columns have.

Whether a rule is broken depends only on the combinations of values in its columns, and on whether a combination occurs
twice. A table of a million rows may have a hundred combinations of state, sex and family; asking thousands of rules
about those instead of about all rows is what makes discovery on large tables quick.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable

import numpy as np

from rowlaw.kernels.groups import first_two
from rowlaw.relation.groups import KEY_BITS, Side, Sorted, span
from rowlaw.relation.relation import Relation

_WORTH = 0.7  # a projection is kept if it has at most this share of the rows it was made from


class Projections:
    """Representative rows of a relation for sets of columns; each is made from the smallest one at hand that has all
    its columns."""

    def __init__(self, relation: Relation) -> None:
        self.relation = relation
        self._lock = threading.Lock()
        self._rows: dict[int, np.ndarray] = {}  # set of columns, as bits -> rows; several sets may share an array
        self._made: list[tuple[int, np.ndarray]] = []  # the distinct ones, smallest first
        names = [c.name for c in sorted(relation.columns, key=lambda c: c.distinct)]
        self._keep(self._bits(names), relation.all_rows)
        # Stepping stones: without the columns of most values, one after the other.
        for most in range(len(names) - 1, 1, -1):
            self.rows(names[:most])

    def rows(self, columns: Iterable[str]) -> np.ndarray:
        """Return rows among which every combination of the columns' values that the table has occurs, twice if it does
        so there."""
        wanted = self._bits(columns)
        with self._lock:
            if wanted not in self._rows:
                parent = next(rows for bits, rows in self._made if wanted & ~bits == 0)
                self._keep(wanted, self._reduced(wanted, parent))
            return self._rows[wanted]

    def _bits(self, columns: Iterable[str]) -> int:
        bits = 0
        for name in columns:
            bits |= 1 << self.relation.index(name)
        return bits

    def _keep(self, bits: int, rows: np.ndarray) -> None:
        self._rows[bits] = rows
        if all(rows is not known for _, known in self._made):
            self._made.append((bits, rows))
            self._made.sort(key=lambda made: len(made[1]))

    def _reduced(self, wanted: int, parent: np.ndarray) -> np.ndarray:
        chosen = [c for i, c in enumerate(self.relation.columns) if wanted >> i & 1]
        columns = [Sorted(self.relation.codes(c.name), c.distinct + 1) for c in chosen]
        # as many values as rows: nothing can be saved, and a key that does not fit would cost two sorts
        if span(1, columns).bit_length() > KEY_BITS or any(c.distinct > _WORTH * len(parent) for c in chosen):
            return parent
        rows = first_two(*Side.whole(parent).sorted_by(columns), parent)
        return np.sort(rows) if len(rows) <= _WORTH * len(parent) else parent
