"""Ranks of rules that come one by one: by what the pairs of the first table said, so that a score never changes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from rowlaw.discovery.atoms import Atoms
from rowlaw.discovery.rank import COVERED_EVIDENCE, SHORTEST, WEIGHTS
from rowlaw.evidence.evidence import EvidenceSet
from rowlaw.evidence.slots import Slots
from rowlaw.maintain.cells import loose_slots
from rowlaw.rules.model import Column, Denial, FunctionalDependency, Key, Nulls, Op, OrderCompatible, Predicate, Rule
from rowlaw.rules.outcomes import ANY, accept_encoding

if TYPE_CHECKING:
    from rowlaw.maintain.store import Reader, Writer
    from rowlaw.relation.relation import Relation


@dataclass(frozen=True)
class View:
    """Pairs of operands, and the most frequent evidence about them. ``repeats``: how likely two rows have one value at least, for each
    slot."""

    slots: Slots
    evidence: EvidenceSet
    repeats: np.ndarray

    @staticmethod
    def of(atoms: Atoms, evidence: EvidenceSet) -> View:
        """What evidence of a relation said."""
        often = np.sort(np.argsort(-evidence.counts, kind="stable")[:COVERED_EVIDENCE])
        slots, relation = atoms.slots, atoms.slots.relation
        same = [isinstance(s.right, Column) and s.left.name == s.right.name for s in slots.slots]
        repeats = [
            1 / max(1, relation.column(s.left.name).distinct) if is_same else 0.0 for s, is_same in zip(slots.slots, same, strict=True)
        ]
        kept = EvidenceSet(evidence.signatures[often], evidence.counts[often])
        return View(loose_slots(slots.slots, slots.nulls), kept, np.array(repeats))

    @cached_property
    def shares(self) -> np.ndarray:
        """For each slot and set of outcomes the share of pairs that have one of them."""
        outcomes = self.slots.outcomes(self.evidence.signatures)
        found = np.ones((len(self.slots), ANY + 1))
        total = max(1, int(self.evidence.counts.sum()))
        for i, ordered in enumerate(self.slots.ordered):
            bits = np.array(accept_encoding(ordered=bool(ordered)).numbers)
            for mask in range(ANY):
                found[i, mask] = self.evidence.counts[bits[outcomes[:, i]] & mask != 0].sum() / total
            found[i, Op.EQ] = max(found[i, Op.EQ], self.repeats[i])
        return found

    @cached_property
    def symbols(self) -> np.ndarray:
        """For each slot the symbols it is written with: rows, columns, literals."""
        lists: list[list[object]] = []
        for slot in self.slots.slots:
            operands = [o for o in (slot.left, slot.right) if isinstance(o, Column)]
            literals = [o for o in (slot.left, slot.right) if not isinstance(o, Column)]
            lists.append([*(("row", o.row) for o in operands), *(("column", o.name) for o in operands), *literals])
        place = {symbol: i for i, symbol in enumerate(dict.fromkeys(symbol for symbols in lists for symbol in symbols))}
        found = np.zeros((len(lists), max(1, len(place))), bool)
        for i, symbols in enumerate(lists):
            found[i, [place[symbol] for symbol in symbols]] = True
        return found

    def ops(self, rules: Sequence[Rule]) -> np.ndarray:
        """For each rule and slot the outcomes it accepts. A batch may bring 100,000 keys: no denial constraint is made for each."""
        place: dict[Any, int] = {(slot.left, slot.right): i for i, slot in enumerate(self.slots.slots)}
        place |= {slot.left.name: i for i, slot in enumerate(self.slots.slots)}
        found = np.full((len(rules), len(self.slots)), ANY, np.uint8)
        for line, rule in zip(found, rules, strict=True):
            match rule:
                case Key():
                    line[[place[name] for name in rule.columns]] = Op.EQ
                case FunctionalDependency():
                    line[[place[name] for name in rule.left]] = Op.EQ
                    line[place[rule.right]] = Op.NE
                case OrderCompatible():
                    line[[place[name] for name in rule.context]] = Op.EQ
                    line[place[rule.left]], line[place[rule.right]] = Op.LT, Op.LT if rule.descending else Op.GT
                case _:
                    for p in rule.denials[0].predicates:
                        line[place[p.left, p.right]] = int(p.op)
        return found

    def scores(self, ops: np.ndarray, living: int) -> np.ndarray:
        """Scores of rules, given by the outcomes they accept in each slot: those of :mod:`rowlaw.discovery.rank` without coverage, which
        only the best rules have."""
        pairs = living * (living - 1)
        expected = np.full(len(ops), float(pairs))
        symbols = np.zeros((len(ops), self.symbols.shape[1]), bool)
        for i in range(ops.shape[1]):
            expected *= self.shares[i, ops[:, i]]
            symbols |= (ops[:, i] != ANY)[:, None] & self.symbols[i]
        surprise = np.log10(1 + expected) / max(1.0, math.log10(1 + pairs))
        succinct = np.minimum(1.0, SHORTEST / (symbols.sum(axis=1) + (ops != ANY).sum(axis=1)))
        return np.round(WEIGHTS["succinctness"] * succinct + WEIGHTS["surprise"] * surprise, 6)


@dataclass
class Judge:
    """Scores denial constraints by one view and rules of other kinds by another."""

    denials: View | None = None
    others: View | None = None

    def scores(self, rules: Sequence[Rule], living: int) -> list[float]:
        found = [0.0] * len(rules)
        for view, mine in ((self.denials, True), (self.others, False)):
            places = [i for i, rule in enumerate(rules) if isinstance(rule, Denial) == mine]
            if view is not None and places:
                for i, score in zip(places, view.scores(view.ops([rules[i] for i in places]), living).tolist(), strict=True):
                    found[i] = score
        return found

    def save(self, writer: Writer) -> None:
        for name, view in (("denials", self.denials), ("others", self.others)):
            if view is not None:
                arrays = {"signatures": view.evidence.signatures, "counts": view.evidence.counts, "repeats": view.repeats}
                for part, array in arrays.items():
                    writer.keep_or_array(f"{name}-{part}", array)

    @staticmethod
    def load(reader: Reader, slots: Slots | None, names: Sequence[str], nulls: Nulls) -> Judge:
        space = tuple(Predicate(Column("s", name), op, Column("t", name)) for name in names for op in Op)
        of_columns = Slots.of_predicates(cast("Relation", None), space, nulls)

        def view(name: str, about: Slots | None) -> View | None:
            if about is None or f"{name}-signatures" not in reader:
                return None
            evidence = EvidenceSet(reader.array(f"{name}-signatures"), reader.array(f"{name}-counts"))
            return View(about, evidence, reader.array(f"{name}-repeats"))

        return Judge(view("denials", slots), view("others", of_columns))
