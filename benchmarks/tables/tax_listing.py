"""The Tax table with pay in cents and amounts that follow it, to list violations of: a chosen number of them for each
row.

``Gross`` is the salary with random cents, so that nearly all values are different. Other columns follow its order
except for disturbances of known size:

- ``Cap<m>``: zero, except in ``10 m`` rows, where it is above a tenth of all ``Gross``: ``s.Gross < t.Cap<m>`` holds m
  times for each row;
- ``Late<m>``: ``Gross``, except in ``3 m`` rows, which have that of another row: errors, each in violations with a
  third of all rows;
- ``Paid<k><letter>_<m>``: near ``Gross``, in every row a little off, such that k inequalities (``Gross`` ascends, all
  ``Paid<k>`` descend) hold together about m times for each row;
- ``Bonus`` and ``Total``: ``Total`` is ``Gross`` plus ``Bonus``, in one row of 500 five percent less. Who has more of
  both must have more in total: three inequalities, of which any two hold for a large share of all pairs.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.tables import cached as cached_file
from benchmarks.tables import tax

PER_ROW = (1, 10, 100)  # violations
# places in order by which values of Paid<k> are off, for one violation for each row: measured
SPREAD = {2: 6, 3: 20, 4: 57}
LETTERS = "abc"
TAX_COLUMNS = ("FName", "LName", "AreaCode", "City", "State", "Zip", "Salary", "Rate", "ChildExemp")
_VERSION = 1


def cached(rows: int) -> Path:
    """The table as a Parquet file of the cache."""
    source = tax.cached(rows)[0]
    return cached_file(f"{source.stem}-to-list-{_VERSION}.parquet", lambda draft: pq.write_table(made(source), draft))


def made(source: Path, seed: int = 0) -> pa.Table:
    """The table from a Tax file."""
    table = pq.read_table(source, columns=list(TAX_COLUMNS))
    rng, rows = np.random.default_rng(seed), table.num_rows
    gross = table["Salary"].to_numpy().astype(np.int64) * 100 + rng.integers(0, 10_000, rows)
    ordered = np.sort(gross)
    rank = np.empty(rows, np.int64)
    rank[np.argsort(gross, kind="stable")] = np.arange(rows)
    columns: dict[str, np.ndarray] = {"Gross": gross}
    for m in PER_ROW:
        cap, late = np.zeros(rows, np.int64), gross.copy()
        cap[rng.choice(rows, min(rows, 10 * m), replace=False)] = ordered[rows // 10]
        errors = rng.choice(rows, min(rows, 3 * m), replace=False)
        late[errors] = gross[rng.integers(0, rows, len(errors))]
        columns |= {f"Cap{m}": cap, f"Late{m}": late}
        for k, spread in SPREAD.items():
            for letter in LETTERS[: k - 1]:
                columns[f"Paid{k}{letter}_{m}"] = rank * 1_000 + rng.integers(0, spread * m * 1_000, rows)
    bonus = rng.integers(0, 200_000, rows)
    total = gross + bonus
    wrong = rng.choice(rows, rows // 500, replace=False)
    total[wrong] = total[wrong] * 95 // 100
    for name, values in (columns | {"Bonus": bonus, "Total": total}).items():
        table = table.append_column(name, pa.array(values))
    return table
