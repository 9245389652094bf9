"""A counting method: what it is called, when it applies, what it costs and what it does."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, Protocol

import numpy as np

from rowlaw.engine.local.compile import Compiled
from rowlaw.engine.local.costs import GROUP, REPEATING_SAMPLE, sort_seconds
from rowlaw.engine.local.plan import order_equalities
from rowlaw.kernels.sort import sorted_distinct
from rowlaw.relation.groups import Groups, Side, span


def _no_tally() -> np.ndarray:
    return np.zeros(0, np.uint32)


@dataclass(frozen=True)
class Question:
    """A rule to count in a table of ``rows`` rows, and what methods know of it by now.

    ``shared`` are the pairs that satisfy its equalities, where they were grouped for several rules. ``tally`` (uint32,
    one for each row of the table, zero; empty if not wanted) is written: the pairs that each row takes part in.
    """

    rule: Compiled
    rows: int
    shared: Groups | None = None
    tally: np.ndarray = field(default_factory=_no_tally)

    @cached_property
    def groups(self) -> Groups:
        """The pairs that satisfy the equalities."""
        if self.shared is not None:
            return self.shared
        return Groups.whole(self.rule.s, self.rule.t).refine([c.columns for c in order_equalities(self.rule)])

    @cached_property
    def pairs(self) -> float:
        """How many pairs satisfy the equalities."""
        return float(np.diff(self.groups.s.starts).astype(np.float64) @ np.diff(self.groups.t.starts))

    @cached_property
    def distinct(self) -> float:
        """About how many combinations of values the rows ``s`` have in the rule's columns, by how often two of a sample
        are alike."""
        rows = self.rule.s
        places = sorted_distinct(np.random.default_rng(0).integers(0, len(rows), REPEATING_SAMPLE))
        keys, _ = Side.whole(rows[places]).keys([c.columns.of_s for c in self.rule.comparisons])
        alike = len(keys) - len(sorted_distinct(keys))
        return float(len(keys) ** 2 / 2 / max(alike, 0.5))

    @property
    def both(self) -> int:
        """Rows in the role of ``s`` and rows in the role of ``t``."""
        return self.rule.s_size + self.rule.t_size

    @property
    def sorted_rows(self) -> int:
        """Rows to sort: once if the same rows and columns stand on both sides."""
        return self.rule.s_size if self.rule.reflexive else self.both

    @property
    def rows_per_group(self) -> float:
        """Rows in the group of a row, on average: as the groups are if they are made, else if all possible groups were
        as large."""
        if self.shared is not None or "groups" in self.__dict__:
            return max(2.0, self.pairs / max(1, len(self.groups.s.rows)))
        return max(2.0, self.rule.s_size / span(1, [c.columns.of_s for c in self.rule.equalities]))

    @property
    def grouping_seconds(self) -> float:
        """Cost estimate of making the groups; nothing where they are shared."""
        if self.shared is not None or not self.rule.equalities:
            return 0.0
        return sort_seconds(self.sorted_rows, [c.columns.of_s for c in self.rule.equalities]) + self.sorted_rows * GROUP


class Method(Protocol):
    """A way to count the violations of rules of some shape."""

    name: ClassVar[str]
    own_groups: ClassVar[bool]  # needs no shared groups: a rule counted so is left out of tries
    divisible: ClassVar[bool]  # pieces of a rule, counted each by itself, take no longer together than the whole
    after_grouping: ClassVar[bool]  # whether it applies is known only once the groups are made
    may_decline: ClassVar[bool]

    def applies(self, question: Question) -> bool:
        """Whether the method can count the rule and is likely to be the quickest of those that can."""

    def because(self, question: Question) -> str:
        """Why it applies, for people."""

    def seconds(self, question: Question) -> float:
        """Cost estimate in seconds on one core."""

    def count(self, question: Question) -> int | None:
        """The number of violations; ``question.tally`` gets those of each row. None: declined, and nothing was
        written."""
