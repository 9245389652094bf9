"""``rowlaw check``: what it prints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from rowlaw.cli.formats import check_text
from rowlaw.cli.options import started, write
from rowlaw.cli.page import Page, command
from rowlaw.engine.choose import EngineName
from rowlaw.errors import RowlawError
from rowlaw.rules import Nulls, RuleSet, english, load
from rowlaw.rules.wording import counted
from rowlaw.source.row_ids import RowId, named_records
from rowlaw.violations import Result, Verdict, check
from rowlaw.violations.clashes import check_target
from rowlaw.violations.sides import Clash, printed, printed_apart

_WIDE = 100  # columns when the output is not a terminal
_SHOWN_RULES = 5  # broken rules whose clashes are printed
_NAMED = 10  # of the others that are named
STYLES = {"holds": "green", "tolerated": "yellow", "warning": "yellow", "broken": "red"}


def run(
    source: str,
    file: str | None,
    texts: list[str],
    nulls: Nulls | None,
    row_id: RowId,
    master: str | None,
    reading: dict[str, Any],
    *,
    sample: int,
    suspects: int,
    violations: str | None,
    format: str,
    out: str | None,
    quiet: bool,
    engine: EngineName = "auto",
    against: str | None = None,
    violations_limit: int | None = None,
    show_types: bool = False,
) -> int:
    """Check, print, and give the exit code."""
    rules = _rules(file, texts, nulls)
    if violations is not None:
        check_target(violations)
    given: dict[str, Any] = {
        "row_id": row_id,
        "session": started(master),
        "engine": engine,
        "progress": not quiet,
        **reading,
    }
    result = check(source, rules, against=against, show_types=show_types, **given)
    try:
        if violations is not None:
            result.write_violations(violations, limit=violations_limit)
        if format == "table":
            text = _text(result, sample, suspects, out)
        else:
            text = (
                result.to_json(sample, suspects)
                if format == "json"
                else check_text(result, format, sample=sample, source=source)
            )
        write(text, out)
        return result.exit_code
    finally:
        result.close()


def _rules(file: str | None, texts: list[str], nulls: Nulls | None) -> RuleSet:
    """The rules of a file and those given on the command line, which are called R1, R2, ... past the ids that are
    taken."""
    if file is None and not texts:
        raise RowlawError(
            "BAD_OPTION",
            option="--rule",
            value="",
            problem="give a rule or a rule file: rowlaw check SOURCE RULES.yaml",
        )
    given = RuleSet.of(load(file), nulls=nulls) if file is not None else RuleSet(nulls=nulls or "unknown")
    free = (f"R{n}" for n in range(1, len(given) + len(texts) + 1) if f"R{n}" not in given)
    more = RuleSet.of({next(free): text for text in texts})
    return RuleSet((*given, *more), given.nulls, given.settings)


def _text(result: Result, sample: int, suspects: int, out: str | None) -> str:
    console = Page(out, _WIDE)
    broken = sorted(result.broken, key=lambda v: -v.violations)
    causes = str(result.causes()) if broken else ""
    if causes:
        console.print(Text(causes, style="bold") + Text("\n"), soft_wrap=True)
    console.print(_verdicts(result))
    for verdict in broken[:_SHOWN_RULES] if sample else ():
        console.print(_clashes(result, verdict, sample))
    if sample and len(broken) > _SHOWN_RULES:
        others = broken[_SHOWN_RULES:]
        named = ", ".join(v.id for v in others[:_NAMED]) + (", ..." if len(others) > _NAMED else "")
        console.print(
            Text(f"\n{counted(len(others), 'more broken rule')} not shown: {named} (--format markdown shows all)")
        )
    worst = result.worst(5)
    if worst and len(broken) > 1:
        console.print(
            Text("\nrows in most violations: ") + Text(", ".join(f"{row} ({pairs:,})" for row, pairs in worst))
        )
    if suspects:
        console.print(Text("\ncells that are probably wrong"), _suspects(result, suspects), sep="\n")
    took = ", ".join(f"{phase} {seconds:.2f} s" for phase, seconds in result.seconds.items())
    console.print(Text(f"\n{counted(result.table_rows, 'row')}; {took}", style="dim"))
    console.print(Text(f"again: {command()}", style="dim"), soft_wrap=True)
    return console.text


def _verdicts(result: Result) -> Table:
    table = Table("rule", "verdict", "violations", "rows", "law", box=None, pad_edge=False, header_style="bold")
    for column in ("violations", "rows"):
        next(c for c in table.columns if c.header == column).justify = "right"
    for verdict in result.verdicts:
        law = Text(" ".join(str(verdict.named.rule).split()))
        status = Text(verdict.status, STYLES[verdict.status])
        table.add_row(Text(verdict.id), status, f"{verdict.violations:,}", f"{verdict.rows:,}", law)
    return table


def _suspects(result: Result, number: int) -> Table:
    """Cells, what would be expected instead, and how many rules are for that and for the cell."""
    table = Table(
        "row",
        "column",
        "value",
        "usual",
        "against",
        "backing",
        "confidence",
        box=None,
        pad_edge=False,
        header_style="bold",
    )
    for cell in named_records(result.suspects(number)):
        value, usual = printed_apart(cell["value"], cell["usual"])
        texts = {name: printed(value) for name, value in cell.items()} | {"value": value, "usual": usual}
        table.add_row(*map(Text, texts.values()))
    return table


def _clashes(result: Result, verdict: Verdict, sample: int) -> Group:
    """Some violations of a rule, below what it says."""
    head = Text(f"\n{verdict.id}: ", style="bold") + Text(english(verdict.rule, result.engine.types))
    # discovery's reasons are for the rule, not for its breach
    reason = verdict.named.because if verdict.named.score is None else None
    because = [Text(f"because {reason}", style="dim")] if reason else []
    return Group(head, *because, clash_grid(result.side_by_side(verdict.id, sample)))


def clash_grid(clashes: Sequence[Clash]) -> Table:
    """Violations: the two rows side by side, a line for each comparison, and the cells that clash marked."""
    table = Table.grid(padding=(0, 2))
    for justify in ("left", "left", "center", "left", "left"):
        table.add_column(justify=justify)  # type: ignore[arg-type]
    for clash in clashes:
        rows = [Text(name, style="dim") for name in (clash.s_name, clash.t_name)]
        table.add_row(" ", rows[0], "", rows[1])
        for line in clash.lines:
            style = "bold red" if line.marked else ""
            other = line.right if line.right != line.left else ""
            values = [Text(value, style=style) for value in printed_apart(line.left_value, line.right_value)]
            table.add_row(
                Text(f"  {printed(line.left)}"),
                values[0],
                Text(line.op, style),
                values[1],
                Text(printed(other), style="dim"),
            )
        table.add_row()
    return table
