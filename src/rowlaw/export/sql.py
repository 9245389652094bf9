"""Rules as SQL: a query for the violations of each, and a constraint where the database can keep the law itself."""

from __future__ import annotations

from rowlaw.export.target import Export, Plan, Unexpressed, description, one_line, row_denial
from rowlaw.rules import Key, NamedRule, sql_condition
from rowlaw.rules.wording import percent


def sql_script(plan: Plan) -> Export:
    """One file: for each rule a comment, a constraint where there is one, and the query."""
    numbered = (
        not plan.row_id and plan.dialect == "ansi" and any(not plan.in_groups(named.rule) for named in plan.rules)
    )
    parts = (
        ["-- The queries number the rows. A database that may number them twice differently needs a row id.\n"]
        if numbered
        else []
    )
    for named in plan.rules:
        tolerated = (
            f", tolerates {percent(named.tolerate)} of the {'rows' if row_denial(named.rule) else 'pairs'}"
            if named.tolerate
            else ""
        )
        lines = [
            f"-- {named.id} ({named.severity}{tolerated}): {description(named)}",
            f"--   {one_line(str(named.rule))}",
        ]
        condition = constraint(plan, named)
        if isinstance(condition, Unexpressed):
            lines.append(f"-- no constraint: {condition.why}")
        else:
            lines.append(f"-- as a constraint: {one_line(_alter(plan, named, condition))}")
        parts.append("\n".join([*lines, plan.query(named.rule) + ";"]) + "\n")
    return Export("sql", {f"{plan.title}.sql": "\n".join(parts) or "-- no rules\n"})


def constraint(plan: Plan, named: NamedRule) -> str | Unexpressed:
    """The clause of ``CREATE TABLE`` that keeps a rule: ``UNIQUE`` for keys, ``CHECK`` for rules about single rows.

    ``UNIQUE`` lets rows with a null in the key pass, as nulls='unknown' does; for nulls='equal' there is ``NULLS NOT
    DISTINCT`` (SQL:2023). ``CHECK`` never sees an unknown outcome: databases differ in what they make of it.
    """
    rule = named.rule
    if named.tolerate:
        return Unexpressed(named.id, "a constraint tolerates no violation; use the query")
    denial = row_denial(rule)
    if denial is not None:
        condition = sql_condition(denial, nulls=plan.nulls, dialect=plan.dialect, floats=plan.floats)
        return f"CHECK (({condition}) IS NOT TRUE)"
    if not isinstance(rule, Key):
        return Unexpressed(named.id, "CHECK sees one row at a time, and this rule compares two; use the query")
    if plan.dialect == "spark":
        return Unexpressed(named.id, "Spark does not enforce UNIQUE; use the query")
    if plan.floats.intersection(rule.columns):
        return Unexpressed(named.id, "UNIQUE takes NaN for a value, a rule takes it for null; use the query")
    columns = ", ".join(map(plan.quoted, rule.columns))
    if plan.nulls == "unknown":
        return f"UNIQUE ({columns})"
    if plan.dialect == "duckdb":
        return Unexpressed(
            named.id, "DuckDB's UNIQUE lets rows with nulls pass, and the rule takes nulls as equal; use the query"
        )
    return f"UNIQUE NULLS NOT DISTINCT ({columns})"


def _alter(plan: Plan, named: NamedRule, clause: str) -> str:
    return f"ALTER TABLE {plan.quoted_table} ADD CONSTRAINT {plan.quoted(named.id)} {clause};"
