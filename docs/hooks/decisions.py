"""Puts every decision record into the navigation, so that a new one needs no line in mkdocs.yml."""

from __future__ import annotations

from pathlib import Path
from typing import Any

FOLDER = "decisions"


def on_config(config: Any, **_: Any) -> Any:
    """Called by MkDocs before it looks at the pages."""
    for entry in config["nav"]:
        if isinstance(entry, dict) and entry.get("Decisions") == f"{FOLDER}/README.md":
            entry["Decisions"] = [
                f"{FOLDER}/{path.name}" for path in sorted(Path(config["docs_dir"], FOLDER).glob("*.md"), key=_first)
            ]
    return config


def _first(path: Path) -> tuple[bool, str]:
    return path.name != "README.md", path.name
