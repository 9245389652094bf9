"""What follows from a set of rules, without looking at any data.

>>> from rowlaw.rules.parse import parse
>>> known = Consequences([parse("fd (zip) -> city"), parse("fd (city) -> state")], "equal")
>>> known.include(parse("fd (zip) -> state")), known.include(parse("fd (state) -> zip"))
(True, False)

Every rule is a set of denials, and each of them has to follow. A denial follows if no table can make its predicates
true, or if it has all the atoms of a listed one (see `implication`). With ``nulls="equal"`` the columns that its
equalities determine are taken as equal too. With ``nulls="unknown"`` they are not: rows that agree on ``zip`` do not
differ in ``city``, but one ``city`` may be null, and then nothing is known of their states. And a weak comparison
stands for two cases, ``<=`` for ``<`` and ``=``: it is enough that each follows.

Sound for any rules. Complete for functional, order and lexicographic order dependencies if the rules include all
minimal functional dependencies and order compatibilities of a table: a valid ``(X) -> A`` has a listed one with the
same columns on the left or fewer; a valid ``{X}: A ~ B`` has one with the same context or a smaller one, or ``X``
determines a side, which forbids more. This holds under both meanings of null.
"""

from __future__ import annotations

from collections.abc import Iterable

from rowlaw.rules.conditions import Condition
from rowlaw.rules.implication import Atom, AtomSets, atoms_of, is_trivial
from rowlaw.rules.model import Denial, Nulls, Op, Predicate, Rule, between_rows

_MOST_SPLIT = 8  # weak comparisons of a question that are split into cases, at most
_CASES = {Op.LE: (Op.LT, Op.EQ), Op.GE: (Op.GT, Op.EQ), Op.NE: (Op.LT, Op.GT)}


class Consequences:
    """The rules that follow from some rules. Asking takes time linear in the listed rules that share an atom with the
    question."""

    def __init__(self, rules: Iterable[Rule], nulls: Nulls) -> None:
        denials = list(dict.fromkeys(_symmetric(d) for rule in rules for d in rule.denials))
        atoms = [tuple(atoms_of(d.predicates)) for d in denials]
        self._listed = AtomSets(atom for some in atoms for atom in some)
        for some in atoms:
            self._listed.add(some)
        self._dependencies = (
            [dependency for d in denials if (dependency := _dependency(d)) is not None] if nulls == "equal" else []
        )
        self._closures: dict[frozenset[str], frozenset[str]] = {}

    def include(self, rule: Rule) -> bool:
        """Whether a rule follows."""
        return all(self.deny(d) for d in rule.denials)

    def deny(self, denial: Denial) -> bool:
        """Whether a denial follows: as it is, or in each of the cases that a weak comparison stands for."""
        if self._denies(denial):
            return True
        weak = [i for i, p in enumerate(denial.predicates) if p.op in _CASES and not isinstance(p.right, Condition)]
        if not 0 < len(weak) <= _MOST_SPLIT:
            return False
        i, p = weak[0], denial.predicates[weak[0]]
        rest = denial.predicates[:i] + denial.predicates[i + 1 :]
        return all(self.deny(Denial((*rest, Predicate(p.left, op, p.right)))) for op in _CASES[p.op])

    def _denies(self, denial: Denial) -> bool:
        equal = frozenset(p.left.name for p in denial.predicates if p.same_column and p.op == Op.EQ)
        more = self.closure(equal) - equal if denial.arity == 2 else ()  # a single row has no partner
        known = Denial((*denial.predicates, *(between_rows(name, Op.EQ) for name in sorted(more)))) if more else denial
        if is_trivial(known):
            return True
        # Predicates are exchanged rather than the rule: a rule about one row is always written with `s`.
        return self._follows(atoms_of(known.predicates)) or self._follows(
            atoms_of(p.exchanged for p in known.predicates)
        )

    def closure(self, columns: frozenset[str]) -> frozenset[str]:
        """The columns in which rows agree that agree on the given ones."""
        closure = self._closures.get(columns)
        if closure is None:
            members, rest = set(columns), self._dependencies
            while True:
                waiting = []
                for left, right in rest:
                    if left <= members:
                        members.add(right)
                    else:
                        waiting.append((left, right))
                if len(waiting) == len(rest):
                    break
                rest = waiting
            closure = self._closures[columns] = frozenset(members)
        return closure

    def _follows(self, atoms: Iterable[Atom]) -> bool:
        return self._listed.any_within(tuple(atoms))


def _symmetric(denial: Denial) -> Denial:
    """A rule that forbids ``s.A < t.A``, and otherwise reads the same with ``s`` and ``t`` exchanged, forbids ``s.A !=
    t.A``."""
    for i, p in enumerate(denial.predicates):
        if p.same_column and p.op in (Op.LT, Op.GT):
            rest = denial.predicates[:i] + denial.predicates[i + 1 :]
            if {q.exchanged for q in rest} == set(rest):
                return Denial((*rest, Predicate(p.left, Op.NE, p.right)))
    return denial


def _dependency(denial: Denial) -> tuple[frozenset[str], str] | None:
    """The sides of a functional dependency, if the denial is one."""
    unequal = [p for p in denial.predicates if p.op == Op.NE]
    if len(unequal) == 1 and all(p.same_column and p.op in (Op.EQ, Op.NE) for p in denial.predicates):
        return frozenset(p.left.name for p in denial.predicates if p.op == Op.EQ), unequal[0].left.name
    return None
