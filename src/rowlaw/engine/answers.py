"""The answers of an engine that are small: counts, the first violations, the rows to remove. Larger answers are frames.

Nothing here knows where the rows are: not their positions, not how they are stored.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from rowlaw.errors import RowlawError
from rowlaw.rules.model import Column, Rule, TypeClass, about_single_rows

Side = Literal["all", "old", "new"]
RESERVED = ("rule", "s_row", "t_row")  # columns that every table of violations has
# of a check against old rows: the column that says whether a row is a new one
NEW_ROWS = {"s_row": "new_s", "t_row": "new_t"}


@dataclass(frozen=True, slots=True)
class Sides:
    """Which rows may stand for ``s`` and which for ``t``. A table that was opened against another has old rows and new
    ones."""

    s: Side = "all"
    t: Side = "all"


EVERY_PAIR = Sides()
NEW_PAIRS = (Sides("new", "all"), Sides("old", "new"))  # disjoint: together all pairs with at least one new row


class RuleCount(Protocol):
    """The violations of one rule; an engine may count the rows that take part only when they are asked for."""

    @property
    def pairs(self) -> int:
        """Count of violating ordered pairs of rows (rows, if the rule is about single rows)."""

    @property
    def rows(self) -> int:
        """Count of rows that take part in a violation."""


@dataclass(frozen=True, slots=True)
class Count:
    """A :class:`RuleCount` that is known."""

    pairs: int
    rows: int


@dataclass(frozen=True, slots=True)
class Removal:
    """Rows without which a rule holds: how many, and the ids of the first ones. ``exact``: no smaller set of rows will
    do."""

    count: int
    exact: bool
    first: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class WorstRow:
    """A row that takes part in many violations: its id, the violations over all rules, those of each rule, and some of
    its values."""

    row: Any
    pairs: int
    pairs_of: dict[int, int]  # index of the rule -> violations that the row takes part in; only rules that it breaks
    values: tuple[Any, ...]


def folder_exists(path: str) -> RowlawError:
    """The error about a folder of violations that is there already: what is in it stays as it is."""
    problem = "it exists already, and is left as it is; give another name, or delete it first"
    return RowlawError("BAD_OPTION", option="violations", value=path, problem=problem)


@dataclass(frozen=True, slots=True)
class ColumnProfile:
    """What the values of a column are like. ``frequent``: the most frequent values with their counts, most frequent
    first."""

    name: str
    type: str  # as users call it
    kind: TypeClass
    rows: int
    nulls: int
    distinct: int  # values, null not counted
    lowest: Any
    highest: Any
    frequent: tuple[tuple[Any, int], ...]
    exact: bool = True  # whether `distinct` and `frequent` are counts, not estimates

    @property
    def unique(self) -> bool:
        """Whether no value repeats and none is null, as far as it is known."""
        return self.exact and self.rows > 0 and self.distinct == self.rows

    @property
    def constant(self) -> bool:
        return self.distinct == 1 and not self.nulls


def value_names(columns: Iterable[str]) -> dict[tuple[str, str], str]:
    """Name the values of both rows in a table of violations: ``(row, column) -> name``, for example ``("s", "city") ->
    "s_city"``.

    >>> value_names(["city", "row"])
    {('s', 'city'): 's_city', ('t', 'city'): 't_city', ('s', 'row'): 's_row_', ('t', 'row'): 't_row_'}
    """
    taken, names = set(RESERVED), {}
    for column in sorted(set(columns)):
        for row in ("s", "t"):
            name = f"{row}_{column}"
            while name in taken:  # a column that is called "row"
                name += "_"
            taken.add(name)
            names[row, column] = name
    return names


def compared(rule: Rule) -> list[tuple[str, str]]:
    """List what a rule compares, as ``(row, column)``, in the order of :func:`value_names`."""
    operands = (
        o for denial in rule.denials for p in denial.predicates for o in (p.left, p.right) if isinstance(o, Column)
    )
    used = {(o.name, o.row) for o in operands}
    return [(row, column) for column, row in sorted(used)]


def row_columns(rule: Rule) -> tuple[str, ...]:
    """Name the columns of row ids in a violation of the rule: one row, or two."""
    return ("s_row",) if about_single_rows(rule) else ("s_row", "t_row")
