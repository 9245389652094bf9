"""What a guard did with a batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Guarded:
    """The rows of a batch that came in, and those that were put aside. ``broken``: how many of these break each rule,
    by its id.

    ``repeated``: the batch had been taken before, and nothing was done.
    """

    batch_id: str
    accepted: int
    refused: int
    broken: Mapping[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    repeated: bool = False

    @property
    def summary(self) -> str:
        """One line, and one for each broken rule."""
        if self.repeated:
            return f"batch {self.batch_id}: taken before, nothing changed"
        head = f"batch {self.batch_id}: +{self.accepted:,} rows, {self.refused:,} quarantined; {self.seconds:.2f} s"
        return "\n".join([head, *(f"  {id} is broken by {count:,} of them" for id, count in self.broken.items())])

    def to_dict(self) -> dict[str, Any]:
        """A JSON document."""
        return {
            "batch_id": self.batch_id,
            "accepted": self.accepted,
            "quarantined": self.refused,
            "broken": dict(self.broken),
            "seconds": round(self.seconds, 3),
            "repeated": self.repeated,
        }
