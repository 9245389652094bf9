"""Rows of a growing table as a relation: what the engine, evidence and discovery ask."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from rowlaw.kernels.sort import sort_keys
from rowlaw.relation.known import KnownRows
from rowlaw.relation.relation import CODES_FILE, Relation, RelationColumn, describe, write_dictionary
from rowlaw.rules.model import Nulls, TypeClass

if TYPE_CHECKING:
    from rowlaw.storage.table import GrowingTable


class LiveRelation(Relation):
    """Some rows of a growing table with dense codes, each column made when it is first used.

    Row ``i`` of the relation is row ``table_rows[i]`` of the table. The table must not change while the relation is in
    use.
    """

    def __init__(self, table: GrowingTable, rows: np.ndarray) -> None:
        self.table_rows = rows
        self.rows = len(rows)
        self.row_id = table.row_id
        self._table = table
        self._index = {name: i for i, name in enumerate(table.names)}
        self._cleanup = None
        self._made: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        self._values: dict[str, pa.Array] = {}

    def _column(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """The codes of a column, and the labels that they stand for."""
        self.index(name)
        if name not in self._made:
            labels = self._table.labels(name)
            self._made[name] = dense(labels if self.rows == len(labels) else labels[self.table_rows])
        return self._made[name]

    @cached_property
    def columns(self) -> tuple[RelationColumn, ...]:  # type: ignore[override]
        return tuple(self.column(name) for name in self._index)

    def column(self, name: str) -> RelationColumn:
        codes, _ = self._column(name)
        return describe(name, self.dictionary(name), codes)

    @property
    def types(self) -> dict[str, TypeClass]:
        return dict(self._table.types)

    @property
    def nbytes(self) -> int:
        return 4 * len(self._index) * self.rows

    def codes(self, name: str) -> np.ndarray:
        return self._column(name)[0]

    def dictionary(self, name: str) -> pa.Array:
        if name not in self._values:
            self._values[name] = self._table.values(name, self._column(name)[1])
        return self._values[name]

    @cached_property
    def matrix(self) -> np.ndarray:
        return (
            np.stack([self.codes(name) for name in self._index])
            if self.rows
            else np.zeros((len(self._index), 0), np.int32)
        )

    @cached_property
    def folder(self) -> Path:  # type: ignore[override]
        """Files for workers, written when a job first needs them."""
        home = Path(tempfile.mkdtemp(prefix="rowlaw-living-", dir=os.environ.get("ROWLAW_SCRATCH")))
        weakref.finalize(self, shutil.rmtree, home, ignore_errors=True)
        self.matrix.tofile(home / CODES_FILE)
        for i, name in enumerate(self._index):
            write_dictionary(home, i, self.dictionary(name))
        return home

    def close(self) -> None:
        """The relation is the table's: there is nothing to give up."""

    def row_labels(self, rows: Sequence[int] | np.ndarray) -> pa.Array:
        return self._table.row_names(self.table_rows[np.asarray(rows, np.int64)])


def known_rows(table: GrowingTable, nulls: Nulls) -> KnownRows:
    """Which columns are known together in the living rows of a table."""
    return KnownRows.of(table.names if nulls == "unknown" else (), table.labels, table.living, np.asarray(table.alive))


def dense(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Codes from 0 in place of labels, in their order, and the labels that are in use; -1 stays.

    >>> codes, used = dense(np.array([70, -1, 20, 70], np.int32))
    >>> codes.tolist(), used.tolist()
    ([1, -1, 0, 1], [20, 70])
    """
    keys, order = sort_keys((labels + np.int32(1)).view(np.uint32), 32)
    new = np.ones(len(keys), bool)
    new[1:] = keys[1:] != keys[:-1]
    has_null = bool(len(keys)) and keys[0] == 0
    codes = np.empty(len(keys), np.int32)
    codes[order] = np.cumsum(new, dtype=np.int32) - (2 if has_null else 1)
    used = keys[new].astype(np.int64) - 1
    return codes, used[1 if has_null else 0 :].astype(np.int32)
