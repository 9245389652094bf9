"""What a run leaves behind: one JSON document per target, from which the pictures and the page of benchmarks are
made."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.case import Comparison, Options
from benchmarks.compare import growth, to_json
from benchmarks.report import Measured

RESULTS = Path(__file__).resolve().parent / "results"
SUMMARY = "summary.json"  # the one file of results: a document for each target
Document = dict[str, Any]


def document(target: str, facts: Document, measured: Measured, options: Options, seconds: float) -> Document:
    """The results of one run of one target, which took so many ``seconds`` in all."""
    comparisons = [to_json(comparison, records, options.timeout) for comparison, records in measured]
    return {
        "target": target,
        "when": time.strftime("%Y-%m-%d", time.gmtime()),
        "machine": facts,
        "repeat": options.repeat,
        "seconds": round(seconds, 1),
        "comparisons": comparisons,
        "growth": growth_lines(comparisons),
    }


def merged(new: Document, before: Document, wanted: Sequence[Comparison] | None = None) -> Document:
    """``new``, which has some cases of a target, completed by those of ``before``.

    With ``wanted``, all cases of the target as it is now: what it no longer has is dropped, and the others come in its
    order.
    """
    known = {_place(c): c for document in (before, new) for c in document["comparisons"]}
    if wanted is not None:
        labels = {(c.name, c.size): [one.label for one in (c.ours, *c.peers)] for c in wanted}
        known = {
            place: {**known[place], "contenders": [one for one in known[place]["contenders"] if one["label"] in asked]}
            for place, asked in labels.items()
            if place in known and known[place]["contenders"][0]["label"] == asked[0]
        }
    comparisons = list(known.values())
    whole = {"seconds": before["seconds"]} if "seconds" in before else {}
    return {**new, **whole, "comparisons": comparisons, "growth": growth_lines(comparisons)}


def growth_lines(comparisons: Sequence[Document]) -> list[str]:
    """A line per contender that was measured at several sizes of one case."""
    series: dict[tuple[str, str], dict[int, float]] = defaultdict(dict)
    bars: dict[tuple[str, str], float | None] = {}
    axes: dict[tuple[str, str], str] = {}
    for comparison in comparisons:
        for place, one in enumerate(comparison["contenders"]):
            if comparison["size"] is not None and one["median_seconds"] is not None:
                name = comparison["name"], one["label"]
                series[name][comparison["size"]] = one["median_seconds"]
                bars[name] = comparison.get("growth_bar") if place == 0 else None
                axes[name] = comparison.get("axis", "rows")
    return [
        f"{name}, {label}: {text}"
        for (name, label), seconds in series.items()
        if (text := growth(seconds, bars[name, label], axes[name, label]))
    ]


def write(found: Document, folder: Path) -> Path:
    """Put a document into the summary of ``folder``, in the place of an older one of its target."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / SUMMARY
    draft = path.with_suffix(".draft")
    documents = dict(sorted({**_documents(folder), found["target"]: found}.items()))
    draft.write_text(json.dumps(documents, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    draft.replace(path)
    return path


def read(target: str, folder: Path) -> Document | None:
    """The document of a target, if there is one."""
    return _documents(folder).get(target)


def read_all(folder: Path) -> list[Document]:
    """All documents of a folder, by name of target; `make torture` keeps its own there, and an older one is there to
    compare with."""
    return [one for name, one in _documents(folder).items() if name == one.get("target")]


def _documents(folder: Path) -> dict[str, Document]:
    path = folder / SUMMARY
    found: dict[str, Document] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def _place(comparison: Document) -> tuple[str, int | None]:
    return comparison["name"], comparison["size"]
