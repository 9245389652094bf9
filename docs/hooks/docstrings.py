"""Makes docstrings, which are written for people at a prompt, into pages: examples become code, roles become plain
names."""

from __future__ import annotations

import re
from typing import Any

import griffe

ROLE = re.compile(r":(?:func|class|meth|mod|attr):`~?([^`]+)`")
SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}$", re.MULTILINE)


class PromptDocstrings(griffe.Extension):
    """Rewrites each docstring before it is parsed."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = rewritten(obj.docstring.value)


def rewritten(text: str) -> str:
    """The docstring with examples in a section of their own if it has sections, and else in fences."""
    text = ROLE.sub(r"`\1`", text)
    sections = [found[1] for found in SECTION.finditer(text)]
    if "Examples" in sections:
        return text
    parts = re.split(r"^((?:>>> .*\n?)(?:.+\n?)*)", text, flags=re.MULTILINE)
    before, rest = parts[0], parts[1:]
    if not rest:
        return text
    if sections:  # what stands after a section belongs to it
        return before + "Examples\n--------\n" + "".join(rest)
    return before + "".join(f"```pycon\n{part.rstrip()}\n```\n" if part.startswith(">>> ") else part for part in rest)
