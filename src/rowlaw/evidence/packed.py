"""Rows as few words, a field for each slot, so that one subtraction compares many columns at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rowlaw.evidence.slots import Slots
from rowlaw.kernels import sample as sampling

_WORD = 64


@dataclass(frozen=True, eq=False)
class Packed:
    """Some rows of a relation, each as few words, with a field for each slot (see the kernels)."""

    slots: Slots
    rows: np.ndarray
    word: np.ndarray
    shift: np.ndarray
    guard: np.ndarray  # the place of a slot's guard bit; the code is below, down to ``shift``
    nullable: np.ndarray

    @staticmethod
    def of(slots: Slots, rows: np.ndarray) -> Packed:
        top = [int(c.max(initial=0)) + 1 for c in slots.columns]
        null = [slots.unknown and bool((c < 0).any()) for c in slots.columns]
        fields = []
        at, free = 0, 0
        for a, b in zip(slots.left.tolist(), slots.right.tolist(), strict=True):
            bits, flag = max(top[a], top[b]).bit_length(), null[a] or null[b]
            if free + bits + 1 + flag > _WORD:
                at, free = at + 1, 0
            fields.append((at, free, free + bits, flag))
            free += bits + 1 + flag
        word, shift, guard, nullable = np.array(fields, np.int64).reshape(-1, 4).T.copy()
        return Packed(slots, rows, word, shift, guard, nullable.astype(np.bool_))

    @property
    def words(self) -> int:
        """Words of what a row brings as ``s`` or as ``t``."""
        return int(self.word.max(initial=0)) + 1

    @cached_property
    def masks(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The guard bits of all slots, of the ordered ones, and the bits for null."""
        masks = np.zeros((3, self.words), np.uint64)
        for c, (word, guard) in enumerate(zip(self.word, self.guard, strict=True)):
            bit = np.uint64(1) << np.uint64(guard)
            masks[0, word] |= bit
            masks[1, word] |= bit if self.slots.ordered[c] else np.uint64(0)
            masks[2, word] |= bit << np.uint64(1) if self.nullable[c] else np.uint64(0)
        return masks[0], masks[1], masks[2]

    @property
    def right(self) -> int:
        """Where a row's words as ``t`` begin: they are those as ``s`` if every slot compares a column with itself."""
        return 0 if np.array_equal(self.slots.left, self.slots.right) else self.words

    @cached_property
    def matrix(self) -> np.ndarray:
        """The packed rows."""
        matrix = np.zeros((len(self.rows), self.right + self.words), np.uint64)
        for columns, at in ((self.slots.left, 0), (self.slots.right, self.right))[: 2 if self.right else 1]:
            for c, column in enumerate(columns):
                null = np.uint64(2) << np.uint64(self.guard[c]) if self.nullable[c] else np.uint64(0)
                sampling.pack(
                    self.slots.columns[column][self.rows], np.uint64(self.shift[c]), null, matrix[:, at + self.word[c]]
                )
        return matrix

    def field(self, slot: int) -> tuple[int, np.uint64, np.uint64]:
        """Return word, shift and mask of a slot's code, as ``s``."""
        bits = int(self.guard[slot] - self.shift[slot])
        return int(self.word[slot]), np.uint64(self.shift[slot]), np.uint64((1 << bits) - 1)

    def values(self, slot: int) -> np.ndarray:
        word, shift, mask = self.field(slot)
        return self.matrix[:, word] >> shift & mask

    def signatures(self, keys: np.ndarray) -> np.ndarray:
        """Return the signatures that keys of pairs stand for."""
        signatures = np.empty((len(keys), self.slots.words), np.uint64)
        sampling.signatures_from(keys, self.word, self.guard, self.slots.ordered, self.nullable, signatures)
        return signatures
