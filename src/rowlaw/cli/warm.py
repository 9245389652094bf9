"""``rowlaw warm``: does once what the first runs would otherwise wait for."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from rowlaw.cache import cache_dir
from rowlaw.cli.stories import read_story
from rowlaw.discovery import discover
from rowlaw.errors import RowlawError
from rowlaw.maintain import Laws
from rowlaw.progress import Progress
from rowlaw.rules import parse
from rowlaw.spark import warm
from rowlaw.spark.java import find_java
from rowlaw.violations import check

# One rule for each way of counting, on the built-in table.
RULES = (
    "key (id)",
    "fd (zip) -> city",
    "od {department}: level ~ salary",
    "not (s.department = t.department and s.level < t.level and s.salary > t.salary)",
    "not (s.level < t.level and s.salary > t.salary and s.hired < t.hired)",
    "not (s.zip = t.zip and s.city != t.city and s.level != t.level)",
)


def run(*, spark: bool, quiet: bool) -> None:
    """Compile the kernels of discovery, checks and upkeep by using them; then make the class archive that lets Java
    start faster."""
    progress = Progress(quiet=quiet)
    table = read_story("staff").table
    with progress.phase("compile the kernels of discovery"):
        discover(table, progress=False)
    with progress.phase("compile the kernels of checks"):
        check(table, [parse(rule) for rule in RULES], progress=False).close()
    with progress.phase("compile the kernels of upkeep"), tempfile.TemporaryDirectory() as folder:
        last = table.slice(table.num_rows - 2)
        laws = Laws.create(Path(folder) / "state", table.slice(0, table.num_rows - 2), row_id="id", progress=False)
        laws.apply(last, None, progress=False)
        laws.apply(None, last, progress=False)
    print(f"kernels: compiled, in {cache_dir()}")
    if spark:
        _archive(progress)


def _archive(progress: Progress) -> None:
    try:
        java = find_java()
    except RowlawError as error:
        print(f"rowlaw: {error}; so no class archive was made", file=sys.stderr)
        return
    with progress.phase("make the class archive of Java"):
        file = warm.make(java)
    if file is not None:
        print(f"class archive: {file.stat().st_size / 1e6:.0f} MB, {file}")
