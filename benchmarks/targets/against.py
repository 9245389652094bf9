"""Checking 10,000 new rows against a large old table, beside checking all rows together; both on Spark, in one warm
session.

The seven planted rules of Tax. New and old rows are people of one world, a thousandth of the old ones breaks each rule.
The old table is read from Parquet files in every call. What is found differs, since violations among old rows count for
one side only: that ours is exact is a matter of tests.

    python -m benchmarks against --rows 10M,50M --timeout 3600
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pyarrow.parquet as pq

from benchmarks.case import OURS, Comparison, Contender, Options
from benchmarks.tables import cached, tax, tax_money
from benchmarks.targets.spark import WARM_ROWS, OnSpark

SIZES = (10_000_000, 50_000_000)
ROW_SECONDS = 3e-5  # of a timed call that checks all rows, at most
NEW_ROWS, NEW_ERRORS = 10_000, 10
NEW_BLOCK = 4_000  # of people that no old table has: one of 262 million rows ends before it
WHOLE_BAR = 0.1
GROWTH_BAR = 4.8  # for ten times the rows, which is 3 for five times


class Against(OnSpark):
    """``rowlaw.check`` of the new rows, a file, against a Spark DataFrame."""

    def __init__(self, rows: int) -> None:
        super().__init__(rows, tax.RULES)

    def ask(self, rows: int) -> dict[str, int]:
        import rowlaw

        old = self.session.read.parquet(str(tax_money.cached(rows)[0]))
        result = rowlaw.check(str(_new_rows()), self.rules, against=old, session=self.session, progress=False)
        counts = dict(result.counts)
        result.close()
        return counts


class Everything(OnSpark):
    """``rowlaw.check`` of the old and new rows as one DataFrame."""

    def __init__(self, rows: int) -> None:
        super().__init__(rows, tax.RULES)

    def ask(self, rows: int) -> None:
        import rowlaw

        old = self.session.read.parquet(str(tax_money.cached(rows)[0])).drop(*tax_money.MORE.names)
        both = old.unionByName(self.session.read.parquet(str(_new_rows())))
        result = rowlaw.check(both, self.rules, engine="spark", progress=False)
        assert len(result.counts) == len(self.rules)
        result.close()


def CASES(options: Options) -> list[Comparison]:
    """Sizes that a call would not finish only on request."""
    affordable = [rows for rows in SIZES if rows * ROW_SECONDS <= options.timeout]
    return [_seven_rules(rows) for rows in options.rows or affordable]


def _seven_rules(rows: int) -> Comparison:
    return Comparison(
        name="10,000 new rows against an old table",
        size=rows,
        ours=Contender(OURS, f"{__name__}:Against", {"rows": rows}),
        peers=(Contender(f"{OURS}, all rows", f"{__name__}:Everything", {"rows": rows}, WHOLE_BAR),),
        make=partial(_make, rows),
        growth_bar=GROWTH_BAR,
        together=True,
    )


def _new_rows() -> Path:
    return cached(
        f"tax-later-{NEW_ROWS}-{NEW_BLOCK}-{NEW_ERRORS}.parquet",
        lambda draft: pq.write_table(tax.later(NEW_ROWS, NEW_BLOCK, errors=NEW_ERRORS), draft),
    )


def _make(rows: int) -> None:
    _new_rows()
    for number in (WARM_ROWS, rows):
        tax_money.cached(number)
