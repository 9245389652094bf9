"""Columns of text that are probably meant as numbers or dates: what the user could say of them.

>>> [hint.type for hint in hints(["price", "day"], [["1,50", "31.12.2023"], ["2,00", "01.02.2024"]])]
['decimal_comma', 'date:%d.%m.%Y']

The first rows of a file decide: a hint is a hint. Types themselves are inferred from all values.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from rowlaw.errors import RowlawWarning
from rowlaw.source.infer import NULL_SPELLINGS
from rowlaw.source.skipped import warn_outside

_FEWEST = 2  # values that a hint is based on, at least
_COMMA = re.compile(r"[+-]?(?:\d{1,3}(?:[. ']\d{3})+|\d+),\d+")
_NUMBER = re.compile(r"[+-]?(?:\d{1,3}(?:[. ']\d{3})+|\d+)(?:,\d+)?")
_GROUPED = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")  # 1,234 may be a thousand: alone it does not tell
_DAY = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2(\d{4})(?:([ T])(\d{1,2}):(\d{2})(:\d{2})?)?")


class Hint(NamedTuple):
    """A column, the type to give it, and what its values look like."""

    column: str
    type: str
    looks: str


def hints(names: Sequence[str], rows: Iterable[Sequence[str]]) -> list[Hint]:
    """What the first rows of a file say about columns that would be read as text."""
    kept = [row for row in rows if len(row) == len(names)]
    return [hint for i, name in enumerate(names) for hint in _of_column(name, [row[i].strip() for row in kept])]


def _of_column(name: str, cells: Sequence[str]) -> Iterator[Hint]:
    values = [cell for cell in cells if cell and cell not in NULL_SPELLINGS]
    if len(values) < _FEWEST:
        return
    if all(_NUMBER.fullmatch(v) for v in values) and any(
        _COMMA.fullmatch(v) and not _GROUPED.fullmatch(v) for v in values
    ):
        yield Hint(name, "decimal_comma", f"numbers with a decimal comma ({next(v for v in values if ',' in v)})")
        return
    days = [match for v in values if (match := _DAY.fullmatch(v))]
    if len(days) < len(values) or len({(m[2], m[5] is None, m[8] is None) for m in days}) > 1:
        return
    first, second = max(int(m[1]) for m in days), max(int(m[3]) for m in days)
    if max(first, second) > 31 or min(first, second) > 12:
        return
    sign = days[0][2]
    day_first = first > 12 or (second <= 12 and sign != "/")  # 3/4/2024 alone does not tell
    date = sign.join(["%d", "%m", "%Y"] if day_first else ["%m", "%d", "%Y"])
    if days[0][5] is None:
        yield Hint(name, f"date:{date}", f"dates ({values[0]})")
    else:
        time = f"{days[0][5]}%H:%M" + (":%S" if days[0][8] else "")
        yield Hint(name, f"timestamp:{date}{time}", f"timestamps ({values[0]})")


def warn_hints(source: str, found: Sequence[Hint]) -> None:
    """Say what the types of some columns probably are, in one line."""
    if not found:
        return
    *most, last = (f"{hint.column!r} looks like {hint.looks}" for hint in found)
    columns = f"{', '.join(most)} and {last}" if most else last
    python = f"types={{{', '.join(f'{h.column!r}: {h.type!r}' for h in found)}}}"
    texts = ",".join(f"{h.column}={h.type}" for h in found)
    head = f"{source}: read as text, although {columns}; to read {'it' if len(found) == 1 else 'them'} so: "
    warn_outside(RowlawWarning(head + python, f"{head}--types '{texts}'"))
