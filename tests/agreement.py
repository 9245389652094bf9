"""Whether the frames of one result name the same rows: `rows`, `violations` and `flagged` against each other and the
input."""

from collections import Counter
from collections.abc import Mapping
from typing import Any


def disagreements(
    result: Any, rules: Mapping[str, str], expected: Mapping[Any, Mapping[str, Any]], row_id: str | None
) -> list[str]:
    """What does not fit together. `expected`: the input's rows by a column `id` that no two rows share."""
    flagged = {r["row"]: r.asDict() for r in result.flagged().collect()}
    involved = {(r["row"], r["rule"]): r["pairs"] for r in result.rows.collect()}
    problems = []
    if {r["id"]: {name: r[name] for name in expected[r["id"]]} for r in flagged.values()} != expected or len(
        flagged
    ) != len(expected):
        problems.append("flagged is not the input")
    if row_id is None and sorted(flagged) != list(range(len(expected))):
        problems.append("rows are not numbered from 0")
    if row_id is not None and any(row != r[row_id] for row, r in flagged.items()):
        problems.append("a row is not called by its id")
    if {(row, rule) for row, r in flagged.items() for rule in r["broken_rules"]} != set(involved):
        problems.append("flagged and rows have different broken rules")
    for rule in rules:
        problems += _problems_of(
            rule, result, flagged, {row: pairs for (row, broken), pairs in involved.items() if broken == rule}
        )
    return problems


def _problems_of(
    rule: str, result: Any, flagged: Mapping[Any, Mapping[str, Any]], involved: Mapping[Any, int]
) -> list[str]:
    problems, counted = set(), Counter()
    listed = [r.asDict() for r in result.violations(rule).collect()]
    for pair in listed:
        for side in ("s", "t"):
            row = pair[f"{side}_row"]
            if row is None:  # a rule about single rows
                continue
            counted[row] += 1
            values = {
                name.removeprefix(f"{side}_"): value for name, value in pair.items() if name.startswith(f"{side}_")
            }
            if any(flagged[row][name] != value for name, value in values.items() if name != "row"):
                problems.add(f"{rule}: violations and flagged have different values of a row")
    if counted != Counter(involved):
        problems.add(f"{rule}: violations and rows have different pairs of a row")
    if len(listed) != result.counts[rule]:
        problems.add(f"{rule}: {len(listed)} violations are listed, {result.counts[rule]} counted")
    return sorted(problems)
