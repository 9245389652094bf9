"""Frames of other libraries: anything with an Arrow C stream, and Spark DataFrames."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from rowlaw.errors import RowlawError
from rowlaw.source.files import memory_splits
from rowlaw.source.source import FileSource, FrameSource, Source
from rowlaw.source.types import checked_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def is_spark(frame: object) -> bool:
    """Whether ``frame`` is a Spark DataFrame, classic or Connect, asked without importing Spark."""
    return any(c.__module__.startswith("pyspark.sql.") and c.__name__ == "DataFrame" for c in type(frame).__mro__)


def frame_source(frame: Any, types: Mapping[str, pa.DataType] | None = None) -> Source:
    """A frame as a source: pyarrow, pandas, Polars, DuckDB relations and results, Spark.

    >>> frame_source(pa.table({"a": [1, 2]}))
    FileSource('Table', 1 columns, 1 splits)
    """
    if is_spark(frame):
        return spark_source(frame, "DataFrame", types)
    name = type(frame).__name__
    return FileSource(name, checked_schema((table := arrow_table(frame)).schema, name), tuple(memory_splits(table)), dict(types or {}))


def arrow_table(frame: Any) -> pa.Table:
    """The frame as an Arrow table, without a copy where the library allows it."""
    if isinstance(frame, pa.Table):
        return frame
    try:
        if type(frame).__module__.split(".")[0] == "pandas" and hasattr(frame, "columns"):
            if not frame.columns.is_unique:
                repeated = frame.columns[frame.columns.duplicated()][0]
                raise RowlawError("DUPLICATE_COLUMN", source="DataFrame", column=str(repeated))
            # the index is not a column of the table; names that are not text become text
            return pa.Table.from_pandas(
                frame.set_axis([str(c) for c in frame.columns], axis=1), preserve_index=False
            ).replace_schema_metadata()
        if hasattr(frame, "__arrow_c_stream__"):
            return pa.RecordBatchReader.from_stream(frame).read_all()
        if hasattr(frame, "fetch_arrow_table"):  # an older DuckDB result
            return frame.fetch_arrow_table()
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise RowlawError("BAD_FILE", path=type(frame).__name__, problem=str(error).split("\n")[0]) from None
    raise RowlawError("NOT_A_TABLE", type=type(frame).__name__)


def spark_source(frame: DataFrame, name: str, types: Mapping[str, pa.DataType] | None = None) -> FrameSource:
    from pyspark.sql.pandas.types import to_arrow_type  # type: ignore[import-untyped, unused-ignore]

    fields = []
    seen: set[str] = set()
    for field in frame.schema.fields:
        if field.name in seen:
            raise RowlawError("DUPLICATE_COLUMN", source=name, column=field.name)
        seen.add(field.name)
        try:
            fields.append(pa.field(field.name, to_arrow_type(field.dataType)))
        except Exception:
            raise RowlawError("UNSUPPORTED_TYPE", source=name, column=field.name, type=field.dataType.simpleString()) from None
    return FrameSource(name, checked_schema(pa.schema(fields), name), frame, dict(types or {}))
