"""Upkeep as its users have it: the commands, each in a fresh process, default kinds, comparisons across columns, null
unknown.

Ours is ``rowlaw apply`` from its start to its end; from scratch is ``rowlaw discover --all`` on the changed table: a
state keeps all rules, and a default run of many rules stops at its budget. The cases are listed by
:mod:`benchmarks.targets.upkeep`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.case import Case, Comparison, Contender, Fact
from benchmarks.tables import shared, tax, wide
from benchmarks.targets.upkeep import batches, changed, wide_tables

SHARES = {0.01: 0.2, 0.1: 0.5}  # of inserted rows, and what applying them may cost beside discovery
DELETE_BAR = 0.3  # for 1% of the rows
SERIES, SERIES_BAR = 20, 4.0  # batches of 1%; what all of them may cost beside discovery, each time anew a fifth
INIT_ROWS, INIT_BAR = 1_000_000, 1.5
CHOSEN_ROWS, CHOSEN_BATCH = 10_000_000, 1_000
CHOSEN_INIT_SECONDS, CHOSEN_BATCH_SECONDS = 120.0, 2.0  # limits
DELETE_ROW_BAR = 3.0
KEYED_ROWS = 10_000
COMMAND = [sys.executable, "-c", "from rowlaw.cli import main; main()"]


def rowlaw(*arguments: str) -> Any:
    """Run a command in a process of its own; its JSON document."""
    done = subprocess.run(
        [*COMMAND, *arguments, "--format", "json", "--quiet"], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def chosen_kinds(kinds: Sequence[str]) -> list[str]:
    """The option for some kinds of rules; none for the default ones."""
    return ["--kinds", ",".join(kinds)] if kinds else []


class Command(Case):
    """A command on files in a folder of its own."""

    def prepare(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.home = Path(self.folder.name)

    def write(self, name: str, table: Any) -> str:
        import pyarrow.parquet as pq

        pq.write_table(table, self.home / name)
        return str(self.home / name)

    def close(self) -> None:
        self.folder.cleanup()


class Timed(Command):
    """A command with a limit in seconds; the slowest call counts."""

    limit: float | None = None
    slowest = 0.0

    def timed(self, *arguments: str) -> Any:
        began = time.perf_counter()
        answer = rowlaw(*arguments)
        self.slowest = max(self.slowest, time.perf_counter() - began)
        return answer

    def facts(self) -> list[Fact]:
        return [Fact("wall time", self.slowest, "s", self.limit)] if self.limit is not None else []


class FreshApply(Command):
    """``rowlaw apply`` of one batch, or of several after each other."""

    def __init__(
        self,
        table: str,
        rows: int | None = None,
        insert: float = 0.0,
        delete: float = 0.0,
        kinds: Sequence[str] = (),
        series: int = 1,
    ) -> None:
        self.job, self.kinds, self.series = (table, rows, insert, delete), chosen_kinds(kinds), series

    def prepare(self) -> None:
        super().prepare()
        base, inserts, deletes = changed(*self.job)
        self.state = str(self.home / "state")
        rowlaw("init", self.state, self.write("base.parquet", base), "--row-id", "row", *self.kinds)
        self.batches: list[list[str]] = []
        for i in range(self.series):
            batch: list[str] = []
            if inserts is not None:
                size = inserts.num_rows // self.series
                batch += ["--insert", self.write(f"insert-{i}.parquet", inserts.slice(i * size, size))]
            if deletes is not None:
                batch += ["--delete", self.write(f"delete-{i}.parquet", deletes)]
            self.batches.append(batch)

    def run(self) -> Any:
        return [rowlaw("apply", self.state, *batch)["rules"] for batch in self.batches][-1]

    def in_short(self, found: Any) -> dict[str, Any]:
        return {"rules": found}


class FreshDiscover(Command):
    """``rowlaw discover --all`` on the changed table."""

    def __init__(
        self, table: str, rows: int | None = None, insert: float = 0.0, delete: float = 0.0, kinds: Sequence[str] = ()
    ) -> None:
        self.job, self.kinds = (table, rows, insert, delete), chosen_kinds(kinds)

    def prepare(self) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc

        super().prepare()
        base, inserts, gone = changed(*self.job)
        if gone is not None:
            base = base.filter(pc.invert(pc.is_in(base["row"], gone["row"].combine_chunks())))
        self.source = self.write("whole.parquet", base if inserts is None else pa.concat_tables([base, inserts]))

    def run(self) -> Any:
        return rowlaw("discover", self.source, "--row-id", "row", "--all", *self.kinds)["total"]

    def in_short(self, found: Any) -> dict[str, Any]:
        return {"rules": found}


class FreshInit(Timed):
    """``rowlaw init`` with default kinds, or with the planted rules as chosen ones."""

    def __init__(self, rows: int, chosen: bool = False) -> None:
        self.rows, self.chosen = rows, chosen
        self.limit = CHOSEN_INIT_SECONDS if chosen else None

    def prepare(self) -> None:
        super().prepare()
        self.source = str(tax.cached(self.rows)[0])
        self.rules: list[str] = []
        if self.chosen:
            path = self.home / "laws.yaml"
            path.write_text("rules:\n" + "".join(f"  r{i}: '{rule}'\n" for i, rule in enumerate(tax.RULES)))
            self.rules = ["--rules", str(path)]

    def run(self) -> Any:
        return self.timed("init", str(self.home / "state"), self.source, *self.rules)["total"]


class FreshChosen(FreshInit):
    """``rowlaw apply`` of a batch to a state that keeps chosen rules."""

    def __init__(self, rows: int, batch: int) -> None:
        super().__init__(rows, chosen=True)
        self.batch = batch

    def prepare(self) -> None:
        super().prepare()
        super().run()
        self.slowest, self.limit = 0.0, CHOSEN_BATCH_SECONDS
        self.insert = self.write("batch.parquet", tax.generate(self.batch, seed=1)[0])

    def run(self) -> Any:
        changed = self.timed("apply", str(self.home / "state"), "--insert", self.insert)
        return {one["id"]: one["violations"] for one in changed["chosen"]}


class PlainDiscover(Command):
    """``rowlaw discover --all`` on a Tax table."""

    def __init__(self, rows: int) -> None:
        self.rows = rows

    def run(self) -> Any:
        return rowlaw("discover", str(tax.cached(self.rows)[0]), "--all")["total"]


class OneRow(Case):
    """Insert or delete one row that is like another in all columns but one, in a state of keys that is open."""

    def __init__(self, columns: int, delete: bool) -> None:
        self.columns, self.delete = columns, delete

    def prepare(self) -> None:
        import pyarrow as pa

        import rowlaw as library

        self.folder = tempfile.TemporaryDirectory()
        table = tax.generate(KEYED_ROWS)[0] if self.columns == len(tax.SCHEMA) else wide.keyed(self.columns, KEYED_ROWS)
        place = table.num_columns // 2
        name = table.column_names[place]
        other = next(value for value in table[name].to_pylist() if value != table[name][17].as_py())
        self.twin = table.slice(17, 1).set_column(place, name, pa.array([other], table.schema.field(name).type))
        self.laws = library.Laws.create(f"{self.folder.name}/state", table, kinds=("key",), progress=False)

    def warm(self) -> None:
        self.laws.apply(inserts=self.twin)
        self.laws.apply(deletes=self.twin)
        if self.delete:
            self.laws.apply(inserts=self.twin)

    def run(self) -> Any:
        return self.laws.apply(deletes=self.twin) if self.delete else self.laws.apply(inserts=self.twin)

    def in_short(self, found: Any) -> None:
        """The two do different things."""

    def close(self) -> None:
        self.laws.close()
        self.folder.cleanup()


def cases(rows: tuple[int, ...]) -> list[Comparison]:
    """Batches against discovery, a series of batches, states against discovery, keys of wide tables, chosen rules."""
    tables: list[tuple[str, dict[str, Any]]] = [
        (name, {"table": name}) for name in ("airport", "adult") if name in shared.names()
    ]
    tables += [("Tax", {"table": "tax", "rows": size}) for size in rows]
    found = []
    for name, job in tables:
        found += [_compared(f"users: {what}, {name}", one, bar) for what, one, bar in batches(job, SHARES, DELETE_BAR)]
        found.append(
            _compared(
                f"users: {SERIES} x 1% inserts, {name}", {**job, "insert": 0.01 * SERIES}, SERIES_BAR, series=SERIES
            )
        )
    for name, job in wide_tables():
        # a process takes longer to start than to find keys: no bar
        for what, one, _ in batches(job, SHARES, DELETE_BAR):
            found.append(_compared(f"users: keys, {what}, {name}", {**one, "kinds": ("key",)}, None))
    for columns in (len(tax.SCHEMA), 60):
        peer = Contender(
            "rowlaw, insert", f"{__name__}:OneRow", {"columns": columns, "delete": False}, bar=DELETE_ROW_BAR
        )
        ours = Contender("rowlaw, delete", f"{__name__}:OneRow", {"columns": columns, "delete": True})
        found.append(
            Comparison(name=f"one row like another, {columns} columns", size=KEYED_ROWS, ours=ours, peers=(peer,))
        )
    return [*found, *_states()]


def _states() -> list[Comparison]:
    data = partial(tax.cached, INIT_ROWS)
    peer = Contender("rowlaw, discover", f"{__name__}:PlainDiscover", {"rows": INIT_ROWS}, bar=INIT_BAR)
    ours = Contender("rowlaw, init", f"{__name__}:FreshInit", {"rows": INIT_ROWS})
    large = partial(tax.cached, CHOSEN_ROWS)
    made = Contender("rowlaw, init", f"{__name__}:FreshInit", {"rows": CHOSEN_ROWS, "chosen": True})
    applied = Contender("rowlaw, batch", f"{__name__}:FreshChosen", {"rows": CHOSEN_ROWS, "batch": CHOSEN_BATCH})
    return [
        Comparison(name="users: init, Tax", size=INIT_ROWS, ours=ours, peers=(peer,), make=data),
        Comparison(name="chosen rules: init, Tax", size=CHOSEN_ROWS, ours=made, make=large),
        Comparison(name=f"chosen rules: {CHOSEN_BATCH:,} rows, Tax", size=CHOSEN_ROWS, ours=applied, make=large),
    ]


def _compared(name: str, job: dict[str, Any], bar: float | None, series: int = 1) -> Comparison:
    return Comparison(
        name=name,
        size=job.get("rows"),
        ours=Contender("rowlaw, commands", f"{__name__}:FreshApply", {**job, "series": series} if series > 1 else job),
        peers=(Contender("rowlaw, from scratch", f"{__name__}:FreshDiscover", job, bar=bar),),
    )
