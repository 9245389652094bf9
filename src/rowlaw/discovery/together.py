"""Laws of several kinds in one list: none twice, each under its most specific kind, and none that others in the list
imply.

A denial constraint says the same as its *strict cases* together: ``<=`` is ``<`` or ``=``, ``!=`` is ``<`` or ``>``. It
need not be listed if a key, a functional dependency or an order compatibility in the list denies every case. So ``not
(s.a = t.a and s.b < t.b and s.c >= t.c)`` is no news beside ``od {a}: b ~ c`` and ``fd (a, c) -> b``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, product
from typing import NamedTuple

from rowlaw.deadline import Deadline
from rowlaw.rules.implication import implies
from rowlaw.rules.model import Denial, FunctionalDependency, Key, Op, OrderCompatible, Predicate, Rule

COMPARED = 0.4  # of the time left for ranking, for finding what follows from others
PORTION = 16  # laws between two looks at the clock
_STRICT = {Op.LE: (Op.LT, Op.EQ), Op.GE: (Op.GT, Op.EQ), Op.NE: (Op.LT, Op.GT)}

Dependency = Key | FunctionalDependency | OrderCompatible
_Case = tuple[str, Op]  # a column and how two rows compare in it


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


class _Agreement(NamedTuple):
    """What follows for two rows that agree on some columns.

    ``keys``: by which there are no such rows. ``determined``: further columns in which they agree. ``ordered``: two
    columns that run in one direction or, where ``True``, in opposite ones.
    """

    keys: set[Key]
    determined: set[str]
    ordered: set[tuple[str, str, bool]]


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
        self._of_columns: dict[frozenset[str], _Agreement] = {}
        self._known: dict[frozenset[str], _Agreement] = {}
        self._cases: dict[Predicate, tuple[_Case, ...]] = {}
        for rule in rules:
            if isinstance(rule, Key):
                self._of(rule.columns).keys.add(rule)
            elif isinstance(rule, FunctionalDependency):
                self._of(rule.left).determined.add(rule.right)
            elif isinstance(rule, OrderCompatible):
                self._of(rule.context).ordered.add((rule.left, rule.right, rule.descending))

    def _of(self, columns: Iterable[str]) -> _Agreement:
        return self._of_columns.setdefault(frozenset(columns), _Agreement(set(), set(), set()))

    def identified(self, columns: Iterable[str]) -> bool:
        """Whether no two rows agree on some columns."""
        return bool(self._agreement(frozenset(columns)).keys)

    def __contains__(self, denial: Denial) -> bool:
        compared = [cases for p in denial.predicates if (cases := self._cases.get(p) or self._strict(p))]
        if len(compared) < len(denial.predicates) and denial.arity != 2:
            return False
        return all(map(self._denies, product(*compared)))

    def _strict(self, predicate: Predicate) -> tuple[_Case, ...]:
        """The ways in which two rows can satisfy a comparison of one column, each with ``<``, ``=`` or ``>``; none of
        other comparisons."""
        if not predicate.same_column:
            return ()
        name, op = predicate.left.name, predicate.op
        cases = self._cases[predicate] = tuple((name, strict) for strict in _STRICT.get(op, (op,)))
        return cases

    def _denies(self, case: Sequence[_Case]) -> bool:
        """Whether no two rows can compare so, column by column."""
        agreement = self._agreement(frozenset(name for name, op in case if op == Op.EQ))
        if agreement.keys:
            return True
        other = {name: op for name, op in case if op != Op.EQ}
        if not agreement.determined.isdisjoint(other):
            return True
        return bool(agreement.ordered) and any(
            (a, b, other[a] == other[b]) in agreement.ordered for a, b in combinations(sorted(other), 2)
        )

    def _agreement(self, columns: frozenset[str]) -> _Agreement:
        """What the rules say of rows that agree on all of some columns."""
        known = self._known.get(columns)
        if known is None:
            known = self._known[columns] = _Agreement(set(), set(), set())
            for part in self._parts(columns):
                some = self._of_columns[part]
                known.keys.update(some.keys)
                known.determined.update(some.determined)
                known.ordered.update(some.ordered)
        return known

    def _parts(self, columns: frozenset[str]) -> Iterator[frozenset[str]]:
        """The sets of columns among the given ones of which a rule speaks."""
        if len(self._of_columns) < 1 << len(columns):
            yield from (part for part in self._of_columns if part <= columns)
            return
        for size in range(len(columns) + 1):
            yield from filter(self._of_columns.__contains__, map(frozenset, combinations(columns, size)))


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
        return [rule for rule in some if isinstance(rule, Key) or not keys.identified(_agreed(rule))]

    kept, number = limit.made(COMPARED, dependencies, not_keys, PORTION)
    known = Implied(kept)

    def not_known(some: Sequence[Denial]) -> list[Rule]:
        return [d for d in some if (d not in known if exact else not follows_from_one(d, kept))]

    others, more = limit.made(COMPARED, denials, not_known, PORTION)
    return kept + others, number == len(dependencies) and more == len(denials)


def _agreed(rule: FunctionalDependency | OrderCompatible) -> tuple[str, ...]:
    """The columns in which the rows agree of which a rule speaks."""
    return rule.left if isinstance(rule, FunctionalDependency) else rule.context


def follows_from_one(denial: Denial, rules: Iterable[Rule]) -> bool:
    """Whether one of the rules alone implies a denial constraint."""
    columns = set(denial.columns)
    return any(columns.issuperset(rule.columns) and implies(rule.denials[0], denial) for rule in rules)
