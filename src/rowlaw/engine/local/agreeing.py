"""How many pairs of rows agree on some columns, estimated from a few rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from rowlaw.engine.local.weighted import combinations
from rowlaw.relation.relation import Relation
from rowlaw.rules.model import Nulls

_ROWS = 20_000  # rows that stand for all: of ten million, one pair of them that agrees stands for 250,000


@dataclass(frozen=True)
class AgreeingPairs:
    """Estimates over some rows of a relation: shape (rows,), dtype int32; all rows, if not given."""

    relation: Relation
    nulls: Nulls
    rows: np.ndarray | None = None
    _estimates: dict[frozenset[str], float] = field(default_factory=dict, init=False, repr=False)

    def of(self, columns: Sequence[str], table_rows: int) -> float:
        """About how many unordered pairs of rows agree on all of some columns, in a table of so many rows.

        >>> from rowlaw.relation.memory import MemoryRelation
        >>> import pyarrow as pa
        >>> relation = MemoryRelation.of(pa.table({"a": [1, 1, 2, 2], "b": [1, 1, 1, None]}))
        >>> pairs = AgreeingPairs(relation, "unknown")
        >>> pairs.of(["a"], 4), pairs.of(["a", "b"], 4), pairs.of(["a"], 8)
        (2.0, 1.0, 8.0)
        """
        names = frozenset(columns)
        if names not in self._estimates:
            self._estimates[names] = self._share(sorted(names))
        return self._estimates[names] * table_rows**2

    def _share(self, columns: Sequence[str]) -> float:
        """The pairs of the chosen rows that agree, divided by the square of the count of these rows."""
        rows = self._chosen
        total = max(1, len(rows))
        if self.nulls == "unknown":
            for name in columns:
                rows = rows[self.relation.codes(name)[rows] >= 0]
        sizes = np.bincount(combinations(self.relation, columns, rows)).astype(np.float64)
        return float(sizes @ (sizes - 1)) / 2 / total**2

    @property
    def _chosen(self) -> np.ndarray:
        rows = np.arange(self.relation.rows, dtype=np.int32) if self.rows is None else self.rows
        return rows if len(rows) <= _ROWS else np.random.default_rng(0).choice(rows, _ROWS)
