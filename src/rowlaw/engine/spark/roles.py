"""Rows on their way to the tasks that compare them: which key brings them together, and in which role."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rowlaw.engine.answers import Sides
from rowlaw.engine.spark import expressions
from rowlaw.engine.spark.limits import ROW_OVERHEAD, VALUE_BYTES, SparkLimits
from rowlaw.engine.spark.shape import Shape, operand
from rowlaw.engine.spark.table import NEW, ROW, SparkTable
from rowlaw.engine.spark.worker import ROLE, S, T
from rowlaw.rules.model import Predicate

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

KEY = "key"  # rows with equal keys go to the same task


def rows_per_task(table: SparkTable, columns: Sequence[str], limits: SparkLimits) -> int:
    """How many rows of some columns one Python task takes."""
    widths = {**{name: VALUE_BYTES[kind] for name, kind in table.kinds.items()}, ROW: table.id_bytes}
    size = ROW_OVERHEAD + sum(widths.get(c, 4) for c in columns)
    return max(1, limits.task_bytes // size)


def tasks_for(rows: float, per_task: int, slots: int, groups: int | None = None) -> int:
    """How many tasks so many rows are dealt out to: enough for the memory of each, and not fewer than can run at
    once.

    ``groups``: how many groups of about the same size the rows come in, where these are few. Chance brings them
    together in tasks, so the average task is left room for three standard deviations: the number of groups ``g`` in a
    task with room for ``c`` of them satisfies ``g + 3 sqrt(g) = c``.

    >>> tasks_for(100e6, 6_000_000, 2), tasks_for(100e6, 6_000_000, 2, groups=130)
    (17, 47)
    """
    tasks = slots
    if groups is not None:
        room = per_task * groups / max(1, rows)
        tasks = max(tasks, math.ceil(groups / ((math.sqrt(9 + 4 * room) - 3) / 2) ** 2))
    return max(1, math.ceil(rows / per_task), min(tasks, math.ceil(rows / 1000)))


def hashed(values: Sequence[Column]) -> Column:
    """A hash by which rows with equal values meet."""
    from pyspark.sql import functions as f

    return f.xxhash64(*values) if values else f.lit(0).cast("bigint")


def meeting_value(table: SparkTable, frame: DataFrame, p: Predicate, row: str) -> Column:
    """What one row brings to an equality: the same for both rows if they are equal, whatever the types of the two
    columns."""
    name = operand(p, row)
    arrow_type, other = (table.arrow_types[table.own_name(operand(p, r))] for r in (row, "t" if row == "s" else "s"))
    if expressions.alike_in_spark(arrow_type, other):
        return frame[name]
    if table.kinds[name] == "timestamp":
        return expressions.micros(frame[name], arrow_type)
    return expressions.order_key(frame[name], table.kinds[name], arrow_type)


def exact_values(table: SparkTable, frame: DataFrame, p: Predicate, row: str) -> list[Column]:
    """What one row brings to an equality, so that two rows bring the same only if they are equal.

    Numbers of different types meet as doubles. What rounding left out comes beside them.
    """
    value, name = meeting_value(table, frame, p, row), operand(p, row)
    types = [table.arrow_types[table.own_name(operand(p, r))] for r in ("s", "t")]
    if table.kinds[name] != "number" or expressions.alike_in_spark(*types):
        return [value]
    return [value, expressions.rounded_off(frame[name], value)]


@dataclass(frozen=True, slots=True)
class Within:
    """Rows whose key, made of what they bring to some equalities, is one of ``keys`` (or is not, if not ``inside``)."""

    equal: tuple[Predicate, ...]
    keys: tuple[int, ...]
    inside: bool

    def condition(self, table: SparkTable, frame: DataFrame, row: str) -> Column:
        inside = hashed([meeting_value(table, frame, p, row) for p in self.equal]).isin(list(self.keys))
        return inside if self.inside else ~inside


@dataclass(frozen=True, slots=True)
class OfSides:
    """Rows of the part of the table that may stand for ``s`` and for ``t``."""

    sides: Sides
    inside = False  # no key makes these rows few

    def condition(self, table: SparkTable, frame: DataFrame, row: str) -> Column:  # noqa: ARG002 - keys need it
        from pyspark.sql import functions as f

        side = self.sides.s if row == "s" else self.sides.t
        if side == "all":
            return f.lit(True)
        return frame[NEW] if side == "new" else ~frame[NEW]


Scope = tuple[Within | OfSides, ...]  # all conditions that a row has to meet in its role


def may_be(table: SparkTable, frame: DataFrame, shape: Shape, row: str, scope: Scope) -> Column:
    """Whether a row can have a role: the values compared are known, and it is within the scope. Filters are left to the
    tasks."""
    condition = expressions.all_known(
        [frame[name] for name in shape.side_columns(row)] if table.nulls == "unknown" else []
    )
    for within in scope:
        condition = condition & within.condition(table, frame, row)
    return condition


def in_roles(table: SparkTable, frame: DataFrame, shape: Shape, scope: Scope, columns: Sequence[str]) -> DataFrame:
    """Each row once for each role that it can have, with the key by which it meets its partners in that role."""
    from pyspark.sql import functions as f

    copies = []
    for role, row in ((S, "s"), (T, "t")):
        key = hashed([meeting_value(table, frame, p, row) for p in shape.equal])
        copy = f.struct(f.lit(role).cast("int").alias(ROLE), key.alias(KEY))
        copies.append(f.when(may_be(table, frame, shape, row, scope), copy))
    return spread(frame, copies, columns, [ROLE, KEY])


def spread(frame: DataFrame, copies: Sequence[Column], columns: Sequence[str], fields: Sequence[str]) -> DataFrame:
    """One row for each copy that is not null: the fields of the copy, and the columns of the row."""
    from pyspark.sql import functions as f

    whole = frame.select(*(frame[c] for c in columns), f.explode(f.array(*copies)).alias("copy")).where(
        "copy is not null"
    )
    return whole.select(*(f.col(f"copy.{name}").alias(name) for name in fields), *(whole[c] for c in columns))
