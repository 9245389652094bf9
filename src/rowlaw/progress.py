"""What a long run says while it works: on stderr, and only after two seconds.

On a terminal a bar with phase, count and estimate; elsewhere one plain line per phase.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

PATIENCE = 2.0  # seconds before anything is shown

_phases: list[Phase] = []  # that run right now, in all threads; the latest one last
_compilations = 0  # kernels being compiled right now: one, and those that it calls


def compiling(more: int) -> None:
    """Kernels begin (1) or end (-1) to be compiled, which happens once for each and makes a phase take longer than it
    ever will again."""
    global _compilations  # noqa: PLW0603 - the compiler is one for the process, and so is its lock
    _compilations += more


def jobs(done: int, planned: int) -> None:
    """Say how many Spark jobs of a step are done, to the phase that runs; none planned: the step is over.

    >>> with Progress(quiet=True).phase("complete") as phase:
    ...     phase.update(1, note="7 laws proven")
    ...     jobs(2, 5)
    ...     phase.comment
    '7 laws proven, Spark job 3 of 5'
    """
    if _phases:
        _phases[-1].jobs = f"Spark job {done + 1:,} of {planned:,}" if planned else ""
        _phases[-1]._show()


@dataclass(eq=False)
class Phase:
    """A part of a run with a known or unknown number of steps."""

    name: str
    total: int | None = None
    done: int = 0
    note: str = ""
    jobs: str = ""  # Spark jobs of the step that runs
    _shown: Any = field(default=None, repr=False)

    def advance(self, steps: int = 1) -> None:
        self.update(self.done + steps)

    def update(self, done: int, total: int | None = None, note: str | None = None) -> None:
        self.done = done
        self.total = total if total is not None else self.total
        self.note = note if note is not None else self.note
        self._show()

    @property
    def comment(self) -> str:
        """The text beside the count: the note, and which job of how many runs."""
        return ", ".join(part for part in (self.note, self.jobs) if part)

    def _show(self) -> None:
        if self._shown is not None:
            self._shown.show(self)


class Progress:
    """The progress of one run; ``seconds`` is what each phase took.

    >>> progress = Progress(quiet=True)
    >>> with progress.phase("read"):
    ...     pass
    >>> list(progress.seconds)
    ['read']
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self.quiet = quiet
        self.seconds: dict[str, float] = {}
        self._lock = threading.Lock()
        self._bar: Any = None
        self._task: Any = None
        self._began = time.perf_counter()

    @contextmanager
    def phase(self, name: str, total: int | None = None) -> Iterator[Phase]:
        phase = Phase(name, total)
        _phases.append(phase)
        began = time.perf_counter()
        timer = None
        if not self.quiet:
            phase._shown = self
            timer = threading.Timer(max(0.0, PATIENCE - (began - self._began)), self.show, [phase, True])
            timer.daemon = True
            timer.start()
        try:
            yield phase
        finally:
            _phases.remove(phase)
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - began
            if timer is not None:
                timer.cancel()
            self._clear()

    def say(self, text: str) -> None:
        """Print a line on stderr, unless the run is quiet."""
        if not self.quiet:
            print(f"rowlaw: {text}", file=sys.stderr, flush=True)  # noqa: T201 - messages go to stderr

    def show(self, phase: Phase, begin: bool = False) -> None:
        """Put the phase on the screen; before its time only ``begin`` does."""
        with self._lock:
            if self._bar is None:
                if not begin:
                    return
                if not sys.stderr.isatty():
                    print(f"rowlaw: {_title(phase)} ...", file=sys.stderr, flush=True)  # noqa: T201 - messages go to stderr
                    phase._shown = None
                    return
                self._start()
            if self._task is None:
                self._task = self._bar.add_task(_title(phase), total=phase.total, note=phase.comment)
            self._bar.update(
                self._task, description=_title(phase), completed=phase.done, total=phase.total, note=phase.comment
            )

    def _start(self) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            SpinnerColumn,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        self._bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"),
            console=Console(stderr=True),
            transient=True,
        )
        self._bar.start()

    def _clear(self) -> None:
        with self._lock:
            if self._bar is not None:
                self._bar.stop()
            self._bar = self._task = None


def _title(phase: Phase) -> str:
    return f"{phase.name}, compiling kernels (once)" if _compilations else phase.name
