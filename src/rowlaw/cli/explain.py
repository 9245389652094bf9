"""``rowlaw explain``: what it prints."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from rowlaw.cli.check import clash_grid
from rowlaw.cli.options import started, write
from rowlaw.cli.page import Page
from rowlaw.discovery.judged import Judged
from rowlaw.engine.open import open_local
from rowlaw.engine.plans import RulePlan
from rowlaw.errors import RowlawError
from rowlaw.export.target import Plan
from rowlaw.report.explanation import Explanation, explain, looks_like_an_id, query
from rowlaw.rules import Nulls, Rule, RuleSet, bind, english, load
from rowlaw.rules.parse import parse_located
from rowlaw.rules.wording import counted
from rowlaw.source import open_source
from rowlaw.violations.sides import printed

_WIDE = 110  # columns when the output is not a terminal


def meaning(text: str, nulls: Nulls, *, format: str, out: str | None) -> None:
    """What a rule means, without a table."""
    if looks_like_an_id(text):
        problem = "this is no rule; give both a table and a rule: rowlaw explain SOURCE RULE"
        raise RowlawError("BAD_OPTION", option="rowlaw explain", value=text, problem=problem)
    rule = parse_located(text).rule
    _tell(rule, Plan(RuleSet(nulls=nulls), "table").query(rule), None, format, out)


def plan(
    source: str,
    text: str,
    rules: str | None,
    nulls: Nulls | None,
    reading: dict[str, Any],
    *,
    analyze: bool,
    format: str,
    out: str | None,
) -> None:
    """What a rule means, how its violations are counted and listed; with ``analyze`` that is done too, and measured.

    A rule of a file is explained as it is checked: together with the other rules of the file.
    """
    known = load(rules) if rules is not None else RuleSet()
    parsed = (known[text].origin or known[text].rule) if text in known else parse_located(text)
    wanted = nulls or known.nulls
    engine = open_local(open_source(source, **reading), wanted)
    try:
        rule = bind(parsed, engine.types, engine.skipped)
        among = (
            [bind(other.origin or other.rule, engine.types, engine.skipped) for other in known] if text in known else []
        )
        _tell(rule, query(engine, rule), engine.explain(rule, analyze=analyze, among=among), format, out)
    finally:
        engine.close()


def _tell(rule: Rule, query: str, plan: RulePlan | None, format: str, out: str | None) -> None:
    denials = [str(denial) for denial in rule.denials]
    if format == "json":
        facts = {"kind": rule.kind, "rule": str(rule), "sentence": english(rule), "denials": denials}
        write(
            json.dumps(
                {**facts, **({"plan": plan.to_dict()} if plan is not None else {}), "sql": query}, ensure_ascii=False
            ),
            out,
        )
        return
    lines = [
        f"rule:     {rule}",
        f"in words: {english(rule)}",
        *(f"denial:   {denial}" for denial in denials),
        "sql:",
        query,
    ]
    write("\n".join([*lines, *(["plan:", str(plan)] if plan is not None else [])]), out)


def run(
    source: str, text: str, master: str | None, *, format: str, out: str | None, quiet: bool, options: dict[str, Any]
) -> None:
    """Explain a rule on a table."""
    explanation = explain(source, text, session=started(master), progress=not quiet, **options)
    write(
        json.dumps(explanation.to_dict(), ensure_ascii=False, default=str)
        if format == "json"
        else _text(explanation, out),
        out,
    )


def _text(found: Explanation, out: str | None) -> str:
    console = Page(out, _WIDE)
    console.print(Text(found.named.id, style="bold"), Text(f" {found.rule}"), soft_wrap=True)
    console.print(Text(english(found.rule)))
    for title, body in _parts(found):
        console.print(Text(f"\n{title}", style="bold"))
        console.print(Padding(body, (0, 0, 0, 2)))
    # a query is copied: it is not broken to fit
    console.print(Text("\nits plan", style="bold"), Text("\n" + _indented(str(found.plan))), sep="", soft_wrap=True)
    console.print(
        Text("\nits violations in SQL", style="bold"), Text("\n" + _indented(found.sql)), sep="", soft_wrap=True
    )
    return console.text


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())


def _parts(found: Explanation) -> Iterator[tuple[str, RenderableType]]:
    yield _verdict(found), Group(*_broken(found)) if found.count.pairs else Text(_standing(found))
    if found.rank is not None:
        yield _place(found), Group(*_ranked(found, found.rank))
    if found.shorter:
        yield "near misses: the rule without one of its comparisons", _near_misses(found)


def _place(found: Explanation) -> str:
    if found.place is None:
        return "how it would rank if it held" if found.count.pairs else "how it would rank if it were listed"
    return f"why it ranks {found.place:,} of {found.total:,}" + (" found in the time given" if found.partial else "")


def _verdict(found: Explanation) -> str:
    if found.holds:
        return f"it holds on all {found.rows:,} rows" if found.rows != 1 else "it holds on the only row"
    return f"it is broken: {counted(found.count.pairs, 'violation')} in {found.count.rows:,} of {found.rows:,} rows"


def _standing(found: Explanation) -> str:
    """Why a rule that holds is listed, or is not."""
    if found.place is not None:
        return (
            "It is minimal: without any one of its comparisons it would be broken."
            if found.shorter
            else "It is a single comparison: there is no shorter rule."
        )
    if found.vacuous:
        return (
            "No rows could break it: too few have values in all the columns that it compares. Such a rule is "
            "not listed."
        )
    if not found.total:
        looser = next((s for s in found.shorter if not s.violations), None)
        if looser is not None:
            return f"It holds even without {looser.dropped}: {looser.rule}."
        return (
            "It is minimal: without any one of its comparisons it would be broken."
            if found.shorter
            else "It is a single comparison: there is no shorter rule."
        )
    if found.stronger:
        return "It follows from " + ", ".join(f"{r.id}, {r.rule}" for r in found.stronger) + "."
    return "It follows from several of the rules together, or compares columns that discovery was not asked to compare."


def _broken(found: Explanation) -> Iterator[RenderableType]:
    number = found.removal.count
    rows = counted(number, "row")
    some = ", ".join(printed(label) for label in found.removal.first)
    more = f" and {number - len(found.removal.first):,} more" if number > len(found.removal.first) else ""
    how = (
        "the smallest set of rows to remove"
        if found.removal.exact
        else "rows to remove, chosen greedily (an upper bound: fewer may do)"
    )
    yield Text(f"{how}: {rows} ({some}{more})")
    yield Text("what breaks it:")
    yield clash_grid(found.clashes)


def _ranked(found: Explanation, facts: Judged) -> Iterator[RenderableType]:
    table = Table.grid(padding=(0, 2))
    for name, share in facts.columns.items():
        table.add_row("would catch", f"{share:.0%}", Text(f"of wrong values in {printed(name)}"))
    table.add_row("would catch", f"{facts.inserted:.0%}", "of rows that are entered again with one value changed")
    table.add_row(
        "prior",
        f"{facts.prior:.2f}",
        Text("keys and functional dependencies of few columns have the largest", style="dim"),
    )
    if found.named.score is not None:
        table.add_row(
            "score",
            f"{found.named.score:.3g}",
            Text("what it catches that no rule above it does, times the prior", style="dim"),
        )
    yield table
    satisfy = "satisfies" if facts.support == 1 else "satisfy"
    chance = "" if math.isinf(facts.expected) else f" By chance about {_about(facts.expected)} would break it."
    weak = " So few that chance explains the rule." if facts.weak else ""
    yield Text(f"About {counted(facts.support, 'pair')} of rows {satisfy} all its comparisons but one.{chance}{weak}")


def _about(pairs: float) -> str:
    """A count of pairs, rounded to two digits."""
    digits = max(0, int(math.log10(pairs)) - 1) if pairs >= 1 else 0
    return counted(int(round(pairs, -digits)), "pair")


def _near_misses(found: Explanation) -> RenderableType:
    table = Table("violations", "rows to remove", "law", "without", box=None, pad_edge=False, header_style="dim")
    for column in table.columns[:2]:
        column.justify = "right"
    for miss in found.shorter:
        bound = "" if miss.exact else "at most "
        rows = "many" if miss.removal is None else f"{bound}{miss.removal:,}"
        table.add_row(f"{miss.violations:,}", rows, Text(str(miss.rule)), Text(miss.dropped))
    return table
