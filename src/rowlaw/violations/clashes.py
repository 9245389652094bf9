"""The violations of one rule as tables: the two rows, and the values that clash side by side."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from rowlaw.engine.answers import NEW_ROWS, RESERVED, compared, row_columns, value_names
from rowlaw.engine.protocol import Findings
from rowlaw.errors import RowlawError
from rowlaw.output import whole_file
from rowlaw.rules.model import Rule, about_single_rows

FILE_TYPES = (".parquet", ".csv", ".arrow")  # endings of a file of violations


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
        """The columns of a table of violations: the rows, whether they are new where there are two tables, and the values compared."""
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
        return [list(row.values()) for row in first.to_pylist()]

    def new(self, limit: int) -> list[list[bool]]:
        """Which of the rows of :meth:`sample` are new ones, in a check against an old table."""
        first = self.findings.first(self.number, limit).select(self._flags)
        return [list(row.values()) for row in first.to_pylist()]

    def batches(self) -> Iterator[pa.RecordBatch]:
        """All violations, one batch at a time."""
        for _, batch in self.findings.batches([self.number], self.rule.columns):
            yield batch.select(self.columns)


def check_file(path: str | os.PathLike[str]) -> None:
    """Raise an error unless the name of a file of violations says which format it shall have."""
    if not os.fspath(path).endswith(FILE_TYPES):
        problem = f"use a name that ends in {', '.join(FILE_TYPES)}"
        raise RowlawError("BAD_OPTION", option="violations", value=os.fspath(path), problem=problem)


def write(findings: Findings, rules: Sequence[Clashes], path: str | os.PathLike[str], limit: int | None = None) -> int:
    """Write the violations of some rules to a file, which appears under its name only when it is complete. Returns their count.

    The columns are the same for one rule and for many: ``rule``, ``s_row``, ``t_row``, and the values of both rows in all columns that
    one of the rules compares; those that a violation's own rule does not compare are null. ``limit``: violations of each rule, at most.
    """
    check_file(path)
    columns = sorted({column for clashes in rules for column in clashes.rule.columns})
    schema = pa.schema([pa.field("rule", pa.string()), *findings.schema(columns)])
    written, names = 0, value_names(columns)
    with whole_file(path) as draft, _writer(draft, os.fspath(path), schema) as writer:
        by_number = {clashes.number: clashes for clashes in rules}
        for number, batch in findings.batches(list(by_number), columns, limit):
            clashes = by_number[number]
            shown = {names[operand] for operand in compared(clashes.rule)}
            writer.write_batch(_labelled(batch, clashes.id, shown, schema))
            written += batch.num_rows
    return written


def _writer(draft: str, path: str, schema: pa.Schema) -> Any:
    if path.endswith(".csv"):
        return pa_csv.CSVWriter(draft, schema)
    if path.endswith(".arrow"):
        return pa.ipc.new_file(draft, schema)
    return pq.ParquetWriter(draft, schema, compression="zstd")


def _labelled(batch: pa.RecordBatch, id: str, shown: set[str], schema: pa.Schema) -> pa.RecordBatch:
    """A batch with the rule's id, and without the values that the rule does not compare."""
    columns = [pa.repeat(pa.scalar(id, pa.string()), batch.num_rows)]
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        columns.append(column if name in shown or name in (*RESERVED, *NEW_ROWS.values()) else pa.nulls(batch.num_rows, column.type))
    return pa.record_batch(columns, schema=schema)
