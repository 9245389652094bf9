"""The list that people read: laws of all kinds on one scale, the best first, with reasons, errors and near misses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from rowlaw.deadline import Deadline
from rowlaw.discovery.atoms import Atoms
from rowlaw.discovery.denial import Denials
from rowlaw.discovery.goals import Dependencies
from rowlaw.discovery.rank import Rank, broken_shares, fold, rank, same_column_evidence
from rowlaw.discovery.result import Discovery, NearMiss
from rowlaw.discovery.together import listed_until, most_specific
from rowlaw.engine.protocol import DiscoveryEngine
from rowlaw.evidence.evidence import EvidenceSet
from rowlaw.predicates.space import SpaceOptions
from rowlaw.progress import Progress
from rowlaw.rules import NamedRule, english
from rowlaw.rules.model import Denial, Rule
from rowlaw.spark.jobs import finished
from rowlaw.stopping import Stopped

NEAR_MISSES = 10
NEAR = 0.001  # share of pairs that break a near miss, at most
COUNTED = 16  # rules whose violations are counted at once, where time is limited
EXPLAINED = 200  # rules that come with a reason: nobody reads more


@dataclass
class Listing:
    """What was found of each kind, to be made one list."""

    engine: DiscoveryEngine
    options: SpaceOptions
    error: float
    seed: int
    deadline: Deadline = field(default_factory=Deadline)
    dependencies: Dependencies | None = None
    denials: Denials | None = None
    predicates: int = 0
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
        rules, ranks = self._ranked()
        order = sorted(range(len(ranks)), key=lambda i: (-ranks[i].score, i))
        first = [rules[i].denials[0] for i in order]
        into = {order[i]: order[j] for i, j in enumerate(fold(first)) if j is not None}
        order = [i for i in order if i not in into] + [i for i in order if i in into]  # what restates another has no place before it
        kept = order if top is None else order[:top]
        errors, removed = self._errors([rules[i] for i in kept]), self.dependencies.errors if self.dependencies else {}
        if self._uncounted:
            kept = [i for i in kept if rules[i] not in self._uncounted]
        named = tuple(self._named(n, rules[i], ranks[i], errors, removed) for n, i in enumerate(kept, 1))
        id_of = {i: rule.id for i, rule in zip(kept, named, strict=True)}
        folded: dict[str, tuple[str, ...]] = {}
        for i in kept:
            if i in into and into[i] in id_of:
                folded[id_of[into[i]]] = (*folded.get(id_of[into[i]], ()), id_of[i])
        return Discovery(
            named,
            self.engine.nulls,
            self._settings(),
            rows=self.engine.rows,
            columns=tuple(c.name for c in self.engine.statistics.columns),
            predicates=self.predicates,
            strategy=self._said("strategy"),
            why="; ".join(filter(None, (self._said("why"), self.deadline.cause, self._late))),
            partial=bool(self._late) or any(found.partial for found in (self.dependencies, self.denials) if found is not None),
            total=len(order),
            folded=folded,
            near_misses=self._near_misses_in_time([rules[i] for i in order[: 5 * NEAR_MISSES]]),
            removed={r.id: removed[r.rule] for r in named if r.rule in removed} if removed else {},
            seconds=shown.seconds,
        )

    def _ranked(self) -> tuple[list[Rule], list[Rank]]:
        """All that is to be listed: dependencies, judged by what random pairs say; denial constraints, by the evidence they came from."""
        dependencies = self.dependencies.rules if self.dependencies else []
        limited = self.deadline.limited(len(dependencies))
        if self.dependencies and limited < len(dependencies):
            self.dependencies.why += f"; no time to list more than the shortest {limited:,} of the rules found"
        until = self.deadline.ranking
        if limited < len(dependencies) or until.moment < math.inf:
            dependencies = sorted(dependencies, key=lambda rule: len(rule.columns))[:limited]
        denials = self.denials.denials if self.denials else []
        rules, every = listed_until(until, dependencies, denials, exact=not self.error) if dependencies else (list(denials), True)
        of_one, others = [r for r in rules if r.kind != "dc"], [r for r in rules if isinstance(r, Denial)]
        ranks: list[Rank] = []
        if of_one:
            ranks += rank([r.denials[0] for r in of_one], *self._same_column, self.pairs, exact=not self.error, deadline=until)
            of_one = of_one[: len(ranks)]
        if others and self.denials:
            found = rank(others, self.denials.atoms, self.denials.evidence, self.pairs, exact=not self.error, deadline=until)
            others, ranks = others[: len(found)], ranks + found
        if not every or len(ranks) < len(rules):
            self._late = f"no time to rank more than {len(ranks):,} of the rules found"
        return [*of_one, *others], ranks

    @cached_property
    def _same_column(self) -> tuple[Atoms, EvidenceSet]:
        return same_column_evidence(self.engine, self.seed)

    def _said(self, what: str) -> str:
        """How the two searches were done: in one word if they agree."""
        said = [getattr(found, what) for found in (self.dependencies, self.denials) if found is not None]
        if len(set(said)) < 2:
            return said[0] if said else ""
        return f"dependencies: {said[0]}; denial constraints: {said[1]}"

    def _settings(self) -> dict[str, Any]:
        return {**self.options.settings, "error": self.error}

    def _named(self, number: int, rule: Rule, facts: Rank, errors: dict[Rule, float], removed: dict[Rule, float]) -> NamedRule:
        because = None
        if number <= EXPLAINED:
            because = f"{english(rule)} {facts.reason(rule.denials[0])}"
            if removed.get(rule):
                because += f" Without {removed[rule]:.2g} of the rows it holds."
        return NamedRule(f"R{number}", rule, because=because, error=errors.get(rule, 0.0), support=facts.support, score=facts.score)

    def _errors(self, rules: Sequence[Rule]) -> dict[Rule, float]:
        """Exact shares of violating pairs. Denial constraints: from the evidence of all pairs. Others: counted, where rows had to go.

        When time is up, rules are left uncounted.
        """
        if not self.error or not self.pairs:
            return {}
        missed: dict[Rule, float] = {}
        counted: list[Rule] = []
        if self.dependencies:
            counted += [rule for rule in rules if self.dependencies.errors.get(rule)]
        if self.denials and not self.denials.all_pairs:
            counted += [rule for rule in rules if rule.kind == "dc"]
        elif self.denials:
            missed |= self._from_evidence(self.denials, {rule for rule in rules if rule.kind == "dc"})
        try:
            portion = len(counted) if self.deadline.ranking.moment == math.inf else COUNTED
            for start in range(0, len(counted), max(1, portion)):
                some = counted[start : start + portion]
                for rule, pairs in zip(some, self.engine.counts(some, stop=self.deadline.ranking), strict=True):
                    missed[rule] = pairs / (self.pairs if rule.denials[0].arity == 2 else self.engine.rows)
        except Stopped:
            self._uncounted = {rule for rule in counted if rule not in missed}
            self._late = self._late or f"no time to count the violations of {len(self._uncounted):,} rules, which are left out"
        return missed

    def _from_evidence(self, found: Denials, rules: set[Rule]) -> dict[Rule, float]:
        """What the evidence of all pairs says about rules."""
        edges = found.atoms.edges(found.evidence.signatures)
        shares: dict[Rule, float] = {}
        for members, denial in zip(found.sets, found.atoms.denials(found.sets), strict=True):
            if denial in rules:
                if self.deadline.ranking.passed:
                    self._uncounted = self._uncounted | (rules - shares.keys())
                    self._late = self._late or f"no time to count the violations of {len(self._uncounted):,} rules, which are left out"
                    break
                hit = ((edges & members) != 0).any(axis=1)
                shares[denial] = float(found.evidence.counts[~hit].sum() / self.pairs)
        return shares

    def _near_misses_in_time(self, rules: Sequence[Rule]) -> tuple[NearMiss, ...]:
        until = self.deadline.ranking
        if self.pairs < 1 or self.deadline.stopped or until.passed:
            return ()
        try:
            return finished(lambda: self._near_misses(rules), until)
        except Stopped:
            return ()

    def _near_misses(self, rules: Sequence[Rule]) -> tuple[NearMiss, ...]:
        """The best rules without one of their predicates, those that fewest pairs break: what nearly holds, or would in cleaner data.

        The evidence says which are worth counting; the engine counts. When time is up they are not looked for.
        """
        likely: list[tuple[float, Denial]] = []
        for atoms, evidence, some in self._views(rules):
            longer = [d for d in some if len(d.predicates) > 1]
            shorter = list(
                {Denial.canonical(d.predicates[:i] + d.predicates[i + 1 :]): None for d in longer for i in range(len(d.predicates))}
            )
            shares = broken_shares(shorter, atoms, evidence)
            likely += [(share, d) for d, share in zip(shorter, shares, strict=True) if share < NEAR and d.arity == 2]
        asked = [d for _, d in sorted(likely, key=lambda pair: (pair[0], str(pair[1])))[: 2 * NEAR_MISSES]]
        counts = self.engine.counts(asked, stop=self.deadline.ranking)
        broken = sorted((pairs, str(d), d) for d, pairs in zip(asked, counts, strict=True) if pairs and pairs / self.pairs < NEAR)
        specific = self.dependencies is not None
        return tuple(NearMiss(most_specific(d) if specific else d, n, n / self.pairs) for n, _, d in broken[:NEAR_MISSES])

    def _views(self, rules: Sequence[Rule]) -> list[tuple[Atoms, EvidenceSet, list[Denial]]]:
        """Rules with the evidence that can judge them."""
        found = []
        of_one = [r.denials[0] for r in rules if r.kind != "dc"]
        if of_one:
            found.append((*self._same_column, of_one))
        others = [r for r in rules if isinstance(r, Denial)]
        if others and self.denials:
            found.append((self.denials.atoms, self.denials.evidence, others))
        return found
