"""Rules that say the same in other columns are one line of the list: one of them is shown, the others are named beside
it.

Where ``phone`` and ``provider`` determine each other, ``fd (provider) -> city`` and ``fd (phone) -> city`` say the
same. A rule also restates another if its equalities determine those of the other: with ``fd (zip) -> state`` a law
about rows of one state is one about rows of one zip. So does a rule about two rows that says no more than a comparison
which every row obeys. And of laws that hold because nothing could break them, in either direction, none is shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rowlaw.rules.implication import is_trivial
from rowlaw.rules.model import Denial, FunctionalDependency, Key, Op, OrderCompatible, Predicate, Rule

Columns = frozenset[str]


@dataclass(frozen=True)
class Closures:
    """What columns determine, by the functional dependencies with few columns on the left side."""

    dependencies: tuple[tuple[Columns, str], ...]

    @staticmethod
    def of(rules: Iterable[Rule]) -> Closures:
        return Closures(tuple((frozenset(r.left), r.right) for r in rules if isinstance(r, FunctionalDependency)))

    def of_columns(self, columns: Columns) -> Columns:
        """The columns that some columns determine, themselves among them."""
        grown = set(columns)
        rest = self.dependencies
        while True:
            waiting = []
            for left, right in rest:
                if left <= grown:
                    grown.add(right)
                elif right not in grown:
                    waiting.append((left, right))
            if len(waiting) == len(rest) or not waiting:
                return frozenset(grown)
            rest = tuple(waiting)


def fold(rules: Sequence[Rule], closures: Closures) -> tuple[list[int | None], list[int | None]]:
    """For each rule, in order of rank, the earlier rule of which it is an alternative, and the earlier rule that it
    restates, or None.

    *Alternatives* determine each other: either may be shown. Keys of one column are never alternatives, as each is a
    name of its own.
    """
    alternative: list[int | None] = [None] * len(rules)
    restates: list[int | None] = [None] * len(rules)
    by_rest: dict[object, list[tuple[int, Columns, Columns]]] = {}
    known: dict[Columns, Columns] = {}

    def closure(columns: Columns) -> Columns:
        if columns not in known:
            known[columns] = closures.of_columns(columns)
        return known[columns]

    in_row = {
        rule: i for i, rule in enumerate(rules) if isinstance(rule, Denial) and len(rule.predicates) == rule.arity == 1
    }
    for i, rule in enumerate(rules):
        if isinstance(rule, Denial) and (law := next((law for law in in_row if _follows(rule, law)), None)) is not None:
            restates[i] = in_row[law]
            continue
        equal, rest = _parts(rule)
        if isinstance(rule, FunctionalDependency) and not rule.left:
            rest = "constant"  # all constant columns are one line
        elif isinstance(rule, Key):
            if len(equal) == 1:
                continue
            rest = ("key", frozenset(closure(frozenset((name,))) for name in equal))
        mine = closure(equal)
        for other, needed, reached in by_rest.get(rest, ()):
            if isinstance(rule, Key) or not equal or (needed <= mine and equal <= reached):
                alternative[i] = other
                break
            if needed <= mine and not isinstance(rule, FunctionalDependency):
                restates[i] = other
                break
        if alternative[i] is None and restates[i] is None:
            by_rest.setdefault(rest, []).append((i, equal, mine))
    return alternative, restates


def _follows(rule: Denial, law: Denial) -> bool:
    """Whether a rule about two rows holds wherever each row obeys a law by itself: ``not (s.a > t.a and s.a <= t.b)``
    if no row has ``a`` below ``b``."""
    if rule.arity == 1 or not set(law.columns) <= set(rule.columns):
        return False
    (denied,) = law.predicates
    obeyed = Predicate(denied.left, Op(7 & ~denied.op), denied.right)
    return is_trivial(Denial((*rule.predicates, obeyed, obeyed.exchanged)))


def not_both_ways(rules: Sequence[Rule]) -> list[Rule]:
    """The rules without order compatibilities that hold in both directions: there one side is constant wherever the
    other is not."""
    held = {(r.context, r.left, r.right, r.descending) for r in rules if isinstance(r, OrderCompatible)}
    return [
        r
        for r in rules
        if not (isinstance(r, OrderCompatible) and (r.context, r.left, r.right, not r.descending) in held)
    ]


def _parts(rule: Rule) -> tuple[Columns, object]:
    """The columns that a rule asks to be equal, and its other comparisons."""
    if isinstance(rule, Key):
        return frozenset(rule.columns), "key"
    if isinstance(rule, FunctionalDependency):
        return frozenset(rule.left), rule.right
    denial: Denial = rule.denials[0]
    equal: set[str] = set()
    rest: set[Predicate] = set()
    for p in denial.predicates:
        if p.same_column and p.op == Op.EQ:
            equal.add(p.left.name)
        else:
            rest.add(p)
    return frozenset(equal), frozenset(rest)
