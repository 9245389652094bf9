"""Rules that share equalities share the work of grouping by them (FACET section 4).

Each rule's equalities are put in the order of its plan, cheap ones first, so that rules with a common beginning meet in a trie; a
node's groups are refined from its parent's and used by every rule that ends there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from rowlaw.engine.compile import Comparison, Compiled
from rowlaw.engine.plan import order_equalities
from rowlaw.relation.groups import Groups
from rowlaw.rules.model import Predicate


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


def build(rules: Sequence[Compiled], alone: Callable[[Compiled], bool] | None = None) -> list[Node]:
    """The roots of the tries of some rules: independent of each other, so each may run on its own.

    Rules share a trie only if the same rows may stand for ``s`` and ``t``. A rule without equalities, or one that is better off
    ``alone`` or has nobody to share with, is a root by itself: whoever visits it orders its equalities.
    """
    sharing: dict[tuple[int, int], list[int]] = {}
    single: list[int] = []
    for number, rule in enumerate(rules):
        if not rule.equalities or (alone is not None and alone(rule)):
            single.append(number)
        else:
            sharing.setdefault((id(rule.s), id(rule.t)), []).append(number)
    branches: list[Node] = []
    for numbers in sharing.values():
        if len(numbers) == 1:
            single += numbers
            continue
        root = Node()
        for number in numbers:
            node = root
            for c in order_equalities(rules[number]):
                node = node.children.setdefault(c.predicate, Node([c]))
            node.rules.append(number)
        branches += root.children.values()
    return [_compressed(branch) for branch in branches] + [Node(rules=[number]) for number in single]


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
