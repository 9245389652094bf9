"""Counting and listing where rows meet by a key: *partition* and *two roles*.

All rows that could violate a rule together have equal values in its equalities, so a hash of these brings them to one task. A rule that
compares a column of ``s`` with another column of ``t`` sends each row twice, once for each role.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rowlaw.engine.spark.roles import KEY, Scope, hashed, in_roles, tasks_for
from rowlaw.engine.spark.shape import Shape, operand
from rowlaw.engine.spark.view import View
from rowlaw.engine.spark.worker import Item
from rowlaw.rules.model import Predicate

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class Keyed:
    """Items that are answered on one partitioning: by ``columns`` that all of them have among their equalities, or in two roles."""

    items: tuple[Item, ...]
    shapes: tuple[Shape, ...]
    columns: tuple[str, ...] | None  # None: in two roles, one shape only
    scope: Scope = ()

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
            sent, copies = in_roles(view.table, rows, shape, self.scope, used), 2
        else:
            known = view.table.known(rows, (*self.columns, *(self.shapes[0].s_known if len(self.shapes) == 1 else ())))
            for within in self.scope:  # made of columns that are equal in both rows, so both rows are within it or none
                known = known.where(within.condition(view.table, known, "s"))
            sent, copies = known.select(hashed([known[c] for c in self.columns]).alias(KEY), *(known[c] for c in used)), 1
        return sent.repartition(tasks_for(copies * view.table.rows, view.task_rows(used), view.slots), KEY).drop(KEY)


def key_predicates(shape: Shape) -> tuple[Predicate, ...]:
    """The equalities by which rows of a shape meet: those of one column, if there are any; then rows need not be sent twice."""
    return tuple(p for p in shape.equal if p.same_column) or shape.equal


def heavy_keys(view: View, shape: Shape) -> tuple[int, ...]:
    """The keys of a shape that have too many rows for a task."""
    predicates = key_predicates(shape)
    sides = [tuple(operand(p, row) for p in predicates) for row in ("s", "t")]
    types = view.table.arrow_types
    alike = all(types[view.table.own_name(a)] == types[view.table.own_name(b)] for a, b in zip(*sides, strict=True))
    return view.heavy(list(dict.fromkeys(sides)), shape.columns) if alike else ()


def shared(plans: Sequence[Keyed]) -> list[Keyed]:
    """Fewer partitionings for the same items: one whose columns are all among those of another serves the other too."""
    merged: list[Keyed] = []
    for plan in sorted(plans, key=lambda plan: (len(plan.columns or ()), plan.columns or ())):
        home = None
        if plan.can_share:
            mine = set(plan.columns or ())
            home = next((i for i, m in enumerate(merged) if m.can_share and set(m.columns or ()) <= mine), None)
        if home is None:
            merged.append(plan)
        else:
            other = merged[home]
            merged[home] = Keyed((*other.items, *plan.items), (*other.shapes, *plan.shapes), other.columns)
    return merged
