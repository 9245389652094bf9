"""What is measured: a case does one job, a comparison sets our case against those of peers."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

Axis = Literal["rows", "columns", "rules"]
OURS = "rowlaw"  # how the labels of our own contenders begin


class Case:
    """One job in one fresh process: ``prepare``, ``warm``, then ``run`` (timed, once or more), then ``close``.

    The constructor takes the contender's parameters. The answer is anything that JSON can hold; None means that there
    is nothing to compare. Data is made before any process starts (``Comparison.make``), so that it never counts.
    """

    def prepare(self) -> None:
        """Import, connect, load: what the comparison leaves out."""

    def warm(self) -> None:
        """A first small job: JIT compilation, worker start."""

    def run(self) -> Any:
        """The timed part."""
        raise NotImplementedError

    def in_short(self, found: Any) -> Any:
        """What ``run`` found, in a form to be compared and written down. Not timed."""
        return found

    def data_bytes(self) -> int | None:
        """Size of the data the job works on, for cases whose peak of memory is to be set against it. Asked after the
        last ``run``."""
        return None

    def facts(self) -> list[Fact]:
        """What else was measured during the timed calls. Asked after the last ``run``."""
        return []

    def close(self) -> None:
        """Let go of sessions and files."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A quantity beside time, such as the peak of one process; ``at_most``: what it should not exceed."""

    name: str
    value: float
    unit: str
    at_most: float | None = None

    def __str__(self) -> str:
        """For people.

        >>> str(Fact("peak of the driver", 512.4, "MiB", 600.0))
        'peak of the driver: 512 MiB; bar 600: met'
        """
        verdict = (
            ""
            if self.at_most is None
            else f"; bar {self.at_most:g}: {'met' if self.value <= self.at_most else 'missed'}"
        )
        return f"{self.name}: {self.value:,.0f} {self.unit}{verdict}"


@dataclass(frozen=True, slots=True)
class Contender:
    """A case by name (``module:Class``), with parameters that JSON can hold and that name no paths."""

    label: str
    case: str
    params: dict[str, Any] = field(default_factory=dict)
    bar: float | None = None  # for a peer: our time divided by its time should be at most this
    timeout: float | None = None  # seconds for one timed call, where less than the run's own limit will do
    commit: str | None = None  # the version of rowlaw that runs, where it is not this one

    @property
    def is_ours(self) -> bool:
        """Whether this is rowlaw too, in another way: to be slower than that is not to be slower than another tool."""
        return self.label.startswith(OURS)

    def limit(self, timeout: float) -> float:
        """Seconds for one timed call in a run whose limit is ``timeout``."""
        return timeout if self.timeout is None else min(self.timeout, timeout)

    def load(self) -> Case:
        module, _, name = self.case.partition(":")
        made: Case = getattr(importlib.import_module(module), name)(**self.params)
        return made


@dataclass(frozen=True, slots=True)
class Comparison:
    """The same job by us and by peers. Comparisons of one name and several sizes also give a growth ratio."""

    name: str
    ours: Contender
    peers: tuple[Contender, ...] = ()
    size: int | None = None
    calls: int = 1  # timed calls in one process; the median counts
    make: Callable[[], object] | None = None
    growth_bar: float | None = None  # our time may grow by this factor when ``axis`` grows tenfold
    axis: Axis = "rows"  # what ``size`` counts
    together: bool = False  # all contenders take turns in one process, so that they can share a warm Spark session

    @property
    def title(self) -> str:
        return titled(self.name, self.size, self.axis)


@dataclass(frozen=True, slots=True)
class Options:
    """The command line as targets see it."""

    rows: tuple[int, ...] = ()
    repeat: int = 3
    only: str | None = None
    timeout: float = 600.0
    minutes: float = 60.0  # nothing is repeated after these


def titled(name: str, size: int | None, axis: str = "rows") -> str:
    """A case and its size for people.

    >>> titled("keys", 1_000_000), titled("keys", 15, "columns"), titled("keys", None)
    ('keys 1M', 'keys, 15 columns', 'keys')
    """
    if size is None:
        return name
    return f"{name} {short(size)}" if axis == "rows" else f"{name}, {size:,} {axis}"


def short(number: int) -> str:
    """A row count for people.

    >>> short(10_000_000), short(2_500), short(336_776), short(150)
    ('10M', '2.5k', '337k', '150')
    """
    for unit, letter in ((10**6, "M"), (10**3, "k")):
        if number >= unit:
            return f"{number / unit:.3g}{letter}"
    return str(number)
