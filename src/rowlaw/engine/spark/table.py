"""The table of a SparkEngine: a DataFrame with safe column names, plain values and, once rows are asked for, row
numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from rowlaw.engine.spark import expressions
from rowlaw.engine.spark.keep import Keeper
from rowlaw.engine.spark.limits import VALUE_BYTES
from rowlaw.errors import RowlawError
from rowlaw.rules.model import Column, Denial, Nulls, Predicate, TypeClass
from rowlaw.source.row_ids import CompositeId, null_ids, repeated_ids
from rowlaw.source.types import type_class
from rowlaw.spark.jobs import job

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame, SparkSession

NUMBER = "row_number"  # positions of rows; table columns are called k0, k1, ...
ROW = "row"  # ids of rows
NEW = "is_new"  # whether a row is new, where a table has old rows and new ones
PARTITION_SHIFT = 33  # Spark's monotonically increasing ids: the partition above this bit, the position in it below


@dataclass(frozen=True)
class SparkTable:
    """The columns of a frame that rules may use, under safe names. Nothing is read before it is asked for."""

    frame: DataFrame
    schema: pa.Schema
    nulls: Nulls
    row_id: tuple[str, ...] = ()
    skipped: Mapping[str, RowlawError] = field(default_factory=dict)
    new: str | None = None  # the column that says which rows are new
    keeper: Keeper = field(default_factory=Keeper)

    @property
    def session(self) -> SparkSession:
        return self.frame.sparkSession

    @cached_property
    def names(self) -> dict[str, str]:
        """The safe name of each column."""
        return {name: f"k{i}" for i, name in enumerate(self.schema.names)}

    @cached_property
    def types(self) -> dict[str, TypeClass]:
        """The type class of each column, by its own name."""
        kinds = {f.name: type_class(f.type) for f in self.schema}
        return {name: kind for name, kind in kinds.items() if kind is not None}

    @cached_property
    def arrow_types(self) -> dict[str, pa.DataType]:
        """The Arrow type of each column, by its own name."""
        return {f.name: f.type for f in self.schema}

    @cached_property
    def kinds(self) -> dict[str, TypeClass]:
        """The type class of each column, by its safe name."""
        return {self.names[name]: kind for name, kind in self.types.items()}

    @cached_property
    def plain(self) -> DataFrame:
        """All columns under safe names, with plain values."""
        return self.by_position.select(*self._plain_columns(self.by_position))

    @cached_property
    def own_columns(self) -> list[str]:
        """The names of all columns of the frame: a question to the server, by Spark Connect."""
        return list(self.frame.columns)

    @cached_property
    def by_position(self) -> DataFrame:
        """All columns of the frame, as x0, x1, ..."""
        # names with dots or backticks, or that differ only in case, would not be found
        return self.frame.toDF(*(f"x{i}" for i in range(len(self.own_columns))))

    def _plain_columns(self, whole: DataFrame) -> list[SparkColumn]:
        places = {name: i for i, name in reversed(list(enumerate(self.own_columns)))}
        chosen = [
            expressions.plain(whole[f"x{places[name]}"], self.arrow_types[name]).alias(safe)
            for name, safe in self.names.items()
        ]
        return chosen if self.new is None else [*chosen, whole[f"x{places[self.new]}"].alias(NEW)]

    @cached_property
    def rows(self) -> int:
        """Count of rows: one job."""
        with job(self.session, "count the rows"):
            return int(self.frame.count())

    @cached_property
    def numbered(self) -> DataFrame:
        """All columns of the frame, as x0, x1, ..., and the position of each row in it, from 0: the same whenever it is
        computed.

        Spark numbers the rows of a partition; where they are among all rows follows from how many rows the partitions
        before have. Partitions that are computed twice may come in another order, so the numbered rows are kept.
        """
        from pyspark.sql import functions as f

        partition = f.shiftrightunsigned(f.col(NUMBER), PARTITION_SHIFT)
        with job(self.session, "number the rows"):
            kept = self.keeper.keep(self.by_position.withColumn(NUMBER, f.monotonically_increasing_id()))
            sizes = {r[0]: r[1] for r in kept.groupBy(partition.alias("partition")).count().collect()}
        first, offsets = 0, []
        for number in sorted(sizes):
            offsets += [f.lit(number), f.lit(first - (number << PARTITION_SHIFT))]
            first += sizes[number]
        if not offsets:
            return kept
        return kept.withColumn(NUMBER, f.col(NUMBER) + f.element_at(f.create_map(*offsets), partition))

    def check_row_id(self) -> None:
        """Raise an error unless the row id names every row, and no two rows alike: one job, which also counts the
        rows."""
        if not self.row_id:
            return
        from pyspark.sql import functions as f

        ids = [self.names[name] for name in self.row_id]
        groups = self.plain.groupBy(*ids).agg(f.count(f.lit(1)).alias("size"))
        nulls = [
            f.sum(f.when(f.col(id).isNull(), f.col("size")).otherwise(0)).alias(f"nulls{i}") for i, id in enumerate(ids)
        ]
        with job(self.session, "check that row ids are unique"):
            facts = groups.agg(f.sum("size").alias("rows"), f.count(f.lit(1)).alias("distinct"), *nulls).first()
        assert facts is not None
        for i, name in enumerate(self.row_id):
            if facts[f"nulls{i}"]:
                raise null_ids(name, facts[f"nulls{i}"])
        rows = self.__dict__.setdefault("rows", int(facts["rows"] or 0))
        if facts["distinct"] < rows:
            raise repeated_ids(self.row_id, rows, facts["distinct"])

    @cached_property
    def labelled(self) -> DataFrame:
        """All columns, and in :data:`ROW` what a row is called: its id, or its number."""
        from pyspark.sql import functions as f

        if not self.row_id:
            return self.numbered.select(*self._plain_columns(self.numbered), f.col(NUMBER).alias(ROW))
        return self.plain.withColumn(
            ROW, self.id_of({self.names[name]: f.col(self.names[name]) for name in self.row_id})
        )

    def id_of(self, values: Mapping[str, SparkColumn]) -> SparkColumn:
        """The id of a row, from its values by safe names. An id of several columns is a struct, with safe names inside
        the engine."""
        from pyspark.sql import functions as f

        safe = [self.names[name] for name in self.row_id]
        return values[safe[0]] if len(safe) == 1 else f.struct(*(values[name].alias(name) for name in safe))

    def shown_id(self, column: str = ROW) -> SparkColumn:
        """A column of row ids as users see it: the fields of a struct have the names that the columns have in the
        table."""
        return self._id_column(column, self.row_id)

    def _id_column(self, column: str, names: Sequence[str]) -> SparkColumn:
        from pyspark.sql import functions as f

        if len(self.row_id) < 2:
            return f.col(column)
        return f.col(column).cast(self._struct(names)).alias(column)

    def _struct(self, names: Sequence[str]) -> Any:
        from pyspark.sql.types import StructField, StructType

        types = {field.name: field.dataType for field in self.plain.schema.fields}
        return StructType(
            [StructField(name, types[self.names[own]]) for name, own in zip(names, self.row_id, strict=True)]
        )

    @cached_property
    def id_bytes(self) -> int:
        """About how many bytes the id of a row takes in Arrow."""
        return sum(VALUE_BYTES[self.types[name]] for name in self.row_id) if self.row_id else VALUE_BYTES["number"]

    def row_names(self, ids: pa.ChunkedArray) -> list[Any]:
        """Row ids as Python shows them."""
        values = ids.to_pylist()
        return values if len(self.row_id) < 2 else [CompositeId(self.row_id, value.values()) for value in values]

    def shown_id_type(self, arrow_type: pa.DataType) -> pa.DataType:
        """The Arrow type of row ids as users see them."""
        if len(self.row_id) < 2:
            return arrow_type
        return pa.struct([pa.field(name, arrow_type.field(i).type) for i, name in enumerate(self.row_id)])

    def flagged(self, broken: DataFrame, numbered: DataFrame | None = None) -> DataFrame:
        """The frame as it is, with what each row is called and the rules that it breaks. ``broken``: ``row`` and
        ``rule``.

        ``numbered``: all columns, as x0, x1, ..., and ``row``, where the numbers of rows are not those of
        :attr:`numbered`.
        """
        from pyspark.sql import functions as f

        whole = (
            numbered
            if numbered is not None
            else self._labelled_input
            if self.row_id
            else self.numbered.withColumnRenamed(NUMBER, ROW)
        )
        # ids from another engine have the names of the table
        broken = broken.select(self._id_column(ROW, [self.names[name] for name in self.row_id]), "rule")
        rules = broken.groupBy(ROW).agg(f.sort_array(f.collect_set("rule")).alias("rules"))
        joined = whole.join(rules, ROW, "left")
        none = f.array().cast("array<string>")
        own = [f.col(f"x{i}").alias(name) for i, name in enumerate(self.own_columns)]
        row, flags = (self._free(name) for name in (ROW, "broken_rules"))
        return joined.select(*own, self.shown_id().alias(row), f.coalesce("rules", none).alias(flags))

    @property
    def _labelled_input(self) -> DataFrame:
        whole = self.by_position
        places = {name: whole[f"x{self.own_columns.index(name)}"] for name in self.row_id}
        return whole.withColumn(
            ROW,
            self.id_of({self.names[n]: expressions.plain(place, self.arrow_types[n]) for n, place in places.items()}),
        )

    def _free(self, name: str) -> str:
        """A name that no column of the frame has."""
        taken = {own.casefold() for own in self.own_columns}
        while name in taken:
            name += "_"
        return name

    def safe(self, denial: Denial) -> Denial:
        """A denial over the safe names."""
        return Denial(tuple(self.safe_predicate(p) for p in denial.predicates))

    def safe_predicate(self, p: Predicate) -> Predicate:
        return Predicate(self._safe(p.left), p.op, self._safe(p.right))

    def _safe(self, operand: Any) -> Any:
        return Column(operand.row, self.names[operand.name]) if isinstance(operand, Column) else operand

    def own_name(self, safe: str) -> str:
        """The column that a safe name stands for."""
        return self.schema.names[int(safe[1:])]

    def known(self, frame: DataFrame, columns: Sequence[str]) -> DataFrame:
        """The rows that can take part: those without null in some columns (safe names), unless null is a value."""
        if self.nulls == "equal" or not columns:
            return frame
        return frame.where(expressions.all_known([frame[name] for name in columns]))
