"""Upkeep's slow twin: after every batch, everything is discovered again from the living rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import repeat

import numpy as np

from rowlaw.discovery.denial import discover_denials
from rowlaw.engine.local.engine import LocalEngine
from rowlaw.engine.local.rows import Part
from rowlaw.engine.local.statistics import RelationStatistics
from rowlaw.predicates.space import predicate_space
from rowlaw.rules.implication import canonical
from rowlaw.rules.model import Denial
from rowlaw.storage.rulebook import Terms, pack_predicate, read_predicate


@dataclass(frozen=True)
class ChangedRules:
    numbers: list[int]
    rules: list[Denial]
    witnesses: list[tuple[int, ...]]
    error: float | None = None
    supports: Iterator[None] = field(default_factory=lambda: repeat(None))
    scores: Iterator[None] = field(default_factory=lambda: repeat(None))

    def packed(self, terms):
        return map(terms.pack, self.rules)


@dataclass(frozen=True)
class Evolved:
    added: ChangedRules
    removed: ChangedRules


class Rediscovery:
    """Denial constraints only, over the predicate space of the first table."""

    def __init__(self, space, nulls, error, numbers, given):
        self.space, self.nulls, self.error, self.numbers, self.given = space, nulls, error, numbers, given
        self.first = ChangedRules([], [], [])

    @classmethod
    def create(cls, table, options, progress, deadline=None):
        space = predicate_space(RelationStatistics(table.relation()), options.space)
        made = cls(space, options.nulls, options.error, {}, 0)
        made.first = made._add(made._found(table))
        return made

    def _found(self, table):
        found = discover_denials(LocalEngine(table.relation(), self.nulls), self.space, error=self.error)
        return sorted((canonical(d) for d in found.denials), key=str)

    def _add(self, denials):
        numbers = range(self.given + 1, self.given + 1 + len(denials))
        self.numbers.update(zip(denials, numbers, strict=True))
        self.given += len(denials)
        return ChangedRules(list(numbers), denials, [()] * len(denials))

    def apply(self, table, inserted, deleted):
        found = self._found(table)
        removed = [d for d in self.numbers if d not in set(found)]
        relation = table.relation()
        part = Part(np.searchsorted(relation.table_rows, inserted).astype(np.int32), None)
        pairs = LocalEngine(relation, self.nulls).witness(removed, part) if len(inserted) else [None] * len(removed)
        named = [() if pair is None else tuple(int(relation.table_rows[r]) for r in pair) for pair in pairs]
        retired = ChangedRules([self.numbers.pop(d) for d in removed], removed, named)
        return Evolved(self._add([d for d in found if d not in self.numbers]), retired)

    def renumber(self, table, numbers):
        pass

    def save(self, writer):
        terms = Terms()
        rules = [[number, terms.pack(d)] for d, number in self.numbers.items()]
        writer.json("denials", {"terms": terms.since(0), "rules": rules, "given": self.given})
        writer.array("noise", np.arange(30_000))  # large enough for a file of its own
        if "space" in writer:
            writer.keep("space")
        else:
            writer.json(
                "space",
                {"predicates": [pack_predicate(p) for p in self.space], "nulls": self.nulls, "error": self.error},
            )

    @classmethod
    def load(cls, reader, table):
        space, saved = reader.json("space"), reader.json("denials")
        assert reader.array("noise")[-1] == 29_999
        terms = Terms(saved["terms"])
        numbers = {terms.read(packed): number for number, packed in saved["rules"]}
        return cls(
            tuple(map(read_predicate, space["predicates"])), space["nulls"], space["error"], numbers, saved["given"]
        )
