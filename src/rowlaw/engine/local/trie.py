"""Rules that share equalities share the work of grouping by them (FACET section 4).

Each rule's equalities are put in the order of its plan, cheap ones first, so that rules with a common beginning meet in
a trie; a node's groups are refined from its parent's and used by every rule that ends there. Rows with an unknown value
in an equality are left out where the trie groups by it, rows with an unknown value elsewhere are left out at the end,
rule by rule: so they do not keep rules from sharing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from rowlaw.engine.local.compile import Base, Comparison, Compiled
from rowlaw.engine.local.costs import SHARED_ROWS
from rowlaw.engine.local.plan import order_equalities
from rowlaw.kernels import groups as kernels
from rowlaw.relation.groups import Groups, Side
from rowlaw.rules.model import Predicate


@dataclass
class Node:
    """Pairs that satisfy the equalities on the way here; ``rules`` are the numbers of the rules that have just
    these."""

    equalities: list[Comparison] = field(default_factory=list)
    rules: list[int] = field(default_factory=list)
    children: dict[Predicate, Node] = field(default_factory=dict)

    def all_rules(self) -> Iterator[int]:
        yield from self.rules
        for child in self.children.values():
            yield from child.all_rules()


@dataclass(frozen=True)
class Trie:
    """Rules that share groups, or one rule by itself.

    ``base`` are the rows to group where the rules have not all the same rows, since different values are unknown to
    them.
    """

    root: Node
    base: Base | None

    @property
    def shared(self) -> bool:
        """Whether groups are made here for more than one rule."""
        return len(self.root.rules) > 1 or bool(self.root.children)

    def walk(
        self, rules: Sequence[Compiled], only: Collection[int] | None = None
    ) -> Iterator[tuple[int, Groups | None]]:
        """The rules of the trie (or ``only`` some of them), each with the pairs that satisfy its equalities, None if it
        shares no groups.

        ``rules`` are those that the trie was built from.
        """
        if self.shared:
            grouped = self.base or rules[next(self.root.all_rules())]
            yield from self._walk(self.root, Groups.whole(grouped.s, grouped.t), rules, only)
        elif only is None or self.root.rules[0] in only:
            yield self.root.rules[0], None

    def _walk(
        self, node: Node, groups: Groups, rules: Sequence[Compiled], only: Collection[int] | None
    ) -> Iterator[tuple[int, Groups]]:
        if only is not None and not any(number in only for number in node.all_rules()):
            return
        if node.equalities:
            if self.base is not None:
                groups = known_in(groups, node.equalities)
            groups = groups.refine([c.columns for c in node.equalities])
        for number in node.rules:
            if only is None or number in only:
                yield number, groups if self.base is None else known_in(groups, rules[number].others)
        for child in node.children.values():
            yield from self._walk(child, groups, rules, only)


def build(rules: Sequence[Compiled], alone: Callable[[int], bool] | None = None) -> list[Trie]:
    """The tries of some rules: independent of each other, so each may run on its own.

    Rules share a trie only if the same rows may stand for ``s`` and ``t``, unknown values aside. A rule without
    equalities, or one that is better off ``alone`` (asked by its number) or has no rule to share with, is a trie by
    itself: visitors order its equalities.
    """
    sharing: dict[Hashable, list[int]] = {}
    single: list[int] = []
    for number, rule in enumerate(rules):
        if not rule.equalities or (alone is not None and alone(number)):
            single.append(number)
        else:
            base = rule.base
            key = base.key if base is not None and _worth_sharing(rule, base) else rule.rows_key
            sharing.setdefault(key, []).append(number)
    tries: list[Trie] = []
    for numbers in sharing.values():
        if len(numbers) == 1:
            single += numbers
            continue
        root = Node()
        ordered: dict[frozenset[Predicate], tuple[Comparison, ...]] = {}  # one order, whatever rows are left out
        for number in numbers:
            equal = frozenset(c.predicate for c in rules[number].equalities)
            if equal not in ordered:
                ordered[equal] = order_equalities(rules[number])
            node = root
            for c in ordered[equal]:
                node = node.children.setdefault(c.predicate, Node([c]))
            node.rules.append(number)
        tries += [_trie(_compressed(branch), rules) for branch in root.children.values()]
    return tries + [_trie(Node(rules=[number]), rules) for number in single]


def _worth_sharing(rule: Compiled, base: Base) -> bool:
    """Whether the rule needs a good part of the rows that its equalities alone would group."""
    for size, all_rows, unknown in (
        (rule.s_size, base.s, [c.columns.left for c in rule.equalities if c.s_unknown]),
        (rule.t_size, base.t, [c.columns.right for c in rule.equalities if c.t_unknown]),
    ):
        grouped = all_rows
        if size < SHARED_ROWS * len(grouped):
            for codes in unknown:
                grouped = grouped[codes[grouped] >= 0]
            if size < SHARED_ROWS * len(grouped):
                return False
    return True


def _trie(root: Node, rules: Sequence[Compiled]) -> Trie:
    """Where all rules have the same rows, those are grouped and nothing has to be left out later."""
    numbers = list(root.all_rules())
    same = len({rules[n].rows_key for n in numbers}) == 1
    return Trie(root, None if same else rules[numbers[0]].base)


def _compressed(node: Node) -> Node:
    """A chain without rules in between is one step: one sort by the packed key instead of one per column."""
    while not node.rules and len(node.children) == 1:
        (child,) = node.children.values()
        node = Node([*node.equalities, *child.equalities], child.rules, child.children)
    return Node(node.equalities, node.rules, {p: _compressed(c) for p, c in node.children.items()})


def known_in(groups: Groups, comparisons: Sequence[Comparison]) -> Groups:
    """The pairs whose values in the comparisons are all known."""
    s_codes = {id(c.columns.left): c.columns.left for c in comparisons if c.s_unknown}
    t_codes = {id(c.columns.right): c.columns.right for c in comparisons if c.t_unknown}
    if not s_codes and not t_codes:
        return groups
    s, t = groups.s, groups.t
    s_keep = _known(s, s_codes.values())
    if groups.reflexive and s_codes.keys() == t_codes.keys():
        side = Side(*kernels.kept_reflexive(s.rows, s.starts, s_keep))
        return Groups(side, side)
    s_rows, s_starts, t_rows, t_starts = kernels.kept_sides(
        s.rows, s.starts, s_keep, t.rows, t.starts, _known(t, t_codes.values())
    )
    return Groups(Side(s_rows, s_starts), Side(t_rows, t_starts))


def _known(side: Side, columns: Collection[np.ndarray]) -> np.ndarray:
    keep = np.ones(len(side.rows), np.bool_)
    for codes in columns:
        kernels.mark_unknown(side.rows, codes, keep)
    return keep
