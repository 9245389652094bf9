"""Which two columns a rule is drawn over, the clashing rows in them, and a sample of the table behind."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from rowlaw.relation import Relation
from rowlaw.rules.model import Constant, Op, Rule, TypeClass

SCALES: dict[TypeClass, str] = {
    "number": "quantitative",
    "date": "temporal",
    "timestamp": "temporal",
    "text": "nominal",
    "boolean": "nominal",
}
LONG = 40  # characters of a category


def plot(rule: Rule, relation: Relation, s: np.ndarray, t: np.ndarray) -> dict[str, Any]:
    """The clashing pairs in the plane of two columns the rule compares; a rule of one column is drawn against the row number."""
    x, y = _axes(rule)
    pairs = []
    points = {}
    for name, rows in (("s", s), ("t", t)):
        xs = _values(relation, rows, x)
        ys = _values(relation, rows, y) if y is not None else [int(row) for row in rows]
        points[name] = list(zip(xs, ys, strict=True))
    labels = [relation.row_labels(rows).to_pylist() for rows in (s, t)]
    for i in range(len(s)):
        ends = [points["s"][i], points["t"][i]]
        if all(value is not None for end in ends for value in end):
            pairs.append([*ends[0], *ends[1], plain(labels[0][i]), plain(labels[1][i])])
    single = all(denial.arity == 1 for denial in rule.denials)
    lines = [
        {"column": p.left.name, "value": plain(p.right.value)}
        for denial in rule.denials
        for p in denial.predicates
        if isinstance(p.right, Constant) and relation.column(p.left.name).type != "text"
    ]
    return {"x": _axis(relation, x), "y": _axis(relation, y), "single": single, "pairs": pairs, "lines": lines[:4]}


def table_sample(relation: Relation, plots: Sequence[dict[str, Any]], size: int) -> dict[str, list[Any]]:
    """Some rows of the table, evenly spread, in the columns that the plots show; ``""`` are their positions."""
    names = dict.fromkeys(axis["name"] for drawn in plots for axis in (drawn["x"], drawn["y"]) if axis["name"] is not None)
    if not names or not relation.rows:
        return {}
    rows = np.unique(np.linspace(0, relation.rows - 1, min(size, relation.rows)).astype(np.int64))
    return {"": rows.tolist(), **{name: _values(relation, rows, name) for name in names}}


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


def _axis(relation: Relation, name: str | None) -> dict[str, Any]:
    if name is None:
        return {"name": None, "scale": "quantitative"}
    return {"name": name, "scale": SCALES[relation.column(name).type]}


def _values(relation: Relation, rows: np.ndarray, name: str) -> list[Any]:
    return [plain(value) for value in relation.decode(rows, [name]).column(0).to_pylist()]


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
        return value if len(value) <= LONG else value[: LONG - 1] + "…"
    return value
