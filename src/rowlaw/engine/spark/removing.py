"""The fewest rows to remove so that keys, functional and order dependencies hold, counted where the rows are.

Groups are counted each by itself, so partitions by a column of the context add up. Without such a column, keys and
functional dependencies follow from the sizes of groups in Spark SQL; an order has to be looked at as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from rowlaw.engine.questions import Question, Target
from rowlaw.engine.spark.limits import SparkLimits
from rowlaw.engine.spark.looking import REMOVED_SCHEMA, RemoveTask
from rowlaw.engine.spark.table import SparkTable
from rowlaw.engine.spark.view import View
from rowlaw.errors import RowlawError
from rowlaw.stopping import Stop

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Partitioner(Protocol):
    """What is needed of the engine: its table, and rows in partitions."""

    @property
    def table(self) -> SparkTable: ...
    @property
    def limits(self) -> SparkLimits: ...
    def roots(self, equal: Sequence[Sequence[str]]) -> dict[tuple[str, ...], list[int]]:
        """For each entry columns to partition by; the empty one: there are none."""

    def partitioned(self, root: tuple[str, ...], columns: Sequence[str]) -> DataFrame:
        """The rows where those with the same values in some columns meet."""

    def collected(self, frame: DataFrame, description: str, stop: Stop) -> list[Any]:
        """The rows of a small frame."""


@dataclass(frozen=True)
class Removing:
    """Counts the rows to remove. ``names``: the safe names of the columns that questions number."""

    engine: Partitioner
    names: tuple[str, ...]
    stop: Stop

    def fewest(self, questions: Sequence[Question]) -> list[list[int]]:
        """For each target of each question the fewest rows without which it holds."""
        firsts = np.cumsum([0, *(len(question.targets) for question in questions)]).tolist()
        numbered = list(zip(firsts, questions, strict=False))
        removed = np.zeros(firsts[-1], np.int64)
        for root, places in self.engine.roots(
            [[self.names[c] for c in question.context] for question in questions]
        ).items():
            some = [numbered[place] for place in places]
            whole = some if root else [(first + i, order) for first, question in some for i, order in _orders(question)]
            for item, count in self._by_tasks(root, whole):
                removed[item] += count
            if not root:
                for item, context, target in (
                    (first + i, q.context, t) for first, q in some for i, t in enumerate(q.targets)
                ):
                    if target.right < 0:
                        removed[item] = self._by_groups([self.names[c] for c in context], target)
        return [removed[first : first + len(question.targets)].tolist() for first, question in numbered]

    def _by_tasks(self, root: tuple[str, ...], questions: Sequence[tuple[int, Question]]) -> list[tuple[int, int]]:
        """For each target of some questions, each with the number of its first target, what each task counted."""
        if not questions:
            return []
        used = sorted({c for _, question in questions for c in _columns(question)})
        names = tuple(self.names[c] for c in used)
        sent = self.engine.partitioned(root, names) if root else self._in_one_task(names)
        task = RemoveTask(
            tuple((first, _renumbered(question, used)) for first, question in questions), names, self.engine.table.nulls
        )
        counts = self.engine.collected(sent.mapInArrow(task, REMOVED_SCHEMA), "rows to remove", self.stop)
        return [(row["item"], row["removed"]) for row in counts]

    def _by_groups(self, context: Sequence[str], target: Target) -> int:
        """The rows to remove for a key or functional dependency: all of a group but one, or but those with its most
        frequent value."""
        from pyspark.sql import functions as f

        table = self.engine.table
        right = [] if target.left < 0 else [self.names[target.left]]
        known = table.known(table.plain, [*context, *right])
        cells = known.groupBy(*context, *right).agg(f.count(f.lit(1)).alias("size"))
        kept = f.max("size") if right else f.lit(1)
        groups = (
            cells.groupBy(*context).agg(f.sum("size").alias("size"), kept.alias("kept"))
            if right
            else cells.withColumn("kept", kept)
        )
        total = groups.agg(f.sum(f.col("size") - f.col("kept")).alias("removed"))
        return int(self.engine.collected(total, "rows to remove", self.stop)[0]["removed"] or 0)

    def _in_one_task(self, columns: Sequence[str]) -> DataFrame:
        table = self.engine.table
        most = View(table, tuple(columns), self.engine.limits).task_rows(columns)
        if table.rows > most:
            problem = (
                f"an order of all {table.rows:,} rows has to be counted by one task, which holds {most:,}: "
                "leave out the kind od"
            )
            raise RowlawError("BAD_OPTION", option="error", value="", problem=problem)
        return table.plain.select(*columns).coalesce(1)


def _orders(question: Question) -> list[tuple[int, Question]]:
    """The targets about order, each as a question of its own with its index: only these need all rows of a context at
    once."""
    return [
        (i, Question(question.context, (target,))) for i, target in enumerate(question.targets) if target.right >= 0
    ]


def _columns(question: Question) -> set[int]:
    return {*question.context, *(c for target in question.targets for c in (target.left, target.right) if c >= 0)}


def _renumbered(question: Question, used: Sequence[int]) -> Question:
    """The question with columns numbered by their place among those that are used."""
    place: Mapping[int, int] = {c: i for i, c in enumerate(used)} | {-1: -1}
    targets = tuple(Target(place[t.left], place[t.right], t.descending) for t in question.targets)
    return Question(tuple(place[c] for c in question.context), targets)
