"""TPC-H tables at a scale factor, written by ``tpchgen-cli``: ``lineitem`` has about six million rows per unit of
scale."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.tables import cache, cached

TABLES = ("region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem")


def cached_tpch(table: str = "lineitem", scale: float = 0.1) -> Path:
    """One table as a Parquet file of the cache."""
    if table not in TABLES:
        raise ValueError(f"no TPC-H table {table!r}; the tables are {', '.join(TABLES)}")
    return cached(f"tpch-{table}-{scale:g}.parquet", lambda draft: _write(table, scale, draft))


def _write(table: str, scale: float, path: Path) -> None:
    with tempfile.TemporaryDirectory(dir=cache()) as folder:
        subprocess.run(
            [
                _program(),
                "parquet",
                "-s",
                f"{scale:g}",
                "--tables",
                table,
                "--output-dir",
                folder,
                "--num-threads",
                "2",
                "--quiet",
            ],
            check=True,
        )
        Path(folder, f"{table}.parquet").replace(path)


def _program() -> str:
    """The command beside the running interpreter, or else on the path."""
    beside = Path(sys.executable).with_name("tpchgen-cli")
    found = str(beside) if beside.exists() else shutil.which("tpchgen-cli")
    if found is None:
        raise FileNotFoundError("tpchgen-cli is not installed; it is part of the 'bench' extra")
    return found
