"""The encoded table: ordered codes, so that every comparison in the system is one of integers.

Each column is dense ``int32`` codes in value order; null and NaN are -1. The codes of all columns lie in one
memory-mapped file, column after column, which all workers of a machine share. Columns keep dictionaries of their own;
two columns that a rule compares are put on a common scale when they are asked for (:meth:`Relation.aligned`), which
costs a merge of two sorted dictionaries (see docs/decisions/0001).
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import uuid
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rowlaw.errors import RowlawError, no_column
from rowlaw.relation.align import common_scale, position
from rowlaw.rules.model import TypeClass
from rowlaw.source.row_ids import RowId, id_array, id_columns
from rowlaw.source.types import type_class
from rowlaw.spark.ship import located

CODES_FILE = "codes.bin"


@dataclass(frozen=True, slots=True)
class RelationColumn:
    """What is known of a column: its values are ``distinct`` in number, its dictionary is in a file beside the
    codes."""

    name: str
    type: TypeClass
    arrow_type: pa.DataType
    distinct: int
    nulls: int


class Relation:
    """An immutable encoded table in a folder of its own.

    >>> from rowlaw.relation import encode
    >>> from rowlaw.source import open_source
    >>> relation = encode(open_source(pa.table({"zip": ["07030", "10001", "07030"], "pop": [7, None, 5]})))
    >>> relation.codes("zip").tolist(), relation.codes("pop").tolist()
    ([0, 1, 0], [1, -1, 0])
    >>> relation.decode([0, 1]).to_pylist()
    [{'zip': '07030', 'pop': 7}, {'zip': '10001', 'pop': None}]
    """

    skipped: Mapping[str, RowlawError] = MappingProxyType({})  # columns of the source that cannot be compared, and why

    def __init__(
        self,
        folder: Path,
        rows: int,
        columns: Sequence[RelationColumn],
        *,
        row_id: RowId = None,
        owned: bool = False,
        skipped: Mapping[str, RowlawError] = skipped,
    ) -> None:
        self.folder = folder
        self.rows = rows
        self.columns = tuple(columns)
        self.row_id = id_columns(row_id)
        self.skipped = skipped
        self._index = {column.name: i for i, column in enumerate(self.columns)}
        self._kept: Relation | None = None
        # an owned folder is scratch: it goes when the relation does, even without close()
        self._cleanup = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True) if owned else None

    def __repr__(self) -> str:
        return f"Relation({self.rows:,} rows, {len(self.columns)} columns: {', '.join(c.name for c in self.columns)})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give up the files. The relation cannot be used any more."""
        for made in ("matrix", "all_rows"):
            self.__dict__.pop(made, None)
        if self._cleanup is not None:
            self._cleanup()

    def kept(self) -> Relation:
        """Return the same relation in files of its own, which stay until the process ends: for lazy frames, whose last
        use is unknown.

        The files are links to these, so nothing is copied.
        """
        if self._kept is None:
            folder = Path(tempfile.mkdtemp(prefix="rowlaw-kept-", dir=self.folder.parent))
            atexit.register(shutil.rmtree, folder, ignore_errors=True)
            for file in self.folder.iterdir():
                if file.is_file():
                    os.link(file, folder / file.name)
            self._kept = Relation(folder, self.rows, self.columns, row_id=self.row_id)
        return self._kept

    def __reduce__(self) -> tuple[Any, ...]:
        """Workers get the relation by its folder: they map the same pages, and keep what they have made of them from
        task to task."""
        return _opened, (self.folder, self.rows, self.columns, self.row_id, self._name)

    @cached_property
    def _name(self) -> str:
        """Tells this relation from others that are or were in the same folder."""
        return uuid.uuid4().hex

    @cached_property
    def matrix(self) -> np.ndarray:
        """All codes, a row per column: shape ``(columns, rows)``, read-only and memory-mapped."""
        shape = (len(self.columns), self.rows)
        if 0 in shape:
            return np.zeros(shape, np.int32)
        return np.memmap(located(self.folder, CODES_FILE), np.int32, "r", shape=shape)

    @cached_property
    def all_rows(self) -> np.ndarray:
        """The numbers of all rows. The array is shared: never write into it."""
        return np.arange(self.rows, dtype=np.int32)

    @property
    def nbytes(self) -> int:
        """Size of the codes."""
        return 4 * len(self.columns) * self.rows

    @property
    def types(self) -> dict[str, TypeClass]:
        return {column.name: column.type for column in self.columns}

    def index(self, name: str) -> int:
        if name not in self._index:
            raise no_column(name, self._index, self.skipped)
        return self._index[name]

    def column(self, name: str) -> RelationColumn:
        return self.columns[self.index(name)]

    def codes(self, name: str) -> np.ndarray:
        """Return the codes of a column."""
        return np.asarray(self.matrix[self.index(name)])

    def dictionary(self, name: str) -> pa.Array:
        """Return the distinct values of a column in order: ``dictionary[code]`` is the value."""
        return read_dictionary(self.folder, self.index(name))

    def aligned(self, left: str, right: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the codes of two columns on a common scale, so that codes of one may be compared with codes of the
        other."""
        if left == right:
            return self.codes(left), self.codes(left)
        a, b = common_scale(self.dictionary(left), self.dictionary(right))
        return _on_scale(self.codes(left), a), _on_scale(self.codes(right), b)

    def position(self, name: str, value: Any) -> tuple[int, bool]:
        """Return where a literal stands among a column's codes: the first code not below it, and whether that code is
        equal."""
        return position(self.dictionary(name), value)

    def decode(self, rows: Sequence[int] | np.ndarray | None = None, columns: Sequence[str] | None = None) -> pa.Table:
        """Return the values of some rows (all if not given)."""
        names = list(columns) if columns is not None else [c.name for c in self.columns]
        values = {}
        for name in names:
            codes = self.codes(name) if rows is None else self.codes(name)[np.asarray(rows, np.int64)]
            values[name] = pc.take(self.dictionary(name), pa.array(codes, mask=codes < 0))
        return pa.table(values)

    def row_labels(self, rows: Sequence[int] | np.ndarray) -> pa.Array:
        """Return how rows are called: by the columns of ``row_id``, else by their position in the source, from 0."""
        if not self.row_id:
            return pa.array(np.asarray(rows, np.int64))
        return id_array(self.row_id, [column.combine_chunks() for column in self.decode(rows, self.row_id).columns])


def _on_scale(codes: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Return codes as places on a scale: most often one of two columns has all values of both, and its codes are places
    already."""
    if not len(places) or places[-1] == len(places) - 1:  # places ascend
        return codes
    return np.append(places, np.int32(-1)).take(codes, mode="wrap")


@lru_cache(maxsize=1)
def _opened(
    folder: Path,
    rows: int,
    columns: tuple[RelationColumn, ...],
    row_id: tuple[str, ...],
    name: str,  # noqa: ARG001 - a part of the key of the cache
) -> Relation:
    return Relation(folder, rows, columns, row_id=row_id)


def dictionary_file(column: int) -> str:
    return f"dictionary-{column:05d}.arrow"


def write_dictionary(folder: Path, column: int, values: pa.Array) -> None:
    with pa.ipc.new_file(folder / dictionary_file(column), pa.schema([("values", values.type)])) as writer:
        writer.write_batch(pa.record_batch([values], names=["values"]))


def read_dictionary(folder: Path, column: int) -> pa.Array:
    with pa.memory_map(str(located(folder, dictionary_file(column)))) as source:
        return pa.ipc.open_file(source).get_batch(0).column(0)


def describe(name: str, values: pa.Array, codes: np.ndarray) -> RelationColumn:
    """Return the facts of a column."""
    kind = type_class(values.type)
    assert kind is not None
    return RelationColumn(name, kind, values.type, len(values), int(np.count_nonzero(codes < 0)))
