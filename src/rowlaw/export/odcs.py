"""Rules as the quality section of a data contract, Open Data Contract Standard 3.0: a counting query for each."""

from __future__ import annotations

from typing import Any

from rowlaw.export.target import Export, Plan, description, single_row
from rowlaw.rules import Key, NamedRule, TypeClass

API = "v3.0.2"
_LOGICAL: dict[TypeClass, str] = {
    "number": "number",
    "text": "string",
    "boolean": "boolean",
    "date": "date",
    "timestamp": "date",
}


def data_contract(plan: Plan) -> Export:
    """One YAML file: the columns that the rules speak of, and a check of type ``sql`` for each rule."""
    import yaml

    # a property needs its type: without it the standard's schema takes it for a map
    columns = dict.fromkeys(name for named in plan.rules for name in named.rule.columns if name in plan.types)
    table: dict[str, Any] = {"name": plan.table.split(".")[-1], "physicalName": plan.table, "logicalType": "object"}
    if columns:
        table["properties"] = [{"name": name, "logicalType": _LOGICAL[plan.types[name]]} for name in columns]
    if len(plan.rules):
        table["quality"] = [_check(plan, named) for named in plan.rules]
    document = {
        "apiVersion": API,
        "kind": "DataContract",
        "id": f"{plan.title}_rules",
        "name": f"Laws of {plan.table}",
        "version": "1.0.0",
        "status": "draft",
        "schema": [table],
    }
    text = yaml.dump(document, Dumper=_dumper(), sort_keys=False, allow_unicode=True, width=1000)
    return Export("odcs", {f"{plan.title}.odcs.yaml": text})


def _check(plan: Plan, named: NamedRule) -> dict[str, Any]:
    query = plan.failing(named)
    return {
        "name": named.id,
        "type": "sql",
        "description": description(named),
        "dimension": "uniqueness"
        if isinstance(named.rule, Key)
        else "conformity"
        if single_row(named.rule)
        else "consistency",
        "severity": {"error": "error", "warn": "warning"}[named.severity],
        "query": f"SELECT count(*) FROM (\n{query}\n) rowlaw_violations",
        "mustBe": 0,
        "customProperties": [{"property": "rowlawRule", "value": str(named.rule)}],
    }


def _dumper() -> Any:
    """YAML in which a text of several lines stands as such."""
    import yaml

    class Dumper(yaml.SafeDumper):
        pass

    def text(dumper: yaml.SafeDumper, value: str) -> yaml.Node:
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)

    Dumper.add_representer(str, text)
    return Dumper
