"""Time limits: how long ``rowlaw discover --time-limit`` takes, from the start of its process to its end, against the
limit itself.

The tables have more rules than anybody waits for. The bar is what a limit promises: at most two seconds or a tenth
over, whichever is more. The answer is how many of the first rules listed are broken, which a check tells afterwards:
none may be.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.case import OURS, Case, Comparison, Contender, Options
from benchmarks.tables import flights, wide

OVER_SECONDS, OVER_SHARE = 2.0, 0.1
CHECKED = 300  # rules
SIZES = ((20, 300_000), (32, 50_000), (48, 10_000), (48, 100_000))  # columns, rows
LIMITS = (5.0, 40.0)
FLIGHTS = "flights"
VARIANTS: dict[str, tuple[str, ...]] = {
    "": (),
    "denial constraints": ("--kinds", "dc"),
    "with exceptions": ("--error", "0.01"),
    "levels": ("--strategy", "levels", "--kinds", "fd,od"),
    "all pairs": ("--strategy", "pairs"),
}


def path(table: str) -> Path:
    """The file of a table: ``flights``, or ``columns x rows`` of a wide one."""
    if table == FLIGHTS:
        return flights.cached_flights()
    columns, _, rows = table.partition("x")
    return wide.cached_wide(int(columns), int(rows))


class Command(Case):
    """``rowlaw discover`` with a limit, in a process of its own."""

    def __init__(self, table: str, limit: float, options: list[str]) -> None:
        self.table, self.limit, self.options = path(table), limit, options

    def warm(self) -> None:
        """Kernels are compiled, and the file is in memory."""
        self._run(min(self.limit, LIMITS[0]))

    def run(self) -> str:
        return self._run(self.limit)

    def _run(self, limit: float) -> str:
        command = [
            str(Path(sys.executable).with_name("rowlaw")),
            "discover",
            str(self.table),
            "--time-limit",
            f"{limit:g}",
            *self.options,
        ]
        done = subprocess.run([*command, "--format", "json", "--quiet"], capture_output=True, text=True, check=True)
        return done.stdout

    def in_short(self, found: str) -> dict[str, Any]:
        import rowlaw

        rules = [] if "--error" in self.options else [rule["rule"] for rule in json.loads(found)["rules"][:CHECKED]]
        counts = rowlaw.check(self.table, rules).counts if rules else {}
        return {"broken": sum(number > 0 for number in counts.values())}


class Limit(Case):
    """The time that was allowed, and the answer that is wanted."""

    def __init__(self, limit: float) -> None:
        self.limit = limit

    def run(self) -> dict[str, Any]:
        time.sleep(self.limit)
        return {"broken": 0}


def bar(limit: float) -> float:
    """The largest ratio of the time taken to the limit.

    >>> bar(5.0), bar(40.0)
    (1.4, 1.1)
    """
    return 1 + max(OVER_SECONDS / limit, OVER_SHARE)


def CASES(options: Options) -> list[Comparison]:
    """Each table within a short and a longer limit; in flights also each way to search."""
    most = max(options.rows, default=max(rows for _, rows in SIZES))
    tables = list(dict.fromkeys([FLIGHTS, *(f"{columns}x{min(rows, most)}" for columns, rows in SIZES)]))
    short, long = LIMITS
    found = [
        _comparison(table, short, variant)
        for table in tables
        for variant in VARIANTS
        if not variant or table == FLIGHTS
    ]
    return found + [_comparison(table, long, "") for table in tables if long <= options.timeout]


def _comparison(table: str, limit: float, variant: str) -> Comparison:
    ours = Contender(OURS, f"{__name__}:Command", {"table": table, "limit": limit, "options": list(VARIANTS[variant])})
    allowed = Contender(f"{OURS}, its limit", f"{__name__}:Limit", {"limit": limit}, bar=bar(limit))
    make: Callable[[], object] = partial(path, table)
    title = " ".join(
        filter(None, (f"{limit:g} s,", table.replace("x", " columns x "), f"({variant})" if variant else ""))
    )
    return Comparison(title, ours, (allowed,), make=make)
