"""What a part of the torture came to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Outcome:
    """A part: how many cases were tried, what is worth knowing about them, and what went wrong."""

    name: str
    what: str
    cases: int = 0
    seconds: float = 0.0
    facts: dict[str, Any] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "what": self.what,
            "cases": self.cases,
            "seconds": round(self.seconds, 1),
            "facts": self.facts,
            "failures": self.failures,
        }
