"""``rowlaw discover``: what it prints."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from rowlaw.cli.formats import rules_csv, rules_markdown
from rowlaw.cli.options import started, write
from rowlaw.cli.page import Page, command
from rowlaw.cli.process import seconds_taken
from rowlaw.discovery import Discovery, discover
from rowlaw.interrupts import first, listening
from rowlaw.rules import NamedRule
from rowlaw.rules.model import FunctionalDependency, Key, Rule, quote
from rowlaw.rules.wording import counted, percent

_SECTIONS = {"key": "keys", "fd": "functional dependencies", "od": "order", "dc": "other rules"}
_ALTERNATIVES = 4  # named beside a law
# rules in a table; more of them come as plain lines, since laying out tens of thousands takes longer than finding them
LAID_OUT = 500
_WIDE = 120  # columns when the output is not a terminal


def run(
    source: str,
    master: str | None,
    *,
    format: str,
    out: str | None,
    rules_file: str | None,
    quiet: bool,
    options: dict[str, Any],
) -> int:
    limit = options.pop("time_limit")
    session = started(master)
    if limit is not None and limit >= 0:  # another value is for discovery to refuse
        limit = max(0.0, limit - seconds_taken())
    with listening(first):
        discovery = discover(source, session=session, progress=not quiet, time_limit=limit, **options)
        if rules_file is not None:
            discovery.save(rules_file)
        write(_written(discovery, format, out, options["all"]), out)
    if discovery.partial:
        print("rowlaw: stopped early; the rules shown are proven, others may be missing", file=sys.stderr)
    return 0


def _written(found: Discovery, format: str, out: str | None, everything: bool) -> str:
    match format:
        case "json":
            return json.dumps(found.to_dict(), ensure_ascii=False)
        case "csv":
            return rules_csv(found)
        case "markdown":
            return rules_markdown(found)
        case _:
            return _text(found, out, everything)


def _text(found: Discovery, out: str | None, everything: bool) -> str:
    console = Page(out, _WIDE)
    hidden = {id for ids in (*found.folded.values(), *found.alternatives.values()) for id in ids}
    shown = [rule for rule in found if rule.id not in hidden] if everything else list(found.selected)
    console.print(Text(_head(found, len(shown), everything)), soft_wrap=True)
    tables = _sections(found, shown[:LAID_OUT])
    width = max((len(r.id) for r in shown[:LAID_OUT]), default=0)
    for title, table in tables:
        table.columns[0].min_width = width
        console.print(Text(f"\n{title}", style="bold"))
        console.print(table)
    console.lines(f"{rule.id}  {rule.rule}{_error(found, rule)}" for rule in shown[LAID_OUT:])
    if found.near_misses:
        console.print(Text("\nnear misses", style="bold"))
        misses = Table("pairs", "law", box=None, pad_edge=False, header_style="dim")
        for miss in found.near_misses:
            misses.add_row(f"{miss.violations:,}", Text(str(miss.rule)))
        console.print(misses)
    for names in found.non_keys or ():
        console.print(Text(f"not unique: {', '.join(names)}"), soft_wrap=True)
    took = ", ".join(f"{phase} {seconds:.2f} s" for phase, seconds in found.seconds.items())
    partial = ", stopped early: what is listed is proven, others may be missing" if found.partial else ""
    over = f" over {counted(found.predicates, 'predicate')}" if found.predicates else ""
    summary = f"{_rules(found.total)}{over} in {counted(found.rows, 'row')}{partial}"
    console.print(Text(f"\n{summary}\nstrategy {found.strategy}: {found.why}\n{took}", style="dim"), soft_wrap=True)
    console.print(Text(f"again: {command()}", style="dim"), soft_wrap=True)
    return console.text


def _head(found: Discovery, shown: int, everything: bool) -> str:
    """The first line: how many rules there are besides those shown, and how to see them."""
    if everything:
        folded = len(found) - shown
        return f"{_rules(shown)}" + (f", and {folded:,} that say the same in other columns" if folded else "")
    more = found.total - shown
    if not more:
        return f"{_rules(shown)}, all that were found" if shown else "no rules were found"
    return (
        f"{_rules(shown)} worth reading, of {found.total:,} found; --all lists them, --rules FILE and "
        "--format json keep them"
    )


def _rules(count: int) -> str:
    return counted(count, "rule")


def _sections(found: Discovery, rules: Sequence[NamedRule]) -> list[tuple[str, Table]]:
    """The rules by kind, each kind in order of rank."""
    sections = []
    for kind, title in _SECTIONS.items():
        mine = [rule for rule in rules if rule.kind == kind]
        if not mine:
            continue
        table = Table(box=None, pad_edge=False, show_header=False)
        for column, ratio in (("rule", None), ("law", 1), ("why", 1)):
            table.add_column(column, ratio=ratio)
        for rule in mine:
            table.add_row(
                rule.id,
                _law(found, rule),
                Text((rule.because or "") + _error(found, rule), style="dim" if rule.id in found.weak else ""),
            )
        sections.append((title, table))
    return sections


def _law(found: Discovery, rule: NamedRule) -> Text:
    """A law, and the columns that could stand in it instead."""
    others = [found[id].rule for id in found.alternatives.get(rule.id, ())]
    alternatives = [_instead(rule.rule, other) for other in others[:_ALTERNATIVES]]
    more = f" and {len(others) - _ALTERNATIVES:,} more" if len(others) > _ALTERNATIVES else ""
    return Text(str(rule.rule)) + Text(f" or {', '.join(alternatives)}{more}" if alternatives else "", style="dim")


def _instead(rule: Rule, other: Rule) -> str:
    """What is different in another rule that says the same."""
    match rule, other:
        case (FunctionalDependency(left, _), FunctionalDependency(others, target)):
            if not left:
                return quote(target)
            return f"({', '.join(map(quote, others))})"
        case (Key(), Key(others)):
            return f"({', '.join(map(quote, others))})"
    return str(other)


def _error(found: Discovery, rule: NamedRule) -> str:
    """What breaks a rule, unless its reason says which rows do: so it is with laws that nearly hold."""
    explained = rule.because is not None and not found.settings.get("error")
    return f" Broken by {percent(rule.error)} of the pairs." if rule.error and not explained else ""
