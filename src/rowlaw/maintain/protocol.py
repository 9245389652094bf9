"""What a state asks of the algorithms that keep rules current: see :mod:`rowlaw.maintain.evolve`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, Self, get_args

import numpy as np

from rowlaw.deadline import Deadline
from rowlaw.errors import RowlawError
from rowlaw.maintain.rulebook import Packed, Terms
from rowlaw.maintain.store import Reader, Writer
from rowlaw.maintain.table import GrowingTable
from rowlaw.predicates.space import SpaceOptions
from rowlaw.progress import Progress
from rowlaw.rules import RuleSet
from rowlaw.rules.model import Kind, Nulls

KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True, slots=True)
class UpkeepOptions:
    """Which rules are kept current: as in :func:`rowlaw.discover`. Fixed when a state is made."""

    kinds: tuple[Kind, ...] = ("dc",)
    nulls: Nulls = "unknown"
    error: float = 0.0
    space: SpaceOptions = field(default_factory=SpaceOptions)
    index_quota: int | None = None  # columns to index for keys: Swan section III-D
    rules: RuleSet | None = None  # chosen ones, which are counted; nothing is searched then

    def __post_init__(self) -> None:
        bad = next((kind for kind in self.kinds if kind not in KINDS), None)
        if bad is not None or not self.kinds:
            raise RowlawError("BAD_OPTION", option="kinds", value=bad or "", problem=f"use {', '.join(KINDS)}")
        if self.nulls not in get_args(Nulls):
            raise RowlawError("BAD_OPTION", option="nulls", value=self.nulls, problem=f"use {', '.join(get_args(Nulls))}")
        if not 0 <= self.error < 1:
            raise RowlawError("BAD_OPTION", option="error", value=self.error, problem="a share, 0 or more and less than 1")


class Happenings(Protocol):
    """Rules that were born or retired, in columns, because a batch may change twenty thousand: their numbers, which they keep as long as
    they live and which no other rule gets; the rows that show why, a pair ``(s, t)`` or none; and what was measured when they were born."""

    @property
    def numbers(self) -> Sequence[int]: ...

    @property
    def witnesses(self) -> Sequence[Sequence[int]]: ...

    @property
    def error(self) -> float | None:
        """That of each of them."""

    @property
    def supports(self) -> Iterable[int | None]: ...

    @property
    def scores(self) -> Iterable[float | None]: ...

    def packed(self, terms: Terms) -> Iterable[Packed]: ...


class Evolved(Protocol):
    """What a batch did to the rules."""

    @property
    def added(self) -> Happenings: ...

    @property
    def removed(self) -> Happenings: ...


class Evolution(Protocol):
    """Rules that follow a table."""

    @property
    def first(self) -> Happenings:
        """The rules it was created with."""

    @classmethod
    def create(cls, table: GrowingTable, options: Any, progress: Progress, deadline: Deadline | None = None) -> Self:
        """Discover the rules of the table as it is, before the deadline."""

    def apply(self, table: GrowingTable, inserted: np.ndarray, deleted: np.ndarray) -> Evolved:
        """Follow a batch that the table has taken in. ``table.relabelled`` says which columns have new labels."""

    def renumber(self, table: GrowingTable, numbers: np.ndarray) -> None:
        """The table was compacted: row ``i`` is now row ``numbers[i]``, or forgotten (-1). Labels are the same."""

    def save(self, writer: Writer) -> None:
        """Write what has changed, keep the rest."""

    @classmethod
    def load(cls, reader: Reader, table: GrowingTable) -> Self:
        """What was saved, with the table as it was then."""
