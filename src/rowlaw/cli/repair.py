"""``rowlaw repair``: what it prints and writes."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from rich.table import Table
from rich.text import Text

from rowlaw.cli.options import started, write
from rowlaw.cli.page import Page, command
from rowlaw.discovery.repair import CONFIDENCE, Repairs, repair
from rowlaw.errors import RowlawError
from rowlaw.rules.wording import counted
from rowlaw.source.row_ids import named_records
from rowlaw.violations.clashes import check_file
from rowlaw.violations.sides import printed, printed_apart

_WIDE = 110  # columns when the output is not a terminal
SHOWN = 20  # cells on a page


def run(
    source: str,
    rules: str | None,
    master: str | None,
    *,
    out: str | None,
    format: str,
    quiet: bool,
    options: dict[str, Any],
) -> int:
    """Find suspect cells and suggest values: to a file, or on a page."""
    if out is not None:
        check_file(out, option="--out")
        if os.path.exists(source) and os.path.exists(out) and os.path.samefile(source, out):
            raise RowlawError(
                "BAD_OPTION", option="--out", value=out, problem="the source is never written; name another file"
            )
    suggestions = repair(source, rules, session=started(master), progress=not quiet, **options)
    if out is not None:
        suggestions.save(out)
        print(
            f"rowlaw: wrote {counted(len(suggestions), 'suspect cell')} to {out}, "
            f"{suggestions.suggested:,} with a suggestion",
            file=sys.stderr,
        )
    elif format == "json":
        document = {
            "rows": suggestions.rows,
            "rules": [str(r.rule) for r in suggestions.rules],
            "cells": suggestions.cells.to_pylist(),
        }
        write(json.dumps(document, ensure_ascii=False, default=str), None)
    else:
        write(_text(suggestions), None)
    return 0


def _text(found: Repairs) -> str:
    console = Page(None, _WIDE)
    more = f", the surest {SHOWN} of them below; --out FILE writes all" if len(found) > SHOWN else ""
    console.print(Text(f"{repr(found).removeprefix('Repairs: ')}{more}"), soft_wrap=True)
    table = Table("row", "column", "value", "suggestion", "confidence", box=None, pad_edge=False, header_style="bold")
    for cell in named_records(found.cells.slice(0, SHOWN)):
        value, suggestion = printed_apart(cell["value"], cell["suggestion"])
        shown = [printed(cell["row"]), printed(cell["column"]), value]
        table.add_row(
            *map(Text, shown),
            Text(suggestion if cell["confidence"] >= CONFIDENCE else "-"),
            f"{cell['confidence']:.2f}",
        )
    if len(found):
        console.print(table)
    console.print(Text(f"\nagain: {command()}", style="dim"), soft_wrap=True)
    return console.text
