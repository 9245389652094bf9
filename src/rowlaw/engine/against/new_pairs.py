"""Counting violations between few new rows and many old ones: the new rows are sent to where the old rows are.

Old rows that could break a rule together with a new row may be most of a table: a new row with a wrong value breaks a
dependency with all other rows of its group. They are folded in Spark SQL, and each Python task counts the pairs of its
distinct rows with all new rows. The driver receives counts, and a bit for each rule and new row.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from rowlaw.engine.against import there
from rowlaw.engine.local.rows import Found, Part, RowEngine
from rowlaw.engine.spark.looking import in_chunks
from rowlaw.engine.spark.table import SparkTable
from rowlaw.engine.spark.worker import WEIGHT, Batches
from rowlaw.relation.memory import MemoryRelation
from rowlaw.rules.model import Denial, Nulls, Rule
from rowlaw.spark.jobs import Done, DriverThreads, described, settle
from rowlaw.stopping import NEVER, Stop

MOST_NEW_ROWS = 100_000  # new rows that every task gets
RULES_AT_ONCE = 60  # rules of a job: each has a bit of a 64-bit number
SCANS = 12  # of the old table, about: more rules are put together
_JOBS_AT_ONCE = 3  # that run side by side: one leaves cores idle at its end
SCHEMA = "item int, pairs string, involved binary"
_LARGEST_SUM = 2**62


@dataclass(frozen=True, slots=True)
class NewPairs:
    """The violations of some rules in pairs with at least one new row."""

    pairs: list[int]  # for each rule
    involved: np.ndarray  # which new rows take part: shape (rules, new rows), dtype bool


def count_new_pairs(
    old: SparkTable,
    new: SparkTable,
    held: pa.Table,
    rules: Sequence[Rule],
    done: Done | None = None,
    stop: Stop = NEVER,
) -> NewPairs:
    """Count the violations of each rule in pairs with at least one new row. ``held``: the rows of ``new``."""
    counted = _among(held, new.nulls, rules)

    def beside_old_rows(chosen: Sequence[int]) -> list[dict[str, Any]]:
        stop.check()
        some = [rules[i] for i in chosen]
        with described(old.session, f"count violations of {len(some)} rules with new rows", stop=stop):
            rows = there.folded(old, new, held.num_rows, some)
            if rows is None:
                return []
            columns = [name for name in rows.columns if name not in (there.RULES, WEIGHT)]
            beside = new.plain.select(*columns).toArrow()
            denials = tuple(tuple(old.safe(d) for d in rule.denials if d.arity == 2) for rule in some)
            return rows.mapInArrow(NewPairsTask(denials, beside, new.nulls), SCHEMA).toArrow().to_pylist()

    groups = folded_together([rule.columns for rule in rules])
    with ThreadPoolExecutor(_JOBS_AT_ONCE) as pool:
        for finished, (chosen, parts) in enumerate(zip(groups, pool.map(beside_old_rows, groups), strict=True), 1):
            if done is not None:
                done(finished, len(groups))
            for part in parts:
                rule = chosen[part["item"]]
                counted.pairs[rule] += int(part["pairs"])
                counted.involved[rule] |= _flags(part["involved"], held.num_rows)
    return counted


def folded_together(columns: Sequence[Collection[str]]) -> list[list[int]]:
    """Group rules, given by their columns, that are folded together: those whose columns another rule of the group has,
    and of the others so many that the old table is not scanned too often.

    Rules about different columns have few distinct rows each, and very many together: of ten million rows of Tax, seven
    rules took 51 s together and 10 s one by one.

    >>> folded_together([["zip", "city"], ["state", "rate"], ["zip"]])
    [[0, 2], [1]]
    """
    groups: list[tuple[set[str], list[int]]] = []
    for i in sorted(range(len(columns)), key=lambda i: -len(set(columns[i]))):
        own = set(columns[i])
        home = next((group for group in groups if own <= group[0] and len(group[1]) < RULES_AT_ONCE), None)
        if home is None and len(groups) >= SCANS:
            # where it brings fewest columns
            open_ones = [group for group in groups if len(group[1]) < RULES_AT_ONCE]
            home = min(open_ones, key=lambda group: len(own - group[0]), default=None)
        if home is None:
            home = (set(), [])
            groups.append(home)
        home[0].update(own)
        home[1].append(i)
    return sorted(sorted(chosen) for _, chosen in groups)


def _among(held: pa.Table, nulls: Nulls, rules: Sequence[Rule]) -> NewPairs:
    """The violations among the new rows."""
    engine = RowEngine(MemoryRelation.of(held), nulls)
    counts = engine.count(rules)
    involved = np.zeros((len(rules), held.num_rows), bool)
    for flags, count in zip(involved, counts, strict=True):
        flags[count.rows] = True
    return NewPairs([count.pairs for count in counts], involved)


@dataclass(frozen=True)
class NewPairsTask:
    """Counts the violations of each rule between the new rows and weighted old rows of a partition (see
    ``there.folded``)."""

    rules: tuple[tuple[Denial, ...], ...]
    new: pa.Table
    nulls: Nulls

    def __call__(self, batches: Batches) -> Batches:
        settle()
        pairs = [0] * len(self.rules)
        involved = np.zeros((len(self.rules), self.new.num_rows), bool)
        for rows in in_chunks(batches):
            could_break = rows.column(there.RULES).to_numpy()
            weights = rows.column(WEIGHT).to_numpy()
            for i, denials in enumerate(self.rules):
                chosen = np.flatnonzero((could_break >> i) & 1)
                for found in self._found(denials, rows.take(pa.array(chosen))) if len(chosen) else []:
                    is_new = found.rows < self.new.num_rows
                    involved[i, found.rows[is_new]] = True
                    old = chosen[found.rows[~is_new] - self.new.num_rows]
                    pairs[i] += weighted_sum(found.per_row[~is_new], weights[old])
        broken = [i for i, number in enumerate(pairs) if number]
        yield pa.record_batch(
            [
                pa.array(broken, pa.int32()),
                pa.array([str(pairs[i]) for i in broken], pa.string()),
                pa.array([np.packbits(involved[i]).tobytes() for i in broken], pa.binary()),
            ],
            names=["item", "pairs", "involved"],
        )

    def _found(self, denials: Sequence[Denial], old: pa.Table) -> list[Found]:
        """The violations of some denials between the new rows and old ones, which follow them."""
        columns = list(dict.fromkeys(c for denial in denials for c in denial.columns)) or self.new.column_names[:1]
        given = self.new.select(columns)
        relation = MemoryRelation.of(pa.concat_tables([given, old.select(columns).cast(given.schema)]))
        engine = RowEngine(relation, self.nulls, workers=DriverThreads(1))
        new_rows, old_rows = relation.all_rows[: given.num_rows], relation.all_rows[given.num_rows :]
        return [
            found
            for part in (Part(new_rows, old_rows), Part(old_rows, new_rows))
            for found in engine.count(denials, part)
        ]


def weighted_sum(counts: np.ndarray, weights: np.ndarray) -> int:
    """The exact sum of products of counts (dtype int64) and weights (dtype int64).

    >>> weighted_sum(np.array([2**40, 1]), np.array([2**40, 3])) == 2**80 + 3
    True
    """
    if not len(counts):
        return 0
    if int(counts.max()) * int(weights.max()) * len(counts) < _LARGEST_SUM:
        return int(counts @ weights)
    return sum(a * b for a, b in zip(counts.tolist(), weights.tolist(), strict=True))


def _flags(packed: bytes, size: int) -> np.ndarray:
    return np.unpackbits(np.frombuffer(packed, np.uint8), count=size).astype(bool)
