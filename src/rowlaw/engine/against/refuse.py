"""New rows that have to stay out of an old table, so that the rows that come in break no rule: :func:`refused`.

A new row that breaks a rule by itself, or together with an old row, stays out. Of two new rows that break one together,
the later one does. So the outcome is as if the rows came one after the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from rowlaw.engine.against.engine import AgainstEngine, Both
from rowlaw.engine.answers import value_names
from rowlaw.engine.local.engine import LocalEngine
from rowlaw.engine.local.later import later_rows
from rowlaw.engine.local.parts import LocalParts
from rowlaw.engine.local.rows import Found, Part, RowEngine
from rowlaw.engine.spark.parts import SparkParts
from rowlaw.relation.memory import MemoryRelation
from rowlaw.rules.model import Rule, about_single_rows

PARTNERS = 3  # rows named for each refused row and rule
FIRST_LIST = 100_000  # violations listed in the first search for partners


@dataclass(frozen=True)
class Refused:
    """The new rows that stay out.

    ``broken``: for each of them, by its position, the indexes of the rules that it breaks together with the old rows
    and the new rows that come in. ``partners``: up to three such rows for each of these rules: ``row``, ``rule``,
    ``new`` (whether the partner is a new row) and the partner's ``values``.
    """

    broken: dict[int, list[int]]
    partners: pa.Table


def refused(engine: AgainstEngine, rules: Sequence[Rule]) -> Refused:
    """Decide which new rows stay out. The new rows are in memory; the old table may have any size."""
    both = engine._both(rules, named=False)
    findings = both.findings(rules)
    try:
        among = RowEngine(MemoryRelation.of(engine.new.held), engine.nulls)
        deciding = _Deciding(rules, both, findings, among, among.count(rules))
        return deciding.result(list(engine.new.schema.names))
    finally:
        findings.close()
        both.engine.close()


@dataclass(frozen=True)
class _Deciding:
    """``among`` are the new rows alone, ``own`` their violations among themselves; in ``both`` they follow the old rows
    that matter."""

    rules: Sequence[Rule]
    both: Both
    findings: LocalParts | SparkParts
    among: RowEngine
    own: Sequence[Found]

    def result(self, columns: list[str]) -> Refused:
        with_old = self._with_old()
        stays_out: np.ndarray = np.logical_or.reduce(with_old, axis=0)
        rest = np.flatnonzero(~stays_out).astype(np.int32)
        stays_out[later_rows(self.among, rest, self.rules)] = True
        outside, inside = (np.flatnonzero(flags).astype(np.int32) for flags in (stays_out, ~stays_out))
        with_new = self._with_new(outside, inside)
        broken = {row: np.flatnonzero(with_old[:, row] | with_new[:, row]).tolist() for row in outside.tolist()}
        partners = [_no_partners(self.among, columns)]
        for i, rule in enumerate(self.rules):
            if about_single_rows(rule):
                continue
            partners += self._old_partners(i, np.flatnonzero(with_old[i]).astype(np.int32), columns)
            chosen = outside[with_new[i, outside]]
            partners.append(_listed(self.among, rule, i, chosen, inside, columns, new=True))
        return Refused(broken, _first(pa.concat_tables(partners)))

    def _with_old(self) -> np.ndarray:
        """Which new rows break which rules together with old rows: shape (rules, new rows), dtype bool.

        A row does if it is in more violations than among the new rows alone: nothing has to be listed.
        """
        flags = np.zeros((len(self.rules), self.among.relation.rows), bool)
        for i, own in enumerate(self.own):
            pairs = np.zeros(flags.shape[1], np.int64)
            for rows, counts in self._involved(i):
                pairs[rows] += counts
            pairs[own.rows] -= own.per_row
            flags[i] = pairs > 0
        return flags

    def _involved(self, rule: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """The new rows in violations of a rule, and the count of violations of each."""
        first = self.both.names.old_rows
        if isinstance(self.findings, LocalParts):
            count = self.findings.found[rule]
            new = count.rows >= first
            yield count.rows[new] - first, count.per_row[new]
        elif self.findings.counts[rule].pairs:
            held = self.findings.involved(rule).where(f"row >= {first}").select("row", "pairs").toArrow()
            yield held.column("row").to_numpy() - first, held.column("pairs").to_numpy()

    def _with_new(self, outside: np.ndarray, inside: np.ndarray) -> np.ndarray:
        """Which new rows that stay out break which rules by themselves, or together with new rows that come in."""
        flags = np.zeros((len(self.rules), self.among.relation.rows), bool)
        pairs = [i for i, rule in enumerate(self.rules) if not about_single_rows(rule)]
        for i in set(range(len(self.rules))).difference(pairs):
            flags[i, self.own[i].rows] = True
        for part in (Part(outside, inside), Part(inside, outside)) if len(outside) and len(inside) else ():
            for i, count in zip(pairs, self.among.count([self.rules[i] for i in pairs], part), strict=True):
                flags[i, count.rows] = True
        flags[:, inside] = False
        return flags

    def _old_partners(self, i: int, rows: np.ndarray, columns: list[str]) -> Iterator[pa.Table]:
        first, engine = self.both.names.old_rows, self.both.engine
        if not len(rows):
            return
        if isinstance(engine, LocalEngine):
            old = engine.relation.all_rows[:first]
            yield _listed(engine, self.rules[i], i, rows + np.int32(first), old, columns, new=False, first=first)
        else:
            assert isinstance(self.findings, SparkParts)
            yield _listed_on_spark(
                self.findings, i, rows + first, first, columns, _no_partners(self.among, columns).schema
            )


def _listed(
    engine: RowEngine,
    rule: Rule,
    number: int,
    rows: np.ndarray,
    others: np.ndarray,
    columns: list[str],
    *,
    new: bool,
    first: int = 0,
) -> pa.Table:
    """Up to three partners of each row among ``others``, where each has one. ``first``: the position of the first new
    row."""
    chosen: dict[int, dict[int, None]] = {}
    left, limit = rows, max(FIRST_LIST, PARTNERS * len(rows))
    while len(left) and len(others):
        for part, mine in ((Part(left, others), 0), (Part(others, left), 1)):
            for batch in engine.pairs(rule, part, limit=limit):
                for own, other in _few_each(batch[mine], batch[1 - mine]):
                    chosen.setdefault(own, {})[other] = None
        # where one row has more violations than the limit, the others come in the next turn
        left, limit = np.array([row for row in left.tolist() if row not in chosen], np.int32), 4 * limit
    pairs = [(own, other) for own, partners in sorted(chosen.items()) for other in partners]
    owns, partners = (np.array([pair[side] for pair in pairs], np.int64) for side in (0, 1))
    values = engine.relation.decode(partners.astype(np.int32), columns)
    return _partner_table(owns - first, number, new, values)


def _few_each(own: np.ndarray, other: np.ndarray) -> Iterator[tuple[int, int]]:
    """The first few pairs of each own row."""
    order = np.argsort(own, kind="stable")
    own, other = own[order], other[order]
    starts = np.flatnonzero(np.r_[True, own[1:] != own[:-1]]) if len(own) else np.zeros(0, np.int64)
    rank = np.arange(len(own)) - np.repeat(starts, np.diff(np.r_[starts, len(own)]))
    few = rank < PARTNERS
    return zip(own[few].tolist(), other[few].tolist(), strict=True)


def _listed_on_spark(
    findings: SparkParts, i: int, rows: np.ndarray, first: int, columns: list[str], schema: pa.Schema
) -> pa.Table:
    """The same where the old rows are too many for this process: Spark lists the pairs and keeps a few of each row."""
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    pairs = findings._all_pairs(i, columns)
    names = value_names(columns)
    sides = []
    for own, other in (("s", "t"), ("t", "s")):
        values = [f.col(f"`{names[other, column]}`").alias(f"v{place}") for place, column in enumerate(columns)]
        mine = pairs.where((f.col(f"{own}_row") >= first) & (f.col(f"{other}_row") < first))
        sides.append(mine.select(f.col(f"{own}_row").alias("own"), f.col(f"{other}_row").alias("other"), *values))
    wanted = sides[0].union(sides[1]).where(f.col("own").isin(rows.tolist())).dropDuplicates(["own", "other"])
    ranked = wanted.withColumn("rank", f.row_number().over(Window.partitionBy("own").orderBy("other")))
    with findings.job(f"rows that clash by {findings.checked[i]}"):
        held = ranked.where(f.col("rank") <= PARTNERS).drop("rank").orderBy("own", "other").toArrow()
    kinds = schema.field("values").type
    taken = [held.column(f"v{place}").cast(kinds.field(place).type) for place in range(len(columns))]
    return _partner_table(held.column("own").to_numpy() - first, i, False, pa.table(taken, names=columns))


def _partner_table(rows: np.ndarray, rule: int, new: bool, values: pa.Table) -> pa.Table:
    fields = [column.combine_chunks() for column in values.columns]
    packed = pa.StructArray.from_arrays(fields, names=values.column_names)
    size = len(rows)
    flags = pa.array([new] * size, pa.bool_())
    return pa.table(
        {"row": pa.array(rows, pa.int64()), "rule": pa.array([rule] * size, pa.int32()), "new": flags, "values": packed}
    )


def _no_partners(engine: RowEngine, columns: list[str]) -> pa.Table:
    return _partner_table(np.zeros(0, np.int64), 0, False, engine.relation.decode(np.zeros(0, np.int32), columns))


def _first(partners: pa.Table) -> pa.Table:
    """A few partners of each row and rule: old ones first."""
    ordered = partners.sort_by([("row", "ascending"), ("rule", "ascending"), ("new", "ascending")])
    kept, seen, last = [], 0, None
    for place, key in enumerate(
        zip(ordered.column("row").to_pylist(), ordered.column("rule").to_pylist(), strict=True)
    ):
        seen, last = (seen + 1, key) if key == last else (1, key)
        if seen <= PARTNERS:
            kept.append(place)
    return ordered.take(pa.array(kept, pa.int64()))
