"""The outcome of a comparison (lower, equal, higher or unknown) and every encoding of it.

An outcome says how the left operand compares with the right one, usually a value of row ``s`` with a value of row
``t``. No other module defines numbers for outcomes. Each encoding has a name, a reason and a map to :class:`Outcome`:

- :class:`Outcome`, the *code*: two bits per slot of a signature, 32 slots per ``uint64`` (``evidence``,
  ``kernels/evidence``, ``kernels/upkeep``, ``discovery/atoms``, ledgers and files of a state). Equal is 00, so that a
  signature begins as zero; exchanging ``s`` and ``t`` swaps the two bits; unknown is 11, so that it can be OR-ed over
  anything.
- ``ACCEPT``, one bit for each outcome: operators (:class:`rowlaw.rules.model.Op`), rules in ``maintain``,
  ``kernels/links``, ``kernels/together`` and ``kernels/witness``. An operator is the set of outcomes that it accepts:
  conjunction is ``&``, implication is inclusion. Unknown has no bit: no operator accepts it.
- ``ROW``, a column of codes: columns that are computed from one row (``evidence/slots``). Compared with ``ROW_EQUAL``
  like any column of codes, it gives the same outcome again; unknown is the code of null.
- ``DIFFERENCE``, the bits of three words: ``kernels/differences``. One bit per column: a set of columns is one word.
- ``KEY``, guard bits: ``kernels/sample`` and ``evidence/packed``. What one subtraction of packed rows leaves.

Operands without an order are equal, *different* or unknown. ``DIFFERENT`` is another name of ``LOWER``; ``HIGHER`` does
not occur for them.

>>> compare(2, 5), compare(2, 5).exchanged, compare(2, None)
(<Outcome.LOWER: 1>, <Outcome.HIGHER: 2>, <Outcome.UNKNOWN: 3>)
>>> compare(2, 5).accepted_by(LOWER_BIT | EQUAL_BIT), compare(2, None).accepted_by(ANY)
(True, False)

The plain integers are for compiled kernels, which give them the type that they need where they use them
(``np.uint64(LOWER_CODE)``). Numba reads a kernel from its cache as long as the kernel's own file is unchanged, and
states store codes and operators: the numbers in this module must not change.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any, Final


class Outcome(enum.IntEnum):
    """The outcome of a comparison, as the two bits that a signature has for it."""

    EQUAL = 0b00
    LOWER = 0b01
    HIGHER = 0b10
    UNKNOWN = 0b11
    DIFFERENT = LOWER  # the outcome "not equal" of operands without an order

    @property
    def exchanged(self) -> Outcome:
        """The outcome with the operands exchanged, for operands with an order: others keep theirs."""
        return Outcome(self >> 1 | (self & 1) << 1)

    def accepted_by(self, mask: int) -> bool:
        """Whether a set of outcomes, for example an operator, has this one. Nothing accepts *unknown*."""
        return bool(mask & ACCEPT.encode(self))


def compare(a: Any, b: Any, *, unknown: bool = True) -> Outcome:
    """Compare two values of one type, of which None is null.

    Null is unknown, or else (``unknown=False``) equal to null and lower than every value.

    >>> compare(None, None).name, compare(None, None, unknown=False).name, compare(None, "", unknown=False).name
    ('UNKNOWN', 'EQUAL', 'LOWER')
    """
    if a is None or b is None:
        if unknown:
            return Outcome.UNKNOWN
        a, b = a is not None, b is not None
    return Outcome.LOWER if a < b else Outcome.EQUAL if a == b else Outcome.HIGHER


# The code of an outcome, as plain integers

EQUAL_CODE: Final = int(Outcome.EQUAL)
LOWER_CODE: Final = int(Outcome.LOWER)
HIGHER_CODE: Final = int(Outcome.HIGHER)
UNKNOWN_CODE: Final = int(Outcome.UNKNOWN)
DIFFERENT_CODE: Final = int(Outcome.DIFFERENT)
CODES: Final = 4  # codes are below this
CODE_BITS: Final = 2
CODE_MASK: Final = CODES - 1
# a word of a signature in which every outcome is lower: the low bit of each code
LOWER_WORD: Final = 0x5555_5555_5555_5555


@dataclass(frozen=True, slots=True)
class Encoding:
    """Other numbers for outcomes: ``numbers[code]``, so that an array of codes can index them.

    >>> ROW.numbers, ROW.encode(Outcome.HIGHER), ROW.decode(-1)
    ((1, 0, 2, -1), 2, <Outcome.UNKNOWN: 3>)
    """

    numbers: tuple[int, int, int, int]

    def encode(self, outcome: int) -> int:
        """The number of an outcome."""
        return self.numbers[outcome]

    def decode(self, number: int) -> Outcome:
        """The outcome that has a number; of an encoding without an order, never ``HIGHER``."""
        return Outcome(self.numbers.index(number))


# Sets of outcomes: the bit of each outcome, and what operators accept

LOWER_BIT: Final = 0b001
EQUAL_BIT: Final = 0b010
HIGHER_BIT: Final = 0b100
_DIFFERENT_MASK: Final = LOWER_BIT | HIGHER_BIT
# the mask of operands that a rule does not compare: there even *unknown* is accepted
ANY: Final = LOWER_BIT | EQUAL_BIT | HIGHER_BIT

ACCEPT: Final = Encoding((EQUAL_BIT, LOWER_BIT, HIGHER_BIT, 0))
# an operator accepts *different* only as a whole
ACCEPT_UNORDERED: Final = Encoding((EQUAL_BIT, _DIFFERENT_MASK, _DIFFERENT_MASK, 0))

_EXCHANGED: Final = tuple(
    (mask & EQUAL_BIT) | (mask & LOWER_BIT) << 2 | (mask & HIGHER_BIT) >> 2 for mask in range(ANY + 1)
)


def exchanged_mask(mask: int) -> int:
    """The set of outcomes with the operands exchanged: the mask of ``<=`` becomes that of ``>=``.

    >>> exchanged_mask(LOWER_BIT | EQUAL_BIT) == HIGHER_BIT | EQUAL_BIT
    True
    """
    return _EXCHANGED[mask]


def accept_encoding(*, ordered: bool) -> Encoding:
    """The masks of operators that accept an outcome of operands with or without an order."""
    return ACCEPT if ordered else ACCEPT_UNORDERED


# Outcomes within one row, as a column of codes

ROW_UNKNOWN: Final = -1
_ROW_LOWER: Final = 0
ROW_EQUAL: Final = 1
_ROW_HIGHER: Final = 2

ROW: Final = Encoding((ROW_EQUAL, _ROW_LOWER, _ROW_HIGHER, ROW_UNKNOWN))

# Bits that kernels compute by arithmetic; tests compare these definitions with the kernels

DIFFERS: Final = 0b001  # the rows do not agree: unknown agrees with nothing
KNOWN: Final = 0b010  # both values are known, and differ
BELOW: Final = 0b100  # the first value is lower

DIFFERENCE: Final = Encoding((0, DIFFERS | KNOWN | BELOW, DIFFERS | KNOWN, DIFFERS))

# the bit below the guard bit: the value of ``s`` is not lower (operands with an order only)
_S_NOT_BELOW: Final = 0b001
_T_NOT_BELOW: Final = 0b010  # the guard bit: the value of ``t`` is not lower; without an order: the values are equal
NULL: Final = 0b100  # the bit above the guard bit, of operands that can be unknown

KEY: Final = Encoding((_S_NOT_BELOW | _T_NOT_BELOW, _T_NOT_BELOW, _S_NOT_BELOW, NULL))
KEY_UNORDERED: Final = Encoding((_T_NOT_BELOW, 0, 0, NULL))
