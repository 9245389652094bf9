"""Discovery of keys against Desbordante's HPIValid, tables loaded beforehand on both sides."""

from __future__ import annotations

from functools import partial

from benchmarks.case import Comparison, Contender, Options
from benchmarks.dependencies import __name__ as cases
from benchmarks.dependencies import coded, source
from benchmarks.tables import shared

BAR = 1.0  # of HPIValid's time, on a table of a million rows
LOADED_BAR = 0.5  # reading included, at the largest size
TABLES = ("abalone", "beers_clean", "bridges", "hospital_clean")
GENERATED = {"tax": (100_000, 1_000_000), "lineitem": (1_000_000,), "flights": (336_776,)}
GROWTH_BAR = 14.0
PEER_TIMEOUT = 300.0  # seconds


def CASES(options: Options) -> list[Comparison]:  # noqa: N802 (the runner looks for this name in every target)
    """The tables at hand, then generated ones, and Tax again with reading."""
    at_hand = set(shared.names())
    found = [_comparison(f"keys of {name}", {"table": name}, None) for name in TABLES if name in at_hand]
    for table, sizes in GENERATED.items():
        for rows in options.rows or sizes:
            bar = BAR if rows >= 1_000_000 else None
            found.append(_comparison(f"keys of {table}", {"table": table, "rows": rows}, bar, rows, GROWTH_BAR))
    rows = (options.rows or GENERATED["tax"])[-1]
    return [*found, _comparison("read Tax and find keys", {"table": "tax", "rows": rows, "load": True}, LOADED_BAR, rows)]


def _comparison(
    name: str, params: dict[str, object], bar: float | None, size: int | None = None, growth: float | None = None
) -> Comparison:
    return Comparison(
        name=name,
        size=size,
        ours=Contender("rowlaw", f"{cases}:Ours", {"kind": "key", **params}),
        peers=(Contender("HPIValid", f"{cases}:Desbordante", {"algorithm": "hpivalid", **params}, bar=bar, timeout=PEER_TIMEOUT),),
        make=partial(_make, str(params["table"]), size),
        growth_bar=growth,
    )


def _make(table: str, rows: int | None) -> None:
    coded("tax", 3_000)
    source(table, rows)
    coded(table, rows)
