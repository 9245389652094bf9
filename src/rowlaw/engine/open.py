"""Where a table meets an engine: :func:`open_engine`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, get_args

import pyarrow as pa

from rowlaw.engine.choose import EngineName, choose
from rowlaw.engine.local.engine import LocalEngine
from rowlaw.engine.protocol import DiscoveryEngine, Engine
from rowlaw.engine.spark.discovery import SparkDiscoveryEngine
from rowlaw.engine.spark.engine import SparkEngine
from rowlaw.engine.spark.limits import SparkLimits
from rowlaw.engine.spark.table import SparkTable
from rowlaw.errors import RowlawError, no_column
from rowlaw.relation import encode
from rowlaw.rules.model import Nulls
from rowlaw.source import FileSource, FrameSource, Source
from rowlaw.source.files import memory_splits
from rowlaw.stopping import NEVER, Stop

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MANY_RULES = 1_000  # questions that discovery asks, at least


def open_local(
    source: Source, nulls: Nulls = "unknown", *, row_id: str | None = None, session: SparkSession | None = None, stop: Stop = NEVER
) -> DiscoveryEngine:
    """Read a source and give the engine that works on it in this process. Close the engine when it is no longer needed.

    Raises ``Stopped`` if reading is not done when ``stop`` is requested.
    """
    return LocalEngine(encode(source, row_id=row_id, session=session, stop=stop), nulls, session)


def open_discovery(
    source: Source,
    nulls: Nulls = "unknown",
    *,
    row_id: str | None = None,
    session: SparkSession | None = None,
    engine: EngineName = "auto",
    seed: int = 0,
    limits: SparkLimits | None = None,
    stop: Stop = NEVER,
) -> DiscoveryEngine:
    """Give the engine that discovery asks: the table is read into this process, or left to Spark if it is too large for that.

    Raises ``Stopped`` if reading is not done when ``stop`` is requested.
    """
    checked_engine(engine)
    chosen = limits or SparkLimits()
    choice, rows = choose(source, engine, source.columns, MANY_RULES, session, chosen)
    if choice.name == "local":
        return LocalEngine(encode(source, row_id=row_id, session=session, stop=stop), nulls, session, choice=choice)
    return SparkDiscoveryEngine.open(source, nulls, row_id, session, choice, chosen, rows, seed=seed)


def checked_engine(engine: str) -> None:
    """Raise an error unless this is the name of an engine."""
    if engine not in get_args(EngineName):
        raise RowlawError("BAD_OPTION", option="engine", value=engine, problem=f"use {', '.join(get_args(EngineName))}")


def open_engine(
    source: Source,
    nulls: Nulls = "unknown",
    *,
    row_id: str | None = None,
    session: SparkSession | None = None,
    engine: EngineName = "auto",
    columns: Sequence[str] | None = None,
    rules: int = 1,
    limits: SparkLimits | None = None,
) -> Engine:
    """Read a source and give the engine that answers questions about it. Close the engine when it is no longer needed.

    ``engine``: "local" encodes the table in this process, "spark" leaves it where it is, "auto" chooses; ``columns`` and ``rules`` say what
    will be asked: some columns, by so many rules.

    >>> import pyarrow as pa
    >>> from rowlaw.rules import parse
    >>> from rowlaw.source import open_source
    >>> engine = open_engine(open_source(pa.table({"id": [1, 2, 2]})))
    >>> engine.counts([parse("key (id)")])
    [2]
    >>> engine.close()
    """
    checked_engine(engine)
    if row_id is not None and row_id not in source.columns:
        raise no_column(row_id, source.columns, source.skipped)
    chosen = limits or SparkLimits()
    needed = list(dict.fromkeys((*(columns or source.columns), *([row_id] if row_id is not None else []))))
    choice, rows = choose(source, engine, needed, rules, session, chosen)
    if choice.name == "local":
        if isinstance(source, FrameSource) and engine == "auto":
            origin = SparkTable(source.frame, source.schema, nulls, row_id)
            return LocalEngine(
                encode(_brought(source, needed), row_id=row_id), nulls, source.frame.sparkSession, origin=origin, choice=choice
            )
        return LocalEngine(encode(source, row_id=row_id, session=session), nulls, session, choice=choice)
    return SparkEngine.open(source, nulls, row_id, session, choice, chosen, rows)


def _brought(source: FrameSource, columns: Sequence[str]) -> Source:
    """The needed columns of a Spark frame, brought to this process by one job."""
    places = {name: i for i, name in reversed(list(enumerate(source.frame.columns)))}
    by_position = source.frame.toDF(*(f"c{i}" for i in range(len(source.frame.columns))))
    table = by_position.select(*(f"c{places[name]}" for name in columns)).toArrow().rename_columns(list(columns))
    schema = pa.schema([source.schema.field(name) for name in columns])
    types = {name: dtype for name, dtype in source.types.items() if name in columns}
    return FileSource(source.name, schema, tuple(memory_splits(table)), types, skipped=source.skipped)
