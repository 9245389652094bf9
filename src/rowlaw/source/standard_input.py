"""Standard input as a file: it is copied once, since a table is read in several places at once."""

from __future__ import annotations

import atexit
import shutil
import sys
import tempfile
from functools import lru_cache
from pathlib import Path

from rowlaw.errors import RowlawError

STANDARD_INPUT = "-"
_FORMATS = ((b"PAR1", "parquet"), (b"ORC", "orc"), (b"ARROW1", "arrow"))


@lru_cache(maxsize=1)
def copied() -> tuple[str, str]:
    """The path of a copy of standard input, and its format as its first bytes tell: CSV if nothing else."""
    if sys.stdin is None or sys.stdin.isatty():
        problem = "nothing is sent to standard input; for example: rowlaw check - laws.yaml < people.csv"
        raise RowlawError("BAD_FILE", path=STANDARD_INPUT, problem=problem)
    folder = Path(tempfile.mkdtemp(prefix="rowlaw-stdin-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = folder / "standard input"
    with path.open("wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    with path.open("rb") as file:
        head = file.read(1024)
    format = next((name for magic, name in _FORMATS if head.startswith(magic)), None)
    return str(path), format or ("json" if head.lstrip()[:1] in (b"{", b"[") else "csv")
