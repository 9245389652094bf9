"""What a state asks of the algorithms that keep rules current: see :mod:`rowlaw.maintain.evolve`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import repeat
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self, get_args, overload

import numpy as np

from rowlaw.deadline import Deadline
from rowlaw.errors import RowlawError
from rowlaw.predicates.space import SpaceOptions
from rowlaw.progress import Progress
from rowlaw.rules import RuleSet
from rowlaw.rules.model import Denial, Kind, Nulls, Rule
from rowlaw.storage.entries import Entry, Packed
from rowlaw.storage.rulebook import Rulebook, Terms
from rowlaw.storage.store import Reader, Writer
from rowlaw.storage.table import GrowingTable

if TYPE_CHECKING:  # chosen rules need nothing of discovery
    from rowlaw.discovery.atoms import Atoms
    from rowlaw.discovery.together import Dependency

KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True, slots=True)
class UpkeepOptions:
    """Which rules are kept current: as in :func:`rowlaw.discover`. Fixed when a state is made."""

    kinds: tuple[Kind, ...] = ("dc",)
    nulls: Nulls = "unknown"
    error: float = 0.0
    space: SpaceOptions = field(default_factory=SpaceOptions)
    index_quota: int | None = None  # columns to index for keys: Swan section III-D
    rules: RuleSet | None = None  # chosen ones, which are counted; nothing is searched then

    def __post_init__(self) -> None:
        bad = next((kind for kind in self.kinds if kind not in KINDS), None)
        if bad is not None or not self.kinds:
            raise RowlawError("BAD_OPTION", option="kinds", value=bad or "", problem=f"use {', '.join(KINDS)}")
        if self.nulls not in get_args(Nulls):
            raise RowlawError(
                "BAD_OPTION", option="nulls", value=self.nulls, problem=f"use {', '.join(get_args(Nulls))}"
            )
        if not 0 <= self.error < 1:
            raise RowlawError(
                "BAD_OPTION", option="error", value=self.error, problem="a share, 0 or more and less than 1"
            )

    def to_dict(self) -> dict[str, Any]:
        """As the manifest of a state has them."""
        settings = {"kinds": list(self.kinds), "nulls": self.nulls, "error": self.error, **self.space.settings}
        return {**settings, "chosen": True} if self.rules is not None else settings


def entries(born: ChangedRules, batch: int, book: Rulebook) -> Iterator[Entry]:
    """Rules that were born by a batch, as a rulebook has them."""
    return map(
        Entry, born.numbers, born.packed(book.terms), repeat(batch), repeat(born.error), born.supports, born.scores
    )


class LazyRules:
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
        # a rule about row t alone is written as one about s
        if any(slot.left.row == "t" for slot in self._atoms.slots.slots):
            return [terms.pack(rule) for rule in self.rules]
        places, lengths = self._atoms.places(self._sets)
        ordered = self._atoms.ordered
        used = np.flatnonzero(np.bincount(places.ravel(), minlength=len(ordered) + 1)[:-1])
        numbers = np.zeros(len(ordered) + 1, np.int64)
        numbers[used] = [terms.number(ordered[i]) for i in used]
        return [("dc", *line[:length]) for line, length in zip(numbers[places].tolist(), lengths.tolist(), strict=True)]


class LazyRule(NamedTuple):
    """One of them."""

    among: LazyRules
    place: int

    @property
    def rule(self) -> Denial:
        return self.among.rules[self.place]

    def packed(self, terms: Terms) -> Packed:
        return self.among.packed(terms)[self.place]


Witness = tuple[int, int] | tuple[()]
Law = Rule | LazyRule


def to_rule(law: Law) -> Rule:
    return law if isinstance(law, Rule) else law.rule


class ChangedRule(NamedTuple):
    """A rule that was born or retired, and the pair of rows that shows why, if there is one.

    A rule is retired by a pair that breaks it, or by the loss of the last pair that broke a shorter one; it is born
    because it is minimal since a pair came, or because the last pair that broke it went.
    """

    number: int
    law: Law
    witness: Witness

    @property
    def rule(self) -> Rule:
        return to_rule(self.law)


@dataclass(frozen=True)
class ChangedRules(Sequence[ChangedRule]):
    """Many of them, in columns, with what was measured when they were born."""

    numbers: Sequence[int] = ()
    laws: Sequence[Law] = ()
    witnesses: Sequence[Witness] = ()
    error: float | None = None
    supports: Iterable[int | None] = repeat(None)
    scores: Iterable[float | None] = repeat(None)

    def __len__(self) -> int:
        return len(self.numbers)

    @overload
    def __getitem__(self, index: int) -> ChangedRule: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[ChangedRule]: ...

    def __getitem__(self, index: int | slice) -> ChangedRule | Sequence[ChangedRule]:
        if isinstance(index, slice):
            return list(map(ChangedRule, self.numbers[index], self.laws[index], self.witnesses[index]))
        return ChangedRule(self.numbers[index], self.laws[index], self.witnesses[index])

    def packed(self, terms: Terms) -> list[Packed]:
        return [terms.pack(law) if isinstance(law, Rule) else law.packed(terms) for law in self.laws]


class Evolved(NamedTuple):
    """What a batch did to the rules."""

    added: ChangedRules
    removed: ChangedRules


class Part(Protocol):
    """What keeps the rules of some kinds current. Each class also has a ``create``; that of denial constraints gives
    their sets too."""

    candidates: int  # rules that were proposed during the last batch
    validations: int  # those that all rows had to prove

    @property
    def pairs(self) -> int:
        """Pairs of rows that the last batch took comparing."""

    @property
    def nbytes(self) -> int: ...

    def renumber(self, table: GrowingTable, numbers: np.ndarray) -> None: ...

    def save(self, writer: Writer) -> None: ...

    @staticmethod
    def load(reader: Reader, table: GrowingTable) -> Any: ...

    def _check(self, alive: np.ndarray) -> None:
        """Assert every invariant."""


class DependencyPart(Part, Protocol):
    """A part for keys, functional dependencies or order compatibilities."""

    @property
    def rules(self) -> Sequence[Dependency]:
        """All that hold, also those that no rows could break."""

    def apply(self, table: GrowingTable, inserted: np.ndarray, deleted: np.ndarray) -> Mapping[Rule, Witness]:
        """Follow a batch that the table has taken in; for rules that came or went a pair of rows that shows why, if
        there is one."""


class Evolution(Protocol):
    """Rules that follow a table."""

    @property
    def first(self) -> ChangedRules:
        """The rules it was created with."""

    @classmethod
    def create(cls, table: GrowingTable, options: Any, progress: Progress, deadline: Deadline | None = None) -> Self:
        """Discover the rules of the table as it is, before the deadline."""

    def apply(self, table: GrowingTable, inserted: np.ndarray, deleted: np.ndarray) -> Evolved:
        """Follow a batch that the table has taken in. ``table.relabelled`` says which columns have new labels."""

    def renumber(self, table: GrowingTable, numbers: np.ndarray) -> None:
        """The table was compacted: row ``i`` is now row ``numbers[i]``, or forgotten (-1). Labels are the same."""

    def save(self, writer: Writer) -> None:
        """Write what has changed, keep the rest."""

    @classmethod
    def load(cls, reader: Reader, table: GrowingTable) -> Self:
        """What was saved, with the table as it was then."""
