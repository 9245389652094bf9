"""The rules that are worth reading, chosen from all that were found: see :mod:`rowlaw.discovery.gain` for how."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np

from rowlaw.deadline import Deadline
from rowlaw.discovery.chance import WEAK_PAIRS, Chance
from rowlaw.discovery.folding import Closures, fold
from rowlaw.discovery.gain import Prior, greedy
from rowlaw.discovery.nearly import Nearly
from rowlaw.discovery.power import Power, atoms_for, power
from rowlaw.discovery.rank import View
from rowlaw.engine.protocol import DiscoveryEngine
from rowlaw.evidence.tiles import random_evidence
from rowlaw.rules.implication import implies
from rowlaw.rules.model import Denial, FunctionalDependency, Key, Rule
from rowlaw.stopping import Stopped

_SELECTED = 20  # rules in the list that people read
WEAK_SHOWN = 5  # of them weak ones: more are no use to anybody
# rules whose power is estimated, those with the largest prior
_CANDIDATES = {"key": 300, "fd": 800, "od": 300, "dc": 400}
CLOSER, LONG = 2, 0.01  # times as many have their priors computed, and the prior of a rule of one column of the others
_CLOSED = 3  # columns of functional dependencies that decide what is an alternative of what
_NEAR = {"key": 0.3, "fd": 0.6}  # factor of the prior for laws that nearly hold
# factor for a law that nearly holds with a further column, which makes it hold; so many are candidates
EXTENDED, EXTENSIONS = 0.5, 3
JUDGED, ROUNDS = 30, 4  # rules at a time of which it is found out whether chance explains them, and how often
# share of the wrong values in a column that a rule must catch (none: it is as weak as one that chance explains)
_CAUGHT = 0.05
_CHOSEN = 60  # rules that are chosen greedily
FEW_ROWS = 300  # all their pairs are looked at, of larger tables random ones
ERRORS, ERRORS_PER_COLUMN = 600, 30  # simulated, at most
# cells of a table that is ranked with all errors and candidates, and the share of a tiny one
FULL_EFFORT, LEAST_EFFORT = 1.5e6, 0.3
_LIMITED = 3.0  # seconds left for ranking, below which less is looked at


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a rule stands: its score, what it would catch, whether chance explains it, and what it is folded into."""

    rule: Rule
    score: float
    # a column, and the share of its wrong values; "" for rows inserted again
    catches: tuple[tuple[str, float], ...] = ()
    weak: bool = False  # so few pairs could have broken it that chance explains it
    nearly: Nearly | None = None


@dataclass
class Ranking:
    """All rules, best first; the first ``selected`` are for people to read. By index: rules that say the same as one
    before them."""

    standings: list[Standing]
    selected: int
    alternatives: dict[int, list[int]] = field(default_factory=dict)
    restated: dict[int, list[int]] = field(default_factory=dict)


def select(
    engine: DiscoveryEngine,
    rules: Sequence[Rule],
    nearly: Sequence[Nearly] = (),
    *,
    inexact: Collection[Rule] = (),
    seed: int = 0,
    count: int | None = None,
    deadline: Deadline | None = None,
) -> Ranking:
    """Rank rules by what they would catch. When time is up, by what is known by then: at least by their priors.

    ``inexact``: rules that some pairs may break. ``count``: rules that are asked for; otherwise 20, of which a few may
    be weak. In a small table, where finding the rules takes no time, fewer errors are simulated and fewer rules looked
    at. The same seed gives the same ranking, unless time is limited.
    """
    if not rules and not nearly:
        return Ranking([], 0)
    until = deadline or Deadline()
    cells = engine.rows * len(engine.statistics.columns)
    effort = min(1.0, LEAST_EFFORT + cells / FULL_EFFORT, max(LEAST_EFFORT, until.left / _LIMITED))
    return _Selection(engine, rules, nearly, inexact, seed, effort, until).run(count)


class _Selection:
    def __init__(
        self,
        engine: DiscoveryEngine,
        rules: Sequence[Rule],
        nearly: Sequence[Nearly],
        inexact: Collection[Rule],
        seed: int,
        effort: float,
        deadline: Deadline,
    ) -> None:
        self.engine, self.inexact, self.seed, self.effort, self.deadline = engine, inexact, seed, effort, deadline
        self.nearly: Mapping[Rule, Nearly] = {n.rule: n for n in nearly}
        self.rules, self.exact_count = [*rules, *self.nearly], len(rules)
        self.prior = Prior(engine, rules)
        # priors of the shortest rules of each kind; the others come after them in order of length
        lengths = np.array(
            [len(r.predicates) if isinstance(r, Denial) else len(r.columns) for r in self.rules], np.float64
        )
        self.priors = LONG / (1 + lengths)
        left = {kind: round(CLOSER * effort * number) for kind, number in _CANDIDATES.items()}
        for i in np.argsort(lengths, kind="stable").tolist():
            kind = self.rules[i].kind
            if left[kind] > 0 or i >= self.exact_count:
                left[kind] -= 1
                self.priors[i] = self._prior(self.rules[i])

    def _prior(self, rule: Rule) -> float:
        prior = self.prior(rule)
        near = self.nearly.get(rule)
        return prior if near is None else prior * _NEAR[rule.kind] * near.mu

    def run(self, asked: int | None) -> Ranking:
        count = asked or _SELECTED
        by_prior = np.argsort(-self.priors, kind="stable").tolist()
        candidates = self._candidates(by_prior)
        heads, alternatives, restated = self._folded(candidates)
        order, standings = (
            heads,
            {i: Standing(self.rules[i], self._low(i), nearly=self.nearly.get(self.rules[i])) for i in heads},
        )
        with suppress(Stopped):
            order, standings = self._chosen(heads, count)
        taken = set(order)
        order = [*order, *(i for i in by_prior if i not in taken)]
        place = {i: n for n, i in enumerate(order)}
        listed = [
            standings.get(i) or Standing(self.rules[i], self._low(i), nearly=self.nearly.get(self.rules[i]))
            for i in order
        ]
        lowest = 1.0
        for n, standing in enumerate(listed):  # a score never rises down the list
            lowest = min(lowest, standing.score)
            if standing.score > lowest:
                listed[n] = replace(standing, score=lowest)

        def by_place(folded: Mapping[int, list[int]]) -> dict[int, list[int]]:
            return {place[i]: sorted(place[j] for j in others) for i, others in folded.items()}

        shown = min(count, len(heads))
        if asked is None:
            weak = [n for n in range(shown) if listed[n].weak]
            shown = weak[WEAK_SHOWN] if len(weak) > WEAK_SHOWN else shown
        return Ranking(listed, shown, by_place(alternatives), by_place(restated))

    def _low(self, i: int) -> float:
        """The score of a rule whose power is not known: below that of all whose is."""
        return round(1e-3 * float(self.priors[i]), 6)

    def _candidates(self, by_prior: Sequence[int]) -> list[int]:
        left = {kind: round(self.effort * number) for kind, number in _CANDIDATES.items()}
        candidates = []
        for i in by_prior:
            kind = self.rules[i].kind
            if left[kind] > 0 or i >= self.exact_count:
                left[kind] -= 1
                candidates.append(i)
        return candidates

    def _folded(self, candidates: Sequence[int]) -> tuple[list[int], dict[int, list[int]], dict[int, list[int]]]:
        """Of rules that say the same only the one of largest prior; the others by that one."""
        # a null on the way breaks a chain of dependencies: rows that agree on its left side need not agree on its right
        # side
        known = {c.name for c in self.engine.statistics.columns if not c.nulls or self.engine.nulls == "equal"}
        dependencies = (r for r in self.rules[: self.exact_count] if isinstance(r, FunctionalDependency))
        short = (r for r in dependencies if len(r.columns) <= _CLOSED)
        closures = Closures.of(r for r in short if known.issuperset(r.columns))
        alternative, restates = fold([self.rules[i] for i in candidates], closures)
        heads: list[int] = []
        alternatives: dict[int, list[int]] = {}
        restated: dict[int, list[int]] = {}
        extended = Counter[Rule]()
        place = {self.rules[i]: i for i in candidates if i >= self.exact_count}
        shorter_of = _Shorter(place)
        for n, i in enumerate(candidates):
            other, more = alternative[n], restates[n]
            shorter = shorter_of(self.rules[i])
            if other is not None:
                alternatives.setdefault(candidates[other], []).append(i)
            elif more is not None:
                restated.setdefault(candidates[more], []).append(i)
            elif shorter is not None and (self.rules[i].kind in ("od", "dc") or extended[shorter] == EXTENSIONS):
                restated.setdefault(place[shorter], []).append(i)
            else:
                heads.append(i)
                if shorter is not None:
                    extended[shorter] += 1
                    self.priors[i] *= EXTENDED
        return heads, alternatives, restated

    def _chosen(self, heads: Sequence[int], count: int) -> tuple[list[int], dict[int, Standing]]:
        """The heads in order of gain, those that chance explains after the others among the first ``count``."""
        rules = [self.rules[i] for i in heads]
        stop = self.deadline
        columns = sum(c.distinct > 1 for c in self.engine.sample().columns)
        atoms = atoms_for(self.engine, rules)
        inexact = frozenset(rule for rule in rules if rule in self.nearly or rule in self.inexact)
        errors = round(self.effort * min(ERRORS, ERRORS_PER_COLUMN * max(1, columns)))
        caught = power(self.engine, rules, atoms, inexact=inexact, count=errors, seed=self.seed, stop=stop)
        priors = self.priors[list(heads)]
        view = View(atoms, random_evidence(atoms.slots, FEW_ROWS, seed=self.seed))
        chance = Chance(self.engine, view, stop)
        if self.inexact:  # a rule that as many pairs break as chance has it says nothing
            priors = priors * np.array(
                [1 - min(1.0, view.broken(d) / max(view.expected(d), 1e-12)) for d in (r.denials[0] for r in rules)]
            )
        weak = np.array([self._catches_nothing(rule, n, caught) for n, rule in enumerate(rules)], bool)
        known = weak | np.array([rule in self.nearly and rule.kind == "fd" for rule in rules], bool)
        order, gains, rest = greedy(rules, priors, caught, _CHOSEN, first=~weak)
        with suppress(Stopped):
            for _ in range(ROUNDS):
                for n in order:
                    if not known[n] and rules[n].kind == "key" and chance.far_from(rules[n]):
                        weak[n] = known[n] = True
                new = [n for n in order[:_CHOSEN] if not known[n]][:JUDGED]
                if all(known[n] for n in order[:count]) or not new:
                    break
                for n, value in zip(new, chance.expected([rules[n] for n in new]), strict=True):
                    weak[n] = value < WEAK_PAIRS
                known[new] = True
                order, gains, rest = greedy(rules, priors, caught, _CHOSEN, first=~weak)
        order, gains, rest = greedy(rules, priors, caught, _CHOSEN, first=~weak & known)
        total = caught.caught.shape[1] + 1
        scores = dict(zip(order, gains, strict=True))
        others = sorted((n for n in range(len(rules)) if n not in scores), key=lambda n: -rest[n])
        standings = {}
        for n in (*order, *others):
            score = max(self._low(heads[n]), round(float(scores.get(n, rest[n])) / total, 6))
            catches = self._catches(rules[n], n, caught) if n in scores else ()
            standings[heads[n]] = Standing(rules[n], min(1.0, score), catches, bool(weak[n]), self.nearly.get(rules[n]))
        return [heads[n] for n in (*order, *others)], standings

    def _catches_nothing(self, rule: Rule, number: int, found: Power) -> bool:
        """Whether a rule, other than a key, catches next to no wrong values in any of its columns: no two rows are
        alike enough."""
        if isinstance(rule, Key) or len(rule.columns) == 1:
            return False
        names = (rule.right,) if isinstance(rule, FunctionalDependency) else rule.columns
        return all(found.share(number, name) < _CAUGHT for name in names)

    def _catches(self, rule: Rule, number: int, found: Power) -> tuple[tuple[str, float], ...]:
        """What to say of a rule's power: rows inserted again for a key, wrong values of the right side for a functional
        dependency, else wrong values of the columns where it catches most."""
        if isinstance(rule, Key):
            return (("", found.share_inserted(number)),)
        names = (rule.right,) if isinstance(rule, FunctionalDependency) else rule.columns
        shares = sorted(((name, found.share(number, name)) for name in names), key=lambda pair: -pair[1])
        return tuple(shares[:2])


class _Shorter:
    """Rules that nearly hold, by what they are rules about."""

    def __init__(self, nearly: Iterable[Rule]) -> None:
        self._nearly = [(rule, frozenset(rule.columns), rule.denials[0]) for rule in nearly]

    def __call__(self, rule: Rule) -> Rule | None:
        """The first that a rule is with further columns or comparisons: these only excuse a few rows."""
        columns = frozenset(rule.columns)
        for nearly, of_nearly, denial in self._nearly:
            if rule.kind == nearly.kind:
                same = not isinstance(rule, FunctionalDependency) or rule.right == nearly.columns[-1]
                if same and columns > of_nearly:
                    return nearly
            elif rule.kind in ("od", "dc") and columns >= of_nearly and implies(denial, rule.denials[0]):
                return nearly
        return None
