"""Evidence: the distinct things that pairs of rows say, and how many pairs say each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True, eq=False)
class EvidenceSet:
    """Distinct signatures, sorted, and for each the number of ordered pairs of different rows that have it.

    >>> found = EvidenceSet.of(np.array([[5], [2], [5]], np.uint64), np.array([1, 1, 3]))
    >>> found
    EvidenceSet(2 distinct, 5 pairs)
    >>> found.signatures.tolist(), found.counts.tolist()
    ([[2], [5]], [1, 4])
    """

    signatures: np.ndarray
    counts: np.ndarray

    @staticmethod
    def of(signatures: np.ndarray, counts: np.ndarray) -> EvidenceSet:
        """Return the evidence of signatures in any order, equal ones added up. ``O(k log k)``."""
        if not len(signatures):
            return EvidenceSet(_frozen(np.zeros((0, signatures.shape[1]), np.uint64)), _frozen(np.zeros(0, np.int64)))
        words = signatures.shape[1]
        order = (
            np.lexsort([signatures[:, w] for w in range(words - 1, -1, -1)])
            if words != 1
            else np.argsort(signatures[:, 0])
        )
        ordered = signatures[order]
        first = np.ones(len(ordered), np.bool_)
        first[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
        starts = np.flatnonzero(first)
        return EvidenceSet(_frozen(ordered[starts]), _frozen(np.add.reduceat(counts[order].astype(np.int64), starts)))

    @staticmethod
    def merge(sets: Sequence[EvidenceSet]) -> EvidenceSet:
        """Return what several disjoint sets of pairs say together."""
        if len(sets) == 1:
            return sets[0]
        return EvidenceSet.of(np.concatenate([e.signatures for e in sets]), np.concatenate([e.counts for e in sets]))

    def __len__(self) -> int:
        return len(self.signatures)

    def __iter__(self) -> Iterator[tuple[tuple[int, ...], int]]:
        for signature, count in zip(self.signatures.tolist(), self.counts.tolist(), strict=True):
            yield tuple(signature), count

    def __repr__(self) -> str:
        return f"EvidenceSet({len(self):,} distinct, {self.pairs:,} pairs)"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, EvidenceSet):
            return NotImplemented
        return np.array_equal(self.signatures, other.signatures) and np.array_equal(self.counts, other.counts)

    __hash__ = None  # type: ignore[assignment]

    @property
    def pairs(self) -> int:
        """How many ordered pairs have been counted."""
        return int(self.counts.sum())


def _frozen(values: np.ndarray) -> np.ndarray:
    values.setflags(write=False)
    return values
