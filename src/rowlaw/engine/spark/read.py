"""Sources as Spark DataFrames: files are read by tasks, split by split, so that no process holds them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from rowlaw.source.files import MemorySplit
from rowlaw.source.infer import as_type, common_type, converted, possible_types, typed
from rowlaw.source.source import FileSource, FrameSource, Source, Split
from rowlaw.source.types import storage_type
from rowlaw.spark.jobs import SparkTasks, frame_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_ROWS_PER_BATCH = 1 << 16


def spark_frame(source: Source, session: SparkSession) -> tuple[DataFrame, pa.Schema]:
    """A source as a frame, with the columns and types that it has. The rows are in the order of the source."""
    from pyspark.sql.pandas.types import from_arrow_schema

    if isinstance(source, FrameSource):
        return (source.frame, source.schema) if not source.types else _converted(source)
    if all(isinstance(split, MemorySplit) for split in source.splits) and not source.types:
        table = (
            pa.concat_tables([split.read(source.columns) for split in source.splits])
            if source.splits
            else source.schema.empty_table()
        )
        schema = _stored(source.schema)
        return frame_of(session, table.cast(schema), from_arrow_schema(schema)), schema
    schema = _schema_of(source, session)
    tasks = max(1, len(source.splits))
    reading = ReadSplits(tuple(source.splits), schema, dict(source.types), source.inferred)
    return session.range(0, tasks, 1, tasks).mapInArrow(reading, from_arrow_schema(_for_spark(schema))), schema


def _stored(schema: pa.Schema) -> pa.Schema:
    return _for_spark(pa.schema([pa.field(f.name, storage_type(f.type)) for f in schema]))


def _for_spark(schema: pa.Schema) -> pa.Schema:
    """Spark takes texts with 32-bit offsets."""
    return pa.schema([pa.field(f.name, pa.string() if pa.types.is_large_string(f.type) else f.type) for f in schema])


def _schema_of(source: FileSource, session: SparkSession) -> pa.Schema:
    """The types of the columns; of text files one job finds them out, from all values."""
    if not source.inferred:
        return _stored(pa.schema([pa.field(f.name, source.types.get(f.name, f.type)) for f in source.schema]))
    columns = [name for name in source.columns if name not in source.types]

    def types_of(split: Split) -> list[dict[str, pa.DataType] | None]:
        table = split.read(columns)
        return [possible_types(pa.compute.unique(table.column(i).cast(pa.large_string()))) for i in range(len(columns))]

    parts = SparkTasks(session).map(types_of, list(source.splits), f"types of {source.name}") if columns else []
    types = {name: common_type([part[i] for part in parts]) for i, name in enumerate(columns)}
    return _for_spark(pa.schema([pa.field(name, source.types.get(name) or types[name]) for name in source.columns]))


@dataclass(frozen=True)
class ReadSplits:
    """The work of a task: reads its splits and gives their rows, with the types of the schema."""

    splits: tuple[Split, ...]
    schema: pa.Schema
    wanted: dict[str, pa.DataType]
    inferred: bool

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                if number >= len(self.splits):
                    continue
                table = self.splits[number].read(self.schema.names)
                columns = [self.typed(table.column(i), field) for i, field in enumerate(self.schema)]
                yield from pa.table(columns, schema=self.schema).to_batches(_ROWS_PER_BATCH)

    def typed(self, column: pa.ChunkedArray, field: pa.Field) -> pa.ChunkedArray:
        """A column of a split in the type of its field."""
        chunks = [
            _typed_chunk(chunk, field.type, self.wanted.get(field.name), self.inferred) for chunk in column.chunks
        ]
        return pa.chunked_array([chunk.cast(field.type) for chunk in chunks], field.type)


def _typed_chunk(chunk: pa.Array, dtype: pa.DataType, wanted: pa.DataType | None, inferred: bool) -> pa.Array:
    plain = chunk.dictionary_decode() if pa.types.is_dictionary(chunk.type) else chunk
    if wanted is not None:
        return typed(plain, wanted) if pa.types.is_large_string(storage_type(plain.type)) else converted(plain, wanted)
    return as_type(plain, pa.large_string() if pa.types.is_string(dtype) else dtype) if inferred else plain


@dataclass(frozen=True)
class Convert:
    """The work of a task: gives columns of a frame the types that the user wants."""

    schema: pa.Schema
    wanted: dict[str, pa.DataType]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            columns = [
                _typed_chunk(batch.column(i), f.type, self.wanted.get(f.name), inferred=False).cast(f.type)
                for i, f in enumerate(self.schema)
            ]
            yield pa.record_batch(columns, schema=self.schema)


def _converted(source: FrameSource) -> tuple[DataFrame, pa.Schema]:
    from pyspark.sql.pandas.types import from_arrow_schema

    schema = _for_spark(pa.schema([pa.field(f.name, source.types.get(f.name, f.type)) for f in source.schema]))
    places = {name: i for i, name in reversed(list(enumerate(source.frame.columns)))}
    by_position = source.frame.toDF(*(f"c{i}" for i in range(len(source.frame.columns))))
    chosen = by_position.select(*(f"c{places[name]}" for name in schema.names))
    return chosen.mapInArrow(Convert(schema, dict(source.types)), from_arrow_schema(schema)), schema
