"""The list that people read: laws of all kinds on one scale, the best first, with reasons, errors and near misses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from rowlaw.discovery.atoms import Atoms
from rowlaw.discovery.deadline import Deadline
from rowlaw.discovery.denial import Denials
from rowlaw.discovery.goals import Dependencies
from rowlaw.discovery.rank import Rank, broken_shares, fold, rank, same_column_evidence
from rowlaw.discovery.result import Discovery, NearMiss
from rowlaw.discovery.together import listed, most_specific
from rowlaw.engine.engine import Engine
from rowlaw.evidence.evidence import EvidenceSet
from rowlaw.predicates.space import SpaceOptions
from rowlaw.progress import Progress
from rowlaw.rules import NamedRule, english
from rowlaw.rules.model import Denial, Rule

NEAR_MISSES = 10
NEAR = 0.001  # share of pairs that break a near miss, at most
EXPLAINED = 200  # rules that come with a reason: nobody reads more


@dataclass
class Listing:
    """What was found of each kind, to be made one list."""

    engine: Engine
    options: SpaceOptions
    error: float
    seed: int
    deadline: Deadline = field(default_factory=Deadline)
    dependencies: Dependencies | None = None
    denials: Denials | None = None
    predicates: int = 0

    @property
    def pairs(self) -> int:
        """Ordered pairs of different rows."""
        return self.engine.relation.rows * (self.engine.relation.rows - 1)

    def result(self, top: int | None, shown: Progress) -> Discovery:
        """The list, cut to the best ``top`` rules."""
        rules, ranks = self._ranked()
        order = sorted(range(len(ranks)), key=lambda i: (-ranks[i].score, i))
        first = [rules[i].denials[0] for i in order]
        into = {order[i]: order[j] for i, j in enumerate(fold(first)) if j is not None}
        order = [i for i in order if i not in into] + [i for i in order if i in into]  # what restates another has no place before it
        kept = order if top is None else order[:top]
        errors, removed = self._errors([rules[i] for i in kept]), self.dependencies.errors if self.dependencies else {}
        named = tuple(self._named(n, rules[i], ranks[i], errors, removed) for n, i in enumerate(kept, 1))
        id_of = {i: rule.id for i, rule in zip(kept, named, strict=True)}
        folded: dict[str, tuple[str, ...]] = {}
        for i in kept:
            if i in into and into[i] in id_of:
                folded[id_of[into[i]]] = (*folded.get(id_of[into[i]], ()), id_of[i])
        relation = self.engine.relation
        return Discovery(
            named,
            self.engine.nulls,
            self._settings(),
            rows=relation.rows,
            columns=tuple(c.name for c in relation.columns),
            predicates=self.predicates,
            strategy=self._said("strategy"),
            why="; ".join(filter(None, (self._said("why"), self.deadline.cause))),
            partial=any(found.partial for found in (self.dependencies, self.denials) if found is not None),
            total=len(order),
            folded=folded,
            near_misses=self._near_misses([rules[i] for i in order[: 5 * NEAR_MISSES]]),
            removed={r.id: removed[r.rule] for r in named if r.rule in removed} if removed else {},
            seconds=shown.seconds,
        )

    def _ranked(self) -> tuple[list[Rule], list[Rank]]:
        """All that is to be listed: dependencies, judged by what random pairs say; denial constraints, by the evidence they came from."""
        dependencies = self.dependencies.rules if self.dependencies else []
        room = self.deadline.room(len(dependencies))
        if self.dependencies and room < len(dependencies):
            self.dependencies.why += f"; no time to list more than the shortest {room:,} of the rules found"
            dependencies = sorted(dependencies, key=lambda rule: len(rule.columns))[:room]
        denials = self.denials.denials if self.denials else []
        rules = listed(dependencies, denials, exact=not self.error) if dependencies else list(denials)
        of_one, others = [r for r in rules if r.kind != "dc"], [r for r in rules if isinstance(r, Denial)]
        ranks: list[Rank] = []
        if of_one:
            ranks += rank([r.denials[0] for r in of_one], *self._same_column, self.pairs, exact=not self.error)
        if others and self.denials:
            ranks += rank(others, self.denials.atoms, self.denials.evidence, self.pairs, exact=not self.error)
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
        names = ("cross", "overlap", "order_strings", "single_row", "constants")
        return {**{name: getattr(self.options, name) for name in names}, "error": self.error}

    def _named(self, number: int, rule: Rule, facts: Rank, errors: dict[Rule, float], removed: dict[Rule, float]) -> NamedRule:
        because = None
        if number <= EXPLAINED:
            because = f"{english(rule)} {facts.reason(rule.denials[0])}"
            if removed.get(rule):
                because += f" Without {removed[rule]:.2g} of the rows it holds."
        return NamedRule(f"R{number}", rule, because=because, error=errors.get(rule, 0.0), support=facts.support, score=facts.score)

    def _errors(self, rules: Sequence[Rule]) -> dict[Rule, float]:
        """Exact shares of violating pairs. Denial constraints: from the evidence of all pairs. Others: counted, where rows had to go."""
        if not self.error or not self.pairs:
            return {}
        missed: dict[Rule, float] = {}
        if self.dependencies:
            broken = [rule for rule in rules if self.dependencies.errors.get(rule)]
            for rule, found in zip(broken, self.engine.count(broken, per_row=False), strict=True):
                missed[rule] = found.pairs / self.pairs
        if self.denials and not self.denials.all_pairs:
            counted = [rule for rule in rules if rule.kind == "dc"]
            for rule, found in zip(counted, self.engine.count(counted, per_row=False), strict=True):
                missed[rule] = found.pairs / self.pairs if rule.denials[0].arity == 2 else found.pairs / self.engine.relation.rows
        elif self.denials:
            edges = self.denials.atoms.edges(self.denials.evidence.signatures)
            for members, denial in zip(self.denials.sets, self.denials.atoms.denials(self.denials.sets), strict=True):
                hit = ((edges & members) != 0).any(axis=1)
                missed[denial] = float(self.denials.evidence.counts[~hit].sum() / self.pairs)
        return missed

    def _near_misses(self, rules: Sequence[Rule]) -> tuple[NearMiss, ...]:
        """The best rules without one of their predicates, those that fewest pairs break: what nearly holds, or would in cleaner data.

        The evidence says which are worth counting; the engine counts. When time is up they are not looked for.
        """
        if self.pairs < 1 or self.deadline.stopped:
            return ()
        likely: list[tuple[float, Denial]] = []
        for atoms, evidence, some in self._views(rules):
            longer = [d for d in some if len(d.predicates) > 1]
            shorter = list(
                {Denial.canonical(d.predicates[:i] + d.predicates[i + 1 :]): None for d in longer for i in range(len(d.predicates))}
            )
            shares = broken_shares(shorter, atoms, evidence)
            likely += [(share, d) for d, share in zip(shorter, shares, strict=True) if share < NEAR and d.arity == 2]
        asked = [d for _, d in sorted(likely, key=lambda pair: (pair[0], str(pair[1])))[: 2 * NEAR_MISSES]]
        counts = self.engine.count(asked, per_row=False)
        broken = sorted((c.pairs, str(d), d) for d, c in zip(asked, counts, strict=True) if c.pairs and c.pairs / self.pairs < NEAR)
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
