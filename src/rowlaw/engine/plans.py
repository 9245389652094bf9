"""How an engine answers questions about a rule, in plain values: what ``rowlaw explain`` shows.

Every engine fills the same classes. Seconds are cost estimates, or measured times where the rule was analyzed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

NOTHING = "nothing to do: the rule is true on every table"


@dataclass(frozen=True, slots=True)
class CountPlan:
    """How violations are counted."""

    method: str
    because: str
    seconds: float
    measured: float | None = None
    violations: int | None = None  # known if measured

    def to_dict(self) -> dict[str, Any]:
        """The values by their names."""
        return {
            "method": self.method,
            "because": self.because,
            "seconds": self.seconds,
            "measured": self.measured,
            "violations": self.violations,
        }

    def __str__(self) -> str:
        counted = "" if self.violations is None else f"; {_counted(self.violations, 'violation')}"
        return f"count by {self.method}: {self.because} ({_times(self.seconds, self.measured)}{counted})"


@dataclass(frozen=True, slots=True)
class ListPlan:
    """How violations are listed: the stages through which pairs of rows go.

    ``seconds`` is the estimate for the rows; ``seconds_per_violation`` comes on top, since what there is to list is
    known only after counting. ``listed`` is how many violations the measurement went through.
    """

    stages: tuple[str, ...]
    seconds: float
    seconds_per_violation: float
    measured: float | None = None
    listed: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """The values by their names."""
        return {
            "stages": list(self.stages),
            "seconds": self.seconds,
            "seconds_per_violation": self.seconds_per_violation,
            "measured": self.measured,
            "listed": self.listed,
        }

    def __str__(self) -> str:
        estimate = (
            f"estimate {time_text(self.seconds)} and {time_text(1e6 * self.seconds_per_violation)} for "
            "each million violations"
        )
        listed = (
            ""
            if self.measured is None
            else f", measured {time_text(self.measured)} for {_counted(self.listed or 0, 'violation')}"
        )
        lines = [f"list in {_counted(len(self.stages), 'step')} ({estimate}{listed})"]
        return "\n".join([*lines, *(f"{i}. {stage}" for i, stage in enumerate(self.stages, 1))])


@dataclass(frozen=True, slots=True)
class DenialPlan:
    """The plans of one denial constraint."""

    denial: str
    count: CountPlan
    list: ListPlan

    def __str__(self) -> str:
        return f"{self.count}\n{self.list}"


@dataclass(frozen=True, slots=True)
class RulePlan:
    """The plans of a rule: those of its denial constraints, whose violations add up."""

    denials: tuple[DenialPlan, ...]

    @property
    def count(self) -> CountPlan:
        """How the rule is counted: methods and reasons of all denial constraints, times and violations added up."""
        counts = [plan.count for plan in self.denials]
        if not counts:
            return CountPlan("none", NOTHING, 0.0)
        return CountPlan(
            ", ".join(dict.fromkeys(c.method for c in counts)),
            "; ".join(dict.fromkeys(c.because for c in counts)),
            sum(c.seconds for c in counts),
            _sum([c.measured for c in counts]),
            _whole([c.violations for c in counts]),
        )

    @property
    def list(self) -> ListPlan:
        """How the rule is listed: one denial constraint after the other."""
        lists = [plan.list for plan in self.denials]
        return ListPlan(
            tuple(stage for plan in lists for stage in plan.stages),
            sum(plan.seconds for plan in lists),
            max((plan.seconds_per_violation for plan in lists), default=0.0),
            _sum([plan.measured for plan in lists]),
            _whole([plan.listed for plan in lists]),
        )

    def to_dict(self) -> dict[str, Any]:
        """The ``plan`` of the JSON document of ``rowlaw explain``; ``denials`` are there if the rule has several."""
        plans = [
            {"denial": plan.denial, "count": plan.count.to_dict(), "list": plan.list.to_dict()} for plan in self.denials
        ]
        whole: dict[str, Any] = {"count": self.count.to_dict(), "list": self.list.to_dict()}
        return {**whole, "denials": plans} if len(plans) > 1 else whole

    def __str__(self) -> str:
        if not self.denials:
            return NOTHING
        if len(self.denials) == 1:
            return str(self.denials[0])
        return "\n\n".join(f"{plan.denial}\n{plan}" for plan in self.denials)


def time_text(seconds: float) -> str:
    """A time for people, in a unit that suits it.

    >>> time_text(0.00002), time_text(0.0002), time_text(0.0128), time_text(2.34), time_text(250.4)
    ('under 0.1 ms', '0.2 ms', '13 ms', '2.3 s', '250 s')
    """
    if 0 < seconds < 1e-4:
        return "under 0.1 ms"
    value, unit = (seconds, "s") if seconds >= 1 else (1000 * seconds, "ms")
    return f"{value:,.0f} {unit}" if value >= 10 or not value else f"{value:.1f} {unit}"


def _times(estimate: float, measured: float | None) -> str:
    return f"estimate {time_text(estimate)}" + ("" if measured is None else f", measured {time_text(measured)}")


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _sum(parts: Sequence[float | None]) -> float | None:
    numbers = [part for part in parts if part is not None]
    return sum(numbers) if len(numbers) == len(parts) and numbers else None


def _whole(parts: Sequence[int | None]) -> int | None:
    total = _sum(parts)
    return None if total is None else int(total)
