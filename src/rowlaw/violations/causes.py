"""Which few rows are behind many violations: the rows without which the broken rules would hold.

>>> import pyarrow as pa
>>> from rowlaw.violations.check import check
>>> table = pa.table({"zip": [1, 1, 1, 1], "city": ["Hoboken", "Hobken", "Hoboken", "Hoboken"]})
>>> print(check(table, "fd (zip) -> city", progress=False).causes())
1 row explains all 6 violations: 1
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rowlaw.source.row_ids import CompositeId
from rowlaw.violations.sides import printed

if TYPE_CHECKING:
    from rowlaw.violations.result import Result, Verdict

_NAMED = 10  # rows named in a sentence
_HELD = 1000  # rows of one rule that are kept: more are no cause that a reader could look at
LISTED = 1 << 20  # violations of a rule that is no key and no dependency, above which its rows are not sought
_TOLD_RULES = 3  # rules named in a sentence
_MOST_RULES = 50  # broken rules whose rows are sought, those with most violations first


@dataclass(frozen=True, slots=True)
class RuleCause:
    """The rows behind the violations of one rule: how many, whether fewer could not do, and the first of them."""

    id: str
    violations: int
    count: int
    exact: bool
    rows: tuple[Any, ...]

    @property
    def whole(self) -> bool:
        """Whether all its rows are known."""
        return len(self.rows) == self.count


@dataclass(frozen=True, slots=True, repr=False)
class Causes:
    """The rows without which broken rules hold, over all rules. ``left``: broken rules whose rows were not sought or
    are too many."""

    rules: tuple[RuleCause, ...]
    left: tuple[str, ...]
    table_rows: int
    violations: int  # of all broken rules

    @property
    def rows(self) -> tuple[Any, ...]:
        """The rows of all rules whose rows are known, those that break most rules first."""
        often: dict[Any, int] = {}
        for cause in self.rules:
            if cause.whole:
                for row in cause.rows:
                    often[row] = often.get(row, 0) + 1
        return tuple(sorted(often, key=lambda row: -often[row]))

    @property
    def explained(self) -> int:
        """The violations of the rules whose rows are known."""
        return sum(cause.violations for cause in self.rules if cause.whole)

    def __str__(self) -> str:
        rows = self.rows
        if not rows:
            return self._many()
        if 1 < self.violations <= len(rows):  # each violation is a row by itself
            return ""
        if len(rows) > max(_NAMED, self.table_rows / 2):  # not some rows are wrong, but the rules
            return (
                f"{len(rows):,} of {self.table_rows:,} rows would have to go for the rules to hold: the rules "
                "themselves may be wrong"
            )
        verb = "explains" if len(rows) == 1 else "explain"
        which = "all " if self.explained == self.violations and self.violations > 1 else ""
        of = "" if self.explained == self.violations else f" of {self.violations:,}"
        if self.explained == self.violations == 1:
            return f"1 row explains the only violation: {printed(rows[0])}"
        named = ", ".join(
            f"({printed(row)})" if isinstance(row, CompositeId) else printed(row) for row in rows[:_NAMED]
        )
        more = f" and {len(rows) - _NAMED:,} more" if len(rows) > _NAMED else ""
        violations = f"{self.explained:,}{of} violation{'' if self.violations == 1 else 's'}"
        return (
            f"{len(rows):,} row{'' if len(rows) == 1 else 's'} {verb} {which}{violations}: {named}{more}{self._rest()}"
        )

    def _rest(self) -> str:
        """Which rules the violations are of that these rows do not explain."""
        ids = [*(cause.id for cause in self.rules if not cause.whole), *self.left]
        if not ids:
            return ""
        more = f" and {len(ids) - _TOLD_RULES:,} more rules" if len(ids) > _TOLD_RULES + 1 else ""
        named = ids[:_TOLD_RULES] if more else ids
        return f"; the other violations are of {', '.join(named)}{more}"

    def _many(self) -> str:
        if not self.rules:
            return ""
        least = max(self.rules, key=lambda cause: cause.count)
        bound = "" if least.exact else "at most "
        return (
            f"{bound}{least.count:,} of {self.table_rows:,} rows would have to go for {least.id} to hold: the "
            "rule itself may be wrong"
        )

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """As JSON documents have it."""
        return {
            "rows": list(self.rows),
            "explained": self.explained,
            "violations": self.violations,
            "rules": [
                {
                    "id": c.id,
                    "violations": c.violations,
                    "rows": c.count,
                    "exact": c.exact,
                    "some": list(c.rows[:_NAMED]),
                }
                for c in self.rules
            ],
            "not_sought": list(self.left),
        }


def causes(result: Result) -> Causes:
    """The rows behind the violations of a check."""
    broken = sorted((v for v in result.verdicts if v.violations), key=lambda v: -v.violations)
    sought = [v for v in broken if v.rule.kind != "dc" or v.violations <= LISTED or v.rule.denials[0].arity == 1][
        :_MOST_RULES
    ]
    by_rule = [_of_rule(result, verdict) for verdict in sought]
    left = tuple(v.id for v in broken if v not in sought)
    return Causes(tuple(by_rule), left, result.table_rows, _total(broken))


def _of_rule(result: Result, verdict: Verdict) -> RuleCause:
    removal = result.rows_to_remove(verdict.id, _HELD)
    return RuleCause(verdict.id, verdict.violations, removal.count, removal.exact, removal.first)


def _total(verdicts: Sequence[Verdict]) -> int:
    return sum(verdict.violations for verdict in verdicts)
