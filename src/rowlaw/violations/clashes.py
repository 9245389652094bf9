"""The violations of one rule as tables: the two rows, and the values that clash side by side."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from rowlaw.engine.engine import Engine, Found, Part
from rowlaw.engine.tasks import ALL
from rowlaw.output import whole_file
from rowlaw.rules.model import Column, Rule, about_single_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PAIRS_PER_TASK = 5_000_000  # of a Spark frame of violations
ROWS_PER_GROUP = 1 << 18  # of a Parquet file of violations


@dataclass(frozen=True)
class Clashes:
    """The violations of one rule."""

    engine: Engine
    id: str
    rule: Rule
    found: Found

    @property
    def single(self) -> bool:
        """Whether the rule speaks of single rows."""
        return about_single_rows(self.rule)

    @property
    def values(self) -> list[tuple[str, str, str]]:
        """The compared values as ``(name in the result, row, column)``."""
        used: dict[tuple[str, str], None] = {}
        for denial in self.rule.denials:
            for predicate in denial.predicates:
                for operand in (predicate.left, predicate.right):
                    if isinstance(operand, Column):
                        used[operand.name, operand.row] = None
        taken = {"s_row", "t_row", "rule"}
        named = []
        for column, row in sorted(used):
            name = f"{row}_{column}"
            while name in taken:  # a column that is called "row"
                name += "_"
            taken.add(name)
            named.append((name, row, column))
        return named

    def table(self, s: np.ndarray, t: np.ndarray) -> pa.Table:
        """Some violations with labels and values."""
        relation = self.engine.relation
        columns: dict[str, Any] = {"s_row": relation.row_labels(s)}
        if not self.single:
            columns["t_row"] = relation.row_labels(t)
        for name, row, column in self.values:
            columns[name] = relation.decode(s if row == "s" else t, [column]).column(0).combine_chunks()
        return plain(pa.table(columns))

    def batches(self, part: Part = ALL) -> Iterator[pa.RecordBatch]:
        """All violations, or those within a part, some at a time."""
        for s, t in self.engine.pairs(self.rule, part, involved=self.found):
            for start in range(0, len(s), ROWS_PER_GROUP):
                yield from self.table(s[start : start + ROWS_PER_GROUP], t[start : start + ROWS_PER_GROUP]).to_batches()

    def first(self, limit: int) -> pa.Table:
        """Violations of the worst rows; a pair that is broken in both directions is shown in one."""
        return self.table(*self.worst(limit))

    def sample(self, limit: int) -> list[list[Any]]:
        """The labels of :meth:`first`."""
        s, t = self.worst(limit)
        labels = [self.engine.relation.row_labels(rows).to_pylist() for rows in ((s,) if self.single else (s, t))]
        return [list(pair) for pair in zip(*labels, strict=True)]

    def worst(self, limit: int, each: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Pairs of rows by position: the rows in most violations with their partners, or at most ``each`` of them."""
        none = np.zeros(0, np.int32)
        if not self.found.pairs or limit < 1:
            return none, none
        worst = self.found.rows[np.argsort(-self.found.per_row, kind="stable")]
        if self.single:
            return worst[:limit], worst[:limit]
        chosen: dict[tuple[int, int], None] = {}
        for row in worst:
            most = limit if each is None else min(limit, len(chosen) + each)
            for s, t in self.engine.partners(self.rule, int(row)):
                if (t, s) not in chosen:
                    chosen[s, t] = None
                if len(chosen) == most:
                    break
            if len(chosen) == limit:
                break
        pairs = np.array(list(chosen), np.int32).reshape(-1, 2)
        return pairs[:, 0], pairs[:, 1]

    def frame(self, session: SparkSession | None = None) -> DataFrame:
        """All violations as a lazy Spark DataFrame; each task writes those of some of the ``s`` rows."""
        from pyspark.sql.pandas.types import from_arrow_schema

        from rowlaw.spark.session import session as any_session

        spark = session or self.engine.session or any_session()
        self.engine.ship(spark)
        tasks = max(1, min(len(self.found.rows), -(-self.found.pairs // PAIRS_PER_TASK), 4096))
        empty = self.table(np.zeros(0, np.int32), np.zeros(0, np.int32))
        work = _FrameTask(self.engine.relation, self.engine.nulls, self.id, self.rule, self.found, tasks)
        frame = spark.range(0, tasks, 1, tasks).mapInArrow(work, from_arrow_schema(empty.schema))
        frame._rowlaw_relation = self.engine.relation  # type: ignore[attr-defined] # a lazy frame needs its files until it is run
        return frame


def plain(table: pa.Table) -> pa.Table:
    """Spark takes text with 32-bit offsets only; a batch is small enough for them."""
    fields = [pa.field(f.name, pa.string() if pa.types.is_large_string(f.type) else f.type) for f in table.schema]
    return table.cast(pa.schema(fields))


@dataclass(frozen=True)
class _FrameTask:
    relation: Any
    nulls: Any
    id: str
    rule: Rule
    found: Found
    tasks: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        engine = Engine(self.relation, self.nulls)
        clashes = Clashes(engine, self.id, self.rule, self.found)
        for batch in batches:
            for task in batch.column(0).to_pylist():
                yield from clashes.batches(Part(left=self.found.rows[task :: self.tasks]))


def write(rules: Sequence[Clashes], path: str | os.PathLike[str]) -> int:
    """Stream violations to a Parquet file, which appears under its name only when it is complete. Returns their number."""
    empty = np.zeros(0, np.int32)
    single = rules[0].table(empty, empty).schema if len(rules) == 1 else None
    label = rules[0].engine.relation.row_labels(empty).type if rules else pa.int64()
    schema = single or pa.schema([("rule", pa.string()), ("s_row", label), ("t_row", label)])
    written = 0
    with whole_file(path) as draft, pq.ParquetWriter(draft, schema, compression="zstd") as writer:
        for clashes in rules:
            for batch in clashes.batches():
                writer.write_batch(batch if single else _labelled(batch, clashes.id, schema))
                written += batch.num_rows
    return written


def _labelled(batch: pa.RecordBatch, id: str, schema: pa.Schema) -> pa.RecordBatch:
    t_row = batch.column("t_row") if "t_row" in batch.schema.names else pa.nulls(batch.num_rows, schema.field("t_row").type)
    columns = [pa.repeat(pa.scalar(id), batch.num_rows), batch.column("s_row"), t_row]
    return pa.record_batch([c.cast(f.type) for c, f in zip(columns, schema, strict=True)], schema=schema)
