"""A relation in memory: the rows of one partition inside a Spark task, or a few rows that came back from Spark."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from rowlaw.relation.columns import ordered_column
from rowlaw.relation.relation import Relation, RelationColumn, describe
from rowlaw.source.row_ids import RowId


class MemoryRelation(Relation):
    """A relation whose codes and dictionaries are arrays of this process; it has no files.

    >>> relation = MemoryRelation.of(pa.table({"zip": ["07030", "10001", "07030"], "pop": [7, None, 5]}))
    >>> relation.codes("zip").tolist(), relation.codes("pop").tolist()
    ([0, 1, 0], [1, -1, 0])
    """

    _dictionaries: list[pa.Array]

    @staticmethod
    def of(table: pa.Table, row_id: RowId = None) -> MemoryRelation:
        """Encode a table. ``O(n)`` for each column, and a sort of its distinct values."""
        matrix = np.empty((table.num_columns, table.num_rows), np.int32)
        columns, dictionaries = [], []
        for i, name in enumerate(table.column_names):
            values, matrix[i] = ordered_column(table.column(i))
            columns.append(describe(name, values, matrix[i]))
            dictionaries.append(values)
        return _made(matrix, columns, dictionaries, row_id)

    def recoded(self, matrix: np.ndarray) -> MemoryRelation:
        """Make a relation of other rows, whose codes mean what they mean here: shape (columns, rows), dtype int32."""
        return _made(matrix, self.columns, self._dictionaries)

    def dictionary(self, name: str) -> pa.Array:
        return self._dictionaries[self.index(name)]

    def kept(self) -> Relation:
        return self

    def close(self) -> None:
        """Nothing has to be released."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (self.decode(), self.row_id)


def _made(
    matrix: np.ndarray, columns: Sequence[RelationColumn], dictionaries: list[pa.Array], row_id: RowId = None
) -> MemoryRelation:
    relation = MemoryRelation(Path(), matrix.shape[1], columns, row_id=row_id)
    matrix.setflags(write=False)  # as memory-mapped codes are, so that kernels are compiled once
    relation.matrix = matrix
    relation._dictionaries = dictionaries
    return relation


def _rebuilt(table: pa.Table, row_id: tuple[str, ...]) -> MemoryRelation:
    return MemoryRelation.of(table, row_id)
