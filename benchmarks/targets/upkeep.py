"""Keeping rules current under inserts and deletes, against discovery from scratch on the changed table; same-column
predicates.

Ours is ``Laws.apply`` on a state that is open: the batch is read, encoded, compared and written down. From scratch is
discovery on the changed table, which is encoded beforehand. A batch of fixed size on a growing table says whether the
cost follows the change or the table. :mod:`benchmarks.upkeep_users` adds the setting that users have.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from benchmarks.case import Case, Comparison, Contender, Options
from benchmarks.tables import shared, tax, wide
from benchmarks.targets.discover_dc import digest

SHARES = {0.01: 0.1, 0.1: 0.3}  # of inserted rows, and what applying them may cost beside discovery
DELETED, DELETE_BAR = 0.01, 0.2
WIDE_SHARES, WIDE_DELETE_BAR = {0.01: 0.2, 0.1: 0.5}, 0.3  # for keys of wide tables
TABLES = ("airport", "adult")
TAX_ROWS = 200_000
GROWTH_SIZES, GROWTH_BATCH, GROWTH_BAR = (100_000, 1_000_000), 1_000, 2.0
REPEATING = ("plista",)  # tables with rows that occur twice, which leave no key: each is taken once
SMALL, LARGE = 3_000, 40_000  # rows to get warm on
WIDE, WIDE_COLUMNS, WIDE_ROWS = "wide", 60, 10_000  # a generated table
WIDE_TABLES: tuple[tuple[str, str, int | None], ...] = (
    ("plista (35 columns)", "plista", None),
    ("60 columns", WIDE, WIDE_ROWS),
)


def changed(table: str, rows: int | None, insert: float, delete: float) -> tuple[Any, Any, Any]:
    """A table with a column that names its rows, the rows to insert, and the names of the rows to delete."""
    import pyarrow as pa
    import pyarrow.csv

    if rows is not None:
        number = int(insert) if insert >= 1 else int(rows * insert)
        whole = wide.keyed(WIDE_COLUMNS, rows + number) if table == WIDE else tax.generate(rows + number)[0]
    else:
        whole = pyarrow.csv.read_csv(shared.csv(table))
        if table in REPEATING:
            whole = pa.TableGroupBy(whole, whole.column_names, use_threads=False).aggregate([])
        more = shared.csv(f"{table}_inserts") if f"{table}_inserts" in shared.names() else None
        number = int(len(whole) * insert)
        if more is not None:
            whole = pa.concat_tables([whole, pyarrow.csv.read_csv(more).cast(whole.schema).slice(0, number)])
    whole = whole.append_column("row", pa.array(range(len(whole))))
    first = len(whole) - number
    gone = pa.table({"row": list(range(0, first, int(1 / delete)))}) if delete else None
    return whole.slice(0, first), whole.slice(first) if number else None, gone


class Apply(Case):
    """``Laws.apply`` of one batch."""

    def __init__(
        self,
        table: str,
        rows: int | None = None,
        insert: float = 0.0,
        delete: float = 0.0,
        kinds: Sequence[str] = ("dc",),
    ) -> None:
        self.job, self.kinds = (table, rows, insert, delete), tuple(kinds)

    def prepare(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.base, self.inserts, self.deletes = changed(*self.job)
        self.laws = self._state("state", self.base)

    def _state(self, name: str, table: Any) -> Any:
        import rowlaw

        path = f"{self.folder.name}/{name}"
        return rowlaw.Laws.create(
            path, table, row_id="row", kinds=self.kinds, cross=False, nulls="equal", progress=False
        )

    def warm(self) -> None:
        """Batches of the same kind on a part of the table that is large enough for its indexes to be used."""
        part = self.base.num_rows * 9 // 10 if self.base.num_rows < LARGE else LARGE
        small = self._state("small", self.base.slice(0, part))
        for rows in (50, 500):
            batch = self.base.slice(part, rows) if self.inserts is None else self.inserts.slice(0, rows)
            small.apply(inserts=batch)
            small.apply(deletes=batch.select(["row"]))

    def run(self) -> Any:
        return self.laws.apply(inserts=self.inserts, deletes=self.deletes)

    def in_short(self, found: Any) -> dict[str, Any]:
        return named(self.laws.rules)

    def data_bytes(self) -> int:
        return 4 * self.base.num_rows * (self.base.num_columns - 1)

    def close(self) -> None:
        self.laws.close()
        self.folder.cleanup()


class ApplyFixed(Apply):
    """``Laws.apply`` of a batch of fixed size, and what the indexes behind it take."""

    def in_short(self, found: Any) -> dict[str, Any]:
        return {**super().in_short(found), "index_bytes": self.laws._loaded.nbytes}


class FromScratch(Case):
    """Discovery on the changed table."""

    def __init__(
        self,
        table: str,
        rows: int | None = None,
        insert: float = 0.0,
        delete: float = 0.0,
        kinds: Sequence[str] = ("dc",),
    ) -> None:
        self.job, self.kinds = (table, rows, insert, delete), tuple(kinds)

    def prepare(self) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc

        from rowlaw.relation import encode
        from rowlaw.source import open_source

        base, inserts, gone = changed(*self.job)
        if gone is not None:
            base = base.filter(pc.invert(pc.is_in(base["row"], gone["row"].combine_chunks())))
        whole = base if inserts is None else pa.concat_tables([base, inserts])
        self.relation, self.small = (encode(open_source(t.drop_columns("row"))) for t in (whole, whole.slice(0, SMALL)))

    def warm(self) -> None:
        self._discover(self.small)

    def run(self) -> Any:
        return self._discover(self.relation)

    def in_short(self, found: Any) -> dict[str, Any]:
        return named(found)

    def _discover(self, relation: Any) -> Any:
        from rowlaw.discovery.discover import run
        from rowlaw.engine.local.engine import LocalEngine
        from rowlaw.predicates import SpaceOptions

        return run(LocalEngine(relation, "equal"), SpaceOptions(cross=False), kinds=self.kinds)


def named(rules: Any) -> dict[str, Any]:
    """A set of rules in few words. Of two that only exchange ``s`` and ``t`` either may be listed."""
    from rowlaw.rules.implication import canonical
    from rowlaw.rules.model import Denial

    return {
        "rules": len(rules),
        "set": digest({str(canonical(r.rule) if isinstance(r.rule, Denial) else r.rule) for r in rules}),
    }


def CASES(options: Options) -> list[Comparison]:
    """Inserts, deletes, then growth."""
    tables: list[tuple[str, dict[str, Any]]] = [(name, {"table": name}) for name in TABLES if name in shared.names()]
    tables += [("Tax", {"table": "tax", "rows": rows}) for rows in options.rows or (TAX_ROWS,)]
    cases = [
        _compared(f"{what}, {name}", job, bar)
        for name, table in tables
        for what, job, bar in batches(table, SHARES, DELETE_BAR)
    ]
    for name, table in wide_tables():
        cases += [
            _compared(f"keys, {what}, {name}", {**job, "kinds": ("key",)}, bar)
            for what, job, bar in batches(table, WIDE_SHARES, WIDE_DELETE_BAR)
        ]
    cases += [
        Comparison(
            name=f"{GROWTH_BATCH:,} rows, Tax",
            size=rows,
            ours=Contender("rowlaw", f"{__name__}:ApplyFixed", {"table": "tax", "rows": rows, "insert": GROWTH_BATCH}),
            growth_bar=GROWTH_BAR,
        )
        for rows in options.rows or GROWTH_SIZES
    ]
    from benchmarks import upkeep_users  # which takes its tables from here

    return [*cases, *upkeep_users.cases(tuple(options.rows or (TAX_ROWS,)))]


def batches(
    table: dict[str, Any], shares: Mapping[float, float], delete_bar: float
) -> Iterator[tuple[str, dict[str, Any], float]]:
    """What a batch does, the job, and what it may cost beside discovery: inserts of some shares of the rows, then
    deletes."""
    for share, bar in shares.items():
        yield f"{share:.0%} inserts", {**table, "insert": share}, bar
    yield f"{DELETED:.0%} deletes", {**table, "delete": DELETED}, delete_bar


def wide_tables() -> list[tuple[str, dict[str, Any]]]:
    """Tables of many columns that are at hand: a name, and the job."""
    return [
        (name, {"table": table, "rows": rows})
        for name, table, rows in WIDE_TABLES
        if rows is not None or table in shared.names()
    ]


def _compared(name: str, job: dict[str, Any], bar: float) -> Comparison:
    return Comparison(
        name=name,
        size=job.get("rows"),
        ours=Contender("rowlaw, batch", f"{__name__}:Apply", job),
        peers=(Contender("rowlaw, from scratch", f"{__name__}:FromScratch", job, bar=bar),),
        make=partial(tax.cached, SMALL),
    )
