"""Rules as checks of Soda Core 3 (SodaCL): its own metrics for keys of one column and for nulls, else a query that
counts.

Soda reads a query as a template, so braces in names and literals are written such that it prints them.
"""

from __future__ import annotations

from typing import Any

from rowlaw.export.dbt import literal
from rowlaw.export.target import Export, Plan, description, row_denial, slug, slugs
from rowlaw.rules import Key, NamedRule, Op
from rowlaw.rules.conditions import IsNull

_ALERT = {"error": "fail", "warn": "warn"}


def soda(plan: Plan) -> Export:
    """One YAML file with the checks of the table."""
    import yaml

    names = slugs(plan.rules)
    checks = [_check(plan, named, f"rowlaw_{slug(names[named.id])}") for named in plan.rules]
    text = yaml.safe_dump({f"checks for {plan.table}": checks or None}, sort_keys=False, allow_unicode=True, width=1000)
    return Export("soda", {f"{plan.title}_checks.yml": text})


def _check(plan: Plan, named: NamedRule, metric: str) -> dict[str, Any]:
    facts: dict[str, Any] = {"name": literal(f"{named.id}: {description(named)}"), _ALERT[named.severity]: "when > 0"}
    own = _metric(plan, named)
    if own is not None:
        return {own: facts}
    query = f"SELECT COUNT(*) AS {metric} FROM (\n{plan.failing(named)}\n) rowlaw_violations"
    return {metric: {f"{metric} query": literal(query), **facts}}


def _metric(plan: Plan, named: NamedRule) -> str | None:
    """A metric of Soda that says the same: it leaves nulls out, and knows nothing of NaN or of shares of pairs."""
    rule = named.rule
    column = rule.columns[0]
    if named.tolerate or len(rule.columns) != 1 or not column.isidentifier() or plan.floats.intersection(rule.columns):
        return None
    if isinstance(rule, Key) and plan.nulls == "unknown":
        return f"duplicate_count({column})"
    denial = row_denial(rule)
    if denial is not None and len(denial.predicates) == 1:
        (p,) = denial.predicates
        if isinstance(p.right, IsNull) and p.op == Op.EQ:
            return f"missing_count({column})"
    return None
