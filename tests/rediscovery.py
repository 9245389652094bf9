"""Upkeep's slow twin: after every batch, everything is discovered again from the living rows."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from rowlaw.discovery.denial import discover_denials
from rowlaw.engine.engine import Engine, Part
from rowlaw.maintain.rulebook import pack, unpack
from rowlaw.predicates.space import predicate_space
from rowlaw.rules import RuleSet
from rowlaw.rules.implication import canonical
from rowlaw.rules.model import Denial


@dataclass(frozen=True)
class Happened:
    packed: str
    witness: tuple[int, ...] | None
    facts: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Evolved:
    rules: RuleSet
    added: list[Happened]
    removed: list[Happened]


class Rediscovery:
    """Denial constraints only, over the predicate space of the first table."""

    def __init__(self, space, nulls, error, denials):
        self.space, self.nulls, self.error, self.denials = space, nulls, error, denials

    @property
    def rules(self):
        return RuleSet.of(self.denials, nulls=self.nulls)

    @classmethod
    def create(cls, table, options, progress):
        space = predicate_space(table.relation(), options.space)
        made = cls(space, options.nulls, options.error, [])
        made.denials = made._found(table)
        return made

    def _found(self, table):
        found = discover_denials(Engine(table.relation(), self.nulls), self.space, error=self.error)
        return sorted((canonical(d) for d in found.denials), key=str)

    def apply(self, table, inserted, deleted):
        before, self.denials = self.denials, self._found(table)
        removed = [d for d in before if d not in set(self.denials)]
        added = [d for d in self.denials if d not in set(before)]
        relation = table.relation()
        part = Part(np.searchsorted(relation.table_rows, inserted).astype(np.int32), None)
        pairs = Engine(relation, self.nulls).witness(removed, part) if len(inserted) else [None] * len(removed)
        named = [None if pair is None else tuple(int(relation.table_rows[r]) for r in pair) for pair in pairs]
        return Evolved(
            self.rules, [Happened(pack(d), None) for d in added], [Happened(pack(d), w) for d, w in zip(removed, named, strict=True)]
        )

    def renumber(self, table, numbers):
        pass

    def save(self, writer):
        writer.json("denials", [pack(d) for d in self.denials])
        writer.array("noise", np.arange(30_000))  # large enough for a file of its own
        if "space" in writer:
            writer.keep("space")
        else:
            writer.json("space", {"predicates": [pack(Denial((p,))) for p in self.space], "nulls": self.nulls, "error": self.error})

    @classmethod
    def load(cls, reader, table):
        space = reader.json("space")
        assert reader.array("noise")[-1] == 29_999
        predicates = tuple(unpack(p).predicates[0] for p in space["predicates"])
        return cls(predicates, space["nulls"], space["error"], [unpack(d) for d in reader.json("denials")])
