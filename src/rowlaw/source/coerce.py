"""Frames of other libraries: anything with an Arrow C stream, and Spark DataFrames."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from rowlaw.errors import RowlawError
from rowlaw.source.files import memory_splits
from rowlaw.source.skipped import MIXED, Field, arrow_fields, comparable
from rowlaw.source.source import FileSource, FrameSource, Source

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType


def is_spark(frame: object) -> bool:
    """Whether ``frame`` is a Spark DataFrame, classic or Connect, asked without importing Spark."""
    return any(c.__module__.startswith("pyspark.sql.") and c.__name__ == "DataFrame" for c in type(frame).__mro__)


def frame_source(frame: Any) -> Source:
    """A frame as a source: pyarrow, pandas, Polars, DuckDB relations and results, Spark.

    >>> frame_source(pa.table({"a": [1, 2]}))
    FileSource('Table', 1 column, 1 split)
    """
    if is_spark(frame):
        return spark_source(frame, "DataFrame")
    name = type(frame).__name__
    if type(frame).__module__.split(".")[0] == "pandas" and hasattr(frame, "columns"):
        table = _pandas_table(frame)
        if table is None:
            pairs = list(_pandas_columns(frame))
            return memory_source(name, [field for field, _ in pairs], [column for _, column in pairs])
    else:
        if name == "LazyFrame" and hasattr(frame, "collect"):  # of Polars: a plan, not yet a frame
            frame = frame.collect()
        table = arrow_table(frame)
    return memory_source(name, arrow_fields(table.schema), table.columns)


def memory_source(name: str, fields: Sequence[Field], columns: Sequence[pa.ChunkedArray | None]) -> FileSource:
    """Columns in memory as a source; those that cannot be compared are left out."""
    schema, skipped = comparable(fields, name)
    kept = {field.name: column for field, column in zip(fields, columns, strict=True) if field.name not in skipped}
    return FileSource(name, schema, tuple(memory_splits(pa.table(kept))), skipped=skipped)


_NOT_CONVERTED = (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError)


def _pandas_table(frame: Any) -> pa.Table | None:
    """A pandas frame in Arrow, if all of it can be: names that are not text become text, and the index is no column."""
    names = [str(name) for name in frame.columns]
    try:
        return (
            pa.Table.from_pandas(frame.set_axis(names, axis=1), preserve_index=False)
            if len(set(names)) == len(names)
            else None
        )
    except _NOT_CONVERTED:
        return None


def _pandas_columns(frame: Any) -> Iterator[tuple[Field, pa.ChunkedArray | None]]:
    """The columns of a pandas frame one by one, by position: names may repeat, and a column may have values that Arrow
    has no type for."""
    for i, name in enumerate(frame.columns):
        table = _pandas_table(frame.iloc[:, [i]])
        if table is None:
            yield Field(str(name), None, MIXED + _kinds(frame.iloc[:, i])), None
        else:
            yield arrow_fields(table.schema)[0], table.column(0)


def _kinds(values: Any) -> str:
    """The types of a column's values, those of the first rows."""
    names = dict.fromkeys(
        type(v).__name__ for v in values.head(10_000) if v is not None and not (isinstance(v, float) and math.isnan(v))
    )
    return ", ".join(list(names)[:4])


def arrow_table(frame: Any) -> pa.Table:
    """The frame as an Arrow table, without a copy where the library allows it."""
    if isinstance(frame, pa.Table):
        return frame
    try:
        if hasattr(frame, "__arrow_c_stream__"):
            return pa.RecordBatchReader.from_stream(frame).read_all()
        if hasattr(frame, "fetch_arrow_table"):  # an older DuckDB result
            return frame.fetch_arrow_table()
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise RowlawError("NOT_A_TABLE", type=f"this {type(frame).__name__} ({str(error).splitlines()[0]})") from None
    raise RowlawError("NOT_A_TABLE", type=type(frame).__name__)


# Spark's types by class name, so that they can be looked up without importing Spark (its own function for this differs
# between versions).
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
    fields = [
        Field(field.name, _arrow_type(field.dataType), field.dataType.simpleString()) for field in frame.schema.fields
    ]
    schema, skipped = comparable(fields, name)
    return FrameSource(name, schema, frame, skipped=skipped)


def _arrow_type(dtype: DataType) -> pa.DataType | None:
    kind = type(dtype).__name__
    if kind == "DecimalType":
        return pa.decimal128(dtype.precision, dtype.scale)  # type: ignore[attr-defined]
    return _SPARK_TYPES.get(kind)


def numbered(frame: DataFrame, names: Sequence[str]) -> DataFrame:
    """Some columns of a Spark frame, renamed to ``c0, c1, ...`` in the order of ``names``.

    They are chosen by position: names may have dots and backticks, and others may repeat or differ only in case.
    """
    columns = frame.columns
    everything = frame.toDF(*(f"c{i}" for i in range(len(columns))))
    if list(names) == list(columns):
        return everything
    return everything.select(*(f"c{columns.index(name)}" for name in names)).toDF(*(f"c{i}" for i in range(len(names))))
