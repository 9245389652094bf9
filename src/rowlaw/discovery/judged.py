"""What speaks for one rule: its prior, what it would catch, and what chance would have it be broken by."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from rowlaw.discovery.chance import WEAK_PAIRS, Chance
from rowlaw.discovery.gain import Prior
from rowlaw.discovery.power import Power, atoms_for, power
from rowlaw.discovery.rank import View
from rowlaw.discovery.select import FEW_ROWS
from rowlaw.engine.protocol import DiscoveryEngine
from rowlaw.evidence.tiles import random_evidence
from rowlaw.rules.model import Rule
from rowlaw.stopping import NEVER

_ERRORS_PER_COLUMN = 60  # simulated


@dataclass(frozen=True)
class Judged:
    """The facts behind the rank of a rule.

    ``prior``: what is known before any error is simulated. ``columns``: for each column that the rule compares, the
    share of wrong values that it would catch. ``inserted``: the share of rows inserted again with one value changed
    that it would catch. ``expected``: the pairs that would break it by chance, infinite for a rule of one comparison.
    ``support``: pairs that satisfy all its comparisons but one.
    """

    prior: float
    columns: dict[str, float]
    inserted: float
    expected: float
    support: int

    @cached_property
    def weak(self) -> bool:
        """Whether chance explains the rule."""
        return self.expected < WEAK_PAIRS

    def to_dict(self) -> dict[str, object]:
        """The facts for a JSON document."""
        return {
            "prior": round(self.prior, 6),
            "catches": {name: round(share, 3) for name, share in self.columns.items()},
            "catches_inserted": round(self.inserted, 3),
            "expected": None if math.isinf(self.expected) else self.expected,
            "support": self.support,
            "weak": self.weak,
        }


def judged(engine: DiscoveryEngine, rule: Rule, *, exact: bool, seed: int = 0) -> Judged:
    """Judge a rule; ``exact``: no rows break it."""
    atoms = atoms_for(engine, [rule])
    count = _ERRORS_PER_COLUMN * len(engine.statistics.columns)
    shown_power: Power = power(engine, [rule], atoms, inexact=() if exact else (rule,), count=count, seed=seed)
    evidence = random_evidence(atoms.slots, FEW_ROWS, seed=seed)
    view = View(atoms, evidence)
    (expected,) = Chance(engine, view, NEVER).expected([rule])
    pairs = engine.rows * (engine.rows - 1)
    support = round(view.coverage(rule.denials[0])[1] * pairs / max(1, evidence.pairs))
    shares = {name: shown_power.share(0, name) for name in rule.columns}
    return Judged(Prior(engine)(rule), shares, shown_power.share_inserted(0), expected, support)
