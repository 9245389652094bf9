"""When a run has to end, how kernels hear of it, and how much is still made of what was found by then."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from rowlaw.errors import RowlawError

LATE_RULES = 25_000  # written and ranked once it is time to stop, the shortest ones: at most some three seconds


@dataclass
class Deadline:
    """A moment to stop at, or none; ``stopped`` says that work was cut short, so that the result is partial.

    >>> Deadline.after(None).passed, Deadline.after(0.0).passed
    (False, True)
    """

    moment: float = math.inf
    stopped: bool = False
    cause: str = ""  # why work was cut short, if it was not for time
    _flags: list[np.ndarray] = field(default_factory=list, repr=False)

    @staticmethod
    def after(seconds: float | None) -> Deadline:
        if seconds is not None and seconds < 0:
            raise RowlawError("BAD_OPTION", option="time_limit", value=seconds, problem="seconds, 0 or more")
        return Deadline() if seconds is None else Deadline(time.monotonic() + seconds)

    @property
    def passed(self) -> bool:
        """Whether it is time to stop; remembers the answer."""
        if not self.stopped and time.monotonic() >= self.moment:
            self.stopped = True
        return self.stopped

    def stop(self, cause: str) -> None:
        """It is time to stop for another reason, unless it is already."""
        if not self.passed:
            self.stopped, self.cause = True, cause

    @property
    def left(self) -> float:
        """Seconds until it is time to stop."""
        return max(0.0, self.moment - time.monotonic())

    def part(self, share: float) -> Deadline:
        """A deadline of its own, for a piece of work that is to take no more than a share of the time left."""
        return Deadline(time.monotonic() + share * self.left) if self.moment < math.inf or self.stopped else Deadline()

    def room(self, rules: int) -> int:
        """Of so many rules found, how many there is still time to list."""
        return min(rules, LATE_RULES) if self.stopped else rules

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Ctrl-C stops the work in good order instead of breaking it off; pressed again, it does break it off."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def stop(*_: object) -> None:
            self.moment, self.stopped = 0.0, True
            for flag in self._flags:
                flag[0] = 1
            signal.signal(signal.SIGINT, before)

        before = signal.signal(signal.SIGINT, stop)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    @contextmanager
    def watched(self) -> Iterator[np.ndarray]:
        """An array whose first element becomes 1 when it is time: kernels that run without the interpreter look at it."""
        flag = np.zeros(1, np.uint8)
        self._flags.append(flag)

        def ring() -> None:
            self.stopped = True
            flag[0] = 1

        if self.passed:
            flag[0] = 1
        timer = None
        if self.left < threading.TIMEOUT_MAX and not self.stopped:
            timer = threading.Timer(self.left, ring)
            timer.daemon = True
            timer.start()
        try:
            yield flag
        finally:
            self._flags.pop()
            if timer is not None:
                timer.cancel()
