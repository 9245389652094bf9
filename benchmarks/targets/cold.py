"""Commands from the start of their process to their answer, kernels compiled or not; no peers.

No file starts Spark on one machine; what starting it costs is measured by itself, for tables that only Spark can read.
To compare two versions, run this target with the other version's ``src`` in ``PYTHONPATH`` and another folder for
``--out``.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from benchmarks.case import OURS, Case, Comparison, Contender, Options
from benchmarks.tables import by_name, cached

ROWS, MANY_ROWS = 30_000, 1_000_000
COLUMNS = ("carrier", "flight", "tailnum", "origin", "dest", "distance", "month", "day")
RULES = (
    "key (month, day, flight, carrier)",
    "fd (origin, dest) -> distance",
    "not (s.origin = t.origin and s.carrier = t.carrier and s.distance < t.distance and s.flight > t.flight)",
)
LIBRARIES = "import numpy, pyarrow.compute, pyarrow.csv, numba, rich.console, typer, os; os._exit(0)"
SPARK = "from rowlaw.spark.session import session; session().range(1).count()"


def small(rows: int) -> Path:
    """Some columns of the first flights."""
    return cached(f"flights-cold-{rows}.csv", partial(_write, "flights", rows, COLUMNS))


def large(rows: int) -> Path:
    """The tax table."""
    return cached(f"tax-cold-{rows}.csv", partial(_write, "tax", rows, None))


def _write(table: str, rows: int, columns: Sequence[str] | None, draft: Path) -> None:
    pacsv.write_csv(pq.read_table(by_name.path(table, rows), columns=list(columns) if columns else None), draft)


def _python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def _rowlaw(*arguments: str) -> list[str]:
    return [str(Path(sys.executable).with_name("rowlaw")), *arguments]


def _check(table: Path, *rules: str) -> list[str]:
    return _rowlaw(
        "check", str(table), *(part for rule in rules for part in ("--rule", rule)), "--format", "json", "--quiet"
    )


COMMANDS: dict[str, Callable[[int], list[str]]] = {
    "interpreter": lambda _: _python("pass"),
    "libraries": lambda _: _python(LIBRARIES),
    "help": lambda _: _rowlaw("--help"),
    "check": lambda rows: _check(small(rows), *RULES),
    "discover": lambda rows: _rowlaw("discover", str(small(rows)), "--format", "json", "--quiet"),
    "spark": lambda _: _python(SPARK),
    "check many": lambda rows: _check(large(rows), "fd (Zip) -> State"),
}


class Command(Case):
    """One command in a process of its own; ``fresh`` with an empty cache, as when rowlaw has just been installed."""

    def __init__(self, command: str, rows: int, fresh: bool = False) -> None:
        self.command, self.fresh = COMMANDS[command](rows), fresh
        self.environment = dict(os.environ)

    def prepare(self) -> None:
        if self.fresh:
            self.folder = tempfile.mkdtemp()
            self.environment = {**os.environ, "ROWLAW_CACHE": self.folder}
            self.environment.pop("NUMBA_CACHE_DIR", None)

    def warm(self) -> None:
        """Kernels are compiled and files are in memory."""
        if not self.fresh:
            self.run()

    def run(self) -> str:
        done = subprocess.run(
            self.command, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
        if done.returncode not in (0, 1):  # 1: a rule is broken
            raise RuntimeError(done.stderr)
        return done.stdout

    def in_short(self, found: str) -> Any:
        """The rules, with the violations of each where they were checked."""
        if not found.startswith("{"):
            return None
        return sorted([rule["rule"], rule.get("violations")] for rule in json.loads(found)["rules"])

    def close(self) -> None:
        if self.fresh:
            shutil.rmtree(self.folder, ignore_errors=True)


def CASES(options: Options) -> list[Comparison]:
    """From nothing at all to a million rows."""
    rows = min(options.rows, default=ROWS)
    many = max(options.rows, default=MANY_ROWS)

    def comparison(
        name: str, command: str, size: int | None = None, make: Callable[[], object] | None = None, **params: Any
    ) -> Comparison:
        job = Contender(OURS, f"{__name__}:Command", {"command": command, "rows": size or 0, **params})
        return Comparison(name=name, ours=job, size=size, make=make)

    flights, tax = partial(small, rows), partial(large, many)
    return [
        comparison("the interpreter alone", "interpreter"),
        comparison("importing the libraries", "libraries"),
        comparison("rowlaw --help", "help"),
        comparison("rowlaw check, three rules", "check", rows, flights),
        comparison("rowlaw discover, all kinds", "discover", rows, flights),
        comparison("rowlaw check, compiling its kernels", "check", rows, flights, fresh=True),
        comparison("rowlaw discover, compiling its kernels", "discover", rows, flights, fresh=True),
        comparison("starting Spark", "spark"),
        comparison("rowlaw check, many rows", "check many", many, tax),
    ]
