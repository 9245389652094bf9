"""Pairs of rows that an engine gives to discovery, which passes them on to evidence without looking inside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rowlaw.relation.relation import Relation


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Pairs of rows of a relation; a violation of a rule about single rows is a row twice.

    ``rows``: ``int32[pairs, 2]``, the positions of ``s`` and ``t`` in ``relation``.
    """

    relation: Relation
    rows: np.ndarray

    def __len__(self) -> int:
        return len(self.rows)

    @staticmethod
    def merge(parts: Sequence[Pairs]) -> list[Pairs]:
        """Put the pairs of each relation together."""
        by_relation: dict[int, list[Pairs]] = {}
        for part in parts:
            by_relation.setdefault(id(part.relation), []).append(part)
        return [Pairs(some[0].relation, np.concatenate([p.rows for p in some])) for some in by_relation.values()]


def random_pairs(rows: int, number: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """About so many random pairs of different rows, of ``rows`` rows: the positions of ``s`` and of ``t``.

    >>> s, t = random_pairs(3, 1_000)
    >>> len(s) > 500, bool((s == t).any()), sorted(set(s.tolist()))
    (True, False, [0, 1, 2])
    """
    s, t = np.random.default_rng(seed).integers(0, rows, (2, number if rows > 1 else 0))
    different = s != t
    return s[different], t[different]
