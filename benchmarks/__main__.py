"""``python -m benchmarks TARGET`` measures one target; ``python -m benchmarks --list`` names them."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rich.console import Console

from benchmarks import runner
from benchmarks.case import Options


def _numbers(text: str) -> tuple[int, ...]:
    """``1M,10_000`` as numbers."""
    units = {"k": 10**3, "M": 10**6}
    return tuple(int(float(part.rstrip("kM").replace("_", "")) * units.get(part[-1:], 1)) for part in text.split(","))


def main(arguments: list[str] | None = None) -> int:
    known = runner.available()
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure rowlaw against its peers in one run.")
    parser.add_argument("target", nargs="?", choices=sorted(known))
    parser.add_argument("--list", action="store_true", help="name the targets and their cases, measure nothing")
    parser.add_argument("--rows", type=_numbers, default=(), metavar="N[,N...]", help="sizes, such as 100k,1M; default: the target's own")
    parser.add_argument("--repeat", type=int, default=3, metavar="K", help="rounds; default 3")
    parser.add_argument("--only", metavar="TEXT", help="only cases whose name contains this")
    parser.add_argument("--timeout", type=float, default=600.0, metavar="S", help="seconds for one timed call; default 600")
    parser.add_argument("--out", type=Path, metavar="FILE", help="where the results go; default benchmarks/results/TARGET.json")
    given = parser.parse_args(arguments)
    options = Options(given.rows, given.repeat, given.only, given.timeout)
    console = Console(width=None if sys.stdout.isatty() else 180)
    if given.list or given.target is None:
        for name, description in known.items():
            console.print(f"[bold]{name}[/bold]  {description}")
            for comparison in runner.cases(name, options):
                console.print(f"  {comparison.title}: {', '.join(c.label for c in (comparison.ours, *comparison.peers))}")
        return 0
    return runner.run(given.target, options, console, Console(stderr=True), given.out)


if __name__ == "__main__":
    sys.exit(main())
