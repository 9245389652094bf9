"""A Spark table of which some columns were brought to this process: its other columns, and which row is which.

Rows without an id go by their position among the rows that were brought. Spark may give the rows of a frame in another
order whenever it computes them, so positions are found again by value: of the rows that are equal in all columns that
were brought, the k-th one that was brought and the k-th one of the table are the same. Rules see no other columns, so
such rows break the same rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from rowlaw.engine.spark import expressions
from rowlaw.engine.spark.table import NUMBER, ROW, SparkTable
from rowlaw.relation.relation import Relation
from rowlaw.spark.jobs import frame_of, job

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_TURN = "turn"  # a row is the so many-th one of those with its values, from 0


@dataclass(frozen=True)
class BroughtTable:
    """The Spark table that a relation was brought from; ``columns``: what was brought."""

    table: SparkTable
    columns: tuple[str, ...]

    def rows(self) -> pa.Table:
        """The columns, brought by one job."""
        table = self.table
        with job(table.session, "bring the columns that rules use"):
            rows = table.by_position.select(*(f"x{table.own_columns.index(name)}" for name in self.columns)).toArrow()
        return rows.rename_columns(list(self.columns))

    def flagged(self, broken: DataFrame, relation: Relation) -> DataFrame:
        """The whole table, with what each row is called and the rules that it breaks. ``broken``: ``row`` and
        ``rule``."""
        return self.table.flagged(broken, None if self.table.row_id else self._numbered(relation))

    def _numbered(self, relation: Relation) -> DataFrame:
        """All columns of the table, as x0, x1, ..., and the position of each row among those that were brought."""
        from pyspark.sql import Window
        from pyspark.sql import functions as f

        table = self.table
        with job(table.session, "keep the rows"):
            kept = table.keeper.keep(table.by_position.withColumn(NUMBER, f.monotonically_increasing_id()))
        values = [
            expressions.plain(kept[f"x{table.own_columns.index(name)}"], table.arrow_types[name])
            for name in self.columns
        ]
        turn = (f.row_number().over(Window.partitionBy(*values).orderBy(NUMBER)) - 1).cast("bigint")
        mine = kept.select("*", *(value.alias(f"v{i}") for i, value in enumerate(values)), turn.alias(_TURN))
        brought = relation.decode(None, self.columns).rename_columns([f"b{i}" for i in range(len(values))])
        brought = brought.append_column("b_turn", pa.array(_turns(relation, self.columns)))
        brought = brought.append_column(ROW, pa.array(np.arange(relation.rows)))
        numbers = frame_of(table.session, brought.cast(pa.schema([_spark_field(field) for field in brought.schema])))
        types = dict(mine.dtypes)
        same = [mine[f"v{i}"].eqNullSafe(numbers[f"b{i}"].cast(types[f"v{i}"])) for i in range(len(values))]
        joined = mine.join(numbers, reduce(lambda a, b: a & b, same, mine[_TURN] == numbers["b_turn"]))
        return joined.select(*(mine[f"x{i}"] for i in range(len(table.own_columns))), numbers[ROW])


def _turns(relation: Relation, columns: Sequence[str]) -> np.ndarray:
    """For each row how many rows before it have the same values (``int64[rows]``)."""
    numbers = np.zeros(relation.rows, np.int64)
    for name in columns:
        distinct = relation.column(name).distinct + 1
        numbers = np.unique(numbers * distinct + relation.codes(name) + 1, return_inverse=True)[1]
    order = np.argsort(numbers, kind="stable")
    ordered = numbers[order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])) if len(ordered) else np.zeros(0, np.int64)
    turns = np.empty(relation.rows, np.int64)
    turns[order] = np.arange(relation.rows) - np.repeat(starts, np.diff(np.append(starts, relation.rows)))
    return turns


def _spark_field(field: pa.Field) -> pa.Field:
    return pa.field(field.name, pa.string() if pa.types.is_large_string(field.type) else field.type)
