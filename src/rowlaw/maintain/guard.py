"""Rules at the door: rows of a batch that would break them are kept out."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from rowlaw.engine.local.later import clashing_rows, later_rows
from rowlaw.engine.local.rows import RowEngine
from rowlaw.rules import RuleSet, bind
from rowlaw.rules.model import Rule
from rowlaw.storage.batch import Batch
from rowlaw.storage.table import GrowingTable


def offenders(table: GrowingTable, inserted: np.ndarray, rules: RuleSet) -> np.ndarray:
    """Of rows that a table has just taken in, those that have to go so that the new rows break no rule; as places in
    ``inserted``.

    A new row that clashes with an old one goes. Of two new rows that clash the later one goes.
    """
    bound: list[Rule] = [bind(named.origin or named.rule, table.types, table.skipped) for named in rules]
    relation = table.relation()
    engine = RowEngine(relation, rules.nulls)
    new = np.searchsorted(relation.table_rows, inserted).astype(np.int32)
    old = np.setdiff1d(np.arange(relation.rows, dtype=np.int32), new)
    clashing = clashing_rows(engine, new, old, bound)
    gone = np.union1d(clashing, later_rows(engine, np.setdiff1d(new, clashing), bound))
    return np.flatnonzero(np.isin(new, gone))


def guarded(trial: GrowingTable, coming: Batch, going: Batch | None, rules: RuleSet) -> tuple[Batch, pa.Table]:
    """The rows that may come in, and those that may not: found by taking all of them into a copy of the table."""
    inserted = trial.take(coming, going).inserted
    bad = offenders(trial, inserted, rules) if coming.rows else np.zeros(0, np.int64)
    good = np.setdiff1d(np.arange(coming.rows), bad)
    return (coming.part(good) if len(bad) else coming), trial.decode(inserted[bad])
