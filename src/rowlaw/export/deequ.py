"""Rules as PyDeequ checks: Python text with a check for each severity.

Deequ measures single columns and single rows; what compares two rows it can only count as duplicates.
"""

from __future__ import annotations

from rowlaw.export.target import Export, Plan, Unexpressed, description, one_line, row_denial
from rowlaw.rules import Key, NamedRule, Severity, sql_condition

_LEVELS: dict[Severity, str] = {"error": "Error", "warn": "Warning"}


def deequ(plan: Plan) -> Export:
    """One Python file with a function ``checks(spark)`` that gives the checks, and ``verify(spark, frame)`` that runs
    them."""
    calls: dict[Severity, list[str]] = {"error": [], "warn": []}
    unexpressed: list[Unexpressed] = []
    for named in plan.rules:
        constraint = _constraint(plan, named)
        note = f"        # {named.id}: {one_line(description(named))}"
        if isinstance(constraint, Unexpressed):
            unexpressed.append(constraint)
            calls[named.severity].append(
                f"{note}\n        # not expressed: {one_line(str(named.rule))}\n        #   {constraint.why}"
            )
        else:
            calls[named.severity].append(f"{note}\n        {constraint}")
    used = [severity for severity, some in calls.items() if any("\n        ." in call for call in some)]
    text = [
        f'"""Laws of {_docstring(plan.table)} as PyDeequ checks (nulls={plan.nulls})."""',
        "",
        "from pydeequ.checks import Check, CheckLevel",
        "from pydeequ.verification import VerificationSuite",
        "",
        "",
        "def checks(spark):",
    ]
    for severity, some in calls.items():
        head = f"    {severity} = (\n        Check(spark, CheckLevel.{_LEVELS[severity]}, {f'rowlaw {severity}'!r})"
        if severity in used:
            text += [head, *some, "    )"]
        else:
            text += [call.replace("        #", "    #") for call in some]
    text += [
        f"    return [{', '.join(used)}]",
        "",
        "",
        "def verify(spark, frame):",
        "    suite = VerificationSuite(spark).onData(frame)",
        "    for check in checks(spark):",
        "        suite = suite.addCheck(check)",
        "    return suite.run()",
        "",
    ]
    return Export("deequ", {f"{plan.title}_checks.py": "\n".join(text)}, tuple(unexpressed))


def _constraint(plan: Plan, named: NamedRule) -> str | Unexpressed:
    rule = named.rule
    denial = row_denial(rule)
    if denial is not None:
        condition = sql_condition(denial, nulls=plan.nulls, dialect="spark", floats=plan.floats)
        least = 1 - named.tolerate
        return f".satisfies({f'({condition}) IS NOT TRUE'!r}, {named.id!r}, lambda share: share >= {least!r})"
    if not isinstance(rule, Key):
        return Unexpressed(named.id, "Deequ does not compare rows; run the query of `rowlaw export --to sql`")
    if named.tolerate:
        return Unexpressed(named.id, "Deequ measures shares of rows, and the rule tolerates a share of pairs")
    if plan.nulls == "equal":
        return Unexpressed(named.id, "Deequ leaves out rows whose key is null, and the rule takes nulls as equal")
    if plan.floats.intersection(rule.columns):
        return Unexpressed(named.id, "Deequ takes NaN for a value, a rule takes it for null")
    odd = next((c for c in rule.columns if not c.isidentifier()), None)
    if odd is not None:
        return Unexpressed(named.id, f"Deequ cannot be given the column name {odd!r}")
    known = " AND ".join(f"`{c}` IS NOT NULL" for c in rule.columns)
    return f".hasUniqueness({list(rule.columns)!r}, lambda share: share == 1.0).where({known!r})"


def _docstring(text: str) -> str:
    return one_line(text).replace("\\", "\\\\").replace('"', "'")
