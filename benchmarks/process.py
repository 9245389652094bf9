"""CPU seconds and memory of a process and all its descendants: a JVM and its Python workers count as much as we do."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psutil

FAMILY_EVERY = 0.25  # seconds between looks for new descendants
RSS_EVERY = 0.05
PSS_EVERY = 0.25  # reading PSS walks page tables under a lock: seldom, and never more than a twentieth of the time
PSS_SHARE = 20


def family(root: psutil.Process) -> list[psutil.Process]:
    """The process and its living descendants."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return [root, *root.children(recursive=True)]
    return []


def cpu_seconds(root: psutil.Process) -> float:
    """User and system time of the family, with children that have ended and were waited for."""
    total = 0.0
    for process in family(root):
        with contextlib.suppress(psutil.Error):
            times = process.cpu_times()
            total += (
                times.user
                + times.system
                + getattr(times, "children_user", 0.0)
                + getattr(times, "children_system", 0.0)
            )
    return total


def rss(processes: list[psutil.Process]) -> int:
    """Resident bytes, shared pages once per process."""
    total = 0
    for process in processes:
        with contextlib.suppress(psutil.Error):
            total += process.memory_info().rss
    return total


def pss(processes: list[psutil.Process]) -> int | None:
    """Resident bytes, every page once: a page shared by n processes counts 1/n in each. None where the system does not
    tell."""
    total, told = 0, False
    for process in processes:
        with contextlib.suppress(OSError, ValueError, IndexError):
            for line in Path(f"/proc/{process.pid}/smaps_rollup").read_text(encoding="ascii").splitlines():
                if line.startswith("Pss:"):
                    total, told = total + int(line.split()[1]) * 1024, True
                    break
    return total if told else None


@dataclass(slots=True)
class Sampler:
    """Samples of a family's memory, each with its time on the monotonic clock, which all processes share."""

    root: psutil.Process
    rss_samples: list[tuple[float, int]] = field(default_factory=list)
    pss_samples: list[tuple[float, int]] = field(default_factory=list)
    seen: dict[int, psutil.Process] = field(default_factory=dict)
    _family: list[psutil.Process] = field(default_factory=list)
    _next_family: float = 0.0
    _next_pss: float = 0.0

    def sample(self) -> None:
        now = time.monotonic()
        if now >= self._next_family:
            self._family = family(self.root)
            self.seen.update((process.pid, process) for process in self._family)
            self._next_family = now + FAMILY_EVERY
        self.rss_samples.append((now, rss(self._family)))
        if now >= self._next_pss:
            value = pss(self._family)
            if value is not None:
                self.pss_samples.append((now, value))
            self._next_pss = now + max(PSS_EVERY, PSS_SHARE * (time.monotonic() - now))

    def end(self, patience: float = 10.0) -> None:
        """Wait for descendants that are on their way out, then end those that are not: only processes of this
        family."""
        self.seen.update((process.pid, process) for process in family(self.root))
        _, alive = psutil.wait_procs(list(self.seen.values()), timeout=patience)
        for process in alive:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(alive, timeout=5.0)


def within(samples: list[tuple[float, int]], windows: list[tuple[float, float]]) -> Iterator[int]:
    """Samples taken while the clock was in one of the windows."""
    return (value for at, value in samples if any(begin <= at <= end for begin, end in windows))
