"""Splits of files that carry their own types: Parquet, ORC, JSON lines, Arrow; and of frames in memory."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.json as pajson
import pyarrow.orc as paorc
import pyarrow.parquet as pq

from rowlaw.errors import RowlawError
from rowlaw.source.csv import open_bytes
from rowlaw.source.types import type_class

_CHANGED = re.compile(r"Column\((.*?)\) changed from (\w+) to (\w+) in row (\d+)")
_JSON_TYPES = {
    list: "an array",
    str: "a string",
    int: "a number",
    float: "a number",
    bool: "a boolean",
    type(None): "null",
}
_JSON_WORDS = {word.split()[-1]: word for word in ("an array", "an object", *_JSON_TYPES.values())}

Constants = tuple[tuple[str, Any], ...]  # columns that a folder name gives, as in year=2024/part.parquet


def readable(path: str, error: Exception) -> RowlawError:
    """A failure to read ``path`` as a named error."""
    return RowlawError("BAD_FILE", path=path, problem=str(error).split("\n")[0])


def _alike(path: str, own: pa.Schema, first: pa.Schema | None, first_path: str) -> pa.Schema:
    """The schema of all files, which has to be that of the first: the same names and types in the same order.

    The types of columns that cannot be compared may differ: they are not read.
    """
    if first is not None and (
        own.names != first.names or list(map(_read_type, own.types)) != list(map(_read_type, first.types))
    ):
        raise RowlawError("BAD_FILE", path=path, problem=f"its columns differ from those of {first_path}")
    return first or own


def _read_type(dtype: pa.DataType) -> pa.DataType | None:
    return dtype if type_class(dtype) is not None else None


@dataclass(frozen=True, slots=True)
class ParquetSplit:
    """One row group of a Parquet file."""

    path: str
    row_group: int
    size: int
    text: tuple[str, ...]  # text columns: read as dictionaries, which is how Parquet keeps them
    constants: Constants = ()
    constant_types: tuple[pa.DataType, ...] = ()

    columnar = True

    def read(self, columns: Sequence[str]) -> pa.Table:
        fixed = dict(self.constants)
        wanted = [name for name in columns if name not in fixed]
        # Parquet addresses nested fields by dotted paths, so columns are asked for by position: names may have dots.
        file = pq.ParquetFile(
            self.path, read_dictionary=[name for name in wanted if name in self.text and "." not in name]
        )
        try:
            position = _leaf_positions(file.schema_arrow)
            table = file.reader.read_row_group(
                self.row_group, column_indices=[position[name] for name in wanted], use_threads=False
            )
        except (pa.ArrowException, OSError) as error:
            raise readable(self.path, error) from None
        finally:
            file.close()
        for (name, value), dtype in zip(self.constants, self.constant_types, strict=True):
            if name in columns:
                table = table.append_column(name, pa.repeat(pa.scalar(value, dtype), len(table)))
        return table.select(list(columns))


def _leaf_positions(schema: pa.Schema) -> dict[str, int]:
    """Where the values of each column begin among those that Parquet stores: a nested column is stored as several."""
    positions, position = {}, 0
    for field in schema:
        positions[field.name] = position
        position += _leaves(field.type)
    return positions


def _leaves(dtype: pa.DataType) -> int:
    """The columns of plain values that a type is stored as."""
    if isinstance(dtype, pa.BaseExtensionType):
        return _leaves(dtype.storage_type)
    if pa.types.is_nested(dtype):
        return sum(_leaves(dtype.field(i).type) for i in range(dtype.num_fields))
    return 1


def parquet_splits(paths: Sequence[str], root: str | None) -> tuple[pa.Schema, list[ParquetSplit]]:
    """Schema and splits of Parquet files; ``root`` is the folder whose ``name=value`` subfolders are columns."""
    schema, splits = None, []
    folders = _folder_columns(paths, root)
    for path in paths:
        try:
            meta = pq.read_metadata(path)
            own = meta.schema.to_arrow_schema().remove_metadata()
        except (pa.ArrowException, OSError) as error:
            raise readable(path, error) from None
        constants = folders.get(path, ())
        types = tuple(pa.int64() if isinstance(value, int) else pa.large_string() for _, value in constants)
        whole = own
        for (name, _), dtype in zip(constants, types, strict=True):
            whole = whole.append(pa.field(name, dtype))
        schema = _alike(path, whole, schema, paths[0])
        text = tuple(f.name for f in own if pa.types.is_string(f.type) or pa.types.is_large_string(f.type))
        for group in range(meta.num_row_groups):
            size = meta.row_group(group).total_byte_size
            splits.append(ParquetSplit(path, group, size, text, constants, types))
    assert schema is not None
    return schema, splits


def _folder_columns(paths: Sequence[str], root: str | None) -> dict[str, Constants]:
    if root is None:
        return {}
    by_path: dict[str, dict[str, Any]] = {}
    for path in paths:
        parts = Path(path).parent.relative_to(root).parts
        pairs = (part.partition("=") for part in parts if "=" in part)
        by_path[path] = {unquote(name): unquote(value) for name, _, value in pairs}
    names = {name for values in by_path.values() for name in values}
    numbers = {
        n for n in names if all(str(v.get(n, "")).isdecimal() and str(int(v[n])) == v[n] for v in by_path.values())
    }
    return {
        path: tuple((name, int(value) if name in numbers else value) for name, value in values.items())
        for path, values in by_path.items()
    }


@dataclass(frozen=True, slots=True)
class OrcSplit:
    """One stripe of an ORC file."""

    path: str
    stripe: int
    size: int

    columnar = True

    def read(self, columns: Sequence[str]) -> pa.Table:
        try:
            file = paorc.ORCFile(self.path)
            position = {name: i for i, name in enumerate(file.schema.names)}
            batch = file.read_stripe(self.stripe, columns=[position[name] for name in columns])
        except (pa.ArrowException, OSError) as error:
            raise readable(self.path, error) from None
        return pa.Table.from_batches([batch]).select(list(columns))


def orc_splits(paths: Sequence[str]) -> tuple[pa.Schema, list[OrcSplit]]:
    schema, splits = None, []
    for path in paths:
        try:
            file = paorc.ORCFile(path)
        except (pa.ArrowException, OSError) as error:
            raise readable(path, error) from None
        schema = _alike(path, file.schema, schema, paths[0])
        size = Path(path).stat().st_size // max(1, file.nstripes)
        splits += [OrcSplit(path, stripe, size) for stripe in range(file.nstripes)]
    assert schema is not None
    return schema.remove_metadata(), splits


@dataclass(frozen=True, slots=True)
class JsonSplit:
    """A file of JSON lines, or of one array of objects."""

    path: str
    schema: pa.Schema
    size: int

    columnar = False

    def read(self, columns: Sequence[str]) -> pa.Table:
        return read_json(self.path, pa.schema([self.schema.field(name) for name in columns])).select(list(columns))


def read_json(path: str, schema: pa.Schema | None = None) -> pa.Table:
    """The table in a file of JSON lines; numbers and texts get the types Arrow finds, all files those of the first.

    With a schema, nothing else is read.
    """
    unexpected = "infer" if schema is None else "ignore"
    options = pajson.ParseOptions(explicit_schema=schema, newlines_in_values=True, unexpected_field_behavior=unexpected)
    try:
        with open_bytes(path) as stream:
            data = stream.read()
        if not data.strip():
            raise RowlawError("EMPTY_FILE", path=path)
        if data.lstrip()[:1] == b"[":
            data = _json_lines(path, data)
        # one block, or a type seen late in the file would contradict an earlier block
        return pajson.read_json(io.BytesIO(data), pajson.ReadOptions(block_size=max(len(data), 1) + 1), options)
    except (pa.ArrowException, OSError) as error:
        raise RowlawError("BAD_FILE", path=path, problem=_json_problem(str(error))) from None


def _json_problem(text: str) -> str:
    """What Arrow says of values that do not fit together, in the words of a table.

    >>> _json_problem("JSON parse error: Column(/a/b) changed from number to string in row 1")
    "row 2: column 'a.b' is a string, and a number in the rows above; give it one type"
    """
    changed = _CHANGED.search(text)
    if changed is None:
        return text.split("\n", maxsplit=1)[0]
    column = f"column {changed[1].strip('/').replace('/', '.')!r}" if changed[1] else "the row"
    one, other = (_JSON_WORDS.get(word, f"of type {word}") for word in (changed[3], changed[2]))
    return f"row {int(changed[4]) + 1:,}: {column} is {one}, and {other} in the rows above; give it one type"


def _json_lines(path: str, data: bytes) -> bytes:
    """An array of objects as lines."""
    try:
        objects = json.loads(data)
    except ValueError as error:
        raise RowlawError("BAD_FILE", path=path, problem=f"not valid JSON: {error}") from None
    if not objects:
        raise RowlawError(
            "BAD_FILE", path=path, problem="the array is empty; a table needs one object at least, for its columns"
        )
    other = next((i for i, item in enumerate(objects) if not isinstance(item, dict)), None)
    if other is not None:
        kind = _JSON_TYPES[type(objects[other])]
        problem = f"a table needs an array of objects, and element {other + 1:,} is {kind}"
        raise RowlawError("BAD_FILE", path=path, problem=problem)
    return "\n".join(json.dumps(item) for item in objects).encode()


def json_splits(paths: Sequence[str]) -> tuple[pa.Schema, list[JsonSplit]]:
    schema = read_json(paths[0]).schema
    return schema, [JsonSplit(path, schema, Path(path).stat().st_size) for path in paths]


@dataclass(frozen=True, slots=True)
class MemorySplit:
    """Some rows of a frame in the driver's memory; `spilled` to a file before it goes to workers."""

    table: pa.Table
    columnar = True

    @property
    def size(self) -> int:
        return int(self.table.nbytes)

    def read(self, columns: Sequence[str]) -> pa.Table:
        return self.table.select(list(columns))

    def spilled(self, path: str) -> ArrowSplit:
        with pa.ipc.new_file(path, self.table.schema) as writer:
            writer.write_table(self.table)
        return ArrowSplit(path, self.size)


@dataclass(frozen=True, slots=True)
class ArrowSplit:
    """An Arrow file, memory-mapped."""

    path: str
    size: int
    columnar = True

    def read(self, columns: Sequence[str]) -> pa.Table:
        try:
            with pa.memory_map(self.path) as source:
                return pa.ipc.open_file(source).read_all().select(list(columns))
        except (pa.ArrowException, OSError) as error:
            raise readable(self.path, error) from None


def memory_splits(table: pa.Table, rows: int = 1_000_000) -> list[MemorySplit]:
    return [MemorySplit(table.slice(start, rows)) for start in range(0, max(1, len(table)), rows)]


def arrow_splits(paths: Sequence[str]) -> tuple[pa.Schema, list[ArrowSplit]]:
    schema, splits = None, []
    for path in paths:
        try:
            with pa.memory_map(path) as source:
                own = pa.ipc.open_file(source).schema
        except (pa.ArrowException, OSError) as error:
            raise readable(path, error) from None
        schema = _alike(path, own, schema, paths[0])
        splits.append(ArrowSplit(path, Path(path).stat().st_size))
    assert schema is not None
    return schema.remove_metadata(), splits
