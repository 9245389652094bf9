"""The phases of a search that workers of a cluster share: sampling, and the branches of the search itself.

On one machine both are kernels in threads of the driver. Either way the discovered rules are the same: a sample only
changes how soon they are found, and branches have every rule between them exactly once.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace

import numpy as np

from rowlaw.deadline import Deadline
from rowlaw.evidence.evidence import EvidenceSet
from rowlaw.evidence.sample import MOST_ROWS, SampleOptions, Sampler
from rowlaw.evidence.slots import Slots
from rowlaw.search.bitsets import one_of_each
from rowlaw.search.hypergraph import TOO_MANY, Branch, Found, Hypergraph
from rowlaw.search.search import branches, minimal_hitting_sets, search_branch
from rowlaw.spark.jobs import Workers, cores, finished

ALONE_SECONDS = 2.0  # of searching in the driver before it calls for help
_SEARCH_GRACE = 0.8  # seconds for a search to hand over what it found when it is stopped
SAMPLED = 0.3  # of the time left, for sampling
_BRANCHES = 8  # for each worker: they differ much in size


@dataclass(frozen=True)
class Sampling:
    """Samples with a seed of its own, so each worker looks at other pairs, for so many seconds at most."""

    slots: Slots
    options: SampleOptions
    seconds: float

    def __call__(self, seed: int, deadline: Deadline | None = None) -> tuple[np.ndarray, np.ndarray]:
        limit = deadline or Deadline(time.monotonic() + self.seconds)
        sampler = Sampler(self.slots, replace(self.options, seed=seed))
        sampler.look(limit)
        evidence = sampler.evidence
        return np.asarray(evidence.signatures), np.asarray(evidence.counts)


def sampled(slots: Slots, options: SampleOptions, deadline: Deadline, workers: Workers) -> EvidenceSet:
    """The evidence of a sample; of a table with more rows than a sample looks at, of one from each worker of a cluster.

    In the same rows a second sample finds little that is new, and none is found sooner by many. Of a limited time,
    sampling takes a share: what it did not see the engine finds. Raises ``Stopped`` soon after the deadline.
    """
    part = deadline.part(SAMPLED)
    sampling = Sampling(slots, options, part.left)
    if workers.session is None or slots.rows <= MOST_ROWS:
        return EvidenceSet(*finished(lambda: sampling(options.seed, part), deadline))
    samples = workers.map(
        sampling, [options.seed + i for i in range(workers.slots)], "sample pairs of rows", stop=deadline
    )
    return finished(lambda: EvidenceSet.merge([EvidenceSet(*evidence) for evidence in samples]), deadline)


@dataclass(frozen=True)
class Searching:
    """Searches a branch for so many seconds at most."""

    graph: Hypergraph
    seconds: float

    def __call__(self, branch: Branch) -> Found:
        return search_branch(self.graph, branch, Deadline(time.monotonic() + self.seconds))


def searched(graph: Hypergraph, deadline: Deadline, workers: Workers) -> np.ndarray:
    """All minimal hitting sets, one of each two that mirror each other; of a long search each worker of a cluster takes
    branches.

    Those found before the deadline, if it passes; raises ``Stopped`` if that cannot be waited for.
    """
    until = time.monotonic() + ALONE_SECONDS if workers.session is not None else math.inf

    def search() -> Found:
        return minimal_hitting_sets(graph, lambda: deadline.passed or time.monotonic() >= until, cores())

    hitting = finished(search, deadline, _SEARCH_GRACE)
    if hitting.complete or deadline.passed or workers.session is None:
        if not hitting.complete:
            deadline.stop(TOO_MANY)
        return hitting.sets
    parts = workers.map(
        Searching(graph, deadline.left), branches(graph, _BRANCHES * workers.slots), "search for rules", stop=deadline
    )
    if not all(part.complete for part in parts):
        deadline.stop(TOO_MANY)
    return one_of_each(np.concatenate([part.sets for part in parts]), graph.exchange)
