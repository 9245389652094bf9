"""A picture of a results file, beside it: ``python -m benchmarks.plots benchmarks/results/check.json``.

Left: our time divided by a peer's, per case, on a log axis (left of 1 we are faster). Right: how our time grows with the rows.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.case import short

_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999999")  # told apart by the colour-blind


@dataclass(frozen=True, slots=True)
class Dot:
    """A ratio to a peer: its spread, and the arrow of a bound."""

    case: str
    peer: str
    value: float
    low: float
    high: float
    bound: str | None
    bar: float | None


def dots(document: dict[str, Any]) -> list[Dot]:
    """All ratios in a results file, in its order."""
    found = []
    for comparison in document["comparisons"]:
        title = comparison["name"] + (f" {short(comparison['size'])}" if comparison["size"] is not None else "")
        for peer in comparison["contenders"][1:]:
            ratio = peer.get("ratio")
            if ratio is not None:
                bar = peer.get("bar", {}).get("at_most")
                found.append(Dot(title, peer["label"], ratio["value"], ratio["min"], ratio["max"], ratio["bound"], bar))
    return found


def lines(document: dict[str, Any]) -> dict[str, list[tuple[int, float]]]:
    """Rows and seconds of what we were measured on at several sizes."""
    found: dict[str, dict[int, float]] = defaultdict(dict)
    for comparison in document["comparisons"]:
        ours = comparison["contenders"][0]
        if comparison["size"] is not None and ours["median_seconds"] is not None:
            found[comparison["name"]][comparison["size"]] = ours["median_seconds"]
    return {name: sorted(points.items()) for name, points in found.items() if len(points) > 1}


def draw(results: Path) -> Path | None:
    """Write the picture as SVG; None when there is nothing to show. Needs matplotlib."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    document = json.loads(results.read_text(encoding="utf-8"))
    ratios, growth = dots(document), lines(document)
    panels = [panel for panel, content in ((_ratios, ratios), (_growth, growth)) if content]
    if not panels:
        return None
    # text as text keeps the file small; a fixed salt and no date keep it the same for the same results
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "rowlaw", "font.size": 8}):
        labels = len(dict.fromkeys(dot.case for dot in ratios))
        figure = Figure(figsize=(5.5 * len(panels) + 2, max(3.2, 0.28 * labels + 1.6)), layout="constrained")
        FigureCanvasSVG(figure)
        for place, panel in enumerate(panels, 1):
            panel(figure.add_subplot(1, len(panels), place), ratios if panel is _ratios else growth)
        figure.suptitle(f"{document['target']}, {document['when']}, {document['machine']['cores']} cores")
        path = results.with_suffix(".svg")
        figure.savefig(path, format="svg", metadata={"Date": None})
    return path


def _ratios(axes: Any, found: list[Dot]) -> None:
    cases = list(dict.fromkeys(dot.case for dot in found))
    for colour, peer in zip(_COLOURS * len(found), dict.fromkeys(dot.peer for dot in found), strict=False):
        mine = [dot for dot in found if dot.peer == peer]
        places = [cases.index(dot.case) for dot in mine]
        axes.hlines(places, [dot.low for dot in mine], [dot.high for dot in mine], color=colour, linewidth=1)
        for marker, bound in (("o", None), ("<", "<"), (">", ">")):
            chosen = [(dot.value, place) for dot, place in zip(mine, places, strict=True) if dot.bound == bound]
            if chosen:
                axes.plot(*zip(*chosen, strict=True), marker, color=colour, markersize=5)
        axes.plot([], [], "o", color=colour, label=peer)
    barred = {(dot.bar, cases.index(dot.case)) for dot in found if dot.bar is not None}
    if barred:
        axes.plot(*zip(*sorted(barred), strict=True), "|", color="#c00000", markersize=9, label="bar")
    axes.axvline(1.0, color="#888888", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_yticks(range(len(cases)), cases)
    axes.invert_yaxis()
    axes.set_xlabel("our time / peer's time (triangle: the other side of a time limit)")
    axes.grid(axis="x", linewidth=0.3)
    axes.legend(loc="best", frameon=False)


def _growth(axes: Any, found: dict[str, list[tuple[int, float]]]) -> None:
    for colour, (name, points) in zip(_COLOURS * len(found), found.items(), strict=False):
        axes.plot(*zip(*points, strict=True), "o-", color=colour, linewidth=1, markersize=4, label=name)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("rows")
    axes.set_ylabel("our seconds")
    axes.grid(linewidth=0.3)
    axes.legend(loc="best", frameon=False)


if __name__ == "__main__":
    for given in sys.argv[1:]:
        print(draw(Path(given)) or f"{given}: nothing to show")
