"""Which rules follow from others, and which are true on every table.

>>> from rowlaw.rules.parse import parse
>>> weak, strong = parse("not (s.a <= t.a and s.b = t.b)"), parse("not (s.a < t.a and s.b = t.b)")
>>> implies(weak, strong), implies(strong, weak), is_trivial(parse("not (s.a < t.b and t.b < s.a)"))
(True, False, True)

Atoms: ``<`` says ``<=`` and ``!=``, ``=`` says ``<=`` and ``>=``, ``>`` says ``>=`` and ``!=``. Written with the three
weak operators ``<= >= !=``, a rule is a set of atoms, and "follows by dropping predicates or by operator implication"
is set inclusion. An atom excludes exactly one of the three outcomes of a comparison, so the atoms of an operator are
the bits it does not accept.

Under both meanings of null these are the same relations.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import TypeAlias

from rowlaw.rules.conditions import Condition
from rowlaw.rules.model import (
    Column,
    Constant,
    Denial,
    Op,
    Operand,
    Predicate,
    predicate_key,
)
from rowlaw.rules.outcomes import EQUAL_BIT, HIGHER_BIT, LOWER_BIT

Atom: TypeAlias = tuple[Column, Operand, int]  # operands and the bit of the one outcome that is excluded


def canonical(denial: Denial) -> Denial:
    """The smaller of a rule and its exchange of ``s`` and ``t``: equal for two rules that say the same.

    >>> from rowlaw.rules.parse import parse
    >>> str(canonical(parse("not (s.a > t.a)")))
    'not (s.a < t.a)'
    """
    return min(Denial.canonical(denial.predicates), denial.exchanged, key=_key)


def implies(a: Denial, b: Denial) -> bool:
    """Whether ``b`` follows from ``a`` by adding predicates, strengthening operators or exchanging ``s`` and ``t``.

    Sound: a table that obeys ``a`` then obeys ``b``. Not complete: it does not reason across columns. Linear time.
    """
    wanted = frozenset(atoms_of(b.predicates))
    # Predicates are exchanged rather than the rule: a rule about one row is always written with `s`.
    return wanted.issuperset(atoms_of(a.predicates)) or wanted.issuperset(atoms_of(p.exchanged for p in a.predicates))


def is_trivial(denial: Denial) -> bool:
    """Whether no table can make all the predicates true.

    Values of each type are taken as a dense order without ends, so a rule that only the gaps between integers, or the
    end of the booleans, make true is not called trivial; nor is one whose conditions exclude each other. Linear time
    but for sorting the literals.

    Method: operands are nodes, ``<=`` is an edge and ``=`` is two. Nodes on one cycle are equal; the predicates
    contradict each other exactly when a ``<`` or a ``!=`` joins two equal nodes.
    """
    predicates = [p for p in denial.predicates if not isinstance(p.right, Condition)]
    conditions = [(p.left, p.right) for p in denial.predicates if isinstance(p.right, Condition)]
    if len(set(conditions)) < len(conditions):  # one that is true and not true; no more is asked of conditions
        return True
    # what is only said to differ from others is on no cycle
    joining = [p for p in predicates if p.op != Op.NE or p.left == p.right]
    edges: dict[Operand, list[Operand]] = {operand: [] for p in joining for operand in (p.left, p.right)}
    for p in joining:
        if p.op in (Op.LT, Op.LE, Op.EQ):
            edges[p.left].append(p.right)
        if p.op in (Op.GT, Op.GE, Op.EQ):
            edges[p.right].append(p.left)
    apart: list[tuple[Operand, Operand]] = [
        (p.left, p.right) for p in predicates if not p.op & Op.EQ and p.left in edges and p.right in edges
    ]
    for smaller, larger in _neighbours(edges):
        edges[smaller].append(larger)
        apart.append((smaller, larger))
    component = _components(edges)
    return any(component[x] == component[y] for x, y in apart)


def minimal(denials: Iterable[Denial]) -> list[Denial]:
    """The rules that follow from no other, each in canonical form; trivial rules are left out.

    >>> from rowlaw.rules.parse import parse
    >>> texts = ["not (s.a = t.a and s.b = t.b)", "not (s.a > t.a)", "not (s.a < t.a)", "not (s.b = t.b)"]
    >>> [str(d) for d in minimal(map(parse, texts))]
    ['not (s.b = t.b)', 'not (s.a < t.a)']

    Rules are visited by number of atoms, so that what a rule follows from comes before it.
    """
    rules = {canonical(d) for d in denials if not is_trivial(d)}
    atoms = {d: tuple(atoms_of(d.predicates)) for d in rules}
    kept: list[Denial] = []
    seen = AtomSets(atom for some in atoms.values() for atom in some)
    for d in sorted(rules, key=lambda d: (len(atoms[d]), _key(d))):
        if not seen.any_within(atoms[d]) and not seen.any_within(tuple(atoms_of(p.exchanged for p in d.predicates))):
            kept.append(d)
            seen.add(atoms[d])
    return sorted(kept, key=lambda d: (len(d.predicates), _key(d)))


class AtomSets:
    """Sets of atoms, of which it is asked whether one lies within some atoms.

    Each is filed under its rarest atom: only those filed under an atom of the question are compared, as bit sets.

    >>> sets = AtomSets("aabc")
    >>> sets.add(("a", "b"))
    >>> sets.any_within(("a", "c")), sets.any_within(("a", "b", "z"))
    (False, True)
    """

    def __init__(self, atoms: Iterable[Hashable]) -> None:
        """``atoms`` are all those of the sets to come, as often as they occur there."""
        self._frequency = Counter(atoms)
        self._bit = {atom: 1 << i for i, atom in enumerate(self._frequency)}
        self._filed: dict[Hashable, list[int]] = {}

    def add(self, atoms: Sequence[Hashable]) -> None:
        self._filed.setdefault(min(atoms, key=self._frequency.__getitem__), []).append(self._bits(atoms))

    def any_within(self, atoms: Sequence[Hashable]) -> bool:
        """Whether a set has no other atoms than these."""
        mask = self._bits(atoms)
        return any(not other & ~mask for atom in atoms for other in self._filed.get(atom, ()))

    def _bits(self, atoms: Iterable[Hashable]) -> int:
        mask = 0
        for atom in atoms:
            mask |= self._bit.get(atom, 0)
        return mask


def atoms_of(predicates: Iterable[Predicate]) -> Iterator[Atom]:
    """The atoms that predicates say."""
    for p in predicates:
        for bit in (LOWER_BIT, EQUAL_BIT, HIGHER_BIT):
            if not p.op & bit:
                yield p.left, p.right, bit


def _key(denial: Denial) -> tuple[tuple[object, ...], ...]:
    return tuple(map(predicate_key, denial.predicates))


def _neighbours(operands: Iterable[Operand]) -> Iterator[tuple[Constant, Constant]]:
    """Literals of one type, each with the next larger one."""
    by_type: dict[str, list[Constant]] = {}
    for operand in operands:
        if isinstance(operand, Constant):
            by_type.setdefault(operand.type, []).append(operand)
    for constants in by_type.values():
        yield from itertools.pairwise(sorted(constants, key=lambda c: c.value))


def _components(edges: dict[Operand, list[Operand]]) -> dict[Operand, int]:
    """The strongly connected component of each node: Tarjan's algorithm with its own stack, since a rule may be a long
    chain."""
    index: dict[Hashable, int] = {}
    low: dict[Operand, int] = {}
    component: dict[Operand, int] = {}
    path: list[Operand] = []
    for root, first in edges.items():
        if root in index:
            continue
        index[root] = low[root] = len(index)
        path.append(root)
        work = [(root, iter(first))]
        while work:
            node, targets = work[-1]
            for target in targets:
                if target not in index:
                    index[target] = low[target] = len(index)
                    path.append(target)
                    work.append((target, iter(edges[target])))
                    break
                if target not in component:
                    low[node] = min(low[node], index[target])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    while True:
                        member = path.pop()
                        component[member] = index[node]
                        if member == node:
                            break
    return component
