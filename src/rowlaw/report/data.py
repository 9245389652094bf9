"""What a report says, as one JSON document: numbers in full, lists up to their limits."""

from __future__ import annotations

import datetime as dt
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from rowlaw import __version__
from rowlaw.discovery import Discovery
from rowlaw.export.target import Plan
from rowlaw.report.graph import STATUSES, dependency_graph
from rowlaw.report.limits import Limits
from rowlaw.report.plots import plot, table_sample
from rowlaw.report.profiling import Profile, of_engine
from rowlaw.rules import FunctionalDependency, NamedRule, Nulls, RuleSet, english
from rowlaw.source.row_ids import named_records
from rowlaw.violations import Result
from rowlaw.violations.causes import Causes
from rowlaw.violations.sides import Clash, distinct, printed, printed_apart, side_by_side

if TYPE_CHECKING:
    from rowlaw.maintain import History

_MATRIX = (60, 40)  # rules and columns of the matrix: more cannot be read
_SUSPECT_CHARACTERS = 36  # of a cell that is probably wrong, and of what is suggested: a line of the table
_WORST_COLUMNS = 6  # values shown of a row
_LOOKED_AT = 4  # violations that are looked at for each clash that is shown: the same values again say nothing new
_EACH = 2  # pairs of one row: several rows that are wrong say more than one


@dataclass(frozen=True, slots=True)
class Found:
    """A check, and what is asked of its engine once, however often the page has to become smaller."""

    result: Result
    causes: Causes
    suspects: pa.Table | None
    profile: Profile

    @staticmethod
    def of(result: Result) -> Found:
        dependencies = any(isinstance(v.rule, FunctionalDependency) and v.violations for v in result.verdicts)
        rules = RuleSet(tuple(v.named for v in result.verdicts), result.engine.nulls)
        return Found(
            result, result.causes(), result.suspects() if dependencies else None, of_engine(result.engine, rules)
        )


def of_result(found: Found, limits: Limits, facts: dict[str, Any]) -> dict[str, Any]:
    """The document of a check."""
    result = found.result
    ordered = sorted(enumerate(result.verdicts), key=lambda pair: (STATUSES.index(pair[1].status), -pair[1].violations))
    shown = ordered[: limits.rules]
    types = result.engine.types
    rules, pictured = [], []
    for place, (number, verdict) in enumerate(shown):
        entry = _rule(verdict.named, result.engine.nulls, with_sql=place < limits.sql_rules)
        entry |= {
            "status": verdict.status,
            "violations": verdict.violations,
            "rows": verdict.rows,
            "error": verdict.error,
        }
        if verdict.violations and place < limits.clash_rules:
            listed = result.findings.first(number, _LOOKED_AT * limits.clashes, each=_EACH)
            clashes = distinct(side_by_side(verdict.rule, listed, result.engine.nulls))[: limits.clashes]
            listed = listed.slice(0, limits.clashes)
            entry["clashes"] = [_clash(clash, limits.cell) for clash in clashes]
            entry["plot"] = plot(verdict.rule, types, listed)
            pictured.append(entry["plot"])
        rules.append(entry)
    suspects = _suspects(found.suspects, limits)
    return _document(rules, [verdict.named for _, verdict in shown], list(types), limits, facts) | {
        "kind": "check",
        "causes": _causes(found.causes, limits, suspects),
        "suspects": suspects,
        "profile": profile_of(found.profile, limits),
        "table_rows": result.table_rows,
        "nulls": result.engine.nulls,
        "counts": _counts([v.status for v in result.verdicts]),
        "total_rules": len(result.verdicts),
        "violations": sum(v.violations for v in result.verdicts),
        "rows_involved": result.findings.rows_involved,
        "seconds": {name: round(value, 3) for name, value in result.seconds.items()},
        "sample": table_sample(result.engine, pictured, limits.sample),
        "worst": _worst(result, limits),
    }


def _suspects(found: pa.Table | None, limits: Limits) -> dict[str, Any]:
    """Cells that dependencies contradict, with what they suggest instead."""
    if found is None:
        return {"total": 0, "cells": []}
    cells = []
    for cell in named_records(found.slice(0, limits.suspects)):
        value, usual = printed_apart(cell["value"], cell["usual"], min(limits.cell, _SUSPECT_CHARACTERS))
        shown = {name: printed(cell[name], limits.cell) for name in ("row", "column")}
        cells.append({**shown, "value": value, "usual": usual, **{name: cell[name] for name in ("against", "backing")}})
    return {"total": found.num_rows, "cells": cells}


def _causes(found: Causes, limits: Limits, suspects: dict[str, Any]) -> dict[str, Any]:
    """The rows without which broken rules hold: the rules of each, and its cells that are probably wrong."""
    rows, every = [], found.rows
    whole = [(cause.id, set(cause.rows)) for cause in found.rules if cause.whole]
    for row in every[: limits.causes]:
        label = printed(row, limits.cell)
        cells = [
            {name: cell[name] for name in ("column", "value", "usual")}
            for cell in suspects["cells"]
            if cell["row"] == label
        ]
        rows.append({"row": label, "rules": [id for id, members in whole if row in members], "cells": cells})
    return {
        "text": str(found),
        "rows": rows,
        "total_rows": len(every),
        "explained": found.explained,
        "violations": found.violations,
    }


def profile_of(profile: Profile, limits: Limits) -> dict[str, Any]:
    """The columns of a table, as lines of text."""
    return {"columns": profile.cells()[: limits.columns]}


def of_rules(found: RuleSet, limits: Limits, facts: dict[str, Any]) -> dict[str, Any]:
    """The document of rules that were discovered, or written, and not checked."""
    shown = found.rules[: limits.rules]
    rules = []
    for number, named in enumerate(shown):
        entry = _rule(named, found.nulls, with_sql=number < limits.sql_rules)
        rules.append(entry | {"status": _found(named), "error": named.error})
    extra: dict[str, Any] = {"table_rows": None, "seconds": {}, "near_misses": []}
    columns = list(dict.fromkeys(name for named in shown for name in named.rule.columns))
    total = len(found)
    if isinstance(found, Discovery):
        columns, total = list(found.columns), found.total
        near = [
            {"rule": str(m.rule), "sentence": english(m.rule), "violations": m.violations} for m in found.near_misses
        ]
        extra = {
            "table_rows": found.rows,
            "seconds": {k: round(v, 3) for k, v in found.seconds.items()},
            "near_misses": near,
        }
        extra |= {
            "predicates": found.predicates,
            "strategy": found.strategy,
            "why": found.why,
            "partial": found.partial,
        }
        for entry in rules:
            entry["restated_by"] = list(found.folded.get(entry["id"], ()))
    statuses = [_found(named) for named in found]
    return _document(rules, list(shown), columns, limits, facts) | {
        "kind": "discovery" if isinstance(found, Discovery) else "rules",
        "nulls": found.nulls,
        "counts": _counts(statuses),
        "total_rules": total,
        **extra,
    }


def history_of(history: History, limits: Limits) -> dict[str, Any]:
    """Births and retirements of rules: the history of :class:`rowlaw.Laws`, newest last."""
    batches = [
        {
            "number": batch.number,
            "at": batch.at.isoformat(timespec="seconds"),
            "inserted": batch.inserted,
            "deleted": batch.deleted,
            "added": batch.added,
            "removed": batch.removed,
            "rules": batch.rules,
        }
        for batch in history.batches[-limits.events :]
    ]
    later = [event for event in history.events if event.batch.number > 0]
    events = [
        {
            "event": event.kind,
            "id": event.id,
            "rule": str(event.rule),
            "sentence": english(event.rule),
            "batch": event.batch.number,
            "witness": [{name: printed(value, limits.cell) for name, value in row.items()} for row in event.witness],
        }
        for event in later[-limits.events :]
    ]
    return {"batches": batches, "total_batches": len(history.batches), "events": events, "total_events": len(later)}


def _found(named: NamedRule) -> str:
    return "unchecked" if named.error is None else "holds" if not named.error else "tolerated"


def _counts(statuses: Sequence[str]) -> dict[str, int]:
    return {name: statuses.count(name) for name in STATUSES if name in statuses}


def _rule(named: NamedRule, nulls: Nulls, *, with_sql: bool) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "id": named.id,
        "kind": named.kind,
        "rule": str(named.rule),
        "sentence": english(named.rule),
        "severity": named.severity,
        "columns": list(named.rule.columns),
        "ops": [_operators(named, name) for name in named.rule.columns],
    }
    facts = {
        "because": named.because,
        "support": named.support,
        "score": named.score,
        "tolerate": named.tolerate or None,
    }
    entry |= {name: value for name, value in facts.items() if value is not None}
    if named.because and named.because.startswith(entry["sentence"]):  # discovery's reasons repeat the sentence
        entry["because"] = named.because[len(entry["sentence"]) :].strip()
    return entry | ({"sql": Plan(RuleSet((named,), nulls), "data").query(named.rule)} if with_sql else {})


def _operators(named: NamedRule, column: str) -> str:
    """How a rule compares a column: the operators, in the order of the rule."""
    used = (p.symbol for denial in named.rule.denials for p in denial.predicates if column in p.columns)
    return " ".join(dict.fromkeys(used))


def _clash(clash: Clash, cell: int) -> dict[str, Any]:
    lines = []
    for k in clash.lines:
        left, right = printed_apart(k.left_value, k.right_value, cell)
        lines.append([printed(k.left, cell), left, k.op, printed(k.right, cell), right, int(k.marked)])
    return {
        "s": printed(clash.s_row, cell),
        "t": None if clash.t_row is None else printed(clash.t_row, cell),
        "lines": lines,
    }


def _worst(result: Result, limits: Limits) -> dict[str, Any]:
    """The rows in most violations: how many, of which rules, and what they hold in the columns of broken rules."""
    broken = [v for v in result.verdicts if v.violations]
    columns = list(dict.fromkeys(name for v in broken for name in v.rule.columns))[:_WORST_COLUMNS]
    rows = []
    for worst in result.findings.worst(limits.worst, columns):
        rules = sorted(
            ((result.verdicts[number].id, pairs) for number, pairs in worst.pairs_of.items()), key=lambda pair: -pair[1]
        )
        values = [printed(value, limits.cell) for value in worst.values]
        row = {"row": printed(worst.row, limits.cell), "pairs": worst.pairs, "rules": rules[:8], "more": len(rules[8:])}
        rows.append(row | {"values": values})
    return {"columns": columns, "rows": rows}


def _document(
    rules: list[dict[str, Any]], named: Sequence[NamedRule], columns: list[str], limits: Limits, facts: dict[str, Any]
) -> dict[str, Any]:
    used = [name for name in columns if any(name in rule["columns"] for rule in rules)]
    return {
        "rowlaw": __version__,
        "python": platform.python_version(),
        "made": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        "columns": columns[: limits.columns],
        "total_columns": len(columns),
        "rules": rules,
        "matrix": {"rules": [rule["id"] for rule in rules[: _MATRIX[0]]], "columns": used[: _MATRIX[1]]},
        "graph": dependency_graph([(rule, entry["status"]) for rule, entry in zip(named, rules, strict=True)]),
        "limits": {"clashes": limits.clashes, "clash_rules": limits.clash_rules},
        **facts,
    }
