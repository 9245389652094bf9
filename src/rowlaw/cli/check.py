"""``rowlaw check``: what it prints."""

from __future__ import annotations

import io
import os
import shlex
import sys
from typing import Any

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from rowlaw.cli.options import started, write
from rowlaw.errors import RowlawError
from rowlaw.rules import Nulls, RuleSet, english, load
from rowlaw.violations import Result, Verdict, check

WIDE = 100  # columns when the output is not a terminal
SHOWN_RULES = 5  # broken rules whose clashes are printed


def run(
    source: str,
    file: str | None,
    texts: list[str],
    nulls: Nulls | None,
    row_id: str | None,
    master: str | None,
    reading: dict[str, Any],
    *,
    sample: int,
    violations: str | None,
    format: str,
    out: str | None,
    quiet: bool,
) -> int:
    """Check, print, and give the exit code."""
    rules = _rules(file, texts, nulls)
    result = check(source, rules, row_id=row_id, session=started(master), progress=not quiet, **reading)
    try:
        if violations is not None:
            if not os.path.isdir(os.path.dirname(violations) or "."):
                raise RowlawError("NO_SUCH_FILE", path=os.path.dirname(violations), hint=": the folder for --violations does not exist")
            result.write_violations(violations)
        write(result.to_json(sample) if format == "json" else _text(result, sample, out), out)
        return result.exit_code
    finally:
        result.close()


def _rules(file: str | None, texts: list[str], nulls: Nulls | None) -> RuleSet:
    """The rules of a file and those given on the command line, which are called R1, R2, ... past the ids that are taken."""
    if file is None and not texts:
        raise RowlawError("BAD_OPTION", option="rules", value="", problem="give a rule file or --rule TEXT")
    given = RuleSet.of(load(file), nulls=nulls) if file is not None else RuleSet(nulls=nulls or "unknown")
    free = (f"R{n}" for n in range(1, len(given) + len(texts) + 1) if f"R{n}" not in given)
    more = RuleSet.of({next(free): text for text in texts})
    return RuleSet((*given, *more), given.nulls, given.settings)


def _text(result: Result, sample: int, out: str | None) -> str:
    terminal = out is None and sys.stdout.isatty()
    buffer = io.StringIO()
    console = Console(
        file=buffer, force_terminal=terminal, width=None if terminal else WIDE, highlight=False, color_system="auto" if terminal else None
    )
    console.print(_verdicts(result))
    for verdict in sorted(result.broken, key=lambda v: -v.violations)[:SHOWN_RULES]:
        if sample:
            console.print(_clashes(result, verdict, sample))
    worst = result.worst(5)
    if worst:
        console.print(Text("\nrows in most violations: ") + Text(", ".join(f"{row} ({pairs:,})" for row, pairs in worst)))
    took = ", ".join(f"{phase} {seconds:.2f} s" for phase, seconds in result.seconds.items())
    console.print(Text(f"\n{result.table_rows:,} rows; {took}", style="dim"))
    console.print(Text(f"again: {shlex.join(['rowlaw', *sys.argv[1:]])}", style="dim"), soft_wrap=True)
    return "\n".join(line.rstrip() for line in buffer.getvalue().rstrip().split("\n"))


def _verdicts(result: Result) -> Table:
    table = Table("rule", "verdict", "violations", "rows", "law", box=None, pad_edge=False, header_style="bold")
    for column in ("violations", "rows"):
        next(c for c in table.columns if c.header == column).justify = "right"
    for verdict in result.verdicts:
        word, style = ("holds", "green") if not verdict.violations else ("tolerated", "yellow") if not verdict.broken else ("broken", "red")
        if verdict.broken and verdict.named.severity == "warn":
            word, style = "warning", "yellow"
        table.add_row(verdict.id, Text(word, style), f"{verdict.violations:,}", f"{verdict.rows:,}", Text(str(verdict.named.rule)))
    return table


def _clashes(result: Result, verdict: Verdict, sample: int) -> Group:
    """Some violations: a row of the table under the other, only the compared columns."""
    found = result.clashes(verdict.id, sample)
    columns = list(dict.fromkeys(name[2:] for name in found.column_names if name not in ("s_row", "t_row")))
    table = Table("", "row", *columns, box=None, pad_edge=False, header_style="dim")
    for clash in found.to_pylist():
        for row in ("s", "t"):
            if f"{row}_row" in clash:
                cells = [_cell(clash, row, column) for column in columns]
                table.add_row(row, str(clash[f"{row}_row"]), *cells)
        table.add_row()
    head = Text(f"\n{verdict.id}: ", style="bold") + Text(english(verdict.named.rule))
    because = [Text(f"because {verdict.named.because}", style="dim")] if verdict.named.because else []
    return Group(head, *because, table)


def _cell(clash: dict[str, Any], row: str, column: str) -> Text:
    """A value, marked where the two rows differ: that is where the clash is."""
    name, other = f"{row}_{column}", f"{'t' if row == 's' else 's'}_{column}"
    if name not in clash:
        return Text("")
    text = "null" if clash[name] is None else str(clash[name])
    text = "".join(c if c.isprintable() else "�" for c in text)[:60]
    return Text(text, style="bold red" if other in clash and clash[other] != clash[name] else "")
