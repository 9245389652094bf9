"""``rowlaw.repair``: cells that are probably wrong, and what they should be, as a table. Nothing is ever written into
the source."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from rowlaw.discovery.dirty import learnt
from rowlaw.engine.open import open_local
from rowlaw.progress import Progress
from rowlaw.rules import Nulls, RuleSet
from rowlaw.rules.wording import counted
from rowlaw.source import open_source
from rowlaw.source.row_ids import RowId
from rowlaw.violations.check import rule_set
from rowlaw.violations.check import run as check_run
from rowlaw.violations.clashes import write_table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CONFIDENCE = 0.6  # below which no value is suggested: one law against a cell and none for it is 0.67


@dataclass(frozen=True)
class Repairs:
    """Suggestions for a table: ``cells`` has a row for each suspect cell, the surest first, and ``rules`` are the laws
    behind them.

    Columns of ``cells``: ``row``, ``column``, ``value``, ``suggestion`` (null where the laws do not agree enough),
    ``confidence``, ``against`` and ``backing`` (numbers of laws).
    """

    cells: pa.Table
    rules: RuleSet
    rows: int

    def __len__(self) -> int:
        return self.cells.num_rows  # type: ignore[no-any-return]

    @property
    def suggested(self) -> int:
        """Count of cells for which a value is suggested."""
        return sum(confidence >= CONFIDENCE for confidence in self.cells["confidence"].to_pylist())

    def __repr__(self) -> str:
        suspects = (
            f"{counted(len(self), 'suspect cell') if len(self) else 'no suspect cells'} in {counted(self.rows, 'row')}"
        )
        suggested = f", {self.suggested:,} with a suggestion" if len(self) else ""
        return f"Repairs: {suspects}{suggested}, by {counted(len(self.rules), 'law')}"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the cells to a file ending in .parquet, .csv or .arrow."""
        write_table(self.cells, path, option="out")


def repair(
    table: Any,
    rules: Any = None,
    *,
    nulls: Nulls | None = None,
    row_id: RowId = None,
    columns: Sequence[str] | None = None,
    types: Mapping[str, str] | None = None,
    limit: int | None = None,
    seed: int = 0,
    session: SparkSession | None = None,
    progress: bool = True,
    **reading: Any,
) -> Repairs:
    """Find cells that are probably wrong, and suggest values for them.

    Parameters
    ----------
    table, row_id, columns, types, reading
        As in :func:`rowlaw.check`.
    rules
        The functional dependencies to judge by, as in :func:`rowlaw.check`. By default they are learnt from the table
        itself.
    nulls
        ``"equal"`` by default, or what the rules say: a missing value is a value that can be wrong.
    limit
        Only so many cells, the surest.

    A cell is suspect if more laws contradict it than confirm it. Its ``confidence`` is the share of the laws that
    contradict it, counting one more on either side, so that one law alone is not sure. Where it is below 0.6 nothing is
    suggested.

    Examples
    --------
    >>> cities = ["Hoboken", "Hobken", "Hoboken", "Hoboken", *["Chicago"] * 4, *["New York"] * 4]
    >>> table = pa.table({"zip": [1] * 4 + [2] * 4 + [3] * 4, "city": cities})
    >>> repair(table, "fd (zip) -> city", progress=False).cells.to_pylist()[0]["suggestion"]
    'Hoboken'
    """
    shown = Progress(quiet=not progress)
    given = rule_set(rules, nulls) if rules is not None else None
    source = open_source(table, columns=columns, types=types, session=session, **reading)
    with shown.phase("read"):
        engine = open_local(
            source, nulls or (given.nulls if given is not None else "equal"), row_id=row_id, session=session
        )
    try:
        if given is None:
            with shown.phase("learn"):
                given = learnt(engine, seed=seed)
        result = check_run(engine, given, shown)
        return Repairs(_suggestions(result.suspects(limit)), given, engine.rows)
    finally:
        engine.close()


def _suggestions(suspects: pa.Table) -> pa.Table:
    sure = pc.greater_equal(suspects["confidence"], CONFIDENCE)
    suggestion = pc.if_else(sure, suspects["usual"], pa.scalar(None, pa.string()))
    names = ["row", "column", "value", "suggestion", "confidence", "against", "backing"]
    return suspects.append_column("suggestion", suggestion).select(names)
