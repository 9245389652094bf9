"""What a check on a relation found: counts, rows and pairs, by position inside and by row id outside."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from rowlaw.engine.answers import Count, Removal, WorstRow, compared, value_names
from rowlaw.engine.local.removal import rows_to_remove
from rowlaw.engine.local.rows import Found, Part, RowEngine
from rowlaw.engine.local.suspects import suspects
from rowlaw.relation.relation import Relation
from rowlaw.rules.model import FunctionalDependency, Rule, about_single_rows
from rowlaw.source.row_ids import row_names
from rowlaw.spark.jobs import frame_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_ROWS_PER_BATCH = 1 << 18  # violations of a record batch
_PAIRS_PER_TASK = 5_000_000  # violations that one Spark task lists
_MOST_TASKS = 4_096
_SHORT = 64 << 20  # bytes of codes: what Spark does with a smaller table is done soon


@dataclass(frozen=True)
class LocalFindings:
    """The violations of some rules. ``found`` has, for each rule, the rows that take part and their counts, by
    position."""

    engine: RowEngine
    checked: tuple[Rule, ...]
    part: Part
    found: list[Found]

    told_apart = False

    @cached_property
    def counts(self) -> tuple[Count, ...]:
        return tuple(Count(involved.pairs, len(involved.rows)) for involved in self.found)

    @property
    def rows_involved(self) -> int:
        involved = np.zeros(self._relation.rows, bool)
        for count in self.found:
            involved[count.rows] = True
        return int(np.count_nonzero(involved))

    def first(self, rule: int, limit: int, each: int | None = None) -> pa.Table:
        s, t = self._worst_pairs(rule, limit, each)
        listed = violations_table(self._relation, s, t, self.checked[rule].columns)
        listed = listed.append_column("s#", pa.array(s, pa.int64())).append_column("t#", pa.array(t, pa.int64()))
        return listed.drop_columns(["t_row"]) if about_single_rows(self.checked[rule]) else listed

    def schema(self, columns: Sequence[str]) -> pa.Schema:
        none = np.zeros(0, np.int32)
        return violations_table(self._relation, none, none, columns).schema

    def batches(
        self, rules: Sequence[int], columns: Sequence[str], limit: int | None = None
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        chosen = [rule for rule in rules if self.found[rule].pairs]
        listed = self.engine.listed(
            [self.checked[rule] for rule in chosen],
            self.part,
            involved=[self.found[rule] for rule in chosen],
            limit=limit,
        )
        left: dict[int, int | None] = dict.fromkeys(chosen, limit)
        for place, s, t in listed:
            rule = chosen[place]
            for batch in _batches(self._relation, s, t, columns, single=about_single_rows(self.checked[rule])):
                some = batch if (most := left[rule]) is None else batch.slice(0, most)
                left[rule] = None if most is None else most - some.num_rows
                if some.num_rows:
                    yield rule, some

    def groups(self, rule: int) -> Iterator[pa.RecordBatch]:
        if about_single_rows(self.checked[rule]):
            yield _group_batch(self._relation, self.found[rule].rows, np.arange(len(self.found[rule].rows) + 1), None)
            return
        for some in self.engine.groups(self.checked[rule], self.part):
            yield _group_batch(self._relation, some.s.rows, some.s.starts, (some.t.rows, some.t.starts))

    def write_folder(self, rules: Mapping[int, str], path: str, limit: int | None = None) -> None:
        """No worker has the rows: they are written here, from :meth:`batches`."""

    def violations(self, rule: int, id: str, session: SparkSession | None = None) -> DataFrame:
        spark = self._session(session)
        # The frame may outlive this object and the relation's files: it gets files of its own.
        kept = RowEngine(self._relation.kept(), self.engine.nulls)
        kept.ship(spark)
        count = self.found[rule]
        tasks = max(1, min(len(count.rows), -(-count.pairs // _PAIRS_PER_TASK), _MOST_TASKS))
        work = _Listing(kept.relation, kept.nulls, self.checked[rule], id, self.part, count, tasks)
        return spark.range(0, tasks, 1, tasks).mapInArrow(work, _spark_schema(work.schema))

    def rows(self, ids: Sequence[str], session: SparkSession | None = None) -> DataFrame:
        spark = self._session(session)
        labels = self._relation.row_labels(np.zeros(0, np.int32)).type
        schema = pa.schema([("row", labels), ("rule", pa.string()), ("pairs", pa.int64())])
        tables = [schema.empty_table()]
        for id, count in zip(ids, self.found, strict=True):
            columns = [
                self._relation.row_labels(count.rows),
                pa.repeat(pa.scalar(id), len(count.rows)),
                pa.array(count.per_row),
            ]
            tables.append(pa.table(columns, schema=schema))
        return frame_of(spark, _for_spark(pa.concat_tables(tables))).orderBy("pairs", ascending=False)

    def flagged(self, ids: Sequence[str], session: SparkSession | None = None) -> DataFrame:
        if self.engine.origin is not None:  # only some of its columns were brought here
            return self.engine.origin.flagged(self.rows(ids, session).select("row", "rule"), self._relation)
        broken: dict[int, list[str]] = {}
        for id, count in zip(ids, self.found, strict=True):
            for row in count.rows.tolist():
                broken.setdefault(row, []).append(id)
        relation = self._relation
        names = [column.name for column in relation.columns]
        row, flags = (_free(name, names) for name in ("row", "broken_rules"))
        rules = pa.array([sorted(broken.get(i, ())) for i in range(relation.rows)], pa.list_(pa.string()))
        table = relation.decode().append_column(row, relation.row_labels(relation.all_rows)).append_column(flags, rules)
        return frame_of(self._session(session), _for_spark(table))

    def worst(self, limit: int, columns: Sequence[str] = ()) -> list[WorstRow]:
        tally = np.zeros(self._relation.rows, np.int64)
        for count in self.found:
            tally[count.rows] += count.per_row
        limit = min(limit, int(np.count_nonzero(tally)))
        some = np.argpartition(-tally, limit - 1)[:limit] if limit else np.zeros(0, np.int64)
        if limit:  # of rows that tie with the last one, the first ones
            last = tally[some].min()
            above, tied = np.flatnonzero(tally > last), np.flatnonzero(tally == last)
            some = np.concatenate((above, tied[: limit - len(above)]))
        some = some[np.lexsort((some, -tally[some]))]
        values = self._relation.decode(some, columns).to_pylist() if len(columns) else [{}] * len(some)
        labels = row_names(self._relation.row_labels(some))
        return [
            WorstRow(label, int(tally[row]), self._pairs_of(row), tuple(record[name] for name in columns))
            for row, label, record in zip(some.tolist(), labels, values, strict=True)
        ]

    def rows_to_remove(self, rule: int, limit: int | None = None) -> Removal:
        removed = rows_to_remove(self.engine, self.checked[rule], self.found[rule])
        return Removal(len(removed), removed.exact, tuple(row_names(self._relation.row_labels(removed.rows[:limit]))))

    def suspects(self, rules: Mapping[FunctionalDependency, bool], limit: int | None = None) -> pa.Table:
        return suspects(self.engine, rules, limit)

    def close(self) -> None:
        self._relation.close()

    def _session(self, given: SparkSession | None) -> SparkSession:
        from rowlaw.spark.session import session as any_session

        return given or self.engine.session or any_session(short=self._relation.nbytes < _SHORT)

    @property
    def _relation(self) -> Relation:
        return self.engine.relation

    def _pairs_of(self, row: int) -> dict[int, int]:
        """The violations of each rule that a row takes part in."""
        pairs = {}
        for rule, count in enumerate(self.found):
            at = int(np.searchsorted(count.rows, row))
            if at < len(count.rows) and count.rows[at] == row:
                pairs[rule] = int(count.per_row[at])
        return pairs

    def _partners(self, rule: int, row: int) -> list[tuple[int, int]]:
        """The violations that a row takes part in."""
        return self.engine.partners(self.checked[rule], row, self.part)

    def _worst_pairs(self, rule: int, limit: int, each: int | None) -> tuple[np.ndarray, np.ndarray]:
        """Positions of pairs: the rows in most violations with their partners, at most ``each`` of them."""
        count, none = self.found[rule], np.zeros(0, np.int32)
        if not count.pairs or limit < 1:
            return none, none
        worst = count.rows[np.argsort(-count.per_row, kind="stable")]
        if about_single_rows(self.checked[rule]):
            return worst[:limit], worst[:limit]
        chosen: dict[tuple[int, int], None] = {}
        for row in worst:
            enough = limit if each is None else min(limit, len(chosen) + each)
            for s, t in self._partners(rule, int(row)):
                if (t, s) not in chosen:
                    chosen[s, t] = None
                if len(chosen) == enough:
                    break
            if len(chosen) == limit:
                break
        pairs = np.array(list(chosen), np.int32).reshape(-1, 2)
        return pairs[:, 0], pairs[:, 1]


def violations_table(relation: Relation, s: np.ndarray, t: np.ndarray, columns: Sequence[str]) -> pa.Table:
    """Some violations: ``s_row``, ``t_row`` and the values of both rows in ``columns``."""
    listed: dict[str, Any] = {"s_row": relation.row_labels(s), "t_row": relation.row_labels(t)}
    for (row, column), name in value_names(columns).items():
        listed[name] = relation.decode(s if row == "s" else t, [column]).column(0).combine_chunks()
    return _for_spark(pa.table(listed))


def _batches(
    relation: Relation, s: np.ndarray, t: np.ndarray, columns: Sequence[str], *, single: bool
) -> Iterator[pa.RecordBatch]:
    """Some violations in record batches; a violation of a rule about single rows has no ``t_row``."""
    for start in range(0, len(s), _ROWS_PER_BATCH):
        listed = violations_table(
            relation, s[start : start + _ROWS_PER_BATCH], t[start : start + _ROWS_PER_BATCH], columns
        )
        if single:
            place = listed.schema.get_field_index("t_row")
            listed = listed.set_column(place, "t_row", pa.nulls(listed.num_rows, listed.schema.field(place).type))
        yield from listed.to_batches()


def _group_batch(
    relation: Relation, s: np.ndarray, s_starts: np.ndarray, t: tuple[np.ndarray, np.ndarray] | None
) -> pa.RecordBatch:
    """Groups of rows as lists of their ids; no ``t_rows`` where the rule is about single rows."""
    s_lists = pa.ListArray.from_arrays(pa.array(s_starts, pa.int32()), relation.row_labels(s))
    if t is None:
        return pa.record_batch([s_lists, pa.nulls(len(s_lists), s_lists.type)], names=["s_rows", "t_rows"])
    t_lists = pa.ListArray.from_arrays(pa.array(t[1], pa.int32()), relation.row_labels(t[0]))
    return pa.record_batch([s_lists, t_lists], names=["s_rows", "t_rows"])


@dataclass(frozen=True)
class _Listing:
    """The work of a Spark task: lists the violations of some of the ``s`` rows."""

    relation: Relation
    nulls: Any
    rule: Rule
    id: str
    part: Part
    found: Found
    tasks: int

    @property
    def schema(self) -> pa.Schema:
        none = np.zeros(0, np.int32)
        return self._chosen(violations_table(self.relation, none, none, self.rule.columns)).schema

    def _chosen(self, listed: pa.Table | pa.RecordBatch) -> pa.Table:
        """The rule's id, the rows, and the values that the rule compares."""
        names = value_names(self.rule.columns)
        columns = ["s_row", "t_row", *(names[operand] for operand in compared(self.rule))]
        ids = pa.repeat(pa.scalar(self.id, pa.string()), listed.num_rows)
        return pa.table([ids, *(listed.column(name) for name in columns)], names=["rule", *columns])

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        engine = RowEngine(self.relation, self.nulls)
        for batch in batches:
            for task in batch.column(0).to_pylist():
                mine = self.found.rows[task :: self.tasks]
                left = mine if self.part.left is None else np.intersect1d(mine, self.part.left)
                single = about_single_rows(self.rule)
                for s, t in engine.pairs(self.rule, Part(left, self.part.right), involved=self.found):
                    for listed in _batches(self.relation, s, t, self.rule.columns, single=single):
                        yield from self._chosen(listed).to_batches()


def _free(name: str, taken: Sequence[str]) -> str:
    """A name that no column has; Spark does not tell names apart by case."""
    known = {other.casefold() for other in taken}
    while name in known:
        name += "_"
    return name


def _for_spark(table: pa.Table) -> pa.Table:
    """Spark takes text with 32-bit offsets only; a batch is small enough for them."""
    return table.cast(pa.schema([pa.field(f.name, _spark_type(f.type)) for f in table.schema]))


def _spark_type(dtype: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(dtype):  # an id of several columns
        return pa.struct([pa.field(f.name, _spark_type(f.type)) for f in dtype])
    return pa.string() if pa.types.is_large_string(dtype) else dtype


def _spark_schema(schema: pa.Schema) -> Any:
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(schema)
