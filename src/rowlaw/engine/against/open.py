"""Where new rows meet an old table: :func:`open_against`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rowlaw.engine.against.engine import AgainstEngine
from rowlaw.engine.against.new_table import NewTable
from rowlaw.engine.against.tables import aligned, common_schema
from rowlaw.engine.choose import ASKED_FOR_LOCAL, ASKED_FOR_SPARK, Choice, EngineName
from rowlaw.engine.open import checked_engine, known_limits
from rowlaw.engine.spark.limits import SparkLimits
from rowlaw.rules.model import Nulls
from rowlaw.source.row_ids import RowId, checked_id
from rowlaw.source.source import FileSource, Source
from rowlaw.spark.session import cluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def open_against(
    new: Source,
    old: Source,
    nulls: Nulls = "unknown",
    *,
    columns: Sequence[str],
    row_id: RowId = None,
    session: SparkSession | None = None,
    engine: EngineName = "auto",
    limits: SparkLimits | None = None,
) -> AgainstEngine:
    """Give the engine that checks new rows against an old table by rules about some columns. Nothing of the old table
    is read yet."""
    checked_engine(engine)
    ids = checked_id(row_id, new)
    chosen = limits or known_limits(new if isinstance(old, FileSource) else old, session)
    # a rule that compares no column is about all rows: some column has to be read
    needed = list(dict.fromkeys((*columns, *ids))) or list(new.columns[:1])
    own, other = aligned(new, old, needed)
    table = NewTable(new, own, common_schema(other), nulls, ids, chosen)
    return AgainstEngine(table, other, engine, _choice(table, other, engine, session, chosen), session, chosen)


def _choice(
    new: NewTable, old: Source, engine: EngineName, session: SparkSession | None, limits: SparkLimits
) -> Choice:
    """Where the old table is scanned: where it is; a file on a cluster by its workers, if it is large."""
    if engine != "auto":
        return ASKED_FOR_LOCAL if engine == "local" else ASKED_FOR_SPARK
    if not isinstance(old, FileSource):
        return Choice("spark", "one scan by Spark finds the old rows that could conflict with new ones")
    if not new.fits:
        return Choice("spark", "the new rows are many, and Spark has them")
    if not old.in_memory and old.size > limits.driver_bytes and cluster(session) is not None:
        return Choice("spark", "the workers of the cluster read the old table")
    return Choice("local", "the old table is read here once, and only rows that conflict with new ones are kept")
