"""Sets of atoms as rules, many at a time and only when somebody reads them."""

from __future__ import annotations

import numpy as np

from rowlaw.discovery.atoms import Atoms
from rowlaw.rules.model import Denial, Op, Predicate, predicate_key

ANY = 0b111  # a slot about which a rule says nothing


def accepted(atoms: Atoms, sets: np.ndarray) -> np.ndarray:
    """For each set and slot the outcomes that the rule accepts there, ``uint8[sets, slots]``."""
    found = np.full((len(sets), len(atoms.slots)), ANY, np.uint8)
    for v, predicate in enumerate(atoms.predicates):
        has = sets[:, v // 64] >> np.uint64(v % 64) & np.uint64(1) != 0
        found[has, atoms.slot[v]] &= np.uint8(predicate.op)
    return found


def denials(atoms: Atoms, sets: np.ndarray) -> list[Denial]:
    """The rules of sets of atoms, as :meth:`Atoms.denials` gives them, some times faster."""
    options = [Predicate(slot.left, Op(mask), slot.right) for slot in atoms.slots.slots for mask in range(1, ANY)]
    if any(len(p.rows) < 2 for p in options):
        return atoms.denials(sets)  # a rule about row t alone is written as one about s
    order = sorted(range(len(options)), key=lambda i: predicate_key(options[i]))
    place = np.full((len(atoms.slots), ANY + 1), len(options), np.int32)
    for at, i in enumerate(order):
        place[i // (ANY - 1), 1 + i % (ANY - 1)] = at
    ordered = [options[i] for i in order]
    ops = accepted(atoms, sets)
    places = np.sort(np.stack([place[i][ops[:, i]] for i in range(ops.shape[1])], axis=1), axis=1) if ops.shape[1] else ops
    sizes = (places < len(options)).sum(axis=1).tolist()
    found = []
    for line, size in zip(places.tolist(), sizes, strict=True):
        rule = object.__new__(Denial)  # predicates are in canonical form
        object.__setattr__(rule, "predicates", tuple([ordered[i] for i in line[:size]]))
        found.append(rule)
    return found


class Unwritten:
    """The rules of some sets, all written down when the first of them is read."""

    def __init__(self, atoms: Atoms, sets: np.ndarray) -> None:
        self._atoms, self._sets = atoms, sets
        self._rules: list[Denial] | None = None

    def __getitem__(self, i: int) -> Denial:
        if self._rules is None:
            self._rules = denials(self._atoms, self._sets)
        return self._rules[i]
