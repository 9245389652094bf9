"""Ranks of rules that come one by one: by what the pairs of the first table said, so that a rank never changes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, cast

import numpy as np

from rowlaw.discovery.atoms import Atoms
from rowlaw.discovery.rank import COVERED_EVIDENCE, SHORTEST, WEIGHTS, Rank, rank
from rowlaw.discovery.together import same_column_evidence
from rowlaw.engine.engine import Engine
from rowlaw.evidence.evidence import EvidenceSet
from rowlaw.maintain.cells import loose_slots
from rowlaw.rules.model import Column, Denial, Nulls, Op, Predicate, Rule

if TYPE_CHECKING:
    from rowlaw.maintain.store import Reader, Writer
    from rowlaw.maintain.table import GrowingTable
    from rowlaw.relation.relation import Relation

LESS, EQUAL, GREATER, ANY = 0b001, 0b010, 0b100, 0b111  # outcomes, as operators accept them


@dataclass(frozen=True)
class View:
    """Atoms, and the most frequent evidence about them."""

    atoms: Atoms
    evidence: EvidenceSet

    @cached_property
    def shares(self) -> np.ndarray:
        """For each slot and set of outcomes the share of pairs that have one of them."""
        outcomes = self.atoms.slots.outcomes(self.evidence.signatures)
        found = np.ones((len(self.atoms.slots), 8))
        total = max(1, int(self.evidence.counts.sum()))
        for i, ordered in enumerate(self.atoms.slots.ordered):
            # an outcome as written (equal, less or different, greater, unknown) and the bits of the operators that accept it
            bits = np.array([EQUAL, LESS if ordered else LESS | GREATER, GREATER, 0])
            for mask in range(ANY):
                found[i, mask] = self.evidence.counts[bits[outcomes[:, i]] & mask != 0].sum() / total
        return found

    @cached_property
    def symbols(self) -> np.ndarray:
        """For each slot the symbols it is written with: rows, columns, literals."""
        named = [[str(o.row) if isinstance(o, Column) else "" for o in (s.left, s.right)] for s in self.atoms.slots.slots]
        operands = [[("column", o.name) if isinstance(o, Column) else o for o in (s.left, s.right)] for s in self.atoms.slots.slots]
        lists = [[*(("row", r) for r in rows if r), *others] for rows, others in zip(named, operands, strict=True)]
        place = {symbol: i for i, symbol in enumerate(dict.fromkeys(symbol for symbols in lists for symbol in symbols))}
        found = np.zeros((len(lists), max(1, len(place))), bool)
        for i, symbols in enumerate(lists):
            found[i, [place[symbol] for symbol in symbols]] = True
        return found

    @staticmethod
    def of(atoms: Atoms, evidence: EvidenceSet) -> View:
        often = np.sort(np.argsort(-evidence.counts, kind="stable")[:COVERED_EVIDENCE])
        slots = loose_slots(atoms.slots.slots, atoms.slots.nulls)
        kept = EvidenceSet(evidence.signatures[often], evidence.counts[often])
        return View(Atoms(slots, atoms.predicates, atoms.slot, atoms.weak), kept)

    @staticmethod
    def of_columns(table: GrowingTable, nulls: Nulls) -> View:
        """What random pairs say about each column."""
        return View.of(*same_column_evidence(Engine(table.relation(), nulls)))


@dataclass
class Judge:
    """Ranks denial constraints by one view and rules of other kinds by another."""

    denials: View | None
    others: View | None

    def rank(self, rules: Sequence[Rule], living: int) -> list[Rank | None]:
        found: list[Rank | None] = [None] * len(rules)
        for view, mine in ((self.denials, True), (self.others, False)):
            places = [i for i, rule in enumerate(rules) if isinstance(rule, Denial) == mine]
            if view is not None and places:
                ranks = rank([rules[i].denials[0] for i in places], view.atoms, view.evidence, living * (living - 1))
                for i, facts in zip(places, ranks, strict=True):
                    found[i] = facts
        return found

    def scores(self, ops: np.ndarray, living: int) -> np.ndarray:
        """Scores of denial constraints, given by the outcomes they accept in each slot, without coverage, as all but the best have them.

        For rules that come later, of which there may be many.
        """
        assert self.denials is not None
        pairs = living * (living - 1)
        expected = np.full(len(ops), float(pairs))
        symbols = np.zeros((len(ops), self.denials.symbols.shape[1]), bool)
        for i in range(ops.shape[1]):
            expected *= self.denials.shares[i, ops[:, i]]
            symbols |= (ops[:, i] != ANY)[:, None] & self.denials.symbols[i]
        surprise = np.log10(1 + expected) / max(1.0, math.log10(1 + pairs))
        succinct = np.minimum(1.0, SHORTEST / (symbols.sum(axis=1) + (ops != ANY).sum(axis=1)))
        return np.round(WEIGHTS["succinctness"] * succinct + WEIGHTS["surprise"] * surprise, 6)

    def save(self, writer: Writer) -> None:
        for name, view in (("denials", self.denials), ("others", self.others)):
            if view is not None:
                for part, array in (("signatures", view.evidence.signatures), ("counts", view.evidence.counts)):
                    writer.keep_or_array(f"{name}-{part}", array)

    @staticmethod
    def load(reader: Reader, atoms: Atoms | None, names: Sequence[str], nulls: Nulls) -> Judge:
        space = tuple(Predicate(Column("s", name), op, Column("t", name)) for name in names for op in Op)
        of_columns = Atoms.of(cast("Relation", None), space, nulls)

        def view(name: str, about: Atoms | None) -> View | None:
            if about is None or f"{name}-signatures" not in reader:
                return None
            return View(about, EvidenceSet(reader.array(f"{name}-signatures"), reader.array(f"{name}-counts")))

        return Judge(view("denials", atoms), view("others", of_columns))
