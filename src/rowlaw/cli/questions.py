"""``rowlaw implies`` and ``rowlaw order-by``: questions that rules answer without a table."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from rowlaw.cli.options import write
from rowlaw.rules import RuleSet, load


def implies(rules: str, asked: Sequence[str], *, format: str, out: str | None) -> int:
    """Print which rules follow from others; the exit code is 0 if all do."""
    known = _rules(rules)
    answers = {text: known.implies(text) for text in asked}
    if format == "json":
        records = [{"rule": text, "implied": answer} for text, answer in answers.items()]
        write(json.dumps({"rules": len(known), "nulls": known.nulls, "answers": records}, ensure_ascii=False), out)
    else:
        write("\n".join(f"{'follows' if answer else 'not decided'}: {text}" for text, answer in answers.items()), out)
    return 0 if all(answers.values()) else 1


def order_by(rules: str, columns: str, also: Sequence[str], *, format: str, out: str | None) -> None:
    """Print the shortest sort list that says the same as a given one."""
    shortest = _rules(rules).order_by(columns, also=also)
    write(
        json.dumps({"given": columns, "order_by": shortest}, ensure_ascii=False)
        if format == "json"
        else ", ".join(shortest),
        out,
    )


def _rules(place: str) -> RuleSet:
    """The rules of a file, or those that hold in a state now."""
    if Path(place).is_dir():
        from rowlaw.maintain import Laws

        return Laws.open(place).rules
    return load(place)
