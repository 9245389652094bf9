"""Tries to break rowlaw: ``python -m tests.torture [PART...] [--minutes 10] [--out FILE]``.

Without parts, all of them in turn. A part says what it tried and what went wrong; the run fails if anything did. ``make
torture`` writes ``benchmarks/results/summary.json``, from which docs/torture.md is made.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

from tests.torture.outcome import Outcome

MINUTES = 10.0  # of a whole run on two cores
SHARE = 0.5  # of the time for random cases at most, in which a million are tried on a machine of its own
FOUND = Path(__file__).with_name("found.json")


def cases(minutes: float, seed: int, chunk: int | None) -> Outcome:
    from tests.torture import cases

    share = minutes / MINUTES
    return cases.run(60 * minutes * SHARE, wanted=max(20_000, round(cases.MILLION * share)), seed=seed, only=chunk)


def state(minutes: float, seed: int, _: int | None) -> Outcome:
    from tests.torture import state

    return state.run(max(8, round(40 * minutes / MINUTES)), seed=seed)


def apply(_minutes: float, seed: int, _: int | None) -> Outcome:
    from tests.torture import kills

    return kills.run_apply(seed=seed)


def kills(minutes: float, seed: int, _: int | None) -> Outcome:
    from tests.torture import kills

    share = minutes / MINUTES
    return kills.run(max(1, round(2 * share)), apply_kills=max(5, round(50 * share)), seed=seed)


def cluster(_minutes: float, _seed: int, _: int | None) -> Outcome:
    from tests.torture import cluster

    return cluster.run()


def spark(minutes: float, seed: int, chunk: int | None) -> Outcome:
    from tests.torture import spark

    wanted = max(200, round(spark.CASES * minutes / MINUTES))
    return spark.run(wanted * spark.CASE_SECONDS, wanted=wanted, seed=seed, only=chunk)


def faults(_minutes: float, _seed: int, _: int | None) -> Outcome:
    from tests.torture import faults

    return faults.run()


def hostile(minutes: float, seed: int, _: int | None) -> Outcome:
    from tests.torture import hostile

    return hostile.run(max(2_000, round(hostile.TEXTS * minutes / MINUTES)), seed=seed)


def shapes(minutes: float, _seed: int, _: int | None) -> Outcome:
    from tests.torture import shapes

    return shapes.run(shapes.ROWS if minutes >= MINUTES else 1_000_000)


Part = Callable[[float, int, int | None], Outcome]
PARTS: dict[str, Part] = {run.__name__: run for run in (cases, kills, state, cluster, spark, faults, hostile, shapes)}
ALONE: dict[str, Part] = {"apply": apply}  # a piece of another part


def elsewhere(name: str, minutes: float, seed: int) -> Outcome:
    """A part in a process of its own: the memory of one part would count as that of commands which the next one
    starts."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "outcome.json"
        command = [
            sys.executable,
            "-m",
            "tests.torture",
            name,
            "--minutes",
            str(minutes),
            "--seed",
            str(seed),
            "--out",
            str(out),
        ]
        ended = subprocess.run(command, check=False)
        if not out.exists():
            return Outcome(name, name, failures=[f"ended with exit code {ended.returncode}"])
        return Outcome(**json.loads(out.read_text())["parts"][0])


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m tests.torture", description=__doc__.split("\n")[0])
    options.add_argument("parts", nargs="*", metavar="PART", help=f"all, or some of: {', '.join((*PARTS, *ALONE))}")
    options.add_argument(
        "--minutes", type=float, default=MINUTES, help="about how long all parts may take on two cores"
    )
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--chunk", type=int, help="only the random cases of this number")
    options.add_argument("--out", help="write what was tried and found to this JSON file")
    chosen = options.parse_args()
    unknown = [name for name in chosen.parts if name not in {**PARTS, **ALONE}]
    if unknown:
        options.error(f"no part {unknown[0]!r}")
    began, outcomes = time.monotonic(), []
    parts = chosen.parts or list(PARTS)
    for name in parts:
        if len(parts) > 1:
            outcomes.append(elsewhere(name, chosen.minutes, chosen.seed))
            continue
        print(f"{name} ...", flush=True)
        outcome = {**PARTS, **ALONE}[name](chosen.minutes, chosen.seed, chosen.chunk)
        outcome.seconds = time.monotonic() - began
        outcomes.append(outcome)
        print(
            f"  {outcome.what}: {outcome.cases:,} cases in {outcome.seconds:.0f} s, {len(outcome.failures)} failures",
            flush=True,
        )
        for failure in outcome.failures:
            print(f"  FAILED {failure[:2000]}", flush=True)
        print(f"  {json.dumps(outcome.facts, ensure_ascii=False)}", flush=True)
    seconds = time.monotonic() - began
    if chosen.out:
        _write(Path(chosen.out), outcomes, seconds, chosen.minutes)
    failed = sum(len(outcome.failures) for outcome in outcomes)
    print(f"{sum(outcome.cases for outcome in outcomes):,} cases in {seconds / 60:.1f} minutes, {failed} failures")
    return 1 if failed else 0


def _write(path: Path, outcomes: list[Outcome], seconds: float, minutes: float) -> None:
    document = {
        "when": dt.datetime.now(dt.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "version": version("rowlaw"),
        "python": platform.python_version(),
        "cores": len(os.sched_getaffinity(0)),
        "minutes_wanted": minutes,
        "seconds": round(seconds, 1),
        "parts": [outcome.to_dict() for outcome in outcomes],
        "found": json.loads(FOUND.read_text()),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.name == "summary.json":  # the results of all benchmarks are in one file
        document = {**(json.loads(path.read_text()) if path.exists() else {}), "torture": document}
    path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    sys.exit(main())
