"""Rules that chance explains: so few pairs of rows could have broken them that it says nothing that none did.

Without one of its comparisons a rule is broken by some pairs. If that comparison had nothing to do with the others, a
share of these pairs would satisfy it too, and break the rule. Where that is only a few pairs, for any of the
comparisons, the rule may hold by chance: a key of which a part is nearly a key already, a functional dependency whose
left side hardly any two rows share.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rowlaw.discovery.rank import View
from rowlaw.engine.protocol import DiscoveryEngine
from rowlaw.rules.model import Denial, Rule
from rowlaw.stopping import Stop

WEAK_PAIRS = 10.0  # expected violations (ordered pairs) below which chance explains a rule
_SEEN = 25  # pairs of a sample that are enough to estimate from


class Chance:
    """How many pairs would break each rule by chance. Sampled pairs answer where they can, else the engine counts."""

    def __init__(self, engine: DiscoveryEngine, view: View, stop: Stop) -> None:
        self._engine, self._view, self._stop = engine, view, stop
        self._pairs = float(engine.rows) * max(0, engine.rows - 1)
        self._whole = view.total >= self._pairs  # of a small table the sample has all pairs
        self._known: dict[Rule, float] = {}

    def expected(self, rules: Sequence[Rule]) -> list[float]:
        """The expected number of violating ordered pairs; infinite where a rule has a single comparison. Raises
        ``Stopped``."""
        new = [rule for rule in dict.fromkeys(rules) if rule not in self._known]
        shorter = {rule: self._shorter(rule) for rule in new}
        counts = self._counts([denial for lines in shorter.values() for denial, _ in lines])
        for rule, lines in shorter.items():
            self._known[rule] = min((counts[denial] * share for denial, share in lines), default=float("inf"))
        return [self._known[rule] for rule in rules]

    def far_from(self, rule: Rule) -> bool:
        """Whether it takes no counting to say that chance explains a rule: if all its comparisons had nothing to do
        with each other, not even one pair would break it."""
        denial = rule.denials[0]
        return len(denial.predicates) > 1 and self._pairs * self._view.expected(denial) < 1

    def _shorter(self, rule: Rule) -> list[tuple[Denial, float]]:
        """The rule without each of its comparisons in turn, and how often two rows satisfy that comparison."""
        shorter = []
        for denial in rule.denials[:1]:
            for i, p in enumerate(denial.predicates if len(denial.predicates) > 1 else ()):
                rest = Denial.canonical(denial.predicates[:i] + denial.predicates[i + 1 :])
                if rest.arity == denial.arity:
                    shorter.append((rest, self._view.share(p)))
        return shorter

    def _counts(self, denials: Sequence[Denial]) -> dict[Denial, float]:
        """About how many ordered pairs break each rule."""
        counts: dict[Denial, float] = {}
        rare = []
        for denial in dict.fromkeys(denials):
            hits = np.logical_and.reduce([self._view.holds(p) for p in denial.predicates])
            seen = float(self._view.counts[hits].sum())
            counts[denial] = seen / self._view.total * self._pairs
            if not self._whole and seen < _SEEN and sum(p.op.is_inequality for p in denial.predicates) <= 1:
                rare.append(denial)
        if rare:
            counts.update(zip(rare, self._engine.estimated_counts(rare, self._stop), strict=True))
        return counts
