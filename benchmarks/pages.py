"""Figures where people read them: ``python -m benchmarks.pages`` writes the measured tables and pictures into the pages
of ``docs/``.

A page has a mark, ``<!-- summary -->``; what stands between it and ``<!-- /summary -->`` is written here, from the
results in ``benchmarks/results/summary.json``. ``make bench`` does this after measuring. The pages, the pictures in
docs/ and this file are committed.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from benchmarks.documents import RESULTS
from benchmarks.plots import draw

DOCS = Path(__file__).parents[1] / "docs"
PICTURES = Path("pictures") / "benchmarks"
_FIGURE = re.compile(
    r'<figure role="img" aria-label="([^"]*)">(<svg.*?</svg>)<figcaption>.*?</figcaption></figure>', re.DOTALL
)


def parts() -> dict[str, Callable[[Path], str]]:
    """What the hooks of the site put in the place of each mark."""
    figures, cluster, speed = (_hook(name) for name in ("figures", "cluster", "speed"))
    return {**figures.MARKS, "cluster": cluster.phases, "billion": cluster.estimate, "cold": speed.cold}


def _hook(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"hook_{name}", DOCS / "hooks" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def write(docs: Path = DOCS, results: Path = RESULTS) -> list[Path]:
    """Write the figures into all pages that have a mark; returns the pages that have changed."""
    changed = []
    known = parts()
    for page in sorted(docs.rglob("*.md")):
        before = page.read_text(encoding="utf-8")
        after = before
        for name, part in known.items():
            if f"<!-- {name} -->" in after:
                after = filled(after, name, _with_pictures(part(results), page, docs))
        if after != before:
            page.write_text(after, encoding="utf-8")
            changed.append(page)
    return changed


def filled(markdown: str, name: str, content: str) -> str:
    """A page with new content after a mark.

    >>> filled("a <!-- x --> b", "x", "1")
    'a <!-- x -->\\n\\n1\\n\\n<!-- /x --> b'
    >>> filled(filled("a <!-- x --> b", "x", "1"), "x", "2")
    'a <!-- x -->\\n\\n2\\n\\n<!-- /x --> b'
    """
    mark, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    head, _, tail = markdown.partition(mark)
    if end in tail:
        tail = tail.partition(end)[2]
    return f"{head}{mark}\n\n{content.strip()}\n\n{end}{tail}"


def _with_pictures(content: str, page: Path, docs: Path) -> str:
    """The content with its drawings as files beside the pages, which every reader of Markdown shows."""

    def saved(found: re.Match[str]) -> str:
        title, drawing = found.groups()
        name = re.sub(r"[^a-z0-9]+", "-", title.casefold()).strip("-")[:80]
        path = docs / PICTURES / f"{name}.svg"
        path.parent.mkdir(parents=True, exist_ok=True)
        # drawings take the colour of the text around them; as a file there is none, so they bring their own ground
        path.write_text(
            drawing.replace("<svg ", '<svg style="background:#fff;color:#17202c" ', 1) + "\n", encoding="utf-8"
        )
        up = "../" * (len(page.relative_to(docs).parts) - 1)
        return f"![{title}]({up}{(PICTURES / path.name).as_posix()})"

    return _FIGURE.sub(saved, content)


if __name__ == "__main__":
    draw(RESULTS)
    for one in write():
        print(one)
