"""The rows that evidence is taken from: a uniform sample, and whole groups of rows that agree on a value, column by
column.

Laws are about rows that agree on something. In a uniform sample of a large table rows hardly ever agree on a column of
many values, so for each column the rows of a few of its values are taken as well. One job, bounded in size, the same
rows for the same seed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from rowlaw.engine.spark.table import SparkTable
from rowlaw.relation.memory import MemoryRelation

_UNIFORM = "is uniform"
_MARGIN = 1.2  # a sample by share has a random size
_UNIFORM_SHARE = 0.5  # of the sampled rows; the others are groups


@dataclass(frozen=True)
class SampledRows:
    """The sampled rows, and the positions of those that are a uniform sample (dtype int32)."""

    relation: MemoryRelation
    uniform: np.ndarray


def sampled_rows(table: SparkTable, limit: int, seed: int = 0) -> SampledRows:
    """Encode up to about ``limit`` rows of a table, under its own column names; all of them if there are no more."""
    from pyspark.sql import functions as f

    names = [name for name in table.schema.names if name in table.types]
    rows = table.plain.select(*(table.names[name] for name in names))
    share = 1.0 if table.rows <= limit else _UNIFORM_SHARE * limit / table.rows
    rows = rows.withColumn(_UNIFORM, f.rand(seed) < share)
    if table.rows > limit:
        chosen = f.col(_UNIFORM)
        groups = max(1, int(table.rows * len(names) / ((1 - _UNIFORM_SHARE) * limit)))
        for i, name in enumerate(names):
            # about one value in so many: rows of columns with few values are in the uniform part
            chosen = chosen | (f.pmod(f.xxhash64(rows[table.names[name]], f.lit(seed + i)), f.lit(groups)) == 0)
        rows = rows.where(chosen).limit(int(_MARGIN * limit))
    held: pa.Table = rows.toArrow().combine_chunks()
    relation = MemoryRelation.of(held.drop_columns(_UNIFORM).rename_columns(names), table.row_id)
    return SampledRows(relation, np.flatnonzero(held.column(_UNIFORM).to_numpy()).astype(np.int32))
