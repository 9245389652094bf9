"""Puts the times of commands into the page about their speed: as they are, and as they were before they were looked at."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
TARGET = "cold.json"
BEFORE = "before"  # the folder with what the same target gave on an older version
NOTHING = "No results have been recorded yet: `make bench T=cold`."
MARK = "<!-- cold -->"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Called by MkDocs for each page."""
    written = MARK.replace("<!-- ", "<!-- /") in markdown  # by python -m benchmarks.pages
    return markdown.replace(MARK, cold()) if MARK in markdown and not written else markdown


def cold(folder: Path = RESULTS) -> str:
    """A line for each command: the least of all rounds, because whatever else a machine does only adds to it."""
    now, before = _least(folder / TARGET), _least(folder / BEFORE / TARGET)
    if not now:
        return NOTHING
    rows = [[name, size, _seconds(before.get((name, size))), _seconds(now[name, size])] for name, size in now]
    lines = [["from start to answer", "rows", "before", "now"], ["---"] * 4, *rows]
    table = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    found = json.loads((folder / TARGET).read_text(encoding="utf-8"))
    machine = found["machine"]
    return f"{table}\n\n`make bench T=cold`, {found['when']}; {machine['cores']} cores ({machine['cpu']}), Python {machine['python']}."


def _least(path: Path) -> dict[tuple[str, str], float]:
    if not path.exists():
        return {}
    found = json.loads(path.read_text(encoding="utf-8"))
    return {
        (one["name"], f"{one['size']:,}" if one["size"] else ""): min(one["contenders"][0]["seconds"])
        for one in found["comparisons"]
        if one["contenders"][0]["seconds"]
    }


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.2f} s"
