"""Functional dependencies learnt from a dirty table, whose cells they then accuse.

Where a third of the cells of a column may be wrong, no limit on the share of exceptions tells a law from an accident. Agreement does: rows
that agree on the left side of a law agree on its right side far more often than any two rows do, however many cells are wrong. So laws are
learnt by mu+ (:mod:`rowlaw.evidence.dependence`), with one column on the left side, because with more of them nearly all groups are single
rows and prove nothing.
"""

from __future__ import annotations

from rowlaw.engine.protocol import DiscoveryEngine
from rowlaw.evidence.dependence import measured
from rowlaw.rules import NamedRule, RuleSet
from rowlaw.rules.model import FunctionalDependency
from rowlaw.stopping import NEVER, Stop

AGREEMENT = 0.3  # mu+ of a law that is worth a vote (benchmarks/targets/dirty.py, all tables)


def learnt(engine: DiscoveryEngine, *, agreement: float = AGREEMENT, seed: int = 0, stop: Stop = NEVER) -> RuleSet:
    """The functional dependencies with one column on the left side that rows obey far more often than by chance, strongest first."""
    statistics = engine.statistics
    names = [c.name for c in statistics.columns if c.name != statistics.row_id]
    found = [
        law
        for law in measured(engine.sample(), names, engine.nulls, most=1, seed=seed, stop=stop)
        if law.right is not None and law.mu >= agreement
    ]
    found.sort(key=lambda law: -law.mu)
    rules = (FunctionalDependency(law.left, law.right) for law in found if law.right is not None)
    return RuleSet(tuple(NamedRule(f"L{n}", rule) for n, rule in enumerate(rules, 1)), engine.nulls)
