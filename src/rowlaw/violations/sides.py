"""The two rows of a violation side by side: each comparison of the rule with the values that make it true.

>>> import pyarrow as pa
>>> from rowlaw.violations.check import check
>>> table = pa.table({"zip": ["07030", "07030"], "city": ["Hoboken", "Hobken"]})
>>> (clash,) = check(table, "fd (zip) -> city", progress=False).side_by_side("R1")
>>> for line in clash.lines:
...     print(line.left, line.left_value, line.op, line.right_value, line.marked)
zip 07030 = 07030 False
city Hoboken != Hobken True
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from rowlaw.engine.answers import NEW_ROWS, compared, value_names
from rowlaw.rules.conditions import Condition
from rowlaw.rules.model import Column, Constant, Denial, Nulls, Op, Operand, Predicate, Rule
from rowlaw.rules.outcomes import compare
from rowlaw.source.row_ids import named_records


@dataclass(frozen=True, slots=True)
class Line:
    """One comparison. ``marked``: it is where the rows clash, not merely what brings them together."""

    left: str
    left_value: Any
    op: str
    right: str
    right_value: Any
    marked: bool


@dataclass(frozen=True, slots=True)
class Clash:
    """A violation; ``t_row`` is None where the rule speaks of single rows."""

    s_row: Any
    t_row: Any
    lines: tuple[Line, ...]
    tables: tuple[str, str] = ("", "")  # "new " or "old " where there are two tables

    @property
    def s_name(self) -> str:
        """What row ``s`` is called in a sentence."""
        return f"{self.tables[0]}row {printed(self.s_row)}"

    @property
    def t_name(self) -> str:
        """What row ``t`` is called in a sentence; nothing where there is none."""
        return "" if self.t_row is None else f"{self.tables[1]}row {printed(self.t_row)}"


def side_by_side(rule: Rule, listed: pa.Table, nulls: Nulls) -> list[Clash]:
    """Violations of a rule, listed with their values, as comparisons."""
    names = value_names(rule.columns)
    clashes = []
    for record in named_records(listed):
        values = {operand: record[names[operand]] for operand in compared(rule)}
        denial = _broken(rule, values, nulls)
        s, t = ({None: "", True: "new ", False: "old "}[record.get(flag)] for flag in NEW_ROWS.values())
        clashes.append(
            Clash(record["s_row"], record.get("t_row"), tuple(_lines(denial, _in_order(denial, rule), values)), (s, t))
        )
    return clashes


def distinct(clashes: Iterable[Clash]) -> list[Clash]:
    """The clashes whose values are not those of one before, in either order of the two rows."""
    seen: set[Any] = set()
    different = []
    for clash in clashes:
        values = [(line.left, str(line.left_value), str(line.right_value)) for line in clash.lines]
        turned = [(left, b, a) for left, a, b in values]
        if tuple(values) not in seen and tuple(turned) not in seen:
            seen.add(tuple(values))
            different.append(clash)
    return different


def _broken(rule: Rule, values: dict[tuple[str, str], Any], nulls: Nulls) -> Denial:
    """The one of the rule's denials that the values break: they are disjoint."""
    if len(rule.denials) == 1:
        return rule.denials[0]
    return next(d for d in rule.denials if all(_holds(p, values, nulls) for p in d.predicates))


def _holds(p: Predicate, values: dict[tuple[str, str], Any], nulls: Nulls) -> bool:
    assert not isinstance(p.right, Condition)  # only denial constraints have conditions, and those are one denial
    a, b = (_value(operand, values) for operand in (p.left, p.right))
    return compare(a, b, unknown=nulls == "unknown").accepted_by(p.op)


def _value(operand: Operand, values: dict[tuple[str, str], Any]) -> Any:
    if isinstance(operand, Condition):
        return str(operand)
    return operand.value if isinstance(operand, Constant) else values[operand.row, operand.name]


def _in_order(denial: Denial, rule: Rule) -> Sequence[Predicate]:
    """The predicates in the order in which the rule was written."""
    if isinstance(rule, Denial):
        return denial.shown
    place = {name: i for i, name in enumerate(rule.columns)}
    return sorted(denial.predicates, key=lambda p: place[p.left.name])


def _lines(denial: Denial, predicates: Sequence[Predicate], values: dict[tuple[str, str], Any]) -> list[Line]:
    only_equal = all(p.op == Op.EQ for p in predicates)  # a key: what is equal is the clash
    lines = []
    for p in predicates:
        first, op, second = p.written
        left, right = (p.left.name, p.left.name) if p.same_column else (_label(first, denial), _label(second, denial))
        marked = only_equal or op != Op.EQ or isinstance(second, Condition)
        symbol = p.symbol if isinstance(second, Condition) else op.symbol
        lines.append(Line(left, _value(first, values), symbol, right, _value(second, values), marked))
    return lines


def _label(operand: Operand, denial: Denial) -> str:
    if isinstance(operand, Column):
        return operand.name if denial.arity == 1 else f"{operand.row}.{operand.name}"
    return ""


def printed(value: Any, most: int = 60) -> str:
    r"""A cell as it is shown: null by name, and nothing that moves the cursor or takes more than one line.

    >>> printed(None), printed("a\tb"), printed("x" * 9, most=5)
    ('null', 'a�b', 'xxxx…')
    """
    text = "null" if value is None else str(value)
    text = text if text.isprintable() else "".join(c if c.isprintable() else "�" for c in text[: most + 1])
    return text if len(text) <= most else text[: most - 1] + "…"


def printed_apart(left: Any, right: Any, most: int = 60) -> tuple[str, str]:
    """Two cells as they are shown beside each other: where both are long and begin alike, from a little before the
    first difference on.

    >>> printed_apart("the same beginning, then x", "the same beginning, then y", most=12)
    ('…hen x', '…hen y')
    """
    shown = printed(left, most), printed(right, most)
    texts = str(left), str(right)
    if shown[0] != shown[1] or min(map(len, texts)) <= most:
        return shown
    alike = next((i for i, (a, b) in enumerate(zip(*texts, strict=False)) if a != b), min(map(len, texts)))
    start = max(0, alike - most // 3)
    first, second = (f"…{printed(text[start:], most - 1)}" for text in texts)
    return first, second
