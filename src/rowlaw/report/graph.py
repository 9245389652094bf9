"""The graph of keys and functional dependencies: which columns there are and what leads to what. The page lays it out
in layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rowlaw.discovery.together import most_specific
from rowlaw.rules import Denial, FunctionalDependency, Key, NamedRule, Rule

MOST = 60  # dependencies and keys that a page has, at most; it draws the first few, and more on demand
_FIRST = 12  # that are drawn at first
STATUSES = ["broken", "warning", "tolerated", "unchecked", "holds"]  # of rules in a report, the worst first


def dependency_graph(rules: Sequence[tuple[NamedRule, str]]) -> dict[str, Any] | None:
    """The keys and dependencies among the rules, in their order; None where there are none.

    >>> from rowlaw.rules import RuleSet
    >>> laws = dependency_graph([(named, "holds") for named in RuleSet.of(["fd (zip) -> city", "key (id)"])])["laws"]
    >>> laws[0]
    {'rule': 'R1', 'status': 'holds', 'left': ['zip'], 'right': 'city'}
    >>> laws[1]
    {'rule': 'R2', 'status': 'holds', 'left': ['id'], 'right': None}
    """
    drawn = [
        (named, status, dependency) for named, status in rules if (dependency := as_dependency(named.rule)) is not None
    ]
    if not drawn:
        return None
    laws = [
        {
            "rule": named.id,
            "status": status,
            "left": list(dependency.columns if isinstance(dependency, Key) else dependency.left),
            "right": None if isinstance(dependency, Key) else dependency.right,
        }
        for named, status, dependency in drawn[:MOST]
    ]
    return {"laws": laws, "first": _FIRST, "left_out": max(0, len(drawn) - MOST)}


def as_dependency(rule: Rule) -> Key | FunctionalDependency | None:
    """A key or a functional dependency, also where it is written as a denial constraint.

    >>> from rowlaw.rules import parse
    >>> str(as_dependency(parse("not (s.zip = t.zip and s.city != t.city)")))
    'fd (zip) -> city'
    """
    if isinstance(rule, Key | FunctionalDependency):
        return rule
    specific = most_specific(rule) if isinstance(rule, Denial) else None
    return specific if isinstance(specific, Key | FunctionalDependency) else None
