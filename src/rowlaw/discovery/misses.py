"""Near misses of discovered rules: what would hold without a few pairs of rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rowlaw.discovery.atoms import Atoms
from rowlaw.discovery.rank import broken_shares
from rowlaw.discovery.result import NearMiss
from rowlaw.discovery.together import most_specific
from rowlaw.engine.protocol import DiscoveryEngine
from rowlaw.evidence.evidence import EvidenceSet
from rowlaw.rules.model import Denial, Rule
from rowlaw.stopping import Stop

_NEAR_MISSES = 10
_FAR_AWAY = 3  # of a table that no process holds
_NEAR = 0.001  # share of pairs that break a near miss, at most
_LOOKED_AT = 50  # rules, the best

Views = Callable[[Sequence[Rule]], list[tuple[Atoms, EvidenceSet, list[Rule]]]]


def near_misses(
    engine: DiscoveryEngine, rules: Sequence[Rule], views: Views, *, specific: bool, stop: Stop
) -> tuple[NearMiss, ...]:
    """The best rules without one of their predicates, those that fewest pairs break: what nearly holds, or would in
    cleaner data.

    The evidence says which are worth counting; the engine counts. ``specific``: written as keys and dependencies where
    they are such.
    """
    pairs = engine.rows * (engine.rows - 1)
    likely: list[tuple[float, Denial]] = []
    for atoms, evidence, some in views(rules[:_LOOKED_AT]):
        longer = [d for rule in some if len((d := rule.denials[0]).predicates) > 1]
        shorter = list(
            {
                Denial.canonical(d.predicates[:i] + d.predicates[i + 1 :]): None
                for d in longer
                for i in range(len(d.predicates))
            }
        )
        shares = broken_shares(shorter, atoms, evidence)
        likely += [(share, d) for d, share in zip(shorter, shares, strict=True) if share < _NEAR and d.arity == 2]
    asked = [d for _, d in sorted(likely, key=lambda pair: (pair[0], str(pair[1])))[: 2 * _NEAR_MISSES]]
    if not engine.sample_is_whole:  # counting each on all rows takes seconds
        estimates = engine.estimated_counts(asked, stop)
        likeliest = sorted((estimate, i) for i, estimate in enumerate(estimates) if estimate)[:_FAR_AWAY]
        asked = [asked[i] for _, i in likeliest]
    counts = engine.counts(asked, stop=stop)
    broken = sorted(
        (count, str(d), d) for d, count in zip(asked, counts, strict=True) if count and count / pairs < _NEAR
    )
    return tuple(NearMiss(most_specific(d) if specific else d, n, n / pairs) for n, _, d in broken[:_NEAR_MISSES])
