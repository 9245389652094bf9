"""Which two columns a rule is drawn over, the clashing rows in them, and a sample of the table behind."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

from rowlaw.engine.answers import value_names
from rowlaw.engine.protocol import Engine
from rowlaw.rules.model import Constant, Op, Rule, TypeClass
from rowlaw.source.row_ids import CompositeId, row_name

_SCALES: dict[TypeClass, str] = {
    "number": "quantitative",
    "date": "temporal",
    "timestamp": "temporal",
    "text": "nominal",
    "boolean": "nominal",
}
_LONG = 40  # characters of a category


def plot(rule: Rule, types: Mapping[str, TypeClass], listed: pa.Table) -> dict[str, Any]:
    """Draw clashing pairs in the plane of two columns the rule compares; a rule of one column is drawn against the
    rows' numbers.

    ``listed`` has the pairs with the values of both rows, as an engine lists them.
    """
    x, y = _axes(rule)
    names = value_names(rule.columns)
    pairs = []
    for record in listed.to_pylist():
        ends = [
            (plain(record[names[row, x]]), plain(record[names[row, y]]) if y is not None else record[f"{row}#"])
            for row in ("s", "t")
        ]
        if all(value is not None for end in ends for value in end):
            pairs.append([*ends[0], *ends[1], _label(record["s_row"]), _label(record.get("t_row", record["s_row"]))])
    single = all(denial.arity == 1 for denial in rule.denials)
    lines = [
        {"column": p.left.name, "value": plain(p.right.value)}
        for denial in rule.denials
        for p in denial.predicates
        if isinstance(p.right, Constant) and types[p.left.name] != "text"
    ]
    return {"x": _axis(types, x), "y": _axis(types, y), "single": single, "pairs": pairs, "lines": lines[:4]}


def _label(row: Any) -> Any:
    """The id of a row: text, where it has several columns."""
    named = row_name(row)
    return str(named) if isinstance(named, CompositeId) else plain(named)


def table_sample(engine: Engine, plots: Sequence[dict[str, Any]], size: int) -> dict[str, list[Any]]:
    """Take some rows of the table, evenly spread, in the columns that the plots show; ``""`` are their numbers."""
    names = list(
        dict.fromkeys(axis["name"] for drawn in plots for axis in (drawn["x"], drawn["y"]) if axis["name"] is not None)
    )
    if not names or not engine.rows:
        return {}
    rows = engine.some_rows(size, names)
    return {
        "": rows.column(0).to_pylist(),
        **{name: [plain(v) for v in rows.column(i + 1).to_pylist()] for i, name in enumerate(names)},
    }


def _axes(rule: Rule) -> tuple[str, str | None]:
    """The columns that clash before those that only bring the rows together."""
    names: dict[str, None] = {}
    predicates = [p for denial in rule.denials for p in denial.predicates]
    for p in sorted(predicates, key=lambda p: p.op == Op.EQ):
        names |= dict.fromkeys(p.columns)
    first, *others = names
    if not others:
        return first, None
    if any(p.op.is_inequality for p in predicates):
        return first, others[0]
    return others[0], first  # of a functional dependency, what determines lies across


def _axis(types: Mapping[str, TypeClass], name: str | None) -> dict[str, Any]:
    if name is None:
        return {"name": None, "scale": "quantitative"}
    return {"name": name, "scale": _SCALES[types[name]]}


def plain(value: Any) -> Any:
    """A value as a chart takes it: numbers, ISO dates, short texts."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Decimal | int | float):
        number = float(value)
        if not math.isfinite(number):
            return None
        return int(value) if number.is_integer() and abs(number) < 2**53 else number
    if isinstance(value, dt.date | dt.datetime):
        return value.isoformat()
    if isinstance(value, str):
        return value if len(value) <= _LONG else value[: _LONG - 1] + "…"
    return value
