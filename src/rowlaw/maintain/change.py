"""What a batch did."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pyarrow as pa

from rowlaw.maintain.history import Events
from rowlaw.rules import NamedRule, RuleSet

SHOWN = 10  # rules of each sort in a repr


@dataclass(frozen=True)
class Change:
    """The rules that a batch brought and took, and how many there are now.

    ``events`` say which rows show why. ``repeated``: the batch had been applied before, and nothing was done. ``quarantined``: rows that
    were not taken in because they break a rule of the guard.
    """

    inserted: int
    deleted: int
    events: Events
    total: int
    seconds: Mapping[str, float]
    batch: int
    batch_id: str | None = None
    repeated: bool = False
    quarantined: pa.Table | None = field(default=None, repr=False)
    _rules: Callable[[], RuleSet] = field(default=RuleSet, repr=False, compare=False)

    @property
    def added(self) -> list[NamedRule]:
        return [NamedRule(event.id, event.rule) for event in self.events.of("born")]

    @property
    def removed(self) -> list[NamedRule]:
        return [NamedRule(event.id, event.rule) for event in self.events.of("retired")]

    @cached_property
    def rules(self) -> RuleSet:
        """The rules after the batch, if no other batch was applied since."""
        return self._rules()

    @property
    def summary(self) -> str:
        """One line."""
        if self.repeated:
            return f"batch {self.batch_id}: applied before, nothing changed"
        held = f", {self.quarantined.num_rows:,} quarantined" if self.quarantined is not None and self.quarantined.num_rows else ""
        name = f"batch {self.batch}" + (f" ({self.batch_id})" if self.batch_id is not None else "")
        rows = f"+{self.inserted:,} -{self.deleted:,} rows{held}"
        born, retired = len(self.events.of("born")), len(self.events.of("retired"))
        return f"{name}: {rows}; +{born:,} -{retired:,} rules, {self.total:,} now; {sum(self.seconds.values()):.2f} s"

    def __repr__(self) -> str:
        found = [self.summary]
        for mark, rules in (("+", self.added), ("-", self.removed)):
            found += [f"  {mark} {rule.id}  {rule.rule}" for rule in rules[:SHOWN]]
            found += [f"  {mark} ... and {len(rules) - SHOWN:,} more"] if len(rules) > SHOWN else []
        return "\n".join(found)

    def to_dict(self) -> dict[str, Any]:
        """The JSON document of ``rowlaw apply --format json``."""
        return {
            "inserted": self.inserted,
            "deleted": self.deleted,
            "added": [event.to_dict() for event in self.events.of("born")],
            "removed": [event.to_dict() for event in self.events.of("retired")],
            "rules": self.total,
            "seconds": {name: round(value, 3) for name, value in self.seconds.items()},
            "batch": self.batch,
            "batch_id": self.batch_id,
            "repeated": self.repeated,
            "quarantined": self.quarantined.num_rows if self.quarantined is not None else 0,
        }
