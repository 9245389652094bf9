"""Pictures of the results, beside them: ``python -m benchmarks.plots [FOLDER]`` draws them again from the JSON
documents.

For each target the ratios to peers; for all of them together ratios of time and of memory, and growth with rows,
columns and rules.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from benchmarks import svg
from benchmarks.case import OURS, titled
from benchmarks.documents import RESULTS, Document, read_all
from benchmarks.svg import Dot

MIB = 2**20
TIME, MEMORY = (
    "our time / peer's time: left of 1 we are faster (triangle: a bound, red: the bar)",
    "our peak of memory / peer's peak",
)


def draw(folder: Path = RESULTS) -> list[Path]:
    """Write all pictures that the documents of a folder give, and remove others."""
    found = read_all(folder)
    pictures = {document["target"]: svg.dots(made, TIME) for document in found if (made := ratios(document))}
    if made := against_tools(found):
        pictures["all-time"] = svg.dots(made, TIME)
    if made := memory_ratios(found):
        pictures["all-memory"] = svg.dots(made, MEMORY)
    for axis in ("rows", "columns", "rules"):
        if series := growth(found, axis):
            pictures[f"growth-{axis}"] = svg.lines(series, axis, "seconds")
    if series := growth(found, "rows", memory=True):
        pictures["growth-memory"] = svg.lines(series, "rows", "peak, MiB")
    for old in folder.glob("*.svg"):
        if old.stem not in pictures:
            old.unlink()
    paths = []
    for name, text in pictures.items():
        paths.append(folder / f"{name}.svg")
        paths[-1].write_text(text, encoding="utf-8")
    return paths


def ratios(document: Document) -> list[Dot]:
    """All ratios of time in a document, a row for each case."""
    found = []
    for comparison in document["comparisons"]:
        title = titled(comparison["name"], comparison["size"], comparison.get("axis", "rows"))
        for peer in comparison["contenders"][1:]:
            ratio = peer.get("ratio")
            if ratio is not None:
                bar = peer.get("bar", {}).get("at_most")
                found.append(Dot(title, peer["label"], ratio["value"], ratio["min"], ratio["max"], ratio["bound"], bar))
    return found


def against_tools(documents: Sequence[Document]) -> list[Dot]:
    """All ratios of time to other tools, a row for each target."""
    return [
        Dot(
            document["target"],
            dot.series,
            dot.value,
            dot.value,
            dot.value,
            dot.bound,
            note=f"{dot.row}, {dot.bound or ''} {dot.value:.3g}",
        )
        for document in documents
        for dot in ratios(document)
        if not dot.series.startswith(OURS)
    ]


def memory_ratios(documents: Sequence[Document]) -> list[Dot]:
    """All ratios of peaks of memory to other tools, a row for each target; the peak of one that ran out of time is a
    bound."""
    found = []
    for document in documents:
        for comparison in document["comparisons"]:
            ours, *peers = comparison["contenders"]
            for peer in peers:
                mine, theirs = peak(ours), peak(peer)
                if mine and theirs and not peer["label"].startswith(OURS):
                    title = titled(comparison["name"], comparison["size"], comparison.get("axis", "rows"))
                    note = f"{title}, {mine / MIB:,.0f} / {theirs / MIB:,.0f} MiB"
                    bound, value = "<" if "timeout_seconds" in peer else None, mine / theirs
                    found.append(Dot(document["target"], peer["label"], value, value, value, bound, note=note))
    return found


def growth(documents: Sequence[Document], axis: str, *, memory: bool = False) -> dict[str, list[tuple[float, float]]]:
    """Size and seconds (or peaks in MiB) of what was measured at several sizes; peers only where there are few of
    ours."""
    found: dict[str, dict[int, float]] = defaultdict(dict)
    for document in documents:
        for comparison in document["comparisons"]:
            if comparison["size"] is None or comparison.get("axis", "rows") != axis:
                continue
            for one in comparison["contenders"][: 1 if axis == "rows" else None]:
                value = (peak(one) or 0) / MIB if memory else one["median_seconds"]
                if value:
                    found[f"{comparison['name']}{'' if axis == 'rows' else ', ' + one['label']}"][
                        comparison["size"]
                    ] = value
    return {name: sorted(points.items()) for name, points in found.items() if len(points) > 1}


def peak(contender: Document) -> int | None:
    """Bytes: every page once where the system tells that, else shared pages once per process."""
    return contender.get("peak_pss_bytes") or contender.get("peak_rss_bytes")


if __name__ == "__main__":
    for picture in draw(*map(Path, sys.argv[1:2])):
        print(picture)
