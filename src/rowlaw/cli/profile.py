"""``rowlaw profile``: what it prints."""

from __future__ import annotations

import json
from typing import Any

from rich.table import Table
from rich.text import Text

from rowlaw.cli.formats import markdown_table
from rowlaw.cli.options import started, write
from rowlaw.cli.page import Page
from rowlaw.report.profiling import HEAD, Profile, profile
from rowlaw.rules.wording import counted

_WIDE = 140  # columns when the output is not a terminal


def run(
    source: str,
    rules: str | None,
    top: int,
    master: str | None,
    *,
    engine: Any,
    format: str,
    out: str | None,
    quiet: bool,
    reading: dict[str, Any],
) -> None:
    """Describe the columns of a table, and print it."""
    described = profile(
        source, rules=rules, top=top, session=started(master), engine=engine, progress=not quiet, **reading
    )
    if format == "json":
        text = json.dumps(described.to_dict(), ensure_ascii=False, default=str)
    else:
        text = markdown_table(HEAD, described.cells()) if format == "markdown" else _text(described, out)
    write(text, out)


def _text(found: Profile, out: str | None) -> str:
    console = Page(out, _WIDE)
    table = Table(*HEAD, box=None, pad_edge=False, header_style="bold")
    for column in table.columns[2:4]:
        column.justify = "right"
    for column in table.columns[:6]:
        column.no_wrap = True
    for line in found.cells():
        table.add_row(*map(Text, line))
    console.print(table)
    console.print(Text(f"\n{counted(found.rows, 'row')}, {counted(len(found), 'column')}", style="dim"))
    return console.text
