"""What every export needs to know, and what it gives: files, and the rules that the other tool cannot express."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal

from rowlaw.errors import RowlawError
from rowlaw.export.groups import VIOLATIONS, GroupSql
from rowlaw.output import write_text
from rowlaw.rules import Denial, Dialect, NamedRule, Nulls, Rule, RuleSet, TypeClass, english, sql
from rowlaw.rules.render import sql_value


@dataclass(frozen=True, slots=True)
class Plan:
    """Rules that fit the table, and how to write about them."""

    rules: RuleSet
    table: str
    row_id: str | Sequence[str] | None = None
    dialect: Dialect = "spark"
    types: Mapping[str, TypeClass] = field(default_factory=dict)  # of the columns whose types are known
    floats: frozenset[str] = frozenset()

    @property
    def nulls(self) -> Nulls:
        return self.rules.nulls

    @property
    def title(self) -> str:
        """The table's name as a file may be called."""
        return slug(self.table)

    def query(self, rule: Rule, origin: str | None = None) -> str:
        """The violations of a rule: groups of rows for keys and functional dependencies, else pairs of rows, or
        rows."""
        source = origin if origin is not None else self.quoted_table
        return self.groups.query(rule, source) or self.pairs(rule, origin)

    def in_dialect(self, dialect: Dialect) -> Plan:
        """The same rules for another dialect of SQL."""
        return replace(self, dialect=dialect)

    @property
    def groups(self) -> GroupSql:
        return GroupSql(self.quoted, lambda column: sql_value(column, self.dialect, self.floats), self.nulls)

    def in_groups(self, rule: Rule) -> bool:
        """Whether the query of a rule gives groups, with ``rowlaw_violations`` of each."""
        return self.groups.query(rule, "") is not None

    def pairs(self, rule: Rule, origin: str | None = None) -> str:
        """All violating pairs of rows of a rule (rows, for a rule about single rows)."""
        return sql(
            rule,
            self.table,
            row_id=self.row_id,
            nulls=self.nulls,
            dialect=self.dialect,
            floats=self.floats,
            origin=origin,
        )

    def failing(self, named: NamedRule, origin: str | None = None) -> str:
        """The violations of a rule if there are more than it tolerates, else nothing."""
        query = self.query(named.rule, origin)
        if not named.tolerate:
            return query
        double = "DOUBLE PRECISION" if self.dialect == "ansi" else "DOUBLE"
        source = origin if origin is not None else self.quoted_table
        rows = f"CAST(count(*) AS {double})"
        pairs = rows if single_row(named.rule) else f"{rows} * (count(*) - 1)"
        share = f"{Decimal(repr(named.tolerate)):E}"
        counted = f"sum({VIOLATIONS})" if self.in_groups(named.rule) else "count(*)"
        return (
            "SELECT * FROM (\n"
            f"SELECT rowlaw_found.*, {counted} OVER () AS rowlaw_total FROM (\n{query}\n) rowlaw_found\n) "
            "rowlaw_counted\n"
            f"WHERE CAST(rowlaw_total AS {double}) / (SELECT {pairs} FROM {source}) > {share}"
        )

    def with_origin(self, named: NamedRule, name: str) -> tuple[str, str]:
        """The query of a tool that puts its own text where the table stands: with a name in its place, and that name.

        The name given is lengthened until nothing else in the query is called so.
        """
        query = self.query(named.rule)
        while name in query:
            name += "_"
        return self.failing(named, name), name

    def quoted(self, name: str) -> str:
        """A name as the dialect quotes it."""
        mark = "`" if self.dialect == "spark" else '"'
        return mark + name.replace(mark, mark * 2) + mark

    @property
    def quoted_table(self) -> str:
        return ".".join(map(self.quoted, self.table.split(".")))


@dataclass(frozen=True, slots=True)
class Unexpressed:
    """A rule that a tool cannot express, and why."""

    id: str
    why: str

    def __str__(self) -> str:
        return f"{self.id}: {self.why}"


@dataclass(frozen=True, slots=True)
class Export:
    """Files for another tool: name -> text. ``unexpressed`` are the rules that it cannot express, which the files say
    too."""

    to: str
    files: Mapping[str, str]
    unexpressed: tuple[Unexpressed, ...] = ()

    def __str__(self) -> str:
        if len(self.files) == 1:
            return next(iter(self.files.values()))
        return "\n".join(f"# file: {name}\n{text}" for name, text in self.files.items())

    def write(self, path: str | os.PathLike[str]) -> list[str]:
        """Write a single file under ``path``, several into that folder. Returns the paths."""
        target = os.fspath(path)
        if len(self.files) == 1:
            paths = dict(zip([target], self.files.values(), strict=True))
        elif os.path.isfile(target):
            problem = f"{self.to} needs a folder for {len(self.files)} files, and this is a file"
            raise RowlawError("BAD_OPTION", option="out", value=target, problem=problem)
        else:
            paths = {os.path.join(target, *name.split("/")): text for name, text in self.files.items()}
        for file, text in paths.items():
            os.makedirs(os.path.dirname(file) or ".", exist_ok=True)
            write_text(file, text)
        return list(paths)


def single_row(rule: Rule) -> bool:
    """Whether the rule speaks of single rows."""
    return bool(rule.denials) and all(denial.arity == 1 for denial in rule.denials)


def row_denial(rule: Rule) -> Denial | None:
    """The one denial of a rule about single rows."""
    return rule if isinstance(rule, Denial) and rule.arity == 1 else None


def description(named: NamedRule) -> str:
    """What a rule says and why, in one line."""
    because = (
        f" Because: {' '.join(named.because.split())}"
        if named.because and not named.because.startswith(english(named.rule))
        else ""
    )
    return english(named.rule) + because


def one_line(text: str) -> str:
    """A text that stays inside a comment of one line."""
    return " ".join(text.splitlines())


def slug(text: str) -> str:
    """A text as a file or a test may be called.

    >>> slug("Zip -> City!")
    'zip_city'
    """
    return re.sub(r"[^0-9a-z]+", "_", text.casefold()).strip("_") or "rule"


def slugs(rules: RuleSet) -> dict[str, str]:
    """A name for each rule; no two are equal."""
    names: dict[str, str] = {}
    taken: set[str] = set()
    for named in rules:
        base = name = slug(named.id)[:80]
        number = 2
        while name in taken:
            name, number = f"{base}_{number}", number + 1
        taken.add(name)
        names[named.id] = name
    return names
