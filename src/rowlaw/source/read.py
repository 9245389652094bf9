"""Where a table enters: a path, a table name, a JDBC address or a frame becomes a :class:`Source`."""

from __future__ import annotations

import glob
import importlib
import importlib.util
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from rowlaw.errors import RowlawError, nearest, no_column
from rowlaw.source import csv, files
from rowlaw.source.coerce import frame_source, memory_source, spark_source
from rowlaw.source.hints import Hint, hints, warn_hints
from rowlaw.source.remote import storage_error
from rowlaw.source.skipped import Field, arrow_fields, comparable, warn_skipped
from rowlaw.source.source import FileSource, FrameSource, Source, Split
from rowlaw.source.spelling import SpelledSplit, Spelling, spelling
from rowlaw.source.standard_input import STANDARD_INPUT, copied
from rowlaw.source.types import named_type

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FORMATS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".tab": "csv",
    ".txt": "csv",
    ".data": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".orc": "orc",
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
    ".arrow": "arrow",
    ".feather": "arrow",
}
# parameters of how a table is read
READING = ("format", "delimiter", "quote", "header", "encoding", "null_values", "options")
_SPREADSHEETS = (".xlsx", ".xlsm", ".xls", ".ods")
_TABLE_NAME = re.compile(r"^[^\s./\\:*?]+(\.[^\s./\\:*?]+){0,2}$")


def open_source(
    table: Any,
    *,
    types: Mapping[str, str] | None = None,
    columns: Sequence[str] | None = None,
    format: str | None = None,
    delimiter: str | None = None,
    quote: str | None = None,
    header: bool | None = None,
    encoding: str | None = None,
    null_values: Sequence[str] = (),
    options: Mapping[str, str] | None = None,
    session: SparkSession | None = None,
) -> Source:
    """The table as a source that :func:`rowlaw.relation.encode` can read.

    Parameters
    ----------
    table
        A path (file, folder, glob; CSV, TSV, Parquet, JSON, ORC, Arrow, Delta, Excel; compressed or not), ``"-"``
        (standard input), a remote address (``s3a://...``, read by Spark), a catalog table (``catalog.schema.table``), a
        ``jdbc:`` address (with ``options={"dbtable": ...}``), a Spark DataFrame, or anything with an Arrow C stream.
    types
        Types of columns by name, where the inferred ones will not do: ``{"zip": "string"}``. ``"decimal_comma"`` reads
        ``1.234,56``, ``"date:%d.%m.%Y"`` and ``"timestamp:%d.%m.%Y %H:%M"`` read dates of that form.
    columns
        The columns to read. If not given, all that can be compared: the others (arrays, structs, maps, binary values,
        times of day, durations, intervals, and names that occur more than once) are skipped with a
        :class:`rowlaw.RowlawWarning`.
    format, delimiter, quote, header, encoding
        What a file looks like, where it should not be detected.
    null_values
        Texts of a CSV file that count as null in every column. Empty fields always do; so do ``NA``, ``null`` and the
        like (``rowlaw.source.infer.NULL_SPELLINGS``) in columns of other types than text. In text they stay: NA may be
        Namibia.
    options
        Handed to Spark's reader for remote and JDBC sources.
    """
    given: dict[str, Any] = {
        "format": format,
        "delimiter": delimiter,
        "quote": quote,
        "header": header,
        "encoding": encoding,
    }
    given["null_values"] = null_values
    source = read_source(table, types=types, columns=columns, options=options, session=session, **given)
    if columns is None:
        warn_skipped(source.name, source.skipped)
    if isinstance(source, FileSource):
        warn_hints(
            source.name,
            [hint for hint in source.hints if hint.column in source.columns and hint.column not in source.types],
        )
    return source


def read_source(
    table: Any,
    *,
    types: Mapping[str, str] | None = None,
    columns: Sequence[str] | None = None,
    format: str | None = None,
    delimiter: str | None = None,
    quote: str | None = None,
    header: bool | None = None,
    encoding: str | None = None,
    null_values: Sequence[str] = (),
    options: Mapping[str, str] | None = None,
    session: SparkSession | None = None,
) -> Source:
    """The same without a warning: for batches of a table whose user was warned when the table was first read."""
    if isinstance(table, (str, os.PathLike)):
        given: dict[str, Any] = {"delimiter": delimiter, "quote": quote, "header": header, "encoding": encoding}
        given["null_values"] = tuple([null_values] if isinstance(null_values, str) else null_values)
        source = _open_path(os.fspath(table), format, given, dict(options or {}), session)
    else:
        source = frame_source(table)
    return _narrowed(source, types or {}, columns)


def _narrowed(source: Source, types: Mapping[str, str], columns: Sequence[str] | None) -> Source:
    """The source with the columns and types the user asked for."""
    if isinstance(columns, str):
        raise RowlawError(
            "BAD_OPTION", option="columns", value=columns, problem=f"give a list of names, such as [{columns!r}]"
        )
    for name in (*types, *(columns or ())):
        if name not in source.columns:
            raise no_column(name, source.columns, source.skipped)
    spelled = {name: how for name, text in types.items() if (how := spelling(name, text)) is not None}
    wanted = {name: spelled[name].type if name in spelled else named_type(name, text) for name, text in types.items()}
    if spelled:
        source = _spelled(source, spelled)
    schema = source.schema
    if columns is not None:
        if not columns:
            raise RowlawError("NO_COLUMNS", source=source.name)
        schema = pa.schema([schema.field(name) for name in dict.fromkeys(columns)])
    return replace(source, schema=schema, types=wanted)


def _spelled(source: Source, spelled: Mapping[str, Spelling]) -> Source:
    """The source with columns that are written in another way."""
    if isinstance(source, FrameSource):
        name = next(iter(spelled))
        problem = (
            "this is for files and frames in memory; in Spark, convert the column first, for example with "
            "to_date(c, 'dd.MM.yyyy')"
        )
        raise RowlawError("BAD_OPTION", option="types", value=f"{name}={spelled[name].words}", problem=problem)
    splits = [SpelledSplit(split, dict(spelled)) for split in source.splits]
    if source.in_memory:
        whole = pa.concat_tables([split.read(source.columns) for split in splits])
        schema = pa.schema([pa.field(name, whole.schema.field(i).type) for i, name in enumerate(source.columns)])
        return replace(source, schema=schema, splits=tuple(files.memory_splits(whole)))
    return replace(source, splits=tuple(splits))


def _open_path(
    path: str, format: str | None, given: dict[str, Any], options: dict[str, str], session: SparkSession | None
) -> Source:
    if path == STANDARD_INPUT:
        copy, guessed = copied()
        return _open_files("standard input", [copy], None, format or guessed, given)
    if path.startswith("jdbc:"):
        return _by_spark(path, "jdbc", {"url": path, **options}, session)
    scheme = re.match(r"^([a-zA-Z][a-zA-Z0-9+.-]+):/", path)
    if scheme and scheme.group(1) != "file":
        return _by_spark(path, format or _format(path), {"path": path, **options}, session)
    local = path.removeprefix("file://") if scheme else path
    if Path(local, "_delta_log").is_dir() or format == "delta":
        return _open_delta(local, session)
    paths, root = _files(local)
    if not paths:
        return _catalog_table(path, session)
    if format is None and Path(paths[0]).suffix.casefold() in _SPREADSHEETS:
        return _open_spreadsheet(paths[0])
    return _open_files(local, paths, root, format or _format(paths[0]), given)


def _files(path: str) -> tuple[list[str], str | None]:
    """The files a path stands for, in a stable order, and the folder they were found in."""
    if os.path.isdir(path):
        files = [str(p) for p in Path(path).rglob("*") if p.is_file() and not is_hidden(p.relative_to(path).parts)]
        if not files:
            raise RowlawError("BAD_FILE", path=path, problem="the folder has no data files")
        return sorted(files), path
    if os.path.exists(path):
        return [path], None
    return sorted(p for p in glob.glob(path, recursive=True) if os.path.isfile(p)), None


def is_hidden(parts: Sequence[str]) -> bool:
    """Spark and others leave files such as ``_SUCCESS`` and ``.part.crc`` beside the data."""
    return any(part.startswith((".", "_")) for part in parts)


def _format(path: str) -> str:
    suffixes = [s.casefold() for s in Path(path).suffixes]
    for suffix in reversed(suffixes):
        if suffix in FORMATS:
            return FORMATS[suffix]
        if suffix not in csv.SUFFIX_COMPRESSION and suffix != ".snappy":
            break
    raise RowlawError("UNKNOWN_FORMAT", path=path)


def _open_files(name: str, paths: list[str], root: str | None, format: str, given: dict[str, Any]) -> Source:
    for path in paths:
        if any("\ud800" <= c <= "\udfff" for c in path):  # Arrow knows names by their text
            raise RowlawError("BAD_FILE", path=path, problem="the name is not valid Unicode; rename the file")
        if os.path.getsize(path) == 0:
            raise RowlawError("EMPTY_FILE", path=path)
    if format in ("csv", "tsv"):
        if format == "tsv" and given["delimiter"] is None:
            given = {**given, "delimiter": "\t"}
        return _open_csv(name, paths, given)
    readers: dict[str, Callable[[], tuple[pa.Schema, Sequence[Split]]]] = {
        "parquet": lambda: files.parquet_splits(paths, root),
        "orc": lambda: files.orc_splits(paths),
        "json": lambda: files.json_splits(paths),
        "arrow": lambda: files.arrow_splits(paths),
    }
    if format not in readers:
        problem = f"use one of {', '.join(sorted((*readers, 'csv', 'tsv', 'delta')))}"
        raise RowlawError("BAD_OPTION", option="format", value=format, problem=problem)
    whole, splits = readers[format]()
    schema, skipped = comparable(arrow_fields(whole), name)
    return FileSource(name, schema, tuple(splits), skipped=skipped)


def _open_spreadsheet(path: str) -> Source:
    """The first sheet of a spreadsheet, read by pandas."""
    module, package = {".ods": ("odf", "odfpy"), ".xls": ("xlrd", "xlrd")}.get(
        Path(path).suffix.casefold(), ("openpyxl", "openpyxl")
    )
    for needed, install in (("pandas", "pandas"), (module, package)):
        if importlib.util.find_spec(needed) is None:
            raise RowlawError("MISSING_PACKAGE", what=f"reading {path}", package=install, install=install)
    try:
        frame = importlib.import_module("pandas").read_excel(path)
    except Exception as error:  # each of the packages has errors of its own
        raise files.readable(path, error) from None
    return frame_source(frame)


def _open_csv(name: str, paths: list[str], given: dict[str, Any]) -> FileSource:
    splits: list[csv.CsvSplit] = []
    names: list[str] = []
    noticed: list[Hint] = []
    nulls = given.pop("null_values", ())
    for path in paths:
        dialect = replace(csv.sniff(path, **given), null_values=tuple(nulls))
        own = csv.column_names(path, dialect)
        if not names:
            names, noticed = own, hints(own, csv.first_rows(path, dialect))
        if own != names:
            raise RowlawError("BAD_FILE", path=path, problem=f"its columns differ from those of {paths[0]}")
        splits += csv.splits(path, dialect, own)
    schema, skipped = comparable([Field(n, pa.large_string(), "text") for n in names], name)
    return FileSource(name, schema, tuple(splits), inferred=True, skipped=skipped, hints=tuple(noticed))


def _open_delta(path: str, session: SparkSession | None) -> Source:
    if session is not None and "delta" in (session.conf.get("spark.sql.extensions", "") or "").casefold():
        return _by_spark(path, "delta", {"path": path}, session)
    try:
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError
    except ImportError:
        raise RowlawError(
            "MISSING_PACKAGE", what="reading a Delta table", package="deltalake", install="rowlaw[delta]"
        ) from None
    try:
        table = DeltaTable(path).to_pyarrow_table()
    except (DeltaError, OSError) as error:
        raise files.readable(path, error) from None
    return memory_source(path, arrow_fields(table.schema), table.columns)


def _catalog_table(name: str, session: SparkSession | None) -> Source:
    """A table of the Spark catalog; what is neither a path nor such a table is a missing file."""
    missing = RowlawError("NO_SUCH_FILE", path=name, hint=_near_files(name))
    if not _TABLE_NAME.match(name) or Path(name).suffix.casefold() in (*FORMATS, *_SPREADSHEETS):
        raise missing  # without starting Spark to ask for it
    if session is None:
        from rowlaw.spark.session import active_session
        from rowlaw.spark.session import session as any_session

        session = any_session() if "." in name else active_session()
    if session is None:
        raise missing
    if not session.catalog.tableExists(name):
        raise RowlawError("NO_SUCH_TABLE", table=name, hint=_near_tables(name, session))
    return spark_source(session.table(name), name)


def _near_tables(name: str, session: SparkSession) -> str:
    """The nearest table of the same database, if it can be listed."""
    database, _, table = name.rpartition(".")
    try:
        listed = [t.name for t in session.catalog.listTables(database or None)]
    except Exception:  # no such database, or a catalog that lists nothing
        return ""
    near = nearest(table, listed)
    return f" ({near.removeprefix('; ')})" if near else ""


def _near_files(path: str) -> str:
    folder = Path(path).parent
    return nearest(Path(path).name, os.listdir(folder)) if folder.is_dir() else f": there is no folder {str(folder)!r}"


def _by_spark(name: str, format: str, options: dict[str, str], session: SparkSession | None) -> Source:
    from rowlaw.spark.session import session as any_session

    spark = session or any_session()
    if format == "csv":
        options = {"header": "true", "inferSchema": "true", **options}
    try:
        frame = spark.read.format(format).options(**options).load()
        return spark_source(frame, name)
    except RowlawError:
        raise
    except Exception as error:  # Spark's errors come as many types
        raise storage_error(name, error) from None
