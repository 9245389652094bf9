"""Discovery of keys against Desbordante's HPIValid, tables loaded beforehand on both sides."""

from __future__ import annotations

from benchmarks.case import Comparison, Options
from benchmarks.dependencies import comparison, peer
from benchmarks.tables import shared

BAR, BAR_ROWS = 1.0, 1_000_000  # of HPIValid's time, on a table of so many rows
LOADED_BAR = 0.5  # reading included, at the largest size
TABLES = ("abalone", "beers_clean", "bridges", "hospital_clean")
GENERATED = {"tax": (100_000, 1_000_000), "lineitem": (1_000_000,), "flights": (336_776,)}
GROWTH_BAR = 14.0


def CASES(options: Options) -> list[Comparison]:
    """The tables at hand, then generated ones, and Tax again with reading."""
    at_hand = set(shared.names())
    found = [
        comparison(f"keys of {table}", "key", peer("key", table=table), table=table)
        for table in TABLES
        if table in at_hand
    ]
    for table, sizes in GENERATED.items():
        for rows in options.rows or sizes:
            against = peer("key", BAR if rows >= BAR_ROWS else None, table=table, rows=rows)
            found.append(
                comparison(f"keys of {table}", "key", against, size=rows, growth_bar=GROWTH_BAR, table=table, rows=rows)
            )
    rows = (options.rows or GENERATED["tax"])[-1]
    last = {"table": "tax", "rows": rows, "load": True}
    return [*found, comparison("read Tax and find keys", "key", peer("key", LOADED_BAR, **last), size=rows, **last)]
