"""Which engine answers, and why.

What is Spark's already is answered where it is, unless the columns that are needed are so small that bringing them here
is quicker, as Spark itself broadcasts the small side of a join. Files and frames in memory are answered here, unless
they are large or Spark is asked for: files of up to 256 MiB are read by threads at a sixth of the CPU time
(docs/decisions/0017).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from rowlaw.engine.spark.limits import VALUE_BYTES, SparkLimits
from rowlaw.source.source import FileSource, FrameSource, Source
from rowlaw.source.types import type_class
from rowlaw.spark.jobs import job
from rowlaw.spark.session import runs_here

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

EngineName = Literal["auto", "local", "spark"]
LARGE_FILE = 64 << 20  # bytes of a file or folder that is not read at once
# bytes, by Spark's own estimate, of a table that is brought here without counting its rows first
_SMALL_PLAN = 16 << 20
# to move a byte from Spark to this process and encode it: toArrow of a local session moved 73 MB/s
_BRING_SECONDS = 1.5e-8
_ROW_SECONDS = 2.5e-7  # to answer a rule on Spark, for each row: 5 million rows in 1 to 2 s
_JOB_SECONDS = 0.4  # to answer a rule on Spark, however small the table


@dataclass(frozen=True, slots=True)
class Choice:
    """The engine that answers, and the reason for people."""

    name: Literal["local", "spark"]
    why: str

    def __str__(self) -> str:
        return f"{self.name} engine: {self.why}"


ASKED_FOR_LOCAL, ASKED_FOR_SPARK = Choice("local", "asked for"), Choice("spark", "asked for")


def choose(
    source: Source,
    asked: EngineName,
    columns: Sequence[str],
    rules: int,
    session: SparkSession | None,
    limits: SparkLimits,
) -> tuple[Choice, int | None]:
    """The engine for some rules about some columns of a source; and the count of rows, where it had to be found out."""
    if asked != "auto":
        return (ASKED_FOR_LOCAL if asked == "local" else ASKED_FOR_SPARK), None
    if isinstance(source, FileSource):
        if source.size < LARGE_FILE or (source.in_memory and session is None):
            return Choice("local", f"{_size(source.size)} are read into this process"), None
        if session is not None and not runs_here(session):
            return Choice("spark", f"{_size(source.size)} are read by the workers of the cluster"), None
        if source.size <= limits.driver_bytes:
            return Choice("local", f"{_size(source.size)} fit the memory of this process"), None
        return Choice("spark", f"{_size(source.size)} are read by Spark's workers"), None
    assert isinstance(source, FrameSource)
    return _for_frame(source, columns, rules, limits)


def _for_frame(
    source: FrameSource, columns: Sequence[str], rules: int, limits: SparkLimits
) -> tuple[Choice, int | None]:
    width = sum(
        VALUE_BYTES[kind] for name in columns if (kind := type_class(source.schema.field(name).type)) is not None
    )
    planned = planned_bytes(source.frame)
    if planned is not None and planned <= min(_SMALL_PLAN, limits.driver_bytes):
        return Choice("local", f"the table is small ({_size(planned)}), so its columns are brought here"), None
    with job(source.frame.sparkSession, "count the rows"):
        rows = int(source.frame.count())
    size = rows * width
    bring, ask = size * _BRING_SECONDS, rules * (_JOB_SECONDS + rows * _ROW_SECONDS)
    if size > limits.driver_bytes:
        return Choice(
            "spark", f"{rows:,} rows of {len(columns)} columns are more than {_size(limits.driver_bytes)}"
        ), rows
    if bring < ask:
        return Choice("local", f"bringing {_size(size)} here takes about {bring:.1f} s, asking Spark {ask:.1f} s"), rows
    return Choice("spark", f"asking Spark takes about {ask:.1f} s, bringing {_size(size)} here {bring:.1f} s"), rows


def planned_bytes(frame: DataFrame) -> int | None:
    """The size of a frame by Spark's own estimate, without a job; None where the session does not tell (Spark
    Connect)."""
    try:
        return int(str(frame._jdf.queryExecution().optimizedPlan().stats().sizeInBytes()))  # type: ignore[operator]
    except Exception:  # Spark Connect has no plan on this side
        return None


def _size(size: int) -> str:
    """A number of bytes for people.

    >>> _size(5), _size(3 << 20)
    ('5 bytes', '3 MB')
    """
    if size >= 1 << 20:
        return f"{size >> 20:,} MB"
    return f"{size >> 10:,} kB" if size >= 1 << 10 else f"{size:,} bytes"
