"""What plans know of a table: its rows, a sample of them, and the limits of the work."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from rowlaw.engine.answers import EVERY_PAIR, Sides
from rowlaw.engine.spark.limits import SparkLimits
from rowlaw.engine.spark.roles import OfSides, Scope, hashed, rows_per_task, tasks_for
from rowlaw.engine.spark.sample import TableSample
from rowlaw.engine.spark.table import SparkTable
from rowlaw.spark.jobs import SparkTasks, frame_of, job


@dataclass(frozen=True)
class View:
    """A table, and what plans are chosen by. ``columns``: those of the rules at hand, by their safe names."""

    table: SparkTable
    columns: tuple[str, ...]
    limits: SparkLimits = field(default_factory=SparkLimits)
    sides: Sides = EVERY_PAIR
    _heavy: dict[tuple[Any, ...], tuple[int, ...]] = field(default_factory=dict, repr=False, compare=False)

    @property
    def scope(self) -> Scope:
        """Which rows may stand for ``s`` and ``t``, where not all may."""
        return () if self.sides == EVERY_PAIR else (OfSides(self.sides),)

    @cached_property
    def sample(self) -> TableSample:
        return TableSample(self.table, self.columns, self.limits.sample_rows)

    @cached_property
    def slots(self) -> int:
        """How many tasks run at once."""
        return SparkTasks(self.table.session).slots

    def task_rows(self, columns: Sequence[str]) -> int:
        """Rows of some columns that one task takes."""
        return rows_per_task(self.table, columns, self.limits)

    def tasks(self, rows: float, columns: Sequence[str], keys: Sequence[Sequence[str]]) -> int:
        """How many tasks so many rows of some columns are dealt out to by the values of ``keys``, each a list of
        columns."""
        most = self.task_rows(columns)
        if rows <= most:
            return tasks_for(rows, most, self.slots)
        group = sum(self.sample.largest_group(names, most) for names in keys)
        return tasks_for(rows, most, self.slots, math.ceil(rows / max(1.0, group)))

    def heavy(self, operands: Sequence[Sequence[str]], columns: Sequence[str]) -> tuple[int, ...]:
        """Keys that have too many rows for one task: each of ``operands`` is a list of columns whose values make a
        key."""
        limit = self.limits.group_share * self.task_rows(columns)
        if self.table.rows <= limit:
            return ()
        asked = (tuple(map(tuple, operands)), limit)
        if asked not in self._heavy:
            self._heavy[asked] = self._keys_above(operands, limit)
        return self._heavy[asked]

    def _keys_above(self, operands: Sequence[Sequence[str]], limit: float) -> tuple[int, ...]:
        keys: set[int] = set()
        for names in operands:
            heavy = self.sample.heavy(names, limit)
            if heavy.num_rows:
                distinct = list(dict.fromkeys(names))  # a rule may say twice that a column is equal
                frame = frame_of(self.table.session, heavy.rename_columns(distinct))
                types = dict(self.table.plain.dtypes)
                with job(self.table.session, "hash the keys of large groups"):
                    keys |= {r[0] for r in frame.select(hashed([frame[n].cast(types[n]) for n in names])).collect()}
        return tuple(sorted(keys))
