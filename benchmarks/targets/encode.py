"""Encoding a Parquet table into ordered codes, against pyarrow dictionary-encoding the same columns in one process.

Ours also sorts every dictionary and leaves a memory-mapped file; pyarrow does neither. Spark is warm: its start is not
in the time, but its memory is in the peak (driver, JVM and Python workers together).
"""

from __future__ import annotations

from functools import partial
from typing import Any

from benchmarks.case import Case, Comparison, Contender, Options
from benchmarks.tables import tax

SIZES = (1_000_000, 10_000_000)
WARM_ROWS = 20_000


class Ours(Case):
    """``rowlaw.relation.encode`` in a warm local Spark session: as it chooses itself, or always by Spark tasks or by
    threads."""

    def __init__(self, rows: int, workers: str | None = None) -> None:
        self.rows, self.workers = rows, workers

    def prepare(self) -> None:
        from rowlaw.spark.session import session

        self.path, self.small = str(tax.cached(self.rows)[0]), str(tax.cached(WARM_ROWS)[0])
        self.session = session()

    def warm(self) -> None:
        self._encode(self.small)

    def run(self) -> dict[str, Any]:
        return self._encode(self.path)

    def close(self) -> None:
        self.session.stop()

    def _encode(self, path: str) -> dict[str, Any]:
        from rowlaw.relation import encode
        from rowlaw.source import open_source
        from rowlaw.spark.jobs import DriverThreads, SparkTasks

        workers = {None: None, "spark": SparkTasks(self.session), "threads": DriverThreads()}[self.workers]
        relation = encode(open_source(path), session=self.session, workers=workers)
        try:
            return {
                "rows": relation.rows,
                "distinct": {column.name: int(column.distinct) for column in relation.columns},
            }
        finally:
            relation.close()


class PyArrow(Case):
    """Read the file, dictionary-encode every column."""

    def __init__(self, rows: int, threads: int | None) -> None:
        self.rows, self.threads = rows, threads

    def prepare(self) -> None:
        import pyarrow as pa

        if self.threads is not None:
            pa.set_cpu_count(self.threads)
            pa.set_io_thread_count(self.threads)
        self.path = tax.cached(self.rows)[0]

    def warm(self) -> None:
        self._encode(tax.cached(WARM_ROWS)[0])

    def run(self) -> dict[str, Any]:
        return self._encode(self.path)

    def _encode(self, path: Any) -> dict[str, Any]:
        import pyarrow.parquet as pq

        table = pq.read_table(path, use_threads=self.threads != 1)
        coded = {name: table[name].dictionary_encode() for name in table.column_names}
        return {
            "rows": table.num_rows,
            "distinct": {
                name: len(column.chunk(0).dictionary) if column.num_chunks else 0 for name, column in coded.items()
            },
        }


def CASES(options: Options) -> list[Comparison]:
    """One comparison per size."""
    here = __name__
    return [
        Comparison(
            name=f"encode {name}",
            size=rows,
            ours=Contender("rowlaw", f"{here}:Ours", {"rows": rows, "workers": workers}),
            peers=(
                Contender("pyarrow, its threads", f"{here}:PyArrow", {"rows": rows, "threads": None}, bar=3.0),
                Contender("pyarrow, one thread", f"{here}:PyArrow", {"rows": rows, "threads": 1}, bar=3.0),
            ),
            make=partial(_make, rows),
        )
        for rows in options.rows or SIZES
        for name, workers in (("by Spark tasks", "spark"), ("by threads", "threads"))
    ]


def _make(rows: int) -> None:
    for number in (WARM_ROWS, rows):
        tax.cached(number)
