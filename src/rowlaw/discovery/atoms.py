"""Rules as sets of vertices, evidence as edges: how denial constraints become minimal hitting sets.

``<`` is ``<=`` and ``!=``; ``=`` is ``<=`` and ``>=``; ``>`` is ``>=`` and ``!=``. Written over the weak *atoms* ``<=
>= !=`` of an ordered pair of operands (``= !=`` of another), a rule is minimal under dropping and under weakening of
predicates exactly when its set of atoms is minimal. A pair of rows leaves some atoms unsatisfied: its *edge*. A rule
holds for the pair when it has one of these atoms, so the rules that hold are the sets that hit every edge, and the
minimal rules the minimal ones. All atoms of one pair of operands together contradict each other: such sets are
*forbidden*, being true on every table.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from rowlaw.evidence.slots import Slots
from rowlaw.relation.relation import Relation
from rowlaw.rules.model import Denial, Nulls, Op, Predicate, predicate_key
from rowlaw.rules.outcomes import ANY, CODE_BITS, CODE_MASK, accept_encoding
from rowlaw.search import bitsets
from rowlaw.search.bitsets import ByteTable

_WEAK = (Op.LE, Op.GE, Op.NE)
EQUALITY = (Op.EQ, Op.NE)
_WRITTEN_AT_ONCE = 1 << 14  # sets turned into rules together


@dataclass(frozen=True, eq=False)
class Atoms:
    """The vertices of a predicate space: ``predicates[v]`` is an atom, ``slot[v]`` the pair of operands it compares."""

    slots: Slots
    predicates: tuple[Predicate, ...]
    slot: np.ndarray
    weak: bool  # whether all are weak atoms; else minimal sets of vertices still have to be compared as rules

    @staticmethod
    def of(relation: Relation, space: Iterable[Predicate], nulls: Nulls) -> Atoms:
        """The atoms of a predicate space. Operators that the user left out are not made up again."""
        slots = Slots.of_predicates(relation, space, nulls)
        given: dict[tuple[object, object], set[Op]] = {}
        for p in space:
            given.setdefault((p.left, p.right), set()).add(p.op)
        predicates, places, weak = [], [], True
        for i, slot in enumerate(slots.slots):
            ops = given[slot.left, slot.right]
            atoms: Sequence[Op] = _WEAK if ops == set(Op) else EQUALITY if ops == set(EQUALITY) else sorted(ops)
            weak = weak and atoms in (_WEAK, EQUALITY)
            for op in atoms:
                predicates.append(Predicate(slot.left, op, slot.right))
                places.append(i)
        return Atoms(slots, tuple(predicates), np.array(places, np.int64), weak)

    @property
    def words(self) -> int:
        """Words of a set of vertices."""
        return bitsets.word_count(len(self.predicates))

    @cached_property
    def _unsatisfied(self) -> ByteTable:
        """The vertices that are not satisfied, for each byte of a signature: the outcomes of four slots, two bits
        each."""
        table = ByteTable(self.words)
        outcomes = [np.arange(256) >> CODE_BITS * k & CODE_MASK for k in range(4)]
        for v, predicate in enumerate(self.predicates):
            i = int(self.slot[v])
            accepted = accept_encoding(ordered=self.slots.slots[i].ordered).numbers
            missed = np.array([not predicate.op & mask for mask in accepted])
            table.add(i // 4, missed[outcomes[i % 4]], v)
        return table

    def edges(self, signatures: np.ndarray) -> np.ndarray:
        """The edge of each signature, as words."""
        return self._unsatisfied.united(signatures)

    @cached_property
    def forbidden(self) -> np.ndarray:
        """The smallest sets of atoms of one slot that contradict each other, as words."""
        contradictions: list[tuple[int, ...]] = []
        of_slot: dict[int, list[int]] = {}
        for v, i in enumerate(self.slot.tolist()):
            of_slot.setdefault(i, []).append(v)
        for vertices in of_slot.values():
            smallest: list[tuple[int, ...]] = []
            for size in (2, 3):
                for some in combinations(vertices, size):
                    mask = ANY
                    for v in some:
                        mask &= self.predicates[v].op
                    if not mask and not any(set(known) <= set(some) for known in smallest):
                        smallest.append(some)
            contradictions += smallest
        return self.pack(contradictions)

    def consistent(self, sets: np.ndarray) -> np.ndarray:
        """The sets without a contradiction."""
        good = np.ones(len(sets), bool)
        for contradiction in self.forbidden:
            good &= ((sets & contradiction) != contradiction).any(axis=1)
        return sets[good]

    @cached_property
    def exchange(self) -> np.ndarray:
        """The vertex that each vertex becomes when ``s`` and ``t`` are exchanged."""
        place = {predicate: v for v, predicate in enumerate(self.predicates)}
        return np.array([place[predicate.exchanged] for predicate in self.predicates], np.int64)

    def exchanged(self, sets: np.ndarray) -> np.ndarray:
        """The sets that sets become when ``s`` and ``t`` are exchanged."""
        return bitsets.mirrored(sets, self.exchange)

    def one_of_each(self, sets: np.ndarray) -> np.ndarray:
        """One of each two sets that become each other when ``s`` and ``t`` are exchanged."""
        return bitsets.one_of_each(sets, self.exchange)

    def not_empty(self, sets: np.ndarray) -> np.ndarray:
        """The minimal sets with at least one atom: where even the empty set hits all, every atom alone is one."""
        if len(sets) == 1 and not sets.any():
            return self.one_of_each(self.pack([[v] for v in range(len(self.predicates))]))
        return sets

    def pack(self, sets: Iterable[Iterable[int]]) -> np.ndarray:
        """Sets of vertices as words."""
        return bitsets.pack(sets, len(self.predicates))

    def unpack(self, sets: np.ndarray) -> np.ndarray:
        """Words as a table of booleans, a line per set and a column per vertex."""
        return bitsets.members(sets, len(self.predicates))

    @cached_property
    def _written(self) -> tuple[np.ndarray, list[Predicate]]:
        """All predicates in canonical order, and for each slot and set of accepted outcomes the place of its predicate
        among them."""
        by_operator = [
            {mask: Predicate(slot.left, Op(mask), slot.right) for mask in range(1, ANY)} for slot in self.slots.slots
        ]
        ordered = sorted((p for ops in by_operator for p in ops.values()), key=predicate_key)
        order = {p: n for n, p in enumerate(ordered)}
        places = np.full((len(by_operator), ANY + 1), len(ordered), np.int32)  # ANY: the slot is in no predicate
        for i, ops in enumerate(by_operator):
            for mask, p in ops.items():
                places[i, mask] = order[p]
        return places, ordered

    @property
    def ordered(self) -> list[Predicate]:
        """All predicates that rules may have, in the order in which a rule has them."""
        return self._written[1]

    def accepted(self, sets: np.ndarray) -> np.ndarray:
        """For each set and slot the outcomes that the rule accepts there, ``uint8[sets, slots]``."""
        accepted = np.full((len(sets), len(self.slots)), ANY, np.uint8)
        for v, predicate in enumerate(self.predicates):
            has = sets[:, v // 64] >> np.uint64(v % 64) & np.uint64(1) != 0
            accepted[has, self.slot[v]] &= np.uint8(predicate.op)
        return accepted

    def places(self, sets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """For each set the places of its predicates among ``ordered``, and how many there are."""
        masks = self.accepted(sets)
        return np.sort(self._written[0][np.arange(len(self.slots)), masks], axis=1), np.count_nonzero(
            masks != ANY, axis=1
        )

    def denials(self, sets: np.ndarray) -> list[Denial]:
        """The rules of sets of vertices (none of them forbidden)."""
        ordered = self.ordered
        denials = []
        for start in range(0, len(sets), _WRITTEN_AT_ONCE):
            lines, lengths = self.places(sets[start : start + _WRITTEN_AT_ONCE])
            for line, length in zip(lines.tolist(), lengths.tolist(), strict=True):
                denials.append(Denial.canonical(tuple(map(ordered.__getitem__, line[:length]))))
        return denials
