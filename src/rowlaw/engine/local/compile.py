"""A rule as the engine sees it: which rows may be ``s``, which may be ``t``, and integer columns to compare."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial, reduce
from typing import Any

import numpy as np
import pyarrow as pa

from rowlaw.kernels import groups as kernels
from rowlaw.kernels.sort import sorted_distinct
from rowlaw.relation.groups import Compared
from rowlaw.relation.projections import Projections
from rowlaw.relation.relation import Relation
from rowlaw.rules.conditions import Condition, IsNull, Matches, OneOf, Range, comparisons
from rowlaw.rules.model import Column, Denial, Nulls, Op, Predicate
from rowlaw.rules.patterns import matcher

FEW_ROWS = 8  # times as many rows has a table of which only few are looked at: then no column of it is read as a whole


@dataclass(frozen=True, slots=True)
class Comparison:
    """A predicate between ``s`` and ``t`` over codes.

    ``s_unknown`` and ``t_unknown`` say whether the column of ``s`` and that of ``t`` have unknown values (code -1): no
    comparison with one is true.
    """

    predicate: Predicate
    columns: Compared
    op: Op
    s_unknown: bool = False
    t_unknown: bool = False

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
class Base:
    """The rows that may be ``s`` and ``t`` before those with unknown compared values are left out; bases of equal keys
    are equal."""

    s: np.ndarray
    t: np.ndarray
    key: Hashable


@dataclass(frozen=True, slots=True)
class Later:
    """Rows that are written when they are asked for; rows of equal keys are one array."""

    rows: Callable[[], np.ndarray]
    size: int
    key: Hashable


@dataclass(frozen=True)
class Compiled:
    """A denial constraint over codes: rows that may be ``s`` and ``t``, and the comparisons between them, by class.

    Rows of which a single-row predicate is false, or a compared value unknown, are on neither side. For a rule about
    single rows, ``s`` holds the violations.
    """

    denial: Denial
    s: np.ndarray
    t: np.ndarray
    equalities: tuple[Comparison, ...]
    inequalities: tuple[Comparison, ...]
    differences: tuple[Comparison, ...]  # the != predicates
    # None: a piece of a rule, or a rule on other rows (dataclasses.replace leaves it out), which shares no groups
    # beyond those rows
    base: Base | None = field(default=None, init=False)

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        return (*self.equalities, *self.inequalities, *self.differences)

    @property
    def others(self) -> tuple[Comparison, ...]:
        """The comparisons that are not equalities."""
        return (*self.inequalities, *self.differences)

    @property
    def reflexive(self) -> bool:
        """Whether the same rows may be ``s`` and ``t`` and every comparison is of one column with itself."""
        return self.same_rows and all(c.columns.same for c in self.comparisons)

    @staticmethod
    def deferred(later: Later, **fields: Any) -> Compiled:
        """A rule whose rows, the same for ``s`` and ``t``, are written later: a rule that counts in shared groups never
        needs them.

        Ten rules that compare ten columns with nulls would else write ten arrays of nearly all rows.
        """
        made = object.__new__(Compiled)
        made.__dict__.update(fields, _later=later)
        return made

    def __getattr__(self, name: str) -> np.ndarray:
        later: Later | None = self.__dict__.get("_later")
        if later is None or name not in ("s", "t"):
            raise AttributeError(name)
        rows = later.rows()
        self.__dict__.update(s=rows, t=rows)
        return rows

    @property
    def same_rows(self) -> bool:
        """Whether the same rows may be ``s`` and ``t``."""
        return "_later" in self.__dict__ or self.s is self.t

    @property
    def s_size(self) -> int:
        """How many rows may be ``s``."""
        return self.__dict__["_later"].size if "_later" in self.__dict__ else len(self.s)

    @property
    def t_size(self) -> int:
        """How many rows may be ``t``."""
        return self.s_size if self.same_rows else len(self.t)

    @property
    def rows_key(self) -> Hashable:
        """Equal for rules that have the same arrays of rows."""
        return self.__dict__["_later"].key if "_later" in self.__dict__ else (id(self.s), id(self.t))


@dataclass(frozen=True, slots=True)
class _Side:
    """The rows that may stand for one row of a rule before unknown values are left out, and the columns whose values
    must be known."""

    base: np.ndarray
    unknown: frozenset[str]
    key: Hashable
    lasting: bool  # the base is not made for this rule alone


@dataclass
class Scales:
    """Columns of a relation on the scales that rules need, each made once; a worker elsewhere makes its own, once for
    all its tasks."""

    relation: Relation
    nulls: Nulls
    projections: Projections | None = None  # rows that stand for all, where only existence is asked
    _aligned: dict[tuple[str, str], Compared] = field(default_factory=dict)
    _known: dict[tuple[int, frozenset[str]], np.ndarray] = field(default_factory=dict)
    _later: dict[tuple[int, frozenset[str]], Later] = field(default_factory=dict)
    # of columns with unknown values: for each row whether it has one
    _has_value: dict[str, np.ndarray] = field(default_factory=dict)
    # of literals: 1 and True are equal, but not alike
    _places: dict[tuple[str, type, Any], tuple[int, bool]] = field(default_factory=dict)

    def __reduce__(self) -> tuple[Any, ...]:
        return _scales, (self.relation, self.nulls, self.projections is not None)

    def compared(self, left: str, right: str) -> Compared:
        pair = self._aligned.get((left, right))
        if pair is None:
            if left == right:
                codes = self.relation.codes(left)
                pair = Compared(codes, codes, self.relation.column(left).distinct + 1)
            elif (right, left) in self._aligned:
                other = self._aligned[right, left]
                pair = Compared(other.right, other.left, other.width)
            else:
                a, b = self.relation.aligned(left, right)
                pair = Compared(a, b, self.relation.column(left).distinct + self.relation.column(right).distinct + 1)
            self._aligned[left, right] = pair
        return pair

    @cached_property
    def unknown(self) -> frozenset[str]:
        """The columns that have unknown values: nulls, unless null is a value."""
        return frozenset(c.name for c in self.relation.columns if c.nulls) if self.nulls == "unknown" else frozenset()

    def known(self, rows: np.ndarray, columns: frozenset[str], *, lasting: bool) -> np.ndarray:
        """The rows among ``rows`` whose values in the columns are all known; made once if ``rows`` are ``lasting``."""
        if not columns:
            return rows
        key = id(rows), columns
        known = self._known.get(key) if lasting else None
        if known is None:
            if self._few(rows):
                known = rows
                for name in sorted(columns):
                    known = known[self.relation.codes(name)[known] >= 0]
            else:
                out = np.empty(len(rows), np.int32)
                known = out[: kernels.chosen_rows(rows, self._all_known(columns), out)]
            if lasting:
                self._known[key] = known
        return known

    def later(self, rows: np.ndarray, columns: frozenset[str]) -> Later | None:
        """The same, for rows that are lasting, to be written when they are asked for; None where that is not worth
        it."""
        if not columns or self._few(rows):
            return None
        key = id(rows), columns
        if key not in self._later:
            known = self._all_known(columns)
            size = np.count_nonzero(known if rows is self.relation.all_rows else known[rows])
            self._later[key] = Later(partial(self.known, rows, columns, lasting=True), int(size), key)
        return self._later[key]

    def _few(self, rows: np.ndarray) -> bool:
        """Whether rows are so few that no column is read as a whole for them."""
        return FEW_ROWS * len(rows) < self.relation.rows

    def _all_known(self, columns: frozenset[str]) -> np.ndarray:
        """For each row of the table whether its values in the columns are all known."""
        first, *rest = sorted(columns)
        known = self._known_in(first)
        for name in rest:
            known = known & self._known_in(name)
        return known

    def _known_in(self, name: str) -> np.ndarray:
        if name not in self._has_value:
            self._has_value[name] = self.relation.codes(name) >= 0
        return self._has_value[name]

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
        if isinstance(right, Condition):
            return self.condition(left, op, right, rows)
        place, exact = self.place(left.name, right.value)
        codes = self.relation.codes(left.name)[rows]
        if not exact:
            # between two codes: = is never true, != always, and a strict comparison is as good as a weak one
            if op in (Op.EQ, Op.NE):
                return rows if op == Op.NE else rows[:0]
            return rows[codes < place] if op in (Op.LT, Op.LE) else rows[codes >= place]
        return rows[compare(codes, op, place)]

    def condition(self, column: Column, op: Op, condition: Condition, rows: np.ndarray) -> np.ndarray:
        """The rows among ``rows`` of which a condition on one column is true (``=``) or not (``!=``)."""
        codes = self.relation.codes(column.name)[rows]
        if isinstance(condition, IsNull):
            return rows[(codes < 0) == (op == Op.EQ)]
        if isinstance(condition, OneOf | Range):
            every, parts = comparisons(op, condition)
            chosen = [self.single_row(Predicate(column, o, value), rows) for o, value in parts]
            return reduce(partial(np.intersect1d, assume_unique=True) if every else np.union1d, chosen).astype(
                np.int32, copy=False
            )
        assert isinstance(condition, Matches)
        accepted = self._matching(column.name, condition, codes)  # null has code -1: the last place
        return rows[accepted[codes] == (op == Op.EQ)]

    def _matching(self, name: str, condition: Matches, codes: np.ndarray) -> np.ndarray:
        """For each code of ``codes``, and for null at the end, whether a pattern describes its value."""
        dictionary = self.relation.dictionary(name)
        described = matcher(condition.pattern).matches
        matching = np.zeros(len(dictionary) + 1, bool)
        asked = sorted_distinct(codes)
        asked = asked[asked >= 0]
        values = (
            dictionary.take(pa.array(asked)).to_pylist() if len(asked) < len(dictionary) else dictionary.to_pylist()
        )
        matching[asked] = [described(value) for value in values]
        return matching

    def side(self, row: str, denial: Denial, part: np.ndarray | None) -> _Side:
        """The rows that may stand for ``row`` of a rule, among those of ``part``."""
        compared: list[str] = []
        single: list[str] = []
        filters: list[Predicate] = []
        for p in denial.predicates:
            rows = p.rows
            if row not in rows:
                continue
            if len(rows) == 1:
                filters.append(p)
                single += () if isinstance(p.right, IsNull) else p.columns
            else:
                compared += [o.name for o in (p.left, p.right) if isinstance(o, Column) and o.row == row]
        start = self.projections.rows(denial.columns) if self.projections is not None else self.relation.all_rows
        base = self.known(start, self.unknown.intersection(single), lasting=True)
        if part is not None:
            base = np.intersect1d(part.astype(np.int32), base, assume_unique=False)
        for p in filters:
            base = self.single_row(p, base)
        unknown = self.unknown.intersection(compared)
        return _Side(base, unknown, (id(start), id(part), frozenset(filters)), part is None and not filters)


@lru_cache(maxsize=2)  # to count with and to look with
def _scales(relation: Relation, nulls: Nulls, projected: bool) -> Scales:
    return Scales(relation, nulls, Projections(relation) if projected else None)


def compile_rule(
    denial: Denial, scales: Scales, left: np.ndarray | None = None, right: np.ndarray | None = None
) -> Compiled:
    """The rule over codes, for pairs with ``s`` among the rows ``left`` and ``t`` among ``right`` (all rows if not
    given).

    The rule must have been bound to the relation's columns before (:func:`rowlaw.rules.bind`).
    """
    s_side = scales.side("s", denial, left)
    t_side = s_side if denial.arity == 1 else scales.side("t", denial, right)
    comparisons: list[Comparison] = []
    for p in denial.predicates:
        if len(p.rows) == 2 and isinstance(p.right, Column):
            a, b = p.left.name, p.right.name
            comparisons.append(Comparison(p, scales.compared(a, b), p.op, a in scales.unknown, b in scales.unknown))
    by_class = {
        "equalities": tuple(c for c in comparisons if c.op == Op.EQ),
        "inequalities": tuple(c for c in comparisons if c.op.is_inequality),
        "differences": tuple(c for c in comparisons if c.op == Op.NE),
    }
    key = s_side.key, t_side.key
    if s_side.lasting and s_side.base is t_side.base and s_side.unknown == t_side.unknown:
        later = scales.later(s_side.base, s_side.unknown)
        if later is not None:
            return Compiled.deferred(later, denial=denial, base=Base(s_side.base, t_side.base, key), **by_class)
    s, t = (scales.known(side.base, side.unknown, lasting=side.lasting) for side in (s_side, t_side))
    s_base, t_base, t = s_side.base, _same(s_side.base, t_side.base), _same(s, t)
    # a rule that the same rows may break in both roles must find them so in groups that it shares
    base = Base(s_base, t_base, key) if s_base is t_base or s is not t else None
    made = Compiled(denial, s, t, **by_class)
    object.__setattr__(made, "base", base)
    return made


def _same(s: np.ndarray, t: np.ndarray) -> np.ndarray:
    """The rows ``t``; the array ``s`` itself where they are equal."""
    return s if t is s or (len(s) == len(t) and np.array_equal(s, t)) else t
