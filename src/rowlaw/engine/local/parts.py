"""Violations found in several disjoint parts of the pairs, such as all pairs with a new row, as one answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from rowlaw.engine.answers import NEW_PAIRS
from rowlaw.engine.local.engine import LocalEngine
from rowlaw.engine.local.findings import LocalFindings
from rowlaw.engine.local.rows import Found
from rowlaw.engine.local.tasks import ALL
from rowlaw.rules.model import Rule, about_single_rows
from rowlaw.spark.jobs import Done

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NOTHING = Found(0, np.zeros(0, np.int32), np.zeros(0, np.int64))


@dataclass(frozen=True)
class LocalParts(LocalFindings):
    """The violations with at least one new row. ``found`` has the sums over all parts, ``pieces`` what was found in
    each of them."""

    pieces: tuple[LocalFindings, ...] = ()
    new_from: int = 0  # position of the first new row

    @staticmethod
    def of(engine: LocalEngine, rules: Sequence[Rule], done: Done | None = None) -> LocalParts:
        """Count the violations of each rule in pairs with at least one new row."""
        assert engine.new_from is not None
        pieces = []
        for number, sides in enumerate(NEW_PAIRS):
            # a rule about single rows is about the new rows: they are the s of the first part
            asked = [i for i, rule in enumerate(rules) if number == 0 or not about_single_rows(rule)]
            piece = engine.check([rules[i] for i in asked], sides, done=done)
            counts = [NOTHING] * len(rules)
            for i, some in zip(asked, piece.found, strict=True):
                counts[i] = some
            pieces.append(LocalFindings(engine, tuple(rules), piece.part, counts))
        sums = [_sum([piece.found[i] for piece in pieces]) for i in range(len(rules))]
        return LocalParts(engine, tuple(rules), ALL, sums, tuple(pieces), engine.new_from)

    def batches(
        self, rules: Sequence[int], columns: Sequence[str], limit: int | None = None
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        left: dict[int, int | None] = dict.fromkeys(rules, limit)
        for piece in self.pieces:
            for rule, batch in piece.batches(rules, columns, limit):
                rest = left[rule]
                some = batch if rest is None else batch.slice(0, rest)
                left[rule] = None if rest is None else rest - some.num_rows
                if some.num_rows:
                    yield rule, some

    def groups(self, rule: int) -> Iterator[pa.RecordBatch]:
        for piece in self._pieces_of(rule):
            yield from piece.groups(rule)

    def violations(self, rule: int, id: str, session: SparkSession | None = None) -> DataFrame:
        return reduce(lambda a, b: a.union(b), [piece.violations(rule, id, session) for piece in self._pieces_of(rule)])

    def _pieces_of(self, rule: int) -> tuple[LocalFindings, ...]:
        return self.pieces[:1] if about_single_rows(self.checked[rule]) else self.pieces

    def _partners(self, rule: int, row: int) -> list[tuple[int, int]]:
        return [(s, t) for s, t in self.engine.partners(self.checked[rule], row) if max(s, t) >= self.new_from]


def _sum(parts: Sequence[Found]) -> Found:
    """The violations of all parts together: a row may take part in several."""
    rows, place = np.unique(np.concatenate([part.rows for part in parts]), return_inverse=True)
    per_row = np.zeros(len(rows), np.int64)
    np.add.at(per_row, place, np.concatenate([part.per_row for part in parts]))
    return Found(sum(part.pairs for part in parts), rows.astype(np.int32), per_row)
