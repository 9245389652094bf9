"""``rowlaw.profile``: what the columns of a table are like, and which rules they take part in."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rowlaw.engine.answers import ColumnProfile
from rowlaw.engine.choose import EngineName
from rowlaw.engine.open import open_engine
from rowlaw.engine.protocol import Engine
from rowlaw.errors import check_parameters
from rowlaw.progress import Progress
from rowlaw.rules import RuleSet
from rowlaw.rules.wording import counted, percent
from rowlaw.source import READING, open_source
from rowlaw.violations.check import rule_set
from rowlaw.violations.sides import printed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TOP = 3  # most frequent values of a column
_CHARACTERS = 24  # of a value that are shown
_FREQUENT = 0.01  # share of the rows below which a value, except for the first, is not shown as frequent
HEAD = ("column", "type", "nulls", "distinct", "from", "to", "most frequent", "takes part in")


@dataclass(frozen=True)
class Profile:
    """The columns of a table; ``print`` it."""

    rows: int
    columns: tuple[ColumnProfile, ...]
    # column -> ids of the rules that it takes part in
    rules: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # column -> ids of those that are keys

    def __getitem__(self, name: str) -> ColumnProfile:
        """The profile of a column."""
        return next(column for column in self.columns if column.name == name)

    def __len__(self) -> int:
        return len(self.columns)

    def cells(self) -> list[list[str]]:
        """A line of text for each column, under :data:`HEAD`."""
        return [self._line(column) for column in self.columns]

    def _line(self, column: ColumnProfile) -> list[str]:
        about = "" if column.exact else "about "
        ends = ["" if v is None else _shown(v) for v in (column.lowest, column.highest)]
        frequent = (
            []
            if column.unique
            else [
                (v, n) for i, (v, n) in enumerate(column.frequent) if n > 1 and (not i or n >= _FREQUENT * column.rows)
            ]
        )
        often = ", ".join(f"{_shown(v)} ({percent(n / column.rows)})" for v, n in frequent)
        nulls = f"{column.nulls:,} ({percent(column.nulls / column.rows)})" if column.nulls else ""
        return [
            printed(column.name),
            column.type,
            nulls,
            f"{about}{column.distinct:,}",
            *ends,
            often,
            self.part(column),
        ]

    def part(self, column: ColumnProfile) -> str:
        """What a column takes part in: it is a key by itself, it has one value, or the rules that are known."""
        facts = ["unique"] if column.unique else ["constant"] if column.constant else []
        keys, laws = self.keys.get(column.name, ()), self.rules.get(column.name, ())
        if keys:
            facts.append(counted(len(keys), "key"))
        if len(laws) > len(keys):
            facts.append(counted(len(laws) - len(keys), "law"))
        return ", ".join(facts)

    def __str__(self) -> str:
        lines = [list(HEAD), *self.cells()]
        widths = [max(len(line[i]) for line in lines) for i in range(len(HEAD))]
        text = [
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
        ]
        return "\n".join([*text, "", f"{counted(self.rows, 'row')}, {counted(len(self.columns), 'column')}"])

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """The JSON document of ``rowlaw profile --format json``."""
        return {"rows": self.rows, "columns": [self._column(column) for column in self.columns]}

    def _column(self, column: ColumnProfile) -> dict[str, Any]:
        return {
            "name": column.name,
            "type": column.type,
            "nulls": column.nulls,
            "distinct": column.distinct,
            "exact": column.exact,
            "lowest": column.lowest,
            "highest": column.highest,
            "frequent": [{"value": value, "rows": rows} for value, rows in column.frequent],
            "unique": column.unique,
            "constant": column.constant,
            "keys": list(self.keys.get(column.name, ())),
            "rules": list(self.rules.get(column.name, ())),
        }


def _shown(value: Any) -> str:
    """A value as it is shown: a moment without the zone, which is always UTC."""
    return printed(str(value).removesuffix("+00:00") if isinstance(value, dt.datetime) else value, _CHARACTERS)


def profile(
    table: Any,
    *,
    rules: Any = None,
    top: int = _TOP,
    columns: Sequence[str] | None = None,
    types: Mapping[str, str] | None = None,
    session: SparkSession | None = None,
    engine: EngineName = "auto",
    progress: bool = True,
    **reading: Any,
) -> Profile:
    """Describe the columns of a table in one pass: type, nulls, distinct values, range, most frequent values.

    Parameters
    ----------
    table, columns, types, session, engine, reading
        As in :func:`rowlaw.check`. The spark engine estimates the number of distinct values where they are many
        (``exact`` is false).
    rules
        A rule set or the path of a rule file: then the profile says which of its rules each column takes part in.
    top
        How many of the most frequent values are kept.

    Examples
    --------
    >>> import pyarrow as pa
    >>> print(profile(pa.table({"id": [1, 2, 3], "city": ["Ulm", "Ulm", None]}), progress=False))
    column  type     nulls    distinct  from  to   most frequent  takes part in
    id      integer           3         1     3                   unique
    city    text     1 (33%)  1         Ulm   Ulm  Ulm (67%)
    <BLANKLINE>
    3 rows, 2 columns
    """
    check_parameters(profile, reading, READING)
    shown = Progress(quiet=not progress)
    source = open_source(table, columns=columns, types=types, session=session, **reading)
    with shown.phase("read"):
        opened = open_engine(source, session=session, engine=engine)
    shown.say(str(opened.choice))
    try:
        with shown.phase("profile"):
            return of_engine(opened, rule_set(rules) if rules is not None else RuleSet(), top)
    finally:
        opened.close()


def of_engine(engine: Engine, rules: RuleSet, top: int = _TOP) -> Profile:
    """Describe the columns of a table that is open already."""
    columns = engine.profile(list(engine.types), top)
    laws: dict[str, list[str]] = {}
    keys: dict[str, list[str]] = {}
    for named in rules:
        for name in named.rule.columns:
            laws.setdefault(name, []).append(named.id)
            if named.kind == "key":
                keys.setdefault(name, []).append(named.id)
    as_tuples = [{name: tuple(ids) for name, ids in listed.items()} for listed in (laws, keys)]
    return Profile(engine.rows, tuple(columns), *as_tuples)
