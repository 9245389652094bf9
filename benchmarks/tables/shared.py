"""Real tables that are not part of the repository: CSV files in the folder that ``ROWLAW_DATA`` names, if there is one.

``known/<table>.<kind>.json`` beside them holds results that several tools agree on.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any


def folder() -> Path | None:
    """The folder, or None when it is not given or not there."""
    name = os.environ.get("ROWLAW_DATA")
    path = Path(name) if name else None
    return path if path is not None and path.is_dir() else None


def names() -> list[str]:
    """The tables at hand."""
    root = folder()
    return sorted(path.stem for path in root.glob("*.csv")) if root else []


def csv(name: str) -> Path:
    """The file of one table."""
    root = folder()
    if root is None:
        raise FileNotFoundError("ROWLAW_DATA does not name a folder with tables")
    path = root / f"{name}.csv"
    if not path.exists():
        raise FileNotFoundError(f"no table {name!r}; at hand: {', '.join(names()) or 'none'}")
    return path


def known(name: str, kind: str) -> dict[str, Any] | None:
    """The known result of one kind (``dc``, ``fd``, ``od`` or ``ucc``), if it is written down."""
    root = folder()
    path = root / "known" / f"{name}.{kind}.json" if root else None
    return json.loads(path.read_text(encoding="utf-8")) if path is not None and path.exists() else None
