"""Rules as checks of Databricks DQX: a YAML file that ``DQEngine.apply_checks_by_metadata`` takes.

Keys are its own ``is_unique``; rules about single rows are SQL expressions; functional dependencies are queries over
groups that are joined back to the rows; other rules are queries over pairs, which mark the rows of ``row_id``, or else
the table as a whole.
"""

from __future__ import annotations

from typing import Any

from rowlaw.export.target import Export, Plan, Unexpressed, description, row_denial, slugs
from rowlaw.rules import FunctionalDependency, Key, NamedRule, sql_condition

_INPUT = "input_view"  # DQX puts the table in its place
_CRITICALITY = {"error": "error", "warn": "warn"}


def dqx(plan: Plan) -> Export:
    """One YAML file: a list of checks."""
    import yaml

    names = slugs(plan.rules)
    checks: list[dict[str, Any]] = []
    unexpressed: list[Unexpressed] = []
    for named in plan.rules:
        check = _check(plan, named)
        if isinstance(check, Unexpressed):
            unexpressed.append(check)
            continue
        function, arguments = check
        checks.append(
            {
                "name": names[named.id],
                "criticality": _CRITICALITY[named.severity],
                "check": {"function": function, "arguments": arguments},
                "user_metadata": {"rowlaw_rule": str(named.rule), "rowlaw_id": named.id, "meaning": description(named)},
            }
        )
    left_out = "".join(f"# not expressed: {one}\n" for one in unexpressed)
    text = left_out + yaml.safe_dump(checks, sort_keys=False, allow_unicode=True, width=1000)
    return Export("dqx", {f"{plan.title}_dqx.yml": text}, tuple(unexpressed))


def _check(plan: Plan, named: NamedRule) -> tuple[str, dict[str, Any]] | Unexpressed:
    rule, message = named.rule, f"{named.id}: {description(named)}"
    odd = next((c for c in rule.columns if not c.isidentifier()), None)
    if odd is not None:
        return Unexpressed(named.id, f"DQX takes {odd!r} for an expression, not for the name of a column")
    if plan.dialect != "spark":
        plan = plan.in_dialect("spark")
    denial = row_denial(rule)
    if denial is not None and not named.tolerate:
        condition = sql_condition(denial, nulls=plan.nulls, floats=plan.floats)
        return "sql_expression", {
            "expression": f"({condition}) IS NOT TRUE",
            "msg": message,
            "columns": list(rule.columns),
        }
    if isinstance(rule, Key) and not named.tolerate and not plan.floats.intersection(rule.columns):
        return "is_unique", {"columns": list(rule.columns), "nulls_distinct": plan.nulls == "unknown"}
    table = f"{{{{ {_INPUT} }}}}"
    shared: dict[str, Any] = {"input_placeholder": _INPUT, "condition_column": "condition", "msg": message}
    if (
        isinstance(rule, FunctionalDependency)
        and rule.left
        and not named.tolerate
        and plan.in_groups(rule)
        and plan.nulls == "unknown"
    ):
        names = ", ".join(map(plan.quoted, rule.left))
        query = f"SELECT {names}, TRUE AS condition FROM (\n{plan.query(rule, table)}\n) rowlaw_groups"
        return "sql_query", {"query": query, "merge_columns": list(rule.left), **shared}
    if isinstance(plan.row_id, str) and not named.tolerate and not plan.in_groups(rule):
        row = plan.quoted(plan.row_id)
        sides = " UNION ".join(f"SELECT {side}_row FROM rowlaw_found" for side in ("s", "t"))
        query = (
            f"WITH rowlaw_found AS (\n{plan.pairs(rule, table)}\n)\nSELECT s_row AS {row}, TRUE AS condition "
            f"FROM ({sides})"
        )
        return "sql_query", {"query": query, "merge_columns": [plan.row_id], **shared}
    query = f"SELECT COUNT(*) > 0 AS condition FROM (\n{plan.failing(named, table)}\n) rowlaw_violations"
    return "sql_query", {"query": query, **shared}
