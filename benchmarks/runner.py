"""Run targets: every contender once, target by target, then all again while there is time; tables, documents and
pictures at the end.

In a round a comparison's contenders follow each other, and a second round comes only after the first round of
everything, so that a slow minute of a shared machine falls on all alike and spoils no more than one round.
"""

from __future__ import annotations

import importlib
import pkgutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks import documents, machine, plots, report, targets
from benchmarks.case import Comparison, Options
from benchmarks.compare import Record
from benchmarks.documents import RESULTS
from benchmarks.measure import Measurement, measure_together
from benchmarks.tables import shared

LONG_ROUND = 60.0  # seconds; a comparison whose round takes longer is not repeated


@dataclass(slots=True)
class Entry:
    """A comparison while it is measured."""

    comparison: Comparison
    records: list[Record] = field(default_factory=list)
    seconds: float = 0.0  # of all rounds
    again: float = 0.0  # what another round will take, judged by the last
    problem: str = ""  # why it could not be measured

    def round(self, number: int, options: Options, notes: Console) -> None:
        """Each contender once more; who timed out or failed once is not tried again."""
        begin, self.again = time.monotonic(), 0.0
        try:
            if number == 1:
                self._begin(notes)
            for some in self._processes():
                before = time.monotonic()
                _measure(self.comparison, some, f"round {number}", options, notes)
                self.again += 0.0 if any(record.gave_up for record in some) else time.monotonic() - before
        except Exception as error:  # a table that cannot be made must not end the run of all others
            self.problem = f"{self.comparison.title}: {type(error).__name__}: {error}"
            notes.print(self.problem, markup=False, highlight=False)
        self.seconds += time.monotonic() - begin

    def _processes(self) -> list[list[Record]]:
        """The contenders that are tried again, by the process that they run in."""
        left = [record for record in self.records if not record.gave_up]
        if self.comparison.together:
            return [left] if len(left) == len(self.records) else []
        return [[record] for record in left]

    def _begin(self, notes: Console) -> None:
        if self.comparison.make is not None:
            notes.print(f"[dim]{self.comparison.title}: data[/dim]")
            self.comparison.make()
        self.records = [Record(contender) for contender in (self.comparison.ours, *self.comparison.peers)]


@dataclass(slots=True)
class Run:
    """A target while it is measured."""

    target: str
    entries: list[Entry] = field(default_factory=list)
    problem: str = ""  # why its cases could not be told

    @property
    def measured(self) -> list[tuple[Comparison, list[Record]]]:
        return [(entry.comparison, entry.records) for entry in self.entries if entry.records and not entry.problem]

    @property
    def seconds(self) -> float:
        return sum(entry.seconds for entry in self.entries)

    @property
    def unmeasured(self) -> list[str]:
        return [problem for problem in (self.problem, *(entry.problem for entry in self.entries)) if problem]


def available() -> dict[str, str]:
    """The targets and the first line of their description."""
    found = {}
    for info in pkgutil.iter_modules(targets.__path__):
        doc = importlib.import_module(f"{targets.__name__}.{info.name}").__doc__ or ""
        found[info.name.replace("_", "-")] = doc.strip().partition("\n")[0]
    return found


def cases(target: str, options: Options) -> list[Comparison]:
    """The comparisons of a target that ``options.only`` lets through."""
    make: Callable[[Options], list[Comparison]] = importlib.import_module(
        f"{targets.__name__}.{target.replace('-', '_')}"
    ).CASES
    return [c for c in make(options) if options.only is None or options.only in c.title]


def run(names: Sequence[str], options: Options, console: Console, notes: Console, folder: Path = RESULTS) -> int:
    """Measure targets and write their documents (``summary.json``) and pictures into ``folder``.

    0: all fine, 1: answers differ or somebody failed, 2: nothing to measure.
    """
    end = time.monotonic() + 60.0 * options.minutes
    facts = machine.facts()
    if shared.folder() is None:
        notes.print("ROWLAW_DATA names no folder: cases on the tables in it are left out")
    runs = [_begun(name, options) for name in names]
    for one in runs:
        for entry in one.entries:
            entry.round(1, options, notes)
            _write(one, facts, options, folder)  # what comes later may be broken off
    _repeat([entry for one in runs for entry in one.entries if not entry.problem], end, options, notes)
    if not any(one.entries or one.problem for one in runs):
        notes.print(f"no case of {', '.join(names)} matches {options.only!r}")
        return 2
    problems = sum(_report(one, facts, options, console, folder) for one in runs)
    if len(runs) > 1:
        console.print(report.summary([(one.target, one.measured, one.seconds) for one in runs], options.timeout))
    for picture in plots.draw(folder):
        notes.print(f"[dim]picture: {picture}[/dim]")
    return 1 if problems else 0


def _begun(target: str, options: Options) -> Run:
    try:
        return Run(target, [Entry(comparison) for comparison in cases(target, options)])
    except Exception as error:  # one target that is broken must not keep the others from being measured
        return Run(target, problem=f"{target}: {type(error).__name__}: {error}")


def _repeat(entries: list[Entry], end: float, options: Options, notes: Console) -> None:
    """Further rounds, the short ones first, until ``end``."""
    for number in range(2, options.repeat + 1):
        for entry in sorted(entries, key=lambda entry: entry.again):
            if 0.0 < entry.again <= min(LONG_ROUND, end - time.monotonic()):
                entry.round(number, options, notes)


def _measure(comparison: Comparison, records: list[Record], which: str, options: Options, notes: Console) -> None:
    notes.print(
        f"[dim]{comparison.title}: {which}, {' and '.join(r.contender.label for r in records)} ...[/dim]", end=" "
    )
    limits = [record.contender.limit(options.timeout) for record in records]
    found = measure_together([record.contender for record in records], comparison.calls, limits)
    for record, one in zip(records, found, strict=True):
        record.rounds.append(one)
    notes.print(f"[dim]{' and '.join(_brief(one, limit) for one, limit in zip(found, limits, strict=True))}[/dim]")
    for one in found:
        if one.status == "failed":
            notes.print(one.log, markup=False, highlight=False)


def _brief(found: Measurement, timeout: float) -> str:
    if found.status == "done":
        return " ".join(f"{seconds:.3g} s" for seconds in found.wall)
    return f"> {timeout:g} s" if found.status == "timeout" else f"{found.status}: {found.reason}"


def _write(one: Run, facts: dict[str, Any], options: Options, folder: Path) -> None:
    """With ``options.only`` the other cases stay as they were, unless the target no longer has them."""
    if not one.entries:
        return
    found = documents.document(one.target, facts, one.measured, options, one.seconds)
    before = documents.read(one.target, folder)
    if options.only is not None and before is not None:
        # without tables not all are told
        wanted = cases(one.target, replace(options, only=None)) if shared.folder() is not None else None
        found = documents.merged(found, before, wanted)
    documents.write(found, folder)


def _report(one: Run, facts: dict[str, Any], options: Options, console: Console, folder: Path) -> int:
    """Write and show one target; how many problems there were."""
    _write(one, facts, options, folder)
    console.print(f"\n[bold]{one.target}[/bold], {one.seconds / 60:.1f} minutes")
    for part in report.tables(one.measured, options.timeout):
        console.print(part)
    growth = documents.document(one.target, facts, one.measured, options, one.seconds)["growth"]
    for line in (*growth, *report.memory_lines(one.measured), *report.fact_lines(one.measured)):
        console.print(line)
    problems = [*report.problems(one.measured), *map(report.problem, one.unmeasured)]
    for panel in problems:
        console.print(panel)
    return len(problems)
