"""The phases of a search that workers of a cluster share: sampling, and the branches of the search itself.

On one machine both are kernels in threads of the driver. Either way the discovered rules are the same: a sample only changes how soon
they are found, and branches have every rule between them exactly once.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from rowlaw.discovery.deadline import Deadline
from rowlaw.discovery.search import Branch, Found, Hypergraph, branches, minimal_hitting_sets, one_of_each, search_branch
from rowlaw.evidence.evidence import EvidenceSet
from rowlaw.evidence.sample import Sampler
from rowlaw.evidence.slots import Slots
from rowlaw.spark.jobs import SparkTasks, Workers, cores

ALONE = 2.0  # seconds that the driver searches before it calls for help
BRANCHES = 8  # for each worker: they differ much in size


@dataclass(frozen=True)
class Sampling:
    """Samples with a seed of its own, so each worker looks at other pairs."""

    slots: Slots

    def __call__(self, seed: int) -> tuple[np.ndarray, np.ndarray]:
        sampler = Sampler(self.slots, seed)
        sampler.run()
        return np.asarray(sampler.evidence.signatures), np.asarray(sampler.evidence.counts)


def sampled(slots: Slots, seed: int, workers: Workers) -> EvidenceSet:
    """The evidence of a sample: one, or one from each worker of a cluster."""
    seeds = [seed + i for i in range(workers.slots)] if isinstance(workers, SparkTasks) else [seed]
    found = workers.map(Sampling(slots), seeds, "sample pairs of rows")
    return EvidenceSet.merge([EvidenceSet(*part) for part in found])


@dataclass(frozen=True)
class Searching:
    """Searches a branch for so many seconds at most."""

    graph: Hypergraph
    seconds: float | None

    def __call__(self, branch: Branch) -> Found:
        limit = Deadline.after(self.seconds)
        return search_branch(self.graph, branch, lambda: limit.passed)


def searched(graph: Hypergraph, deadline: Deadline, workers: Workers) -> np.ndarray:
    """All minimal hitting sets, one of each two that mirror each other; of a long search each worker of a cluster takes branches."""
    if not isinstance(workers, SparkTasks):
        return minimal_hitting_sets(graph, lambda: deadline.passed, cores()).sets
    if ALONE:
        until = time.monotonic() + ALONE
        found = minimal_hitting_sets(graph, lambda: deadline.passed or time.monotonic() > until, cores())
        if found.complete or deadline.passed:
            return found.sets
    left = None if deadline.moment is None else max(0.0, deadline.moment - time.monotonic())
    parts = workers.map(Searching(graph, left), branches(graph, BRANCHES * workers.slots), "search for rules")
    if not all(part.complete for part in parts):
        deadline.stopped = True
    return one_of_each(graph, np.concatenate([part.sets for part in parts]))
