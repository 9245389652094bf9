"""The violations of one rule as tables: the two rows, and the values that clash side by side."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from rowlaw.engine.answers import NEW_ROWS, RESERVED, compared, folder_exists, row_columns, value_names
from rowlaw.engine.protocol import Findings
from rowlaw.errors import RowlawError
from rowlaw.output import check_place, whole_file, whole_folder
from rowlaw.rules.model import Rule, about_single_rows
from rowlaw.source.row_ids import named_records

_FILE_TYPES = (".parquet", ".csv", ".arrow")  # endings of a file of violations
_PART_ROWS = 1 << 22  # violations of one file of a folder


@dataclass(frozen=True)
class Clashes:
    """The violations of one rule, which is number ``number`` of those checked."""

    findings: Findings
    number: int
    id: str
    rule: Rule

    @property
    def single(self) -> bool:
        """Whether the rule is about single rows."""
        return about_single_rows(self.rule)

    @property
    def columns(self) -> list[str]:
        """The columns of a table of violations: the rows, whether they are new where there are two tables, and the
        values compared."""
        names = value_names(self.rule.columns)
        return [*row_columns(self.rule), *self._flags, *(names[operand] for operand in compared(self.rule))]

    @property
    def _flags(self) -> list[str]:
        return [NEW_ROWS[row] for row in row_columns(self.rule)] if self.findings.told_apart else []

    def first(self, limit: int) -> pa.Table:
        """Violations of the worst rows; a pair that is broken in both directions is shown in one."""
        return self.findings.first(self.number, limit).select(self.columns)

    def sample(self, limit: int) -> list[list[Any]]:
        """The row ids of :meth:`first`."""
        first = self.findings.first(self.number, limit).select(row_columns(self.rule))
        return [list(row.values()) for row in named_records(first)]

    def new(self, limit: int) -> list[list[bool]]:
        """Which of the rows of :meth:`sample` are new ones, in a check against an old table."""
        first = self.findings.first(self.number, limit).select(self._flags)
        return [list(row.values()) for row in first.to_pylist()]

    def batches(self) -> Iterator[pa.RecordBatch]:
        """All violations, one batch at a time."""
        for _, batch in self.findings.batches([self.number], self.rule.columns):
            yield batch.select(self.columns)


def check_target(path: str | os.PathLike[str]) -> str:
    """The path for violations, if they can be written there: a long run asks before it begins.

    A name without an ending, or that ends in ``/``, is a new folder. An existing folder is an error, so that nothing in
    it is lost.
    """
    target = os.fspath(path)
    if "://" in target:
        return target
    if os.path.isdir(target):
        raise folder_exists(target)
    name = os.path.basename(target)
    if "." in name and not name.endswith(_FILE_TYPES):
        problem = f"use a name that ends in {', '.join(_FILE_TYPES)}, or in / for a folder of Parquet"
        raise RowlawError("BAD_OPTION", option="violations", value=target, problem=problem)
    check_place(target.rstrip("/"))
    return target


def check_file(path: str | os.PathLike[str], option: str = "violations") -> None:
    """Raise an error unless the name of a file of violations says which format it shall have."""
    if not os.fspath(path).endswith(_FILE_TYPES):
        problem = f"use a name that ends in {', '.join(_FILE_TYPES)}"
        raise RowlawError("BAD_OPTION", option=option, value=os.fspath(path), problem=problem)


def write_table(table: pa.Table, path: str | os.PathLike[str], option: str = "violations") -> None:
    """Write a table to a file, which appears under its name only when it is complete."""
    check_file(path, option)
    with whole_file(path) as draft, _writer(draft, os.fspath(path), table.schema) as writer:
        for batch in table.to_batches():
            writer.write_batch(batch)


def write(findings: Findings, rules: Sequence[Clashes], path: str | os.PathLike[str], limit: int | None = None) -> int:
    """Write the violations of some rules to a file or folder, which appears under its name only when it is complete.
    Returns their count.

    The columns are the same for one rule and for many: ``rule``, ``s_row``, ``t_row``, and the values of both rows in
    all columns that one of the rules compares; those that a violation's own rule does not compare are null. ``limit``:
    violations of each rule, at most.

    Where workers hold the rows, they write a folder of Parquet, whatever the name, and nothing passes this process. A
    name that ends in ``.csv`` or ``.arrow`` asks for one file: this process writes it, a partition at a time.
    """
    target = check_target(path)
    if not target.endswith((".csv", ".arrow")):
        written = findings.write_folder({clashes.number: clashes.id for clashes in rules}, target, limit)
        if written is not None:
            return written
    if "://" in target:
        problem = "only the spark engine writes there; use --engine spark (engine='spark'), or a path of this machine"
        raise RowlawError("BAD_OPTION", option="violations", value=target, problem=problem)
    columns = sorted({column for clashes in rules for column in clashes.rule.columns})
    schema = pa.schema([pa.field("rule", pa.string()), *findings.schema(columns)])
    batches = _labelled_batches(findings, rules, columns, schema, limit)
    if target.endswith(_FILE_TYPES):
        with whole_file(target) as draft, _writer(draft, target, schema) as writer:
            return _written(writer, batches)
    with whole_folder(target.rstrip("/")) as draft:
        return _write_parts(draft, batches, schema)


def _labelled_batches(
    findings: Findings, rules: Sequence[Clashes], columns: Sequence[str], schema: pa.Schema, limit: int | None
) -> Iterator[pa.RecordBatch]:
    names, by_number = value_names(columns), {clashes.number: clashes for clashes in rules}
    for number, batch in findings.batches(list(by_number), columns, limit):
        shown = {names[operand] for operand in compared(by_number[number].rule)}
        yield _labelled(batch, by_number[number].id, shown, schema)


def _written(writer: Any, batches: Iterator[pa.RecordBatch]) -> int:
    count = 0
    for batch in batches:
        writer.write_batch(batch)
        count += batch.num_rows
    return count


def _write_parts(folder: str, batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> int:
    """Write files ``part-00000.parquet``, ... of bounded size; one of them, without rows, if there are no
    violations."""
    count, part = 0, 0
    batch = next(batches, None)
    while batch is not None or not part:
        with pq.ParquetWriter(os.path.join(folder, f"part-{part:05d}.parquet"), schema, compression="zstd") as writer:
            rows = 0
            while batch is not None and rows < _PART_ROWS:
                writer.write_batch(batch)
                rows += batch.num_rows
                batch = next(batches, None)
        count, part = count + rows, part + 1
    return count


class _CsvWriter:
    """A CSV file in which an id of several columns takes a field for each: ``s_row.a``, ``s_row.b``."""

    def __init__(self, draft: str, schema: pa.Schema) -> None:
        self._writer = pa_csv.CSVWriter(draft, pa.Table.from_batches([], schema).flatten().schema)

    def write_batch(self, batch: pa.RecordBatch) -> None:
        self._writer.write_table(pa.Table.from_batches([batch]).flatten())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._writer.close()


def gathered(findings: Findings, rules: Sequence[Clashes], limit: int) -> pa.Table:
    """The first violations of some rules in one table, up to ``limit`` of each, with the columns of :func:`write`."""
    columns = sorted({column for clashes in rules for column in clashes.rule.columns})
    schema = pa.schema([pa.field("rule", pa.string()), *findings.schema(columns)])
    names = value_names(columns)
    by_number = {clashes.number: clashes for clashes in rules}
    batches = []
    for number, batch in findings.batches(list(by_number), columns, limit) if rules else ():
        shown = {names[operand] for operand in compared(by_number[number].rule)}
        batches.append(_labelled(batch, by_number[number].id, shown, schema))
    return pa.Table.from_batches(batches, schema)


def _writer(draft: str, path: str, schema: pa.Schema) -> Any:
    if path.endswith(".csv"):
        return _CsvWriter(draft, schema)
    if path.endswith(".arrow"):
        return pa.ipc.new_file(draft, schema)
    return pq.ParquetWriter(draft, schema, compression="zstd")


def _labelled(batch: pa.RecordBatch, id: str, shown: set[str], schema: pa.Schema) -> pa.RecordBatch:
    """A batch with the rule's id, and without the values that the rule does not compare."""
    columns = [pa.repeat(pa.scalar(id, pa.string()), batch.num_rows)]
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        columns.append(
            column
            if name in shown or name in (*RESERVED, *NEW_ROWS.values())
            else pa.nulls(batch.num_rows, column.type)
        )
    return pa.record_batch(columns, schema=schema)
