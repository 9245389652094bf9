"""``rowlaw demo``: rules on Spark, then a table, its laws, errors that they find, a law that ends, and a report.

Every step says what it shows, and the command or the Python that does the same.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from pathlib import Path

import pyarrow.csv
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from rowlaw.cache import numba_cache
from rowlaw.cli import flights
from rowlaw.cli.check import clash_grid
from rowlaw.cli.stories import PACKAGE, Story, installed, read_story
from rowlaw.cli.telling import say, step
from rowlaw.discovery import discover
from rowlaw.discovery.together import most_specific
from rowlaw.errors import RowlawError
from rowlaw.maintain import Laws
from rowlaw.output import write_text
from rowlaw.report import write_report
from rowlaw.rules import Denial, Rule, RuleSet, english
from rowlaw.spark.java import find_java
from rowlaw.violations import Result, check
from rowlaw.violations.sides import printed

_WIDE = 110  # columns when the output is not a terminal
SHOWN = 12  # of the discovered laws
_CHECKED = 40  # of the discovered laws
MARK = "Made by rowlaw demo. It may be deleted, and the next demo writes it anew.\n"


def show(folder: str = "rowlaw-demo", *, staff: bool = False, spark: bool = True) -> None:
    """Tell the story, and leave its files in a folder; ``spark``: with the part on Spark."""
    console = Console(highlight=False, width=None if sys.stdout.isatty() else _WIDE)
    began = time.monotonic()
    if not staff and not installed():
        print(
            f"rowlaw: the package {PACKAGE} is not installed (pip install 'rowlaw[demo]'), so here is a small "
            "built-in table",
            file=sys.stderr,
        )
    if not any(numba_cache().iterdir()):
        print(
            "rowlaw: the first run compiles the kernels, which takes a minute or two; later runs do not",
            file=sys.stderr,
        )
    story = read_story("staff" if staff or not installed() else "planes")
    home = _fresh(folder)
    if story.name == "planes" and spark and _java():
        flights.tell(console, home)
        say(
            console,
            Text("\nA small table in this process, without Spark: laws that are written down nowhere", style="bold"),
        )
    _write(story, home)
    say(
        console,
        f"The table {story.name}: {story.table.num_rows:,} rows, {story.table.num_columns} columns: {story.about}.",
    )
    laws = _laws(console, story, home)
    result = _errors(console, story, home, laws)
    state = _arrival(console, story, home)
    report = home / "report.html"
    write_report(report, result, history=state.history, title=f"{story.name} with errors", command=_again(story, home))
    result.close()
    step(console, f"A report of all this: {report}", [])
    say(console, f"  One file of {report.stat().st_size / 1e6:.1f} MB that opens in any browser, without a network.")
    say(
        console,
        Text(
            f"\nEverything is in the folder {home}: tables, laws, state, report. It took "
            f"{time.monotonic() - began:.0f} s.",
            style="dim",
        ),
    )


def _java() -> bool:
    """Whether Spark can run; without Java the demo leaves out that part."""
    try:
        find_java()
    except RowlawError as error:
        print(f"rowlaw: {error}; so the part on Spark is left out", file=sys.stderr)
        return False
    return True


def _fresh(folder: str) -> Path:
    """An empty folder: one that is not there yet, or that an earlier demo has left, finished or not."""
    home = Path(folder)
    mark = home / "README.txt"
    if home.exists():
        if not home.is_dir() or (any(home.iterdir()) and not (mark.is_file() and mark.read_text() == MARK)):
            raise RowlawError(
                "BAD_OPTION", option="--folder", value=folder, problem="it is there already, and no demo made it"
            )
        for path in home.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            elif path != mark:  # by which a demo that is stopped here is known again
                path.unlink()
    home.mkdir(parents=True, exist_ok=True)
    write_text(mark, MARK)
    return home


def _write(story: Story, home: Path) -> None:
    for name, table in (
        (story.name, story.table),
        (f"{story.name}-with-errors", story.with_errors),
        ("arriving", story.arriving),
    ):
        pyarrow.csv.write_csv(table, home / f"{name}.csv")


def _laws(console: Console, story: Story, home: Path) -> RuleSet:
    """The ranked laws, and what nearly holds."""
    source = home / f"{story.name}.csv"
    discovery = discover(os.fspath(source), progress=False)
    step(
        console,
        f"{discovery.total:,} laws that its rows obey, the best first",
        [f"rowlaw discover {source} --top {SHOWN}"],
    )
    table = Table("", "score", "law", "in words", box=None, header_style="dim", padding=(0, 1))
    for rule in discovery.rules[:SHOWN]:
        table.add_row(rule.id, f"{rule.score:.2f}", Text(str(rule.rule)), Text(english(rule.rule)))
    say(console, table)
    _nearly(console, story.nearly, source, story.row_id)
    laws = RuleSet((*discovery.rules[:_CHECKED], *story.rules), discovery.nulls, discovery.settings)
    laws.save(home / "laws.yaml")
    return laws


def _nearly(console: Console, rule: Rule, source: Path, row_id: str) -> None:
    """A law that a few rows break: often these rows are wrong."""
    step(console, "And one that nearly holds", [f"rowlaw explain {source} '{rule}' --row-id {row_id}"])
    result = check(os.fspath(source), {"nearly": rule}, row_id=row_id, progress=False)
    removed = ", ".join(printed(row) for row in result.rows_to_remove("nearly").first)
    say(console, Text(f"  {rule}: {result.counts['nearly']:,} violations; without {removed} it would hold"))
    say(console, Padding(clash_grid(result.side_by_side("nearly", 1)), (0, 0, 0, 2)))
    result.close()


def _again(story: Story, home: Path) -> str:
    return f"rowlaw check {home / story.name}-with-errors.csv {home / 'laws.yaml'} --row-id {story.row_id}"


def _errors(console: Console, story: Story, home: Path, laws: RuleSet) -> Result:
    """The planted errors, and the laws that find each."""
    result = check(home / f"{story.name}-with-errors.csv", laws, row_id=story.row_id, progress=False)
    title = f"{len(story.planted)} errors planted in a copy: {len(result.broken)} of {len(laws)} laws are broken"
    step(console, title, [_again(story, home)])
    blamed: dict[object, list[str]] = {}
    for verdict in result.broken:
        for row in result.rows_to_remove(verdict.id).first:
            blamed.setdefault(row, []).append(verdict.id)
    table = Table("row", "column", "was", "became", "found by the laws", box=None, header_style="dim", padding=(0, 1))
    for error in story.planted:
        ids = ", ".join(blamed.get(error.row, [])) or "none"
        table.add_row(
            printed(error.row), error.column, printed(error.was), Text(printed(error.became), style="bold red"), ids
        )
    say(console, table)
    worst = max(result.broken, key=lambda verdict: verdict.violations)
    say(
        console,
        Text(f"  {worst.id}, for example: {worst.violations:,} violations in {worst.rows:,} rows, counted exactly."),
    )
    return result


def _arrival(console: Console, story: Story, home: Path) -> Laws:
    """Rows arrive, and laws end."""
    source, arriving, folder = home / f"{story.name}.csv", home / "arriving.csv", home / f"{story.name}.state"
    state = Laws.create(folder, os.fspath(source), row_id=story.row_id, progress=False)
    change = state.apply(os.fspath(arriving), batch_id="demo")
    commands = [f"rowlaw init {folder} {source} --row-id {story.row_id}", f"rowlaw apply {folder} --insert {arriving}"]
    rows = "A row arrives" if change.inserted == 1 else f"{change.inserted} rows arrive"
    step(console, f"{rows}: {len(change.removed)} laws end, {len(change.added)} new ones hold", commands)
    retired = [event for event in change.events if event.kind == "retired"]
    for event in sorted(retired, key=lambda event: (_specific(event.rule).kind != "fd", len(event.rule.columns)))[:2]:
        say(console, Text(f"  retired: {event.id}, {_specific(event.rule)}"))
        for row in event.witness:
            say(console, Text("           " + ", ".join(f"{name} {printed(value)}" for name, value in row.items())))
    return state


def _specific(rule: Rule) -> Rule:
    return most_specific(rule) if isinstance(rule, Denial) else rule
