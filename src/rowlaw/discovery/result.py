"""What discovery gives: a rule set that knows how it was found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rowlaw.rules import NamedRule, RuleSet
from rowlaw.rules.model import Rule


@dataclass(frozen=True, slots=True)
class NearMiss:
    """A rule that nearly holds: a discovered one without one of its predicates."""

    rule: Rule
    violations: int
    error: float


@dataclass(frozen=True, slots=True, repr=False)
class Discovery(RuleSet):
    """Discovered rules, best first, and how they were found. A rule set like any other: check, save, filter.

    The rules that are worth reading come first, with ``selected`` set; :attr:`selected` has them alone.
    """

    rows: int = 0
    columns: tuple[str, ...] = ()
    predicates: int = 0
    strategy: str = ""
    why: str = ""
    partial: bool = False
    seconds: Mapping[str, float] = field(default_factory=dict)
    total: int = 0  # rules found; `top` may have cut the list
    # id -> ids of rules that say the same in other columns
    alternatives: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    folded: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # id -> ids of rules that merely restate it
    near_misses: tuple[NearMiss, ...] = ()
    # maximal sets of columns that are not unique, if they were asked for
    non_keys: tuple[tuple[str, ...], ...] | None = None
    counters: Mapping[str, int] = field(default_factory=dict)  # candidates and validations
    # id -> g3, for approximate keys, functional and order dependencies
    removed: Mapping[str, float] = field(default_factory=dict)
    weak: frozenset[str] = frozenset()  # ids of rules that chance explains

    @property
    def selected(self) -> tuple[NamedRule, ...]:
        """The rules that are worth reading."""
        return tuple(r for r in self.rules if r.selected)

    def to_dict(self) -> dict[str, Any]:
        """The JSON document of ``rowlaw discover --format json``."""
        return {
            "rows": self.rows,
            "columns": list(self.columns),
            "nulls": self.nulls,
            "predicates": self.predicates,
            "strategy": self.strategy,
            "why": self.why,
            "partial": self.partial,
            "seconds": {name: round(value, 3) for name, value in self.seconds.items()},
            "total": self.total,
            "counters": dict(self.counters),
            **({"non_keys": [list(names) for names in self.non_keys]} if self.non_keys is not None else {}),
            "rules": [
                {
                    **r.to_dict(),
                    "selected": r.selected,
                    "weak": r.id in self.weak,
                    "reason": r.because,
                    "alternatives": list(self.alternatives.get(r.id, ())),
                    "restated_by": list(self.folded.get(r.id, ())),
                    **({"tolerate": r.tolerate} if r.tolerate else {}),
                    **({"g3": self.removed[r.id]} if r.id in self.removed else {}),
                }
                for r in self.rules
            ],
            "near_misses": [
                {"rule": str(m.rule), "violations": m.violations, "error": m.error} for m in self.near_misses
            ],
        }
