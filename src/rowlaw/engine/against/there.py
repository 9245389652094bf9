"""The old rows that could break a rule together with a new row, found by Spark in one scan of the old table. Nothing is
shuffled, except where equal rows are folded to be counted.

The new rows become boxes (see `boxes`), small tables that every worker gets. Rows of the old table that satisfy no box
of any conflict are left out where they are read. What is left is a superset of the rows in violations, most often a
small one.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from rowlaw.engine.against.boxes import Boxes, boxes
from rowlaw.engine.against.conflicts import Bound, Conflict, conflicts, key_of, satisfied, scale
from rowlaw.engine.spark.aggregate import true_of_row
from rowlaw.engine.spark.expressions import all_known
from rowlaw.engine.spark.table import NUMBER, PARTITION_SHIFT, SparkTable
from rowlaw.engine.spark.worker import WEIGHT
from rowlaw.rules.model import Denial, Rule
from rowlaw.spark.jobs import described, frame_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_FEW_LITERALS = 4  # boxes without a key that are written into the query
RULES = "rules"  # the column that says, bit by bit, which rules a row could break
ROWS_HERE = 1_000_000  # new rows whose boxes are made by the driver; of more, Spark makes one box for each key


@dataclass(frozen=True)
class OldRows:
    """The rows of an old table that could conflict with new rows: ``frame`` has the safe columns and the row's
    number."""

    frame: DataFrame
    table: SparkTable
    stable: bool  # whether the old table comes in the same partitions whenever it is computed

    def positions(self, numbers: np.ndarray) -> np.ndarray:
        """Where rows are in the old table, from their numbers (dtype int64): one job counts the rows of its
        partitions."""
        if not self.stable or not len(numbers):
            return numbers
        parts = numbers >> PARTITION_SHIFT
        starts = dict(_starts(self.table.plain))
        return np.array([starts[p] for p in parts.tolist()], np.int64) + (numbers - (parts << PARTITION_SHIFT))

    def position(self) -> Column:
        """The same as a column, for rows that are too many to be brought to the driver."""
        from pyspark.sql import functions as f

        if not self.stable:
            return f.col(NUMBER)
        offsets = [
            f.lit(value)
            for part, start in _starts(self.table.plain)
            for value in (part, start - (part << PARTITION_SHIFT))
        ]
        partition = f.shiftrightunsigned(f.col(NUMBER), PARTITION_SHIFT)
        return f.col(NUMBER) + f.element_at(f.create_map(*offsets), partition) if offsets else f.col(NUMBER)


def conflicting(
    old: SparkTable, new: SparkTable, new_rows: int, denials: Sequence[Denial], *, groups: bool, numbered: bool
) -> OldRows:
    """The rows of the old table that could break one of the denials (over own names) together with a row of the new
    one.

    ``groups``: rows that agree with a new row on what a denial wants equal, wherever their other values are.
    ``numbered``: rows are to be called by their position, so it must not depend on when the table is computed.
    """
    from pyspark.sql import functions as f

    stable = not numbered or _in_fixed_partitions(old.frame)
    if stable:
        rows = old.plain.withColumn(NUMBER, f.monotonically_increasing_id())
    else:
        rows = old.numbered.select(*old._plain_columns(old.numbered), NUMBER)
    wanted = [_only_keys(c) if groups else c for c in conflicts(old, [old.safe(denial) for denial in denials])]
    tests = _tests(old, new, new_rows, list(dict.fromkeys(wanted)))
    if not tests:
        return OldRows(rows.limit(0), old, stable)
    kept = _with_keys(rows, tests.values()).where(_any([test.condition() for test in tests.values()]))
    return OldRows(kept.select(*old.names.values(), NUMBER), old, stable)


def folded(old: SparkTable, new: SparkTable, new_rows: int, rules: Sequence[Rule]) -> DataFrame | None:
    """The rows of the old table that could break each rule (over own names) together with a new row; equal ones are
    one row with a weight.

    Bit i of the column ``rules`` says that a row could break rule i. A column is null in rows that could break no rule
    about it, so that few distinct rows are left. None if no old row can break any rule.
    """
    from pyspark.sql import functions as f

    asked = [conflicts(old, [old.safe(denial) for denial in rule.denials]) for rule in rules]
    tests = _tests(old, new, new_rows, list(dict.fromkeys(c for some in asked for c in some)))
    if not tests:
        return None
    tested = _with_keys(old.plain, tests.values()).select(
        *old.names.values(), *(test.condition().alias(f"test{test.number}") for test in tests.values())
    )
    breaks = [_any([f.col(f"test{tests[c].number}") for c in some if c in tests]) for some in asked]
    users: dict[str, list[Column]] = {}
    for rule, condition in zip(rules, breaks, strict=True):
        for name in rule.columns:
            users.setdefault(old.names[name], []).append(condition)
    if not users:  # no rule compares any column
        users[next(iter(old.names.values()))] = breaks
    bits = reduce(lambda a, b: a + b, [f.when(c, 1 << i).otherwise(0).cast("bigint") for i, c in enumerate(breaks)])
    masked = [f.when(_any(conditions), f.col(name)).alias(name) for name, conditions in users.items()]
    equal = tested.select(*masked, bits.alias(RULES)).groupBy(*users, RULES)
    return equal.agg(f.count(f.lit(1)).alias(WEIGHT)).where(f.col(RULES) != 0)


def _tests(old: SparkTable, new: SparkTable, new_rows: int, wanted: Sequence[Conflict]) -> dict[Conflict, _Test]:
    """A test of old rows for each conflict that some new row takes part in."""
    boxed = _with_boxes(old, new, new_rows, wanted)
    tests = {conflict: _Test(old, conflict, some, i) for i, (conflict, some) in enumerate(boxed)}
    return {conflict: test for conflict, test in tests.items() if test.possible}


def _with_keys(rows: DataFrame, tests: Iterable[_Test]) -> DataFrame:
    """Old rows with what brings them to the boxes of each test."""
    return rows.alias("old").select("*", *(column for test in tests for column in test.meeting())).alias("old")


def _any(conditions: Sequence[Column]) -> Column:
    from pyspark.sql import functions as f

    return reduce(lambda a, b: a | b, conditions, f.lit(False))


def _only_keys(conflict: Conflict) -> Conflict:
    from dataclasses import replace

    return replace(conflict, bounds=(), old_filters=(), new_filters=())


def _in_fixed_partitions(frame: DataFrame) -> bool:
    """Whether a frame is read in the same partitions whenever it is computed: nothing is shuffled on the way."""
    text = io.StringIO()
    with redirect_stdout(text):
        frame.explain()
    return "Exchange" not in text.getvalue()


def _starts(frame: DataFrame) -> Iterator[tuple[int, int]]:
    """The number of each partition that has rows, and the position of its first row."""
    from pyspark.sql import functions as f

    sizes = {r[0]: r[1] for r in frame.groupBy(f.spark_partition_id().alias("partition")).count().collect()}
    first = 0
    for number in sorted(sizes):
        yield number, first
        first += sizes[number]


def _with_boxes(
    old: SparkTable, new: SparkTable, rows: int, found: Sequence[Conflict]
) -> list[tuple[Conflict, _Boxed]]:
    """The boxes of each conflict: made by the driver from one job over the new rows, or by Spark if these are many."""
    if rows > ROWS_HERE:
        return [(conflict, _spark_boxes(new, conflict)) for conflict in found]
    chosen = []
    for i, conflict in enumerate(found):
        chosen += [_takes_part(new, conflict).alias(f"part{i}"), _new_key(new, conflict).alias(f"key{i}")]
        chosen += [scale(new, new.plain[b.new], b.new).alias(f"value{i}_{j}") for j, b in enumerate(conflict.bounds)]
    with described(new.session, "bounds of the new rows"):
        held = new.plain.select(*chosen).toArrow()
    made = []
    for i, conflict in enumerate(found):
        mine = held.filter(held.column(f"part{i}"))
        values = [mine.column(f"value{i}_{j}").combine_chunks() for j in range(len(conflict.bounds))]
        made.append(
            (conflict, _Boxed.of(old, boxes(mine.column(f"key{i}").to_numpy(), values, conflict.bounds), conflict))
        )
    return made


def _takes_part(new: SparkTable, conflict: Conflict) -> Column:
    from pyspark.sql import functions as f

    known = all_known([new.plain[c] for c in conflict.new_known]) if new.nulls == "unknown" else f.lit(True)
    return known & true_of_row(new, new.plain, conflict.new_filters)


def _new_key(new: SparkTable, conflict: Conflict) -> Column:
    return key_of(new, [new.plain[b] for _, b in conflict.equal], conflict, old=False)


@dataclass(frozen=True)
class _Boxed:
    """The boxes of a conflict: a frame to join with, or a few of them written out; none if no new row takes part."""

    frame: DataFrame | None
    literals: tuple[dict[str, Any], ...] | None
    boxes: Boxes | None

    @staticmethod
    def of(old: SparkTable, made: Boxes, conflict: Conflict) -> _Boxed:
        if not conflict.equal and made.bins is None and made.table.num_rows <= _FEW_LITERALS:
            return _Boxed(None, tuple(made.table.to_pylist()), made)
        texts = {pa.large_string(): pa.string()}
        table = made.table.cast(pa.schema([pa.field(f.name, texts.get(f.type, f.type)) for f in made.table.schema]))
        return _Boxed(
            frame_of(old.session, table) if table.num_rows else None, () if not table.num_rows else None, made
        )


def _spark_boxes(new: SparkTable, conflict: Conflict) -> _Boxed:
    """One box for each key, made by Spark."""
    from pyspark.sql import functions as f

    rows = new.plain.where(_takes_part(new, conflict))
    values = [scale(new, rows[b.new], b.new) for b in conflict.bounds]
    ends = [end(v).alias(f"{name}{i}") for i, v in enumerate(values) for end, name in ((f.min, "low"), (f.max, "high"))]
    key = key_of(new, [rows[b] for _, b in conflict.equal], conflict, old=False).alias("key")
    return _Boxed(rows.groupBy(key).agg(f.count(f.lit(1)).alias("rows"), *ends), None, None)


@dataclass(frozen=True)
class _Test:
    """Whether an old row satisfies a box of a conflict; ``number`` tells its columns from those of other tests."""

    old: SparkTable
    conflict: Conflict
    boxed: _Boxed
    number: int

    @property
    def possible(self) -> bool:
        return self.boxed.frame is not None or bool(self.boxed.literals)

    def meeting(self) -> list[Column]:
        """What brings an old row to its boxes: its key, and its bin."""
        from pyspark.sql import functions as f

        columns = []
        if self.conflict.equal:
            values = [f.col(f"old.{a}") for a, _ in self.conflict.equal]
            columns.append(key_of(self.old, values, self.conflict, old=True).alias(f"key{self.number}"))
        bins = self.boxed.boxes.bins if self.boxed.boxes is not None else None
        if bins is not None:
            value = self._value(self.conflict.bounds[bins.bound])
            place = (f.lit(bins.sign) * value - f.lit(bins.start)) * f.lit(bins.per_unit)
            inside = f.least(f.greatest(place, f.lit(0.0)), f.lit(float(bins.count - 1)))
            columns.append(inside.cast("int").alias(f"bin{self.number}"))
        return columns

    def _value(self, bound: Bound, *, outer: bool = False) -> Column:
        from pyspark.sql import functions as f

        column = f.col(f"old.{bound.old}")
        return scale(self.old, column.outer() if outer else column, bound.old)

    def condition(self) -> Column:
        """A condition on rows of the old table with their keys and bins."""
        from pyspark.sql import functions as f

        known = (
            all_known([f.col(f"old.{c}") for c in self.conflict.old_known])
            if self.old.nulls == "unknown"
            else f.lit(True)
        )
        own = known & true_of_row(self.old, _Old(), self.conflict.old_filters)  # type: ignore[arg-type]
        if self.boxed.literals is not None:
            boxes = [self._inside(lambda name, box=box: f.lit(box[name]), outer=False) for box in self.boxed.literals]
            return own & reduce(lambda a, b: a | b, boxes)
        assert self.boxed.frame is not None
        box = f.broadcast(self.boxed.frame) if self.boxed.boxes is not None else self.boxed.frame
        meets = self._inside(f.col, outer=True)
        if self.conflict.equal:
            meets = (f.col("key") == f.col(f"old.key{self.number}").outer()) & meets
        if self.boxed.boxes is not None and self.boxed.boxes.bins is not None:
            meets = (f.col("bin") == f.col(f"old.bin{self.number}").outer()) & meets
        return own & box.where(meets).exists()

    def _inside(self, ends: Any, *, outer: bool) -> Column:
        """Whether a row satisfies a box; ``ends`` gives its least and greatest values by their names."""
        from pyspark.sql import functions as f

        condition = f.lit(True)
        for i, bound in enumerate(self.conflict.bounds):
            condition = condition & satisfied(bound, self._value(bound, outer=outer), ends(f"low{i}"), ends(f"high{i}"))
        return condition


class _Old:
    """The old table, as far as predicates about single rows look at it: its columns by name."""

    def __getitem__(self, name: str) -> Column:
        from pyspark.sql import functions as f

        return f.col(f"old.{name}")
