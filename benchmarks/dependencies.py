"""Cases for keys, functional and order dependencies: ours by strategy, and Desbordante's algorithms. Null equals null;
sets are compared.

Every contender gets the table as ordered integer codes, so that all mean the same by "equal" and "less": Desbordante
would read the texts ``01`` and ``1`` as one number. With ``load`` reading the table counts too: ours from the original
file, theirs from the codes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.case import Axis, Case, Comparison, Contender
from benchmarks.tables import by_name, cached, shared

PEERS = {"key": ("HPIValid", "hpivalid"), "fd": ("HyFD", "hyfd"), "od": ("Fastod", "fastod")}
PEER_TIMEOUT = 60.0  # seconds
WARM_ROWS = 3_000  # of Tax


def ours(kind: str, **job: Any) -> Contender:
    """Our discovery of one kind; ``job`` is what ``Ours`` takes."""
    return Contender("rowlaw", f"{__name__}:Ours", {"kind": kind, **job})


def peer(kind: str, bar: float | None = None, **job: Any) -> Contender:
    """Desbordante's algorithm for the same."""
    label, algorithm = PEERS[kind]
    return Contender(label, f"{__name__}:Desbordante", {"algorithm": algorithm, **job}, bar, PEER_TIMEOUT)


def comparison(
    name: str,
    kind: str,
    *peers: Contender,
    size: int | None = None,
    growth_bar: float | None = None,
    axis: Axis = "rows",
    **job: Any,
) -> Comparison:
    """Our discovery of one kind on a table against peers that are given the same job."""
    table, rows, columns = job["table"], job.get("rows"), job.get("columns")
    make = partial(_make, table, rows, columns)
    return Comparison(name, ours(kind, **job), peers, size, make=make, growth_bar=growth_bar, axis=axis)


def _make(table: str, rows: int | None, columns: int | None) -> None:
    coded("tax", WARM_ROWS, columns)
    coded(table, rows, columns)


def source(table: str, rows: int | None) -> Path:
    """The file of a shared table, or of a generated one of so many rows."""
    return shared.csv(table) if rows is None else by_name.path(table, rows)


def coded(table: str, rows: int | None, columns: int | None = None) -> Path:
    """The table's codes as a CSV file with columns called 0, 1, ..."""
    original = source(table, rows)

    def write(draft: Path) -> None:
        import numpy as np
        import pyarrow as pa
        import pyarrow.csv as pc

        from rowlaw.relation import encode
        from rowlaw.source import open_source

        with encode(open_source(original)) as relation:
            matrix = np.asarray(relation.matrix)[:columns]
            pc.write_csv(pa.table({str(i): codes + 1 for i, codes in enumerate(matrix)}), draft)

    stamp = hashlib.sha256(f"{original.stat().st_size}-{columns}".encode()).hexdigest()[:8]
    return cached(f"codes-{original.stem}-{stamp}.csv", write)


def digest(laws: Iterable[tuple[Any, ...]]) -> dict[str, Any]:
    """The number of laws and a short name for the set of them; a law is its kind, its context and its sides, by column
    numbers."""
    texts = sorted(str((kind, sorted(context), sorted(sides), *rest)) for kind, context, sides, *rest in laws)
    return {"laws": len(texts), "set": hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]}


class Ours(Case):
    """``discover_dependencies`` or, for ``levels``, HyOD as published; on a relation that is encoded already, unless
    ``load``."""

    def __init__(
        self,
        kind: str,
        table: str,
        rows: int | None = None,
        columns: int | None = None,
        strategy: str = "auto",
        load: bool = False,
    ) -> None:
        self.kind, self.table, self.rows, self.columns, self.strategy, self.load = (
            kind,
            table,
            rows,
            columns,
            strategy,
            load,
        )

    def prepare(self) -> None:
        self.small = self._read(coded("tax", WARM_ROWS, self.columns))
        self.file = source(self.table, self.rows) if self.load else coded(self.table, self.rows, self.columns)
        self.relation = None if self.load else self._read(self.file)

    def warm(self) -> None:
        self._discover(self.small)

    def run(self) -> dict[str, Any]:
        return self._discover(self.relation or self._read(self.file))

    def _read(self, file: Path) -> Any:
        from rowlaw.relation import encode
        from rowlaw.source import open_source

        return encode(open_source(file))

    def _discover(self, relation: Any) -> dict[str, Any]:
        from rowlaw.discovery.dependencies import discover_dependencies
        from rowlaw.discovery.levels import discover_levels
        from rowlaw.engine.local.engine import LocalEngine

        engine, kinds = LocalEngine(relation, "equal"), ("fd", "od") if self.kind == "od" else (self.kind,)
        if self.strategy == "levels":
            found = discover_levels(engine)
            rules: list[Any] = [*found.fds, *found.ods]
        else:
            rules = discover_dependencies(engine, kinds, strategy=self.strategy).rules
        place = {c.name: i for i, c in enumerate(relation.columns)}
        return digest(_law(rule, place) for rule in rules)


def _law(rule: Any, place: dict[str, int]) -> tuple[Any, ...]:
    if rule.kind == "key":
        return "key", [place[c] for c in rule.columns], []
    if rule.kind == "fd":
        return "fd", [place[c] for c in rule.left], [place[rule.right]]
    return "od", [place[c] for c in rule.context], [place[rule.left], place[rule.right]], rule.descending


class Desbordante(Case):
    """One of Desbordante's algorithms: Fastod, HyFD or HPIValid."""

    def __init__(
        self, algorithm: str, table: str, rows: int | None = None, columns: int | None = None, load: bool = False
    ) -> None:
        self.algorithm, self.table, self.rows, self.columns, self.load = algorithm, table, rows, columns, load

    def prepare(self) -> None:
        self.file = coded(self.table, self.rows, self.columns)
        self.loaded = None if self.load else self._read()

    def run(self) -> dict[str, Any]:
        from benchmarks.peers import desbordante_tools as tools

        loaded = self.loaded or self._read()
        if self.algorithm == "hpivalid":
            return digest(("key", key, []) for key in tools.hpivalid(loaded))
        if self.algorithm == "hyfd":
            return digest(("fd", left, [right]) for left, right in tools.hyfd(loaded))
        found = tools.fastod(loaded)
        orders = [
            ("od", context, sides, down)
            for down, some in ((False, found.ascending), (True, found.descending))
            for context, sides in some
        ]
        return digest([*(("fd", context, [side]) for context, side in found.constant), *orders])

    def _read(self) -> Any:
        from benchmarks.peers import desbordante_tools as tools

        return tools.load(self.algorithm, self.file)  # type: ignore[arg-type]
