"""The two tables of an incremental check with the same columns in the same types: :func:`aligned`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from rowlaw.engine.spark.read import ReadSplits
from rowlaw.errors import RowlawError, nearest
from rowlaw.relation.encode import placed
from rowlaw.source.infer import common_type, possible_types
from rowlaw.source.source import FileSource, Source, Split
from rowlaw.source.types import storage_type, type_class
from rowlaw.spark.jobs import DriverThreads


def aligned(new: Source, old: Source, columns: Sequence[str]) -> tuple[Source, Source]:
    """Both sources with some columns only, whose types are known and of the same class; a column that does not fit is
    an error.

    Of text files, values decide: together with those of the other file, or the type is that of the other table.
    """
    for name in columns:
        if name not in old.columns:
            raise RowlawError("AGAINST_COLUMN", source=old.name, column=name, hint=nearest(name, old.columns))
    types: tuple[dict[str, pa.DataType], dict[str, pa.DataType]] = ({}, {})
    open_in_both = [name for name in columns if known_type(new, name) is None and known_type(old, name) is None]
    together = _inferred(new, old, open_in_both) if open_in_both else {}
    for name in columns:
        own, other = known_type(new, name), known_type(old, name)
        if own is not None and other is not None and type_class(own) != type_class(other):
            raise _misfit(new, name, own, other)
        wanted = together.get(name)
        types[0][name] = own or other or wanted
        types[1][name] = other or own or wanted
    return _narrowed(new, columns, types[0]), _narrowed(old, columns, types[1])


def known_type(source: Source, name: str) -> pa.DataType | None:
    """The type of a column; None where values have yet to decide it."""
    if name in source.types:
        return source.types[name]
    inferred = isinstance(source, FileSource) and source.inferred
    return None if inferred else source.schema.field(name).type


def common_schema(old: Source) -> pa.Schema:
    """The columns of the old table in the types that both tables are compared in."""
    return pa.schema([pa.field(f.name, _kept(known_type(old, f.name))) for f in old.schema])


def fitted(table: pa.Table, schema: pa.Schema, source: Source) -> pa.Table:
    """Rows with the types of a schema; a value that would change is an error."""
    columns = []
    for field in schema:
        column = table.column(field.name)
        try:
            columns.append(column.cast(field.type))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise _misfit(source, field.name, column.type, field.type) from None
    return plain_floats(pa.table(columns, schema=schema))


def read_split(source: FileSource, split: Split, schema: pa.Schema) -> pa.Table:
    """The rows of a split with the types of a schema, and plain floats."""
    reading = ReadSplits((split,), schema, dict(source.types), source.inferred)
    table = split.read(schema.names)
    columns = []
    for i, field in enumerate(schema):
        try:
            columns.append(reading.typed(table.column(i), field))
        except RowlawError as error:
            raise placed(RowlawError(error.condition, **{**error.parameters, "column": field.name}), source) from None
    return plain_floats(pa.table(columns, schema=schema))


def plain_floats(table: pa.Table) -> pa.Table:
    """The table with null for NaN and 0.0 for -0.0, as rules compare them."""
    for i, field in enumerate(table.schema):
        if pa.types.is_floating(field.type):
            column = table.column(i)
            plain = pc.if_else(pc.is_nan(column), pa.scalar(None, field.type), pc.add(column, 0.0))
            table = table.set_column(i, field, plain)
    return table


def _kept(dtype: pa.DataType | None) -> pa.DataType:
    assert dtype is not None
    kept = storage_type(dtype)
    return pa.string() if pa.types.is_large_string(kept) else kept


def _narrowed(source: Source, columns: Sequence[str], types: dict[str, pa.DataType]) -> Source:
    schema = pa.schema([source.schema.field(name) for name in columns])
    asked = {name: dtype for name, dtype in types.items() if name in source.types or known_type(source, name) is None}
    return replace(source, schema=schema, types=asked)


def _inferred(new: Source, old: Source, columns: Sequence[str]) -> dict[str, pa.DataType]:
    """The types of columns of two text files: those that all values of both may have."""
    assert isinstance(new, FileSource)
    assert isinstance(old, FileSource)

    def types_of(split: Split) -> list[dict[str, pa.DataType] | None]:
        table = split.read(columns)
        return [
            possible_types(pc.unique(table.column(i).cast(pa.large_string()).combine_chunks()))
            for i in range(len(columns))
        ]

    parts = DriverThreads().map(types_of, [*new.splits, *old.splits], "types of both tables")
    return {name: common_type([part[i] for part in parts]) for i, name in enumerate(columns)}


def _misfit(source: Source, column: str, found: pa.DataType, expected: pa.DataType) -> RowlawError:
    return RowlawError("AGAINST_TYPE", source=source.name, column=column, found=str(found), expected=str(expected))
