"""Frames of other libraries: anything with an Arrow C stream, and Spark DataFrames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from rowlaw.errors import RowlawError
from rowlaw.source.files import memory_splits
from rowlaw.source.source import FileSource, FrameSource, Source
from rowlaw.source.types import checked_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructField


def is_spark(frame: object) -> bool:
    """Whether ``frame`` is a Spark DataFrame, classic or Connect, asked without importing Spark."""
    return any(c.__module__.startswith("pyspark.sql.") and c.__name__ == "DataFrame" for c in type(frame).__mro__)


def frame_source(frame: Any) -> Source:
    """A frame as a source: pyarrow, pandas, Polars, DuckDB relations and results, Spark.

    >>> frame_source(pa.table({"a": [1, 2]}))
    FileSource('Table', 1 columns, 1 splits)
    """
    if is_spark(frame):
        return spark_source(frame, "DataFrame")
    name, table = type(frame).__name__, arrow_table(frame)
    return FileSource(name, checked_schema(table.schema, name), tuple(memory_splits(table)))


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


# Spark's types by class name, so that they can be looked up without importing Spark (its own function for this differs between versions).
_SPARK_TYPES = {
    "BooleanType": pa.bool_(),
    "ByteType": pa.int8(),
    "ShortType": pa.int16(),
    "IntegerType": pa.int32(),
    "LongType": pa.int64(),
    "FloatType": pa.float32(),
    "DoubleType": pa.float64(),
    "StringType": pa.string(),
    "CharType": pa.string(),
    "VarcharType": pa.string(),
    "DateType": pa.date32(),
    "TimestampType": pa.timestamp("us", "UTC"),
    "TimestampNTZType": pa.timestamp("us"),
    "NullType": pa.null(),
}


def spark_source(frame: DataFrame, name: str) -> FrameSource:
    """A Spark DataFrame as a source. Nothing is read yet."""
    schema = pa.schema([pa.field(field.name, _arrow_type(field, name)) for field in frame.schema.fields])
    return FrameSource(name, checked_schema(schema, name), frame)


def _arrow_type(field: StructField, source: str) -> pa.DataType:
    kind = type(field.dataType).__name__
    if kind == "DecimalType":
        return pa.decimal128(field.dataType.precision, field.dataType.scale)  # type: ignore[attr-defined]
    if kind not in _SPARK_TYPES:
        raise RowlawError("UNSUPPORTED_TYPE", source=source, column=field.name, type=field.dataType.simpleString())
    return _SPARK_TYPES[kind]
