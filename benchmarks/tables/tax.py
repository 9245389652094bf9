"""The Tax table: 15 columns of people and what they pay, with planted rules, planted errors and the exact violations
they cause.

>>> table, truth = generate(3_000, seed=7, errors={ZIP_CITY: 5})
>>> table.num_rows, table.num_columns, len(truth.cells), truth.broken[KEY]
(3000, 15, 5, Broken(pairs=0, rows=0))

Ten million rows take about a minute; ``write_parquet`` holds one row group at a time.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from benchmarks.tables import cached as cached_file
from benchmarks.tables.tax_damage import (
    AREA_STATE,
    CHILD_EXEMPTION,
    KEY,
    RATE_ORDER,
    RULES,
    SINGLE_EXEMPTION,
    ZIP_CITY,
    ZIP_STATE,
    Cells,
    damage_block,
    spread,
    wanted,
)
from benchmarks.tables.tax_rows import SCHEMA, Codes, block_sizes, clean_block, column_to_arrow, to_batch
from benchmarks.tables.tax_truth import Broken, Tally, broken_key

__all__ = [
    "AREA_STATE",
    "CHILD_EXEMPTION",
    "KEY",
    "RATE_ORDER",
    "RULES",
    "SCHEMA",
    "SINGLE_EXEMPTION",
    "ZIP_CITY",
    "ZIP_STATE",
    "Broken",
    "Cell",
    "Truth",
    "cached",
    "generate",
    "later",
    "write_csv",
    "write_parquet",
]

Errors = Mapping[str, int] | int
ROW_GROUP = 1_000_000


@dataclass(frozen=True, slots=True)
class Cell:
    """One damaged cell and the rule it was meant to break."""

    row: int
    column: str
    old: Any
    new: Any
    rule: str


@dataclass(frozen=True, slots=True)
class Truth:
    """All damaged cells, in row order, and for every planted rule how often the damaged table violates it."""

    cells: tuple[Cell, ...]
    broken: dict[str, Broken]

    def to_json(self) -> str:
        return json.dumps(
            {"cells": [asdict(c) for c in self.cells], "broken": {r: asdict(b) for r, b in self.broken.items()}}
        )

    @classmethod
    def from_json(cls, text: str) -> Truth:
        data = json.loads(text)
        return cls(tuple(Cell(**c) for c in data["cells"]), {rule: Broken(**b) for rule, b in data["broken"].items()})


class TaxTable:
    """One pass over the blocks of a damaged table; the truth is complete when the pass is."""

    def __init__(self, rows: int, seed: int, errors: Errors) -> None:
        self.rows, self.seed = rows, seed
        self.plan = spread(rows, seed, wanted(errors))
        self.damaged: list[Cells] = []
        self.tally = Tally()

    def blocks(self) -> Iterator[Codes]:
        for block, size in enumerate(block_sizes(self.rows)):
            codes = clean_block(self.seed, block, size)
            self.damaged += damage_block(codes, self.seed, block, self.plan[block])
            self.tally.add(codes)
            yield codes

    def batches(self) -> Iterator[pa.RecordBatch]:
        for codes in self.blocks():
            yield to_batch(codes, self.seed)

    def chunks(self, size: int) -> Iterator[pa.Table]:
        """The same rows in tables of ``size`` rows."""
        waiting: list[pa.RecordBatch] = []
        have = 0
        for batch in self.batches():
            waiting.append(batch)
            have += batch.num_rows
            while have >= size:
                table = pa.Table.from_batches(waiting)
                yield table.slice(0, size)
                waiting, have = table.slice(size).to_batches(), have - size
        if have:
            yield pa.Table.from_batches(waiting)

    def truth(self) -> Truth:
        cells = [cell for cells in self.damaged for cell in _readable(cells, self.seed)]
        broken = {KEY: broken_key(self.rows, self.seed, self.damaged)} | self.tally.broken()
        return Truth(tuple(sorted(cells, key=lambda c: c.row)), {rule: broken[rule] for rule in RULES})


def _readable(cells: Cells, seed: int) -> Iterator[Cell]:
    old = column_to_arrow(cells.column, cells.old, seed).to_pylist()
    new = column_to_arrow(cells.column, cells.new, seed).to_pylist()
    for row, before, after in zip(cells.row.tolist(), old, new, strict=True):
        yield Cell(row, cells.column, before, after, cells.rule)


def generate(rows: int, seed: int = 0, errors: Errors = 0) -> tuple[pa.Table, Truth]:
    """The table in memory. ``errors``: cells to damage per rule, as a mapping from rule text or one number for all
    rules."""
    table = TaxTable(rows, seed, errors)
    return pa.Table.from_batches(table.batches(), SCHEMA), table.truth()


def later(rows: int, block: int, seed: int = 0, errors: Errors = 0) -> pa.Table:
    """The first rows of a block: people of the same world that a table which ends before that block does not have."""
    codes = clean_block(seed, block, rows)
    damage_block(codes, seed, block, spread(rows, seed, wanted(errors))[0])
    return pa.Table.from_batches([to_batch(codes, seed)], SCHEMA)


def write_parquet(path: Path, rows: int, seed: int = 0, errors: Errors = 0, row_group_size: int = ROW_GROUP) -> Truth:
    """The same table as a Parquet file."""
    table = TaxTable(rows, seed, errors)
    with pq.ParquetWriter(path, SCHEMA) as writer:
        for chunk in table.chunks(row_group_size):
            writer.write_table(chunk, row_group_size=row_group_size)
    return table.truth()


def write_csv(path: Path, rows: int, seed: int = 0, errors: Errors = 0) -> Truth:
    """The same table as CSV with a header; no value needs quotes, and zip codes keep their zeros."""
    table = TaxTable(rows, seed, errors)
    options = pyarrow.csv.WriteOptions(quoting_style="none")
    with pyarrow.csv.CSVWriter(path, SCHEMA, write_options=options) as writer:
        for batch in table.batches():
            writer.write_batch(batch)
    return table.truth()


def cached(rows: int, seed: int = 0, errors: Errors = 0, suffix: str = "parquet") -> tuple[Path, Truth]:
    """The table as a file of the cache (``parquet`` or ``csv``), with its truth beside it."""
    digest = hashlib.sha256(json.dumps(sorted(wanted(errors).items())).encode() + _fingerprint()).hexdigest()[:8]
    name = f"tax-{rows}-{seed}-{digest}"
    write = {"parquet": write_parquet, "csv": write_csv}[suffix]
    truths: list[Truth] = []
    path = cached_file(f"{name}.{suffix}", lambda draft: truths.append(write(draft, rows, seed, errors)))
    note = path.with_suffix(f".{suffix}.truth.json")
    if truths or not note.exists():
        truth = truths[0] if truths else _count(rows, seed, errors)
        note.write_text(truth.to_json(), encoding="utf-8")
    return path, Truth.from_json(note.read_text(encoding="utf-8"))


def _count(rows: int, seed: int, errors: Errors) -> Truth:
    table = TaxTable(rows, seed, errors)
    for _ in table.blocks():
        pass
    return table.truth()


@lru_cache(maxsize=1)
def _fingerprint() -> bytes:
    """Changes when the generator does, so that an old file of the cache is not taken for a new one."""
    table, truth = generate(4_096, errors=1)
    return json.dumps(table.to_pylist()).encode() + truth.to_json().encode()
