"""The process of a command: what it spares itself from its start to its end. Measured on the page about speed (docs/speed.md).

None of it changes an answer, and none of it is done to a program that imports rowlaw: there the process belongs to somebody else.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
import threading
from importlib.abc import MetaPathFinder
from typing import Any, NoReturn

GARBAGE = 100_000  # objects made before a search for unreachable ones: after 700, as Python does, is hundreds of times while modules load


def main() -> None:
    """Run the command of this process, and end it."""
    gc.set_threshold(GARBAGE)
    sys.meta_path.insert(0, _PandasOnDemand())
    from rowlaw.cli.app import main as run

    try:
        run()
    except SystemExit as ended:
        _leave(ended)


class _PandasOnDemand(MetaPathFinder):
    """Hides pandas from pyarrow, which imports it with the first array it makes, only to know pandas' types when it meets them.

    That takes longer than a small check. What pyarrow imports, being compiled, seems to be imported by whoever called it: here modules of
    rowlaw, which never import pandas themselves. Spark and everybody else find it as ever, and so does pyarrow once it really needs it.
    """

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:  # noqa: ARG002 - a finder's parameters
        if name != "pandas":
            return
        frame = sys._getframe(1)
        while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("importlib"):
            frame = frame.f_back
        if frame.f_globals.get("__name__", "").startswith("rowlaw."):
            raise ModuleNotFoundError(f"{name} is not wanted here", name=name)


def _leave(ended: SystemExit) -> NoReturn:
    """End the process as Python does, but without taking apart every module and object first, of which Numba alone has a great many."""
    if not isinstance(ended.code, int | None) or "pyspark" in sys.modules:
        raise ended  # the usual way: what Spark does at the end is its own business
    try:
        threading._shutdown()  # type: ignore[attr-defined]  # waits for threads, as Python does first
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):  # a stream that is closed or full: Python says so in its own way
        raise ended from None
    os._exit(ended.code or 0)
