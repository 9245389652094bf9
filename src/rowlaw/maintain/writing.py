"""Sets of atoms as rules, many at a time and only when somebody reads them."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from rowlaw.discovery.atoms import Atoms
from rowlaw.maintain.rulebook import pack, pack_denial, pack_predicate
from rowlaw.rules.model import Column, Denial, Op, Predicate, predicate_key

ANY = 0b111  # a slot about which a rule says nothing


def accepted(atoms: Atoms, sets: np.ndarray) -> np.ndarray:
    """For each set and slot the outcomes that the rule accepts there, ``uint8[sets, slots]``."""
    found = np.full((len(sets), len(atoms.slots)), ANY, np.uint8)
    for v, predicate in enumerate(atoms.predicates):
        has = sets[:, v // 64] >> np.uint64(v % 64) & np.uint64(1) != 0
        found[has, atoms.slot[v]] &= np.uint8(predicate.op)
    return found


class Unwritten:
    """The rules of some sets, all written down when the first of them is read."""

    def __init__(self, atoms: Atoms, sets: np.ndarray) -> None:
        self._atoms, self._sets = atoms, sets

    @cached_property
    def rules(self) -> list[Denial]:
        """As :meth:`Atoms.denials` gives them, some times faster."""
        if self._options is None:
            return self._atoms.denials(self._sets)
        found = []
        for line in self._lines:
            rule = object.__new__(Denial)  # predicates are in canonical form
            object.__setattr__(rule, "predicates", tuple([self._options[i] for i in line]))
            found.append(rule)
        return found

    @cached_property
    def packed(self) -> list[str]:
        """As :func:`rowlaw.maintain.rulebook.pack` writes them; no rule is made for that."""
        if self._options is None or not all(isinstance(p.right, Column) for p in self._options):
            return [pack(rule) for rule in self.rules]
        texts = [pack_predicate(p) for p in self._options]
        return [pack_denial([texts[i] for i in line]) for line in self._lines]

    @cached_property
    def _options(self) -> list[Predicate] | None:
        """The predicates that there may be, in the order in which a rule has them; None where that takes more than an order."""
        options = [Predicate(slot.left, Op(mask), slot.right) for slot in self._atoms.slots.slots for mask in range(1, ANY)]
        if any(len(p.rows) < 2 for p in options):
            return None  # a rule about row t alone is written as one about s
        return sorted(options, key=predicate_key)

    @cached_property
    def _lines(self) -> list[list[int]]:
        """For each set the places of its predicates among the options."""
        assert self._options is not None
        slots, none = self._atoms.slots.slots, len(self._options)
        if not slots:
            return [[] for _ in self._sets]
        at = {predicate: i for i, predicate in enumerate(self._options)}
        place = np.full((len(slots), ANY + 1), none, np.int32)
        for i, slot in enumerate(slots):
            for mask in range(1, ANY):
                place[i, mask] = at[Predicate(slot.left, Op(mask), slot.right)]
        ops = accepted(self._atoms, self._sets)
        places = np.sort(np.stack([place[i][ops[:, i]] for i in range(len(slots))], axis=1), axis=1)
        sizes = (places < none).sum(axis=1).tolist()
        return [line[:size] for line, size in zip(places.tolist(), sizes, strict=True)]


class Written(NamedTuple):
    """One of them."""

    among: Unwritten
    number: int

    @property
    def rule(self) -> Denial:
        return self.among.rules[self.number]

    @property
    def packed(self) -> str:
        return self.among.packed[self.number]
