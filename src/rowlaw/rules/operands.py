"""What predicates are made of: operators, columns of the two rows, and literals.

>>> str(Column("s", "area code")), str(Constant("O'Hara"))
('s.`area code`', "'O''Hara'")
"""

from __future__ import annotations

import datetime as dt
import enum
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, TypeAlias

from rowlaw.rules.outcomes import EQUAL_BIT, HIGHER_BIT, LOWER_BIT, exchanged_mask

Row: TypeAlias = Literal["s", "t"]
TypeClass: TypeAlias = Literal["number", "text", "boolean", "date", "timestamp"]
Value: TypeAlias = bool | int | Decimal | str | dt.date | dt.datetime

MAX_DIGITS = 1000  # of a number literal: every float has fewer, and Python refuses to print integers beyond 4,300
_LARGEST: int = 10**MAX_DIGITS
KEYWORDS = frozenset({"not", "and", "key", "fd", "od", "asc", "desc", "true", "false", "null", "date", "timestamp"})


class Op(enum.IntEnum):
    """A comparison, as the set of outcomes it accepts (``rules/outcomes.py``). Conjunction is ``&``, implication is
    inclusion.

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
    return (
        value.is_finite() and -MAX_DIGITS < value.adjusted() < MAX_DIGITS and len(value.as_tuple().digits) <= MAX_DIGITS
    )
