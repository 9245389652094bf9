"""The phases of a search that workers of a cluster share: sampling, and the branches of the search itself.

On one machine both are kernels in threads of the driver. Either way the discovered rules are the same: a sample only changes how soon
they are found, and branches have every rule between them exactly once.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np

from rowlaw.discovery.bitsets import one_of_each
from rowlaw.discovery.deadline import Deadline
from rowlaw.discovery.hypergraph import TOO_MANY, Branch, Found, Hypergraph
from rowlaw.discovery.search import branches, minimal_hitting_sets, search_branch
from rowlaw.evidence.evidence import EvidenceSet
from rowlaw.evidence.sample import MOST_ROWS, Sampler
from rowlaw.evidence.slots import Slots
from rowlaw.spark.jobs import SparkTasks, Workers, cores

ALONE = 2.0  # seconds that the driver searches before it calls for help
BRANCHES = 8  # for each worker: they differ much in size


@dataclass(frozen=True)
class Sampling:
    """Samples with a seed of its own, so each worker looks at other pairs, for so many seconds at most."""

    slots: Slots
    seconds: float

    def __call__(self, seed: int, deadline: Deadline | None = None) -> tuple[np.ndarray, np.ndarray]:
        limit = deadline or Deadline.after(self.seconds)
        sampler = Sampler(self.slots, seed)
        sampler.look(lambda: limit.passed)
        evidence = sampler.evidence
        return np.asarray(evidence.signatures), np.asarray(evidence.counts)


def sampled(slots: Slots, seed: int, deadline: Deadline, workers: Workers) -> EvidenceSet:
    """The evidence of a sample; of a table with more rows than a sample looks at, of one from each worker of a cluster.

    In the same rows a second sample finds little that is new, and none is found sooner by many.
    """
    sampling = Sampling(slots, deadline.left)
    if not isinstance(workers, SparkTasks) or slots.relation.rows <= MOST_ROWS:
        return EvidenceSet(*sampling(seed, deadline))
    found = workers.map(sampling, [seed + i for i in range(workers.slots)], "sample pairs of rows")
    return EvidenceSet.merge([EvidenceSet(*part) for part in found])


@dataclass(frozen=True)
class Searching:
    """Searches a branch for so many seconds at most."""

    graph: Hypergraph
    seconds: float

    def __call__(self, branch: Branch) -> Found:
        limit = Deadline.after(self.seconds)
        return search_branch(self.graph, branch, lambda: limit.passed)


def searched(graph: Hypergraph, deadline: Deadline, workers: Workers) -> np.ndarray:
    """All minimal hitting sets, one of each two that mirror each other; of a long search each worker of a cluster takes branches."""
    until = time.monotonic() + ALONE if isinstance(workers, SparkTasks) else math.inf
    found = minimal_hitting_sets(graph, lambda: deadline.passed or time.monotonic() >= until, cores())
    if found.complete or deadline.passed or not isinstance(workers, SparkTasks):
        if not found.complete:
            deadline.stop(TOO_MANY)
        return found.sets
    parts = workers.map(Searching(graph, deadline.left), branches(graph, BRANCHES * workers.slots), "search for rules")
    if not all(part.complete for part in parts):
        deadline.stop(TOO_MANY)
    return one_of_each(np.concatenate([part.sets for part in parts]), graph.exchange)
