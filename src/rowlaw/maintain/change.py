"""What a batch did."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any

import pyarrow as pa

from rowlaw.rules import NamedRule, RuleSet
from rowlaw.rules.model import Rule
from rowlaw.storage.history import Events, Rows
from rowlaw.storage.table import GrowingTable

SHOWN = 10  # rules of each kind of event in a repr


@dataclass(frozen=True)
class RuleChange:
    """What a batch did to a chosen rule: the exact count of its violations now, how many came and went, and some of
    them.

    ``new_clashes`` and ``resolved_clashes`` are pairs of rows with their values, up to ten of each; for a rule about
    single rows one row.
    """

    id: str
    rule: Rule
    violations: int
    new: int
    resolved: int
    new_clashes: Sequence[Sequence[Mapping[str, Any]]] = ()
    resolved_clashes: Sequence[Sequence[Mapping[str, Any]]] = ()

    def __str__(self) -> str:
        return (
            f"{self.id}: {self.violations:,} violation{'' if self.violations == 1 else 's'} (+{self.new:,} "
            f"-{self.resolved:,}): {self.rule}"
        )

    def lines(self) -> Iterator[str]:
        """In words, with the first clash of each sort."""
        yield str(self)
        for word, clashes in (("new", self.new_clashes), ("resolved", self.resolved_clashes)):
            for row, values in zip("st", clashes[0] if clashes else (), strict=False):
                yield f"    {word} {row}: " + ", ".join(
                    f"{name} {'null' if v is None else v}" for name, v in values.items()
                )

    def to_dict(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "rule": str(self.rule),
            "violations": self.violations,
            "new": self.new,
            "resolved": self.resolved,
            "new_clashes": [[dict(row) for row in clash] for clash in self.new_clashes],
            "resolved_clashes": [[dict(row) for row in clash] for clash in self.resolved_clashes],
        }


def rule_changes(evolution: Any, rules: RuleSet, counts: Mapping[str, int], table: GrowingTable) -> list[RuleChange]:
    """What a batch did to chosen rules, with the values of the rows that clash. ``evolution`` is None where the batch
    had no rows."""
    if evolution is None:
        return [RuleChange(named.id, named.rule, counts[named.id], 0, 0) for named in rules]
    changes = []
    for named in rules:
        change = evolution.changes[named.id]
        shown = dict.fromkeys((*table.row_id, *named.rule.columns))
        rows = Rows.taken(table, chain.from_iterable((*change.new_pairs, *change.resolved_pairs))).values
        new, resolved = (
            [[{name: rows[row][name] for name in shown} for row in dict.fromkeys(pair)] for pair in pairs]
            for pairs in (change.new_pairs, change.resolved_pairs)
        )
        changes.append(RuleChange(named.id, named.rule, change.violations, change.new, change.resolved, new, resolved))
    return changes


@dataclass(frozen=True)
class Change:
    """The rules that a batch brought and took, and how many there are now.

    ``events`` say which rows show why. ``repeated``: the batch had been applied before, and nothing was done.
    ``quarantined``: rows that were not taken in because they break a rule of the guard. ``chosen``: what it did to each
    rule of a state that keeps chosen rules. ``counters``: rules that were proposed (``candidates``), those that all
    rows had to prove (``validations``), and pairs of rows compared.
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
    chosen: Sequence[RuleChange] = ()
    counters: Mapping[str, int] = field(default_factory=dict)
    _rules: Callable[[], RuleSet] = field(default=RuleSet, repr=False, compare=False)

    @property
    def added(self) -> list[NamedRule]:
        return [NamedRule(event.id, event.rule) for event in self.events.of("born")]

    @property
    def removed(self) -> list[NamedRule]:
        return [NamedRule(event.id, event.rule) for event in self.events.of("retired")]

    @property
    def counts(self) -> dict[str, int]:
        """The exact count of violations of each chosen rule."""
        return {one.id: one.violations for one in self.chosen}

    @cached_property
    def rules(self) -> RuleSet:
        """The rules after the batch, if no other batch was applied since."""
        return self._rules()

    @property
    def summary(self) -> str:
        """One line."""
        if self.repeated:
            return f"batch {self.batch_id}: applied before, nothing changed"
        held = (
            f", {self.quarantined.num_rows:,} quarantined"
            if self.quarantined is not None and self.quarantined.num_rows
            else ""
        )
        name = f"batch {self.batch}" + (f" ({self.batch_id})" if self.batch_id is not None else "")
        rows = f"+{self.inserted:,} -{self.deleted:,} rows{held}"
        if self.chosen:
            came, went = sum(one.new for one in self.chosen), sum(one.resolved for one in self.chosen)
            now = sum(one.violations for one in self.chosen)
            return f"{name}: {rows}; +{came:,} -{went:,} violations, {now:,} now; {sum(self.seconds.values()):.2f} s"
        born, retired = len(self.events.of("born")), len(self.events.of("retired"))
        return f"{name}: {rows}; +{born:,} -{retired:,} rules, {self.total:,} now; {sum(self.seconds.values()):.2f} s"

    def __repr__(self) -> str:
        text = [self.summary]
        for mark, rules in (("+", self.added), ("-", self.removed)):
            text += [f"  {mark} {rule.id}  {rule.rule}" for rule in rules[:SHOWN]]
            text += [f"  {mark} ... and {len(rules) - SHOWN:,} more"] if len(rules) > SHOWN else []
        return "\n".join(text)

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
            "counters": dict(self.counters),
            **({"chosen": [one.to_dict() for one in self.chosen]} if self.chosen else {}),
        }
