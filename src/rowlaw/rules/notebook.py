"""Small HTML tables for notebooks: escaped, bounded, and in the colours of whatever page they stand in.

>>> notebook_table("1 rule", ["rule"], [["a < b"]])
'<div><p>1 rule</p><table><thead><tr><th>rule</th></tr></thead><tbody><tr><td>a &lt; b</td></tr></tbody></table></div>'
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from rowlaw.rules.wording import english

if TYPE_CHECKING:
    from rowlaw.rules.ruleset import RuleSet

SHOWN = 20  # rows of a table; what it stands for may have many thousands
_WIDE = 300  # characters of a cell

_LEFT = ' style="text-align:left"'


class Code(str):
    """A text that is shown as code."""

    __slots__ = ()


def notebook_table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[str]], more: int = 0) -> str:
    """A caption over a table; ``more`` is how many rows are left out."""
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    rest = f"<p>... and {more:,} more</p>" if more > 0 else ""
    return (
        f"<div><p>{escape(caption)}</p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}</div>"
    )


def rules_html(rules: RuleSet) -> str:
    """The first rules of a set, with their scores where they have any."""
    shown = rules.rules[:SHOWN]
    scored = any(r.score is not None for r in shown)
    heads = ["rule", "kind", *(["score"] if scored else []), "law", "in words"]
    rows = [
        [
            r.id,
            r.kind,
            *(["" if r.score is None else f"{r.score:.2f}"] if scored else []),
            Code(r.rule),
            english(r.rule),
        ]
        for r in shown
    ]
    caption = f"{type(rules).__name__} of {len(rules):,} rule{'' if len(rules) == 1 else 's'}, nulls={rules.nulls}"
    return notebook_table(caption, heads, rows, len(rules) - SHOWN)


def _cell(text: str) -> str:
    short = text if len(text) <= _WIDE else text[: _WIDE - 1] + "…"
    if isinstance(text, Code):
        return f"<td{_LEFT}><code>{escape(short)}</code></td>"
    return f"<td{_LEFT if len(text) > 20 else ''}>{escape(short)}</td>"
