"""Discovery of functional dependencies against Desbordante's HyFD (two threads), tables loaded beforehand on both sides."""

from __future__ import annotations

from functools import partial

from benchmarks.case import Comparison, Contender, Options
from benchmarks.dependencies import __name__ as cases
from benchmarks.dependencies import coded, source
from benchmarks.tables import shared

BAR = 1.0  # of HyFD's time, where that is over a second
LOADED_BAR = 0.5  # reading included, at the largest size
TABLES = ("abalone", "adult", "letter", "uce", "hospital_clean", "bridges", "plista")
GROWTH_SIZES = (100_000, 1_000_000)
GROWTH_BAR = 14.0
PEER_TIMEOUT = 300.0  # seconds


def CASES(options: Options) -> list[Comparison]:  # noqa: N802 (the runner looks for this name in every target)
    """The tables at hand, then growth on Tax, and the largest again with reading."""
    at_hand = set(shared.names())
    sizes = options.rows or GROWTH_SIZES
    found = [_comparison(f"functional dependencies of {name}", {"table": name}, BAR) for name in TABLES if name in at_hand]
    found += [_comparison("functional dependencies of Tax", {"table": "tax", "rows": rows}, BAR, rows, GROWTH_BAR) for rows in sizes]
    last = {"table": "tax", "rows": sizes[-1], "load": True}
    return [*found, _comparison("read Tax and find functional dependencies", last, LOADED_BAR, sizes[-1])]


def _comparison(name: str, params: dict[str, object], bar: float, size: int | None = None, growth: float | None = None) -> Comparison:
    return Comparison(
        name=name,
        size=size,
        ours=Contender("rowlaw", f"{cases}:Ours", {"kind": "fd", **params}),
        peers=(Contender("HyFD", f"{cases}:Desbordante", {"algorithm": "hyfd", **params}, bar=bar, timeout=PEER_TIMEOUT),),
        make=partial(_make, str(params["table"]), size),
        growth_bar=growth,
    )


def _make(table: str, rows: int | None) -> None:
    coded("tax", 3_000)
    source(table, rows)
    coded(table, rows)
