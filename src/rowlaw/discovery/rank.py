"""The score of single rules, which a state keeps current, and how often comparisons hold: see
:mod:`rowlaw.discovery.gain` for the list.

*Succinctness* and *coverage* as in FASTDC (Chu, Ilyas, Papotti, PVLDB 2013): short rules, and rules that many pairs of
rows come near to breaking. *Surprise*: how many pairs would break the rule if its predicates had nothing to do with
each other; a rule that chance alone explains says nothing about the table. Nor does one with exceptions that as many
pairs break as chance has it: surprise is less by the share of those pairs that do. All three are between 0 and 1, and
so is the score, their weighted mean.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rowlaw.deadline import Deadline
from rowlaw.discovery.atoms import Atoms
from rowlaw.engine.protocol import DiscoveryEngine
from rowlaw.evidence.evidence import EvidenceSet
from rowlaw.evidence.tiles import random_evidence
from rowlaw.rules.model import Column, Denial, Op, Predicate, between_rows

WEIGHTS = {"succinctness": 0.35, "coverage": 0.15, "surprise": 0.5}
SHORTEST = 4  # symbols of the shortest rule about pairs: two rows, a column, an operator
COVERED_EVIDENCE = 4_000  # distinct evidences looked at for coverage, the most frequent ones
FEW_ROWS = 300  # all their pairs are looked at, where rules came without evidence
_JUDGED = 0.5  # of the time left for ranking, for all but coverage
_COVERED_RULES = 500  # rules whose coverage is computed: those that score best without it


@dataclass(frozen=True, slots=True)
class Rank:
    """The score of a rule and what it is made of; ``expected`` is the number of pairs that chance would have break
    it."""

    score: float
    succinctness: float
    coverage: float
    surprise: float
    expected: float
    support: int


def rank(
    denials: Sequence[Denial],
    atoms: Atoms,
    evidence: EvidenceSet,
    pairs: int,
    *,
    exact: bool = True,
    deadline: Deadline | None = None,
) -> list[Rank]:
    """A rank for each rule. ``evidence`` may be a sample of the ``pairs`` ordered pairs of the table; ``exact``: no
    pair breaks a rule.

    Where time is up, only the first rules have one.
    """
    if not denials:
        return []
    view = View(atoms, evidence)
    scale = pairs / max(1, evidence.pairs)

    def judged(some: Sequence[Denial]) -> list[tuple[float, float, float]]:
        return [(succinctness(d), view.expected(d), 0.0 if exact else view.broken(d)) for d in some]

    facts, number = (deadline or Deadline()).made(_JUDGED, denials, judged)
    denials = denials[:number]
    succinct, shares, broken = np.array(facts, np.float64).reshape(-1, 3).T
    expected = pairs * shares
    surprise = np.log10(1 + expected) / max(1.0, math.log10(1 + pairs))
    if not exact:
        surprise *= np.clip(1 - pairs * broken / np.maximum(expected, 1e-9), 0.0, 1.0)
    rough = WEIGHTS["succinctness"] * succinct + WEIGHTS["surprise"] * surprise
    coverage, support = np.zeros(len(denials)), np.zeros(len(denials))
    for i in np.argsort(-rough, kind="stable")[:_COVERED_RULES]:
        coverage[i], support[i] = view.coverage(denials[i])
    score = np.round(rough + WEIGHTS["coverage"] * coverage, 6)
    columns = (score, succinct, coverage, surprise, expected, np.round(support * scale).astype(np.int64))
    return [Rank(*line) for line in zip(*(column.tolist() for column in columns), strict=True)]


def succinctness(denial: Denial) -> float:
    """The length of the shortest possible rule divided by the rule's: rows, distinct columns and literals, and
    operators."""
    symbols: set[object] = {"s", "t"} if denial.arity == 2 else {"s"}
    for p in denial.predicates:
        symbols.add(p.left.name)
        symbols.add(p.right.name if isinstance(p.right, Column) else p.right)
    return min(1.0, SHORTEST / (len(symbols) + len(denial.predicates)))


class View:
    """Evidence as a table: which atoms each distinct evidence satisfies, and how often it occurs."""

    def __init__(self, atoms: Atoms, evidence: EvidenceSet) -> None:
        often = _most_frequent(evidence.counts, COVERED_EVIDENCE)
        self.satisfied = ~atoms.unpack(atoms.edges(evidence.signatures[often]))
        self.counts = evidence.counts[often].astype(np.float64)
        self.total = max(1.0, float(self.counts.sum()))
        self.slots = atoms.slots
        self.vertex = {(p.left, p.right, p.op): v for v, p in enumerate(atoms.predicates)}
        self._known: dict[Predicate, np.ndarray] = {}
        self._shares: dict[Predicate, float] = {}

    def expected(self, denial: Denial) -> float:
        """The share of all pairs that would break a rule if its predicates had nothing to do with each other."""
        for p in denial.predicates:
            if p not in self._shares:
                self._shares[p] = self.share(p)
        return math.prod(map(self._shares.__getitem__, denial.predicates))

    def holds(self, predicate: Predicate) -> np.ndarray:
        """Which evidences satisfy a predicate: it is an atom, or several of one pair of operands."""
        satisfied = self._known.get(predicate)
        if satisfied is None:
            p = predicate
            atoms = [
                v
                for (left, right, op), v in self.vertex.items()
                if left == p.left and right == p.right and p.op.implies(op)
            ]
            satisfied = self._known[predicate] = np.asarray(self.satisfied[:, atoms].all(axis=1))
        return satisfied

    def share(self, predicate: Predicate) -> float:
        """How many of all pairs satisfy a predicate. Equal values are as likely as chance has it at least: a column
        that is a key by itself never repeats one, and that is what it is worth listing for."""
        seen = float(self.counts[self.holds(predicate)].sum()) / self.total
        if predicate.same_column and predicate.op == Op.EQ:
            column = self.slots.column(predicate.left.name)
            known = 1 - column.nulls / max(1, self.slots.rows) if self.slots.unknown else 1.0
            return max(seen, known**2 / max(1, column.distinct))
        return seen

    def coverage(self, denial: Denial) -> tuple[float, float]:
        """FASTDC's coverage, and how many pairs satisfy all predicates but one: those that the rule holds back."""
        number = np.zeros(len(self.counts), np.int64)
        for p in denial.predicates:
            number += self.holds(p)
        size = len(denial.predicates)
        weight = (number + 1) / size
        weight[number >= size] = 0.0  # a violation speaks for nothing
        return float(self.counts @ weight) / self.total, float(self.counts[number == size - 1].sum())

    def broken(self, denial: Denial) -> float:
        """The share of the pairs that break a rule."""
        return float(self.counts[np.logical_and.reduce([self.holds(p) for p in denial.predicates])].sum()) / self.total


def _most_frequent(counts: np.ndarray, most: int) -> np.ndarray:
    """``np.argsort(-counts, kind="stable")[:most]`` without sorting all of them."""
    if len(counts) <= most:
        return np.argsort(-counts, kind="stable")
    often = np.flatnonzero(counts >= np.partition(counts, len(counts) - most)[len(counts) - most])
    return often[np.argsort(-counts[often], kind="stable")[:most]]


def broken_shares(denials: Sequence[Denial], atoms: Atoms, evidence: EvidenceSet) -> list[float]:
    """The share of the evidence's pairs that break each rule."""
    view = View(atoms, evidence)
    return [view.broken(d) for d in denials]


def same_column_evidence(engine: DiscoveryEngine, seed: int = 0) -> tuple[Atoms, EvidenceSet]:
    """Comparisons of each column by order, texts too, and what random pairs of rows (all pairs of a small table) say
    about them: the evidence by which keys, functional and order dependencies are ranked."""
    space = tuple(between_rows(c.name, op) for c in engine.statistics.columns for op in Op)
    atoms = Atoms.of(engine.sample(), space, engine.nulls)
    return atoms, random_evidence(atoms.slots, FEW_ROWS, seed=seed)
