"""Earlier versions of rowlaw, to be measured beside this one: the sources of a commit, in the cache."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import tarfile
from pathlib import Path

from benchmarks.tables import cache

ROOT = Path(__file__).resolve().parent.parent


def sources(commit: str) -> Path:
    """The folder ``src`` of a commit of this repository, made when it is not there yet."""
    folder = cache() / f"rowlaw-{commit}"
    if not folder.exists():
        packed = subprocess.run(["git", "archive", commit, "src"], cwd=ROOT, capture_output=True, check=True).stdout
        draft = folder.with_name(f".{os.getpid()}-{folder.name}")
        try:
            with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
                archive.extractall(draft, filter="data")
            draft.replace(folder)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    return folder / "src"


def environment(commit: str | None) -> dict[str, str]:
    """What to add to the environment of a process, and of the Spark workers that it starts, so that they import that
    version."""
    if commit is None:
        return {}
    return {"PYTHONPATH": os.pathsep.join(filter(None, (str(sources(commit)), os.environ.get("PYTHONPATH"))))}
