"""Pairs of rows that agree on much: neighbours in the groups of each column."""

from __future__ import annotations

import numpy as np

from rowlaw.engine.local.contexts import Contexts, Partition
from rowlaw.relation.pairs import Pairs
from rowlaw.spark.jobs import DriverThreads
from rowlaw.stopping import NEVER, Stop

SAMPLED = 20_000  # neighbours for each column, at most
MANY_ROWS = 1 << 17  # of a larger table, so many rows are enough to find neighbours by a column of few values


def neighbours(contexts: Contexts, stop: Stop = NEVER) -> Pairs:
    """Pairs that agree on a column, for each of the columns, and often on others that follow from it."""
    step = max(1, contexts.relation.rows // MANY_ROWS)

    def partition(column: int) -> Partition:
        few = step > 1 and contexts.has_few_values(column, MANY_ROWS)
        return contexts.thinned(column, step) if few else contexts.single(column)

    pairs = [np.zeros((0, 2), np.int32)]
    for groups in DriverThreads().map(partition, range(len(contexts.columns)), "partition", stop=stop):
        last = np.zeros(len(groups.rows) + 1, bool)
        last[groups.starts[1:]] = True
        at = np.flatnonzero(~last[1:])
        at = at[:: max(1, len(at) // max(1, SAMPLED))][:SAMPLED]
        pairs.append(np.stack((groups.rows[at], groups.rows[at + 1]), axis=1))
    return Pairs(contexts.relation, np.concatenate(pairs))
