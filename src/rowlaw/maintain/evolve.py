"""Rules of all kinds that follow a table: what a state asks for (see :mod:`rowlaw.maintain.protocol`).

>>> import pyarrow as pa
>>> from rowlaw.maintain.protocol import UpkeepOptions
>>> from rowlaw.storage.table import GrowingTable
>>> from rowlaw.relation import encode
>>> from rowlaw.source import open_source
>>> table = GrowingTable.of(encode(open_source(pa.table({"zip": [1, 1, 2], "city": ["Ulm", "Ulm", "Bonn"]}))))
>>> evolution = Evolution.create(table, UpkeepOptions(), Progress(quiet=True))
>>> sorted(str(rule) for rule in evolution.rules)
['not (s.city = t.city and s.zip != t.zip)', 'not (s.zip = t.zip and s.city != t.city)']
>>> taken = table.take(inserts=pa.table({"zip": [2], "city": ["Berlin"]}))
>>> [(str(gone.rule), gone.witness) for gone in evolution.apply(table, taken.inserted, taken.deleted).removed]
[('not (s.zip = t.zip and s.city != t.city)', (3, 2))]
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np

from rowlaw.deadline import Deadline
from rowlaw.discovery.atoms import Atoms
from rowlaw.discovery.rank import Rank, rank, same_column_evidence
from rowlaw.discovery.together import Dependency, listed
from rowlaw.discovery.trivial import trivial_sets
from rowlaw.discovery.vacuous import not_vacuous, sets_not_vacuous
from rowlaw.engine.local.engine import LocalEngine
from rowlaw.evidence.evidence import EvidenceSet
from rowlaw.maintain.denials import Changed, MaintainedDenials
from rowlaw.maintain.dependencies import MaintainedDependencies, ToleratedDependencies
from rowlaw.maintain.initial import initial_dependencies
from rowlaw.maintain.listing import EvidenceView, Listing, Scorer
from rowlaw.maintain.protocol import (
    ChangedRules,
    DependencyPart,
    Evolved,
    Law,
    LazyRule,
    LazyRules,
    Part,
    UpkeepOptions,
    Witness,
    to_rule,
)
from rowlaw.maintain.uniques import Uniques
from rowlaw.predicates.space import ORDERED_TYPES, SpaceOptions, predicate_space
from rowlaw.progress import Progress
from rowlaw.relation.known import KnownRows
from rowlaw.rules import NamedRule, RuleSet
from rowlaw.rules.implication import minimal
from rowlaw.rules.model import Column, Denial, Kind, Rule
from rowlaw.rules.outcomes import ANY
from rowlaw.storage.live_relation import known_rows
from rowlaw.storage.rulebook import Terms

if TYPE_CHECKING:
    from rowlaw.storage.store import Reader, Writer
    from rowlaw.storage.table import GrowingTable

Name = bytes | Rule  # a denial constraint goes by its set of atoms, which is quicker to look up than the rule

# as they are saved
_SPACE = ("columns", "operators_of", "cross", "overlap", "order_strings", "single_row", "constants", "predicates")

# Names of parts in a state, and what reads each. Denial constraints come last: which of them are listed depends on the
# others.
PARTS: dict[str, type[Part]] = {
    "tolerated": ToleratedDependencies,
    "uniques": Uniques,
    "dependencies": MaintainedDependencies,
    "denials": MaintainedDenials,
}


class Evolution:
    """Rules that follow a table. The predicate space is that of the table they were first discovered on."""

    def __init__(self, options: UpkeepOptions, parts: Mapping[str, Part], scorer: Scorer, table: GrowingTable) -> None:
        self.options = options
        self._parts = {name: parts[name] for name in PARTS if name in parts}
        self.denials = cast("MaintainedDenials | None", parts.get("denials"))
        self.uniques = cast("Uniques | None", parts.get("uniques"))
        self._dependency_parts = [
            cast("DependencyPart", part) for part in self._parts.values() if part is not self.denials
        ]
        self.scorer = scorer
        # the rules of the sets of `denials`, all of them; None where the name is a set of atoms, which is enough
        self._denials: dict[Name, Law | None] = {}
        self._numbers: dict[Name, int] = {}  # what is listed, in its order
        self._assigned = 0  # numbers so far
        self.first = ChangedRules()  # the rules it was created with
        self._listing = Listing(table.names, exact=not options.error)
        self._names = {name: i for i, name in enumerate(table.names)}
        self._table, self._known_rows = table, cast("KnownRows | None", None)

    @classmethod
    def create(
        cls, table: GrowingTable, options: UpkeepOptions, progress: Progress, deadline: Deadline | None = None
    ) -> Self:
        """Discover the rules of the table as it is."""
        limit = deadline or Deadline()
        parts: dict[str, Part] = {}
        scorer = Scorer()
        views: dict[bool, tuple[Atoms, EvidenceSet]] = {}
        others: set[Kind] = set(options.kinds) - {"dc"}
        if others and options.error:
            parts["tolerated"] = ToleratedDependencies.create(table, options)
        elif others:
            sides = (
                None
                if options.space.order_strings
                else [name for name in table.names if table.types.get(name) in ORDERED_TYPES]
            )
            first = initial_dependencies(table, others, options.nulls, sides=sides, deadline=limit, progress=progress)
            with progress.phase("evidence"):
                if "key" in others:
                    parts["uniques"] = Uniques.create(table, options.nulls, quota=options.index_quota, first=first)
                if others - {"key"}:
                    parts["dependencies"] = MaintainedDependencies.create(table, others, options.nulls, first, sides)
        if "dc" in options.kinds:
            space = predicate_space(LocalEngine(table.relation()).statistics, options.space)
            denials, discovered = MaintainedDenials.create(
                table, space, options.nulls, error=options.error, progress=progress, deadline=limit
            )
            parts["denials"] = denials
            views[True] = discovered.atoms, discovered.evidence
            scorer.denials = EvidenceView.of(*views[True])
        if others:
            views[False] = same_column_evidence(LocalEngine(table.relation(), options.nulls))
            scorer.others = EvidenceView.of(*views[False])
        made = cls(options, parts, scorer, table)
        with progress.phase("rank"):
            made._denials = made._rules_of_sets(made.denials.chosen) if made.denials is not None else {}
            made.first = made._list_first(views, table.living)
        return made

    @property
    def rules(self) -> RuleSet:
        """All rules: those of the first table, the best first, and then those that came later."""
        laws = zip(self._numbers.values(), self._laws(list(self._numbers)), strict=True)
        named = (NamedRule(f"R{number}", to_rule(law)) for number, law in laws)
        return RuleSet(tuple(named), self.options.nulls, self._settings)

    @property
    def keys(self) -> list[tuple[str, ...]]:
        """The minimal sets of columns that are unique and that two rows could share."""
        return [
            rule.columns for rule in not_vacuous(self.uniques.rules if self.uniques is not None else [], self._known)
        ]

    @property
    def _known(self) -> KnownRows:
        self._known_rows = self._known_rows or known_rows(self._table, self.options.nulls)
        return self._known_rows

    @property
    def non_keys(self) -> list[tuple[str, ...]]:
        """The maximal sets of columns that are not unique."""
        return self.uniques.maximal_non if self.uniques is not None else []

    @property
    def counters(self) -> dict[str, int]:
        """What the last batch took: rules proposed by searches, rules that all rows had to prove, and pairs of rows
        compared."""
        return {
            name: sum(getattr(part, name) for part in self._parts.values())
            for name in ("candidates", "validations", "pairs")
        }

    @property
    def nbytes(self) -> int:
        """Memory of the indexes, and of the copy of the table that they look at."""
        return sum(part.nbytes for part in self._parts.values())

    @property
    def _settings(self) -> dict[str, Any]:
        return {**self.options.space.settings, "error": self.options.error}

    def apply(self, table: GrowingTable, inserted: np.ndarray, deleted: np.ndarray) -> Evolved:
        """Follow a batch that the table has taken in."""
        inserted, deleted = np.asarray(inserted, np.int64), np.asarray(deleted, np.int64)
        self._table, self._known_rows = table, None
        all_listed = len(self._numbers) == len(self._denials)
        witnesses: dict[Name, Witness] = {}
        for part in self._dependency_parts:
            witnesses.update(part.apply(table, inserted, deleted).items())
        lost: Mapping[Name, Law | None] = {}
        fresh: Collection[Name] = ()
        if self.denials is not None:
            lost, fresh = self._apply_denials(self.denials.apply(table, inserted, deleted), witnesses)
        if set(self.options.kinds) - {"dc"} or not (all_listed and self._known.everything):
            rules = self._listed()
            lost = {name: lost.get(name) for name in self._numbers if name not in rules}
            fresh = [name for name in rules if name not in self._numbers]
        numbers = [self._numbers.pop(name) for name in lost]
        removed = ChangedRules(numbers, self._laws(list(lost), lost), [witnesses.get(name, ()) for name in lost])
        return Evolved(self._add(list(fresh), witnesses, table.living), removed)

    def _apply_denials(
        self, changed: Changed, witnesses: dict[Name, Witness]
    ) -> tuple[Mapping[Name, Law | None], Collection[Name]]:
        """The denial constraints that went and came."""
        assert self.denials is not None
        if not self._by_sets:  # sets that are minimal need not be minimal rules: look at all of them
            before, self._denials = self._denials, self._rules_of_sets(self.denials.chosen)
            fresh = [name for name in self._denials if name not in before]
            return {name: law for name, law in before.items() if name not in self._denials}, fresh
        gone = _names(changed.removed)
        # a trivial one is not there
        lost: dict[Name, Law | None] = {name: self._denials.pop(name) for name in gone if name in self._denials}
        came = self._rules_of_sets(changed.added)
        self._denials.update(came)
        for names, pairs in ((gone, changed.removed_pairs), (_names(changed.added), changed.added_pairs)):
            witnesses.update((name, (s, t)) for name, (s, t) in zip(names, pairs.tolist(), strict=True) if s >= 0)
        return lost, came

    # What is listed

    @property
    def _dependencies(self) -> list[Dependency]:
        rules = [rule for part in self._dependency_parts for rule in part.rules]
        return rules if self.options.error else not_vacuous(rules, self._known)

    def _listed(self) -> dict[Name, None]:
        """What is to be listed: no law twice, none that others imply, and none that no rows could break."""
        names = self._breakable()
        if not set(self.options.kinds) - {"dc"}:
            return dict.fromkeys(names)
        changed = self._listing.update(self._dependencies)
        news = self._listing.denials(
            names, self._by_column(names), changed, lambda some: [cast("Denial", to_rule(x)) for x in self._laws(some)]
        )
        return dict.fromkeys([*self._listing.dependencies, *news])

    def _breakable(self) -> list[Name]:
        """The denial constraints that some rows could break."""
        names = list(self._denials)
        if self.denials is None or not names or self._known.everything:
            return names
        if not self._by_sets:
            rules = {to_rule(law): name for name, law in zip(names, self._laws(names), strict=True)}
            return [rules[rule] for rule in not_vacuous(list(rules), self._known)]
        kept = sets_not_vacuous(self.denials.atoms.slots.slots, self.denials.ops(self._sets(names)), self._known)
        return [names[i] for i in np.flatnonzero(kept)]

    def _by_column(self, names: Sequence[Name]) -> np.ndarray:
        """For each denial constraint the outcomes it accepts in each column, as far as it compares a column with
        itself."""
        accepted = np.full((len(names), len(self._names)), ANY, np.uint8)
        if names and self._by_sets:
            assert self.denials is not None
            ops = self.denials.ops(self._sets(names))
            for i, slot in enumerate(self.denials.atoms.slots.slots):
                if (
                    isinstance(slot.right, Column)
                    and slot.left.row != slot.right.row
                    and slot.left.name == slot.right.name
                ):
                    accepted[:, self._names[slot.left.name]] = ops[:, i]
        else:
            for row, law in zip(accepted, self._laws(names), strict=True):
                for p in cast("Denial", to_rule(law)).predicates:
                    if p.same_column:
                        row[self._names[p.left.name]] &= int(p.op)
        return accepted

    def _laws(self, names: Sequence[Name], removed: Mapping[Name, Law | None] | None = None) -> list[Law]:
        """What is listed by names; ``removed`` are denial constraints that are no longer there."""
        if not self._by_sets:
            gone = removed or {}
            return [
                (gone.get(name) or cast("Law", self._denials[name])) if isinstance(name, bytes) else name
                for name in names
            ]
        assert self.denials is not None
        lazy = LazyRules(self.denials.atoms, self._sets([name for name in names if isinstance(name, bytes)]))
        places = count()
        return [LazyRule(lazy, next(places)) if isinstance(name, bytes) else name for name in names]

    def _sets(self, names: Sequence[Name]) -> np.ndarray:
        """The sets of atoms that names stand for."""
        assert self.denials is not None
        words = np.frombuffer(b"".join(cast("Sequence[bytes]", names)), np.uint64)
        return words.reshape(len(names), self.denials.sets.shape[1])

    def _rules_of_sets(self, sets: np.ndarray, trivial: np.ndarray | None = None) -> dict[Name, Law | None]:
        """Rules by the sets that they stand for, without those that are true on any table (``trivial``, if it is
        known)."""
        assert self.denials is not None
        atoms = self.denials.atoms
        if not atoms.weak:
            return {str(d).encode(): d for d in minimal(atoms.denials(sets))}
        left_out = trivial if trivial is not None else trivial_sets(atoms, sets)
        return dict.fromkeys(_names(sets[~left_out]))

    def _list_first(self, views: Mapping[bool, tuple[Atoms, EvidenceSet]], living: int) -> ChangedRules:
        """List the first rules, the best first."""
        names = list(self._listed())
        laws = dict(zip(names, self._laws(names), strict=True))
        ranks: dict[Name, Rank] = {}
        for denials_too, view in views.items():
            mine = {
                name: rule.denials[0]
                for name, law in laws.items()
                if isinstance(rule := to_rule(law), Denial) == denials_too
            }
            ranks.update(zip(mine, rank(list(mine.values()), *view, living * (living - 1)), strict=True))
        best = sorted(laws, key=lambda name: -ranks[name].score)
        supports, scores = [ranks[name].support for name in best], [ranks[name].score for name in best]
        return ChangedRules(
            self._assign_numbers(best), [laws[name] for name in best], [()] * len(best), self._error, supports, scores
        )

    def _add(self, names: Sequence[Name], witnesses: Mapping[Name, Witness], living: int) -> ChangedRules:
        """List rules at the end, with their scores."""
        laws = self._laws(names)
        if (
            self.scorer.denials is not None
            and self.denials is not None
            and names
            and all(isinstance(name, bytes) for name in names)
            and self._by_sets
        ):
            scores = self.scorer.denials.scores(self.denials.ops(self._sets(names)), living).tolist()
        else:
            scores = self.scorer.scores([to_rule(law) for law in laws], living)
        shown = [witnesses.get(name, ()) for name in names]
        return ChangedRules(self._assign_numbers(names), laws, shown, self._error, scores=scores)

    @property
    def _by_sets(self) -> bool:
        """Whether denial constraints go by the sets of atoms that they are."""
        return self.denials is not None and self.denials.atoms.weak

    @property
    def _error(self) -> float | None:
        """The share of pairs that break a rule, if it is known without counting them."""
        return None if self.options.error else 0.0

    def _assign_numbers(self, names: Collection[Name]) -> range:
        """Give numbers to rules."""
        numbers = range(self._assigned + 1, self._assigned + 1 + len(names))
        self._numbers.update(zip(names, numbers, strict=True))
        self._assigned += len(names)
        return numbers

    # Compacting, saving, checking

    def renumber(self, table: GrowingTable, numbers: np.ndarray) -> None:
        """The table was compacted: row ``i`` is now row ``numbers[i]``, or forgotten (-1)."""
        for part in self._parts.values():
            part.renumber(table, numbers)

    def save(self, writer: Writer) -> None:
        """Write rules, evidence and indexes."""
        space = {"columns": self.options.space.columns, **self.options.space.settings}
        writer.json(
            "options",
            {
                "kinds": self.options.kinds,
                "nulls": self.options.nulls,
                "error": self.options.error,
                "space": [space.get(name) for name in _SPACE],
                "given": self._assigned,
                "parts": list(self._parts),
            },
        )
        self._save_list(writer)
        if self.denials is not None:
            names = _names(self.denials.chosen) if self._by_sets else ()
            writer.array("trivial", np.array([name not in self._denials for name in names], bool))
        self.scorer.save(writer.under("scorer"))
        for name, part in self._parts.items():
            part.save(writer.under(name))

    def _save_list(self, writer: Writer) -> None:
        """The list in its order: denial constraints by their names, which are sets or texts, other rules packed."""
        names = [name for name in self._numbers if isinstance(name, bytes)]
        others = {place: name for place, name in enumerate(self._numbers) if not isinstance(name, bytes)}
        writer.array("numbers", np.fromiter(self._numbers.values(), np.int64, len(self._numbers)))
        writer.array("names", np.frombuffer(b"".join(names), np.uint8))
        writer.array("lengths", np.fromiter(map(len, names), np.int32, len(names)))
        writer.json("others", [[place, Terms().pack(rule)] for place, rule in others.items()])

    @classmethod
    def load(cls, reader: Reader, table: GrowingTable) -> Self:
        """What was saved, with the table as it was then."""
        saved = reader.json("options")
        # states made before `predicates` was an option have one value less
        chosen = dict(zip(_SPACE, saved["space"], strict=False))
        columns = chosen.pop("columns")
        space = SpaceOptions.of(columns=None if columns is None else tuple(columns), **chosen)
        options = UpkeepOptions(tuple(saved["kinds"]), saved["nulls"], saved["error"], space)
        parts = {name: cast("Part", PARTS[name].load(reader.under(name), table)) for name in saved["parts"]}
        denials = cast("MaintainedDenials | None", parts.get("denials"))
        slots = denials.atoms.slots if denials is not None else None
        scorer = Scorer.load(reader.under("scorer"), slots, table.names, options.nulls)
        made = cls(options, parts, scorer, table)
        made._assigned = saved["given"]
        made._load_list(reader)
        if denials is not None:
            made._denials = made._rules_of_sets(denials.chosen, reader.array("trivial"))
        made._listing.restore(made._dependencies if set(options.kinds) - {"dc"} else (), made._breakable, made._numbers)
        return made

    def _load_list(self, reader: Reader) -> None:
        others = {place: Terms().read(packed) for place, packed in reader.json("others")}
        ends, data = np.cumsum(reader.array("lengths")).tolist(), reader.array("names").tobytes()
        names = iter([data[a:b] for a, b in zip([0, *ends], ends, strict=False)])
        for place, number in enumerate(reader.array("numbers").tolist()):
            self._numbers[others[place] if place in others else next(names)] = number

    def _check(self, table: GrowingTable) -> None:
        """Every invariant of every part."""
        alive = np.asarray(table.alive)
        for part in self._parts.values():
            part._check(alive)
        if self.denials is not None:
            assert set(self._rules_of_sets(self.denials.chosen)) == set(self._denials)
        rules = not_vacuous([to_rule(law) for law in self._laws(list(self._denials))], self._known)
        if set(self.options.kinds) - {"dc"}:
            rules = listed(self._dependencies, cast("list[Denial]", rules), exact=not self.options.error)
        assert {to_rule(law) for law in self._laws(list(self._numbers))} == set(rules)


def _names(sets: np.ndarray) -> list[bytes]:
    """What sets are called: their words."""
    return cast("list[bytes]", np.ascontiguousarray(sets).view(f"V{sets.shape[1] * sets.itemsize}")[:, 0].tolist())
