"""``rowlaw show``: what it prints."""

from __future__ import annotations

import json
from typing import Any

from rich.table import Table
from rich.text import Text

from rowlaw.cli.options import write
from rowlaw.cli.page import Page
from rowlaw.errors import RowlawError
from rowlaw.maintain import Event, History, Laws
from rowlaw.rules import english
from rowlaw.source.row_ids import given_id

_WIDE = 120  # columns when the output is not a terminal


def run(
    state: str,
    *,
    history: bool,
    rule: str | None,
    keys: bool,
    top: int | None,
    rules_file: str | None,
    format: str,
    out: str | None,
) -> None:
    """Show a state."""
    if rule is not None and not history:
        raise RowlawError(
            "BAD_OPTION", option="--rule", value=rule, problem="it chooses among events: give --history too"
        )
    laws = Laws.open(state)
    if rules_file is not None:
        laws.rules.save(rules_file)
    if format == "json":
        write(json.dumps(document(laws, history=history, rule=rule, keys=keys, top=top), ensure_ascii=False), out)
        return
    text = _history(laws.history, rule) if history else rules_text(laws, top, out)
    write(f"{text}\n{_keys(laws)}" if keys else text, out)


def document(
    laws: Laws, *, history: bool = False, rule: str | None = None, keys: bool = False, top: int | None = None
) -> dict[str, Any]:
    """The JSON document of a state."""
    rules = laws.rules
    answer: dict[str, Any] = {
        "state": laws.path,
        "rows": laws.table.living,
        "columns": list(laws.table.names),
        "row_id": given_id(laws.table.row_id),
        "nulls": laws.nulls,
        "batch": laws.batch,
        "total": len(rules),
        "rules": [named.to_dict() for named in rules.rules[:top]],
    }
    if laws.chosen:
        counts = laws.counts
        answer["rules"] = [{**rule, "violations": counts[rule["id"]]} for rule in answer["rules"]]
    if history:
        past = laws.history
        answer["batches"] = [
            {
                "batch": b.number,
                "id": b.id,
                "at": b.at.isoformat(),
                "inserted": b.inserted,
                "deleted": b.deleted,
                "rules": b.rules,
                **({"violations": dict(b.counts)} if b.counts is not None else {}),
            }
            for b in past.batches
        ]
        answer["history"] = [event.to_dict() for event in _events(past, rule)]
    if keys:
        answer["keys"] = [list(key) for key in laws.keys]
        answer["non_keys"] = [list(key) for key in laws.non_keys]
    return answer


def rules_text(laws: Laws, top: int | None, out: str | None) -> str:
    """The rules as a table, and a line about the state."""
    rules, counts = laws.rules, laws.counts
    console = Page(out, _WIDE)
    table = Table(
        "rule", "kind", *(["violations"] if laws.chosen else []), "law", box=None, pad_edge=False, header_style="bold"
    )
    for named in rules.rules[:top]:
        table.add_row(named.id, named.kind, *([f"{counts[named.id]:,}"] if laws.chosen else []), Text(str(named.rule)))
    console.print(table)
    sort = "chosen" if laws.chosen else "minimal"
    shown = f"{top:,} of " if top is not None and top < len(rules) else ""
    batches = f"{laws.batch:,} batch{'' if laws.batch == 1 else 'es'} applied"
    number = f"{shown}{len(rules):,} {sort} rule{'' if len(rules) == 1 else 's'}"
    console.print(Text(f"\n{number} of {laws.table.living:,} rows; {batches}", style="dim"), soft_wrap=True)
    return console.text


def explain(state: str, id: str, *, format: str, out: str | None) -> None:
    """What a rule of a state means, whether it holds, and what happened to it."""
    past = Laws.open(state).history
    events = _events(past, id)
    last = events[-1]
    now = "holds" if last.kind == "born" else "retired"
    if format == "json":
        described = {
            "id": id,
            "kind": last.rule.kind,
            "rule": str(last.rule),
            "sentence": english(last.rule),
            "now": now,
        }
        write(json.dumps({**described, "history": [event.to_dict() for event in events]}, ensure_ascii=False), out)
        return
    head = [f"rule:     {last.rule}", f"in words: {english(last.rule)}", f"now:      {now}"]
    write("\n".join([*head, _history(past, id)]), out)


def _events(past: History, rule: str | None) -> tuple[Event, ...]:
    """What happened to all rules, or to one."""
    events = past.events if rule is None else past.of(rule)
    if rule is not None and not events and not any(batch.counts and rule in batch.counts for batch in past.batches):
        raise RowlawError("UNKNOWN_RULE", id=rule, hint=": no rule of this state ever had it")
    return events


def _history(past: History, rule: str | None) -> str:
    events = _events(past, rule)
    lines = []
    for batch in past.batches:
        mine = [event for event in events if event.batch.number == batch.number]
        if rule is not None and not mine and not (batch.counts and rule in batch.counts):
            continue
        name = f" ({batch.id})" if batch.id is not None else ""
        lines.append(
            f"{batch.at:%Y-%m-%d %H:%M:%S} batch {batch.number}{name}: +{batch.inserted:,} -{batch.deleted:,} "
            f"rows, {batch.rules:,} rules"
        )
        for event in mine:
            lines += [f"  {line}" for line in event.lines()]
        for id, violations in (batch.counts or {}).items():
            lines += [f"  {id}: {violations:,} violation{'' if violations == 1 else 's'}"] if rule in (None, id) else []
    return "\n".join(lines)


def _keys(laws: Laws) -> str:
    if "key" not in laws.options["kinds"]:
        return "keys are not kept current: they are not among the --kinds of this state"
    lines = [f"unique:     {', '.join(key)}" for key in laws.keys]
    return "\n".join([*lines, *(f"not unique: {', '.join(key)}" for key in laws.non_keys)])
