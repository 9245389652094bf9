"""The rule model: every law is one or more denial constraints over two different rows ``s`` and ``t``.

>>> fd = FunctionalDependency(("zip",), "city")
>>> fd.kind, [str(d) for d in fd.denials]
('fd', ['not (s.zip = t.zip and s.city != t.city)'])
"""

from __future__ import annotations

import datetime as dt
import enum
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, ClassVar, Literal, TypeAlias

from rowlaw.rules.outcomes import ANY, EQUAL_BIT, HIGHER_BIT, LOWER_BIT, exchanged_mask

Row: TypeAlias = Literal["s", "t"]
Kind: TypeAlias = Literal["key", "fd", "od", "dc"]
Nulls: TypeAlias = Literal["unknown", "equal"]
TypeClass: TypeAlias = Literal["number", "text", "boolean", "date", "timestamp"]
Value: TypeAlias = bool | int | Decimal | str | dt.date | dt.datetime

MAX_DIGITS = 1000  # of a number literal: every float has fewer, and Python refuses to print integers beyond 4,300
_LARGEST: int = 10**MAX_DIGITS
KEYWORDS = frozenset({"not", "and", "key", "fd", "od", "asc", "desc", "true", "false", "null", "date", "timestamp"})


class Op(enum.IntEnum):
    """A comparison, as the set of outcomes it accepts (``rules/outcomes.py``). Conjunction is ``&``, implication is inclusion.

    >>> Op.LT.implies(Op.LE), Op.LE & Op.NE == Op.LT, Op.LE.swapped
    (True, True, <Op.GE: 6>)
    """

    LT = LOWER_BIT
    EQ = EQUAL_BIT
    LE = LOWER_BIT | EQUAL_BIT
    GT = HIGHER_BIT
    NE = LOWER_BIT | HIGHER_BIT
    GE = HIGHER_BIT | EQUAL_BIT

    __hash__ = int.__hash__  # that of an enum is a call into Python, and rules are hashed by the million

    @property
    def symbol(self) -> str:
        return _SYMBOLS[self]

    @property
    def swapped(self) -> Op:
        """The same comparison with its operands exchanged."""
        return Op(exchanged_mask(self))

    @property
    def is_inequality(self) -> bool:
        return self not in (Op.EQ, Op.NE)

    def implies(self, other: Op) -> bool:
        return not self & ~other


_SYMBOLS = {Op.LT: "<", Op.EQ: "=", Op.LE: "<=", Op.GT: ">", Op.NE: "!=", Op.GE: ">="}


def quote(name: str) -> str:
    """A column name as it stands in rule text: bare where that is unambiguous, else in backticks.

    >>> quote("zip"), quote("area code"), quote("a`b"), quote("Key")
    ('zip', '`area code`', '`a``b`', '`Key`')
    """
    if name.isidentifier() and name.casefold() not in KEYWORDS:
        return name
    return "`" + name.replace("`", "``") + "`"


@dataclass(frozen=True, slots=True)
class Column:
    """A column of one of the two rows."""

    row: Row
    name: str

    def __str__(self) -> str:
        return f"{self.row}.{quote(self.name)}"

    @property
    def exchanged(self) -> Column:
        return Column("t" if self.row == "s" else "s", self.name)


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal value. Numbers are exact: a Python float becomes the decimal that it prints as.

    Equality is that of values of one type class, so that ``1`` is ``1.0`` but not ``true``.

    >>> Constant(1) == Constant(Decimal("1.0")), Constant(1) == Constant(True)
    (True, False)
    """

    value: Value

    def __post_init__(self) -> None:
        value: object = self.value
        if isinstance(value, float):
            value = Decimal(repr(float(value)))  # float() first: NumPy's floats print their type
        if isinstance(value, Decimal) and not value:
            value = value.copy_abs()  # one zero: integers have no other
        object.__setattr__(self, "value", value)
        if isinstance(value, Decimal | int) and not _fits(value):
            raise ValueError(f"a literal must be a finite number of at most {MAX_DIGITS} digits")
        if isinstance(value, dt.datetime) and value.tzinfo is not None:
            raise ValueError("a timestamp literal is a local time, without an offset")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Constant):
            return NotImplemented
        return self.type == other.type and self.value == other.value

    def __hash__(self) -> int:
        return hash((self.type, self.value))

    @property
    def type(self) -> TypeClass:
        """The type class of the value."""
        value = self.value
        if isinstance(value, bool):
            return "boolean"
        if isinstance(value, (int, Decimal)):
            return "number"
        if isinstance(value, str):
            return "text"
        return "timestamp" if isinstance(value, dt.datetime) else "date"

    def __str__(self) -> str:
        value = self.value
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, dt.datetime):
            return f"timestamp '{value.isoformat(' ')}'"
        if isinstance(value, dt.date):
            return f"date '{value.isoformat()}'"
        if isinstance(value, str):
            return "'" + value.replace("'", "''") + "'"
        return str(value)

    @property
    def exchanged(self) -> Constant:
        return self


def _fits(value: Decimal | int) -> bool:
    if isinstance(value, int):
        return abs(value) < _LARGEST
    return value.is_finite() and -MAX_DIGITS < value.adjusted() < MAX_DIGITS and len(value.as_tuple().digits) <= MAX_DIGITS


Operand: TypeAlias = Column | Constant

_ONE: dict[str, frozenset[Row]] = {"s": frozenset({"s"}), "t": frozenset({"t"})}
_BOTH: frozenset[Row] = frozenset({"s", "t"})


@dataclass(frozen=True, slots=True)
class Predicate:
    """``left op right``, stored oriented: ``s`` before ``t``, columns before constants, names in order.

    >>> str(Predicate(Column("t", "a"), Op.LT, Column("s", "b")))
    's.b > t.a'
    """

    left: Column
    op: Op
    right: Operand
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        left: Operand = self.left
        if isinstance(left, Constant) or (isinstance(self.right, Column) and _place(self.right) < _place(left)):
            object.__setattr__(self, "left", self.right)
            object.__setattr__(self, "right", left)
            object.__setattr__(self, "op", self.op.swapped)
        object.__setattr__(self, "_hash", hash((self.left, self.op, self.right)))

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        """Hashes of text differ from process to process: they are not sent along."""
        return Predicate, (self.left, self.op, self.right)

    def __str__(self) -> str:
        return f"{self.left} {self.op.symbol} {self.right}"

    @property
    def rows(self) -> frozenset[Row]:
        """The rows it speaks of: one for a single-row predicate, two otherwise."""
        if isinstance(self.right, Column) and self.right.row != self.left.row:
            return _BOTH
        return _ONE[self.left.row]

    @property
    def columns(self) -> tuple[str, ...]:
        right = (self.right.name,) if isinstance(self.right, Column) else ()
        return (self.left.name, *right)

    @property
    def same_column(self) -> bool:
        """Whether it compares one column of two rows: the most common shape."""
        return isinstance(self.right, Column) and self.right.name == self.left.name and self.right.row != self.left.row

    @property
    def exchanged(self) -> Predicate:
        """The predicate with ``s`` and ``t`` exchanged."""
        return Predicate(self.left.exchanged, self.op, self.right.exchanged)


def _place(column: Column) -> tuple[str, str]:
    return column.row, column.name


_CLASS_ORDER = {Op.EQ: 0, Op.LT: 1, Op.LE: 1, Op.GT: 1, Op.GE: 1, Op.NE: 2}


def predicate_key(p: Predicate) -> tuple[object, ...]:
    """The place of a predicate in its rule: equalities first, then inequalities, then ``!=``; by operands within a class."""
    right = p.right
    other = ("", right.row, right.name) if isinstance(right, Column) else ("literal", right.type, right.value)
    return (_CLASS_ORDER[p.op], p.left.row, p.left.name, other, int(p.op))


@dataclass(frozen=True, slots=True)
class Denial:
    """A denial constraint: no two different rows (no row, if only one is named) make all predicates true.

    Predicates are kept in a canonical order with one operator per pair of operands (``<=`` and ``>=`` become ``=``).
    Operators that contradict each other stay apart: such a rule is true on every table.

    >>> a, b = Column("s", "a"), Column("t", "a")
    >>> str(Denial((Predicate(a, Op.LE, b), Predicate(a, Op.GE, b))))
    'not (s.a = t.a)'
    """

    predicates: tuple[Predicate, ...]
    kind: ClassVar[Kind] = "dc"

    def __post_init__(self) -> None:
        if not self.predicates:
            raise ValueError("a denial constraint needs at least one predicate")
        predicates = self.predicates
        if all(p.rows == {"t"} for p in predicates):
            predicates = tuple(p.exchanged for p in predicates)
        by_operands: dict[tuple[Column, Operand], list[Predicate]] = {}
        for p in predicates:
            by_operands.setdefault((p.left, p.right), []).append(p)
        merged: set[Predicate] = set()
        for group in by_operands.values():
            mask = ANY
            for p in group:
                mask &= p.op
            merged.update([Predicate(group[0].left, Op(mask), group[0].right)] if mask else group)
        object.__setattr__(self, "predicates", tuple(sorted(merged, key=predicate_key)))

    def __str__(self) -> str:
        return f"not ({' and '.join(map(str, self.predicates))})"

    @staticmethod
    def canonical(predicates: tuple[Predicate, ...]) -> Denial:
        """A denial constraint whose predicates are known to be in canonical form: discovery makes many thousands."""
        if predicates[0].rows is _ONE["t"] and all(p.rows is _ONE["t"] for p in predicates):
            return Denial(predicates)
        found = object.__new__(Denial)
        object.__setattr__(found, "predicates", predicates)
        return found

    @property
    def denials(self) -> tuple[Denial, ...]:
        return (self,)

    @property
    def arity(self) -> int:
        """2 for a rule about pairs of rows, 1 for a rule about single rows."""
        rows = self.predicates[0].rows
        return 2 if any(p.rows is not rows for p in self.predicates) else len(rows)

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys([name for p in self.predicates for name in p.columns]))

    @property
    def exchanged(self) -> Denial:
        """The same law with ``s`` and ``t`` exchanged."""
        return Denial(tuple(p.exchanged for p in self.predicates))


def between_rows(name: str, op: Op) -> Predicate:
    """The predicate that compares one column of the two rows.

    >>> str(between_rows("zip", Op.NE))
    's.zip != t.zip'
    """
    return Predicate(Column("s", name), op, Column("t", name))


@dataclass(frozen=True, slots=True)
class Key:
    """No two rows agree on all ``columns``."""

    columns: tuple[str, ...]
    kind: ClassVar[Kind] = "key"

    def __post_init__(self) -> None:
        if not self.columns:
            raise ValueError("a key needs at least one column")
        object.__setattr__(self, "columns", tuple(sorted(set(self.columns))))

    def __str__(self) -> str:
        return f"key ({_names(self.columns)})"

    @property
    def denials(self) -> tuple[Denial, ...]:
        return (Denial(tuple(between_rows(c, Op.EQ) for c in self.columns)),)


@dataclass(frozen=True, slots=True)
class FunctionalDependency:
    """Rows that agree on ``left`` agree on ``right``. An empty ``left`` says that ``right`` is constant."""

    left: tuple[str, ...]
    right: str
    kind: ClassVar[Kind] = "fd"

    def __post_init__(self) -> None:
        object.__setattr__(self, "left", tuple(sorted(set(self.left))))

    def __str__(self) -> str:
        return f"fd ({_names(self.left)}) -> {quote(self.right)}"

    @property
    def columns(self) -> tuple[str, ...]:
        return _unique((*self.left, self.right))

    @property
    def denials(self) -> tuple[Denial, ...]:
        return (Denial((*(between_rows(c, Op.EQ) for c in self.left), between_rows(self.right, Op.NE))),)


@dataclass(frozen=True, slots=True)
class OrderCompatible:
    """Among rows that agree on ``context``, ``left`` and ``right`` never run in opposite directions
    (``descending``: never in the same direction)."""

    context: tuple[str, ...]
    left: str
    right: str
    descending: bool = False
    kind: ClassVar[Kind] = "od"

    def __post_init__(self) -> None:
        object.__setattr__(self, "context", tuple(sorted(set(self.context))))
        left, right = sorted((self.left, self.right))
        object.__setattr__(self, "left", left)
        object.__setattr__(self, "right", right)

    def __str__(self) -> str:
        direction = " desc" if self.descending else ""
        return f"od {{{_names(self.context)}}}: {quote(self.left)} ~ {quote(self.right)}{direction}"

    @property
    def columns(self) -> tuple[str, ...]:
        return _unique((*self.context, self.left, self.right))

    @property
    def denials(self) -> tuple[Denial, ...]:
        opposite = between_rows(self.right, Op.LT if self.descending else Op.GT)
        return (Denial((*(between_rows(c, Op.EQ) for c in self.context), between_rows(self.left, Op.LT), opposite)),)


@dataclass(frozen=True, slots=True)
class SortColumn:
    """A column of an ``ORDER BY`` list."""

    name: str
    descending: bool = False

    def __str__(self) -> str:
        return quote(self.name) + (" desc" if self.descending else "")


@dataclass(frozen=True, slots=True)
class OrderDependency:
    """Lexicographic: rows ordered by ``left`` are ordered by ``right``.

    A pair breaks it when ``s`` comes before or ties with ``t`` by ``left`` but comes after ``t`` by ``right``.
    Its denials are the disjoint cases of that sentence, so their violations add up.
    """

    left: tuple[SortColumn, ...]
    right: tuple[SortColumn, ...]
    kind: ClassVar[Kind] = "od"

    def __post_init__(self) -> None:
        if not self.right:
            raise ValueError("an order dependency needs at least one column on its right side")

    def __str__(self) -> str:
        return f"od [{', '.join(map(str, self.left))}] -> [{', '.join(map(str, self.right))}]"

    @property
    def columns(self) -> tuple[str, ...]:
        return _unique(c.name for c in (*self.left, *self.right))

    @property
    def denials(self) -> tuple[Denial, ...]:
        found = []
        for before in (*_first_difference(self.left, Op.LT), tuple(between_rows(c.name, Op.EQ) for c in self.left)):
            for after in _first_difference(self.right, Op.GT):
                denial = Denial((*before, *after)) if before or after else None
                if denial and _consistent(denial):
                    found.append(denial)
        return tuple(found)


Rule: TypeAlias = Denial | Key | FunctionalDependency | OrderCompatible | OrderDependency


def about_single_rows(rule: Rule) -> bool:
    """Whether a rule speaks of single rows: then a violation is a row, not a pair of rows."""
    return bool(rule.denials) and all(denial.arity == 1 for denial in rule.denials)


def _first_difference(keys: tuple[SortColumn, ...], op: Op) -> Iterator[tuple[Predicate, ...]]:
    """The disjoint ways in which `s` differs from `t` in direction `op` under a lexicographic order."""
    for i, key in enumerate(keys):
        yield (*(between_rows(k.name, Op.EQ) for k in keys[:i]), between_rows(key.name, op.swapped if key.descending else op))


def _consistent(denial: Denial) -> bool:
    """Whether no column is asked for two outcomes at once (same-column predicates only)."""
    names = [p.left.name for p in denial.predicates]
    return len(names) == len(set(names))


def _unique(names: Iterator[str] | tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(map(quote, names))
