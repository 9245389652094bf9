"""Which rows of a staged batch come into a table: the incremental check, in pieces of the batch that this process
holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from rowlaw.engine.against.open import open_against
from rowlaw.engine.against.refuse import refused
from rowlaw.engine.against.tables import common_schema, fitted
from rowlaw.engine.spark.limits import VALUE_BYTES, SparkLimits
from rowlaw.engine.spark.table import PARTITION_SHIFT
from rowlaw.rules import RuleSet, bind
from rowlaw.source import FileSource, FrameSource, Source
from rowlaw.source.files import memory_splits
from rowlaw.source.read import read_source
from rowlaw.source.types import type_class
from rowlaw.spark.jobs import frame_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PIECE_ROWS = 10_000  # of a batch that this process holds in any case, as it holds a sample


@dataclass(frozen=True)
class Decision:
    """The rows of a batch that stay out, by their numbers: the ids of the rules that each breaks, and a few rows it
    clashes with."""

    number: str  # the column of row numbers
    rows: int
    refused: np.ndarray  # row numbers, ascending, dtype int64
    broken: list[list[str]]
    partners: pa.Array  # for each a list of rule, new (whether of the same batch), row (values)

    def accepted(self, batch: DataFrame, session: SparkSession) -> DataFrame:
        """The rows that come in."""
        from pyspark.sql import functions as f

        if not len(self.refused):
            return batch.drop(self.number)
        out = frame_of(session, pa.table({self.number: pa.array(self.refused, pa.int64())}))
        return batch.join(f.broadcast(out), self.number, "left_anti").drop(self.number)

    def put_aside(self, batch: DataFrame, session: SparkSession, batch_id: str) -> DataFrame:
        """The rows that stay out, with ``broken_rules``, ``partners`` and ``batch``."""
        from pyspark.sql import functions as f

        taken = {name.casefold() for name in batch.columns}
        names = [_free(name, taken) for name in ("broken_rules", "partners", "batch")]
        refusals = {
            self.number: pa.array(self.refused, pa.int64()),
            names[0]: pa.array(self.broken, pa.list_(pa.string())),
        }
        refusals[names[1]] = self.partners
        joined = batch.join(f.broadcast(frame_of(session, pa.table(refusals))), self.number)
        return joined.orderBy(self.number).drop(self.number).withColumn(names[2], f.lit(batch_id))


def decide(
    batch: DataFrame,
    old: DataFrame | None,
    number: str,
    rules: RuleSet,
    row_id: Sequence[str],
    session: SparkSession,
    limits: SparkLimits,
) -> Decision:
    """Decide about a batch, piece by piece: rows of a piece are compared with the old rows and with what came in of the
    pieces before."""
    source = read_source(batch.drop(number))
    assert isinstance(source, FrameSource)
    types = {field.name: type_class(field.type) for field in source.schema}
    bound = [bind(named.origin or named.rule, types, source.skipped) for named in rules]
    columns = list(dict.fromkeys((*(name for rule in bound for name in rule.columns), *row_id))) or list(
        source.columns[:1]
    )
    schema = common_schema(_part(source, columns))
    width = sum(VALUE_BYTES[kind] for name in columns if (kind := types[name]) is not None)
    pieces = list(_pieces(batch, number, max(PIECE_ROWS, limits.driver_bytes // max(1, width))))
    out, broken, partners = [np.zeros(0, np.int64)], [], []
    for low, high, _ in pieces:
        rows = (
            batch.where(f"`{number}` between {low} and {high}")
            .select(*_quoted(columns), f"`{number}`")
            .orderBy(number)
            .toArrow()
        )
        new = fitted(rows.select(range(len(columns))).rename_columns(columns), schema, source)
        before = (
            _before(batch, old, number, columns, low, np.concatenate(out), session) if old is not None or low else None
        )
        against: Source = _held("the history", schema.empty_table()) if before is None else read_source(before)
        engine = open_against(
            _held("the batch", new), against, rules.nulls, columns=columns, session=session, limits=limits
        )
        try:
            decided = refused(engine, bound)
        finally:
            engine.close()
        numbers = rows.column(len(columns)).to_numpy()
        out.append(numbers[np.array(sorted(decided.broken), np.int64)])
        ids = [named.id for named in rules]
        broken += [[ids[i] for i in decided.broken[row]] for row in sorted(decided.broken)]
        partners.append(_lists(decided.partners, sorted(decided.broken), ids))
    kept = pa.concat_arrays(partners) if partners else pa.nulls(0)
    return Decision(number, sum(size for _, _, size in pieces), np.concatenate(out), broken, kept)


def _pieces(batch: DataFrame, number: str, limit: int) -> Iterator[tuple[int, int, int]]:
    """The first and last number of each piece of at most ``limit`` rows, and its size. Spark numbers the rows of a
    partition in turn."""
    from pyspark.sql import functions as f

    partition = f.shiftrightunsigned(f.col(f"`{number}`"), PARTITION_SHIFT)
    sizes = {r[0]: r[1] for r in batch.groupBy(partition.alias("partition")).count().collect()}
    if sum(sizes.values()) <= limit:
        if sizes:
            yield 0, (max(sizes) + 1 << PARTITION_SHIFT) - 1, sum(sizes.values())
        return
    for part in sorted(sizes):
        for start in range(0, sizes[part], limit):
            size = min(limit, sizes[part] - start)
            first = (part << PARTITION_SHIFT) + start
            yield first, first + size - 1, size


def _before(
    batch: DataFrame,
    old: DataFrame | None,
    number: str,
    columns: list[str],
    low: int,
    out: np.ndarray,
    session: SparkSession,
) -> DataFrame:
    """The rows that are in when a piece comes: the old ones, and those of the pieces before it that came in."""
    from pyspark.sql import functions as f

    earlier = batch.where(f"`{number}` < {low}")
    if len(out):
        refused = frame_of(session, pa.table({number: pa.array(out, pa.int64())}))
        earlier = earlier.join(f.broadcast(refused), number, "left_anti")
    earlier = earlier.select(*_quoted(columns))
    if old is None:
        return earlier
    return old.select(*_quoted(columns)).union(earlier) if low else old.select(*_quoted(columns))


def _lists(partners: pa.Table, rows: list[int], ids: list[str]) -> pa.Array:
    """For each refused row the list of its partners."""
    named = pa.array([ids[i] for i in partners.column("rule").to_pylist()], pa.string())
    values = partners.column("values").combine_chunks()
    flat = pa.StructArray.from_arrays(
        [named, partners.column("new").combine_chunks(), values], names=["rule", "new", "row"]
    )
    owners = partners.column("row").to_numpy()
    offsets = np.append(np.searchsorted(owners, rows), len(owners)).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), flat)


def _part(source: FrameSource, columns: Sequence[str]) -> FrameSource:
    return replace(source, schema=pa.schema([source.schema.field(name) for name in columns]))


def _held(name: str, table: pa.Table) -> FileSource:
    return FileSource(name, table.schema, tuple(memory_splits(table)))


def _quoted(columns: Sequence[str]) -> list[str]:
    return [f"`{name.replace('`', '``')}`" for name in columns]


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name
