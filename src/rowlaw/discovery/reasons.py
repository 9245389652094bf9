"""Why a rule is listed, in a sentence or two."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rowlaw.discovery.select import Standing
from rowlaw.rules import english
from rowlaw.rules.model import FunctionalDependency


def reason(standing: Standing, rows: int, breaking: Sequence[Any] = ()) -> str:
    """What a rule says, what it would catch, and what speaks against it; ``breaking``: some of the rows that break it.

    >>> from rowlaw.rules import parse
    >>> reason(Standing(parse("fd (zip) -> city"), 0.5, (("city", 0.61),)), 100)
    'Rows with the same zip have the same city. Would catch 61% of wrong values in city.'
    """
    rule = standing.rule
    said = [english(rule)]
    if isinstance(rule, FunctionalDependency) and not rule.left:
        said.append("Would catch every other value.")
    elif standing.catches:
        said.append(_catches(standing.catches))
    if standing.nearly is not None:
        count = round(standing.nearly.removed * rows)
        some = ", ".join(map(str, breaking))
        such = (
            ""
            if not breaking
            else f" (row {some})"
            if count == 1
            else f" (rows {some}{', ...' if count > len(breaking) else ''})"
        )
        verb = "breaks" if count == 1 else "break"
        said.append(f"{count:,} of {rows:,} rows, {_percent(standing.nearly.removed)}, {verb} it{such}.")
    if standing.weak:
        said.append("Weak: so few rows could break it that chance explains it.")
    return " ".join(said)


def _catches(catches: tuple[tuple[str, float], ...]) -> str:
    parts: list[str] = []
    for column, share in catches:
        if parts and share < 0.005:
            continue
        what = f"of wrong values in {column}" if column else "of rows that are entered again with one value changed"
        parts.append(f"{_percent(share)} {what}")
    return f"Would catch {' and '.join(parts)}."


def _percent(share: float) -> str:
    """A share for people.

    >>> _percent(0.614), _percent(0.0006), _percent(1.0), _percent(0.999)
    ('61%', '0.06%', '100%', '99%')
    """
    if share in (0.0, 1.0):
        return f"{share:.0%}"
    return f"{100 * share:.2g}%" if share < 0.01 else f"{min(99, round(100 * share))}%"
