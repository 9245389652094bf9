"""Keys and functional dependencies as SQL over groups: one pass and one sort, where a self-join compares pairs of rows.

The queries give one row for each group of rows that breaks the rule: its values, ``rowlaw_rows`` (how many rows it has)
and ``rowlaw_violations`` (how many ordered pairs of them break the rule, so that their sum is what ``rowlaw check``
counts).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rowlaw.rules import FunctionalDependency, Key, Nulls, Rule

ROWS, VIOLATIONS, CELL = "rowlaw_rows", "rowlaw_violations", "rowlaw_cell"


@dataclass(frozen=True, slots=True)
class GroupSql:
    """How a database writes names and values, and what null means."""

    quoted: Callable[[str], str]
    value: Callable[[str], str]  # a column whose NaN is null
    nulls: Nulls

    def query(self, rule: Rule, source: str) -> str | None:
        """The groups that break a rule; None for rules that groups do not decide."""
        if isinstance(rule, Key):
            return self._key(rule.columns, source)
        if isinstance(rule, FunctionalDependency) and rule.right not in rule.left:
            return self._dependency(rule.left, rule.right, source)
        return None

    def _key(self, columns: Sequence[str], source: str) -> str:
        names = self._names(columns)
        return (
            f"SELECT {names}, COUNT(*) AS {ROWS}, COUNT(*) * (COUNT(*) - 1) AS {VIOLATIONS}\n"
            f"FROM {self._table(columns, source)}\n{self._known(columns)}GROUP BY {names}\nHAVING COUNT(*) > 1"
        )

    def _dependency(self, left: Sequence[str], right: str, source: str) -> str:
        names, every = self._names(left), self._names([*left, right])
        cells = (
            f"  SELECT {every}, COUNT(*) AS {CELL}\n"
            f"  FROM {self._table([*left, right], source)}\n  {self._known([*left, right])}  GROUP BY {every}\n"
        ).replace("\n    GROUP", "\n  GROUP")
        shown = f"{names}, " if left else ""
        grouped = f"GROUP BY {names}\n" if left else ""
        return (
            f"SELECT {shown}SUM({CELL}) AS {ROWS}, SUM({CELL}) * SUM({CELL}) - SUM({CELL} * {CELL}) AS {VIOLATIONS}\n"
            f"FROM (\n{cells}) rowlaw_cells\n{grouped}HAVING COUNT(*) > 1"
        )

    def _names(self, columns: Sequence[str]) -> str:
        return ", ".join(map(self.quoted, columns))

    def _table(self, columns: Sequence[str], source: str) -> str:
        values = [self.value(c) for c in columns]
        if values == [self.quoted(c) for c in columns]:
            return source
        body = ", ".join(f"{value} AS {self.quoted(c)}" for value, c in zip(values, columns, strict=True))
        return f"(SELECT {body} FROM {source}) rowlaw_values"

    def _known(self, columns: Sequence[str]) -> str:
        """With unknown nulls a row with null takes no part; where null is a value, ``GROUP BY`` takes nulls as equal
        too."""
        if self.nulls == "equal":
            return ""
        return f"WHERE {' AND '.join(f'{self.quoted(c)} IS NOT NULL' for c in columns)}\n"
