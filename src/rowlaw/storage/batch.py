"""A batch of rows, read with the columns and types of the table it changes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from rowlaw.errors import RowlawError, nearest
from rowlaw.kernels.sort import sorted_distinct
from rowlaw.relation.columns import NULL, local_column, merge
from rowlaw.relation.encode import placed
from rowlaw.source import FileSource, Source
from rowlaw.source.coerce import numbered
from rowlaw.source.read import read_source
from rowlaw.source.types import storage_type, type_class
from rowlaw.spark.jobs import DriverThreads


@dataclass(frozen=True, slots=True, eq=False)
class BatchColumn:
    """``values`` are distinct and in order; ``codes[i]`` is the place of row i's value among them, -1 for null."""

    values: pa.Array
    codes: np.ndarray


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Some rows in the types of a table."""

    source: str
    rows: int
    columns: Mapping[str, BatchColumn]

    def numbers(self, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """For each row the number of its combination of values in some columns, and the first row of each
        combination."""
        numbers, first = np.zeros(self.rows, np.int64), np.zeros(min(1, self.rows), np.int64)
        for name in names:
            column = self.columns[name]
            _, first, numbers = np.unique(
                numbers * (len(column.values) + 1) + column.codes + 1, return_index=True, return_inverse=True
            )
        return numbers, first

    def part(self, rows: np.ndarray) -> Batch:
        """Some of its rows; columns keep only the values that these rows have."""
        columns = {}
        for name, column in self.columns.items():
            codes = column.codes[rows]
            used = sorted_distinct(codes[codes != NULL])
            places = np.full(len(column.values) + 1, NULL, np.int32)
            places[used] = np.arange(len(used), dtype=np.int32)
            columns[name] = BatchColumn(column.values.take(used), places[codes])
        return replace(self, rows=len(rows), columns=columns)


def read_batch(
    given: Any,
    types: Mapping[str, pa.DataType],
    *,
    columns: Sequence[str] | None = None,
    others: bool = False,
    skipped: Collection[str] = (),
    **reading: Any,
) -> Batch:
    """The rows of a path or a frame, for a table whose columns have these storage types.

    Parameters
    ----------
    given
        What :func:`rowlaw.open_source` takes.
    columns
        The columns that are needed; all of the table's if not given.
    others
        Whether the batch may have columns that the table does not have.
    skipped
        Columns that the batch may have in any case: the table had them, and they could not be compared.

    >>> batch = read_batch(pa.table({"a": [3, 1, 3]}), {"a": pa.int64()})
    >>> batch.columns["a"].values.to_pylist(), batch.columns["a"].codes.tolist()
    ([1, 3], [1, 0, 1])
    >>> read_batch(pa.table({"b": [1]}), {"a": pa.int64()})
    Traceback (most recent call last):
    rowlaw.errors.RowlawError: BATCH_COLUMNS: Table: no column 'a'; nothing was changed
    """
    source = read_source(given, **reading)
    names = list(columns) if columns is not None else list(types)
    _check_columns(source, names, {*types, *skipped}, others)
    source = replace(source, schema=pa.schema([source.schema.field(name) for name in names]))
    inferred = isinstance(source, FileSource) and source.inferred
    if inferred:
        source = replace(source, types={name: types[name] for name in names})
    else:
        _check_types(source, types)
    tables = _tables(source)
    rows = sum(len(table) for table in tables)
    by_name = {
        name: _column(source, name, [table.column(i) for table in tables], types[name], inferred)
        for i, name in enumerate(names)
    }
    return Batch(source.name, rows, by_name)


def _check_columns(source: Source, names: Sequence[str], expected: Collection[str], others: bool) -> None:
    missing = [name for name in names if name not in source.columns]
    for name in missing:
        if name in source.skipped:
            raise source.skipped[name].at()
    if missing:
        problem = f"no column {missing[0]!r}{nearest(missing[0], source.columns)}" + (
            f" (and {len(missing) - 1} more)" if missing[1:] else ""
        )
        raise RowlawError("BATCH_COLUMNS", source=source.name, problem=problem)
    unknown = [name for name in (*source.columns, *source.skipped) if name not in expected]
    if unknown and not others:
        problem = f"the table has no column {unknown[0]!r}{nearest(unknown[0], expected)}"
        raise RowlawError("BATCH_COLUMNS", source=source.name, problem=problem)


def _check_types(source: Source, types: Mapping[str, pa.DataType]) -> None:
    for field in source.schema:
        given_type, expected = type_class(field.type), type_class(types[field.name])
        if given_type != expected and not pa.types.is_null(field.type):
            raise RowlawError(
                "BATCH_TYPE",
                source=source.name,
                column=field.name,
                found=str(field.type),
                expected=str(types[field.name]),
            )


def _tables(source: Source) -> list[pa.Table]:
    names = list(source.columns)
    if isinstance(source, FileSource):
        return DriverThreads().map(lambda split: split.read(names), source.splits, f"read {source.name}")
    # a batch is small: the driver takes it whole
    return [numbered(source.frame, names).toArrow()]


def _column(
    source: Source, name: str, parts: Sequence[pa.ChunkedArray], wanted: pa.DataType, inferred: bool
) -> BatchColumn:
    local = [local_column(part) for part in parts] or [
        local_column(pa.chunked_array([], storage_type(source.schema.field(name).type)))
    ]
    try:
        merged = merge([part.values for part in local], wanted if inferred else None, inferred, zones=False)
    except RowlawError as error:
        raise placed(RowlawError(error.condition, **{**error.parameters, "column": name}), source) from None
    codes = np.concatenate([column_map[part.codes] for column_map, part in zip(merged.maps, local, strict=True)])
    return BatchColumn(_converted(source, name, merged.values, wanted), codes.astype(np.int32))


def _converted(source: Source, name: str, values: pa.Array, wanted: pa.DataType) -> pa.Array:
    """Values in the type of the table, which must lose nothing: then they are as distinct, and in the same order, as
    before."""
    if values.type == wanted:
        return values
    if pa.types.is_floating(wanted) and pa.types.is_decimal(values.type):
        raise RowlawError("BATCH_TYPE", source=source.name, column=name, found=str(values.type), expected=str(wanted))
    try:
        return values.cast(wanted)
    except pa.ArrowInvalid:
        for value in values:  # to name the culprit
            try:
                value.cast(wanted)
            except pa.ArrowInvalid:
                problem = f"the value {value.as_py()} ({values.type}) has no exact place"
                raise RowlawError(
                    "BATCH_TYPE", source=source.name, column=name, found=problem, expected=str(wanted)
                ) from None
        raise
