"""What an old row must be like to break a denial together with some new row: :class:`Conflict`, read off the denial.

An old row in one of the two roles has to agree with a new row on the equalities, and its values have to be on the right
side of that row's values. Values are compared on one scale: doubles for everything but texts. Where rounding could hide
a difference, rows are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import pyarrow as pa

from rowlaw.engine.spark import expressions
from rowlaw.engine.spark.roles import hashed
from rowlaw.engine.spark.shape import Shape, operand
from rowlaw.engine.spark.table import SparkTable
from rowlaw.rules.model import Denial, Op, Predicate

if TYPE_CHECKING:
    from pyspark.sql import Column

_EXACT_DOUBLE = float(1 << 53)  # whole numbers below this are different as doubles if they are different
_EXACT_DIGITS = 15  # decimals of so many digits are different as doubles if they are different

# where the value of the new row has to be, seen from the old row's value
Direction = Literal["below", "above", "other"]


@dataclass(frozen=True, slots=True)
class Bound:
    """A comparison between an old row and a new one, by safe names; ``strict``: equal values do not satisfy it."""

    old: str
    new: str
    direction: Direction
    strict: bool
    text: bool


@dataclass(frozen=True, slots=True)
class Conflict:
    """Old rows in one role of a denial, which break it together with a new row in the other role."""

    equal: tuple[tuple[str, str], ...]  # columns that have to agree: (of the old row, of the new row)
    bounds: tuple[Bound, ...]
    old_filters: tuple[Predicate, ...]
    new_filters: tuple[Predicate, ...]
    old_known: tuple[str, ...]  # columns that must not be null, if null is unknown
    new_known: tuple[str, ...]

    @property
    def inequalities(self) -> tuple[int, ...]:
        """The places of the bounds that order decides."""
        return tuple(i for i, bound in enumerate(self.bounds) if bound.direction != "other")


def conflicts(table: SparkTable, denials: Sequence[Denial]) -> list[Conflict]:
    """The conflicts of some denials over safe names, each once. A denial about single rows has none."""
    shapes = [Shape.of(denial) for denial in denials if denial.arity == 2]
    return list(dict.fromkeys(_conflict(table, shape, old) for shape in shapes for old in ("s", "t")))


def _conflict(table: SparkTable, shape: Shape, old: str) -> Conflict:
    new = "t" if old == "s" else "s"
    bounds = [_bound(table, p, old, new) for p in (*shape.inequalities, *shape.differences)]
    filters = {"s": shape.s_filters, "t": shape.t_filters}
    return Conflict(
        tuple((operand(p, old), operand(p, new)) for p in shape.equal),
        tuple(bound for bound in bounds if bound is not None),
        tuple(_of_one_row(p) for p in filters[old]),
        tuple(_of_one_row(p) for p in filters[new]),
        tuple(sorted(shape.side_columns(old))),
        tuple(sorted(shape.side_columns(new))),
    )


def _of_one_row(p: Predicate) -> Predicate:
    """A predicate about one row, whichever row it is called: so that equal ones are equal."""
    from dataclasses import replace

    from rowlaw.rules.model import Column as Operand

    right = replace(p.right, row="s") if isinstance(p.right, Operand) else p.right
    return Predicate(replace(p.left, row="s"), p.op, right)


def _bound(table: SparkTable, p: Predicate, old: str, new: str) -> Bound | None:
    """The bound of a predicate between two rows; None where rounding may hide that two values differ."""
    columns = operand(p, old), operand(p, new)
    exact = all(_exact(table.arrow_types[table.own_name(name)]) for name in columns)
    text = table.kinds[columns[0]] == "text"
    if p.op == Op.NE:
        return Bound(*columns, "other", strict=True, text=text) if exact else None
    new_is_left = new == "s"
    below = (p.op in (Op.LT, Op.LE)) == new_is_left
    return Bound(*columns, "below" if below else "above", strict=exact and p.op in (Op.LT, Op.GT), text=text)


def _exact(arrow_type: pa.DataType) -> bool:
    return not pa.types.is_decimal(arrow_type) or arrow_type.precision <= _EXACT_DIGITS


def scale(table: SparkTable, column: Column, name: str) -> Column:
    """A value on the scale that bounds are compared on: order is kept, and null, where it is a value, is below all
    others."""
    from pyspark.sql import functions as f

    key = expressions.order_key(column, table.kinds[name], table.arrow_types[table.own_name(name)])
    if table.kinds[name] == "text":
        return (
            key if table.nulls == "unknown" else f.when(column.isNull(), f.lit("")).otherwise(f.concat(f.lit("x"), key))
        )
    return key if table.nulls == "unknown" else f.coalesce(key, f.lit(float("-inf")))


def key_of(table: SparkTable, values: Sequence[Column], conflict: Conflict, *, old: bool) -> Column:
    """The hash of what a row has to agree on with a row of the other table. ``values``: of the columns of
    ``conflict.equal``."""
    types = table.arrow_types
    meeting = []
    for value, (a, b) in zip(values, conflict.equal, strict=True):
        alike = types[table.own_name(a)] == types[table.own_name(b)]
        name = a if old else b
        meeting.append(value if alike else expressions.order_key(value, table.kinds[name], types[table.own_name(name)]))
    return hashed(meeting)


def satisfied(bound: Bound, value: Column, low: Column, high: Column) -> Column:
    """Whether some of the new values from ``low`` to ``high`` is on the right side of an old value.

    ``low`` and ``high`` are the least and the greatest; on the way "below" only ``low`` is looked at, on the way
    "above" only ``high``.
    """
    from pyspark.sql import functions as f

    uncertain = f.lit(False) if bound.text else f.abs(value) >= _EXACT_DOUBLE
    match bound.direction:
        case "below":
            return (low < value) | (uncertain & (low <= value)) if bound.strict else low <= value
        case "above":
            return (high > value) | (uncertain & (high >= value)) if bound.strict else high >= value
        case _:
            return (low < value) | (high > value) | uncertain
