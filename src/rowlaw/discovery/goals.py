"""Keys, functional dependencies and order compatibilities as goals: each asks for the minimal sets of columns that hit all its edges."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import combinations, islice

import numpy as np

from rowlaw.discovery.bitsets import pack, unpack, word_count
from rowlaw.discovery.deadline import Deadline
from rowlaw.discovery.hypergraph import TOO_MANY, Hypergraph
from rowlaw.discovery.search import minimal_hitting_sets
from rowlaw.discovery.together import Dependency
from rowlaw.engine.contexts import Target
from rowlaw.kernels.differences import holds_any
from rowlaw.rules.model import FunctionalDependency, Key, Kind, OrderCompatible, Rule
from rowlaw.spark.jobs import DriverThreads

# A counterexample refutes many laws, so few of each goal are asked about while most break. Goals of the first sort are few.
PORTION, FIRST_PORTION = 4, 64
LARGER = 8  # times the portion, once most hold


@dataclass
class Dependencies:
    """What was found, all of it minimal, and how."""

    rules: list[Dependency]
    strategy: str
    why: str
    partial: bool = False
    rounds: int = 0
    errors: dict[Rule, float] = field(default_factory=dict)  # g3 of approximate rules


@dataclass
class Goal:
    """A target, the edges seen so far (where upkeep keeps them), and the minimal sets of columns that hit them.

    ``proven``: those known to hold on all rows."""

    target: Target
    edges: np.ndarray
    sets: np.ndarray
    proven: set[bytes] = field(default_factory=set)
    searched: bytes = b""  # a digest of the edges that the sets are all of: those of wide tables take too much memory to be kept
    portion: int = PORTION  # sets to ask about at once

    @property
    def kind(self) -> Kind:
        return "key" if self.target.left < 0 else "fd" if self.target.right < 0 else "od"

    def answered(self, held: int, broken: int) -> None:
        """How many sets of the last portion turned out to hold and not to."""
        if held > broken:
            self.portion *= LARGER

    def open(self, most: int | None = None) -> list[tuple[bytes, tuple[int, ...]]]:
        """Sets that are not proven yet, up to ``most``: their names and their columns."""
        new = list(islice((i for i, s in enumerate(self.sets) if s.tobytes() not in self.proven), most))
        some = self.sets[new]
        return [(s.tobytes(), tuple(columns)) for s, columns in zip(some, unpack(some), strict=True)]


class Goals:
    """All goals for some kinds of laws: ``first`` those for keys and functional dependencies, ``second`` those for order
    compatibilities, which need the former to be known."""

    def __init__(self, names: Sequence[str], kinds: frozenset[Kind], deadline: Deadline) -> None:
        self.names = tuple(names)
        self.kinds = kinds
        self.deadline = deadline
        self.columns = len(names)
        self.words = word_count(self.columns)
        self.first = [self._goal(Target())] if "key" in kinds else []
        if kinds & {"fd", "od"}:
            self.first += [self._goal(Target(a)) for a in range(self.columns)]
        pairs = combinations(range(self.columns), 2) if "od" in kinds else ()
        self.second = [self._goal(Target(a, b, down)) for a, b in pairs for down in (False, True)]
        for goal in self.first:
            goal.portion = FIRST_PORTION

    def _goal(self, target: Target) -> Goal:
        return Goal(target, np.zeros((0, self.words), np.uint64), np.zeros((0, self.words), np.uint64))

    def search(self, goals: Sequence[Goal], edges_of: Callable[[Target], np.ndarray]) -> None:
        """All minimal sets for goals that have new edges. These are made one goal after the other: of a wide table there are many."""

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
            found = minimal_hitting_sets(Hypergraph(edges, self.columns), lambda: self.deadline.passed)
            if not found.complete:
                self.deadline.stop(TOO_MANY)
            if goal.searched and not found.complete:  # time is up: what was proven among the sets before stays
                return
            goal.searched = seen if found.complete else b""
            goal.sets = self._not_empty(found.sets) if goal.kind == "key" else found.sets
            goal.sets = goal.sets[~holds_any(goal.sets, determining)]

        DriverThreads().map(search, goals, "search")

    def _not_empty(self, sets: np.ndarray) -> np.ndarray:
        """A key has a column, even where there are no two rows."""
        return pack([[c] for c in range(self.columns)], self.columns) if len(sets) == 1 and not sets.any() else sets

    def _determining(self, goal: Goal) -> np.ndarray:
        """The sets that determine a side: an order compatibility with such a context says no more than that (HyOD section III)."""
        return np.concatenate([other.sets for other in self.first if other.target.left in (goal.target.left, goal.target.right)])

    def rules(self, *, proven: bool) -> list[Dependency]:
        """The laws that the sets stand for. ``proven``: all of them; else those that are known to hold."""
        found: list[Dependency] = []
        for goal in (*self.first, *self.second):
            if goal.kind not in self.kinds or not len(goal.sets):
                continue
            kept = goal.sets if proven else goal.sets[[s.tobytes() in goal.proven for s in goal.sets]]
            for columns in unpack(kept):
                found.append(self.rule(goal.target, columns))
        return found

    def rule(self, target: Target, columns: Iterable[int]) -> Dependency:
        """The law that a set of columns fulfils a target."""
        context = tuple(self.names[c] for c in columns)
        if target.left < 0:
            return Key(context)
        if target.right < 0:
            return FunctionalDependency(context, self.names[target.left])
        return OrderCompatible(context, self.names[target.left], self.names[target.right], target.descending)
