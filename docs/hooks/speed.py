"""Puts the times of commands into the page about their speed: as they are, and as they were before they were looked
at."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
TARGET = "cold"
BEFORE = "cold before"  # the same, measured on an older version
NOTHING = "No results have been recorded yet: `make bench T=cold`."
MARK = "<!-- cold -->"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Called by MkDocs for each page."""
    written = MARK.replace("<!-- ", "<!-- /") in markdown  # by python -m benchmarks.pages
    return markdown.replace(MARK, cold()) if MARK in markdown and not written else markdown


def cold(folder: Path = RESULTS) -> str:
    """A line for each command: the least of all rounds, because whatever else a machine does only adds to it."""
    path = folder / "summary.json"
    documents = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    now, before = _least(documents.get(TARGET)), _least(documents.get(BEFORE))
    if not now:
        return NOTHING
    rows = [[name, size, _seconds(before.get((name, size))), _seconds(now[name, size])] for name, size in now]
    lines = [["from start to answer", "rows", "before", "now"], ["---"] * 4, *rows]
    table = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    found = documents[TARGET]
    machine = found["machine"]
    return (
        f"{table}\n\n`make bench T=cold`, {found['when']}; {machine['cores']} cores ({machine['cpu']}), "
        f"Python {machine['python']}."
    )


def _least(found: dict[str, Any] | None) -> dict[tuple[str, str], float]:
    if found is None:
        return {}
    return {
        (one["name"], f"{one['size']:,}" if one["size"] else ""): min(one["contenders"][0]["seconds"])
        for one in found["comparisons"]
        if one["contenders"][0]["seconds"]
    }


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.2f} s"
