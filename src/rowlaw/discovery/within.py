"""Comparisons of two columns that every row obeys: ``not (s.low > s.high)``.

Predicates about single rows are no part of the predicate space unless they are asked for: they make it much larger. But
that no row has ``low`` above ``high`` is the law that people know, and what pairs of rows say about the two columns
only restates it. So a default run tries these laws by themselves: on some rows first, then on all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np
import pyarrow as pa

from rowlaw.engine.protocol import DiscoveryEngine
from rowlaw.predicates.space import ORDERED_TYPES, SpaceOptions
from rowlaw.rules.model import Column, Denial, Op, Predicate
from rowlaw.source.row_ids import naming_only
from rowlaw.stopping import Stop, Stopped

_SOME_ROWS = 2_000  # on which the laws are tried first
# share and number of rows that would break a law if the columns had nothing to do with each other
BY_CHANCE, ROWS_BY_CHANCE = 0.05, 10.0
_ASKED = 60  # laws that are tried on all rows, those that most rows would break by chance


@dataclass(frozen=True, slots=True)
class _Likely:
    """No row of the sample has a ``low`` above its ``high``; ``strict``: nor one that equals it. ``chance``: how many
    pairs of rows do."""

    low: str
    high: str
    strict: bool
    chance: float

    @property
    def denial(self) -> Denial:
        return self.denying(Op.GE if self.strict else Op.GT)

    def denying(self, op: Op) -> Denial:
        return Denial.canonical((Predicate(Column("s", self.low), op, Column("s", self.high)),))


def within_rows(engine: DiscoveryEngine, options: SpaceOptions, *, stop: Stop) -> list[Denial]:
    """The comparisons of two columns by order that hold in every row, and that enough rows would break by chance; none
    that follows from two others. Nothing if columns are not to be compared, or when time is up."""
    if not options.cross or options.single_row or options.predicates is not None or engine.rows < 2:
        return []
    statistics = engine.statistics
    left_out = {*naming_only(statistics.row_id), *options.operators}
    types = {
        c.name: c.type
        for c in statistics.columns
        if c.type in ORDERED_TYPES and c.distinct > 1 and c.name not in left_out
    }
    likely = sorted(_likely(engine, types), key=lambda law: -law.chance)[:_ASKED]
    try:
        held = _hold(engine, likely, stop)
    except Stopped:
        return []
    whole = {c.name for c in statistics.columns if not c.nulls}
    return [law.denial for law in held if not _follows(law, held, whole)]


def _hold(engine: DiscoveryEngine, likely: Sequence[_Likely], stop: Stop) -> list[_Likely]:
    """The laws that hold in all rows, each as strict as it is there."""
    strict = [law for law in likely if law.strict]
    counts = engine.counts([law.denial for law in strict], stop=stop)
    hold = [law for law, count in zip(strict, counts, strict=True) if not count]
    known = {(law.low, law.high) for law in hold}
    weaker = [_Likely(law.low, law.high, False, law.chance) for law in likely if (law.low, law.high) not in known]
    counts = engine.counts([law.denial for law in weaker], stop=stop)
    return hold + [law for law, count in zip(weaker, counts, strict=True) if not count]


def _likely(engine: DiscoveryEngine, types: Mapping[str, str]) -> list[_Likely]:
    """The comparisons that hold in some rows, and that chance would have some rows of the table break."""
    columns = engine.some_rows(_SOME_ROWS, list(types)).columns[1:]
    values = {name: _numbers(column) for name, column in zip(types, columns, strict=True)}
    ordered = {name: np.sort(column[~np.isnan(column)]) for name, column in values.items()}
    likely = []
    for low, high in permutations(types, 2):
        if types[low] != types[high] or not len(ordered[low]) or not len(ordered[high]):
            continue
        if (values[low] > values[high]).any():  # never true of null
            continue
        above = len(ordered[low]) - np.searchsorted(ordered[low], ordered[high], side="right")
        chance = float(above.mean() / len(ordered[low]))
        together = float(np.mean(~np.isnan(values[low]) & ~np.isnan(values[high])))
        if chance >= BY_CHANCE and chance * together * engine.rows >= ROWS_BY_CHANCE:
            likely.append(_Likely(low, high, not (values[low] == values[high]).any(), chance))
    return likely


def _numbers(column: pa.ChunkedArray) -> np.ndarray:
    """Values as numbers of the same order, about: NaN for null. All rows are asked about exactly later."""
    if pa.types.is_date(column.type) or pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us", getattr(column.type, "tz", None))).cast(pa.int64())
    return np.array([np.nan if value is None else float(value) for value in column.to_pylist()], np.float64)


def _follows(law: _Likely, others: Sequence[_Likely], whole: set[str]) -> bool:
    """Whether two other laws imply one: by a column between its two that is never null."""
    by_columns = {(other.low, other.high): other for other in others}
    for name in whole - {law.low, law.high}:
        first, second = by_columns.get((law.low, name)), by_columns.get((name, law.high))
        if (
            first
            and second
            and (first.strict or second.strict or not law.strict)
            and not _same(first, second, by_columns)
        ):
            return True
    return False


def _same(first: _Likely, second: _Likely, laws: dict[tuple[str, str], _Likely]) -> bool:
    """Whether the column between equals one of the others in every row: then each law would follow from another."""
    return (first.high, first.low) in laws or (second.high, second.low) in laws
