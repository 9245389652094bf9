"""The parts of Hydra that only the published strategy has: its sample, and its completion.

Completion lists *all* pairs of rows that violate the preliminary rules, once. Their evidence and that of the sample
determine all rules (Hydra, Theorem 2): a pair whose evidence matters and is in neither would violate no preliminary
rule.

References
----------
Bleifuss, Kruse, Naumann: Efficient Denial Constraint Discovery with Hydra, PVLDB 2017, sections 4 and 6.

Differences: preliminary rules are minimal under operator implication and exchange of rows, but not under transitivity
across columns (section 6.4, rules ii and v); the engine first separates the rules that hold from those that are
violated, and plans each rule by its own estimates instead of the selectivities of the sample.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rowlaw.deadline import Deadline
from rowlaw.discovery.approximate import ASKED_AT_ONCE
from rowlaw.discovery.atoms import Atoms
from rowlaw.engine.protocol import DiscoveryEngine
from rowlaw.evidence.evidence import EvidenceSet
from rowlaw.evidence.pairs import PairEvidence, beside_all
from rowlaw.evidence.sample import SampleOptions, Sampler
from rowlaw.evidence.slots import Slots
from rowlaw.progress import Phase
from rowlaw.rules.implication import canonical, minimal
from rowlaw.rules.model import Denial


def published_sample(slots: Slots, options: SampleOptions, deadline: Deadline) -> EvidenceSet:
    """The evidence of random partners and of focused sampling (Hydra sections 4.2 and 4.3)."""
    sampler = Sampler(slots, options)
    sampler.look_as_published(lambda: deadline.passed)
    return sampler.evidence


class Completion:
    """The evidence of all pairs that violate some preliminary rules (Hydra section 6).

    ``finished``: whether all violating pairs of all rules were listed; false if the deadline passed.
    """

    def __init__(self, engine: DiscoveryEngine, atoms: Atoms, deadline: Deadline, phase: Phase) -> None:
        self.engine, self.atoms, self.deadline, self.phase = engine, atoms, deadline, phase
        self.evidence = PairEvidence(atoms.slots)
        self.finished = False

    def run(self, sets: np.ndarray) -> np.ndarray:
        """List the violations of the rules that the sets stand for. Returns which of the sets are known to hold,
        ``bool[sets]``."""
        denials = self.atoms.denials(sets)
        holds = np.zeros(len(denials), bool)
        violated: list[Denial] = []
        for start in range(0, len(denials), ASKED_AT_ONCE):
            if self.deadline.passed:
                return holds
            some = denials[start : start + ASKED_AT_ONCE]
            for i, pairs in enumerate(self.engine.counterexamples(some, 1, stop=self.deadline), start):
                if pairs is None:  # no time
                    return holds
                holds[i] = not len(pairs)
                if len(pairs):
                    violated.append(denials[i])
            self.phase.update(start + len(some), len(denials), f"{len(violated):,} rules violated")
        self.finished = self._list(self._not_implied(violated))
        return holds

    def _not_implied(self, denials: list[Denial]) -> list[Denial]:
        """The rules whose violations include those of all others: implied rules add no pair (Hydra section 6.4)."""
        if self.atoms.weak:  # then no set contains another, and no rule implies another
            return denials
        kept = set(minimal(denials))
        return list({canonical(d): d for d in denials if canonical(d) in kept}.values())

    def _list(self, denials: Sequence[Denial]) -> bool:
        """Add the evidence of all violating pairs. Returns whether the deadline left time for all of them."""
        for number, denial in enumerate(denials):
            for violating in self.engine.all_violations(denial):
                for pairs in beside_all(violating) if denial.arity == 1 else [violating]:
                    if self.deadline.passed:
                        return False
                    self.evidence.add(pairs)
            self.phase.update(number + 1, len(denials), f"{self.evidence.pairs:,} violating pairs")
        return not self.deadline.passed
