"""Rules as dbt tests: ``unique`` and a generic test for functional dependencies in a model file where they mean the
same, else a singular test that selects the violations.

A name or a literal may contain braces, which dbt would take for its own: they are written so that it prints them.
"""

from __future__ import annotations

import re
from typing import Any

from rowlaw.export.target import Export, Plan, description, one_line, slug, slugs
from rowlaw.rules import FunctionalDependency, Key, NamedRule

_BRACE = re.compile(r"\{(?=[{%#])")
_ORIGIN = "rowlaw_origin"
_FD_TEST = "rowlaw_functional_dependency"
_GENERIC = """{% test rowlaw_functional_dependency(model, determinant, dependent) %}
-- rows that agree on the determinant agree on the dependent column; each row of the result is a group that does not
{%- set columns = [] %}
{%- for name in determinant %}{% do columns.append(adapter.quote(name)) %}{% endfor %}
{%- set listed = columns | join(', ') %}
select {{ listed }}, sum(rowlaw_cell) as rowlaw_rows,
  sum(rowlaw_cell) * sum(rowlaw_cell) - sum(rowlaw_cell * rowlaw_cell) as rowlaw_violations
from (
  select {{ listed }}, {{ adapter.quote(dependent) }}, count(*) as rowlaw_cell
  from {{ model }}
  where {% for name in columns %}{{ name }} is not null and {% endfor %}{{ adapter.quote(dependent) }} is not null
  group by {{ listed }}, {{ adapter.quote(dependent) }}
) rowlaw_cells
group by {{ listed }}
having count(*) > 1
{% endtest %}
"""


def dbt(plan: Plan) -> Export:
    """``models/<table>_rules.yml`` and ``tests/<table>_<rule>.sql``."""
    import yaml

    model = plan.table.split(".")[-1]
    columns: dict[str, list[Any]] = {}
    of_model: list[Any] = []
    files: dict[str, str] = {}
    names = slugs(plan.rules)
    for named in plan.rules:
        test = f"{slug(model)}_{names[named.id]}"
        if _plain_dependency(plan, named):
            arguments = {"determinant": list(named.rule.left), "dependent": named.rule.right}  # type: ignore[union-attr]
            of_model.append(
                {
                    _FD_TEST: {
                        "name": test,
                        "description": description(named),
                        "arguments": arguments,
                        "config": _config(named),
                    }
                }
            )
            files[f"tests/generic/{_FD_TEST}.sql"] = _GENERIC
        elif _plain_unique(plan, named):
            facts = {"name": test, "description": description(named), "config": _config(named)}
            columns.setdefault(named.rule.columns[0], []).append({"unique": facts})
        else:
            files[f"tests/{test}.sql"] = _singular(plan, named, model)
    listed = [{"name": name, "quote": True, "data_tests": tests} for name, tests in columns.items()]
    tests = ({"data_tests": of_model} if of_model else {}) | ({"columns": listed} if listed else {})
    document = {"version": 2, "models": [{"name": model, **tests}]}
    head = (
        "# Keys of one column and functional dependencies. The other rules are singular tests: they select "
        "what breaks them.\n"
    )
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


def _plain_dependency(plan: Plan, named: NamedRule) -> bool:
    """Whether the generic test says the same: it leaves nulls out, and knows nothing of NaN or of shares of pairs."""
    rule = named.rule
    return (
        isinstance(rule, FunctionalDependency)
        and bool(rule.left)
        and rule.right not in rule.left
        and plan.nulls == "unknown"
        and not named.tolerate
        and not plan.floats.intersection(rule.columns)
        and not any("{" in c or "\n" in c for c in rule.columns)
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
