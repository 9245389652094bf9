"""A sample of rows on the driver: what plans are chosen by, and where the borders of buckets are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from rowlaw.engine.local.weighted import combinations
from rowlaw.engine.spark.table import SparkTable
from rowlaw.relation.memory import MemoryRelation
from rowlaw.spark.jobs import job

_SINGLE_SHARE = 0.3  # of the sampled rows: where more are seen once only, those seen twice tell how many there are
_FEW_TWICE = 20  # combinations seen twice below which chance decides: then rows are taken not to repeat
_FRACTION_MARGIN = 1.2  # a sample by share has a random size


class Border(NamedTuple):
    """Where a range of values ends and the next one begins: before a value, or after it."""

    value: Any
    after: bool


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
            frame = frame.sample(fraction=min(1.0, _FRACTION_MARGIN * self.limit / self.table.rows), seed=0).limit(
                self.limit
            )
        with job(self.table.session, "sample rows"):
            return MemoryRelation.of(frame.toArrow())

    @property
    def scale(self) -> float:
        """Rows of the table for each row of the sample."""
        return self.table.rows / max(1, self.relation.rows)

    def _keys(self, columns: Sequence[str], *, unknown: bool = True) -> np.ndarray:
        """For each sampled row the number of its combination of values; -1 where null is ``unknown``."""
        keys = combinations(self.relation, columns, np.arange(self.relation.rows))
        if unknown and self.table.nulls == "unknown":
            for name in columns:
                keys[self.relation.codes(name) < 0] = -1
        return keys

    def heavy(self, columns: Sequence[str], rows: float) -> pa.Table:
        """The combinations of values that probably have more than so many rows."""
        keys = self._keys(columns)
        known = np.flatnonzero(keys >= 0)
        if not len(columns) or not len(known):
            return self.relation.decode([], columns)
        _, first, counts = np.unique(keys[known], return_index=True, return_counts=True)
        return self.relation.decode(known[first[counts * self.scale > rows]], columns)

    def largest_group(self, columns: Sequence[str], below: float) -> float:
        """About how many rows the largest group with equal values has, of those that have at most ``below``."""
        keys = self._keys(columns)
        sizes = np.unique(keys[keys >= 0], return_counts=True)[1] * self.scale
        return float(max(sizes[sizes <= below], default=self.scale))

    def distinct_rows(self, columns: Sequence[str]) -> float:
        """About how many combinations of values the table has in some columns; all its rows if hardly any is twice
        in the sample.

        Combinations seen once stand for many that were not seen: their count is scaled by the square root of the share
        that was sampled (Charikar, Chaudhuri, Motwani, Narasayya, "Towards Estimation Error Guarantees for Distinct
        Values", PODS 2000). Where most are seen once, how often two are alike says more (Chao, "Nonparametric
        Estimation of the Number of Classes in a Population", Scandinavian Journal of Statistics 11, 1984).
        """
        repeats = np.unique(self._keys(columns, unknown=False), return_counts=True)[1]
        once = int((repeats == 1).sum())
        if self.scale <= 1.0:
            return float(len(repeats))
        distinct = float(np.sqrt(self.scale) * once + len(repeats) - once)
        if once > _SINGLE_SHARE * self.relation.rows:
            twice = int((repeats == 2).sum())
            distinct = max(distinct, len(repeats) + (once**2 / (2 * twice) if twice >= _FEW_TWICE else float("inf")))
        return min(distinct, float(self.table.rows))

    def borders(self, columns: Sequence[str], buckets: int) -> list[Border]:
        """Borders that cut the columns together into about so many ranges with equally many rows, ascending.

        A value that has more rows than such a range is a range of its own, between two borders.
        """
        values = pa.concat_arrays([self._order_values(name) for name in columns])
        values = values.take(pa.compute.sort_indices(values)).drop_null()
        if not len(values) or buckets < 2:
            return []
        at = np.linspace(0, len(values), buckets + 1)[1:-1].astype(np.int64)
        marks = Counter(values.take(pa.array(np.minimum(at, len(values) - 1))).to_pylist())
        return [
            Border(value, after)
            for value, times in marks.items()
            for after in ((False, True) if times > 1 else (False,))
        ]

    def _order_values(self, name: str) -> pa.Array:
        """The values of a column on the scale that buckets are cut on (see ``expressions.order_key``)."""
        values = self.relation.decode(None, [name]).column(0).combine_chunks()
        kind = self.table.kinds[name]
        if kind == "text":
            return values.cast(pa.large_string())
        if kind == "date":
            return values.cast(pa.int32()).cast(pa.float64())
        if kind == "timestamp":
            micros = values.cast(pa.timestamp("us", values.type.tz)).cast(pa.int64())
            return pa.compute.cast(micros, pa.float64(), safe=False)
        return pa.compute.cast(values, pa.float64(), safe=False)
