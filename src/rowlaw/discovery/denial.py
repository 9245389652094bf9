"""All minimal denial constraints of a relation: Hydra (Bleifuss, Kruse, Naumann, PVLDB 2017) as a conversation between
search and engine.

Three strategies give the same rules. *pairs*: the evidence of all pairs of distinct rows, and one search over it.
*sample*: the evidence of a sample, a search for the rules that hold on it, and then their validation on all rows (see
:mod:`rowlaw.discovery.validation`). Nothing is lost by sampling: a rule that survives is valid, and minimal because
each of its parts is refuted by a pair of rows. *hydra*: as published, with one round in which all violating pairs are
listed (see :mod:`rowlaw.discovery.hydra`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from rowlaw.deadline import Deadline
from rowlaw.discovery.approximate import Counting, approximate_sets, pairs_allowed
from rowlaw.discovery.atoms import Atoms
from rowlaw.discovery.hydra import Completion, published_sample
from rowlaw.discovery.shared import sampled
from rowlaw.discovery.trivial import trivial_sets
from rowlaw.discovery.vacuous import sets_not_vacuous
from rowlaw.discovery.validation import Search, Validation, pair_seconds
from rowlaw.engine.protocol import DiscoveryEngine
from rowlaw.errors import RowlawError
from rowlaw.evidence.evidence import EvidenceSet
from rowlaw.evidence.sample import SampleOptions, Sampler
from rowlaw.evidence.slots import Slots
from rowlaw.evidence.tiles import (
    QUICK_ROWS,
    all_pairs,
    evidence_of_pairs,
    fold,
)
from rowlaw.progress import Progress
from rowlaw.relation.known import KnownRows
from rowlaw.rules.implication import minimal
from rowlaw.rules.model import Denial, Predicate
from rowlaw.rules.wording import counted
from rowlaw.search.bitsets import smallest
from rowlaw.spark.jobs import finished
from rowlaw.stopping import Stopped

Strategy = Literal["auto", "pairs", "sample", "hydra"]

ALWAYS_PAIRS = 2.0  # seconds of comparing all pairs that need no second thought: sampling and asking would take as long
_SAMPLE_SECONDS = 1e-5  # a row, for sampling
_LONG = 1e3  # seconds: the time of a search is unknown, so it counts as long where workers could help
_COUNTED_SECONDS = 60.0  # of comparing all pairs, beyond which the engine counts what breaks approximate rules
_WRITING = 0.4  # of the time for ranking, for writing sets of atoms as rules
RULES_PER_LOOK = 1 << 12  # rules written between two looks at the clock: about 20 ms
_QUICK_RULES = 500  # of which the minimal ones are found in no time


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
    found.denials, number = deadline.ranking.made(_WRITING, items, written, RULES_PER_LOOK)
    found.sets = sets[:number]
    if not atoms.weak:
        try:
            found.denials = finished(lambda: minimal(found.denials), deadline.ranking)
        except Stopped:
            found.denials = minimal(found.denials[:_QUICK_RULES])
            number = min(number, _QUICK_RULES)
    if number < total:
        found.partial = True
        found.why += deadline.left_out(number, total)


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
        return pair_seconds(self.slots, len(self.folded.rows) ** 2 / 2)

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
            evidence = sampled(self.slots, self.sample, self.deadline, self.engine.workers_for(_SAMPLE_SECONDS * rows))
        self.deadline.check()
        with self.progress.phase("search"):
            search = self._search(evidence)
        validation = Validation(self.engine, search, self.folded)
        if not self.deadline.passed:
            validation.try_answers()
        if strategy == "sample" or self.deadline.passed:
            why = "asked for" if strategy == "sample" else "no time for estimates"
            return self.by_sample(evidence, validation, why)
        seconds = validation.seconds()
        why = (
            f"checking {len(search.sets):,} rules takes about {seconds:.1f} s, comparing all pairs "
            f"{self.pair_seconds:.1f} s"
        )
        in_time = self.pair_seconds < min(seconds, self.deadline.left)
        return self.by_pairs(why) if in_time else self.by_sample(evidence, validation, why)

    def by_pairs(self, why: str) -> Denials:
        with self.progress.phase("evidence"):
            evidence = self._all_pairs()
        with self.progress.phase("search"):
            self.search = self._search(evidence)
        return Denials(self.atoms, "pairs", why, self.search.proposed, evidence, all_pairs=True)

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
        return self.by_sample(preliminary.evidence, Validation(self.engine, on_sample.search, self.folded), why)

    def by_sample(self, evidence: EvidenceSet, validation: Validation, why: str) -> Denials:
        """The rules of a sample, validated on all rows."""
        self.search = validation.search
        with self.progress.phase("complete") as phase:
            sets, evidence = validation.run(evidence, phase)
        return Denials(self.atoms, "sample", why, sets, evidence, all_pairs=False, rounds=validation.rounds)

    def by_hydra(self) -> Denials:
        """Hydra as published: sample, search, list all violating pairs of what was found, and search again."""
        with self.progress.phase("sample"):
            evidence = published_sample(self.slots, self.sample, self.deadline)
        sets = np.zeros((0, self.atoms.words), np.uint64)
        with self.progress.phase("search"):
            if not self.deadline.passed:
                sets = self._search(evidence).proposed
        with self.progress.phase("complete") as phase:
            completion = Completion(self.engine, self.atoms, self.deadline, phase)
            sets_that_hold = sets[completion.run(sets)]
        if completion.finished:
            violations = completion.evidence.signatures
            evidence = EvidenceSet.merge([evidence, EvidenceSet.of(violations, np.ones(len(violations), np.int64))])
            with self.progress.phase("search"):
                sets = self._search(evidence).proposed
        else:
            sets = sets_that_hold
        return Denials(self.atoms, "hydra", "asked for", sets, evidence, all_pairs=False, rounds=1)

    def approximate(self, error: float, strategy: Strategy) -> Denials:
        rows = self.engine.rows
        budget = pairs_allowed(error, rows * (rows - 1))
        counted = strategy == "sample" or not self.engine.sample_is_whole
        if counted or (strategy == "auto" and self.pair_seconds > _COUNTED_SECONDS):
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
            self.atoms, "pairs", why, self.atoms.one_of_each(self.atoms.not_empty(sets)), evidence, all_pairs=True
        )

    def _approximate_by_counting(self, budget: int, why: str) -> Denials:
        with self.progress.phase("sample"):
            evidence = finished(self._random_pairs, self.deadline)
        search = Search(
            self.atoms,
            np.zeros((0, self.atoms.words), np.uint64),
            self.deadline,
            self.engine.workers_for(_LONG, on_rows=False),
        )

        def propose(edges: np.ndarray) -> np.ndarray:
            search.refine(np.unique(np.concatenate((edges, self.atoms.exchanged(edges))), axis=0))
            return search.proposed

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
        return Search(self.atoms, edges, self.deadline, self.engine.workers_for(_LONG, on_rows=False))

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
