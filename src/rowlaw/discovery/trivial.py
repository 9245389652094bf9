"""Which sets of atoms are trivial rules: true on any table, because their comparisons contradict each other."""

from __future__ import annotations

import numpy as np

from rowlaw.discovery.atoms import Atoms
from rowlaw.kernels.contradiction import contradicting
from rowlaw.rules.implication import is_trivial
from rowlaw.rules.model import Column, Operand
from rowlaw.rules.outcomes import ANY

_MOST_OPERANDS = 64  # that fit into a word


def trivial_sets(atoms: Atoms, sets: np.ndarray) -> np.ndarray:
    """For each set whether its rule is trivial, ``bool[sets]``. Atoms must be weak: then comparisons of one slot never
    contradict.

    Only rules that compare different columns in two slots can be, so a set costs a look at its slots, and those about a
    microsecond.
    """
    slots = atoms.slots.slots
    trivial = np.zeros(len(sets), bool)
    same = np.array(
        [isinstance(s.right, Column) and s.left.name == s.right.name and s.left.row != s.right.row for s in slots], bool
    )
    if same.all() or not len(sets):
        return trivial
    ops = atoms.accepted(sets)
    doubtful = np.flatnonzero((ops[:, ~same] != ANY).sum(axis=1) > 1)
    operands: dict[Operand, int] = {}
    places = np.array([[operands.setdefault(o, len(operands)) for o in (s.left, s.right)] for s in slots], np.int64)
    if len(operands) <= _MOST_OPERANDS and all(isinstance(s.right, Column) for s in slots):
        out = np.zeros(len(doubtful), bool)
        left, right = np.ascontiguousarray(places[:, 0]), np.ascontiguousarray(places[:, 1])
        contradicting(np.ascontiguousarray(ops[doubtful]), left, right, len(operands), out)
        trivial[doubtful] = out
    elif len(doubtful):  # literals have an order of their own
        trivial[doubtful] = [is_trivial(denial) for denial in atoms.denials(sets[doubtful])]
    return trivial
