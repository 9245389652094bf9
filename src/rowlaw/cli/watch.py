"""``rowlaw watch``: what it prints."""

from __future__ import annotations

import json
import sys
from typing import Any

from rowlaw.maintain.stream import Applier, watch_folder


def run(state: str, folder: str, every: float | None, *, format: str, applying: dict[str, Any], reading: dict[str, Any]) -> None:
    """Apply the files of a folder as they come, and say what each did."""
    applier = Applier(state, **applying)
    try:
        for change in watch_folder(applier, folder, every=every, **reading):
            print(json.dumps(change.to_dict(), ensure_ascii=False) if format == "json" else change.summary, flush=True)
    except KeyboardInterrupt:  # the usual way to end: every batch printed is applied
        print("rowlaw: stopped", file=sys.stderr)
