"""The largest resident memory that single processes of a Spark application have: the driver's Python, and each Python
worker."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Self

import psutil

from benchmarks.process import family

LOOK_EVERY = 0.2  # seconds; the system keeps each process's peak, so only processes that live less are missed


def peak_rss(pid: int | str) -> int:
    """The largest resident set of a process so far, in bytes; 0 if it is gone."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return 0


def reset_peak() -> None:
    """Forget this process's peak, so that :func:`peak_rss` tells that of what follows."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


class Watch:
    """Looks at the Python workers below some processes while in the ``with`` block; ``peaks`` has each one's peak by
    its process id."""

    def __init__(self, roots: Callable[[], list[int]]) -> None:
        self.roots = roots
        self.peaks: dict[int, int] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._ended.wait(LOOK_EVERY):
            for root in self.roots():
                with contextlib.suppress(psutil.Error):
                    for process in family(psutil.Process(root)):
                        if _is_python(process):
                            self.peaks[process.pid] = max(self.peaks.get(process.pid, 0), peak_rss(process.pid))


def _is_python(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.Error):
        return process.name().startswith("python")
    return False
