"""When a run has to end: how searching, kernels and Spark tasks learn of it, and what time is left for ranking and
writing."""

from __future__ import annotations

import math
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import numpy as np

from rowlaw.errors import RowlawError
from rowlaw.interrupts import listening
from rowlaw.stopping import Stop

# rules ranked once it is time to stop, the shortest ones: writing more of them takes longer than a second
LATE_RULES = 25_000
_RANKED = 0.15  # share of a time limit that is kept for ranking, at most _RANKED_SECONDS (benchmarks/targets/limits.py)
_RANKED_SECONDS = 6.0
_WRITTEN = 0.03  # share of a time limit that is kept for what comes after discovery: writing the rules
_INTERRUPTED_SECONDS = 1.0  # for ranking after Ctrl-C

T = TypeVar("T")
R = TypeVar("R")


class Deadline(Stop):
    """A moment to stop at, or none; ``stopped`` says that work was cut short, so that the result is partial.

    >>> Deadline.after(None).passed, Deadline.after(0.0).passed
    (False, True)

    ``ranking`` is the deadline of what is done with the rules once the search has ended.
    """

    def __init__(self, moment: float = math.inf, ranking: Deadline | None = None) -> None:
        super().__init__()
        self.moment = moment
        self.stopped = False
        self.cause = ""  # why work was cut short, if it was not for time
        self.most = sys.maxsize  # rules of a search to list, however much time there is
        self.interrupted = False  # by Ctrl-C
        self._ranking = ranking
        self._parts: weakref.WeakSet[Deadline] = weakref.WeakSet()
        self._timer: threading.Timer | None = None

    @staticmethod
    def after(seconds: float | None) -> Deadline:
        """Return the deadline of a run that is to take no more than so many seconds, ranking and writing included."""
        if seconds is not None and not seconds >= 0:
            raise RowlawError("BAD_OPTION", option="time_limit", value=seconds, problem="seconds, 0 or more")
        if seconds is None:
            return Deadline()
        end = time.monotonic() + (1 - _WRITTEN) * seconds
        return Deadline(end - min(_RANKED * seconds, _RANKED_SECONDS), Deadline(end))

    def end_at(self, moment: float, ranking: float) -> None:
        """Give a deadline a moment while it is in use, and one for ranking; an earlier moment stays."""
        self.moment = min(self.moment, moment)
        self.ranking.moment = min(self.ranking.moment, ranking)

    @property
    def ranking(self) -> Deadline:
        """When ranking has to end."""
        if self._ranking is None:
            self._ranking = Deadline()
        return self._ranking

    @property
    def passed(self) -> bool:
        """Whether it is time to stop; remembers the answer."""
        if not self.stopped and time.monotonic() >= self.moment:
            self.request()
        return self.stopped

    def __call__(self) -> bool:
        return self.passed

    def request(self) -> None:
        """Stop now, whatever the clock says."""
        self.stopped = True
        super().request()
        for part in list(self._parts):
            part.request()

    def stop(self, cause: str) -> None:
        """Stop for another reason, unless it is time to stop already."""
        if not self.passed:
            self.cause = cause
            self.request()

    @property
    def left(self) -> float:
        """Seconds until it is time to stop."""
        return 0.0 if self.stopped else max(0.0, self.moment - time.monotonic())

    def part(self, share: float) -> Deadline:
        """Return a deadline of its own, for a piece of work that is to take no more than a share of the time left."""
        part = Deadline(time.monotonic() + share * self.left) if self.moment < math.inf or self.stopped else Deadline()
        part.most = self.most
        self._parts.add(part)
        return part

    def limited(self, rules: int) -> int:
        """Of so many rules found, how many to list: those that there is still time for."""
        return min(rules, self.most, LATE_RULES if self.stopped else rules)

    def left_out(self, listed: int, found: int) -> str:
        """Say that not all rules found are listed; nothing if they are."""
        if listed == found:
            return ""
        late = "time was up: " if listed < min(found, self.most) else ""
        return f"; {late}only the shortest {listed:,} of {found:,} rules found are listed"

    def made(
        self, share: float, items: Sequence[T], make: Callable[[Sequence[T]], Iterable[R]], portion: int = 256
    ) -> tuple[list[R], int]:
        """Return what ``make`` gives for the items, a portion at a time, within a share of the time left; and how many
        items that was.

        The first portion is always made: there is something to show for the time taken.
        """
        until = self.part(share)
        made: list[R] = []
        for start in range(0, len(items), portion):
            if start and until.passed:
                return made, start
            made += make(items[start : start + portion])
        return made, len(items)

    def portions(self, items: np.ndarray, limit: int, seconds: float, each: float) -> Iterator[np.ndarray]:
        """Give items in portions until it is time to stop: of ``limit`` items, or, where time is limited, of as many as
        take about ``seconds``, since all that is begun then may be lost.

        ``each``: seconds that an item of the first portion takes, 0 if that is unknown; later ones take as long as
        those before.
        """
        start = 0
        while start < len(items) and not self.passed:
            size = limit
            if self.moment < math.inf and each > 0:
                size = max(1, min(limit, int(seconds / each)))
            began = time.perf_counter()
            yield items[start : start + size]
            start += size
            each = (time.perf_counter() - began) / size

    def interrupt(self) -> bool:
        """Take a first Ctrl-C: stop, and rank what is proven quickly. Whether it was the first."""
        if self.interrupted:
            return False
        self.interrupted = True
        self.ranking.moment = min(self.ranking.moment, time.monotonic() + _INTERRUPTED_SECONDS)
        self.request()
        return True

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Let Ctrl-C stop the work in good order; pressed again, it does what it did before, most often raise
        ``KeyboardInterrupt``."""
        try:
            with listening(self.interrupt):
                yield
        except SystemError:
            # Numba makes Python objects of a kernel's results without a look at exceptions: there it becomes of
            # KeyboardInterrupt
            if self.interrupted:
                raise KeyboardInterrupt from None
            raise

    @contextmanager
    def watched(self) -> Iterator[np.ndarray]:
        """The flag, which is set when the time comes: for kernels that run while no Python code looks at the clock."""
        if self.passed:
            self.request()
        timer = None
        if self._timer is None and not self.stopped and self.left < threading.TIMEOUT_MAX:
            timer = self._timer = threading.Timer(self.left, self.request)
            timer.daemon = True
            timer.start()
        try:
            yield self.flag
        finally:
            if timer is not None:
                timer.cancel()
                self._timer = None

    def __reduce__(self) -> tuple[Any, ...]:
        return _resumed, (None if self.left == math.inf else self.left,)


def _resumed(seconds: float | None) -> Deadline:
    """Return a deadline in another process, where clocks are others; its kernels hear it as well."""
    deadline = Deadline() if seconds is None else Deadline(time.monotonic() + seconds)
    if seconds is not None and seconds < threading.TIMEOUT_MAX:
        known = weakref.ref(deadline)

        def ring() -> None:
            with suppress(AttributeError):  # the task is over
                known().request()  # type: ignore[union-attr]

        timer = threading.Timer(seconds, ring)
        timer.daemon = True
        timer.start()
    return deadline
