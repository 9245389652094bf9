"""Tables to measure on: generated ones with known violations, and real ones. Generated files are kept in
``cache()``."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path


def cache() -> Path:
    """The folder for generated tables: ``$ROWLAW_CACHE/bench``, else ``~/.cache/rowlaw/bench``."""
    root = os.environ.get("ROWLAW_CACHE")
    folder = (Path(root) if root else Path.home() / ".cache" / "rowlaw") / "bench"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def cached(name: str, write: Callable[[Path], object]) -> Path:
    """The file ``name`` in the cache, made by ``write`` when it is not there yet; a broken run leaves no half file."""
    path = cache() / name
    if not path.exists():
        draft = path.with_name(f".{os.getpid()}-{name}")
        try:
            write(draft)
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)
    return path
