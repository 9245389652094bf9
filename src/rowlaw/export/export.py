"""``rowlaw.export_rules``: a rule set as SQL, dbt tests, an expectation suite, checks of Deequ, DQX or Soda, or a data
contract."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias, get_args

from rowlaw.errors import RowlawError
from rowlaw.export.dbt import dbt
from rowlaw.export.deequ import deequ
from rowlaw.export.dqx import dqx
from rowlaw.export.gx import great_expectations
from rowlaw.export.odcs import data_contract
from rowlaw.export.soda import soda
from rowlaw.export.sql import sql_script
from rowlaw.export.target import Export, Plan
from rowlaw.rules import Denial, Dialect, NamedRule, Nulls, Rule, RuleSet, TypeClass, bind

Target: TypeAlias = Literal["sql", "dbt", "gx", "deequ", "odcs", "dqx", "soda"]

TARGETS: dict[Target, Callable[[Plan], Export]] = {
    "sql": sql_script,
    "dbt": dbt,
    "gx": great_expectations,
    "deequ": deequ,
    "odcs": data_contract,
    "dqx": dqx,
    "soda": soda,
}


def export_rules(
    rules: RuleSet | str | Rule | NamedRule | Iterable[str | Rule | NamedRule] | Mapping[str, str | Rule | NamedRule],
    *,
    to: Target = "sql",
    table: str = "data",
    row_id: str | Sequence[str] | None = None,
    dialect: Dialect = "spark",
    nulls: Nulls | None = None,
    types: Mapping[str, str] | None = None,
) -> Export:
    """Rules in the language of another tool.

    Parameters
    ----------
    rules
        A rule set, a rule or its text, or several of them.
    to
        ``"sql"``, ``"dbt"``, ``"gx"`` (Great Expectations), ``"deequ"`` (PyDeequ), ``"dqx"`` (Databricks DQX),
        ``"soda"`` (Soda Core) or ``"odcs"`` (Open Data Contract Standard).
    table
        The table's name there; dots separate catalog and schema.
    row_id
        A column that tells rows apart and has no nulls, or several that do together. Without one, the queries number
        the rows.
    dialect
        Of the SQL: ``"spark"``, ``"duckdb"`` or ``"ansi"`` (standard SQL).
    types
        Of columns, as in :func:`rowlaw.check`. Of those that are ``float``, NaN counts as null, as it does in a check.

    Examples
    --------
    >>> print(export_rules("key (id)", table="people", row_id="id", dialect="ansi"))
    -- R1 (error): No two rows share the same id.
    --   key (id)
    -- as a constraint: ALTER TABLE "people" ADD CONSTRAINT "R1" UNIQUE ("id");
    SELECT "id", COUNT(*) AS rowlaw_rows, COUNT(*) * (COUNT(*) - 1) AS rowlaw_violations
    FROM "people"
    WHERE "id" IS NOT NULL
    GROUP BY "id"
    HAVING COUNT(*) > 1;
    <BLANKLINE>
    """
    for option, value, known in (("to", to, tuple(TARGETS)), ("dialect", dialect, get_args(Dialect))):
        if value not in known:
            raise RowlawError("BAD_OPTION", option=option, value=value, problem=f"use one of {', '.join(known)}")
    if not table.strip("."):
        raise RowlawError("BAD_OPTION", option="table", value=table, problem="give the table's name")
    chosen = RuleSet.of(rules, nulls=nulls)
    known_types, floats = _types(types or {})
    columns: dict[str, TypeClass | None] = {
        name: known_types.get(name) for rule in chosen for name in rule.rule.columns
    }
    bound = [_bound(named, columns) for named in chosen]
    return TARGETS[to](
        Plan(RuleSet(tuple(bound), chosen.nulls, chosen.settings), table, row_id, dialect, known_types, floats)
    )


def _types(given: Mapping[str, str]) -> tuple[dict[str, TypeClass], frozenset[str]]:
    """The type classes that were given, and which of the columns are floats."""
    if not given:
        return {}, frozenset()
    from rowlaw.source.types import named_type, type_class

    types = {name: named_type(name, text) for name, text in given.items()}
    classes: dict[str, Any] = {name: type_class(dtype) for name, dtype in types.items()}
    return classes, frozenset(name for name, dtype in types.items() if str(dtype) == "double")


def _bound(named: NamedRule, columns: Mapping[str, TypeClass | None]) -> NamedRule:
    if not isinstance(named.rule, Denial):
        return named
    return replace(named, rule=bind(named.origin or named.rule, columns), origin=None)
