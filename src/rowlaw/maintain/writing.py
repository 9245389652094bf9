"""Sets of atoms as rules, many at a time and only when somebody reads them."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from rowlaw.discovery.atoms import Atoms
from rowlaw.maintain.rulebook import Packed, Terms
from rowlaw.rules.model import Denial


class Unwritten:
    """The rules of some sets, all written down when the first of them is read."""

    def __init__(self, atoms: Atoms, sets: np.ndarray) -> None:
        self._atoms, self._sets = atoms, sets
        self._packed: tuple[Terms, list[Packed]] | None = None

    @cached_property
    def rules(self) -> list[Denial]:
        return self._atoms.denials(self._sets)

    def packed(self, terms: Terms) -> list[Packed]:
        """As :meth:`Terms.pack` has them; no rule is made for that."""
        if self._packed is None or self._packed[0] is not terms:
            self._packed = terms, self._pack(terms)
        return self._packed[1]

    def _pack(self, terms: Terms) -> list[Packed]:
        if any(slot.left.row == "t" for slot in self._atoms.slots.slots):  # a rule about row t alone is written as one about s
            return [terms.pack(rule) for rule in self.rules]
        places, lengths = self._atoms.places(self._sets)
        ordered = self._atoms.ordered
        used = np.flatnonzero(np.bincount(places.ravel(), minlength=len(ordered) + 1)[:-1])
        numbers = np.zeros(len(ordered) + 1, np.int64)
        numbers[used] = [terms.number(ordered[i]) for i in used]
        return [("dc", *line[:length]) for line, length in zip(numbers[places].tolist(), lengths.tolist(), strict=True)]


class Written(NamedTuple):
    """One of them."""

    among: Unwritten
    place: int

    @property
    def rule(self) -> Denial:
        return self.among.rules[self.place]

    def packed(self, terms: Terms) -> Packed:
        return self.among.packed(terms)[self.place]
