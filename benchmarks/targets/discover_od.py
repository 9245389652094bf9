"""Discovery of order dependencies against Desbordante's Fastod and HyOD as published, tables loaded beforehand on all sides."""

from __future__ import annotations

from functools import partial

from benchmarks.case import Comparison, Contender, Options
from benchmarks.dependencies import __name__ as cases
from benchmarks.dependencies import coded
from benchmarks.tables import shared

BAR = 0.2  # of Fastod's time, where that is over half a second
TABLES = {"iris": None, "abalone": None, "wp": None, "fuel": None, "uce": BAR, "adult": BAR}
UNFINISHED = ("letter", "plista")  # neither Fastod nor HyOD as published finishes them within minutes
GROWTH_SIZES = (100_000, 1_000_000)
GROWTH_COLUMNS = 8
GROWTH_BAR = 14.0
PEER_TIMEOUT = 300.0  # seconds
FASTOD_ROWS = 1_000_000  # rows that it takes minutes to load


def CASES(options: Options) -> list[Comparison]:  # noqa: N802 (the runner looks for this name in every target)
    """The tables at hand, then growth on the first columns of Tax."""
    at_hand = set(shared.names())
    found = [_comparison(f"order dependencies of {name}", {"table": name}, bar=bar) for name, bar in TABLES.items() if name in at_hand]
    found += [
        Comparison(
            name=f"order dependencies of {name}",
            ours=Contender("rowlaw", f"{cases}:Ours", {"kind": "od", "table": name}),
            make=partial(_make, name, None),
        )
        for name in UNFINISHED
        if name in at_hand
    ]
    for rows in options.rows or GROWTH_SIZES:
        params = {"table": "tax", "rows": rows, "columns": GROWTH_COLUMNS}
        found.append(_comparison(f"order dependencies of {GROWTH_COLUMNS} columns of Tax", params, bar=BAR, size=rows))
    return found


def _comparison(name: str, params: dict[str, object], bar: float | None, size: int | None = None) -> Comparison:
    fastod = Contender("Fastod", f"{cases}:Desbordante", {"algorithm": "fastod", **params}, bar=bar, timeout=PEER_TIMEOUT)
    levels = Contender("levels", f"{cases}:Ours", {"kind": "od", "strategy": "levels", **params}, timeout=PEER_TIMEOUT)
    return Comparison(
        name=name,
        size=size,
        ours=Contender("rowlaw", f"{cases}:Ours", {"kind": "od", **params}),
        peers=(fastod, levels) if (size or 0) < FASTOD_ROWS else (levels,),
        make=partial(_make, str(params["table"]), size),
        growth_bar=GROWTH_BAR if size else None,
    )


def _make(table: str, rows: int | None) -> None:
    columns = GROWTH_COLUMNS if rows else None
    coded("tax", 3_000, columns)
    coded(table, rows, columns)
