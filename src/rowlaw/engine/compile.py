"""A rule as the engine sees it: which rows may be ``s``, which may be ``t``, and integer columns to compare."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from rowlaw.relation.groups import Compared
from rowlaw.relation.projections import Projections
from rowlaw.relation.relation import Relation
from rowlaw.rules.model import Column, Constant, Denial, Nulls, Op, Predicate


@dataclass(frozen=True, slots=True)
class Comparison:
    """A predicate between ``s`` and ``t`` over codes."""

    predicate: Predicate
    columns: Compared
    op: Op

    def holds(self, s: np.ndarray, t: np.ndarray) -> np.ndarray:
        """Whether it is true of the rows ``s[i]`` and ``t[i]``. Nulls have been seen to."""
        return compare(self.columns.left[s], self.op, self.columns.right[t])


def compare(left: np.ndarray, op: Op, right: np.ndarray | int) -> np.ndarray:
    """``left op right`` for integer codes."""
    match op:
        case Op.EQ:
            return left == right
        case Op.NE:
            return left != right
        case Op.LT:
            return left < right
        case Op.LE:
            return left <= right
        case Op.GT:
            return left > right
        case _:
            return left >= right


@dataclass(frozen=True, slots=True)
class Compiled:
    """A denial constraint over codes: rows that may be ``s`` and ``t``, and the comparisons between them, by class.

    Rows of which a single-row predicate is false, or a compared value unknown, are on neither side. For a rule about single rows,
    ``s`` holds the violations.
    """

    denial: Denial
    s: np.ndarray
    t: np.ndarray
    equalities: tuple[Comparison, ...]
    inequalities: tuple[Comparison, ...]
    differences: tuple[Comparison, ...]  # the != predicates

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        return (*self.equalities, *self.inequalities, *self.differences)


@dataclass
class Scales:
    """Columns of a relation on the scales that rules need, each made once; a worker elsewhere makes its own, once for all its tasks."""

    relation: Relation
    nulls: Nulls
    projections: Projections | None = None  # rows that stand for all, where only existence is asked
    _aligned: dict[tuple[str, str], Compared] = field(default_factory=dict)
    _known: dict[tuple[int, frozenset[str]], np.ndarray] = field(default_factory=dict)
    _places: dict[tuple[str, type, Any], tuple[int, bool]] = field(default_factory=dict)  # of literals: 1 and True are equal, but not alike

    def __reduce__(self) -> tuple[Any, ...]:
        return _scales, (self.relation, self.nulls, self.projections is not None)

    def compared(self, left: str, right: str) -> Compared:
        found = self._aligned.get((left, right))
        if found is None:
            if left == right:
                codes = self.relation.codes(left)
                found = Compared(codes, codes, self.relation.column(left).distinct + 1)
            elif (right, left) in self._aligned:
                other = self._aligned[right, left]
                found = Compared(other.right, other.left, other.width)
            else:
                a, b = self.relation.aligned(left, right)
                found = Compared(a, b, self.relation.column(left).distinct + self.relation.column(right).distinct + 1)
            self._aligned[left, right] = found
        return found

    def rows(self, columns: Sequence[str], denial: Denial) -> np.ndarray:
        """Rows that can satisfy a comparison on these columns: those without null in them, unless null is a value."""
        partial = frozenset(c for c in columns if self.relation.column(c).nulls) if self.nulls == "unknown" else frozenset()
        base = self.projections.rows(denial.columns) if self.projections is not None else None
        key = id(base), partial
        found = self._known.get(key)
        if found is None:
            found = base if base is not None else self.relation.all_rows
            for name in sorted(partial):
                found = found[self.relation.codes(name)[found] >= 0]
            self._known[key] = found
        return found

    def place(self, name: str, value: Any) -> tuple[int, bool]:
        """Where a literal stands among a column's codes; finding it opens the column's dictionary."""
        key = name, type(value), value
        if key not in self._places:
            self._places[key] = self.relation.position(name, value)
        return self._places[key]

    def single_row(self, predicate: Predicate, rows: np.ndarray) -> np.ndarray:
        """The rows among ``rows`` of which a single-row predicate is true."""
        left, op, right = predicate.left, predicate.op, predicate.right
        if isinstance(right, Column):
            columns = self.compared(left.name, right.name)
            return rows[compare(columns.left[rows], op, columns.right[rows])]
        place, exact = self.place(left.name, right.value)
        codes = self.relation.codes(left.name)[rows]
        if not exact:
            # between two codes: = is never true, != always, and a strict comparison is as good as a weak one
            if op in (Op.EQ, Op.NE):
                return rows if op == Op.NE else rows[:0]
            return rows[codes < place] if op in (Op.LT, Op.LE) else rows[codes >= place]
        return rows[compare(codes, op, place)]

    def side(self, row: str, denial: Denial, part: np.ndarray | None) -> np.ndarray:
        """The rows that may stand for ``row`` of a rule, among those of ``part``."""
        names, filters = [], []
        for p in denial.predicates:
            for operand in (p.left, p.right):
                if isinstance(operand, Column) and operand.row == row:
                    names.append(operand.name)
            if p.rows == {row}:
                filters.append(p)
        rows = self.rows(names, denial)
        if part is not None:
            rows = np.intersect1d(part.astype(np.int32), rows, assume_unique=False)
        for p in filters:
            rows = self.single_row(p, rows)
        return rows


@lru_cache(maxsize=2)  # to count with and to look with
def _scales(relation: Relation, nulls: Nulls, projected: bool) -> Scales:
    return Scales(relation, nulls, Projections(relation) if projected else None)


def compile_rule(denial: Denial, scales: Scales, left: np.ndarray | None = None, right: np.ndarray | None = None) -> Compiled:
    """The rule over codes, for pairs with ``s`` among the rows ``left`` and ``t`` among ``right`` (all rows if not given).

    The rule must have been bound to the relation's columns before (:func:`rowlaw.rules.bind`).
    """
    s = scales.side("s", denial, left)
    t = s if denial.arity == 1 else scales.side("t", denial, right)
    if len(s) == len(t) and (s is t or np.array_equal(s, t)):
        t = s
    found: list[Comparison] = []
    for p in denial.predicates:
        if len(p.rows) == 2 and not isinstance(p.right, Constant):
            found.append(Comparison(p, scales.compared(p.left.name, p.right.name), p.op))
    return Compiled(
        denial,
        s,
        t,
        tuple(c for c in found if c.op == Op.EQ),
        tuple(c for c in found if c.op.is_inequality),
        tuple(c for c in found if c.op == Op.NE),
    )
