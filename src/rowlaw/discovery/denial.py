"""All minimal denial constraints of a relation: Hydra (Bleifuss, Kruse, Naumann, PVLDB 2017) as a conversation between search and engine.

Two strategies give the same rules. *pairs*: the evidence of all pairs of distinct rows, and one search over it. *sample*: the
evidence of a sample, a search for the rules that hold on it, and then in rounds: the engine looks for counterexamples to all rules that are
not proven yet, in all the data; each is an edge that refines the search where it stands; until nothing breaks. Nothing
is lost by sampling: a rule that survives is valid, and minimal because each of its parts is refuted by a pair of rows.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np

from rowlaw.discovery.approximate import ASKED_AT_ONCE, Counting, approximate_sets
from rowlaw.discovery.atoms import Atoms
from rowlaw.discovery.bitsets import smallest
from rowlaw.discovery.deadline import Deadline
from rowlaw.discovery.hypergraph import TOO_MANY, Hypergraph
from rowlaw.discovery.search import refine
from rowlaw.discovery.shared import sampled, searched
from rowlaw.engine.engine import Engine
from rowlaw.evidence.evidence import EvidenceSet
from rowlaw.evidence.sample import Sampler
from rowlaw.evidence.tiles import agreeing_pairs, all_pairs, evidence_of_pairs, fold
from rowlaw.progress import Phase, Progress
from rowlaw.rules.implication import is_trivial, minimal
from rowlaw.rules.model import Column, Denial, Op, Predicate
from rowlaw.spark.jobs import Workers, cores

Strategy = Literal["auto", "pairs", "sample"]

PAIRS_PER_SECOND = 3e8  # compared per core, at twelve slots (adult, airport: make bench T=discover-dc)
ALWAYS_PAIRS = 2.0  # seconds of comparing all pairs that need no second thought: sampling and asking would take as long
COUNTEREXAMPLES = 20  # pairs asked for per broken rule and round
COVER_SECONDS = 0.3  # a search refined by the evidence of a column, beside comparing its pairs
SAMPLE_SECONDS = 1e-5  # a row, for sampling
LONG = 1e3  # seconds: nobody knows how long a search takes, so it is taken for long where others could help
COUNTED_SECONDS = 60.0  # of comparing all pairs, beyond which the engine counts what breaks approximate rules
ROUNDS = 2  # times that proving all rules once takes: what takes the place of broken ones is searched for and proven as well
TRIED = 16  # rules asked about to find out how long an answer takes


@dataclass
class Denials:
    """What was found: the minimal rules, one of each exchange, and the evidence behind them."""

    atoms: Atoms
    strategy: str
    why: str
    sets: np.ndarray
    evidence: EvidenceSet
    all_pairs: bool  # whether the evidence is that of all pairs, and its counts exact
    partial: bool = False
    rounds: int = 0
    denials: list[Denial] = field(default_factory=list)


def discover_denials(
    engine: Engine,
    space: tuple[Predicate, ...],
    *,
    error: float = 0.0,
    strategy: Strategy = "auto",
    deadline: Deadline | None = None,
    progress: Progress | None = None,
    seed: int = 0,
) -> Denials:
    """All minimal denial constraints over a predicate space that at most a share ``error`` of the ordered pairs break."""
    run = _Run(engine, Atoms.of(engine.relation, space, engine.nulls), deadline or Deadline(), progress or Progress(quiet=True), seed)
    # with less than two rows there are no pairs, and a share of them means nothing
    found = run.approximate(error, strategy) if error > 0 and engine.relation.rows > 1 else run.exact(strategy)
    found.partial = run.deadline.stopped
    room = run.deadline.room(len(found.sets))
    if room < len(found.sets):
        found.why += f"; no time to list more than the shortest {room:,} of the rules found"
        found.sets = smallest(found.sets, room)
    found.denials = found.atoms.denials(found.sets)
    if not found.atoms.weak:
        found.denials = minimal(found.denials)
    elif any(not p.same_column for p in space):
        found.denials = [d for d in found.denials if not (_crosses(d) and is_trivial(d))]
    return found


def _crosses(denial: Denial) -> bool:
    """Whether comparisons can contradict each other: those of one slot do not, and others lead back to a column only in twos."""
    return sum(not p.same_column for p in denial.predicates) > 1


@dataclass
class Search:
    """All minimal sets of atoms that hit the edges seen so far; one of each two that exchange ``s`` and ``t``."""

    atoms: Atoms
    edges: np.ndarray
    deadline: Deadline
    workers: Workers
    sets: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.sets = searched(self._graph(self.edges), self.deadline, self.workers)

    def refine(self, edges: np.ndarray) -> None:
        """Take new edges into account."""
        known, self.edges = len(self.edges), np.concatenate((self.edges, edges))
        found = refine(self._graph(self.edges), self.sets, known, self._stop, cores())
        if found.complete:
            self.sets = found.sets
        else:  # what was proven among the sets before stays
            self.deadline.stop(TOO_MANY)

    def _graph(self, edges: np.ndarray) -> Hypergraph:
        return Hypergraph(edges, len(self.atoms.predicates), self.atoms.forbidden, self.atoms.exchange)

    def _stop(self) -> bool:
        return self.deadline.passed


@dataclass
class _Run:
    engine: Engine
    atoms: Atoms
    deadline: Deadline
    progress: Progress
    seed: int

    def __post_init__(self) -> None:
        self.slots = self.atoms.slots
        self.folded = fold(self.slots)

    @property
    def pair_seconds(self) -> float:
        """About how long comparing all pairs takes."""
        return self._seconds(len(self.folded.rows) ** 2 / 2)

    def _seconds(self, pairs: float) -> float:
        """About how long comparing so many pairs takes."""
        return pairs * max(1.0, len(self.slots) / 12) / PAIRS_PER_SECOND / cores()

    def exact(self, strategy: Strategy) -> Denials:
        if strategy == "pairs":
            return self.by_pairs("asked for")
        if strategy == "auto" and self.pair_seconds < ALWAYS_PAIRS:
            return self.by_pairs(f"{len(self.folded.rows):,} distinct rows are few")
        with self.progress.phase("sample"):
            rows = self.engine.relation.rows
            evidence = sampled(self.slots, self.seed, self.deadline, self.engine.workers_for(SAMPLE_SECONDS * rows))
        if self.deadline.passed:
            return Denials(self.atoms, "sample", "no time to search", np.zeros((0, self.atoms.words), np.uint64), evidence, all_pairs=False)
        with self.progress.phase("search"):
            search = self._search(evidence)
        each = self._answer_seconds(search) if not self.deadline.passed else 0.0
        if strategy == "sample" or self.deadline.passed:
            return self.by_sample(evidence, search, each, "asked for" if strategy == "sample" else "no time for estimates")
        check = self._check_seconds(search, each)
        sides = f"checking {len(search.sets):,} rules takes about {check:.1f} s, comparing all pairs {self.pair_seconds:.1f} s"
        in_time = self.pair_seconds < min(check, self.deadline.left)
        return self.by_pairs(sides) if in_time else self.by_sample(evidence, search, each, sides)

    def by_pairs(self, why: str) -> Denials:
        with self.progress.phase("evidence"):
            evidence = self._all_pairs()
        sets = np.zeros((0, self.atoms.words), np.uint64)
        with self.progress.phase("search"):
            if not self.deadline.passed:
                sets = self._not_empty(self._search(evidence).sets)
        return Denials(self.atoms, "pairs", why, sets, evidence, all_pairs=True)

    def by_sample(self, evidence: EvidenceSet, search: Search, each: float, why: str) -> Denials:
        """The conversation: ask the engine about all rules not proven yet, learn from what breaks them, until nothing breaks.

        ``each``: seconds that an answer takes.
        """
        proven: set[bytes] = set()
        rounds = 0
        covered: dict[str, np.ndarray] = {}
        with self.progress.phase("complete") as phase:
            while not self.deadline.passed:
                rounds += 1
                self._cover(covered, search, proven, each, phase)
                if self.deadline.passed:  # the pairs of the covered columns may not be in the sets yet
                    break
                sets = self._not_empty(search.sets)
                proven.update(s.tobytes() for s in sets[self._has_any(sets, covered.values())])
                open_sets = sets[[s.tobytes() not in proven for s in sets]]
                if not len(open_sets):
                    break
                began = time.perf_counter()
                broken = self._ask(open_sets, proven, phase)
                each = (time.perf_counter() - began) / len(open_sets)
                if not len(broken):
                    break
                learnt = self._learnt(broken)
                evidence = EvidenceSet.merge([evidence, learnt])
                search.refine(self.atoms.edges(learnt.signatures))
        sets = self._not_empty(search.sets)
        kept = sets[[s.tobytes() in proven for s in sets]]
        return Denials(self.atoms, "sample", why, kept, evidence, all_pairs=False, rounds=rounds)

    def _cover(self, covered: dict[str, np.ndarray], search: Search, proven: set[bytes], each: float, phase: Phase) -> None:
        """Take in all pairs that agree on a column, for columns where that is quicker than asking about every open rule with that equality.

        A pair that breaks a rule with ``s.A = t.A`` agrees on A. So once all such pairs are evidence, every such rule that the search
        still proposes is proven. ``covered`` gets the atoms of these equalities.
        """
        sets = self._not_empty(search.sets)
        sets = sets[[s.tobytes() not in proven for s in sets]]
        learnt = []
        for column in self._worth_covering(sets, covered, each):
            if self.deadline.passed:
                break
            seconds, covered[column] = self._agreeing[column]
            phase.update(phase.done, note=f"pairs that agree on {column}")
            learnt.append(self.atoms.edges(agreeing_pairs(self.slots, column, self.folded, self.engine.workers_for(seconds))))
        if learnt:
            search.refine(np.unique(np.concatenate(learnt), axis=0))

    def _worth_covering(self, sets: np.ndarray, covered: Mapping[str, np.ndarray], each: float) -> list[str]:
        """Further columns whose pairs are compared more quickly than rules are asked about that only they cover."""
        found: list[str] = []
        left = sets[~self._has_any(sets, covered.values())]
        for column, (seconds, atoms) in self._agreeing.items():
            mine = self._has_any(left, [atoms])
            if column not in covered and COVER_SECONDS + seconds < np.count_nonzero(mine) * each:
                found.append(column)
                left = left[~mine]
        return found

    @cached_property
    def _agreeing(self) -> dict[str, tuple[float, np.ndarray]]:
        """For each column, quickest first, about how long comparing all pairs that agree on it takes, and the atoms of its equality."""
        found = {}
        for i, slot in enumerate(self.slots.slots):
            if isinstance(slot.right, Column) and slot.left.name == slot.right.name:
                equal = [int(v) for v in np.flatnonzero(self.atoms.slot == i) if self.atoms.predicates[v].op & Op.EQ]
                sizes = np.bincount(self.engine.relation.codes(slot.left.name) + 1).astype(np.float64)
                found[slot.left.name] = (self._seconds(float(sizes @ sizes) / 2), self.atoms.pack([equal])[0])
        return dict(sorted(found.items(), key=lambda item: item[1][0]))

    def _has_any(self, sets: np.ndarray, all_of: Iterable[np.ndarray]) -> np.ndarray:
        """Which sets have all atoms of at least one line."""
        found = np.zeros(len(sets), bool)
        for line in all_of:
            found |= ((sets & line) == line).all(axis=1)
        return found

    def approximate(self, error: float, strategy: Strategy) -> Denials:
        rows = self.engine.relation.rows
        # the count of pairs that a share allows, as the comparison "violations / pairs <= error" has it in floats
        budget = int(error * rows * (rows - 1))
        while (budget + 1) / (rows * (rows - 1)) <= error:
            budget += 1
        while budget and budget / (rows * (rows - 1)) > error:
            budget -= 1
        if strategy == "sample" or (strategy == "auto" and self.pair_seconds > COUNTED_SECONDS):
            return self._approximate_by_counting(budget, "asked for" if strategy == "sample" else f"all {rows:,} rows have too many pairs")
        with self.progress.phase("evidence"):
            evidence = self._all_pairs()
        with self.progress.phase("search"):
            sets = self.atoms.consistent(approximate_sets(self.atoms, evidence, budget, self.deadline))
        why = "errors are counted over all pairs"
        return Denials(self.atoms, "pairs", why, self.atoms.one_of_each(self._not_empty(sets)), evidence, all_pairs=True)

    def _approximate_by_counting(self, budget: int, why: str) -> Denials:
        with self.progress.phase("sample"):
            sampler = Sampler(self.slots, self.seed)
            sampler.random()
            evidence = sampler.evidence
        search = Search(self.atoms, np.zeros((0, self.atoms.words), np.uint64), self.deadline, self.engine.workers_for(LONG, on_rows=False))

        def propose(edges: np.ndarray) -> np.ndarray:
            search.refine(np.unique(np.concatenate((edges, self.atoms.exchanged(edges))), axis=0))
            return self._not_empty(search.sets)

        with self.progress.phase("complete") as phase:
            counting = Counting(self.engine, self.atoms, evidence, budget, self.deadline)
            sets = counting.run(propose, lambda good, asked: phase.update(good, note=f"{asked:,} rules asked about"))
        return Denials(self.atoms, "sample", why, sets, evidence, all_pairs=False)

    def _all_pairs(self) -> EvidenceSet:
        return all_pairs(self.slots, workers=self.engine.workers_for(self.pair_seconds))

    def _search(self, evidence: EvidenceSet) -> Search:
        edges = self.atoms.edges(evidence.signatures)
        if self.engine.relation.rows == 1:
            edges = np.concatenate((edges, self._edges_of_one_row()))
        return Search(self.atoms, edges, self.deadline, self.engine.workers_for(LONG, on_rows=False))

    def _edges_of_one_row(self) -> np.ndarray:
        """A single row is in no pair, but can break a rule about single rows: such a rule needs an atom that the row does not satisfy."""
        own = ~self.atoms.unpack(self.atoms.edges(evidence_of_pairs(self.slots, np.zeros(1, np.int64), np.zeros(1, np.int64))))[0]
        edges = []
        for row in ("s", "t"):
            about = np.array([p.rows == {row} for p in self.atoms.predicates], bool)
            edges.append(np.flatnonzero(~(about & own)))
        return self.atoms.pack(edges)

    def _not_empty(self, sets: np.ndarray) -> np.ndarray:
        """Where nothing speaks against anything even the empty set hits all: then every atom alone is a minimal rule."""
        if len(sets) == 1 and not sets.any():
            return self.atoms.one_of_each(self.atoms.pack([[v] for v in range(len(self.atoms.predicates))]))
        return sets

    def _check_seconds(self, search: Search, each: float) -> float:
        """About how long proving all rules takes, some by covering columns, the others by asking."""
        sets = self._not_empty(search.sets)
        columns = self._worth_covering(sets, {}, each)
        asked = ~self._has_any(sets, [self._agreeing[column][1] for column in columns])
        once = sum(COVER_SECONDS + self._agreeing[column][0] for column in columns) + float(np.count_nonzero(asked)) * each
        return ROUNDS * once

    def _answer_seconds(self, search: Search) -> float:
        """About how long asking the engine about a rule takes, judged by asking about a few of them."""
        sets = self._not_empty(search.sets)
        some = sets[:: max(1, len(sets) // TRIED)][:TRIED]
        self.engine.counterexamples(self.atoms.denials(some[:2]), COUNTEREXAMPLES)  # the first questions pay for compilation
        began = time.perf_counter()
        self.engine.counterexamples(self.atoms.denials(some), COUNTEREXAMPLES)
        return (time.perf_counter() - began) / max(1, len(some))

    def _ask(self, sets: np.ndarray, proven: set[bytes], phase: Phase) -> np.ndarray:
        """Pairs that break rules not proven yet; rules that none breaks are proven. In portions, so that a deadline is heard."""
        broken = []
        for start in range(0, len(sets), ASKED_AT_ONCE):
            if self.deadline.passed:
                break
            some = sets[start : start + ASKED_AT_ONCE]
            for s, pairs in zip(some, self.engine.counterexamples(self.atoms.denials(some), COUNTEREXAMPLES), strict=True):
                if len(pairs):
                    broken.append(pairs)
                else:
                    proven.add(s.tobytes())
            phase.update(start + len(some), len(sets), f"{len(proven):,} rules proven")
        return np.concatenate(broken) if broken else np.zeros((0, 2), np.int32)

    def _learnt(self, pairs: np.ndarray) -> EvidenceSet:
        """The evidence of pairs, in both directions. A row that breaks a rule about single rows does so beside any other row."""
        s, t = pairs[:, 0], np.where(pairs[:, 0] == pairs[:, 1], (pairs[:, 0] + 1) % self.engine.relation.rows, pairs[:, 1])
        one_way = evidence_of_pairs(self.slots, s, t)
        both = np.concatenate((one_way, self.slots.reverse(one_way)))
        return EvidenceSet.of(both, np.ones(len(both), np.int64))
