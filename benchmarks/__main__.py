"""``python -m benchmarks all`` measures everything, ``python -m benchmarks TARGET`` one target; ``--list`` names
them."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rich.console import Console

from benchmarks import runner
from benchmarks.case import Options
from benchmarks.documents import RESULTS
from benchmarks.tables import cache

ALL = "all"
TIMEOUT, ALL_TIMEOUT = 600.0, 150.0  # seconds: a run of everything waits less for the slowest peers
QUICK_ROWS, QUICK_TIMEOUT = 20_000, 10.0


def _numbers(text: str) -> tuple[int, ...]:
    """``1M,10_000`` as numbers."""
    units = {"k": 10**3, "M": 10**6}
    return tuple(int(float(part.rstrip("kM").replace("_", "")) * units.get(part[-1:], 1)) for part in text.split(","))


def _parser(known: dict[str, str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Measure rowlaw against its peers in one run."
    )
    parser.add_argument(
        "target",
        nargs="?",
        choices=[ALL, *sorted(known)],
        metavar="TARGET",
        help=f"{ALL}, or one of {', '.join(known)}",
    )
    parser.add_argument("--list", action="store_true", help="name the targets and their cases, measure nothing")
    parser.add_argument(
        "--rows",
        type=_numbers,
        default=(),
        metavar="N[,N...]",
        help="sizes, such as 100k,1M; default: the target's own",
    )
    parser.add_argument("--repeat", type=int, default=3, metavar="K", help="rounds at the most; default 3")
    parser.add_argument(
        "--minutes", type=float, default=60.0, metavar="M", help="nothing is repeated after these; default 60"
    )
    parser.add_argument("--only", metavar="TEXT", help="only cases whose name contains this")
    parser.add_argument(
        "--timeout",
        type=float,
        metavar="S",
        help=f"seconds for one timed call; default {TIMEOUT:g}, for {ALL} {ALL_TIMEOUT:g}",
    )
    parser.add_argument(
        "--quick", action="store_true", help="try everything out: few rows, one round, results apart from the real ones"
    )
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="where the results go; default benchmarks/results")
    return parser


def main(arguments: list[str] | None = None) -> int:
    known = runner.available()
    given = _parser(known).parse_args(arguments)
    rows, repeat, folder = given.rows, given.repeat, given.out or RESULTS
    timeout = given.timeout or (ALL_TIMEOUT if given.target == ALL else TIMEOUT)
    if given.quick:
        rows, repeat, timeout = rows or (QUICK_ROWS,), 1, min(timeout, QUICK_TIMEOUT)
        folder = given.out or cache() / "quick"
    options = Options(rows, repeat, given.only, timeout, given.minutes)
    console = Console(width=None if sys.stdout.isatty() else 180)
    if given.list or given.target is None:
        for name, description in known.items():
            console.print(f"[bold]{name}[/bold]  {description}")
            for comparison in runner.cases(name, options):
                console.print(
                    f"  {comparison.title}: {', '.join(c.label for c in (comparison.ours, *comparison.peers))}"
                )
        return 0
    notes = Console(stderr=True)
    try:
        return runner.run(list(known) if given.target == ALL else [given.target], options, console, notes, folder)
    except KeyboardInterrupt:
        notes.print(f"\nstopped; what the first round has measured is in {folder}")
        return 130


if __name__ == "__main__":
    sys.exit(main())
