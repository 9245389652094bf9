"""Laws that nearly hold in a sample: keys and functional dependencies that a few rows break, measured by g3 and by mu+.

g3 is the smallest share of rows without which a law holds. It is small for left sides that hardly any two rows share,
and for right sides that are nearly constant, whatever the law. mu+ corrects for both: it is how much more often rows
that agree on the left side agree on the right side than chance has it, with a correction for the number of groups
(Piatetsky-Shapiro and Matheus, *Measuring data dependencies in large databases*, KDD workshop 1993; Parciak et al.,
*Measuring approximate functional dependencies*, ICDE 2024).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from rowlaw.kernels import dependence as kernels
from rowlaw.relation.relation import Relation
from rowlaw.rules.model import Nulls
from rowlaw.stopping import NEVER, Stop

_SAMPLED_ROWS = 10_000  # rows that are measured
_LARGE_GROUP = 5  # rows of a group that says something about a law by itself
# rows of a group that differ from its most frequent value, from which on it can be seen whether they agree
_DOUBTFUL = 3
_WIDE = 40  # columns, beyond which only single columns are tried as left sides


@dataclass(frozen=True, slots=True)
class Dependence:
    """How nearly ``left`` determines ``right`` (None: the row, so that ``left`` is a key).

    ``removed``: share of rows to remove (g3). ``mu``: mu+, or for a key the share of collisions by chance that do not
    occur. ``group``: rows that agree on the left side, on average. ``agreed``: the share of the rows in large groups
    whose group has one value in at least half of its rows. ``exceptions``: rows that differ from their group's most
    frequent value, where several do; ``second``: the share of those that have the group's second value. Wrong values
    differ from each other; where a second value is frequent, it is right.
    """

    left: tuple[str, ...]
    right: str | None
    removed: float
    mu: float
    group: float = 0.0
    agreed: float = 0.0
    exceptions: int = 0
    second: float = 0.0


def measured(
    relation: Relation, names: Sequence[str], nulls: Nulls, *, most: int = 2, seed: int = 0, stop: Stop = NEVER
) -> Iterator[Dependence]:
    """Measure all keys and functional dependencies with at most ``most`` columns on the left side, on a sample of the
    rows.

    ``O(c^(most + 1) n)`` for ``c`` columns and ``n`` rows of the sample. Raises ``Stopped`` soon after ``stop`` is
    requested.
    """
    sample = Sample.of(relation, names, nulls, seed)
    for size in range(1, (most if len(names) <= _WIDE else 1) + 1):
        for left in combinations(range(len(names)), size):
            stop.check()
            yield from sample.measure(left)


@dataclass(frozen=True, eq=False)
class Sample:
    """Codes of some rows: ``int32[columns, rows]``, -1 where a comparison is never true."""

    names: Sequence[str]
    codes: np.ndarray

    @staticmethod
    def of(relation: Relation, names: Sequence[str], nulls: Nulls, seed: int = 0) -> Sample:
        rows = relation.rows
        some = (
            np.sort(np.random.default_rng(seed).permutation(rows)[:_SAMPLED_ROWS])
            if rows > _SAMPLED_ROWS
            else np.arange(rows)
        )
        codes = np.empty((len(names), len(some)), np.int32)
        for i, name in enumerate(names):
            column = relation.codes(name)[some]
            if nulls == "unknown":
                known = column >= 0
                codes[i] = -1
                codes[i, known] = np.unique(column[known], return_inverse=True)[1]
            else:
                codes[i] = np.unique(column, return_inverse=True)[1]
        return Sample(names, codes)

    def measure(self, left: tuple[int, ...], rights: Sequence[int] | None = None) -> Iterator[Dependence]:
        """Return what some columns determine: first whether they are a key, then each of the other columns (of
        ``rights``, if given)."""
        groups, number = self.groups(left)
        order = np.empty(int(np.count_nonzero(groups >= 0)), np.int32)
        starts = np.empty(number + 1, np.int64)
        kernels.grouped(groups, number, order, starts)
        determining = tuple(self.names[c] for c in left)
        rows = len(order)
        if rights is None and rows:
            yield Dependence(determining, None, (rows - number) / rows, self._collisions(left, starts))
        for right in range(len(self.names)) if rights is None else rights:
            if right in left or not rows:
                continue
            column = self.codes[right]
            distinct = int(column.max(initial=-1)) + 1
            counts = np.zeros(distinct, np.int32)
            size, held, removed, squares, large, agreed, differing, second = kernels.agreement(
                order, starts, column, counts, _LARGE_GROUP, _DOUBTFUL
            )
            if size:
                mu = self._mu(right, order, size, held, squares)
                shares = agreed / max(1, large), differing, second / max(1, differing)
                yield Dependence(determining, self.names[right], removed / size, mu, size / held, *shares)

    def groups(self, left: tuple[int, ...]) -> tuple[np.ndarray, int]:
        """Return the group of each row by some columns, -1 if one of them is null, and how many groups there are."""
        combined = self.codes[left[0]].astype(np.int64)
        for c in left[1:]:
            column = self.codes[c]
            combined = np.where(
                (combined >= 0) & (column >= 0), combined * (int(column.max(initial=0)) + 1) + column, -1
            )
        known = combined >= 0
        groups = np.full(len(combined), -1, np.int32)
        values, groups[known] = np.unique(combined[known], return_inverse=True)
        return groups, len(values)

    def _mu(self, right: int, order: np.ndarray, size: int, held: int, squares: float) -> float:
        column = self.codes[right][order]
        often = np.bincount(column[column >= 0]).astype(np.float64) / size
        by_chance = float(often @ often)
        # one value on the right side, or only groups of one row: chance explains all
        if by_chance >= 1 or held >= size:
            return 0.0
        return max(0.0, 1 - (1 - squares / size) / (1 - by_chance) * (size - 1) / (size - held))

    def _collisions(self, left: tuple[int, ...], starts: np.ndarray) -> float:
        """Return one minus the pairs that agree on all the columns, as a share of those that would by chance."""
        sizes = np.diff(starts).astype(np.float64)
        expected = float(sizes.sum()) ** 2
        if len(left) == 1:  # as if each value were as frequent as any other
            expected /= max(1, len(sizes))
        else:
            for c in left:
                often = np.bincount(self.codes[c][self.codes[c] >= 0]).astype(np.float64)
                expected *= float(often @ often) / max(1.0, float(often.sum()) ** 2)
        return max(0.0, 1 - float(sizes @ (sizes - 1)) / expected) if expected else 0.0
