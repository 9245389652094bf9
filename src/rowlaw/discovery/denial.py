"""All minimal denial constraints of a relation: Hydra (Bleifuss, Kruse, Naumann, PVLDB 2017) as a conversation between
search and engine.

Three strategies give the same rules. *pairs*: the evidence of all pairs of distinct rows, and one search over it.
*sample*: the evidence of a sample, a search for the rules that hold on it, and then in rounds: the engine looks for
counterexamples to all rules that are not proven yet, in all the data; each is an edge that refines the search where it
stands; until nothing breaks. Nothing is lost by sampling: a rule that survives is valid, and minimal because each of
its parts is refuted by a pair of rows. *hydra*: as published, with one round in which all violating pairs are listed
(see :mod:`rowlaw.discovery.hydra`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np

from rowlaw.deadline import Deadline
from rowlaw.discovery.approximate import ASKED_AT_ONCE, Counting, approximate_sets
from rowlaw.discovery.atoms import Atoms
from rowlaw.discovery.hydra import Completion, published_sample
from rowlaw.discovery.shared import sampled, searched
from rowlaw.discovery.trivial import trivial_sets
from rowlaw.discovery.vacuous import sets_not_vacuous
from rowlaw.engine.protocol import DiscoveryEngine
from rowlaw.errors import RowlawError
from rowlaw.evidence.evidence import EvidenceSet
from rowlaw.evidence.sample import SampleOptions, Sampler
from rowlaw.evidence.slots import Slots
from rowlaw.evidence.tiles import (
    QUICK_ROWS,
    agreeing_pairs,
    all_pairs,
    evidence_of_pairs,
    evidence_of_violations,
    fold,
)
from rowlaw.progress import Phase, Progress
from rowlaw.relation.known import KnownRows
from rowlaw.relation.pairs import Pairs
from rowlaw.rules.implication import minimal
from rowlaw.rules.model import Column, Denial, Op, Predicate
from rowlaw.rules.wording import counted
from rowlaw.search.bitsets import distinct, smallest
from rowlaw.search.hypergraph import TOO_MANY, Hypergraph
from rowlaw.search.search import refine
from rowlaw.spark.jobs import Workers, cores, finished
from rowlaw.stopping import Stopped

Strategy = Literal["auto", "pairs", "sample", "hydra"]

PAIRS_PER_SECOND = 3e8  # compared per core, at twelve slots (adult, airport: make bench T=discover-dc)
ALWAYS_PAIRS = 2.0  # seconds of comparing all pairs that need no second thought: sampling and asking would take as long
COUNTEREXAMPLES = 20  # pairs asked for per broken rule and round
COVER_SECONDS = 0.3  # a search refined by the evidence of a column, beside comparing its pairs
SAMPLE_SECONDS = 1e-5  # a row, for sampling
LONG = 1e3  # seconds: the time of a search is unknown, so it counts as long where workers could help
COUNTED_SECONDS = 60.0  # of comparing all pairs, beyond which the engine counts what breaks approximate rules
# times that proving all rules once takes: what takes the place of broken ones is searched for and proven as well
ROUNDS = 2
PORTION_SECONDS = 2.0  # of asking about rules at once, where time is limited
WRITING = 0.4  # of the time for ranking, for writing sets of atoms as rules
RULES_PER_LOOK = 1 << 12  # rules written between two looks at the clock: about 20 ms
QUICK_RULES = 500  # of which the minimal ones are found in no time
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
    engine: DiscoveryEngine,
    space: tuple[Predicate, ...],
    *,
    error: float = 0.0,
    strategy: Strategy = "auto",
    deadline: Deadline | None = None,
    progress: Progress | None = None,
    sample: SampleOptions | None = None,
) -> Denials:
    """All minimal denial constraints over a predicate space that at most a share ``error`` of the ordered pairs break.

    ``denials`` has those that some rows could break, ``sets`` the others too.
    """
    limit = deadline or Deadline()
    atoms = Atoms.of(engine.sample(), (), engine.nulls)
    run = _Run(engine, atoms, limit, progress or Progress(quiet=True), sample or SampleOptions())
    if error and strategy == "hydra":  # it has no rules with exceptions
        strategy = "auto"
    with limit.watched():
        try:
            run.begin(space)
            # with less than two rows there are no pairs, and a share of them means nothing
            denials = run.approximate(error, strategy) if error > 0 and engine.rows > 1 else run.exact(strategy)
        except Stopped:
            denials = run.nothing()
    denials.partial = limit.stopped
    _write(denials, limit, engine.known_rows)
    return denials


def _write(found: Denials, deadline: Deadline, known: KnownRows) -> None:
    """Write the sets as rules; when time is up, or would be, only the shortest."""
    atoms, total = found.atoms, len(found.sets)
    sets = smallest(found.sets, deadline.limited(total))
    if deadline.ranking.moment < math.inf:  # the shortest first, should there be no time for others
        sets = sets[np.argsort(np.bitwise_count(sets).sum(axis=1, dtype=np.int64), kind="stable")]

    def written(some: Sequence[np.ndarray]) -> list[Denial]:
        portion = np.asarray(some)
        portion = portion[sets_not_vacuous(atoms.slots.slots, atoms.accepted(portion), known)]
        return atoms.denials(portion[~trivial_sets(atoms, portion)] if atoms.weak else portion)

    items: Any = sets  # to a type checker an array is no sequence
    found.denials, number = deadline.ranking.made(WRITING, items, written, RULES_PER_LOOK)
    found.sets = sets[:number]
    if not atoms.weak:
        try:
            found.denials = finished(lambda: minimal(found.denials), deadline.ranking)
        except Stopped:
            found.denials = minimal(found.denials[:QUICK_RULES])
            number = min(number, QUICK_RULES)
    if number < total:
        found.partial = True
        found.why += deadline.left_out(number, total)


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
        graph, sets = self._graph(self.edges), self.sets
        try:
            refined = finished(lambda: refine(graph, sets, known, self.deadline, cores()), self.deadline)
        except Stopped:  # what was proven among the sets before stays
            return
        if refined.complete:
            self.sets = refined.sets
        else:
            self.deadline.stop(TOO_MANY)

    def _graph(self, edges: np.ndarray) -> Hypergraph:
        return Hypergraph(edges, len(self.atoms.predicates), self.atoms.forbidden, self.atoms.exchange)


@dataclass
class _Run:
    engine: DiscoveryEngine
    atoms: Atoms
    deadline: Deadline
    progress: Progress
    sample: SampleOptions
    search: Search | None = None  # the one that found the rules

    def begin(self, space: tuple[Predicate, ...]) -> None:
        """Bring compared columns on common scales, and find the distinct rows."""
        sample = self.engine.sample()
        quick = sample.rows <= QUICK_ROWS
        self.atoms = finished(lambda: Atoms.of(sample, space, self.engine.nulls), self.deadline, quick=quick)
        self.folded = finished(lambda: fold(self.slots), self.deadline, quick=quick)

    @property
    def slots(self) -> Slots:
        return self.atoms.slots

    def nothing(self) -> Denials:
        """No rules: time was up before anything could be proven."""
        none = np.zeros((0, self.slots.words), np.uint64)
        evidence = EvidenceSet.of(none, np.zeros(0, np.int64))
        return Denials(self.atoms, "sample", "no time to search", self._no_sets, evidence, all_pairs=False)

    @property
    def _no_sets(self) -> np.ndarray:
        return np.zeros((0, self.atoms.words), np.uint64)

    @property
    def pair_seconds(self) -> float:
        """About how long comparing all pairs takes."""
        return self._seconds(len(self.folded.rows) ** 2 / 2)

    def _seconds(self, pairs: float) -> float:
        """About how long comparing so many pairs takes."""
        return pairs * max(1.0, len(self.slots) / 12) / PAIRS_PER_SECOND / cores()

    def exact(self, strategy: Strategy) -> Denials:
        if not self.engine.sample_is_whole:
            return self.by_validation(strategy)
        if strategy == "pairs":
            return self.by_pairs("asked for")
        if strategy == "hydra":
            return self.by_hydra()
        if strategy == "auto" and self.pair_seconds < ALWAYS_PAIRS:
            return self.by_pairs(f"comparing all pairs of {counted(len(self.folded.rows), 'distinct row')} is quick")
        with self.progress.phase("sample"):
            rows = self.engine.rows
            evidence = sampled(self.slots, self.sample, self.deadline, self.engine.workers_for(SAMPLE_SECONDS * rows))
        self.deadline.check()
        with self.progress.phase("search"):
            search = self._search(evidence)
        each = self._answer_seconds(search) if not self.deadline.passed else 0.0
        if strategy == "sample" or self.deadline.passed:
            return self.by_sample(
                evidence, search, each, "asked for" if strategy == "sample" else "no time for estimates"
            )
        check = self._check_seconds(search, each)
        sides = (
            f"checking {len(search.sets):,} rules takes about {check:.1f} s, comparing all pairs "
            f"{self.pair_seconds:.1f} s"
        )
        in_time = self.pair_seconds < min(check, self.deadline.left)
        return self.by_pairs(sides) if in_time else self.by_sample(evidence, search, each, sides)

    def by_pairs(self, why: str) -> Denials:
        with self.progress.phase("evidence"):
            evidence = self._all_pairs()
        with self.progress.phase("search"):
            self.search = self._search(evidence)
        return Denials(self.atoms, "pairs", why, self._not_empty(self.search.sets), evidence, all_pairs=True)

    def by_validation(self, strategy: Strategy) -> Denials:
        """All rules of the sample first, then the conversation about all rows: what the sample refutes is never asked
        about."""
        if strategy not in ("auto", "sample"):
            problem = "the table is larger than what this process may hold; use auto"
            raise RowlawError("BAD_OPTION", option="strategy", value=strategy, problem=problem)
        on_sample = _Run(self.engine.on_sample, self.atoms, self.deadline, self.progress, self.sample)
        on_sample.folded = self.folded
        preliminary = on_sample.exact("auto")
        if on_sample.search is None or self.deadline.passed:
            return self.nothing()
        why = f"rules of {self.engine.sample().rows:,} rows are validated on all {self.engine.rows:,}"
        return self.by_sample(preliminary.evidence, on_sample.search, 0.0, why)

    def by_hydra(self) -> Denials:
        """Hydra as published: sample, search, list all violating pairs of what was found, and search again."""
        with self.progress.phase("sample"):
            evidence = published_sample(self.slots, self.sample, self.deadline)
        sets = np.zeros((0, self.atoms.words), np.uint64)
        with self.progress.phase("search"):
            if not self.deadline.passed:
                sets = self._not_empty(self._search(evidence).sets)
        with self.progress.phase("complete") as phase:
            completion = Completion(self.engine, self.atoms, self.deadline, phase)
            sets_that_hold = sets[completion.run(sets)]
        if completion.finished:
            violations = completion.evidence.signatures
            evidence = EvidenceSet.merge([evidence, EvidenceSet.of(violations, np.ones(len(violations), np.int64))])
            with self.progress.phase("search"):
                sets = self._not_empty(self._search(evidence).sets)
        else:
            sets = sets_that_hold
        return Denials(self.atoms, "hydra", "asked for", sets, evidence, all_pairs=False, rounds=1)

    def by_sample(self, evidence: EvidenceSet, search: Search, each: float, why: str) -> Denials:
        """The conversation: ask the engine about all rules not proven yet, learn from what breaks them, until nothing
        breaks.

        ``each``: seconds that an answer takes.
        """
        proven: set[bytes] = set()
        rounds = 0
        covered: dict[str, np.ndarray] = {}
        self.search = search
        with self.progress.phase("complete") as phase:
            while not self.deadline.passed:
                rounds += 1
                if self.engine.sample_is_whole:
                    self._cover(covered, search, proven, each, phase)
                if self.deadline.passed:  # the pairs of the covered columns may not be in the sets yet
                    break
                sets = self._not_empty(search.sets)
                proven.update(s.tobytes() for s in sets[self._has_any(sets, covered.values())])
                open_sets = sets[[s.tobytes() not in proven for s in sets]]
                if not len(open_sets):
                    break
                began = time.perf_counter()
                broken = self._ask(open_sets, proven, each, phase)
                each = (time.perf_counter() - began) / len(open_sets)
                if not len(broken) or self.deadline.passed:
                    break
                learnt = EvidenceSet.merge([evidence_of_violations(self.slots, pairs) for pairs in broken])
                evidence = EvidenceSet.merge([evidence, learnt])
                search.refine(self.atoms.edges(learnt.signatures))
        sets = self._not_empty(search.sets)
        kept = sets[[s.tobytes() in proven for s in sets]]
        return Denials(self.atoms, "sample", why, kept, evidence, all_pairs=False, rounds=rounds)

    def _cover(
        self, covered: dict[str, np.ndarray], search: Search, proven: set[bytes], each: float, phase: Phase
    ) -> None:
        """Take in all pairs that agree on a column, for columns where that is quicker than asking about every open rule
        with that equality.

        A pair that breaks a rule with ``s.A = t.A`` agrees on A. So once all such pairs are evidence, every such rule
        that the search still proposes is proven. ``covered`` gets the atoms of these equalities.
        """
        sets = self._not_empty(search.sets)
        sets = sets[[s.tobytes() not in proven for s in sets]]
        learnt = []
        with suppress(Stopped):  # the caller looks at the deadline, and trusts in nothing that was covered
            for column in self._worth_covering(sets, covered, each):
                self.deadline.check()
                seconds, covered[column] = self._agreeing[column]
                phase.update(phase.done, note=f"pairs that agree on {column}")
                workers = self.engine.workers_for(seconds)
                learnt.append(agreeing_pairs(self.slots, column, self.folded, workers, stop=self.deadline))
            if learnt:
                search.refine(finished(lambda: distinct(self.atoms.edges(np.concatenate(learnt))), self.deadline))

    def _worth_covering(self, sets: np.ndarray, covered: Mapping[str, np.ndarray], each: float) -> list[str]:
        """Further columns whose pairs are compared more quickly than rules are asked about that only they cover."""
        worthwhile: list[str] = []
        left = sets[~self._has_any(sets, covered.values())]
        for column, (seconds, atoms) in self._agreeing.items():
            mine = self._has_any(left, [atoms])
            if column not in covered and COVER_SECONDS + seconds < np.count_nonzero(mine) * each:
                worthwhile.append(column)
                left = left[~mine]
        return worthwhile

    @cached_property
    def _agreeing(self) -> dict[str, tuple[float, np.ndarray]]:
        """For each column, quickest first, about how long comparing all pairs that agree on it takes, and the atoms of
        its equality."""
        by_column = {}
        for i, slot in enumerate(self.slots.slots):
            if isinstance(slot.right, Column) and slot.left.name == slot.right.name:
                equal = [int(v) for v in np.flatnonzero(self.atoms.slot == i) if self.atoms.predicates[v].op & Op.EQ]
                pairs = self.engine.statistics.agreeing_pairs(slot.left.name)
                by_column[slot.left.name] = (self._seconds(pairs), self.atoms.pack([equal])[0])
        return dict(sorted(by_column.items(), key=lambda item: item[1][0]))

    def _has_any(self, sets: np.ndarray, all_of: Iterable[np.ndarray]) -> np.ndarray:
        """Which sets have all atoms of at least one line."""
        has_any = np.zeros(len(sets), bool)
        for line in all_of:
            has_any |= ((sets & line) == line).all(axis=1)
        return has_any

    def approximate(self, error: float, strategy: Strategy) -> Denials:
        rows = self.engine.rows
        # the count of pairs that a share allows, as the comparison "violations / pairs <= error" has it in floats
        budget = int(error * rows * (rows - 1))
        while (budget + 1) / (rows * (rows - 1)) <= error:
            budget += 1
        while budget and budget / (rows * (rows - 1)) > error:
            budget -= 1
        counted = strategy == "sample" or not self.engine.sample_is_whole
        if counted or (strategy == "auto" and self.pair_seconds > COUNTED_SECONDS):
            return self._approximate_by_counting(
                budget, "asked for" if strategy == "sample" else f"all {rows:,} rows have too many pairs"
            )
        with self.progress.phase("evidence"):
            evidence = self._all_pairs()
        with self.progress.phase("search"):
            sets = self.atoms.consistent(
                finished(lambda: approximate_sets(self.atoms, evidence, budget, self.deadline), self.deadline)
            )
        why = "errors are counted over all pairs"
        return Denials(
            self.atoms, "pairs", why, self.atoms.one_of_each(self._not_empty(sets)), evidence, all_pairs=True
        )

    def _approximate_by_counting(self, budget: int, why: str) -> Denials:
        with self.progress.phase("sample"):
            evidence = finished(self._random_pairs, self.deadline)
        search = Search(
            self.atoms,
            np.zeros((0, self.atoms.words), np.uint64),
            self.deadline,
            self.engine.workers_for(LONG, on_rows=False),
        )

        def propose(edges: np.ndarray) -> np.ndarray:
            search.refine(np.unique(np.concatenate((edges, self.atoms.exchanged(edges))), axis=0))
            return self._not_empty(search.sets)

        with self.progress.phase("complete") as phase:
            counting = Counting(self.engine, self.atoms, evidence, budget, self.deadline)
            sets = counting.run(propose, lambda good, asked: phase.update(good, note=f"{asked:,} rules asked about"))
        return Denials(self.atoms, "sample", why, sets, evidence, all_pairs=False)

    def _random_pairs(self) -> EvidenceSet:
        sampler = Sampler(self.slots, self.sample)
        sampler.random(stop=self.deadline)
        return sampler.evidence

    def _all_pairs(self) -> EvidenceSet:
        return all_pairs(self.slots, workers=self.engine.workers_for(self.pair_seconds), stop=self.deadline)

    def _search(self, evidence: EvidenceSet) -> Search:
        edges = finished(lambda: self.atoms.edges(evidence.signatures), self.deadline)
        if self.engine.rows == 1:
            edges = np.concatenate((edges, self._edges_of_one_row()))
        return Search(self.atoms, edges, self.deadline, self.engine.workers_for(LONG, on_rows=False))

    def _edges_of_one_row(self) -> np.ndarray:
        """A single row is in no pair, but can break a rule about single rows: such a rule needs an atom that the row
        does not satisfy."""
        own = ~self.atoms.unpack(
            self.atoms.edges(evidence_of_pairs(self.slots, np.zeros(1, np.int64), np.zeros(1, np.int64)))
        )[0]
        edges = []
        for row in ("s", "t"):
            about = np.array([p.rows == {row} for p in self.atoms.predicates], bool)
            edges.append(np.flatnonzero(~(about & own)))
        return self.atoms.pack(edges)

    def _not_empty(self, sets: np.ndarray) -> np.ndarray:
        """Where nothing speaks against anything even the empty set hits all: then every atom alone is a minimal
        rule."""
        if len(sets) == 1 and not sets.any():
            return self.atoms.one_of_each(self.atoms.pack([[v] for v in range(len(self.atoms.predicates))]))
        return sets

    def _check_seconds(self, search: Search, each: float) -> float:
        """About how long proving all rules takes, some by covering columns, the others by asking."""
        sets = self._not_empty(search.sets)
        columns = self._worth_covering(sets, {}, each)
        asked = ~self._has_any(sets, [self._agreeing[column][1] for column in columns])
        once = (
            sum(COVER_SECONDS + self._agreeing[column][0] for column in columns) + float(np.count_nonzero(asked)) * each
        )
        return ROUNDS * once

    def _answer_seconds(self, search: Search) -> float:
        """About how long asking the engine about a rule takes, judged by asking about a few of them."""
        sets = self._not_empty(search.sets)
        some = sets[:: max(1, len(sets) // TRIED)][:TRIED]
        # the first questions pay for compilation
        self.engine.counterexamples(self.atoms.denials(some[:2]), COUNTEREXAMPLES, stop=self.deadline)
        began = time.perf_counter()
        self.engine.counterexamples(self.atoms.denials(some), COUNTEREXAMPLES, stop=self.deadline)
        return (time.perf_counter() - began) / max(1, len(some))

    def _ask(self, sets: np.ndarray, proven: set[bytes], each: float, phase: Phase) -> list[Pairs]:
        """Pairs that break rules not proven yet; rules that none breaks are proven. In portions, so that a deadline is
        heard.

        ``each``: seconds that an answer takes, as far as is known.
        """
        broken = []
        # elsewhere every question is a few jobs
        portion = ASKED_AT_ONCE if self.engine.sample_is_whole else max(1, len(sets))
        if self.deadline.moment < math.inf and each > 0:  # what is asked at once may all be in vain
            portion = max(1, min(portion, int(PORTION_SECONDS / each)))
        for start in range(0, len(sets), portion):
            if self.deadline.passed:
                break
            some = sets[start : start + portion]
            answers = self.engine.counterexamples(self.atoms.denials(some), COUNTEREXAMPLES, stop=self.deadline)
            for s, pairs in zip(some, answers, strict=True):
                if pairs is None:
                    self.deadline.request()  # the clock of a worker may be ahead of ours
                elif len(pairs):
                    broken.append(pairs)
                else:
                    proven.add(s.tobytes())
            phase.update(start + len(some), len(sets), f"{len(proven):,} rules proven")
        return Pairs.merge(broken)
