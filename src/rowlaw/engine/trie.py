"""Rules that share equalities share the work of grouping by them (FACET section 4).

Each rule's equalities are put in one order, so that rules with a common beginning meet in a trie; a node's groups are refined
from its parent's and used by every rule that ends there. Orders: by ``cost`` (each rule's own plan: cheap predicates
first) or by ``frequency`` (what most rules have comes first, so that more is shared).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from rowlaw.engine.compile import Comparison, Compiled
from rowlaw.engine.plan import order_equalities
from rowlaw.relation.groups import Groups
from rowlaw.rules.model import Predicate

Order = Literal["cost", "frequency"]


@dataclass
class Node:
    """Pairs that satisfy the equalities on the way here; ``rules`` are the numbers of the rules that have just these."""

    equalities: list[Comparison] = field(default_factory=list)
    rules: list[int] = field(default_factory=list)
    children: dict[Predicate, Node] = field(default_factory=dict)

    def all_rules(self) -> Iterator[int]:
        yield from self.rules
        for child in self.children.values():
            yield from child.all_rules()


def build(rules: Sequence[Compiled], order: Order = "cost", alone: Callable[[Compiled], bool] | None = None) -> list[Node]:
    """The roots of the tries of some rules: independent of each other, so each may run on its own.

    Rules share a trie only if the same rows may stand for ``s`` and ``t``. A rule without equalities, or one that is better off
    ``alone``, is a root by itself.
    """
    frequency = Counter(c.predicate for rule in rules for c in rule.equalities)
    roots: dict[tuple[int, int], Node] = {}
    single: list[Node] = []
    for number, rule in enumerate(rules):
        if not rule.equalities or (alone is not None and alone(rule)):
            single.append(Node(rules=[number]))
            continue
        equal = order_equalities(rule)
        if order == "frequency":
            equal = tuple(sorted(equal, key=lambda c: (-frequency[c.predicate], str(c.predicate))))
        node = roots.setdefault((id(rule.s), id(rule.t)), Node())
        for c in equal:
            node = node.children.setdefault(c.predicate, Node([c]))
        node.rules.append(number)
    branches = [child for root in roots.values() for child in root.children.values()]
    return [_compressed(branch) for branch in branches] + single


def _compressed(node: Node) -> Node:
    """A chain without rules in between is one step: one sort by the packed key instead of one per column."""
    while not node.rules and len(node.children) == 1:
        (child,) = node.children.values()
        node = Node([*node.equalities, *child.equalities], child.rules, child.children)
    return Node(node.equalities, node.rules, {p: _compressed(c) for p, c in node.children.items()})


def walk(node: Node, groups: Groups, visit: Callable[[int, Groups], None]) -> None:
    """Call ``visit`` with each rule of a trie and the pairs that satisfy its equalities."""
    if node.equalities:
        groups = groups.refine([c.columns for c in node.equalities])
    for number in node.rules:
        visit(number, groups)
    for child in node.children.values():
        walk(child, groups, visit)
