"""Lexicographic order dependencies, ``od [year, week desc] -> [quarter]``: what they say as set-based ones, and shorter
sort lists.

>>> from rowlaw.rules.parse import parse
>>> [str(rule) for rule in set_based(parse("od [a, b] -> [c, d desc]"), "equal")]
['fd (a, b) -> c', 'fd (a, b) -> d', 'od {}: a ~ c', 'od {c}: a ~ d desc', 'od {a}: b ~ c', 'od {a, c}: b ~ d desc']

Reference: HyOD section III (the mapping of Szlichta et al., VLDB Journal 2018).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from rowlaw.rules.consequences import Consequences
from rowlaw.rules.model import (
    FunctionalDependency,
    Nulls,
    OrderCompatible,
    OrderDependency,
    SortColumn,
)

SetBased: TypeAlias = FunctionalDependency | OrderCompatible


def set_based(rule: OrderDependency, nulls: Nulls = "unknown") -> tuple[SetBased, ...]:
    """The set-based dependencies that together say the same; those that are true on every table are left out.

    Rows that tie on the left must tie on the right; and where rows differ first in ``A`` on the left and first in ``B``
    on the right, these must not run in opposite directions. So there is a functional dependency for each column on the
    right, and an order compatibility for each pair of columns, in the context of the columns before both. With unknown
    nulls a column on the right only decides where the ones before it are known to be equal, so they join the left side.
    """
    dependencies: dict[SetBased, None] = {}
    everything = tuple(c.name for c in rule.left)
    for j, right in enumerate(rule.right):
        before = tuple(c.name for c in rule.right[:j])
        if right.name not in (*everything, *before):
            dependencies[FunctionalDependency(everything + (before if nulls == "unknown" else ()), right.name)] = None
    for i, left in enumerate(rule.left):
        for j, right in enumerate(rule.right):
            compatible = _compatible([c.name for c in (*rule.left[:i], *rule.right[:j])], left, right)
            if compatible is not None:
                dependencies[compatible] = None
    return tuple(dependencies)


def _compatible(context: Sequence[str], left: SortColumn, right: SortColumn) -> SetBased | None:
    """What keeps two sort columns from running in opposite directions; None if nothing has to."""
    descending = left.descending != right.descending
    if left.name in context or right.name in context or (left.name == right.name and not descending):
        return None
    if left.name == right.name:  # a column that runs against itself is constant
        return FunctionalDependency(tuple(context), left.name)
    return OrderCompatible(tuple(context), left.name, right.name, descending)


def shortest(columns: Sequence[SortColumn], also: Sequence[str], known: Consequences) -> list[SortColumn]:
    """The shortest sort list over the columns of the given one (and ``also``) that orders rows as that does, up to its
    ties.

    Among several, one that keeps to the given order and directions. Which column may come next, and whether ties are
    left, depends on the *set* of columns before and not on their order: so at most ``2**n`` lists of ``n`` columns are
    looked at, in order of length.
    """
    given: dict[str, SortColumn] = {}
    for column in columns:
        given.setdefault(column.name, column)  # one that comes again decides nothing
    wanted = list(given.values())
    options = [*wanted, *(SortColumn(c.name, not c.descending) for c in wanted)]
    options += [SortColumn(name, down) for name in also if name not in given for down in (False, True)]
    frontier: dict[frozenset[str], tuple[SortColumn, ...]] = {frozenset(): ()}
    while True:
        for names, chosen in frontier.items():
            if _ties(names, wanted, known):
                return list(chosen)
        longer: dict[frozenset[str], tuple[SortColumn, ...]] = {}
        for names, chosen in frontier.items():
            for option in options:
                grown = names | {option.name}
                if option.name not in names and grown not in longer and _may_follow(names, option, wanted, known):
                    longer[grown] = (*chosen, option)
        frontier = longer  # never empty: the given list is always an answer


def _ties(names: frozenset[str], wanted: Sequence[SortColumn], known: Consequences) -> bool:
    """Whether rows that tie on the columns tie on the wanted list."""
    return all(
        known.include(FunctionalDependency((*names, *(c.name for c in wanted[:j])), right.name))
        for j, right in enumerate(wanted)
    )


def _may_follow(names: frozenset[str], option: SortColumn, wanted: Sequence[SortColumn], known: Consequences) -> bool:
    """Whether rows that tie on the columns, sorted by another one, are in the wanted order."""
    rules = (_compatible([*names, *(c.name for c in wanted[:j])], option, right) for j, right in enumerate(wanted))
    return all(rule is None or known.include(rule) for rule in rules)
