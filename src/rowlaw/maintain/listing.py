"""Which rules of several kinds are listed, and how they are scored; see :mod:`rowlaw.discovery.together` and ``rank``.

Whether a denial constraint is implied by other rules depends only on those about its columns. So after a batch only the
denial constraints that are new, or that have all columns of a rule that was added or removed, are tested again. Scores
of later rules rest on the evidence of the first table, so that a score never changes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from rowlaw.discovery.atoms import Atoms
from rowlaw.discovery.rank import COVERED_EVIDENCE, SHORTEST, WEIGHTS
from rowlaw.discovery.together import Dependency, Implied, follows_from_one
from rowlaw.evidence.evidence import EvidenceSet
from rowlaw.evidence.slots import Slots
from rowlaw.kernels import together as kernels
from rowlaw.maintain.cells import detached_slots
from rowlaw.rules.model import Column, Denial, FunctionalDependency, Key, Nulls, Op, OrderCompatible, Predicate, Rule
from rowlaw.rules.outcomes import ANY, accept_encoding

if TYPE_CHECKING:
    from rowlaw.relation.relation import Relation
    from rowlaw.storage.store import Reader, Writer

N = TypeVar("N")
_MAX_COLUMNS = 64  # that fit into a word


class Listing:
    """Which dependencies and which denial constraints are listed. ``exact``: the laws hold without exception."""

    def __init__(self, names: Sequence[str], *, exact: bool) -> None:
        self.exact = exact
        self._position = {name: i for i, name in enumerate(names)}
        self._keys: frozenset[Key] = frozenset()
        self._not_implied: dict[Dependency, bool] = {}  # dependencies: whether keys leave them something to say
        self._listed: dict[Dependency, None] = {}
        self._implied: dict[object, bool] = {}  # denial constraints: whether dependencies say as much

    def update(self, dependencies: Sequence[Dependency]) -> set[Dependency]:
        """Take in the dependencies that there are now; those that came into the list or left it."""
        keys = frozenset(rule for rule in dependencies if isinstance(rule, Key))
        if keys != self._keys:
            self._keys, self._not_implied = keys, {}
        implied = Implied(keys if len(keys) < len(dependencies) else ())  # keys are not asked about
        self._not_implied = {
            rule: self._not_implied[rule]
            if rule in self._not_implied
            else isinstance(rule, Key) or rule.denials[0] not in implied
            for rule in dependencies
        }
        before, self._listed = self._listed, {rule: None for rule, is_listed in self._not_implied.items() if is_listed}
        return before.keys() ^ self._listed.keys()

    def restore(
        self, dependencies: Sequence[Dependency], names: Callable[[], Iterable[object]], listed: Container[object]
    ) -> None:
        """Go on from a list: the rules in it are listed, all others were implied."""
        self._keys = frozenset(rule for rule in dependencies if isinstance(rule, Key))
        self._not_implied = {rule: rule in listed for rule in dependencies}
        self._listed = {rule: None for rule, is_listed in self._not_implied.items() if is_listed}
        self._implied = {name: name not in listed for name in names()} if dependencies else {}

    @property
    def dependencies(self) -> list[Dependency]:
        """Those that are listed."""
        return list(self._listed)

    def masks(self, columns: Iterable[Iterable[str]]) -> np.ndarray:
        """Sets of columns as lines of booleans."""
        column_lists = [[self._position[name] for name in names] for names in columns]
        masks = np.zeros((len(column_lists), len(self._position)), bool)
        for mask, places in zip(masks, column_lists, strict=True):
            mask[places] = True
        return masks

    def denials(
        self,
        names: Sequence[N],
        ops: np.ndarray,
        changed: set[Dependency],
        read: Callable[[Sequence[N]], Sequence[Denial]],
    ) -> list[N]:
        """The denial constraints that are listed, of all there are: their names, and the outcomes they accept in each
        column.

        ``changed`` is what :meth:`update` returned; ``read`` gives the rules of names.
        """
        if not names:
            self._implied = {}
            return []
        stale = np.array([name not in self._implied for name in names], bool)
        for mask in self.masks(rule.columns for rule in changed):
            stale |= (ops[:, mask] != ANY).all(axis=1)
        again = np.flatnonzero(stale).tolist()
        implied: dict[object, bool] = {name: self._implied[name] for name in names if name in self._implied}
        if self.exact and len(self._position) <= _MAX_COLUMNS:
            fresh = np.zeros(len(again), bool)
            kernels.implied(np.ascontiguousarray(ops[again]), *self._laws(), fresh)
            implied.update(zip([names[i] for i in again], fresh.tolist(), strict=True))
        else:
            kept_rules = Implied(self._listed)
            tested = [names[i] for i in again]
            implied.update((n, self._is_implied(d, kept_rules)) for n, d in zip(tested, read(tested), strict=True))
        self._implied = implied
        return [name for name in names if not implied[name]]

    def _laws(self) -> tuple[np.ndarray, np.ndarray]:
        """The dependencies that are listed: the columns that are equal, and the others."""
        contexts, sides = np.zeros(len(self._listed), np.uint64), np.full((len(self._listed), 3), -1, np.int64)
        for i, rule in enumerate(self._listed):
            equal: Sequence[str] = ()
            match rule:
                case Key():
                    equal = rule.columns
                case FunctionalDependency():
                    equal, sides[i, 0] = rule.left, self._position[rule.right]
                case OrderCompatible():
                    equal, sides[i] = (
                        rule.context,
                        (self._position[rule.left], self._position[rule.right], rule.descending),
                    )
            contexts[i] = sum(1 << self._position[name] for name in equal)
        return contexts, sides

    def _is_implied(self, denial: Denial, kept_rules: Implied) -> bool:
        return denial in kept_rules if self.exact else follows_from_one(denial, self._listed)


@dataclass(frozen=True)
class EvidenceView:
    """Pairs of operands, and the most frequent evidence about them. ``repeats``: how likely two rows have one value at
    least, for each slot."""

    slots: Slots
    evidence: EvidenceSet
    repeats: np.ndarray

    @staticmethod
    def of(atoms: Atoms, evidence: EvidenceSet) -> EvidenceView:
        """What evidence of a relation said."""
        often = np.sort(np.argsort(-evidence.counts, kind="stable")[:COVERED_EVIDENCE])
        slots, relation = atoms.slots, atoms.slots.relation
        same = [isinstance(s.right, Column) and s.left.name == s.right.name for s in slots.slots]
        repeats = [
            1 / max(1, relation.column(s.left.name).distinct) if is_same else 0.0
            for s, is_same in zip(slots.slots, same, strict=True)
        ]
        kept = EvidenceSet(evidence.signatures[often], evidence.counts[often])
        return EvidenceView(detached_slots(slots.slots, slots.nulls), kept, np.array(repeats))

    @cached_property
    def shares(self) -> np.ndarray:
        """For each slot and set of outcomes the share of pairs that have one of them."""
        outcomes = self.slots.outcomes(self.evidence.signatures)
        shares = np.ones((len(self.slots), ANY + 1))
        total = max(1, int(self.evidence.counts.sum()))
        for i, ordered in enumerate(self.slots.ordered):
            bits = np.array(accept_encoding(ordered=bool(ordered)).numbers)
            for mask in range(ANY):
                shares[i, mask] = self.evidence.counts[bits[outcomes[:, i]] & mask != 0].sum() / total
            shares[i, Op.EQ] = max(shares[i, Op.EQ], self.repeats[i])
        return shares

    @cached_property
    def symbols(self) -> np.ndarray:
        """For each slot the symbols it is written with: rows, columns, literals."""
        lists: list[list[object]] = []
        for slot in self.slots.slots:
            operands = [o for o in (slot.left, slot.right) if isinstance(o, Column)]
            literals = [o for o in (slot.left, slot.right) if not isinstance(o, Column)]
            lists.append([*(("row", o.row) for o in operands), *(("column", o.name) for o in operands), *literals])
        place = {symbol: i for i, symbol in enumerate(dict.fromkeys(symbol for symbols in lists for symbol in symbols))}
        used = np.zeros((len(lists), max(1, len(place))), bool)
        for i, symbols in enumerate(lists):
            used[i, [place[symbol] for symbol in symbols]] = True
        return used

    def ops(self, rules: Sequence[Rule]) -> np.ndarray:
        """For each rule and slot the outcomes it accepts. A batch may bring 100,000 keys: no denial constraint is made
        for each."""
        place: dict[Any, int] = {(slot.left, slot.right): i for i, slot in enumerate(self.slots.slots)}
        place |= {slot.left.name: i for i, slot in enumerate(self.slots.slots)}
        accepted = np.full((len(rules), len(self.slots)), ANY, np.uint8)
        for row, rule in zip(accepted, rules, strict=True):
            match rule:
                case Key():
                    row[[place[name] for name in rule.columns]] = Op.EQ
                case FunctionalDependency():
                    row[[place[name] for name in rule.left]] = Op.EQ
                    row[place[rule.right]] = Op.NE
                case OrderCompatible():
                    row[[place[name] for name in rule.context]] = Op.EQ
                    row[place[rule.left]], row[place[rule.right]] = Op.LT, Op.LT if rule.descending else Op.GT
                case _:
                    for p in rule.denials[0].predicates:
                        row[place[p.left, p.right]] = int(p.op)
        return accepted

    def scores(self, ops: np.ndarray, living: int) -> np.ndarray:
        """Scores of rules, given by the outcomes they accept in each slot: those of :mod:`rowlaw.discovery.rank`
        without coverage, which only the best rules have."""
        pairs = living * (living - 1)
        expected = np.full(len(ops), float(pairs))
        symbols = np.zeros((len(ops), self.symbols.shape[1]), bool)
        for i in range(ops.shape[1]):
            expected *= self.shares[i, ops[:, i]]
            symbols |= (ops[:, i] != ANY)[:, None] & self.symbols[i]
        surprise = np.log10(1 + expected) / max(1.0, math.log10(1 + pairs))
        succinct = np.minimum(1.0, SHORTEST / (symbols.sum(axis=1) + (ops != ANY).sum(axis=1)))
        return np.round(WEIGHTS["succinctness"] * succinct + WEIGHTS["surprise"] * surprise, 6)


@dataclass
class Scorer:
    """Scores denial constraints by one view and rules of other kinds by another."""

    denials: EvidenceView | None = None
    others: EvidenceView | None = None

    def scores(self, rules: Sequence[Rule], living: int) -> list[float]:
        scores_by_rule = [0.0] * len(rules)
        for view, mine in ((self.denials, True), (self.others, False)):
            places = [i for i, rule in enumerate(rules) if isinstance(rule, Denial) == mine]
            if view is not None and places:
                for i, score in zip(
                    places, view.scores(view.ops([rules[i] for i in places]), living).tolist(), strict=True
                ):
                    scores_by_rule[i] = score
        return scores_by_rule

    def save(self, writer: Writer) -> None:
        for name, view in (("denials", self.denials), ("others", self.others)):
            if view is not None:
                arrays = {
                    "signatures": view.evidence.signatures,
                    "counts": view.evidence.counts,
                    "repeats": view.repeats,
                }
                for part, array in arrays.items():
                    writer.keep_or_array(f"{name}-{part}", array)

    @staticmethod
    def load(reader: Reader, slots: Slots | None, names: Sequence[str], nulls: Nulls) -> Scorer:
        space = tuple(Predicate(Column("s", name), op, Column("t", name)) for name in names for op in Op)
        of_columns = Slots.of_predicates(cast("Relation", None), space, nulls)

        def view(name: str, about: Slots | None) -> EvidenceView | None:
            if about is None or f"{name}-signatures" not in reader:
                return None
            evidence = EvidenceSet(reader.array(f"{name}-signatures"), reader.array(f"{name}-counts"))
            return EvidenceView(about, evidence, reader.array(f"{name}-repeats"))

        return Scorer(view("denials", slots), view("others", of_columns))
