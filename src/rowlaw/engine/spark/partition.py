"""Rules with an equality, counted where rows meet by it: *partition* and *two roles*.

All rows that could violate a rule together have equal values in its equalities, so a hash of these brings them to one
task. A rule that compares a column of ``s`` with another column of ``t`` sends each row twice, once for each role.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from rowlaw.engine.spark import aggregate, costs
from rowlaw.engine.spark.plan import AnyPart, Counted, Job
from rowlaw.engine.spark.roles import KEY, Scope, hashed, in_roles
from rowlaw.engine.spark.shape import Shape, operand
from rowlaw.engine.spark.table import ROW
from rowlaw.engine.spark.view import View
from rowlaw.engine.spark.worker import COUNT_SCHEMA, ROLE, CountTask, Item, RowsTask
from rowlaw.rules.model import Predicate

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class PartitionPlan:
    """Hash partitioning by the columns that must be equal; few partitionings serve many rules."""

    name: ClassVar[str] = "partition"
    meaning: ClassVar[str] = (
        "rows are partitioned by what must be equal, and each partition is counted by a Python task"
    )

    def applies(self, view: View, shape: Shape, scope: Scope) -> bool:  # noqa: ARG002 - any scope will do
        return bool(shape.same_equal) and shape.one_side and fits_tasks(view, shape)

    def in_two_roles(self, shape: Shape) -> bool:  # noqa: ARG002 - never
        return False

    def seconds(self, view: View, shape: Shape) -> float:  # noqa: ARG002 - all rows are sent
        return costs.PYTHON_JOB + view.table.rows * (costs.SEND_ROW + costs.COUNT_ROW)

    def jobs(self, view: View, rows: DataFrame, parts: Sequence[AnyPart]) -> list[Job]:
        single = [Partitioning.of(number, part, part.shape.same_equal) for number, part in enumerate(parts)]
        return [
            Job(f"partition by {', '.join(p.columns or ())}", partial(_counted, view, rows, p, parts))
            for p in shared(view, single)
        ]

    def frames(self, view: View, rows: DataFrame, part: AnyPart) -> list[DataFrame]:
        return [_row_counts(view, rows, Partitioning.of(0, part, part.shape.same_equal))]


@dataclass(frozen=True, slots=True)
class RolesPlan:
    """Equalities across columns, or sides of different rows: each row is sent once for each role that it can have."""

    name: ClassVar[str] = "two roles"
    meaning: ClassVar[str] = "each row is sent twice, as s and as t, to where its partners are, and Python tasks count"

    def applies(self, view: View, shape: Shape, scope: Scope) -> bool:  # noqa: ARG002 - any scope will do
        return bool(shape.equal) and fits_tasks(view, shape)

    def in_two_roles(self, shape: Shape) -> bool:  # noqa: ARG002 - always
        return True

    def seconds(self, view: View, shape: Shape) -> float:  # noqa: ARG002 - all rows are sent
        return costs.PYTHON_JOB + 2 * view.table.rows * (costs.SEND_ROW + costs.COUNT_ROW)

    def jobs(self, view: View, rows: DataFrame, parts: Sequence[AnyPart]) -> list[Job]:
        return [
            Job("partition in two roles", partial(_counted, view, rows, Partitioning.of(number, part, None), parts))
            for number, part in enumerate(parts)
        ]

    def frames(self, view: View, rows: DataFrame, part: AnyPart) -> list[DataFrame]:
        return [_row_counts(view, rows, Partitioning.of(0, part, None))]


def _counted(view: View, rows: DataFrame, partitioning: Partitioning, parts: Sequence[AnyPart]) -> list[Counted]:
    task = CountTask(partitioning.items, view.table.nulls)
    counted = []
    for row in partitioning.frame(view, rows).mapInArrow(task, COUNT_SCHEMA).collect():
        part = parts[row["item"]]
        counted.append(
            Counted(part.rule, part.sign * int(row["pairs"]), None if partitioning.columns is None else row["rows"])
        )
    return counted


def _row_counts(view: View, rows: DataFrame, partitioning: Partitioning) -> DataFrame:
    return counted_rows(view, partitioning.frame(view, rows, [ROW]), partitioning.items, rows)


def counted_rows(view: View, sent: DataFrame, items: tuple[Item, ...], rows: DataFrame) -> DataFrame:
    """The rows that take part in violations, by tasks over rows that were sent to them: ``row`` and ``pairs``."""
    return sent.mapInArrow(
        RowsTask(items, view.table.nulls, ROW), f"item int, {ROW} {dict(rows.dtypes)[ROW]}, pairs bigint"
    ).drop("item")


def fits_tasks(view: View, shape: Shape) -> bool:
    """Whether rows have to be looked at by tasks, and each group of rows that may violate the shape is small enough for
    one.

    Spark SQL counts ``=`` and ``!=`` better, except between types that it does not compare exactly: then groups may
    have any size.
    """
    return not heavy_keys(view, shape) if shape.inequalities else not aggregate.in_spark(view.table, shape.between)


@dataclass(frozen=True)
class Partitioning:
    """Items that are answered on one partitioning: by ``columns`` that all of them have among their equalities, or in
    two roles."""

    items: tuple[Item, ...]
    shapes: tuple[Shape, ...]
    columns: tuple[str, ...] | None  # None: in two roles, one shape only
    scope: Scope = ()

    @staticmethod
    def of(number: int, part: AnyPart, columns: tuple[str, ...] | None) -> Partitioning:
        return Partitioning((Item(number, part.shape.denial()),), (part.shape,), columns, part.scope)

    def joined(self, other: Partitioning) -> Partitioning:
        """The items of both, on the partitioning of this one."""
        return Partitioning((*self.items, *other.items), (*self.shapes, *other.shapes), self.columns)

    @property
    def used(self) -> tuple[str, ...]:
        """All columns that the tasks need."""
        return tuple(dict.fromkeys(c for shape in self.shapes for c in shape.columns))

    @property
    def can_share(self) -> bool:
        """Whether all rows take part, so that other rules can be answered on the same partitions."""
        return self.columns is not None and not self.scope and not any(shape.s_known for shape in self.shapes)

    def frame(self, view: View, rows: DataFrame, extra: Sequence[str] = ()) -> DataFrame:
        """The rows in the partitions where they meet; ``extra``: further columns that go along."""
        used = tuple(dict.fromkeys((*self.used, *extra)))
        if self.columns is None:
            (shape,) = self.shapes
            sent = in_roles(view.table, rows, shape, self.scope, used)
            tasks = view.tasks(2 * view.table.rows, (*used, ROLE), meeting_columns(shape.equal))
        else:
            known = view.table.known(rows, (*self.columns, *(self.shapes[0].s_known if len(self.shapes) == 1 else ())))
            for within in self.scope:  # made of columns that are equal in both rows, so both rows are within it or none
                known = known.where(within.condition(view.table, known, "s"))
            sent = known.select(hashed([known[c] for c in self.columns]).alias(KEY), *(known[c] for c in used))
            tasks = view.tasks(view.table.rows, used, [self.columns])
        return sent.repartition(tasks, KEY).drop(KEY)


def key_predicates(shape: Shape) -> tuple[Predicate, ...]:
    """The equalities by which rows of a shape meet: those of one column, if there are any; then rows need not be sent
    twice."""
    return tuple(p for p in shape.equal if p.same_column) or shape.equal


def meeting_columns(equal: Sequence[Predicate]) -> list[tuple[str, ...]]:
    """For each role the columns whose values bring rows together by some equalities."""
    return [tuple(operand(p, row) for p in equal) for row in ("s", "t")]


def heavy_keys(view: View, shape: Shape) -> tuple[int, ...]:
    """The keys of a shape that have too many rows for a task."""
    sides = meeting_columns(key_predicates(shape))
    types = view.table.arrow_types
    alike = all(types[view.table.own_name(a)] == types[view.table.own_name(b)] for a, b in zip(*sides, strict=True))
    return view.heavy(list(dict.fromkeys(sides)), shape.columns) if alike else ()


def shared(view: View, single: Sequence[Partitioning]) -> list[Partitioning]:
    """Fewer partitionings for the same items: one whose columns are all among those of another serves the other too.

    Not if a task would then get a group with more rows than it can hold, because more columns go along.
    """
    merged: list[Partitioning] = []
    for partitioning in sorted(single, key=lambda p: (len(p.columns or ()), p.columns or ())):
        home = next((i for i, other in enumerate(merged) if _serves(view, other, partitioning)), None)
        if home is None:
            merged.append(partitioning)
        else:
            merged[home] = merged[home].joined(partitioning)
    return merged


def _serves(view: View, large: Partitioning, small: Partitioning) -> bool:
    if not (large.can_share and small.can_share and set(large.columns or ()) <= set(small.columns or ())):
        return False
    return not view.heavy([large.columns or ()], large.joined(small).used)
