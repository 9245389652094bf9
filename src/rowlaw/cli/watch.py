"""``rowlaw watch``: what it prints."""

from __future__ import annotations

import json
from typing import Any

from rowlaw.cli.process import end_now
from rowlaw.interrupts import listening
from rowlaw.maintain.stream import Applier, watch_folder


def run(state: str, folder: str, every: float | None, *, format: str, applying: dict[str, Any], reading: dict[str, Any]) -> None:
    """Apply the files of a folder as they come, and say what each did."""
    applier = Applier(state, **applying)
    with listening(_end):
        for change in watch_folder(applier, folder, every=every, **reading):
            print(json.dumps(change.to_dict(), ensure_ascii=False) if format == "json" else change.summary, flush=True)


def _end() -> bool:
    """Take Ctrl-C as the usual way to end: every batch printed is applied, and one that is not finished is as if it had not come."""
    end_now("rowlaw: stopped", 0)
