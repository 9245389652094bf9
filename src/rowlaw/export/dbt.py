"""Rules as dbt tests: ``unique`` in a model file where that means the same, else a singular test that selects the violations.

A name or a literal may contain braces, which dbt would take for its own: they are written so that it prints them.
"""

from __future__ import annotations

import re
from typing import Any

from rowlaw.export.target import Export, Plan, description, one_line, slug, slugs
from rowlaw.rules import Key, NamedRule

_BRACE = re.compile(r"\{(?=[{%#])")
_ORIGIN = "rowlaw_origin"


def dbt(plan: Plan) -> Export:
    """``models/<table>_rules.yml`` and ``tests/<table>_<rule>.sql``."""
    import yaml

    model = plan.table.split(".")[-1]
    columns: dict[str, list[Any]] = {}
    files: dict[str, str] = {}
    names = slugs(plan.rules)
    for named in plan.rules:
        test = f"{slug(model)}_{names[named.id]}"
        if _plain_unique(plan, named):
            facts = {"name": test, "description": description(named), "config": _config(named)}
            columns.setdefault(named.rule.columns[0], []).append({"unique": facts})
        else:
            files[f"tests/{test}.sql"] = _singular(plan, named, model)
    listed = [{"name": name, "quote": True, "data_tests": tests} for name, tests in columns.items()]
    document = {"version": 2, "models": [{"name": model, "columns": listed} if listed else {"name": model}]}
    head = "# Keys of one column. The other rules are singular tests: they select the rows that break them.\n"
    text = head + yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=1000)
    return Export("dbt", {f"models/{slug(model)}_rules.yml": text, **files})


def _plain_unique(plan: Plan, named: NamedRule) -> bool:
    """Whether dbt's ``unique`` says the same: it leaves nulls out, and knows nothing of NaN or of shares of pairs."""
    rule = named.rule
    return (
        isinstance(rule, Key)
        and len(rule.columns) == 1
        and plan.nulls == "unknown"
        and not named.tolerate
        and rule.columns[0] not in plan.floats
        and "{" not in rule.columns[0]
    )


def _config(named: NamedRule) -> dict[str, Any]:
    return {"severity": named.severity, "tags": ["rowlaw"]}


def _singular(plan: Plan, named: NamedRule, model: str) -> str:
    origin = f"{{{{ ref({_python_text(model)}) }}}}"
    # The braces of the reference must stay, those of names and literals must not: the reference is put in last.
    query, placeholder = plan.with_origin(named, _ORIGIN)
    query = literal(query).replace(placeholder, origin)
    note = literal(f"-- {named.id}: {description(named)}\n--   {one_line(str(named.rule))}")
    return f"{{{{ config(severity='{named.severity}', tags=['rowlaw']) }}}}\n{note}\n{query}\n"


def literal(text: str) -> str:
    """A text that dbt's templates print as it is.

    >>> literal("a {{ b }} {x}")
    "a {{ '{' }}{ b }} {x}"
    """
    return _BRACE.sub("{{ '{' }}", text)


def _python_text(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
