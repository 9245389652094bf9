"""Puts the measured figures into the page of benchmarks: they are read from benchmarks/results, and none is typed by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
MARK = "<!-- figures -->"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Called by MkDocs for each page."""
    return markdown.replace(MARK, figures()) if MARK in markdown else markdown


def figures(folder: Path = RESULTS) -> str:
    """A section for each file of results."""
    parts = [_section(json.loads(path.read_text())) for path in sorted(folder.glob("*.json"))]
    return "\n\n".join(parts) or "No results have been recorded yet."


def _section(found: dict[str, Any]) -> str:
    machine = found["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in machine["packages"].items())
    head = (
        f"### {found['target']}\n\n`make bench T={found['target']}`, {found['when']}; {_rounds(found['repeat'])}; "
        f"{machine['cores']} cores ({machine['cpu']}), {machine['memory_gib']} GiB, Python {machine['python']}; {versions}."
    )
    rows = [line for comparison in found["comparisons"] for line in _lines(comparison)]
    names = ["case", "rows", "rowlaw", "peer", "its time", "rowlaw / peer", "answers"]
    table = "\n".join(f"| {' | '.join(cells)} |" for cells in (names, ["---"] * len(names), *rows))
    growth = "\n".join(f"- {line}" for line in found.get("growth", ()))
    return "\n\n".join(part for part in (head, table, growth) if part)


def _rounds(number: int) -> str:
    return "one round" if number == 1 else f"median of {number} rounds"


def _lines(comparison: dict[str, Any]) -> list[list[str]]:
    ours, *peers = comparison["contenders"]
    size = comparison.get("size")
    start = [comparison["name"], f"{size:,}" if isinstance(size, int) else "", _time(ours)]
    if not peers:
        return [[*start, "", "", "", ""]]
    return [[*start, peer["label"], _time(peer), _ratio(peer), _agreed(peer)] for peer in peers]


def _time(contender: dict[str, Any]) -> str:
    if "timeout_seconds" in contender:
        return f"more than {contender['timeout_seconds']:g} s"
    seconds = contender.get("median_seconds")
    return f"{seconds:.3g} s" if seconds is not None else str(contender.get("failed", "no result"))


def _ratio(peer: dict[str, Any]) -> str:
    ratio = peer.get("ratio")
    return "" if not ratio else f"{ratio.get('bound') or ''} {ratio['value']:.2g}".strip()


def _agreed(peer: dict[str, Any]) -> str:
    return {True: "agree", False: "differ", None: "not compared"}[peer.get("answers_agree")]
