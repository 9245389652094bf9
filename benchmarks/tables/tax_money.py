"""The Tax table with three more columns of many values each, as a folder of Parquet files: what a large table on a
cluster looks like.

``Income`` (cents, whole), ``Spent`` (an amount with cents) and ``Wealth`` (cents, whole) have nearly as many values as
there are rows. The other columns, their errors and the truth about the planted rules are those of
``benchmarks.tables.tax``. The violations of two rules that compare the new columns are counted here by sorting and
merging, which shares nothing with the engines.

Fifty million rows take about eight minutes and 2.5 GB of memory for counting; a file is written block by block.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import numba
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.tables import cache, tax
from benchmarks.tables.tax_rows import BLOCK, SCHEMA, Codes, to_batch
from benchmarks.tables.tax_world import Ints

MORE = pa.schema([("Income", pa.int64()), ("Spent", pa.float64()), ("Wealth", pa.int64())])
INCOME_SPENT = "not (s.Income < t.Income and s.Spent > t.Spent)"
SPENT_WEALTH = "not (s.Spent >= t.Spent and s.Wealth < t.Wealth)"
RULES = (*tax.RULES, INCOME_SPENT, SPENT_WEALTH)
FILE_ROWS = 500_000
ERRORS_PER_ROW = 1 / 1_000  # for each planted rule
_STREAM = 5  # keeps these draws apart from those of the other columns
_TRUTH = "_truth.json"  # Spark leaves out names that begin so


def money(codes: Codes, seed: int, block: int) -> dict[str, npt.NDArray]:
    """The new columns of a block, drawn whole as the others are."""
    rng = np.random.default_rng([seed, block, _STREAM])
    size = len(codes["Salary"])
    cents, share, wealth = rng.integers(0, 10_000, BLOCK), rng.uniform(0.3, 1.1, BLOCK), rng.lognormal(15.0, 1.5, BLOCK)
    income = codes["Salary"] * 100 + cents[:size]
    return {"Income": income, "Spent": np.round(income * share[:size]) / 100, "Wealth": wealth[:size].astype(np.int64)}


class MoneyTable(tax.TaxTable):
    """The Tax table with the new columns."""

    def batches(self) -> Iterator[pa.RecordBatch]:
        for block, codes in enumerate(self.blocks()):
            more = money(codes, self.seed, block)
            columns = [*to_batch(codes, self.seed).columns, *(pa.array(more[name]) for name in MORE.names)]
            yield pa.record_batch(columns, schema=pa.schema([*SCHEMA, *MORE]))


def cached(rows: int, seed: int = 0) -> tuple[Path, dict[str, int]]:
    """The folder of the table in the cache, made when it is not there yet, and the violations of each of
    :data:`RULES`."""
    folder = cache() / f"tax-money-{rows}-{seed}-{_fingerprint()}"
    if not folder.exists():
        draft = folder.with_name(f".{os.getpid()}-{folder.name}")
        try:
            write(draft, rows, seed)
            draft.replace(folder)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    return folder, json.loads((folder / _TRUTH).read_text(encoding="utf-8"))


def write(folder: Path, rows: int, seed: int = 0) -> dict[str, int]:
    """Write the files and the truth about them."""
    folder.mkdir(parents=True)
    table = MoneyTable(rows, seed, round(rows * ERRORS_PER_ROW))
    for number, chunk in enumerate(table.chunks(FILE_ROWS)):
        pq.write_table(chunk, folder / f"part-{number:05d}.parquet")
    truth = {rule: broken.pairs for rule, broken in table.truth().broken.items()} | _inequalities(folder)
    (folder / _TRUTH).write_text(json.dumps(truth), encoding="utf-8")
    return truth


def _inequalities(folder: Path) -> dict[str, int]:
    whole = pq.read_table(folder, columns=MORE.names)
    income, spent, wealth = (whole.column(name).to_numpy() for name in MORE.names)
    cents = np.round(spent * 100).astype(np.int64)
    return {INCOME_SPENT: inverted(income, cents), SPENT_WEALTH: inverted(wealth, cents, or_equal=True)}


def inverted(a: Ints, b: Ints, *, or_equal: bool = False) -> int:
    """Ordered pairs of rows with less ``a`` and more ``b`` (or as much, with ``or_equal``), in n log n steps.

    >>> few = inverted(np.array([1, 2, 2, 3]), np.array([5, 4, 6, 4]))
    >>> few, inverted(np.array([1, 1, 2]), np.array([4, 4, 4]), or_equal=True)
    (3, 2)
    """
    order = np.lexsort((b, a))  # among equal a, b ascends: such rows are no inversions
    ranked = b[order]
    del order
    found = int(_inversions(ranked, np.empty_like(ranked)))
    if or_equal:  # equal in b, but not in a
        order = np.lexsort((a, b))
        found += _equal_pairs([b[order]]) - _equal_pairs([b[order], a[order]])
    return found


def _equal_pairs(sorted_columns: list[Ints]) -> int:
    """Pairs of neighbours' groups: rows that are equal in all columns, which are sorted together."""
    n = len(sorted_columns[0])
    if not n:
        return 0
    new = np.zeros(n, np.bool_)
    new[0] = True
    for column in sorted_columns:
        new[1:] |= column[1:] != column[:-1]
    sizes = np.diff(np.append(np.flatnonzero(new), n))
    return int((sizes * (sizes - 1) // 2).sum())


@numba.njit(cache=True)
def _inversions(values: Ints, spare: Ints) -> int:
    """Pairs of positions i < j with ``values[i] > values[j]``, by merging from below; both arrays (int64, n) are
    overwritten."""
    n, found, width = len(values), 0, 1
    source, target = values, spare
    while width < n:
        for start in range(0, n, 2 * width):
            middle, end = min(start + width, n), min(start + 2 * width, n)
            left, right = start, middle
            for place in range(start, end):
                if left < middle and (right >= end or source[left] <= source[right]):
                    target[place] = source[left]
                    left += 1
                else:
                    target[place] = source[right]
                    right += 1
                    found += middle - left
        source, target = target, source
        width *= 2
    return found


def _fingerprint() -> str:
    """Changes when the generator does, so that an old folder of the cache is not taken for a new one."""
    table = MoneyTable(4_096, 0, 1)
    rows = pa.Table.from_batches(table.batches())
    return hashlib.sha256(json.dumps([rows.to_pylist(), FILE_ROWS, ERRORS_PER_ROW]).encode()).hexdigest()[:8]
