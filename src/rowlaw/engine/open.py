"""Where a table meets an engine: :func:`open_engine`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, get_args

import pyarrow as pa

from rowlaw.engine.choose import EngineName, choose
from rowlaw.engine.local.engine import LocalEngine
from rowlaw.engine.protocol import DiscoveryEngine, Engine
from rowlaw.engine.spark.brought import BroughtTable
from rowlaw.engine.spark.discovery import SparkDiscoveryEngine
from rowlaw.engine.spark.engine import SparkEngine
from rowlaw.engine.spark.limits import SparkLimits, limits_of
from rowlaw.engine.spark.read import spark_frame
from rowlaw.engine.spark.table import SparkTable
from rowlaw.errors import RowlawError
from rowlaw.relation import encode
from rowlaw.rules.model import Nulls
from rowlaw.source import FileSource, FrameSource, Source
from rowlaw.source.files import memory_splits
from rowlaw.source.row_ids import RowId, checked_id
from rowlaw.stopping import NEVER, Stop

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MANY_RULES = 1_000  # questions that discovery asks, at least


def open_local(
    source: Source,
    nulls: Nulls = "unknown",
    *,
    row_id: RowId = None,
    session: SparkSession | None = None,
    stop: Stop = NEVER,
) -> DiscoveryEngine:
    """Read a source and give the engine that works on it in this process. Close the engine when it is no longer needed.

    Raises ``Stopped`` if reading is not done when ``stop`` is requested.
    """
    return LocalEngine(encode(source, row_id=row_id, session=session, stop=stop), nulls, session)


def open_discovery(
    source: Source,
    nulls: Nulls = "unknown",
    *,
    row_id: RowId = None,
    session: SparkSession | None = None,
    engine: EngineName = "auto",
    seed: int = 0,
    limits: SparkLimits | None = None,
    stop: Stop = NEVER,
) -> DiscoveryEngine:
    """Give the engine that discovery asks: the table is read into this process, or left to Spark if it is too large for
    that.

    Raises ``Stopped`` if reading is not done when ``stop`` is requested.
    """
    checked_engine(engine)
    ids = checked_id(row_id, source)
    choice, rows = choose(source, engine, source.columns, MANY_RULES, session, limits or known_limits(source, session))
    if choice.name == "local":
        return LocalEngine(encode(source, row_id=ids, session=session, stop=stop), nulls, session, choice=choice)
    return SparkDiscoveryEngine.open(source, nulls, ids, session, choice, limits, rows, seed=seed)


def known_limits(source: Source, session: SparkSession | None) -> SparkLimits:
    """The limits of the session that has a source, else of the one given; the usual ones without a session."""
    known = source.frame.sparkSession if isinstance(source, FrameSource) else session
    return SparkLimits() if known is None else limits_of(known)


def checked_engine(engine: str) -> None:
    """Raise an error unless this is the name of an engine."""
    if engine not in get_args(EngineName):
        raise RowlawError("BAD_OPTION", option="engine", value=engine, problem=f"use {', '.join(get_args(EngineName))}")


def open_engine(
    source: Source,
    nulls: Nulls = "unknown",
    *,
    row_id: RowId = None,
    session: SparkSession | None = None,
    engine: EngineName = "auto",
    columns: Sequence[str] | None = None,
    rules: int = 1,
    limits: SparkLimits | None = None,
) -> Engine:
    """Read a source and give the engine that answers questions about it. Close the engine when it is no longer needed.

    ``engine``: "local" encodes the table in this process, "spark" leaves it where it is, "auto" chooses; ``columns``
    and ``rules`` say what will be asked: some columns, by so many rules.

    >>> import pyarrow as pa
    >>> from rowlaw.rules import parse
    >>> from rowlaw.source import open_source
    >>> engine = open_engine(open_source(pa.table({"id": [1, 2, 2]})))
    >>> engine.counts([parse("key (id)")])
    [2]
    >>> engine.close()
    """
    checked_engine(engine)
    ids = checked_id(row_id, source)
    needed = list(dict.fromkeys((*(columns or source.columns), *ids)))
    choice, rows = choose(source, engine, needed, rules, session, limits or known_limits(source, session))
    if choice.name == "local":
        if isinstance(source, FrameSource) and engine == "auto":
            frame, schema = spark_frame(source, source.frame.sparkSession)
            origin = BroughtTable(SparkTable(frame, schema, nulls, ids), tuple(needed))
            rows_here = _in_memory(source, origin.rows(), schema)
            return LocalEngine(encode(rows_here, row_id=ids), nulls, frame.sparkSession, origin=origin, choice=choice)
        return LocalEngine(encode(source, row_id=ids, session=session), nulls, session, choice=choice)
    return SparkEngine.open(source, nulls, ids, session, choice, limits, rows)


def _in_memory(source: Source, table: pa.Table, schema: pa.Schema) -> FileSource:
    """Columns of a source that are in memory, in the types of ``schema``."""
    chosen = pa.schema([schema.field(name) for name in table.column_names])
    return FileSource(source.name, chosen, tuple(memory_splits(table)), skipped=source.skipped)
