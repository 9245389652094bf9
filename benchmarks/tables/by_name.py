"""The first rows of a table by its name, as a Parquet file of the cache, and the same encoded by rowlaw."""

from __future__ import annotations

import hashlib
import math
import os
import pickle
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.tables import cache, cached, flights, tax, tax_listing, tpch

if TYPE_CHECKING:
    from rowlaw.relation import Relation

ERRORS_PER_ROW = 1 / 1_000  # for each planted rule of Tax: a thousand in a million rows
LINES_PER_SCALE = 6_000_000  # rows of lineitem, nearly
NULL_SHARE = 0.01  # of the cells of Tax with nulls
WITHOUT_NULLS = ("State", "Zip")
_ENCODED = "relation.pickle"


def path(name: str, rows: int) -> Path:
    """A table of at most ``rows`` rows."""
    match name:
        case "tax":
            return tax.cached(rows)[0]
        case "tax with errors":
            return tax.cached(rows, errors=round(rows * ERRORS_PER_ROW))[0]
        case "tax with nulls":
            return _with_nulls(path("tax with errors", rows))
        case "tax to list":
            return tax_listing.cached(rows)
        case "flights":
            return _head(flights.cached_flights(), rows)
        case "legs":
            return _head(flights.cached_legs(), rows)
        case "lineitem":
            scale = math.ceil(rows * 101 / LINES_PER_SCALE) / 100  # a hundredth more than is needed, for what is random
            return _head(tpch.cached_tpch("lineitem", scale), rows)
    raise ValueError(f"no table {name!r}")


def size(name: str, rows: int) -> int:
    """How many rows ``path(name, rows)`` has."""
    return min(rows, flights.ROWS) if name in ("flights", "legs") else rows


def _head(whole: Path, rows: int) -> Path:
    if pq.read_metadata(whole).num_rows <= rows:
        return whole
    return cached(
        f"{whole.stem}-first-{rows}.parquet", lambda draft: pq.write_table(pq.read_table(whole).slice(0, rows), draft)
    )


def _with_nulls(whole: Path) -> Path:
    """The table with nulls in one cell of a hundred, except in two columns."""
    return cached(f"{whole.stem}-nulls.parquet", lambda draft: pq.write_table(_nulled(pq.read_table(whole)), draft))


def _nulled(table: pa.Table) -> pa.Table:
    random = np.random.default_rng(0)
    for i, name in enumerate(table.column_names):
        if name not in WITHOUT_NULLS:
            empty = pa.array(random.random(table.num_rows) < NULL_SHARE)
            table = table.set_column(i, name, pc.if_else(empty, pa.scalar(None, table[name].type), table[name]))
    return table


def encoded(name: str, rows: int, columns: Sequence[str] | None = None) -> Relation:
    """The table as a relation, kept in the cache until the encoder changes.

    So the process that is measured holds the mapped codes and nothing that is left over from making them.
    """
    from rowlaw.relation import encode
    from rowlaw.source import open_source
    from rowlaw.spark.jobs import DriverThreads

    source = path(name, rows)
    which = hashlib.sha256("\n".join(columns or ()).encode()).hexdigest()[:8] if columns else "all"
    stem = f"encoded-{source.stem}-{which}-"
    folder = cache() / f"{stem}{_encoder()}"
    if not (folder / _ENCODED).exists():
        for old in cache().glob(f"{stem}*"):
            shutil.rmtree(old, ignore_errors=True)
        draft = folder.with_name(f"{folder.name}.{os.getpid()}")
        made = encode(open_source(str(source), columns=columns), folder=draft, workers=DriverThreads())
        (draft / _ENCODED).write_bytes(pickle.dumps((made.rows, made.columns)))
        try:
            draft.replace(folder)
        except OSError:  # somebody else has made it meanwhile
            shutil.rmtree(draft)
    return _opened(folder)


def _opened(folder: Path) -> Relation:
    from rowlaw.relation import Relation

    rows, columns = pickle.loads((folder / _ENCODED).read_bytes())
    return Relation(folder, rows, columns)


def _encoder() -> str:
    """A digest of the code that encodes: a relation made by other code is not used again."""
    import rowlaw

    root = Path(rowlaw.__file__).parent
    code = hashlib.sha256()
    for file in sorted(file for package in ("relation", "source", "kernels") for file in (root / package).glob("*.py")):
        code.update(file.read_bytes())
    return code.hexdigest()[:8]
