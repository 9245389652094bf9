"""What a search for minimal hitting sets is about, where it may look, when it has to end and what it found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from rowlaw.errors import RowlawError
from rowlaw.search.bitsets import word_count, words_of
from rowlaw.stopping import NEVER

MOST_SETS = 1 << 22  # found before a search gives up: as rules they would take more memory than there is
TOO_MANY = f"there are more than {MOST_SETS:,} minimal rules: name fewer columns"

Stop = Callable[[], bool]
never = NEVER  # no stop is requested


class Limit:
    """When a search has to end before it is done: someone says so, or it has found too much. Shared by its threads."""

    def __init__(self, stop: Stop) -> None:
        self._stop = stop
        self._left = MOST_SETS
        self.flag: np.ndarray = getattr(stop, "flag", NEVER.flag)  # for kernels; of a plain function they cannot hear

    def __call__(self) -> bool:
        return self._left < 0 or self._stop()

    def found(self, sets: int) -> None:
        """Count so many more sets as found."""
        self._left -= sets

    def halt(self) -> None:
        self._left = -1


class Branch(NamedTuple):
    """All minimal hitting sets that hold ``chosen`` and besides it only ``candidates`` (both ``uint64[words]``)."""

    chosen: np.ndarray
    candidates: np.ndarray


@dataclass(frozen=True, eq=False)
class Hypergraph:
    """Edges (``uint64[edges, words]``) over ``vertices``. No set that holds a ``forbidden`` one is wanted.

    ``exchange`` (an involution of the vertices, ``int64[vertices]``) maps edges to edges and forbidden sets to
    forbidden sets; of two sets that it maps to each other only one is wanted. ``lean``: edges that hold another one
    have been left out already.
    """

    edges: np.ndarray
    vertices: int
    forbidden: np.ndarray = field(default_factory=lambda: np.zeros(0, np.uint64))
    exchange: np.ndarray | None = None
    lean: bool = False

    def __post_init__(self) -> None:
        words = word_count(self.vertices)
        object.__setattr__(self, "edges", np.ascontiguousarray(self.edges, np.uint64).reshape(-1, words))
        object.__setattr__(self, "forbidden", np.ascontiguousarray(self.forbidden, np.uint64).reshape(-1, words))

    @property
    def whole(self) -> Branch:
        """The branch of all sets."""
        everything = words_of([0, (1 << self.vertices) - 1], word_count(self.vertices))
        return Branch(everything[0], everything[1])


@dataclass(frozen=True, eq=False, slots=True)
class Found:
    """``sets`` (``uint64[sets, words]``) are minimal hitting sets; ``complete`` says that they are all."""

    sets: np.ndarray
    complete: bool
    nodes: int

    @property
    def all(self) -> np.ndarray:
        """The sets of a search that could not be stopped: they are all, or too many to go on."""
        if not self.complete:
            raise RowlawError("MANY_RULES", most=MOST_SETS)
        return self.sets
