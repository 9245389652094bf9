"""The new rows of an incremental check: in the memory of this process, or as a Spark frame where they are too many for
that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from rowlaw.engine.against.tables import fitted
from rowlaw.engine.answers import ColumnProfile
from rowlaw.engine.local.engine import LocalEngine
from rowlaw.engine.local.findings import LocalFindings
from rowlaw.engine.local.rows import Found
from rowlaw.engine.local.tasks import ALL
from rowlaw.engine.spark.engine import SparkEngine
from rowlaw.engine.spark.limits import VALUE_BYTES, SparkLimits
from rowlaw.engine.spark.read import spark_frame
from rowlaw.engine.spark.table import NUMBER, SparkTable
from rowlaw.errors import RowlawError
from rowlaw.relation import encode
from rowlaw.relation.memory import MemoryRelation
from rowlaw.rules.model import Nulls
from rowlaw.source.row_ids import id_array, row_name, row_names
from rowlaw.source.source import FileSource, FrameSource, Source
from rowlaw.source.types import storage_type, type_class
from rowlaw.spark.jobs import frame_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


@dataclass(frozen=True)
class NewTable:
    """The new table: ``whole`` as it was given, ``source`` with the columns that rules compare, ``schema`` their types
    in both tables."""

    whole: Source
    source: Source
    schema: pa.Schema
    nulls: Nulls
    row_id: tuple[str, ...]
    limits: SparkLimits

    @cached_property
    def origin(self) -> SparkTable | None:
        """The frame that the rows are in, if it is Spark's."""
        if not isinstance(self.whole, FrameSource):
            return None
        frame, schema = spark_frame(self.whole, self.whole.frame.sparkSession)
        table = SparkTable(frame, schema, self.nulls, self.row_id, self.whole.skipped)
        table.check_row_id()
        return table

    @cached_property
    def _read(self) -> tuple[pa.Table, pa.Array]:
        """The rows and what they are called, in memory. Raises an error if a value does not fit the old table's
        type."""
        if self.origin is None:
            with encode(self.source, row_id=self.row_id or None) as relation:
                table = fitted(relation.decode(), self.schema, self.source)
                return table, self.ids(table) if self.row_id else relation.row_labels(relation.all_rows)
        rows = self.origin.by_position if self.row_id else self.origin.numbered
        places = {name: i for i, name in reversed(list(enumerate(self.origin.own_columns)))}
        columns = [rows[f"x{places[name]}"] for name in self.schema.names]
        held = rows.select(*columns, *([] if self.row_id else [rows[NUMBER]])).toArrow()
        table = fitted(held.select(range(len(self.schema))).rename_columns(self.schema.names), self.schema, self.source)
        if self.row_id:
            return table, self.ids(table)
        return table, held.column(len(self.schema)).combine_chunks().cast(pa.int64())

    def ids(self, table: pa.Table) -> pa.Array:
        """What rows of either table are called, by their row id."""
        return id_array(self.row_id, [table.column(name).combine_chunks() for name in self.row_id])

    @property
    def held(self) -> pa.Table:
        """The rows in memory, in the types of both tables."""
        return self._read[0]

    @property
    def names(self) -> pa.Array:
        """What the rows in memory are called."""
        return self._read[1]

    @cached_property
    def fits(self) -> bool:
        """Whether the rows may be held in memory."""
        width = sum(VALUE_BYTES[kind] for f in self.schema if (kind := type_class(f.type)) is not None)
        return self.origin is None or self.origin.rows * width <= self.limits.driver_bytes

    @cached_property
    def rows(self) -> int:
        """Count of rows."""
        return self.held.num_rows if self.origin is None else self.origin.rows

    def on_spark(self, session: SparkSession) -> SparkTable:
        """The rows as a table of Spark, under the safe names and types of the old table."""
        if self.fits:
            return SparkTable(frame_of(session, self.held), self.schema, self.nulls)
        assert self.origin is not None
        for field in self.schema:
            arrow_type = self.origin.arrow_types[field.name]
            if storage_type(arrow_type) != storage_type(field.type):
                raise RowlawError(
                    "AGAINST_TYPE",
                    source=self.source.name,
                    column=field.name,
                    found=str(arrow_type),
                    expected=str(field.type),
                )
        return SparkTable(self.origin.frame, self.schema, self.nulls)

    def labelled(self, session: SparkSession, label: str) -> DataFrame:
        """The rows as a frame of the schema's columns and, in ``label``, what each is called."""
        from pyspark.sql import functions as f

        if self.fits:
            return frame_of(session, self.held.append_column(label, self.names))
        table = self.on_spark(session)
        if self.row_id:
            rows, name = table.plain, id_column(table, self.row_id)
        else:
            assert self.origin is not None
            numbered = self.origin.numbered
            places = {name: i for i, name in reversed(list(enumerate(self.origin.own_columns)))}
            chosen = numbered.select(*(f"x{places[n]}" for n in table.names), NUMBER).toDF(*table.names, label)
            plain = SparkTable(chosen, self.schema, self.nulls)
            rows = plain.by_position.select(
                *plain._plain_columns(plain.by_position), f.col(f"x{len(table.names)}").alias(NUMBER)
            )
            name = f.col(NUMBER)
        return rows.select(*(f.col(safe).alias(own) for own, safe in table.names.items()), name.alias(label))

    def flagged(self, broken: DataFrame) -> DataFrame:
        """The whole new table with what each row is called and the rules that it breaks. ``broken``: ``row`` and
        ``rule``."""
        if self.origin is not None:
            return self.origin.flagged(broken)
        assert isinstance(self.whole, FileSource)
        pairs = [(row_name(r["row"]), r["rule"]) for r in broken.select("row", "rule").toArrow().to_pylist()]
        ids = sorted({rule for _, rule in pairs})
        with encode(self.whole, row_id=self.row_id or None) as relation:
            position = {name: i for i, name in enumerate(row_names(relation.row_labels(relation.all_rows)))}
            involved = []
            for id in ids:
                rows = np.array(sorted(position[row] for row, rule in pairs if rule == id), np.int32)
                involved.append(Found(len(rows), rows, np.ones(len(rows), np.int64)))
            return LocalFindings(LocalEngine(relation, self.nulls, broken.sparkSession), (), ALL, involved).flagged(
                ids, broken.sparkSession
            )

    def profile(self, columns: Sequence[str], top: int) -> list[ColumnProfile]:
        """Describe the values of some columns."""
        if not self.fits:
            assert self.origin is not None
            return SparkEngine(self.origin, self.limits).profile(columns, top)
        return LocalEngine(MemoryRelation.of(self.held), self.nulls).profile(columns, top)

    def some_rows(self, limit: int, columns: Sequence[str]) -> pa.Table:
        """Up to ``limit`` rows spread over the table: ``number`` (their order) and the values of ``columns``."""
        if not self.fits:
            assert self.origin is not None
            return SparkEngine(self.origin, self.limits).some_rows(limit, columns)
        last = self.held.num_rows - 1
        rows = (
            np.unique(np.linspace(0, last, min(limit, last + 1)).astype(np.int64))
            if last >= 0
            else np.zeros(0, np.int64)
        )
        values = self.held.select(list(columns)).take(pa.array(rows))
        return pa.table([pa.array(rows), *values.columns], names=["number", *columns])

    def close(self) -> None:
        """Release what was kept on Spark."""
        if self.origin is not None:
            self.origin.keeper.close()


def id_column(table: SparkTable, row_id: Sequence[str]) -> Column:
    """What a row is called, as a column over the safe names of a table: an id of several columns is a struct."""
    from pyspark.sql import functions as f

    columns = [f.col(table.names[name]).alias(name) for name in row_id]
    return columns[0] if len(columns) == 1 else f.struct(*columns)
