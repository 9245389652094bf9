"""Rules that few pairs break: minimal sets that hit all evidence but a share of at most ``error`` of the pairs (g1)."""

from __future__ import annotations

import numpy as np

from rowlaw.discovery.atoms import Atoms
from rowlaw.discovery.deadline import Deadline
from rowlaw.evidence.evidence import EvidenceSet
from rowlaw.kernels.approximate import enumerate_approximate


def approximate_sets(atoms: Atoms, evidence: EvidenceSet, budget: int, deadline: Deadline) -> np.ndarray:
    """All minimal sets of atoms, as words, whose rules at most ``budget`` ordered pairs break. ``evidence`` is that of all pairs."""
    edges = atoms.edges(evidence.signatures)
    edges, place = np.unique(edges, axis=0, return_inverse=True)
    weights = np.bincount(place.ravel(), weights=evidence.counts, minlength=len(edges)).astype(np.int64)
    heaviest = np.argsort(-weights, kind="stable")
    members, weights = atoms.unpack(edges[heaviest]), weights[heaviest]
    lists = [np.flatnonzero(members[:, v]) for v in range(members.shape[1])]
    starts = np.cumsum([0, *map(len, lists)]).astype(np.int64)
    sizes = np.bincount(atoms.slot, minlength=len(atoms.slots))
    with deadline.watched() as stop:
        found = enumerate_approximate(
            members,
            weights,
            starts,
            np.concatenate([*lists, np.zeros(0, np.int64)]),
            atoms.slot,
            _contradicting(atoms, sizes),
            budget,
            stop,
        )
    packed = np.zeros((len(found), atoms.words), np.uint64)
    for v in range(found.shape[1]):
        packed[:, v // 64] |= found[:, v].astype(np.uint64) << np.uint64(v % 64)
    return packed


def _contradicting(atoms: Atoms, sizes: np.ndarray) -> np.ndarray:
    """How many atoms of a slot make a contradiction: all, where they contradict each other; else no number does."""
    together = np.full(len(sizes), 0b111)
    np.bitwise_and.at(together, atoms.slot, np.array([int(p.op) for p in atoms.predicates], np.int64))
    return np.where(together == 0, sizes, sizes + 1)
