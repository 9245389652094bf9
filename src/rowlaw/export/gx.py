"""Rules as a suite of Great Expectations 1.x: its own expectations for keys, a query for everything else.

A query sees the table as ``{batch}``; it needs a Spark or SQL data source, since pandas runs no SQL.
"""

from __future__ import annotations

import json
from typing import Any

from rowlaw.export.target import Export, Plan, description
from rowlaw.rules import Key, NamedRule

_SEVERITY = {"error": "critical", "warn": "warning"}
_BATCH = "rowlaw_batch"


def great_expectations(plan: Plan) -> Export:
    """One JSON file, which ``ExpectationSuite(**json.load(file))`` reads."""
    document = {
        "name": f"{plan.title}_rules",
        "expectations": [_expectation(plan, named) for named in plan.rules],
        "meta": {"great_expectations_version": "1.0.0"},
        "notes": f"Laws of {plan.table}, nulls={plan.nulls}. Queries need a Spark or SQL data source.",
    }
    return Export("gx", {f"{plan.title}_rules.json": json.dumps(document, indent=2, ensure_ascii=False) + "\n"})


def _expectation(plan: Plan, named: NamedRule) -> dict[str, Any]:
    type, kwargs = _native(plan, named) or (
        "unexpected_rows_expectation",
        {"unexpected_rows_query": _query(plan, named)},
    )
    return {
        "type": type,
        "kwargs": kwargs,
        "meta": {"rule": str(named.rule), "rule_id": named.id},
        "description": f"{named.id}: {description(named)}",
        "severity": _SEVERITY[named.severity],
    }


def _native(plan: Plan, named: NamedRule) -> tuple[str, dict[str, Any]] | None:
    """Keys have expectations of their own, which run on any data source."""
    rule = named.rule
    if not isinstance(rule, Key) or named.tolerate or plan.floats.intersection(rule.columns):
        return None
    if len(rule.columns) == 1:
        return ("expect_column_values_to_be_unique", {"column": rule.columns[0]}) if plan.nulls == "unknown" else None
    ignored = "any_value_is_missing" if plan.nulls == "unknown" else "never"
    return "expect_compound_columns_to_be_unique", {"column_list": list(rule.columns), "ignore_row_if": ignored}


def _query(plan: Plan, named: NamedRule) -> str:
    """The query with the table as ``{batch}``; other braces are doubled, since the text is a format string."""
    query, placeholder = plan.with_origin(named, _BATCH)
    return query.replace("{", "{{").replace("}", "}}").replace(placeholder, "{batch}")
