"""``rowlaw watch``: what it prints."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import typer

from rowlaw.cli.process import end_now
from rowlaw.errors import BAD_INPUT, RowlawError
from rowlaw.interrupts import listening
from rowlaw.maintain.change import Change
from rowlaw.streams.applier import Applier
from rowlaw.streams.folder import Skipped, watch_folder

SHOWN = 10  # rules of each sort; `rowlaw show --history` has all


def run(
    state: str | None,
    history: str | None,
    folder: str | None,
    every: float | None,
    *,
    row_id: Sequence[str] | None,
    master: str | None,
    format: str,
    applying: dict[str, Any],
    reading: dict[str, Any],
) -> None:
    """Take in the files of a folder as they come, and say what each did."""
    if folder is None:
        raise RowlawError("BAD_OPTION", option="--source-folder", value=None, problem="which folder is to be watched?")
    if (state is None) == (history is None):
        raise RowlawError(
            "BAD_OPTION", option="--history", value=history, problem="give either the folder of a state or a history"
        )
    if state is not None and row_id is not None:
        raise RowlawError(
            "BAD_OPTION", option="--row-id", value=",".join(row_id), problem="a state has its own: it is for a history"
        )
    take: Callable[..., Any]
    if state is not None:
        take = Applier(state, **applying)
    else:
        from rowlaw.streams.files import FileGuard

        assert history is not None
        take = FileGuard.of(history, master=master, row_id=row_id, **applying)
    skipped: dict[str, Skipped] = {}

    def end() -> bool:
        """Take Ctrl-C as the usual way to end: every batch printed is applied, and one that is not finished is as if it
        had not come."""
        end_now("\n".join([*_told(skipped), "rowlaw: stopped"]), BAD_INPUT if skipped else 0)

    with listening(end):
        outcome: Any
        for outcome in watch_folder(take, folder, every=every, **reading):
            if isinstance(outcome, Skipped):
                skipped[outcome.file] = outcome
                print(f"rowlaw: {outcome.summary}", file=sys.stderr, flush=True)
                continue
            skipped.pop(str(outcome.batch_id).removeprefix("file:"), None)
            print(
                json.dumps(outcome.to_dict(), ensure_ascii=False) if format == "json" else "\n".join(_lines(outcome)),
                flush=True,
            )
    if skipped:
        print(*_told(skipped), sep="\n", file=sys.stderr)
        raise typer.Exit(BAD_INPUT)


def _lines(outcome: Any) -> Iterator[str]:
    """What a batch did, with the rules that it brought and broke."""
    yield outcome.summary
    if not isinstance(outcome, Change):
        return
    for one in outcome.chosen:
        if one.new or one.resolved:
            yield f"  {one}"
    for word, rules in (("new", outcome.added), ("broken", outcome.removed)):
        yield from (f"  {word}: {named.id}  {named.rule}" for named in rules[:SHOWN])
        if len(rules) > SHOWN:
            yield f"  {word}: {len(rules) - SHOWN:,} more: rowlaw show --history"


def _told(skipped: dict[str, Skipped]) -> list[str]:
    if not skipped:
        return []
    files = f"{len(skipped):,} file{'' if len(skipped) == 1 else 's'}"
    return [f"rowlaw: skipped {files}, which the next run tries again: {', '.join(skipped)}"]
