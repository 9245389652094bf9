"""Rows that are equal in the columns of some rules become one row with a weight before anything is shuffled: *fold*.

Whatever the rules are, their violations follow from the distinct rows and their weights. Where these are few, one scan
with map-side combination serves many rules, and one task counts them all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from rowlaw.engine.local.weighted import sorts
from rowlaw.engine.spark import aggregate, costs
from rowlaw.engine.spark.plan import AnyPart, Counted, Job
from rowlaw.engine.spark.roles import Scope
from rowlaw.engine.spark.shape import Shape
from rowlaw.engine.spark.view import View
from rowlaw.engine.spark.worker import COUNT_SCHEMA, DECLINED, WEIGHT, FoldTask, Item

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FEW_ROWS = 5_000  # distinct rows whose violations are counted class by class in about a second
_SMALL_FOLD = 100_000  # distinct rows that cost next to nothing beside a scan: rules are put together up to these
_GROWTH = 2.0  # or as long as the fold of several rules has at most this many times the rows of the largest of them


class TooManyRows(Exception):  # noqa: N818 - no error: the parts are counted by other plans
    """A fold with more distinct rows than the sample let expect; ``parts`` have to be counted in another way."""

    def __init__(self, parts: Sequence[AnyPart]) -> None:
        super().__init__("too many distinct rows")
        self.parts = parts


@dataclass(frozen=True, slots=True)
class FoldPlan:
    """Rules whose columns together have few distinct rows. Also counts the rows that take part."""

    columns: tuple[str, ...]
    distinct: float  # about how many distinct rows there are

    name: ClassVar[str] = "fold"
    meaning: ClassVar[str] = (
        "equal rows become one row with a weight in Spark SQL, and one Python task counts the few that are left"
    )

    def applies(self, view: View, shape: Shape, scope: Scope) -> bool:
        return can_fold(shape, scope) and self.distinct <= limit(view, self.columns)

    def in_two_roles(self, shape: Shape) -> bool:  # noqa: ARG002 - never
        return False

    def seconds(self, view: View, shape: Shape) -> float:  # noqa: ARG002 - the scan is nearly all
        return costs.PYTHON_JOB + view.table.rows * costs.GROUP_ROW + self.distinct * costs.FOLDED_ROW

    def jobs(self, view: View, rows: DataFrame, parts: Sequence[AnyPart]) -> list[Job]:
        return [Job(f"fold {len(parts)} rules by {', '.join(self.columns)}", partial(self._counted, view, rows, parts))]

    def _counted(self, view: View, rows: DataFrame, parts: Sequence[AnyPart]) -> list[Counted]:
        from pyspark.sql import functions as f

        items = tuple(Item(number, part.shape.denial()) for number, part in enumerate(parts))
        folded = rows.groupBy(*self.columns).agg(f.count(f.lit(1)).alias(WEIGHT))
        task = FoldTask(items, view.table.nulls, view.task_rows((*self.columns, WEIGHT)))
        counts = folded.repartition(1).mapInArrow(task, COUNT_SCHEMA).collect()
        if any(row["item"] == DECLINED for row in counts):
            raise TooManyRows(parts)
        return [
            Counted(parts[row["item"]].rule, parts[row["item"]].sign * int(row["pairs"]), row["rows"]) for row in counts
        ]


def can_fold(shape: Shape, scope: Scope) -> bool:
    """Whether distinct rows and their weights say everything: all rows of the table are compared with all others."""
    return not shape.single and not scope and not shape.apart


def limit(view: View, columns: Sequence[str]) -> float:
    """How many distinct rows a fold may have: a task has to hold them, and they must be far fewer than the rows of the
    table."""
    return min(view.task_rows((*columns, WEIGHT)), view.limits.fold_share * view.table.rows)


def folds(view: View, shapes: Sequence[Shape]) -> list[FoldPlan | None]:
    """For each shape the fold that it is counted from, or None.

    A key or functional dependency alone is left to Spark SQL: that is one aggregate, too, and no row goes to Python.
    """
    chosen: list[FoldPlan | None] = [None] * len(shapes)
    candidates = [i for i, shape in enumerate(shapes) if can_fold(shape, view.scope) and not _likely_key(shape)]
    if len(candidates) < 2 and all(aggregate.simple(shapes[i]) for i in candidates):
        return chosen
    sorting = {i for i in candidates if sorts(shapes[i].denial())}
    members = _grouped(view, {i: shapes[i] for i in candidates if i in sorting}, _SMALL_FOLD, float("inf"))
    members |= _grouped(view, {i: shapes[i] for i in candidates if i not in sorting}, FEW_ROWS, FEW_ROWS)
    for fold, numbers in members.items():
        if len(numbers) > 1 or not aggregate.simple(shapes[numbers[0]]):
            for i in numbers:
                chosen[i] = fold
    return chosen


def _grouped(view: View, shapes: Mapping[int, Shape], small: float, largest: float) -> dict[FoldPlan, list[int]]:
    """Folds of at most ``largest`` rows, and the shapes that each serves; folds of up to ``small`` rows are put
    together."""
    members: dict[FoldPlan, list[int]] = {}
    single = {i: FoldPlan(tuple(sorted(s.columns)), view.sample.distinct_rows(s.columns)) for i, s in shapes.items()}
    for i, own in sorted(single.items(), key=lambda entry: (-entry[1].distinct, entry[0])):
        if own.distinct <= min(largest, limit(view, own.columns)):
            joined = ((fold, _joined(view, fold, own, small, largest)) for fold in members)
            home, fold = next(((old, new) for old, new in joined if new is not None), (own, own))
            members[fold] = [*members.pop(home, []), i]
    return members


def _likely_key(shape: Shape) -> bool:
    """Whether a shape has equalities only: most often a key, whose combinations are nearly all different."""
    return not shape.inequalities and not shape.differences


def _joined(view: View, fold: FoldPlan, other: FoldPlan, small: float, largest: float) -> FoldPlan | None:
    """One fold for both, if it is small or does not have many more rows than the larger one."""
    columns = tuple(sorted({*fold.columns, *other.columns}))
    if columns == fold.columns:
        return fold
    together = FoldPlan(columns, view.sample.distinct_rows(columns))
    few = max(small, _GROWTH * max(fold.distinct, other.distinct))
    return together if together.distinct <= min(few, largest, limit(view, columns)) else None
