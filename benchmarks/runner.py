"""Run a target: measure every contender in turn, round after round, print a table, write the results.

Rounds are interleaved (ours, peer, ours, peer, ...), so that a slow minute of a shared machine falls on all alike.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks import compare, machine, plots, report, targets
from benchmarks.case import Comparison, Options
from benchmarks.compare import Record
from benchmarks.measure import Measurement, measure

RESULTS = Path(__file__).resolve().parent / "results"
Results = list[tuple[Comparison, list[Record]]]


def available() -> dict[str, str]:
    """The targets and the first line of their description."""
    found = {}
    for info in pkgutil.iter_modules(targets.__path__):
        doc = importlib.import_module(f"{targets.__name__}.{info.name}").__doc__ or ""
        found[info.name.replace("_", "-")] = doc.strip().partition("\n")[0]
    return found


def cases(target: str, options: Options) -> list[Comparison]:
    """The comparisons of a target that ``options.only`` lets through."""
    make: Callable[[Options], list[Comparison]] = importlib.import_module(f"{targets.__name__}.{target.replace('-', '_')}").CASES
    return [c for c in make(options) if options.only is None or options.only in c.title]


def run(target: str, options: Options, console: Console, notes: Console, out: Path | None = None) -> int:
    """Measure a target and write ``out``, by default ``results/<target>.json``.

    0: all fine, 1: answers differ or somebody failed, 2: nothing to measure.
    """
    comparisons = cases(target, options)
    if not comparisons:
        notes.print(f"no case of {target} matches {options.only!r}")
        return 2
    facts = machine.facts()
    measured: Results = [(comparison, rounds(comparison, options, notes)) for comparison in comparisons]
    for part in report.tables(measured, options.timeout):
        console.print(part)
    for line in (*_growth(measured), *report.memory_lines(measured)):
        console.print(line)
    problems = report.problems(measured)
    for problem in problems:
        console.print(problem)
    written = out or RESULTS / f"{target}.json"
    _write(written, target, facts, measured, options)
    _draw(written, notes)
    return 1 if problems else 0


def rounds(comparison: Comparison, options: Options, notes: Console) -> list[Record]:
    """All rounds of one comparison; who timed out or failed once is not tried again."""
    if comparison.make is not None:
        notes.print(f"[dim]{comparison.title}: data[/dim]")
        comparison.make()
    records = [Record(contender) for contender in (comparison.ours, *comparison.peers)]
    for number in range(options.repeat):
        for record in records:
            if record.gave_up:
                continue
            notes.print(f"[dim]{comparison.title}: round {number + 1} of {options.repeat}, {record.contender.label} ...[/dim]", end=" ")
            limit = record.contender.limit(options.timeout)
            found = measure(record.contender, comparison.calls, limit)
            record.rounds.append(found)
            notes.print(f"[dim]{_brief(found, limit)}[/dim]")
            if found.status == "failed":
                notes.print(found.log, markup=False, highlight=False)
    return records


def _brief(found: Measurement, timeout: float) -> str:
    if found.status == "done":
        return " ".join(f"{seconds:.3g} s" for seconds in found.wall)
    return f"> {timeout:g} s" if found.status == "timeout" else f"{found.status}: {found.reason}"


def _growth(measured: Results) -> list[str]:
    """A line per contender that was measured at several sizes of one case."""
    series: dict[tuple[str, str], dict[int, Record]] = defaultdict(dict)
    bars = {(comparison.name, comparison.ours.label): comparison.growth_bar for comparison, _ in measured}
    for comparison, records in measured:
        for record in records:
            if comparison.size is not None:
                series[comparison.name, record.contender.label][comparison.size] = record
    return [
        f"growth, {name}, {label}: {text}"
        for (name, label), records in series.items()
        if (text := compare.growth(records, bars.get((name, label))))
    ]


def _draw(results: Path, notes: Console) -> None:
    try:
        drawn = plots.draw(results)
    except ModuleNotFoundError as error:
        notes.print(f"no plot: {error.name} is not installed")
    else:
        if drawn is not None:
            notes.print(f"plot: {drawn}")


def _write(path: Path, target: str, facts: dict[str, Any], measured: Results, options: Options) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    new = [compare.to_json(comparison, records, options.timeout) for comparison, records in measured]
    growth = _growth(measured)
    if options.only is not None and path.exists():  # some cases are measured again: the others stay as they were
        before = json.loads(path.read_text(encoding="utf-8"))
        new = _in_place(before["comparisons"], new, lambda c: (c["name"], c["size"]))
        growth = _in_place(before["growth"], growth, lambda line: line.split(":")[0])
    document = {
        "target": target,
        "when": time.strftime("%Y-%m-%d", time.gmtime()),
        "machine": facts,
        "repeat": options.repeat,
        "comparisons": new,
        "growth": growth,
    }
    path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _in_place(before: list[Any], new: list[Any], name: Callable[[Any], Any]) -> list[Any]:
    """What was there, with what is new in its place or at the end."""
    named = {name(one): one for one in new}
    return [named.pop(name(one), one) for one in before] + list(named.values())
