"""Discovery of functional dependencies against Desbordante's HyFD (two threads), tables loaded beforehand on both
sides."""

from __future__ import annotations

from benchmarks.case import Comparison, Options
from benchmarks.dependencies import comparison, peer
from benchmarks.tables import shared

BAR = 1.0  # of HyFD's time, where that is over a second
LOADED_BAR = 0.5  # reading included, at the largest size
TABLES = ("abalone", "adult", "letter", "uce", "hospital_clean", "bridges", "plista")
GROWTH_SIZES = (100_000, 1_000_000)
GROWTH_BAR = 14.0


def CASES(options: Options) -> list[Comparison]:
    """The tables at hand, then growth on Tax, and the largest again with reading."""
    at_hand = set(shared.names())
    found = [
        comparison(f"functional dependencies of {table}", "fd", peer("fd", BAR, table=table), table=table)
        for table in TABLES
        if table in at_hand
    ]
    for rows in options.rows or GROWTH_SIZES:
        tax = {"table": "tax", "rows": rows}
        found.append(
            comparison(
                "functional dependencies of Tax", "fd", peer("fd", BAR, **tax), size=rows, growth_bar=GROWTH_BAR, **tax
            )
        )
    last = {**tax, "load": True}
    return [
        *found,
        comparison(
            "read Tax and find functional dependencies", "fd", peer("fd", LOADED_BAR, **last), size=rows, **last
        ),
    ]
