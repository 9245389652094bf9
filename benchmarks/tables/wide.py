"""Wide tables of mixed types: random and correlated columns, nulls, columns that share values. There is no end to their
rules."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.tables import cached

SEED = 16
DAYS = 20_000  # dates, from 1970 on


def wide(columns: int, rows: int) -> pa.Table:
    """A table of eight sorts of columns in turn.

    >>> wide(9, 100).num_columns, wide(9, 100).equals(wide(9, 100))
    (9, True)
    """
    random = np.random.default_rng(SEED)
    base = random.integers(0, 1_000, rows)
    return pa.table({f"c{i:02d}": _column(i, base, random) for i in range(columns)})


def keyed(columns: int, rows: int) -> pa.Table:
    """A table as warehouses have them: few columns tell rows apart, and most are coarser forms of these.

    >>> keyed(60, 100).num_columns, keyed(60, 100).equals(keyed(60, 100))
    (60, True)
    """
    random = np.random.default_rng(SEED)
    base = [random.integers(0, values, rows) for values in (rows, 365, 500)]
    found = {f"c{i:02d}": values for i, values in enumerate(base[:columns])}
    for i in range(len(base), columns):
        found[f"c{i:02d}"] = base[i % len(base)] >> i // len(base)  # nested: no two of them say more than the finer one
    return pa.table(found)


def _column(number: int, base: np.ndarray, random: np.random.Generator) -> pa.Array:
    rows = len(base)
    match number % 8:
        case 0:
            return pa.array(random.integers(0, 5 + number, rows))
        case 1:  # follows the base roughly
            return pa.array(base // (1 + number) + random.integers(0, 2, rows))
        case 2:
            return pa.array([f"name {n}" for n in random.integers(0, 40 + 10 * number, rows)])
        case 3:
            return pa.array(np.round(random.normal(100, 30, rows), 2), mask=random.random(rows) < 0.05)
        case 4:  # has the order of the base but for neighbours
            return pa.array(base * (2 + number) + random.integers(0, 3, rows))
        case 5:
            return pa.array(random.integers(0, DAYS, rows).astype("datetime64[D]"), mask=random.random(rows) < 0.3)
        case 6:
            return pa.array(random.integers(0, 300, rows))
        case _:
            return pa.array(random.random(rows) < 0.3)


def cached_wide(columns: int, rows: int) -> Path:
    """The table as a Parquet file of the cache."""
    return cached(f"wide-{columns}-{rows}.parquet", partial(_write, columns, rows))


def _write(columns: int, rows: int, draft: Path) -> None:
    pq.write_table(wide(columns, rows), draft)
