"""Questions about rows that agree on the same columns: keys, functional dependencies and order compatibilities by
context.

Columns go by their index in a list that the asker gives, because discovery asks tens of thousands of these questions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rowlaw.rules.model import Denial, Op, Predicate, between_rows


class Target(NamedTuple):
    """What is asked about rows that agree on a context: to be a key (no columns), to agree on ``left`` as well, or to
    have ``left`` and ``right`` in the same order (``descending``: in opposite order)."""

    left: int = -1
    right: int = -1
    descending: bool = False

    def broken_by(self, names: Sequence[str]) -> tuple[Predicate, ...]:
        """What is true of two rows that agree on the context and break the target."""
        if self.left < 0:
            return ()
        if self.right < 0:
            return (between_rows(names[self.left], Op.NE),)
        return (
            between_rows(names[self.left], Op.LT),
            between_rows(names[self.right], Op.LT if self.descending else Op.GT),
        )


class Question(NamedTuple):
    """The targets that are asked about one context."""

    context: tuple[int, ...]
    targets: tuple[Target, ...]

    def denials(self, names: Sequence[str]) -> list[Denial | None]:
        """For each target what it denies; None for a key of no columns, which any two rows break."""
        equal = tuple(between_rows(names[c], Op.EQ) for c in self.context)
        broken_by = [(*equal, *target.broken_by(names)) for target in self.targets]
        return [Denial(predicates) if predicates else None for predicates in broken_by]
