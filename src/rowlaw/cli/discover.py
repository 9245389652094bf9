"""``rowlaw discover``: what it prints."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from rich.table import Table
from rich.text import Text

from rowlaw.cli.formats import rules_csv, rules_markdown
from rowlaw.cli.options import started, write
from rowlaw.cli.page import Page, command
from rowlaw.cli.process import BEGAN
from rowlaw.discovery import Discovery, discover
from rowlaw.interrupts import first, listening
from rowlaw.rules import NamedRule
from rowlaw.rules.wording import counted, percent

LAID_OUT = 500  # rules in a table; more of them come as plain lines, since laying out tens of thousands takes longer than finding them
WIDE = 120  # columns when the output is not a terminal


def run(
    source: str, master: str | None, *, format: str, out: str | None, rules_file: str | None, quiet: bool, options: dict[str, Any]
) -> int:
    limit = options.pop("time_limit")
    session = started(master)
    if limit is not None and limit >= 0:  # another value is for discovery to refuse
        limit = max(0.0, limit - (time.monotonic() - BEGAN))
    with listening(first):
        found = discover(source, session=session, progress=not quiet, time_limit=limit, **options)
        if rules_file is not None:
            found.save(rules_file)
        write(_written(found, format, out), out)
    if found.partial:
        print("rowlaw: stopped early; the rules shown are proven, others may be missing", file=sys.stderr)
    return 0


def _written(found: Discovery, format: str, out: str | None) -> str:
    match format:
        case "json":
            return json.dumps(found.to_dict(), ensure_ascii=False)
        case "csv":
            return rules_csv(found)
        case "markdown":
            return rules_markdown(found)
        case _:
            return _text(found, out)


def _text(found: Discovery, out: str | None) -> str:
    console = Page(out, WIDE)
    hidden = {id for ids in found.folded.values() for id in ids}
    shown = [rule for rule in found if rule.id not in hidden]
    table = Table("rule", "score", "law", "why", box=None, pad_edge=False, header_style="bold")
    for rule in shown[:LAID_OUT]:
        more = f" (restated by {', '.join(found.folded[rule.id])})" if rule.id in found.folded else ""
        law = Text(str(rule.rule)) + Text(more, style="dim")
        table.add_row(rule.id, f"{rule.score:.2f}", law, Text((rule.because or "") + _error(rule)))
    console.print(table)
    console.lines(f"{rule.id}  {rule.score:.2f}  {rule.rule}{_error(rule)}" for rule in shown[LAID_OUT:])
    if found.near_misses:
        console.print(Text("\nnear misses", style="bold"))
        misses = Table("pairs", "law", box=None, pad_edge=False, header_style="dim")
        for miss in found.near_misses:
            misses.add_row(f"{miss.violations:,}", Text(str(miss.rule)))
        console.print(misses)
    took = ", ".join(f"{phase} {seconds:.2f} s" for phase, seconds in found.seconds.items())
    partial = ", stopped early: what is listed is proven, others may be missing" if found.partial else ""
    part = f"{len(found):,} of " if len(found) < found.total else ""
    over = f" over {counted(found.predicates, 'predicate')}" if found.predicates else ""
    summary = f"{part}{counted(found.total, 'minimal rule')}{over} in {counted(found.rows, 'row')}{partial}"
    console.print(Text(f"\n{summary}\nstrategy {found.strategy}: {found.why}\n{took}", style="dim"), soft_wrap=True)
    console.print(Text(f"again: {command()}", style="dim"), soft_wrap=True)
    return console.text


def _error(rule: NamedRule) -> str:
    return f" Broken by {percent(rule.error)} of the pairs." if rule.error else ""
