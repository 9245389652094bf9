"""Dirty tables with the truth beside them: real ones with a clean twin, and clean ones whose cells are changed at
random.

Cells are text. The truth is the set of cells that differ, by row and column.
"""

from __future__ import annotations

import csv
import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from benchmarks.tables import shared, tax

if TYPE_CHECKING:
    import pyarrow as pa

TWINS = ("hospital", "beers")  # <name>_dirty.csv and <name>_clean.csv, row by row
PLANTED = ("airport", "adult")  # clean CSV files
GENERATED = "tax"
ROWS = 10_000  # of clean tables, chosen at random
SHARE = 0.01  # of the cells of a clean table are changed


@dataclass(frozen=True)
class Dirty:
    """Columns of text, None where nothing is written, and the cells that are wrong."""

    columns: dict[str, list[str | None]]
    wrong: frozenset[tuple[int, str]]
    right: dict[str, list[str | None]] = field(default_factory=dict, compare=False)  # what should be there

    @property
    def rows(self) -> int:
        return len(next(iter(self.columns.values())))

    @property
    def table(self) -> pa.Table:
        import pyarrow as pa

        return pa.table({name: pa.array(values, pa.string()) for name, values in self.columns.items()})


def names() -> list[str]:
    """The tables at hand."""
    known = set(shared.names())
    return [
        *(t for t in TWINS if {f"{t}_dirty", f"{t}_clean"} <= known),
        *(t for t in PLANTED if t in known),
        GENERATED,
    ]


def dirty(name: str) -> Dirty:
    """A table by its name."""
    if name in TWINS:
        columns, clean = _read(f"{name}_dirty"), _read(f"{name}_clean")
        pairs = zip(columns.items(), clean.values(), strict=True)  # the twins call some columns by other names
        wrong = {
            (row, column)
            for (column, values), others in pairs
            for row, cell in enumerate(values)
            if cell != others[row]
        }
        return Dirty(columns, frozenset(wrong), dict(zip(columns, clean.values(), strict=True)))
    return planted(_sample(_tax() if name == GENERATED else _read(name)))


def planted(clean: dict[str, list[str | None]], share: float = SHARE, seed: int = 1) -> Dirty:
    """A table of which a share of the cells is changed: half get a letter that is wrong, half the value of another
    row."""
    chance = random.Random(seed)
    columns = {name: list(values) for name, values in clean.items()}
    places = [(row, name) for name, values in clean.items() for row in range(len(values))]
    wrong = set()
    for row, name in chance.sample(places, round(share * len(places))):
        old = clean[name][row]
        new = _misspelt(old or "", chance) if chance.random() < 0.5 else chance.choice(clean[name])
        if new != old:
            columns[name][row] = new
            wrong.add((row, name))
    return Dirty(columns, frozenset(wrong), clean)


def _misspelt(text: str, chance: random.Random) -> str:
    place = chance.randrange(len(text) + 1)
    return f"{text[:place]}x{text[place + 1 :]}"


def _sample(columns: dict[str, list[str | None]]) -> dict[str, list[str | None]]:
    number = len(next(iter(columns.values())))
    rows = sorted(random.Random(0).sample(range(number), min(ROWS, number)))
    return {name: [values[row] for row in rows] for name, values in columns.items()}


def _read(name: str) -> dict[str, list[str | None]]:
    with shared.csv(name).open(newline="", encoding="utf-8") as file:
        head, *lines = csv.reader(file)
    return {column: [line[place] or None for line in lines] for place, column in enumerate(head)}


def _tax() -> dict[str, list[str | None]]:
    table = tax.generate(ROWS)[0]
    return {
        name: [None if value is None else str(value) for value in table[name].to_pylist()]
        for name in table.column_names
    }
