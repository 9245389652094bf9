"""Rules that few pairs break: minimal sets that hit all evidence but a share of at most ``error`` of the pairs (g1).

With the evidence of all pairs at hand they are enumerated from it. On tables too large for that, search and engine
talk: a set that too many pairs break is a lower bound, and every rule that is wanted has an atom outside it (dualize
and advance, Gunopulos et al., TODS 2003); the search proposes the smallest sets that do, and the engine counts what
breaks them.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rowlaw.deadline import Deadline
from rowlaw.discovery.atoms import Atoms
from rowlaw.engine.protocol import DiscoveryEngine
from rowlaw.evidence.evidence import EvidenceSet
from rowlaw.search.approximate import enumerate_approximate
from rowlaw.stopping import Stopped

ASKED_AT_ONCE = 500  # rules per question to the engine
_PORTION_SECONDS = 2.0  # for each question, where time is limited
_FIRST_SECONDS = 0.25  # for each rule of the first question, as long as nothing is known
_SURE = 3.0  # standard deviations of a sample


def pairs_allowed(error: float, pairs: int) -> int:
    """Count the pairs that may break a rule: the largest number with ``number / pairs <= error`` in floats.

    >>> pairs_allowed(0.1, 90), pairs_allowed(0.0, 90)
    (9, 0)
    """
    budget = int(error * pairs)
    while (budget + 1) / pairs <= error:
        budget += 1
    while budget and budget / pairs > error:
        budget -= 1
    return budget


def approximate_sets(atoms: Atoms, evidence: EvidenceSet, budget: int, deadline: Deadline) -> np.ndarray:
    """All minimal sets of atoms, as words, whose rules at most ``budget`` ordered pairs break. ``evidence`` is that of
    all pairs."""
    if deadline.passed:
        return np.zeros((0, atoms.words), np.uint64)
    edges = atoms.edges(evidence.signatures)
    edges, place = np.unique(edges, axis=0, return_inverse=True)
    weights = np.bincount(place.ravel(), weights=evidence.counts, minlength=len(edges)).astype(np.int64)
    heaviest = np.argsort(-weights, kind="stable")
    members, weights = atoms.unpack(edges[heaviest]), weights[heaviest]
    lists = [np.flatnonzero(members[:, v]) for v in range(members.shape[1])]
    starts = np.cumsum([0, *map(len, lists)]).astype(np.int64)
    sizes = np.bincount(atoms.slot, minlength=len(atoms.slots))
    with deadline.watched():
        hitting = enumerate_approximate(
            members,
            weights,
            starts,
            np.concatenate([*lists, np.zeros(0, np.int64)]),
            atoms.slot,
            _contradicting(atoms, sizes),
            budget,
            deadline.flag,
        )
    packed = np.zeros((len(hitting), atoms.words), np.uint64)
    for v in range(hitting.shape[1]):
        packed[:, v // 64] |= hitting[:, v].astype(np.uint64) << np.uint64(v % 64)
    return packed


def _contradicting(atoms: Atoms, sizes: np.ndarray) -> np.ndarray:
    """How many atoms of a slot make a contradiction: all, where they contradict each other; else no number does."""
    together = np.full(len(sizes), 0b111)
    np.bitwise_and.at(together, atoms.slot, np.array([int(p.op) for p in atoms.predicates], np.int64))
    return np.where(together == 0, sizes, sizes + 1)


@dataclass(frozen=True)
class Counting:
    """Finds the same sets without the evidence of all pairs: the engine counts.

    ``sample`` is the evidence of random pairs. It only says by which atoms a broken set is worth enlarging.
    """

    engine: DiscoveryEngine
    atoms: Atoms
    sample: EvidenceSet
    budget: int
    deadline: Deadline

    def run(self, propose: Callable[[np.ndarray], np.ndarray], report: Callable[[int, int], None]) -> np.ndarray:
        """All minimal sets. ``propose`` takes new edges and gives the minimal hitting sets of all edges so far."""
        good: set[bytes] = set()
        sets = np.zeros((0, self.atoms.words), np.uint64)
        with suppress(Stopped):
            sets = propose(self._edges(np.zeros((1, self.atoms.words), np.uint64)))  # all pairs break the empty rule
            while not self.deadline.passed:
                fresh = sets[[s.tobytes() not in good for s in sets]]
                broken = []
                for some in self.deadline.portions(fresh, ASKED_AT_ONCE, _PORTION_SECONDS, _FIRST_SECONDS):
                    few = self._violations(some) <= self.budget
                    good.update(s.tobytes() for s in some[few])
                    broken.append(some[~few])
                    report(len(good), len(fresh))
                too_many = np.concatenate(broken) if broken else fresh[:0]
                if not len(too_many) or self.deadline.passed:
                    break
                sets = propose(self._edges(too_many))
        return sets[[s.tobytes() in good for s in sets]]

    def _violations(self, sets: np.ndarray) -> np.ndarray:
        rules = self.atoms.denials(sets)
        others = self.engine.rows - 1  # a row that breaks a rule about single rows does so beside every other row
        counts = self.engine.counts(rules, stop=self.deadline)
        return np.array(
            [pairs * (others if rule.arity == 1 else 1) for rule, pairs in zip(rules, counts, strict=True)], np.int64
        )

    def _edges(self, broken: np.ndarray) -> np.ndarray:
        """What every rule must have an atom of: all that is outside a set which too many pairs break, as large as can
        be had."""
        enlarged = []
        for s in self.atoms.unpack(broken):
            self.deadline.check()
            enlarged.append(self._enlarged(s))
        larger = np.unique(self.atoms.pack(enlarged), axis=0)
        larger = larger[larger.any(axis=1)]
        too_many = self._violations(larger) > self.budget
        return np.unique(~np.concatenate((larger[too_many], broken)) & self._all, axis=0)

    def _enlarged(self, members: np.ndarray) -> np.ndarray:
        """A set with further atoms, as long as the sample says that clearly too many pairs break it."""
        satisfied, counts = self._satisfied
        share = self.budget / max(1, self.engine.rows * (self.engine.rows - 1))
        total = max(1, int(counts.sum()))
        enough = total * share + _SURE * (total * share * (1 - share)) ** 0.5 + _SURE**2
        members = members.copy()
        left = satisfied[:, members].all(axis=1)
        while True:
            weights = counts[left] @ satisfied[left]
            weights[members] = 0
            best = int(np.argmax(weights))
            if weights[best] < enough:
                return np.flatnonzero(members)
            members[best] = True
            left &= satisfied[:, best]

    @cached_property
    def _satisfied(self) -> tuple[np.ndarray, np.ndarray]:
        return ~self.atoms.unpack(self.atoms.edges(self.sample.signatures)), np.asarray(self.sample.counts)

    @cached_property
    def _all(self) -> np.ndarray:
        return self.atoms.pack([range(len(self.atoms.predicates))])[0]
