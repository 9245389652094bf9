r"""Conditions on one value: ``is null``, ``in (...)``, ``between``, ``matches``.

A condition stands on the right side of a predicate whose operator is ``=`` (the condition is true) or ``!=`` (it is
not):

>>> from rowlaw.rules.model import Column, Op, Predicate
>>> str(Predicate(Column("s", "state"), Op.NE, OneOf((Constant("NY"), Constant("NJ")))))
"s.state not in ('NY', 'NJ')"

Null: ``is null`` and ``is not null`` are never unknown. With ``nulls="unknown"`` the others are never true of null.
With ``nulls="equal"`` null is a value below all others: in no list and no range, and not described by a pattern, so
that the negated conditions are true of it. ``in`` and ``between`` are nothing but comparisons (:func:`comparisons`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Self

from rowlaw.rules.operands import Constant, Op, TypeClass
from rowlaw.rules.patterns import parse_pattern


class Condition:
    """What may be true of one value. ``words``: how it is written, and how its opposite is."""

    __slots__ = ()
    words: ClassVar[tuple[str, str]]

    @property
    def exchanged(self) -> Self:
        """The condition with ``s`` and ``t`` exchanged: it speaks of neither."""
        return self


@dataclass(frozen=True, slots=True)
class IsNull(Condition):
    """``is null``; NaN is null."""

    words: ClassVar[tuple[str, str]] = ("is", "is not")

    def __str__(self) -> str:
        return "null"


@dataclass(frozen=True, slots=True)
class OneOf(Condition):
    """``in (...)``: one of some literals of one type. Their order is kept, and means nothing."""

    values: tuple[Constant, ...] = field(compare=False)
    _set: frozenset[Constant] = field(init=False, repr=False)
    words: ClassVar[tuple[str, str]] = ("in", "not in")

    def __post_init__(self) -> None:
        if not self.values:
            raise ValueError("a list needs at least one value")
        if len({c.type for c in self.values}) > 1:
            raise ValueError("the values of a list must have one type")
        object.__setattr__(self, "values", tuple(dict.fromkeys(self.values)))
        object.__setattr__(self, "_set", frozenset(self.values))

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.values))})"

    @property
    def type(self) -> TypeClass:
        return self.values[0].type


@dataclass(frozen=True, slots=True)
class Range(Condition):
    """``between low and high``, both included."""

    low: Constant
    high: Constant
    words: ClassVar[tuple[str, str]] = ("between", "not between")

    def __post_init__(self) -> None:
        if self.low.type != self.high.type:
            raise ValueError("the ends of a range must have one type")
        if self.low.value > self.high.value:  # type: ignore[operator]
            raise ValueError("the range is empty; write the smaller value first")

    def __str__(self) -> str:
        return f"{self.low} and {self.high}"

    @property
    def type(self) -> TypeClass:
        return self.low.type


@dataclass(frozen=True, slots=True)
class Matches(Condition):
    """``matches 'pattern'``: the pattern describes the whole text (`rowlaw.rules.patterns`)."""

    pattern: str
    words: ClassVar[tuple[str, str]] = ("matches", "not matches")

    def __post_init__(self) -> None:
        parse_pattern(self.pattern)

    def __str__(self) -> str:
        return str(Constant(self.pattern))


def comparisons(op: Op, condition: OneOf | Range) -> tuple[bool, list[tuple[Op, Constant]]]:
    """A list or range as comparisons with literals: whether all of them must be true (else any), and what they are.

    >>> comparisons(Op.NE, Range(Constant(1), Constant(5)))
    (False, [(<Op.LT: 1>, Constant(value=1)), (<Op.GT: 4>, Constant(value=5))])
    """
    inside = op == Op.EQ
    if isinstance(condition, OneOf):
        return not inside, [(op, value) for value in condition.values]
    return inside, [(Op.GE if inside else Op.LT, condition.low), (Op.LE if inside else Op.GT, condition.high)]
