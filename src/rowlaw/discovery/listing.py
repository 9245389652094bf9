"""The list that people read: laws of all kinds on one scale, the best first, with reasons and errors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from rowlaw.deadline import Deadline
from rowlaw.discovery.atoms import Atoms
from rowlaw.discovery.denial import Denials
from rowlaw.discovery.folding import not_both_ways
from rowlaw.discovery.goals import Dependencies
from rowlaw.discovery.misses import near_misses
from rowlaw.discovery.nearly import Nearly
from rowlaw.discovery.rank import View, same_column_evidence
from rowlaw.discovery.reasons import reason
from rowlaw.discovery.result import Discovery, NearMiss
from rowlaw.discovery.select import Ranking, Standing, select
from rowlaw.discovery.together import listed_until
from rowlaw.engine.protocol import DiscoveryEngine
from rowlaw.evidence.evidence import EvidenceSet
from rowlaw.predicates.space import SpaceOptions
from rowlaw.progress import Progress
from rowlaw.rules import NamedRule
from rowlaw.rules.model import Denial, Rule
from rowlaw.rules.wording import percent
from rowlaw.spark.jobs import finished
from rowlaw.stopping import Stopped

_COUNTED = 16  # rules whose violations are counted at once, where time is limited
_BREAKING = 3  # rows that are named of those that break a law which nearly holds
_EXPLAINED = 100  # rules that come with a reason and with their support; more are not read


@dataclass(frozen=True, slots=True)
class _Facts:
    """What is known of rules: shares of pairs that break them (g1), shares of rows to remove (g3), supports, some of
    those rows."""

    errors: dict[Rule, float]
    removed: dict[Rule, float]
    supports: dict[Rule, int]
    breaking: dict[Rule, tuple[Any, ...]]


@dataclass
class Listing:
    """What was found of each kind, to be made one list. ``complete``: a run for all rules of its kinds, not a default
    run."""

    engine: DiscoveryEngine
    options: SpaceOptions
    error: float
    seed: int
    deadline: Deadline = field(default_factory=Deadline)
    dependencies: Dependencies | None = None
    denials: Denials | None = None
    nearly: list[Nearly] = field(default_factory=list)
    # comparisons that every row obeys, which are not of the predicate space
    within: list[Denial] = field(default_factory=list)
    predicates: int = 0
    complete: bool = True
    note: str = ""  # why the run is not complete, if it has a budget
    _late: str = field(default="", init=False)  # what there was no time for
    _uncounted: set[Rule] = field(default_factory=set, init=False)

    @property
    def pairs(self) -> int:
        """Ordered pairs of different rows."""
        return self.engine.rows * (self.engine.rows - 1)

    def result(self, top: int | None, shown: Progress) -> Discovery:
        """The list, cut to the best ``top`` rules; when time is up, to those that could be ranked."""
        with self.deadline.ranking.watched():
            return self._result(top, shown)

    def _result(self, top: int | None, shown: Progress) -> Discovery:
        ranking = self._ranked(top)
        standings = ranking.standings if top is None else ranking.standings[:top]
        errors, removed = (
            self._errors([s.rule for s in standings]),
            self.dependencies.errors if self.dependencies else {},
        )
        removed = removed | {n.rule: n.removed for n in self.nearly}
        kept = [i for i, s in enumerate(standings) if s.rule not in self._uncounted]
        supports = self._supports([standings[i].rule for i in kept[:_EXPLAINED]])
        breaking = self._breaking([standings[i].rule for i in kept if i < ranking.selected and standings[i].nearly])
        id_of = {i: f"R{n}" for n, i in enumerate(kept, 1)}
        facts = _Facts(errors, removed, supports, breaking)
        named = tuple(self._named(id_of[i], standings[i], facts, selected=i < ranking.selected) for i in kept)
        partial = [part.partial for part in (self.dependencies, self.denials) if part is not None]
        said = [self._said("why"), self.deadline.cause, self._late, self.note if any(partial) else ""]

        def by_id(folded: dict[int, list[int]]) -> dict[str, tuple[str, ...]]:
            return {
                id_of[i]: ids
                for i, others in folded.items()
                if i in id_of and (ids := tuple(id_of[j] for j in others if j in id_of))
            }

        return Discovery(
            named,
            self.engine.nulls,
            self._settings(),
            rows=self.engine.rows,
            columns=tuple(c.name for c in self.engine.statistics.columns),
            predicates=self.predicates,
            strategy=self._said("strategy"),
            why="; ".join(filter(None, said)),
            partial=bool(self._late) or any(partial),
            total=len(ranking.standings),
            alternatives=by_id(ranking.alternatives),
            folded=by_id(ranking.restated),
            near_misses=self._near_misses_in_time([s.rule for s in ranking.standings]),
            removed={r.id: removed[r.rule] for r in named if r.rule in removed},
            weak=frozenset(id_of[i] for i in kept if standings[i].weak),
            seconds=shown.seconds,
        )

    def _ranked(self, count: int | None) -> Ranking:
        """All that is to be listed, in order."""
        dependencies = self.dependencies.rules if self.dependencies else []
        limited = self.deadline.limited(len(dependencies))
        if self.dependencies and limited < len(dependencies):
            self.dependencies.why += self.deadline.left_out(limited, len(dependencies))
            self.dependencies.partial = True
        until = self.deadline.ranking
        if limited < len(dependencies) or until.moment < math.inf:
            dependencies = sorted(dependencies, key=lambda rule: len(rule.columns))[:limited]
        denials = self.denials.denials if self.denials else []
        rules, every = (
            listed_until(until, dependencies, denials, exact=not self.error) if dependencies else (list(denials), True)
        )
        if not every:
            self._late = f"no time to rank more than {len(rules):,} of the rules found"
        if not self.complete:
            rules = [*not_both_ways(rules), *self.within]
        inexact = frozenset(rules) if self.error else frozenset()
        return select(self.engine, rules, self.nearly, inexact=inexact, seed=self.seed, count=count, deadline=until)

    def _said(self, what: str) -> str:
        """How the two searches were done: in one word if they agree."""
        said = [getattr(part, what) for part in (self.dependencies, self.denials) if part is not None]
        if len(set(said)) < 2:
            return said[0] if said else ""
        return f"dependencies: {said[0]}; denial constraints: {said[1]}"

    def _settings(self) -> dict[str, Any]:
        return {**self.options.settings, "error": self.error}

    def _named(self, id: str, standing: Standing, facts: _Facts, *, selected: bool) -> NamedRule:
        rule, because = standing.rule, None
        if rule in facts.supports:
            because = reason(standing, self.engine.rows, facts.breaking.get(rule, ()))
            if facts.removed.get(rule) and standing.nearly is None:
                because += f" Holds without {percent(facts.removed[rule])} of the rows."
        error = facts.errors.get(rule, 0.0)
        # what a rule was learnt with is tolerated: a check of the same table finds it in order
        named = NamedRule(
            id,
            rule,
            tolerate=error,
            because=because,
            error=error,
            support=facts.supports.get(rule, 0),
            score=standing.score,
        )
        return replace(named, selected=True) if selected else named

    def _breaking(self, rules: Sequence[Rule]) -> dict[Rule, tuple[Any, ...]]:
        """Some of the rows without which laws that nearly hold would hold, if there is time."""
        if not rules or self.deadline.ranking.passed:
            return {}
        findings = self.engine.check(rules)
        return {rule: findings.rows_to_remove(n, _BREAKING).first for n, rule in enumerate(rules)}

    def _supports(self, rules: Sequence[Rule]) -> dict[Rule, int]:
        """About how many pairs satisfy all comparisons of a rule but one: those that it holds back."""
        supports = dict.fromkeys(rules, 0)
        for atoms, evidence, some in self._views(rules):
            view, scale = View(atoms, evidence), self.pairs / max(1, evidence.pairs)
            for rule in some:
                supports[rule] = round(view.coverage(rule.denials[0])[1] * scale)
        return supports

    def _errors(self, rules: Sequence[Rule]) -> dict[Rule, float]:
        """Exact shares of violating pairs. Denial constraints: from the evidence of all pairs. Others: counted, where
        rows had to go.

        When time is up, rules are left uncounted.
        """
        missed: dict[Rule, float] = {n.rule: n.error for n in self.nearly}
        if not self.pairs or not self.error:
            return missed
        counted: list[Rule] = []
        if self.dependencies:
            counted += [rule for rule in rules if self.dependencies.errors.get(rule)]
        if self.denials and not self.denials.all_pairs:
            counted += [rule for rule in rules if rule.kind == "dc"]
        elif self.denials:
            missed |= self._from_evidence(self.denials, {rule for rule in rules if rule.kind == "dc"})
        try:
            portion = len(counted) if self.deadline.ranking.moment == math.inf else _COUNTED
            for start in range(0, len(counted), max(1, portion)):
                some = counted[start : start + portion]
                for rule, pairs in zip(some, self.engine.counts(some, stop=self.deadline.ranking), strict=True):
                    missed[rule] = pairs / (self.pairs if rule.denials[0].arity == 2 else self.engine.rows)
        except Stopped:
            self._uncounted = {rule for rule in counted if rule not in missed}
            self._late = (
                self._late or f"no time to count the violations of {len(self._uncounted):,} rules, which are left out"
            )
        return missed

    def _from_evidence(self, found: Denials, rules: set[Rule]) -> dict[Rule, float]:
        """What the evidence of all pairs says about rules."""
        edges = found.atoms.edges(found.evidence.signatures)
        shares: dict[Rule, float] = {}
        for members, denial in zip(found.sets, found.atoms.denials(found.sets), strict=True):
            if denial in rules:
                if self.deadline.ranking.passed:
                    self._uncounted = self._uncounted | (rules - shares.keys())
                    self._late = (
                        self._late
                        or f"no time to count the violations of {len(self._uncounted):,} rules, which are left out"
                    )
                    break
                hit = ((edges & members) != 0).any(axis=1)
                shares[denial] = float(found.evidence.counts[~hit].sum() / self.pairs)
        return shares

    def _near_misses_in_time(self, rules: Sequence[Rule]) -> tuple[NearMiss, ...]:
        """Near misses of a complete run. A default run lists laws that nearly hold instead."""
        until = self.deadline.ranking
        if not self.complete or self.pairs < 1 or self.deadline.stopped or until.passed:
            return ()
        try:
            return finished(lambda: self._near_misses(rules), until)
        except Stopped:
            return ()

    def _near_misses(self, rules: Sequence[Rule]) -> tuple[NearMiss, ...]:
        return near_misses(
            self.engine, rules, self._views, specific=self.dependencies is not None, stop=self.deadline.ranking
        )

    @cached_property
    def _same_column(self) -> tuple[Atoms, EvidenceSet]:
        return same_column_evidence(self.engine, self.seed)

    def _views(self, rules: Sequence[Rule]) -> list[tuple[Atoms, EvidenceSet, list[Rule]]]:
        """Rules with the evidence that can judge them."""
        views: list[tuple[Atoms, EvidenceSet, list[Rule]]] = []
        of_one = [r for r in rules if r.kind != "dc"]
        if of_one:
            views.append((*self._same_column, of_one))
        others: list[Rule] = [r for r in rules if isinstance(r, Denial) and r not in self.within]
        if others and self.denials:
            views.append((self.denials.atoms, self.denials.evidence, others))
        return views
