"""The power of rules: which simulated errors each of them would catch."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rowlaw.discovery.atoms import Atoms
from rowlaw.engine.protocol import DiscoveryEngine
from rowlaw.evidence.errors import Edges, simulated
from rowlaw.kernels import power as kernels
from rowlaw.predicates.space import ORDERED_TYPES
from rowlaw.rules.model import Column, Denial, Op, Operand, Predicate, Rule
from rowlaw.source.row_ids import naming_only
from rowlaw.stopping import NEVER, Stop

_EVERY = 1 << 30  # more violations than there can be
_ALL_OPS, _EQUALITY = tuple(Op), (Op.EQ, Op.NE)


@dataclass(frozen=True, eq=False)
class Power:
    """Which errors each rule catches, ``bool[rules, errors]``; for each error its column, and whether it is a row
    inserted again."""

    caught: np.ndarray
    columns: Sequence[str]
    inserted: np.ndarray

    @cached_property
    def _by_column(self) -> dict[str, list[float]]:
        """For each column the share of its wrong values that each rule catches."""
        names = np.array(self.columns, object)
        replaced = {name: (names == name) & ~self.inserted for name in dict.fromkeys(self.columns)}
        return {name: self.caught[:, errors].mean(axis=1).tolist() for name, errors in replaced.items() if errors.any()}

    def share(self, rule: int, column: str) -> float:
        """The share of the wrong values in a column that a rule catches."""
        shares = self._by_column.get(column)
        return 0.0 if shares is None else shares[rule]

    def share_inserted(self, rule: int) -> float:
        """The share of the rows inserted again that a rule catches."""
        return float(self.caught[rule, self.inserted].mean()) if self.inserted.any() else 0.0


def power(
    engine: DiscoveryEngine,
    rules: Sequence[Rule],
    atoms: Atoms,
    *,
    inexact: Collection[Rule] = (),
    count: int,
    seed: int = 0,
    stop: Stop = NEVER,
) -> Power:
    """Simulate about ``count`` errors in the rows of a sample, and find out which of them each rule catches.

    ``atoms``: those of :func:`atoms_for` the rules. ``inexact``: rules that some rows break. They catch an error that
    breaks them with more rows than the row did before it was changed. Raises ``Stopped`` soon after ``stop`` is
    requested.
    """
    sample = engine.sample()
    names = [c.name for c in engine.statistics.columns if c.name not in naming_only(engine.statistics.row_id)]
    errors = simulated(sample, names, count, seed, stop)
    caught = np.zeros((len(rules), len(errors)), bool)
    result = Power(caught, errors.names, errors.inserted)
    if not len(errors) or not rules:
        return result
    denials = [(r, denial) for r, rule in enumerate(rules) for denial in rule.denials]
    sets = atoms_of_rules(atoms, [denial for _, denial in denials])
    exact = np.array([rules[r] not in inexact for r, _ in denials])
    asked = _concerned([denial for _, denial in denials], errors.names, errors.inserted)
    after = _count(sets, np.where(exact, 1, _EVERY), errors.edges(atoms.slots, atoms.edges, stop=stop), asked, stop)
    more = after > 0
    if not exact.all():
        earlier = errors.edges(atoms.slots, atoms.edges, before=True, stop=stop)
        before = _count(sets[~exact], np.full(int((~exact).sum()), _EVERY), earlier, asked[~exact], stop)
        more[~exact] = after[~exact] > before
    stop.check()
    for i, (r, _) in enumerate(denials):
        caught[r] |= more[i]
    return result


def _count(sets: np.ndarray, most: np.ndarray, edges: Edges, asked: np.ndarray, stop: Stop) -> np.ndarray:
    counts = np.zeros(asked.shape, np.int32)
    kernels.violations(sets, most.astype(np.int32), edges.edges, edges.counts, edges.ends, asked, stop.flag, counts)
    return counts


def atoms_of_rules(atoms: Atoms, denials: Sequence[Denial]) -> np.ndarray:
    """The atoms that each rule is made of, as words."""
    of_operands: dict[tuple[object, object], list[tuple[int, Op]]] = {}
    for v, p in enumerate(atoms.predicates):
        of_operands.setdefault((p.left, p.right), []).append((v, p.op))
    said: dict[Predicate, list[int]] = {}
    for denial in denials:
        for p in denial.predicates:
            if p not in said:
                said[p] = [v for v, op in of_operands[p.left, p.right] if p.op.implies(op)]
    return atoms.pack([v for p in denial.predicates for v in said[p]] for denial in denials)


def atoms_for(engine: DiscoveryEngine, rules: Sequence[Rule]) -> Atoms:
    """Atoms for all comparisons that the rules make, each with all operators of its type and with ``s`` and ``t``
    exchanged."""
    operands: dict[tuple[Column, Operand], bool] = {}
    types = {c.name: c.type for c in engine.statistics.columns}
    for p in dict.fromkeys(p for rule in rules for denial in rule.denials for p in denial.predicates):
        for q in (p, p.exchanged):
            known = operands.get((q.left, q.right), False)
            operands[q.left, q.right] = known or q.op.is_inequality or types[q.left.name] in ORDERED_TYPES
    space = (
        Predicate(left, op, right)
        for (left, right), ordered in operands.items()
        for op in (_ALL_OPS if ordered else _EQUALITY)
    )
    return Atoms.of(engine.sample(), tuple(space), engine.nulls)


def _concerned(denials: Sequence[Denial], columns: Sequence[str], inserted: np.ndarray) -> np.ndarray:
    """Which errors could break each rule: those in a column that it compares. A row inserted again has the values of
    its original in all other columns, and so can break a rule unless that asks for different values of one column."""
    places = {name: np.array([c == name for c in columns], bool) for name in dict.fromkeys(columns)}
    nowhere = np.zeros(len(columns), bool)
    concerned = np.empty((len(denials), len(columns)), bool)
    for i, denial in enumerate(denials):
        line = inserted.copy() if all(p.op & Op.EQ or not p.same_column for p in denial.predicates) else nowhere.copy()
        for name in denial.columns:
            line |= places.get(name, nowhere)
        concerned[i] = line
    return concerned
