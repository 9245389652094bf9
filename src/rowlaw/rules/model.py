"""The rule model: every law is one or more denial constraints over two different rows ``s`` and ``t``.

>>> fd = FunctionalDependency(("zip",), "city")
>>> fd.kind, [str(d) for d in fd.denials]
('fd', ['not (s.zip = t.zip and s.city != t.city)'])
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeAlias

from rowlaw.rules.conditions import Condition
from rowlaw.rules.operands import KEYWORDS, MAX_DIGITS, Column, Constant, Op, Row, TypeClass, Value, quote
from rowlaw.rules.outcomes import ANY

__all__ = [
    "KEYWORDS",
    "MAX_DIGITS",
    "Column",
    "Constant",
    "Denial",
    "FunctionalDependency",
    "Key",
    "Kind",
    "Nulls",
    "Op",
    "Operand",
    "OrderCompatible",
    "OrderDependency",
    "Predicate",
    "Row",
    "Rule",
    "SortColumn",
    "TypeClass",
    "Value",
    "about_single_rows",
    "between_rows",
    "predicate_key",
    "quote",
]

Kind: TypeAlias = Literal["key", "fd", "od", "dc"]
Nulls: TypeAlias = Literal["unknown", "equal"]
Operand: TypeAlias = Column | Constant | Condition

_ONE: dict[str, frozenset[Row]] = {"s": frozenset({"s"}), "t": frozenset({"t"})}
_BOTH: frozenset[Row] = frozenset({"s", "t"})


@dataclass(frozen=True, slots=True)
class Predicate:
    """``left op right``, stored oriented: ``s`` before ``t``, columns before constants, names in order.

    A condition on the right (``rules/conditions.py``) is true (``=``) or not (``!=``); it has no order.

    >>> str(Predicate(Column("t", "a"), Op.LT, Column("s", "b")))
    's.b > t.a'
    """

    left: Column
    op: Op
    right: Operand
    _hash: int = field(init=False, repr=False, compare=False)
    # written the other way round, about one row: s.low > s.high
    _turned: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        left: Operand = self.left
        if isinstance(self.right, Condition) and self.op not in (Op.EQ, Op.NE):
            raise ValueError(f"a condition is true or not, it cannot be {self.op.symbol} something")
        both = isinstance(left, Column) and isinstance(self.right, Column)
        turned = both and _place(self.right) < _place(left)  # type: ignore[arg-type]
        object.__setattr__(self, "_turned", turned and left.row == self.right.row)  # type: ignore[union-attr]
        if isinstance(left, Constant) or turned:
            object.__setattr__(self, "left", self.right)
            object.__setattr__(self, "right", left)
            object.__setattr__(self, "op", self.op.swapped)
        object.__setattr__(self, "_hash", hash((self.left, self.op, self.right)))

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        """Hashes of text differ from process to process: they are not sent along."""
        return Predicate, self.written

    @property
    def written(self) -> tuple[Column, Op, Operand]:
        """Its parts in the order of the rule's text.

        >>> [str(part) for part in Predicate(Column("s", "low"), Op.GT, Column("s", "high")).written[::2]]
        ['s.low', 's.high']
        """
        return (self.right, self.op.swapped, self.left) if self._turned else (self.left, self.op, self.right)  # type: ignore[return-value]

    def __str__(self) -> str:
        if self._turned:
            return f"{self.right} {self.op.swapped.symbol} {self.left}"
        return f"{self.left} {self.symbol} {self.right}"

    @property
    def symbol(self) -> str:
        """The sign or word between the operands."""
        return self.right.words[self.op == Op.NE] if isinstance(self.right, Condition) else self.op.symbol

    @property
    def negated(self) -> Predicate:
        """The predicate that is true where this one is false (of known values)."""
        left, op, right = self.written
        return Predicate(left, Op(ANY & ~op), right)

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
        left, op, right = self.written
        return Predicate(left.exchanged, op, right.exchanged)


def _place(column: Column) -> tuple[str, str]:
    return column.row, column.name


_CLASS_ORDER = {Op.EQ: 0, Op.LT: 1, Op.LE: 1, Op.GT: 1, Op.GE: 1, Op.NE: 2}

_CONDITIONS = 3


def predicate_key(p: Predicate) -> tuple[object, ...]:
    """The place of a predicate in its rule: equalities, inequalities, ``!=``, then conditions; by operands within a
    class."""
    right = p.right
    if isinstance(right, Condition):
        return (_CONDITIONS, p.left.row, p.left.name, (right.words[0], str(right)), int(p.op))
    other = ("", right.row, right.name) if isinstance(right, Column) else ("literal", right.type, right.value)
    return (_CLASS_ORDER[p.op], p.left.row, p.left.name, other, int(p.op))


@dataclass(frozen=True, slots=True)
class Denial:
    """A denial constraint: no two different rows (no row, if only one is named) make all predicates true.

    Predicates are kept in a canonical order with one operator per pair of operands (``<=`` and ``>=`` become ``=``).
    Operators that contradict each other stay apart: such a rule is true on every table. ``shown`` has them in the order
    of the rule's text.

    >>> a, b = Column("s", "a"), Column("t", "a")
    >>> str(Denial((Predicate(a, Op.LE, b), Predicate(a, Op.GE, b))))
    'not (s.a = t.a)'
    """

    predicates: tuple[Predicate, ...]
    _shown: tuple[Predicate, ...] = field(init=False, repr=False, compare=False)
    _hash: int | None = field(init=False, repr=False, compare=False)  # None until it is asked for
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
            merged.update(
                [group[0] if mask == group[0].op else Predicate(group[0].left, Op(mask), group[0].right)]
                if mask
                else group
            )
        object.__setattr__(self, "predicates", tuple(sorted(merged, key=predicate_key)))
        object.__setattr__(self, "_shown", ())
        object.__setattr__(self, "_hash", None)

    def __hash__(self) -> int:
        if self._hash is None:
            object.__setattr__(self, "_hash", hash(self.predicates))
        return self._hash  # type: ignore[return-value]

    def __reduce__(self) -> tuple[Any, ...]:
        """Hashes of text differ from process to process: they are not sent along."""
        return _read, (self.predicates, self._shown)

    def __str__(self) -> str:
        return f"not ({' and '.join(map(str, self.shown))})"

    @property
    def shown(self) -> tuple[Predicate, ...]:
        """The predicates in the order in which they were written."""
        return self._shown or self.predicates

    @property
    def equal_columns(self) -> tuple[str, ...]:
        """The columns on which any two rows agree that break the constraint."""
        return tuple(p.left.name for p in self.predicates if p.same_column and p.op == Op.EQ)

    @staticmethod
    def written(predicates: Iterable[Predicate]) -> Denial:
        """A denial constraint that is shown with its predicates in the given order.

        >>> a, b = (Column(row, "a") for row in "st")
        >>> str(Denial.written([Predicate(a, Op.NE, b), Predicate(Column("s", "b"), Op.EQ, Column("t", "b"))]))
        'not (s.a != t.a and s.b = t.b)'
        """
        given = tuple(predicates)
        made = Denial(given)
        if len(given) > 1:
            if all(p.rows == {"t"} for p in given):
                given = tuple(p.exchanged for p in given)
            # a predicate that was merged from several stands where the first of them was
            places = {p: i for i, p in reversed(list(enumerate(given)))}
            merged = {(p.left, p.right): i for i, p in reversed(list(enumerate(given)))}
            shown = tuple(sorted(made.predicates, key=lambda p: places.get(p, merged[p.left, p.right])))
            object.__setattr__(made, "_shown", () if shown == made.predicates else shown)
        return made

    @staticmethod
    def canonical(predicates: tuple[Predicate, ...]) -> Denial:
        """A denial constraint whose predicates are known to be in canonical form: discovery makes many thousands."""
        if predicates[0].rows is _ONE["t"] and all(p.rows is _ONE["t"] for p in predicates):
            return Denial(predicates)
        denial = object.__new__(Denial)
        object.__setattr__(denial, "predicates", predicates)
        object.__setattr__(denial, "_shown", ())
        object.__setattr__(denial, "_hash", None)
        return denial

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


def _read(predicates: tuple[Predicate, ...], shown: tuple[Predicate, ...]) -> Denial:
    """A denial constraint that another process wrote."""
    denial = Denial.canonical(predicates)
    object.__setattr__(denial, "_shown", shown)
    return denial


def between_rows(name: str, op: Op) -> Predicate:
    """The predicate that compares one column of the two rows.

    >>> str(between_rows("zip", Op.NE))
    's.zip != t.zip'
    """
    return Predicate(Column("s", name), op, Column("t", name))


@dataclass(frozen=True, slots=True)
class Key:
    """No two rows agree on all ``columns``; their order is that of the rule's text, else that of the names, and means
    nothing."""

    columns: tuple[str, ...] = field(compare=False)
    _set: frozenset[str] = field(init=False, repr=False)
    kind: ClassVar[Kind] = "key"

    def __post_init__(self) -> None:
        if not self.columns:
            raise ValueError("a key needs at least one column")
        object.__setattr__(self, "_set", frozenset(self.columns))
        object.__setattr__(self, "columns", tuple(sorted(self._set)))

    @staticmethod
    def written(columns: Iterable[str]) -> Key:
        """A key that is shown with its columns in the given order.

        >>> Key.written(["b", "a"]) == Key(("a", "b")), str(Key.written(["b", "a"]))
        (True, 'key (b, a)')
        """
        given = _unique(columns)
        made = Key(given)
        object.__setattr__(made, "columns", given)
        return made

    def __str__(self) -> str:
        return f"key ({_names(self.columns)})"

    @property
    def denials(self) -> tuple[Denial, ...]:
        return (Denial(tuple(between_rows(c, Op.EQ) for c in self.columns)),)


@dataclass(frozen=True, slots=True)
class FunctionalDependency:
    """Rows that agree on ``left`` agree on ``right``. An empty ``left`` says that ``right`` is constant."""

    left: tuple[str, ...] = field(compare=False)
    right: str
    _set: frozenset[str] = field(init=False, repr=False)
    kind: ClassVar[Kind] = "fd"

    def __post_init__(self) -> None:
        object.__setattr__(self, "_set", frozenset(self.left))
        object.__setattr__(self, "left", tuple(sorted(self._set)))

    @staticmethod
    def written(left: Iterable[str], right: str) -> FunctionalDependency:
        """A functional dependency that is shown with the columns on its left in the given order."""
        given = _unique(left)
        made = FunctionalDependency(given, right)
        object.__setattr__(made, "left", given)
        return made

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

    context: tuple[str, ...] = field(compare=False)
    left: str = field(compare=False)
    right: str = field(compare=False)
    descending: bool = False
    _set: frozenset[str] = field(init=False, repr=False)
    _sides: tuple[str, str] = field(init=False, repr=False)
    kind: ClassVar[Kind] = "od"

    def __post_init__(self) -> None:
        object.__setattr__(self, "_set", frozenset(self.context))
        object.__setattr__(self, "context", tuple(sorted(self._set)))
        left, right = sorted((self.left, self.right))
        object.__setattr__(self, "_sides", (left, right))
        object.__setattr__(self, "left", left)
        object.__setattr__(self, "right", right)

    @staticmethod
    def written(context: Iterable[str], left: str, right: str, descending: bool = False) -> OrderCompatible:
        """An order compatibility that is shown with its columns in the given order."""
        given = _unique(context)
        made = OrderCompatible(given, left, right, descending)
        for name, value in (("context", given), ("left", left), ("right", right)):
            object.__setattr__(made, name, value)
        return made

    def __str__(self) -> str:
        direction = " desc" if self.descending else ""
        return f"od {{{_names(self.context)}}}: {quote(self.left)} ~ {quote(self.right)}{direction}"

    @property
    def columns(self) -> tuple[str, ...]:
        return _unique((*self.context, self.left, self.right))

    @property
    def denials(self) -> tuple[Denial, ...]:
        left, right = self._sides  # in one order, so that the same pairs break the law however it is written
        opposite = between_rows(right, Op.LT if self.descending else Op.GT)
        return (Denial((*(between_rows(c, Op.EQ) for c in self.context), between_rows(left, Op.LT), opposite)),)


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
        denials = []
        for before in (*_first_difference(self.left, Op.LT), tuple(between_rows(c.name, Op.EQ) for c in self.left)):
            for after in _first_difference(self.right, Op.GT):
                denial = Denial((*before, *after)) if before or after else None
                if denial and _consistent(denial):
                    denials.append(denial)
        return tuple(denials)


Rule: TypeAlias = Denial | Key | FunctionalDependency | OrderCompatible | OrderDependency


def about_single_rows(rule: Rule) -> bool:
    """Whether a rule speaks of single rows: then a violation is a row, not a pair of rows."""
    return bool(rule.denials) and all(denial.arity == 1 for denial in rule.denials)


def _first_difference(keys: tuple[SortColumn, ...], op: Op) -> Iterator[tuple[Predicate, ...]]:
    """The disjoint ways in which `s` differs from `t` in direction `op` under a lexicographic order."""
    for i, key in enumerate(keys):
        yield (
            *(between_rows(k.name, Op.EQ) for k in keys[:i]),
            between_rows(key.name, op.swapped if key.descending else op),
        )


def _consistent(denial: Denial) -> bool:
    """Whether no column is asked for two outcomes at once (same-column predicates only)."""
    names = [p.left.name for p in denial.predicates]
    return len(names) == len(set(names))


def _unique(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(map(quote, names))
