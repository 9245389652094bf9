"""Laws of several kinds in one list: none twice, each under its most specific kind, and none that others in the list
imply.

A denial constraint says the same as its *strict cases* together: ``<=`` is ``<`` or ``=``, ``!=`` is ``<`` or ``>``. It
need not be listed if a key, a functional dependency or an order compatibility in the list denies every case. So ``not
(s.a = t.a and s.b < t.b and s.c >= t.c)`` is no news beside ``od {a}: b ~ c`` and ``fd (a, c) -> b``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, product

from rowlaw.deadline import Deadline
from rowlaw.rules.implication import implies
from rowlaw.rules.model import Denial, FunctionalDependency, Key, Op, OrderCompatible, Rule

COMPARED = 0.4  # of the time left for ranking, for finding what follows from others
PORTION = 16  # laws between two looks at the clock
_STRICT = {Op.LE: (Op.LT, Op.EQ), Op.GE: (Op.GT, Op.EQ), Op.NE: (Op.LT, Op.GT)}

Dependency = Key | FunctionalDependency | OrderCompatible


def most_specific(denial: Denial) -> Rule:
    """A denial constraint as a key, functional dependency or order compatibility, if it is one.

    >>> from rowlaw.rules import parse
    >>> denied = ["s.a = t.a", "s.a = t.a and s.b != t.b", "s.b < t.b and s.a < t.a", "s.b < t.b and s.a <= t.a"]
    >>> [str(most_specific(parse(f"not ({text})"))) for text in denied]
    ['key (a)', 'fd (a) -> b', 'od {}: a ~ b desc', 'not (s.b < t.b and s.a <= t.a)']
    """
    if not all(p.same_column for p in denial.predicates):
        return denial
    equal = tuple(p.left.name for p in denial.predicates if p.op == Op.EQ)
    rest = [p for p in denial.predicates if p.op != Op.EQ]
    if not rest:
        return Key(equal)
    if len(rest) == 1 and rest[0].op == Op.NE:
        return FunctionalDependency(equal, rest[0].left.name)
    if len(rest) == 2 and all(p.op in (Op.LT, Op.GT) for p in rest):
        return OrderCompatible(equal, rest[0].left.name, rest[1].left.name, descending=rest[0].op == rest[1].op)
    return denial


class Implied:
    """Whether a denial constraint follows from some keys, functional dependencies and order compatibilities.

    >>> from rowlaw.rules import parse
    >>> known = Implied([parse("od {a}: b ~ c"), parse("fd (a, c) -> b")])
    >>> parse("not (s.a = t.a and s.b < t.b and s.c >= t.c)") in known
    True
    >>> parse("not (s.a = t.a and s.b <= t.b and s.c >= t.c)") in known
    False
    """

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._keys: set[frozenset[str]] = set()
        self._determined: dict[str, set[frozenset[str]]] = {}
        self._ordered: dict[tuple[str, str, bool], set[frozenset[str]]] = {}
        for rule in rules:
            if isinstance(rule, Key):
                self._keys.add(frozenset(rule.columns))
            elif isinstance(rule, FunctionalDependency):
                self._determined.setdefault(rule.right, set()).add(frozenset(rule.left))
            elif isinstance(rule, OrderCompatible):
                self._ordered.setdefault((rule.left, rule.right, rule.descending), set()).add(frozenset(rule.context))

    def __contains__(self, denial: Denial) -> bool:
        return denial.arity == 2 and all(self._denies(case) for case in _strict_cases(denial))

    def _denies(self, case: dict[str, Op]) -> bool:
        """Whether no two rows can compare so, column by column."""
        equal = sorted(name for name, op in case.items() if op == Op.EQ)
        other = sorted(name for name, op in case.items() if op != Op.EQ)
        wanted = [left_sides for name in other if (left_sides := self._determined.get(name))]
        for a, b in combinations(other, 2):
            if left_sides := self._ordered.get((a, b, case[a] == case[b])):
                wanted.append(left_sides)
        if self._keys:
            wanted.append(self._keys)
        if not wanted:
            return False
        parts = (frozenset(part) for size in range(len(equal) + 1) for part in combinations(equal, size))
        return any(part in some for part in parts for some in wanted)


def _strict_cases(denial: Denial) -> Iterator[dict[str, Op]]:
    """The ways in which two rows can satisfy the comparisons of one column, each with ``<``, ``=`` or ``>``."""
    compared = [p for p in denial.predicates if p.same_column]
    for ops in product(*(_STRICT.get(p.op, (p.op,)) for p in compared)):
        yield {p.left.name: op for p, op in zip(compared, ops, strict=True)}


def listed(dependencies: Sequence[Dependency], denials: Sequence[Denial], *, exact: bool) -> list[Rule]:
    """What to list of laws found one kind at a time.

    ``exact``: the laws hold without exception. Else shares of exceptions, which each kind counts in its own way, do not
    add up, and only what follows from a single law is left out.
    """
    return listed_until(Deadline(), dependencies, denials, exact=exact)[0]


def listed_until(
    limit: Deadline, dependencies: Sequence[Dependency], denials: Sequence[Denial], *, exact: bool
) -> tuple[list[Rule], bool]:
    """As :func:`listed`, of the laws that come first if there is not time for all; and whether there was."""
    keys = Implied(rule for rule in dependencies if isinstance(rule, Key))

    def not_keys(some: Sequence[Dependency]) -> list[Rule]:
        return [rule for rule in some if isinstance(rule, Key) or rule.denials[0] not in keys]

    kept, number = limit.made(COMPARED, dependencies, not_keys, PORTION)
    known = Implied(kept)

    def not_known(some: Sequence[Denial]) -> list[Rule]:
        return [d for d in some if (d not in known if exact else not follows_from_one(d, kept))]

    others, more = limit.made(COMPARED, denials, not_known, PORTION)
    return kept + others, number == len(dependencies) and more == len(denials)


def follows_from_one(denial: Denial, rules: Iterable[Rule]) -> bool:
    """Whether one of the rules alone implies a denial constraint."""
    columns = set(denial.columns)
    return any(columns.issuperset(rule.columns) and implies(rule.denials[0], denial) for rule in rules)
