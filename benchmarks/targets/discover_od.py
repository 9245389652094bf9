"""Discovery of order dependencies against Desbordante's Fastod and HyOD as published, tables loaded beforehand on all
sides."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from benchmarks.case import Comparison, Contender, Options
from benchmarks.dependencies import PEER_TIMEOUT, comparison, ours, peer
from benchmarks.tables import shared

BAR = 0.2  # of Fastod's time, where that is over half a second
TABLES = {"iris": None, "abalone": None, "wp": None, "fuel": None, "uce": BAR, "adult": BAR}
UNFINISHED = ("letter", "plista")  # neither Fastod nor HyOD as published finishes them within minutes
GROWTH_SIZES = (100_000, 1_000_000)
GROWTH_COLUMNS = 8
GROWTH_BAR = 14.0
FASTOD_ROWS = 1_000_000  # rows that it takes minutes to load


def CASES(options: Options) -> list[Comparison]:
    """The tables at hand, then growth on the first columns of Tax."""
    at_hand = set(shared.names())
    found = [
        comparison(
            f"order dependencies of {table}", "od", peer("od", bar, table=table), _published(table=table), table=table
        )
        for table, bar in TABLES.items()
        if table in at_hand
    ]
    found += [
        comparison(f"order dependencies of {table}", "od", table=table) for table in UNFINISHED if table in at_hand
    ]
    for rows in options.rows or GROWTH_SIZES:
        tax = {"table": "tax", "rows": rows, "columns": GROWTH_COLUMNS}
        peers = [_published(**tax)] if rows >= FASTOD_ROWS else [peer("od", BAR, **tax), _published(**tax)]
        name = f"order dependencies of {GROWTH_COLUMNS} columns of Tax"
        found.append(comparison(name, "od", *peers, size=rows, growth_bar=GROWTH_BAR, **tax))
    return found


def _published(**job: Any) -> Contender:
    return replace(ours("od", strategy="levels", **job), label="rowlaw, HyOD as published", timeout=PEER_TIMEOUT)
