"""When a run has to end, and how kernels hear of it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from rowlaw.errors import RowlawError


@dataclass
class Deadline:
    """A moment to stop at, or none; ``stopped`` says that work was cut short, so that the result is partial.

    >>> Deadline.after(None).passed, Deadline.after(0.0).passed
    (False, True)
    """

    moment: float | None = None
    stopped: bool = field(default=False)

    @staticmethod
    def after(seconds: float | None) -> Deadline:
        if seconds is not None and seconds < 0:
            raise RowlawError("BAD_OPTION", option="time_limit", value=seconds, problem="seconds, 0 or more")
        return Deadline(None if seconds is None else time.monotonic() + seconds)

    @property
    def passed(self) -> bool:
        """Whether it is time to stop; remembers the answer."""
        if not self.stopped and self.moment is not None and time.monotonic() >= self.moment:
            self.stopped = True
        return self.stopped

    def stop(self) -> None:
        """Stop now: somebody pressed Ctrl-C."""
        self.stopped = True

    @contextmanager
    def watched(self) -> Iterator[np.ndarray]:
        """An array whose first element becomes 1 when it is time: kernels that run without the interpreter look at it."""
        flag = np.zeros(1, np.uint8)

        def ring() -> None:
            self.stopped = True
            flag[0] = 1

        if self.passed:
            flag[0] = 1
        timer = None
        if self.moment is not None and not self.stopped:
            timer = threading.Timer(max(0.0, self.moment - time.monotonic()), ring)
            timer.daemon = True
            timer.start()
        try:
            yield flag
        finally:
            if timer is not None:
                timer.cancel()
