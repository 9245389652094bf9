"""The rows that evidence is taken from: a uniform sample, and whole groups of rows that agree on a value, column by
column.

Laws are about rows that agree on something. In a uniform sample of a large table rows hardly ever agree on a column of
many values, so for each column the rows of a few of its values are taken as well. One job, bounded in size, the same
rows for the same seed.
"""

from __future__ import annotations

import pyarrow as pa

from rowlaw.engine.spark.table import SparkTable
from rowlaw.relation.memory import MemoryRelation

_MARGIN = 1.2  # a sample by share has a random size
_UNIFORM_SHARE = 0.5  # of the sampled rows; the others are groups


def sampled_rows(table: SparkTable, limit: int, seed: int = 0) -> MemoryRelation:
    """Encode up to about ``limit`` rows of a table, under its own column names; all of them if there are no more."""
    from pyspark.sql import functions as f

    names = [name for name in table.schema.names if name in table.types]
    rows = table.plain.select(*(table.names[name] for name in names))
    if table.rows > limit:
        chosen = f.rand(seed) < _UNIFORM_SHARE * limit / table.rows
        groups = max(1, int(table.rows * len(names) / ((1 - _UNIFORM_SHARE) * limit)))
        for i, name in enumerate(names):
            # about one value in so many: rows of columns with few values are in the uniform part
            chosen = chosen | (f.pmod(f.xxhash64(rows[table.names[name]], f.lit(seed + i)), f.lit(groups)) == 0)
        rows = rows.where(chosen).limit(int(_MARGIN * limit))
    return MemoryRelation.of(_whole(rows.toArrow()).rename_columns(names), table.row_id)


def _whole(found: pa.Table) -> pa.Table:
    return found.combine_chunks()
