"""``rowlaw show``: what it prints."""

from __future__ import annotations

import io
import json
import sys
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from rowlaw.cli.options import write
from rowlaw.errors import RowlawError
from rowlaw.maintain import Laws
from rowlaw.rules import english

WIDE = 120  # columns when the output is not a terminal


def run(
    state: str, *, history: bool, rule: str | None, keys: bool, top: int | None, rules_file: str | None, format: str, out: str | None
) -> int:
    if rule is not None and not history:
        raise RowlawError("BAD_OPTION", option="--rule", value=rule, problem="it chooses among events: give --history too")
    laws = Laws.open(state)
    if rules_file is not None:
        laws.rules.save(rules_file)
    if format == "json":
        write(json.dumps(document(laws, history=history, rule=rule, keys=keys, top=top), ensure_ascii=False), out)
    elif history:
        write(_history(laws, rule), out)
    else:
        text = rules_text(laws, top, out)
        write(f"{text}\n{_keys(laws)}" if keys else text, out)
    return 0


def document(laws: Laws, *, history: bool = False, rule: str | None = None, keys: bool = False, top: int | None = None) -> dict[str, Any]:
    """The JSON document of a state."""
    rules = laws.rules
    found: dict[str, Any] = {
        "state": laws.path,
        "rows": laws.table.living,
        "columns": list(laws.table.names),
        "row_id": laws.table.row_id,
        "nulls": laws.nulls,
        "batch": laws.batch,
        "total": len(rules),
        "rules": [
            {
                "id": r.id,
                "kind": r.kind,
                "rule": str(r.rule),
                "predicates": [[str(p.left), p.op.symbol, str(p.right)] for d in r.rule.denials for p in d.predicates],
                "error": r.error,
                "support": r.support,
                "score": r.score,
            }
            for r in rules.rules[:top]
        ],
    }
    if history:
        past = laws.history
        found["batches"] = [
            {"batch": b.number, "id": b.id, "at": b.at.isoformat(), "inserted": b.inserted, "deleted": b.deleted, "rules": b.rules}
            for b in past.batches
        ]
        found["history"] = [event.to_dict() for event in (past.events if rule is None else past.of(rule))]
    if keys:
        found["keys"] = [list(key) for key in laws.keys]
        found["non_keys"] = [list(key) for key in laws.non_keys]
    return found


def rules_text(laws: Laws, top: int | None, out: str | None) -> str:
    """The rules as a table, and a line about the state."""
    rules = laws.rules
    terminal = out is None and sys.stdout.isatty()
    buffer = io.StringIO()
    console = Console(
        file=buffer, force_terminal=terminal, width=None if terminal else WIDE, highlight=False, color_system="auto" if terminal else None
    )
    table = Table("rule", "kind", "law", box=None, pad_edge=False, header_style="bold")
    for named in rules.rules[:top]:
        table.add_row(named.id, named.kind, Text(str(named.rule)))
    console.print(table)
    shown = f"{top:,} of " if top is not None and top < len(rules) else ""
    batches = f"{laws.batch:,} batch{'' if laws.batch == 1 else 'es'} applied"
    console.print(Text(f"\n{shown}{len(rules):,} minimal rules of {laws.table.living:,} rows; {batches}", style="dim"), soft_wrap=True)
    return "\n".join(line.rstrip() for line in buffer.getvalue().rstrip().split("\n"))


def explain(state: str, id: str) -> None:
    """What a rule of a state means, whether it holds, and what happened to it."""
    laws = Laws.open(state)
    past = _history(laws, id)
    last = laws.history.of(id)[-1]
    print(f"rule:     {last.rule}")
    print(f"in words: {english(last.rule)}")
    print(f"now:      {'holds' if last.kind == 'born' else 'retired'}")
    print(past)


def _history(laws: Laws, rule: str | None) -> str:
    from rowlaw.cli.apply import event_lines

    past = laws.history
    events = past.events if rule is None else past.of(rule)
    if rule is not None and not events:
        raise RowlawError("UNKNOWN_RULE", id=rule, hint=": no rule of this state ever had it")
    lines = []
    for batch in past.batches:
        mine = [event for event in events if event.batch.number == batch.number]
        if rule is not None and not mine:
            continue
        name = f" ({batch.id})" if batch.id is not None else ""
        lines.append(
            f"{batch.at:%Y-%m-%d %H:%M:%S} batch {batch.number}{name}: +{batch.inserted:,} -{batch.deleted:,} rows, {batch.rules:,} rules"
        )
        for event in mine:
            lines += event_lines(event, "  ")
    return "\n".join(lines)


def _keys(laws: Laws) -> str:
    lines = [f"unique:     {', '.join(key)}" for key in laws.keys]
    return "\n".join([*lines, *(f"not unique: {', '.join(key)}" for key in laws.non_keys)])
