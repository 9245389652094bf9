"""The distinct evidence of pairs that come in batches, as the engine lists violations."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rowlaw.evidence.evidence import EvidenceSet
from rowlaw.evidence.packed import Packed
from rowlaw.evidence.slots import Slots
from rowlaw.kernels import sample as sampling
from rowlaw.kernels import signatures as kernels
from rowlaw.relation.pairs import Pairs

ROWS_AT_ONCE = 1 << 16  # violating rows of a rule about single rows that are paired with other rows at once


def beside_all(violating: Pairs) -> Iterator[Pairs]:
    """Pair rows that violate a rule about single rows with every other row: they violate it beside each of them."""
    rows = violating.relation.rows
    for start in range(0, len(violating), ROWS_AT_ONCE):
        some = violating.rows[start : start + ROWS_AT_ONCE, 0].astype(np.int64)
        for distance in range(1, rows):
            yield Pairs(violating.relation, np.stack((some, (some + distance) % rows), axis=1).astype(np.int32))


class PairEvidence:
    """The distinct evidence of the pairs added so far. Memory grows with the distinct evidences, not with the pairs.

    >>> import pyarrow as pa
    >>> from rowlaw.relation import encode
    >>> from rowlaw.source import open_source
    >>> slots = Slots.same_column(encode(open_source(pa.table({"a": [1, 2, 2], "b": ["x", "y", "y"]}))))
    >>> found = PairEvidence(slots)
    >>> found.add(Pairs(slots.relation, np.array([[0, 1], [0, 2]], np.int32)))
    >>> found.pairs, found.signatures.tolist()
    (2, [[5], [6]])

    A pair takes 20 to 50 ns once the rows are packed: a few subtractions and one probe of a hash table.
    """

    def __init__(self, slots: Slots) -> None:
        self.slots = slots
        self.pairs = 0
        self._packed = Packed.of(slots, np.arange(slots.relation.rows, dtype=np.int32))
        self._keys, self._used = kernels.new_table(1 << 12, self._packed.words), 0

    def add(self, pairs: Pairs) -> None:
        """Add ordered pairs of rows of the slots' relation; a row paired with itself is left out."""
        packed = self._packed
        s_rows, t_rows = np.ascontiguousarray(pairs.rows[:, 0]), np.ascontiguousarray(pairs.rows[:, 1])
        self._keys, self._used, _, compared = sampling.count_pairs(
            packed.matrix, packed.right, packed.masks, s_rows, t_rows, self._keys, self._used
        )
        self.pairs += compared

    @property
    def signatures(self) -> np.ndarray:
        """The distinct signatures of all pairs added, in both directions, sorted."""
        keys, _ = kernels.entries(self._keys, self._used)
        one_way = self._packed.signatures(keys)
        both = np.concatenate((one_way, self.slots.reverse(one_way)))
        return EvidenceSet.of(both, np.ones(len(both), np.int64)).signatures
