"""Violations found on Spark in several disjoint parts of the pairs, such as all pairs with a new row, as one answer."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import TYPE_CHECKING

import pyarrow as pa

from rowlaw.engine.answers import NEW_PAIRS
from rowlaw.engine.spark.count import Counting
from rowlaw.engine.spark.engine import SparkEngine
from rowlaw.engine.spark.findings import SparkCount, SparkFindings
from rowlaw.engine.spark.plan import PAIRS
from rowlaw.engine.spark.planning import planned
from rowlaw.engine.spark.table import ROW
from rowlaw.rules.model import Rule, about_single_rows
from rowlaw.spark.jobs import Done

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class SparkParts(SparkFindings):
    """The violations with at least one new row; ``pieces`` are what was found in each part of the pairs."""

    pieces: tuple[SparkFindings, ...] = ()

    @staticmethod
    def of(engine: SparkEngine, rules: Sequence[Rule], done: Done | None = None) -> SparkParts:
        """Count the violations of each rule in pairs with at least one new row."""
        whole = engine._view(rules)
        pieces = []
        for number, sides in enumerate(NEW_PAIRS):
            view = replace(whole, sides=sides)
            # a rule about single rows is about the new rows: they are the s of the first part
            asked = {i for i, rule in enumerate(rules) if number == 0 or not about_single_rows(rule)}
            parts = [part for part in planned(view, rules) if part.rule in asked]
            pieces.append(SparkFindings(view, tuple(rules), Counting(view, engine.table.plain).run(parts, done)))
        return SparkParts(whole, tuple(rules), {}, pieces=tuple(pieces))

    @cached_property
    def counts(self) -> tuple[SparkCount, ...]:
        return tuple(
            SparkCount(self, rule, sum(p.counts[rule].pairs for p in self.pieces), None)
            for rule in range(len(self.checked))
        )

    def involved(self, rule: int) -> DataFrame:
        from pyspark.sql import functions as f

        if rule not in self._involved:
            together = reduce(
                lambda a, b: a.unionByName(b), [p.involved(rule).select(ROW, PAIRS) for p in self._pieces_of(rule)]
            )
            self._involved[rule] = self.view.table.keeper.cache(together.groupBy(ROW).agg(f.sum(PAIRS).alias(PAIRS)))
        return self._involved[rule]

    def held(self, rule: int) -> None:
        """The rows that take part do not say which of their pairs have a new row."""

    def first(self, rule: int, limit: int, each: int | None = None) -> pa.Table:
        """Violations of each part, those of the rows in most violations first; a pair that is broken both ways in one
        direction."""
        listed = pa.concat_tables([piece.first(rule, limit, each) for piece in self._pieces_of(rule)])
        chosen: dict[frozenset[object], int] = {}
        if about_single_rows(self.checked[rule]):
            return listed.slice(0, limit)
        for place, (s, t) in enumerate(
            zip(listed.column("s_row").to_pylist(), listed.column("t_row").to_pylist(), strict=True)
        ):
            chosen.setdefault(frozenset((s, t)), place)
        return listed.take(pa.array(list(chosen.values())[:limit], pa.int64()))

    def violations(self, rule: int, id: str, session: SparkSession | None = None) -> DataFrame:
        return reduce(
            lambda a, b: a.unionByName(b), [piece.violations(rule, id, session) for piece in self._pieces_of(rule)]
        )

    def _all_pairs(
        self, rule: int | None, columns: Sequence[str], shown: Collection[tuple[str, str]] | None = None
    ) -> DataFrame:
        pieces = self.pieces[:1] if rule is None else self._pieces_of(rule)
        return reduce(lambda a, b: a.unionByName(b), [piece._all_pairs(rule, columns, shown) for piece in pieces])

    def _pieces_of(self, rule: int) -> tuple[SparkFindings, ...]:
        return self.pieces[:1] if about_single_rows(self.checked[rule]) else self.pieces

    def close(self) -> None:
        for piece in self.pieces:
            piece._involved.clear()
        super().close()
