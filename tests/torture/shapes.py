"""Tables of odd shapes: each is checked, discovered and made a state of, in bounded time and memory."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tests.torture.commands import ROWLAW, complaint, environment
from tests.torture.outcome import Outcome

ROWS = 10_000_000
LIMIT = 120.0  # seconds for a command
DISCOVERY = 10.0  # seconds after which discovery shows what is proven
MOST_MEMORY = 6 << 30  # bytes


def one_row(_: int) -> pa.Table:
    return pa.table({"a": [1], "b": ["x"], "c": pa.nulls(1, pa.int64())})


def wide(_: int) -> pa.Table:
    random = np.random.default_rng(1)
    return pa.table({f"c{i}": random.integers(0, (2, 5, 50, 1000)[i % 4], 1000) for i in range(1000)})


def one_value(rows: int) -> pa.Table:
    return pa.table({"a": np.full(rows, 7), "b": pa.repeat(pa.scalar("seven"), rows)})


def all_distinct(rows: int) -> pa.Table:
    return pa.table({"a": np.random.default_rng(1).permutation(rows), "b": np.arange(rows)})


def all_null(rows: int) -> pa.Table:
    return pa.table({"a": pa.nulls(rows, pa.int64()), "b": pa.nulls(rows, pa.string()), "c": np.arange(rows) % 3})


SHAPES: dict[str, Callable[[int], pa.Table]] = {
    f.__name__.replace("_", " "): f for f in (one_row, wide, one_value, all_distinct, all_null)
}


@dataclass(frozen=True)
class Ended:
    code: int
    told: str
    seconds: float
    memory: int  # bytes, at most


def bounded(arguments: list[str], folder: Path) -> Ended:
    """Run a command; one that takes too long is killed."""
    with open(folder / "told", "w+b") as told:
        began = time.monotonic()
        process = subprocess.Popen(
            [ROWLAW, *arguments], cwd=folder, env=environment(), stdout=subprocess.DEVNULL, stderr=told
        )
        while True:
            ended, status, used = os.wait4(process.pid, os.WNOHANG)
            if ended:
                break
            if time.monotonic() - began > LIMIT:
                os.kill(process.pid, signal.SIGKILL)
                _, status, used = os.wait4(process.pid, 0)
                break
            time.sleep(0.02)
        process.returncode = os.waitstatus_to_exitcode(status)
        told.seek(0)
        return Ended(
            process.returncode, told.read().decode(errors="replace"), time.monotonic() - began, used.ru_maxrss * 1024
        )


def run(rows: int = ROWS, names: list[str] | None = None) -> Outcome:
    outcome = Outcome(
        "shapes", "tables of one row, 1,000 columns, and many rows of one value, all distinct or all null"
    )
    outcome.facts = {"rows": rows, "commands": {}}
    for name, make in SHAPES.items():
        if names is not None and name not in names:
            continue
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            table = make(rows)
            pq.write_table(table, folder / "table.parquet")
            a, b = table.column_names[:2]
            del table
            rules = [f"key ({a})", f"fd ({a}) -> {b}", f"od {{}}: {a} ~ {b}"]
            # a state keeps all rules, and of a thousand columns there are more than anybody can keep: one names those
            # that matter
            narrowed = ["--columns", ",".join(f"c{i}" for i in range(12))] if name == "wide" else []
            limited = ["--time-limit", str(DISCOVERY)]
            commands = {
                "check": ["check", "table.parquet", *(word for rule in rules for word in ("--rule", rule))],
                "discover": ["discover", "table.parquet", *limited],
                "discover --no-cross": ["discover", "table.parquet", "--no-cross", *limited],
                "init --no-cross": ["init", "state", "table.parquet", "--no-cross", *narrowed],
            }
            for command, arguments in commands.items():
                ended = bounded([*arguments, "--quiet"], folder)
                outcome.cases += 1
                wrong = complaint(ended.code, ended.told, (0, 1, 2) if command == "check" else (0, 2))
                if ended.memory > MOST_MEMORY:
                    wrong = f"{ended.memory >> 20:,} MB"
                if wrong is not None:
                    outcome.failures.append(f"{name}, {command}, {ended.seconds:.0f} s: {wrong}")
                outcome.facts["commands"][f"{name}, {command}"] = {
                    "seconds": round(ended.seconds, 1),
                    "megabytes": ended.memory >> 20,
                }
    return outcome
