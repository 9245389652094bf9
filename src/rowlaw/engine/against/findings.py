"""What a check of new rows against old ones found: rows of both tables by what they are called there, and which table
they are of.

Counts of rows, `worst`, `flagged` and `rows_to_remove` are about the new rows. `rows`, `violations` and all other lists
of pairs name rows of both tables: boolean columns say which are new.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pyarrow as pa

from rowlaw.engine.against.new_pairs import NewPairs
from rowlaw.engine.answers import NEW_ROWS, Count, Removal, WorstRow
from rowlaw.engine.local.parts import LocalParts
from rowlaw.engine.spark.parts import SparkParts
from rowlaw.kernels.sort import sorted_distinct
from rowlaw.rules.model import FunctionalDependency
from rowlaw.source.row_ids import row_names
from rowlaw.spark.jobs import frame_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Names(Protocol):
    """What rows of both tables are called; rows go by their position, the old ones first."""

    @property
    def old_rows(self) -> int:
        """Count of the old rows that were looked at."""

    def of(self, positions: np.ndarray) -> pa.Array:
        """What some rows are called in their tables."""

    def frame(self, session: SparkSession) -> DataFrame:
        """``position``, ``name`` and ``new`` of all rows."""


@dataclass(frozen=True)
class NamesHere:
    """Names in the memory of this process."""

    names: pa.Array
    old_rows: int

    def of(self, positions: np.ndarray) -> pa.Array:
        return self.names.take(pa.array(positions, pa.int64()))

    def frame(self, session: SparkSession) -> DataFrame:
        positions = np.arange(len(self.names))
        return frame_of(
            session, pa.table({"position": positions, "name": self.names, "new": positions >= self.old_rows})
        )


@dataclass(frozen=True)
class NamesOnSpark:
    """Names in a Spark frame of ``position``, ``name`` and ``new``."""

    all: DataFrame
    old_rows: int

    def of(self, positions: np.ndarray) -> pa.Array:
        from pyspark.sql import functions as f

        wanted = sorted(set(positions.tolist()))
        held = self.all.where(f.col("position").isin(wanted)).select("position", "name").toArrow()
        return (
            held.column("name")
            .take(pa.compute.index_in(pa.array(positions, pa.int64()), held.column("position")))
            .combine_chunks()
        )

    def frame(self, session: SparkSession) -> DataFrame:  # noqa: ARG002 - it has one
        return self.all


@dataclass(frozen=True)
class NewRows:
    """What the findings need of the new table itself: the whole of it with flags, and rows to remove."""

    flagged: Callable[[DataFrame], DataFrame]  # from a frame of row and rule
    removal: Callable[[int, DataFrame | None, int | None], Removal]
    suspects: Callable[[Mapping[FunctionalDependency, bool], int | None], pa.Table]
    session: Callable[[], SparkSession]


@dataclass(frozen=True)
class AgainstFindings:
    """The violations that involve at least one new row."""

    find: Callable[[], tuple[LocalParts | SparkParts, Names]] = field(repr=False)
    new: NewRows
    counted: NewPairs | None = None  # where counting did not need the old rows here
    close_also: Callable[[], None] = field(repr=False, default=lambda: None)

    told_apart = True

    @cached_property
    def _found(self) -> tuple[LocalParts | SparkParts, Names]:
        return self.find()

    @property
    def inner(self) -> LocalParts | SparkParts:
        """The violations by the positions of rows, found when they are first asked for."""
        return self._found[0]

    @property
    def names(self) -> Names:
        return self._found[1]

    @cached_property
    def counts(self) -> tuple[Count, ...]:
        return tuple(Count(pairs, self._new_rows([rule]) if pairs else 0) for rule, pairs in enumerate(self._pairs))

    @property
    def _pairs(self) -> list[int]:
        """The violations of each rule."""
        return self.counted.pairs if self.counted is not None else [count.pairs for count in self.inner.counts]

    @property
    def rows_involved(self) -> int:
        return self._new_rows([rule for rule, pairs in enumerate(self._pairs) if pairs])

    def _new_rows(self, rules: Sequence[int]) -> int:
        """Count of the new rows that take part in violations of some rules."""
        if self.counted is not None:
            return int(np.count_nonzero(self.counted.involved[list(rules)].any(axis=0)))
        if isinstance(self.inner, LocalParts):
            rows = np.concatenate([np.zeros(0, np.int32), *(self.inner.found[rule].rows for rule in rules)])
            return len(sorted_distinct(rows[rows >= self.names.old_rows]))
        return self._new_on_spark(rules).count() if rules else 0

    def _new_on_spark(self, rules: Sequence[int]) -> DataFrame:
        """The positions of the new rows that take part in violations of some rules."""
        assert isinstance(self.inner, SparkParts)
        frames = [self.inner.involved(rule).select("row") for rule in rules]
        together = frames[0]
        for frame in frames[1:]:
            together = together.union(frame)
        return together.where(f"row >= {self.names.old_rows}").distinct()

    def first(self, rule: int, limit: int, each: int | None = None) -> pa.Table:
        return self._named(self.inner.first(rule, limit, each))

    def schema(self, columns: Sequence[str]) -> pa.Schema:
        return self._named(self.inner.schema(columns).empty_table()).schema

    def batches(
        self, rules: Sequence[int], columns: Sequence[str], limit: int | None = None
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        for rule, batch in self.inner.batches(rules, columns, limit):
            for some in self._named(pa.Table.from_batches([batch])).combine_chunks().to_batches():
                yield rule, some

    def _named(self, listed: pa.Table) -> pa.Table:
        """A table of violations with what rows are called, and whether they are new."""
        columns, flags = {}, {}
        for name in listed.column_names:
            column = listed.column(name)
            if name not in NEW_ROWS:
                columns[name] = column
                continue
            known = column.is_valid()
            positions = column.fill_null(0).to_numpy()
            labels = self.names.of(positions) if len(positions) else self.names.of(np.zeros(0, np.int64))
            columns[name] = pa.compute.if_else(known.combine_chunks(), labels, pa.scalar(None, labels.type))
            flags[NEW_ROWS[name]] = pa.compute.if_else(
                known.combine_chunks(), pa.array(positions >= self.names.old_rows), None
            )
        rows = {name: columns.pop(name) for name in NEW_ROWS if name in columns}
        return pa.table({**rows, **{n: f.cast(pa.bool_()) for n, f in flags.items()}, **columns})

    def groups(self, rule: int) -> Iterator[pa.RecordBatch]:
        for batch in self.inner.groups(rule):
            lists, flags = {}, {}
            for name in batch.schema.names:
                column = batch.column(name)
                if pa.types.is_null(column.type) or column.null_count == len(column):
                    lists[name], flags[f"new_{name[0]}"] = column, pa.nulls(len(column), pa.list_(pa.bool_()))
                    continue
                positions = column.flatten().to_numpy(zero_copy_only=False)
                lists[name] = pa.ListArray.from_arrays(column.offsets, self.names.of(positions))
                flags[f"new_{name[0]}"] = pa.ListArray.from_arrays(
                    column.offsets, pa.array(positions >= self.names.old_rows)
                )
            yield pa.record_batch({**lists, **flags})

    def write_folder(self, rules: Mapping[int, str], path: str, limit: int | None = None) -> None:
        """Violations with a new row are few beside the old table: they are written here, from :meth:`batches`."""

    def violations(self, rule: int, id: str, session: SparkSession | None = None) -> DataFrame:
        from pyspark.sql import functions as f

        listed = self.inner.violations(rule, id, session or self.new.session())
        names = listed.columns
        by_place = listed.toDF(*(f"c{i}" for i in range(len(names))))
        for place, row in ((1, "s"), (2, "t")):
            called = self.names.frame(by_place.sparkSession).toDF(f"{row}_position", f"{row}_name", f"{row}_new")
            by_place = by_place.join(called, f.col(f"c{place}") == f.col(f"{row}_position"), "left")
        rows = [f.col("s_name").alias("s_row"), f.col("t_name").alias("t_row")]
        flags = [f.col(f"{row}_new").alias(NEW_ROWS[f"{row}_row"]) for row in ("s", "t")]
        return by_place.select(
            f.col("c0").alias("rule"), *rows, *flags, *(f.col(f"c{i}").alias(names[i]) for i in range(3, len(names)))
        )

    def rows(self, ids: Sequence[str], session: SparkSession | None = None) -> DataFrame:
        from pyspark.sql import functions as f

        involved = self.inner.rows(ids, session or self.new.session())
        named = involved.join(self.names.frame(involved.sparkSession), f.col("row") == f.col("position"))
        return named.select(f.col("name").alias("row"), "rule", "pairs", "new").orderBy(f.desc("pairs"))

    def flagged(self, ids: Sequence[str], session: SparkSession | None = None) -> DataFrame:
        return self.new.flagged(self.rows(ids, session).where("new").select("row", "rule"))

    def worst(self, limit: int, columns: Sequence[str] = ()) -> list[WorstRow]:
        wanted = limit
        while True:
            worst = self.inner.worst(wanted, columns)
            new = [row for row in worst if row.row >= self.names.old_rows][:limit]
            if len(new) == limit or len(worst) < wanted:
                break
            wanted *= 4  # most of them are old rows
        labels = row_names(self.names.of(np.array([row.row for row in new], np.int64))) if new else []
        return [replace(row, row=label) for row, label in zip(new, labels, strict=True)]

    def rows_to_remove(self, rule: int, limit: int | None = None) -> Removal:
        if not self._pairs[rule]:
            return Removal(0, exact=True, first=())
        involved = None if isinstance(self.inner, LocalParts) else self._new_on_spark([rule])
        return self.new.removal(rule, involved, limit)

    def suspects(self, rules: Mapping[FunctionalDependency, bool], limit: int | None = None) -> pa.Table:
        return self.new.suspects(rules, limit)

    def close(self) -> None:
        if "_found" in self.__dict__:
            self.inner.close()
        self.close_also()
