"""A sample of rows on the driver: what plans are chosen by, and where the borders of buckets are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from rowlaw.engine.spark.table import SparkTable
from rowlaw.relation.memory import MemoryRelation
from rowlaw.spark.jobs import job

FRACTION_MARGIN = 1.2  # a sample by share has a random size


@dataclass(frozen=True)
class TableSample:
    """Random rows of some columns. Estimates decide how fast an answer is found, never what it is."""

    table: SparkTable
    columns: tuple[str, ...]  # safe names
    limit: int

    @cached_property
    def relation(self) -> MemoryRelation:
        """The sampled rows, encoded."""
        frame = self.table.plain.select(*self.columns)
        if self.table.rows > self.limit:
            frame = frame.sample(fraction=min(1.0, FRACTION_MARGIN * self.limit / self.table.rows), seed=0).limit(self.limit)
        with job(self.table.session, "sample rows"):
            return MemoryRelation.of(frame.toArrow())

    @property
    def scale(self) -> float:
        """Rows of the table for each row of the sample."""
        return self.table.rows / max(1, self.relation.rows)

    def _keys(self, columns: Sequence[str]) -> np.ndarray:
        """For each sampled row the number of its combination of values; -1 where null is unknown."""
        keys = np.zeros(self.relation.rows, np.int64)
        unknown = np.zeros(self.relation.rows, bool)
        for name in columns:
            codes = self.relation.codes(name).astype(np.int64)
            unknown |= codes < 0
            keys = np.unique(keys * (self.relation.column(name).distinct + 1) + codes + 1, return_inverse=True)[1]
        if self.table.nulls == "unknown":
            keys[unknown] = -1
        return keys

    def heavy(self, columns: Sequence[str], rows: float) -> pa.Table:
        """The combinations of values that probably have more than so many rows."""
        keys = self._keys(columns)
        known = np.flatnonzero(keys >= 0)
        if not len(columns) or not len(known):
            return self.relation.decode([], columns)
        _, first, counts = np.unique(keys[known], return_index=True, return_counts=True)
        return self.relation.decode(known[first[counts * self.scale > rows]], columns)

    def borders(self, columns: Sequence[str], buckets: int) -> pa.Array:
        """Values that cut the columns together into about so many ranges with equally many rows; ascending and distinct."""
        values = pa.concat_arrays([self._order_values(name) for name in columns])
        values = values.take(pa.compute.sort_indices(values)).drop_null()
        if not len(values) or buckets < 2:
            return values.slice(0, 0)
        at = np.linspace(0, len(values), buckets + 1)[1:-1].astype(np.int64)
        return values.take(pa.array(np.minimum(at, len(values) - 1))).unique()

    def _order_values(self, name: str) -> pa.Array:
        """The values of a column on the scale that buckets are cut on (see ``expressions.order_key``)."""
        values = self.relation.decode(None, [name]).column(0).combine_chunks()
        kind = self.table.kinds[name]
        if kind == "text":
            return values.cast(pa.large_string())
        if kind == "date":
            return values.cast(pa.int32()).cast(pa.float64())
        if kind == "timestamp":
            unit = 1.0 if values.type.tz else 1e6  # local times are cut by seconds
            micros = values.cast(pa.timestamp("us", values.type.tz)).cast(pa.int64())
            return pa.compute.divide(pa.compute.cast(micros, pa.float64(), safe=False), unit)
        return pa.compute.cast(values, pa.float64(), safe=False)
