"""The compared column pairs of a predicate space, and how their outcomes are written down."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from rowlaw.kernels import signatures as kernels
from rowlaw.kernels.signatures import SLOTS
from rowlaw.predicates.space import ORDERED_TYPES
from rowlaw.relation import Relation, RelationColumn
from rowlaw.relation.align import common_scale
from rowlaw.rules.model import Column, Constant, Nulls, Operand, Predicate
from rowlaw.rules.outcomes import CODE_BITS, CODE_MASK, LOWER_WORD, ROW_EQUAL, ROW_UNKNOWN


@dataclass(frozen=True, slots=True)
class Slot:
    """Two operands that are compared: by order (outcomes ``<``, ``=``, ``>``), or else for equality (``=``, ``!=``)."""

    left: Column
    right: Operand
    ordered: bool

    def __str__(self) -> str:
        return f"{self.left} {'<=>' if self.ordered else '=?'} {self.right}"


@dataclass(frozen=True, eq=False)
class Slots:
    """The slots of a space over a relation; what two rows say is one outcome for each.

    >>> import pyarrow as pa
    >>> from rowlaw.relation import encode
    >>> from rowlaw.source import open_source
    >>> relation = encode(open_source(pa.table({"zip": ["07030", "10001"], "pop": [7, 5]})))
    >>> slots = Slots.same_column(relation)
    >>> [str(slot) for slot in slots.slots]
    ['s.zip =? t.zip', 's.pop <=> t.pop']

    With ``nulls="unknown"`` a comparison with null has the outcome *unknown*, else null is equal to null and below
    every value. The slots must be closed under exchange of ``s`` and ``t``. Pickles carry the relation by its folder;
    codes are found again.
    """

    relation: Relation
    slots: tuple[Slot, ...]
    nulls: Nulls = "unknown"

    @staticmethod
    def same_column(relation: Relation, nulls: Nulls = "unknown", columns: Sequence[str] | None = None) -> Slots:
        """Return a slot for each column, by order where the type has one."""
        names = columns if columns is not None else [c.name for c in relation.columns]
        kinds = relation.types
        return Slots(
            relation, tuple(Slot(Column("s", n), Column("t", n), kinds[n] in ORDERED_TYPES) for n in names), nulls
        )

    @staticmethod
    def of_predicates(relation: Relation, predicates: Iterable[Predicate], nulls: Nulls = "unknown") -> Slots:
        """Return a slot for each pair of operands among the predicates, by order where one of its operators needs
        it."""
        ordered: dict[tuple[Column, Operand], bool] = {}
        for p in predicates:
            ordered[p.left, p.right] = ordered.get((p.left, p.right), False) or p.op.is_inequality
        return Slots(relation, tuple(Slot(left, right, by_order) for (left, right), by_order in ordered.items()), nulls)

    def __len__(self) -> int:
        return len(self.slots)

    @property
    def rows(self) -> int:
        """Count of rows that evidence can be taken from."""
        return self.relation.rows

    def column(self, name: str) -> RelationColumn:
        """Return the facts of a column."""
        return self.relation.column(name)

    def over(self, relation: Relation) -> Slots:
        """Return the same slots over another relation: signatures say the same whatever rows they are taken from."""
        return self if relation is self.relation else Slots(relation, self.slots, self.nulls)

    def __getstate__(self) -> dict[str, Any]:
        return {"relation": self.relation, "slots": self.slots, "nulls": self.nulls}

    @property
    def words(self) -> int:
        """Words of a signature."""
        return words_of(len(self.slots))

    @property
    def unknown(self) -> bool:
        """Whether comparisons with null are unknown."""
        return self.nulls == "unknown"

    @cached_property
    def ordered(self) -> np.ndarray:
        return np.array([slot.ordered for slot in self.slots], np.bool_)

    @cached_property
    def _compared(self) -> tuple[tuple[np.ndarray, ...], np.ndarray, np.ndarray]:
        return _Columns(self).result

    @property
    def columns(self) -> tuple[np.ndarray, ...]:
        """Codes to compare, ``int32``, null -1: columns of the table, brought to common scales, and outcomes within one
        row."""
        return self._compared[0]

    @property
    def left(self) -> np.ndarray:
        """For each slot, the one of :attr:`columns` that row ``s`` brings."""
        return self._compared[1]

    @property
    def right(self) -> np.ndarray:
        """For each slot, the one of :attr:`columns` that row ``t`` brings."""
        return self._compared[2]

    @cached_property
    def mirror(self) -> tuple[np.ndarray, np.ndarray]:
        """For each slot, the slot that ``s`` and ``t`` exchanged make of it, and whether its operands change places."""
        places = {(slot.left, slot.right): i for i, slot in enumerate(self.slots)}
        mirrored, turned = np.empty(len(self.slots), np.int64), np.empty(len(self.slots), np.bool_)
        for i, slot in enumerate(self.slots):
            left, right = slot.left.exchanged, slot.right.exchanged
            straight, swapped = (
                places.get((left, right)),
                places.get((right, left)) if isinstance(right, Column) else None,
            )
            place = straight if straight is not None else swapped
            if place is None or self.slots[place].ordered != slot.ordered:
                raise ValueError(f"no slot is the exchange of {slot}")
            mirrored[i], turned[i] = place, straight is None
        return mirrored, turned

    def reverse(self, signatures: np.ndarray) -> np.ndarray:
        """Return the signatures of ``(t, s)``, given those of ``(s, t)``.

        >>> import pyarrow as pa
        >>> from rowlaw.relation import encode
        >>> from rowlaw.source import open_source
        >>> slots = Slots.same_column(encode(open_source(pa.table({"a": [1, 2], "b": ["x", "y"]}))))
        >>> slots.reverse(np.array([[0b0101]], np.uint64)).tolist() == [[0b0110]]
        True
        """
        mirror, turned = self.mirror
        turned = turned & self.ordered
        if np.array_equal(mirror, np.arange(len(mirror))):
            mask = np.zeros(self.words, np.uint64)
            for i in np.flatnonzero(turned):
                mask[i // SLOTS] |= np.uint64(CODE_MASK << CODE_BITS * (int(i) % SLOTS))
            low = np.uint64(LOWER_WORD)
            swapped = (signatures & low) << np.uint64(1) | signatures >> np.uint64(1) & low
            return swapped & mask | signatures & ~mask
        reversed_signatures = np.empty_like(signatures)
        kernels.reverse(np.ascontiguousarray(signatures), mirror, turned, reversed_signatures)
        return reversed_signatures

    def outcomes(self, signatures: np.ndarray) -> np.ndarray:
        """Return the code (:class:`rowlaw.rules.outcomes.Outcome`) of each slot, ``uint8[signatures, slots]``."""
        slot = np.arange(len(self.slots))
        shifts = (CODE_BITS * (slot % SLOTS)).astype(np.uint64)
        return (signatures[:, slot // SLOTS] >> shifts & np.uint64(CODE_MASK)).astype(np.uint8)


def words_of(slots: int) -> int:
    """Return how many words a signature of so many slots has."""
    return max(1, (slots + SLOTS - 1) // SLOTS)


class _Columns:
    """The codes that slots compare."""

    def __init__(self, slots: Slots) -> None:
        self.relation, self.unknown = slots.relation, slots.unknown
        self.found: dict[Any, int] = {}
        self.codes: list[np.ndarray] = []
        self.scaled = _common_scales(slots)
        left, right = np.empty(len(slots), np.int64), np.empty(len(slots), np.int64)
        for i, slot in enumerate(slots.slots):
            if isinstance(slot.right, Column) and slot.left.row != slot.right.row:
                left[i], right[i] = self.column(slot.left.name), self.column(slot.right.name)
            else:
                # a slot about one row compares its outcome there with a column in which every outcome is equal
                here = self.outcome(slot)
                equal = self.place("equal", lambda: np.full(self.relation.rows, ROW_EQUAL, np.int32))
                left[i], right[i] = (here, equal) if slot.left.row == "s" else (equal, here)
        self.result = tuple(self.codes), left, right

    def place(self, key: Any, make: Any) -> int:
        if key not in self.found:
            self.codes.append(make())
            self.found[key] = len(self.codes) - 1
        return self.found[key]

    def column(self, name: str) -> int:
        return self.place(name, lambda: self.scaled[name] if name in self.scaled else self.relation.codes(name))

    def outcome(self, slot: Slot) -> int:
        """Return how the left operand compares with the right one in each row, encoded by
        :data:`rowlaw.rules.outcomes.ROW`."""

        def make() -> np.ndarray:
            if isinstance(slot.right, Constant):
                at, equal = self.relation.position(slot.left.name, slot.right.value)
                a = self.relation.codes(slot.left.name).astype(np.int64)
                null = a < 0
                # doubled: a literal may stand between two values
                difference = 2 * a - (2 * at if equal else 2 * at - 1)
            else:
                assert isinstance(slot.right, Column)  # discovery makes no conditions
                a = self.codes[self.column(slot.left.name)].astype(np.int64)
                b = self.codes[self.column(slot.right.name)]
                null = (a < 0) | (b < 0)
                difference = a - b
            sign = np.sign(difference).astype(np.int32)
            if slot.left.row == "t":
                sign = -sign
            return np.where(null & self.unknown, np.int32(ROW_UNKNOWN), sign + np.int32(ROW_EQUAL))

        return self.place(slot, make)


def _common_scales(slots: Slots) -> dict[str, np.ndarray]:
    """Return the codes of columns that are compared with other columns: those compared with each other, directly or
    not, share a scale."""
    group: dict[str, frozenset[str]] = {}
    for slot in slots.slots:
        if isinstance(slot.right, Column) and slot.left.name != slot.right.name:
            names = frozenset({slot.left.name, slot.right.name})
            names |= group.get(slot.left.name, names) | group.get(slot.right.name, names)
            group.update(dict.fromkeys(names, names))
    common = {}
    for names in set(group.values()):
        ordered = sorted(names)
        relation = slots.relation
        for name, places in zip(ordered, common_scale(*(relation.dictionary(n) for n in ordered)), strict=True):
            common[name] = np.append(places, np.int32(-1))[relation.codes(name)]
    return common
