"""Finding wrong cells with laws learnt from the dirty table alone: precision and recall against a clean twin, or
against planted errors.

``repair`` is what ``rowlaw.repair`` gives: the cells it accuses (detection), the values it suggests (repair), and the
errors that would be added if all of these were applied, as a share of those there are. ``suspects`` are what
``Result.suspects`` gives for all functional dependencies with few enough exceptions, as before ``repair`` learnt its
own.
``exceptions``, for comparison, are all rows that some rule would have to lose, and of them the cells that it compares
(the right side, of a functional dependency).
"""

from __future__ import annotations

from collections.abc import Collection, Hashable
from typing import Any

from benchmarks.case import Case, Comparison, Contender, Options
from benchmarks.tables import dirty

ERROR = 0.05
CONFIDENCE = 0.6  # of a suggestion that is applied: what is below has none
OTHER_ERRORS = (0.02, 0.1)
BEST, FEW = 100, 20  # functional dependencies whose exceptions are looked at, and rules of other kinds
OTHER_KINDS = ("key", "od", "dc")


class Repaired(Case):
    """Learn, accuse, suggest."""

    def __init__(self, table: str) -> None:
        self.name = table

    def prepare(self) -> None:
        self.dirty = dirty.dirty(self.name)
        self.table = self.dirty.table

    def warm(self) -> None:
        self._repair(self.table.slice(0, 300))

    def run(self) -> Any:
        return self._repair(self.table)

    def _repair(self, table: Any) -> Any:
        import rowlaw

        return rowlaw.repair(table, progress=False)

    def in_short(self, found: Any) -> dict[str, Any]:
        wrong, right = self.dirty.wrong, self.dirty.right
        cells = found.cells.to_pylist()
        places = {(cell["row"], cell["column"]) for cell in cells}
        spoken_of = {column for _, column in places}
        applied = {(c["row"], c["column"]): c["suggestion"] for c in cells if c["confidence"] >= CONFIDENCE}
        repaired = {place for place, value in applied.items() if place in wrong and right[place[1]][place[0]] == value}
        share = {"precision": len(repaired) / max(1, len(applied)), "recall": len(repaired) / max(1, len(wrong))}
        share["f1"] = 2 * len(repaired) / max(1, len(applied) + len(wrong))
        return {
            "laws": len(found.rules),
            "cells": measured(places, wrong),
            "rows": measured({row for row, _ in places}, {row for row, _ in wrong}),
            "columns with suspects": measured(places, {(row, column) for row, column in wrong if column in spoken_of}),
            "repair": {
                "suggested": len(applied),
                "right": len(repaired),
                **{name: round(value, 4) for name, value in share.items()},
            },
            "added": round(len(applied.keys() - wrong) / max(1, len(wrong)), 4),
        }


class Found(Case):
    """Learn, check, point at cells."""

    def __init__(
        self, table: str, how: str = "suspects", kind: str = "fd", error: float = ERROR, nulls: str = "equal"
    ) -> None:
        self.name, self.how, self.kind, self.error, self.nulls = table, how, kind, error, nulls

    def prepare(self) -> None:
        self.dirty = dirty.dirty(self.name)
        self.table = self.dirty.table

    def warm(self) -> None:
        self._cells(self.table.slice(0, 300))

    def run(self) -> set[tuple[int, str]]:
        return self._cells(self.table)

    def in_short(self, found: set[tuple[int, str]]) -> dict[str, Any]:
        wrong = self.dirty.wrong
        spoken_of = {column for _, column in found}
        return {
            "cells": measured(found, wrong),
            "rows": measured({row for row, _ in found}, {row for row, _ in wrong}),
            "columns with suspects": measured(found, {(row, column) for row, column in wrong if column in spoken_of}),
        }

    def _cells(self, table: Any) -> set[tuple[int, str]]:
        import rowlaw

        best = None if self.how == "suspects" else BEST if self.kind == "fd" else FEW
        laws = rowlaw.discover(table, kinds=(self.kind,), error=self.error, nulls=self.nulls, top=best, progress=False)
        result = rowlaw.check(table, laws, progress=False)
        try:
            if self.how == "suspects":
                found = result.suspects()
                return set(zip(found["row"].to_pylist(), found["column"].to_pylist(), strict=True))
            return _exceptions(result)
        finally:
            result.close()


def _exceptions(result: Any) -> set[tuple[int, str]]:
    found = set()
    for verdict in result.verdicts:
        columns = (verdict.rule.right,) if verdict.rule.kind == "fd" else verdict.rule.columns
        rows = result.rows_to_remove(verdict.id).first
        found |= {(row, column) for row in rows for column in columns}
    return found


def measured(found: Collection[Hashable], wrong: Collection[Hashable]) -> dict[str, float]:
    """Precision, recall and F1.

    >>> measured({1, 2, 3, 4}, {3, 4, 5})
    {'wrong': 3, 'found': 4, 'right': 2, 'precision': 0.5, 'recall': 0.6667, 'f1': 0.5714}
    """
    right = len(set(found) & set(wrong))
    shares = {
        "precision": right / max(1, len(found)),
        "recall": right / max(1, len(wrong)),
        "f1": 2 * right / max(1, len(found) + len(wrong)),
    }
    return {
        "wrong": len(wrong),
        "found": len(found),
        "right": right,
        **{name: round(share, 4) for name, share in shares.items()},
    }


def CASES(options: Options) -> list[Comparison]:
    """Suspects of every table, at other limits and meanings of null where there is a twin; then what exceptions alone
    would say."""
    tables = dirty.names()
    twins = [name for name in tables if name in dirty.TWINS]
    found = [
        Comparison(f"repair, {name}", Contender("rowlaw", f"{__name__}:Repaired", {"table": name})) for name in tables
    ]
    found += [_comparison(name, "suspects") for name in tables]
    found += [_comparison(name, "suspects", error=error) for name in twins for error in OTHER_ERRORS]
    found += [_comparison(name, "suspects", nulls="unknown") for name in twins]
    found += [_comparison(name, "exceptions") for name in tables]
    return found + [_comparison(name, "exceptions", kind=kind) for name in twins for kind in OTHER_KINDS]


def _comparison(table: str, how: str, **params: Any) -> Comparison:
    told = "".join(f", {name} {value}" for name, value in params.items())
    return Comparison(
        f"{how}, {table}{told}", Contender("rowlaw", f"{__name__}:Found", {"table": table, "how": how, **params})
    )
