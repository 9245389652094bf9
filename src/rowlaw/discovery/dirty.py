"""Functional dependencies learnt from a dirty table, whose cells they then accuse.

Where a third of the cells of a column may be wrong, no limit on the share of exceptions tells a law from an accident.
Agreement does: rows that agree on the left side of a law agree on its right side far more often than any two rows do
(mu+, :mod:`rowlaw.evidence.dependence`). A weaker agreement will do if hardly any rows are exceptions, or if the
exceptions look like errors: nearly every group has a value that at least half of its rows have, and the others differ
from each other.
"""

from __future__ import annotations

from rowlaw.engine.protocol import DiscoveryEngine
from rowlaw.evidence.dependence import Dependence, measured
from rowlaw.rules import NamedRule, RuleSet
from rowlaw.rules.model import FunctionalDependency
from rowlaw.source.row_ids import naming_only
from rowlaw.stopping import NEVER, Stop

# The same for all tables: benchmarks/targets/dirty.py
_STRONG = 0.7  # mu+ of a law of one column on the left side that needs no other proof
_STRONG_TWO = 0.9  # of two columns: their groups are smaller, and more of them are tried
_WEAK = 0.3  # mu+ that any law must have
_FEW = 0.05  # share of rows that are exceptions to a law of weaker agreement
# groups that agree, share of second values, and exceptions that look like errors, at least
AGREED, SECOND, EXCEPTIONS = 0.95, 0.35, 10
GROUP = 5.0  # rows of a group on average, but for strong laws of one column
_SHORTER = 0.02  # mu+ by which a law must be better than one with fewer columns on the left side


def learnt(engine: DiscoveryEngine, *, seed: int = 0, stop: Stop = NEVER) -> RuleSet:
    """The functional dependencies with one or two columns on the left side that a dirty table obeys, strongest
    first."""
    statistics = engine.statistics
    names = [c.name for c in statistics.columns if c.name not in naming_only(statistics.row_id)]
    kept: list[Dependence] = []
    lefts: dict[str, list[Dependence]] = {}
    # one column on the left side first
    for law in measured(engine.sample(), names, engine.nulls, seed=seed, stop=stop):
        if law.right is None or not _holds(law):
            continue
        shorter = (other for other in lefts.get(law.right, ()) if set(other.left) < set(law.left))
        if all(law.mu > other.mu + _SHORTER for other in shorter):
            lefts.setdefault(law.right, []).append(law)
            kept.append(law)
    kept.sort(key=lambda law: -law.mu)
    rules = [FunctionalDependency(law.left, law.right) for law in kept if law.right is not None]
    return RuleSet(tuple(NamedRule(f"L{n}", rule) for n, rule in enumerate(rules, 1)), engine.nulls)


def _holds(law: Dependence) -> bool:
    if len(law.left) > 1:
        return law.mu >= _STRONG_TWO and law.group >= GROUP
    if law.mu >= _STRONG:
        return True
    like_errors = law.agreed >= AGREED and law.second <= SECOND and law.exceptions >= EXCEPTIONS
    return law.mu >= _WEAK and law.group >= GROUP and (law.removed <= _FEW or like_errors)
