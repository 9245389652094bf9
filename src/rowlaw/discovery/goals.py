"""Keys, functional dependencies and order compatibilities as goals: each asks for the minimal sets of columns that hit
all its edges."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import combinations, islice

import numpy as np

from rowlaw.deadline import Deadline
from rowlaw.discovery.together import Dependency
from rowlaw.engine.questions import Target
from rowlaw.kernels.differences import holds_any
from rowlaw.rules.model import FunctionalDependency, Key, Kind, OrderCompatible, Rule
from rowlaw.search.bitsets import pack, unpack, word_count
from rowlaw.search.hypergraph import TOO_MANY, Hypergraph
from rowlaw.search.search import minimal_hitting_sets
from rowlaw.spark.jobs import DriverThreads

# A counterexample refutes many laws, so few of each goal are asked about while most break. Goals of the first sort are
# few.
PORTION, FIRST_PORTION = 4, 64
_LARGER = 8  # times the portion, once most hold
_WRITING = 0.3  # of the time for ranking, for writing sets of columns as laws


@dataclass
class Dependencies:
    """What was found, all of it minimal, and how."""

    rules: list[Dependency]
    strategy: str
    why: str
    partial: bool = False
    rounds: int = 0
    errors: dict[Rule, float] = field(default_factory=dict)  # g3 of approximate rules
    candidates: int = 0  # laws that were proposed and had to be proven
    validations: int = 0  # questions to the engine about them
    # all minimal keys, even those that no rows could break, as words; none if they are not known
    key_sets: np.ndarray | None = None

    def non_keys(self, names: Sequence[str]) -> list[tuple[str, ...]]:
        """The maximal sets of columns that are not unique: what the minimal hitting sets of the minimal keys leave
        out."""
        assert self.key_sets is not None
        everything = pack([range(len(names))], len(names))
        maximal = unpack(everything & ~minimal_hitting_sets(Hypergraph(self.key_sets, len(names))).all)
        return sorted((tuple(sorted(names[c] for c in line)) for line in maximal), key=lambda some: (len(some), some))

    def with_more(self, other: Dependencies) -> Dependencies:
        """What was found in two steps."""
        whys = "; ".join(dict.fromkeys((self.why, other.why)))
        both = self.rules + other.rules
        return Dependencies(
            both,
            self.strategy,
            whys,
            self.partial or other.partial,
            self.rounds + other.rounds,
            self.errors | other.errors,
        )


@dataclass
class Goal:
    """A target, the edges seen so far (where upkeep keeps them), and the minimal sets of columns that hit them.

    ``proven``: those known to hold on all rows."""

    target: Target
    edges: np.ndarray
    sets: np.ndarray
    proven: set[bytes] = field(default_factory=set)
    # a digest of the edges that the sets are all of: those of wide tables take too much memory to be kept
    searched: bytes = b""
    portion: int = PORTION  # sets to ask about at once

    @property
    def kind(self) -> Kind:
        return "key" if self.target.left < 0 else "fd" if self.target.right < 0 else "od"

    def answered(self, held: int, broken: int) -> None:
        """How many sets of the last portion turned out to hold and not to."""
        if held > broken:
            self.portion *= _LARGER

    def open(self, most: int | None = None) -> list[tuple[bytes, tuple[int, ...]]]:
        """Sets that are not proven yet, up to ``most``: their names and their columns."""
        new = list(islice((i for i, s in enumerate(self.sets) if s.tobytes() not in self.proven), most))
        some = self.sets[new]
        return [(s.tobytes(), tuple(columns)) for s, columns in zip(some, unpack(some), strict=True)]


class Goals:
    """All goals for some kinds of laws: ``first`` those for keys and functional dependencies, ``second`` those for
    order compatibilities, which need the former to be known."""

    def __init__(
        self, names: Sequence[str], kinds: frozenset[Kind], deadline: Deadline, sides: Collection[str] | None = None
    ) -> None:
        """``sides``: the columns that may be a side of an order compatibility; all if not given."""
        self.names = tuple(names)
        self.kinds = kinds
        self.deadline = deadline
        self.columns = len(names)
        self.words = word_count(self.columns)
        self.first = [self._goal(Target())] if "key" in kinds else []
        if kinds & {"fd", "od"}:
            self.first += [self._goal(Target(a)) for a in range(self.columns)]
        ordered = [c for c, name in enumerate(self.names) if sides is None or name in sides]
        pairs = combinations(ordered, 2) if "od" in kinds else ()
        self.second = [self._goal(Target(a, b, down)) for a, b in pairs for down in (False, True)]
        for goal in self.first:
            goal.portion = FIRST_PORTION

    def _goal(self, target: Target) -> Goal:
        return Goal(target, np.zeros((0, self.words), np.uint64), np.zeros((0, self.words), np.uint64))

    def search(self, goals: Sequence[Goal], edges_of: Callable[[Target], np.ndarray]) -> None:
        """All minimal sets for goals that have new edges. These are made one goal after the other: of a wide table
        there are many.

        Raises ``Stopped`` soon after the deadline; goals that were searched by then have their sets.
        """

        def search(goal: Goal) -> None:
            if self.deadline.passed:
                return
            edges = edges_of(goal.target)
            seen = blake2b(edges.tobytes()).digest()
            if goal.searched == seen:
                return
            determining = self._determining(goal) if goal.kind == "od" else goal.sets[:0]
            if len(determining) and not determining.any(axis=1).all():  # a side is constant
                goal.sets, goal.searched = goal.sets[:0], seen
                return
            hitting = minimal_hitting_sets(Hypergraph(edges, self.columns), self.deadline)
            if not hitting.complete:
                self.deadline.stop(TOO_MANY)
            if goal.searched and not hitting.complete:  # time is up: what was proven among the sets before stays
                return
            goal.searched = seen if hitting.complete else b""
            goal.sets = self._not_empty(hitting.sets) if goal.kind == "key" else hitting.sets
            goal.sets = goal.sets[~holds_any(goal.sets, determining)]
            # the shortest are asked about first, should there be no time for all
            goal.sets = goal.sets[np.argsort(np.bitwise_count(goal.sets).sum(axis=1, dtype=np.int64), kind="stable")]

        DriverThreads().map(search, goals, "search", stop=self.deadline)

    def _not_empty(self, sets: np.ndarray) -> np.ndarray:
        """A key has a column, even where there are no two rows."""
        return pack([[c] for c in range(self.columns)], self.columns) if len(sets) == 1 and not sets.any() else sets

    def _determining(self, goal: Goal) -> np.ndarray:
        """The sets that determine a side: an order compatibility with such a context says no more than that (HyOD
        section III)."""
        return np.concatenate(
            [other.sets for other in self.first if other.target.left in (goal.target.left, goal.target.right)]
        )

    def rules(self, *, proven: bool) -> tuple[list[Dependency], str]:
        """The laws that the sets stand for, and what there was no time for. ``proven``: all of them; else those that
        are known to hold."""
        minimal: list[tuple[Target, np.ndarray]] = []
        sizes: list[np.ndarray] = [np.zeros(0, np.int64)]
        for goal in (*self.first, *self.second):
            sets = goal.sets  # a search that was left behind may replace them
            if goal.kind not in self.kinds or not len(sets):
                continue
            kept = sets if proven else sets[[s.tobytes() in goal.proven for s in sets]]
            minimal += [(goal.target, columns) for columns in kept]
            sizes.append(np.bitwise_count(kept).sum(axis=1, dtype=np.int64))
        total, ranking = len(minimal), self.deadline.ranking
        # the shortest first, should there be no time for others
        if self.deadline.limited(total) < total or ranking.moment < math.inf:
            shortest = np.argsort(np.concatenate(sizes), kind="stable")[: self.deadline.limited(total)]
            minimal = [minimal[i] for i in shortest.tolist()]
        laws, number = ranking.made(_WRITING, minimal, self._written)
        return laws, self.deadline.left_out(number, total)

    def _written(self, found: Sequence[tuple[Target, np.ndarray]]) -> list[Dependency]:
        columns = unpack(np.array([sets for _, sets in found], np.uint64))
        return [self.rule(target, some) for (target, _), some in zip(found, columns, strict=True)]

    def rule(self, target: Target, columns: Iterable[int]) -> Dependency:
        """The law that a set of columns fulfils a target."""
        context = tuple(self.names[c] for c in columns)
        if target.left < 0:
            return Key(context)
        if target.right < 0:
            return FunctionalDependency(context, self.names[target.left])
        return OrderCompatible(context, self.names[target.left], self.names[target.right], target.descending)
