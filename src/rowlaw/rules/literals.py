"""Reading literal values from text: numbers, dates and timestamps, with limits instead of surprises.

>>> number("1.50"), number("-7"), date("2020-01-31")
(Decimal('1.50'), -7, datetime.date(2020, 1, 31))
>>> number("1e999999999") is None, timestamp("yesterday") is None
(True, True)

Each function returns None for text that it cannot read; the caller knows the place and raises the error.
Time is linear in the text, which is cut off at ``MAX_DIGITS`` before any arithmetic.
"""

from __future__ import annotations

import datetime as dt
import re
from decimal import Decimal, InvalidOperation

from rowlaw.rules.model import MAX_DIGITS, Constant

EXAMPLES = {"date": "2020-01-31", "timestamp": "2020-01-31 12:00:00"}  # for the remedy in an error

# Stricter than `fromisoformat`, which also takes week dates and the basic format: two spellings of a day invite
# mistakes.
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_TIMESTAMP = re.compile(r"\d{4}-\d{2}-\d{2}(?:[ T]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?)?", re.ASCII)


def number(text: str) -> int | Decimal | None:
    """The number that ``text`` spells: an integer without point and exponent, else an exact decimal."""
    if len(text) > 2 * MAX_DIGITS:  # longest useful text: all the digits, a point, signs and an exponent
        return None
    try:
        value = int(text) if text.lstrip("+-").isdecimal() else Decimal(text)
        Constant(value)  # knows the limits
    except (ValueError, InvalidOperation):
        return None
    return value


def date(text: str) -> dt.date | None:
    """The day that ``text`` spells as ``YYYY-MM-DD``."""
    try:
        return dt.date.fromisoformat(text) if _DATE.fullmatch(text) else None
    except ValueError:
        return None


def timestamp(text: str) -> dt.datetime | None:
    """The moment that ``text`` spells as ``YYYY-MM-DD HH:MM:SS``; the time, or its seconds, may be left out.

    >>> timestamp("2020-01-31 12:30"), timestamp("2020-01-31")
    (datetime.datetime(2020, 1, 31, 12, 30), datetime.datetime(2020, 1, 31, 0, 0))
    """
    try:
        return dt.datetime.fromisoformat(text) if _TIMESTAMP.fullmatch(text) else None
    except ValueError:
        return None
