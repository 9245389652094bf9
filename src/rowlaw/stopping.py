"""How work in progress learns that it has to end: a flag that Python code and kernels look at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


class Stopped(Exception):  # noqa: N818 - nothing is wrong: somebody wants the work to end
    """Raised by work that was told to stop before it was done; ``results`` has those of its tasks that are, in order,
    else None."""

    def __init__(self, results: Sequence[Any] = ()) -> None:
        super().__init__("stopped before it was done")
        self.results = results


class Stop:
    """A request to end, made by setting ``flag``; kernels that run without the interpreter get the array itself.

    >>> stop = Stop()
    >>> stop(), stop.request(), stop()
    (False, None, True)
    """

    def __init__(self) -> None:
        self.flag = np.zeros(1, np.uint8)  # 1: end. Shared with kernels, which only read it

    def __call__(self) -> bool:
        """Return whether to end."""
        return bool(self.flag[0])

    def request(self) -> None:
        """Ask everything that looks at the flag to end."""
        self.flag[0] = 1

    def check(self) -> None:
        """Raise :class:`Stopped` if it is time to end."""
        if self():
            raise Stopped

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), ()  # a worker elsewhere cannot hear the request: its job is cancelled


NEVER = Stop()  # never requested
