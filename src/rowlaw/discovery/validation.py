"""Rules that a search proposes, validated on all rows: the engine looks for counterexamples to those not proven yet,
each counterexample is an edge that refines the search where it stands, until nothing breaks.

Two ways prove a rule: the engine finds no pair that breaks it, or all pairs that agree on a column of its equalities
are evidence already. Estimates say which one is quicker for a column, and how long both together take.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from rowlaw.deadline import Deadline
from rowlaw.discovery.approximate import ASKED_AT_ONCE
from rowlaw.discovery.atoms import Atoms
from rowlaw.discovery.covers import Columns, Cover, worth_covering
from rowlaw.discovery.shared import searched
from rowlaw.engine.protocol import DiscoveryEngine
from rowlaw.evidence.agreeing import AgreeingEvidence
from rowlaw.evidence.evidence import EvidenceSet
from rowlaw.evidence.slots import Slots
from rowlaw.evidence.tiles import Folded, evidence_of_violations
from rowlaw.progress import Phase
from rowlaw.relation.pairs import Pairs
from rowlaw.rules.model import Column, Op
from rowlaw.search.bitsets import distinct
from rowlaw.search.hypergraph import TOO_MANY, Hypergraph
from rowlaw.search.search import refine
from rowlaw.spark.jobs import Workers, cores, finished
from rowlaw.stopping import Stopped

_PAIRS_PER_SECOND = 3e8  # compared per core, at twelve slots (adult, airport: make bench T=discover-dc)
COUNTEREXAMPLES = 20  # pairs asked for per broken rule and round
# times that proving all rules once takes: what takes the place of broken ones is searched for and proven as well
_ROUNDS = 2
_PORTION_SECONDS = 2.0  # of asking about rules at once, where time is limited
_TRIED = 16  # rules asked about to find out how long an answer takes


def pair_seconds(slots: Slots, pairs: float) -> float:
    """Estimate how long comparing so many pairs takes."""
    return pairs * max(1.0, len(slots) / 12) / _PAIRS_PER_SECOND / cores()


@dataclass
class Search:
    """All minimal sets of atoms that hit the edges seen so far; one of each two that exchange ``s`` and ``t``."""

    atoms: Atoms
    edges: np.ndarray
    deadline: Deadline
    workers: Workers
    sets: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.sets = searched(self._graph(self.edges), self.deadline, self.workers)

    @property
    def proposed(self) -> np.ndarray:
        """The sets as rules: none of them is empty."""
        return self.atoms.not_empty(self.sets)

    def refine(self, edges: np.ndarray) -> None:
        """Take new edges into account."""
        known, self.edges = len(self.edges), np.concatenate((self.edges, edges))
        graph, sets = self._graph(self.edges), self.sets
        try:
            refined = finished(lambda: refine(graph, sets, known, self.deadline, cores()), self.deadline)
        except Stopped:  # what was proven among the sets before stays
            return
        if refined.complete:
            self.sets = refined.sets
        else:
            self.deadline.stop(TOO_MANY)

    def _graph(self, edges: np.ndarray) -> Hypergraph:
        return Hypergraph(edges, len(self.atoms.predicates), self.atoms.forbidden, self.atoms.exchange)


@dataclass
class Validation:
    """The rules of a search and the engine that validates them. ``folded``: the distinct rows of the sample."""

    engine: DiscoveryEngine
    search: Search
    folded: Folded
    answer_seconds: float = 0.0  # an answer of the engine about one rule; 0: not known yet
    rounds: int = 0
    _proven: set[bytes] = field(default_factory=set)
    # by list of columns, the atoms of their equalities, once all pairs that agree on all of them are evidence
    _covered: dict[Columns, np.ndarray] = field(default_factory=dict)
    _covering: bool = True  # whether the evidence of covers is not too much to bring here

    @property
    def atoms(self) -> Atoms:
        return self.search.atoms

    @property
    def deadline(self) -> Deadline:
        return self.search.deadline

    def run(self, evidence: EvidenceSet, phase: Phase) -> tuple[np.ndarray, EvidenceSet]:
        """Validate until nothing breaks, or until the deadline: the sets that are proven, and ``evidence`` with that of
        all counterexamples."""
        self.answer_seconds = self.answer_seconds or self.engine.answer_seconds
        while not self.deadline.passed:
            self.rounds += 1
            self._cover(phase)
            if self.deadline.passed:  # the pairs of the covered columns may not be in the sets yet
                break
            sets = self.search.proposed
            self._proven.update(s.tobytes() for s in sets[_has_any(sets, self._covered.values())])
            unproven = self._unproven()
            if not len(unproven):
                break
            began = time.perf_counter()
            first = self.engine.asked_first([(denial,) for denial in self.atoms.denials(unproven)])
            broken = self._ask(unproven[first], phase)
            if self.engine.sample_is_whole:
                self.answer_seconds = (time.perf_counter() - began) / len(first)
            if self.deadline.passed or not (len(broken) or len(first) < len(unproven)):
                break
            if not len(broken):
                continue
            learnt = EvidenceSet.merge([evidence_of_violations(self.atoms.slots, pairs) for pairs in broken])
            evidence = EvidenceSet.merge([evidence, learnt])
            self.search.refine(self.atoms.edges(learnt.signatures))
        sets = self.search.proposed
        return sets[[s.tobytes() in self._proven for s in sets]], evidence

    def seconds(self) -> float:
        """Estimate how long proving all rules takes, some by covering columns, the others by asking. Asks the engine
        about a few rules to find out how long an answer takes."""
        sets = self.search.proposed
        covers = self._worth_covering(sets)
        asked = ~_has_any(sets, [self._equality(cover.columns) for cover in covers])
        once = sum(cover.seconds for cover in covers)
        return _ROUNDS * (once + float(np.count_nonzero(asked)) * self.answer_seconds)

    def try_answers(self) -> None:
        """Find out how long an answer of the engine takes, by asking about a few rules."""
        sets = self.search.proposed
        some = sets[:: max(1, len(sets) // _TRIED)][:_TRIED]
        # the first questions pay for compilation
        self.engine.counterexamples(self.atoms.denials(some[:2]), COUNTEREXAMPLES, stop=self.deadline)
        began = time.perf_counter()
        self.engine.counterexamples(self.atoms.denials(some), COUNTEREXAMPLES, stop=self.deadline)
        self.answer_seconds = (time.perf_counter() - began) / max(1, len(some))

    def _unproven(self) -> np.ndarray:
        sets = self.search.proposed
        return sets[[s.tobytes() not in self._proven for s in sets]]

    def _cover(self, phase: Phase) -> None:
        """Take in all pairs that agree on some columns, where that is quicker than asking about every unproven rule
        with these equalities (see :mod:`rowlaw.discovery.covers`)."""
        covers = self._worth_covering(self._unproven())
        if not covers:
            return
        with suppress(Stopped):  # the caller looks at the deadline, and trusts in nothing that was covered
            lists = [cover.columns for cover in covers]
            phase.update(phase.done, note=f"pairs that agree on {' or '.join(map(', '.join, lists[:2]))}")
            slots = self.atoms.slots
            work = AgreeingEvidence(slots.slots, slots.nulls, (slots, self.folded))
            learnt = self.engine.in_groups(lists, work, sum(cover.seconds for cover in covers), self.deadline)
            self._covering = learnt is not None
            if learnt is not None:
                self._covered |= {columns: self._equality(columns) for columns in lists}
                self.search.refine(finished(lambda: distinct(self.atoms.edges(np.concatenate(learnt))), self.deadline))

    def _worth_covering(self, sets: np.ndarray) -> list[Cover]:
        """Further lists of columns whose pairs are compared more quickly than rules are asked about that they prove."""
        if not self._covering:
            return []
        left = sets[~_has_any(sets, self._covered.values())]
        names = sorted(self._equalities)
        if not names:
            return []
        return worth_covering(
            names,
            np.stack([_has_any(left, [self._equality((name,))]) for name in names], axis=1),
            self.answer_seconds,
            lambda columns: pair_seconds(self.atoms.slots, self.engine.agreeing_pairs(columns)),
            self.engine.rows,
        )

    def _equality(self, columns: Columns) -> np.ndarray:
        """The atoms of some columns' equalities, as words."""
        return self.atoms.pack([[v for name in columns for v in self._equalities[name]]])[0]

    @cached_property
    def _equalities(self) -> dict[str, list[int]]:
        """For each column that may have to be equal, the atoms that say so together."""
        atoms, equalities = self.atoms, dict[str, list[int]]()
        for i, slot in enumerate(atoms.slots.slots):
            if isinstance(slot.right, Column) and slot.left.name == slot.right.name:
                equal = [int(v) for v in np.flatnonzero(atoms.slot == i) if atoms.predicates[v].op & Op.EQ]
                equalities[slot.left.name] = equal
        return equalities

    def _ask(self, sets: np.ndarray, phase: Phase) -> list[Pairs]:
        """Pairs that break rules not proven yet; rules that none breaks are proven."""
        broken, asked = [], 0
        # elsewhere every question is a few jobs
        limit = ASKED_AT_ONCE if self.engine.sample_is_whole else len(sets)
        for some in self.deadline.portions(sets, limit, _PORTION_SECONDS, self.answer_seconds):
            answers = self.engine.counterexamples(self.atoms.denials(some), COUNTEREXAMPLES, stop=self.deadline)
            for s, pairs in zip(some, answers, strict=True):
                if pairs is None:
                    self.deadline.request()  # the clock of a worker may be ahead of ours
                elif len(pairs):
                    broken.append(pairs)
                else:
                    self._proven.add(s.tobytes())
            asked += len(some)
            phase.update(asked, len(sets), f"{len(self._proven):,} rules proven")
        return Pairs.merge(broken)


def _has_any(sets: np.ndarray, all_of: Iterable[np.ndarray]) -> np.ndarray:
    """Which sets have all atoms of at least one line."""
    has_any = np.zeros(len(sets), bool)
    for line in all_of:
        has_any |= ((sets & line) == line).all(axis=1)
    return has_any
