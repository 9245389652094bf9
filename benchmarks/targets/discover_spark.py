"""Discovery on Spark, of a table that is never collected: all keys, functional and order dependencies and same-column
denial constraints.

Beside it the local engine, which reads the same Parquet file into one process; both must find the same set. The largest
size runs on a cluster of two workers of one core and 2 GiB each, and has no twin: what counts is that it ends within
its memory limits.

    python -m benchmarks discover-spark --rows 10M --timeout 7200 --only local
    python -m benchmarks discover-spark --rows 50M --timeout 14400 --only cluster
"""

from __future__ import annotations

from functools import partial
from typing import Any

from benchmarks.case import OURS, Case, Comparison, Contender, Fact, Options
from benchmarks.peaks import Watch, peak_rss, reset_peak
from benchmarks.standalone import Standalone
from benchmarks.tables import by_name, tax_money
from benchmarks.targets.discover_dc import digest
from benchmarks.targets.scale import DRIVER_MIB, SETTINGS, WORKER_MIB
from benchmarks.targets.spark import session

TABLE = "tax with errors"
LOCAL_ROWS, CLUSTER_ROWS = 1_000_000, 50_000_000
WARM_ROWS = 20_000
LOCAL_BAR = 4.0
KINDS = ("key", "fd", "od", "dc")


class Discovery(Case):
    """``rowlaw.discover`` of a Parquet file by an engine; on Spark, nothing may be brought to the driver but
    samples."""

    def __init__(self, rows: int, engine: str) -> None:
        self.rows, self.engine = rows, engine
        self.session: Any = None

    def prepare(self) -> None:
        if self.engine == "spark":
            self.session = session()
            self.session.conf.set("spark.rowlaw.driverBytes", "0")

    def warm(self) -> None:
        self._discover(by_name.path(TABLE, WARM_ROWS))

    def run(self) -> set[str]:
        return self._discover(by_name.path(TABLE, self.rows))

    def in_short(self, found: set[str]) -> dict[str, Any]:
        return {"rules": len(found), "set": digest(found)}

    def _discover(self, path: Any) -> set[str]:
        import rowlaw

        table = str(path) if self.session is None else self.session.read.parquet(str(path))
        found = set()
        for kind in KINDS:  # each kind alone: of several, a law is listed under one kind only
            rules = rowlaw.discover(
                table, kinds=(kind,), cross=False, engine=self.engine, session=self.session, progress=False
            )
            assert not rules.partial
            found |= {f"{kind}: {named.rule}" for named in rules}
        return found

    def close(self) -> None:
        if self.session is not None:
            self.session.stop()


class OnCluster(Discovery):
    """The same on a cluster, with the peaks of memory."""

    def __init__(self, rows: int) -> None:
        super().__init__(rows, "spark")
        self.measured: list[Fact] = []

    def prepare(self) -> None:
        self.cluster = Standalone(workers=2, cores=1, memory="2g").__enter__()
        try:
            self.session = self.cluster.session(**SETTINGS)
        except BaseException:
            self.cluster.__exit__()
            raise

    def warm(self) -> None:
        self._discover(tax_money.cached(WARM_ROWS)[0])

    def run(self) -> set[str]:
        reset_peak()
        with Watch(lambda: [worker.pid for worker in self.cluster.workers]) as watch:
            found = self._discover(tax_money.cached(self.rows)[0])
        self.measured = [
            Fact("peak of the driver's Python process", peak_rss("self") / 2**20, "MiB", DRIVER_MIB),
            Fact("peak of a Python worker", max(watch.peaks.values(), default=0) / 2**20, "MiB", WORKER_MIB),
        ]
        return found

    def facts(self) -> list[Fact]:
        return self.measured

    def close(self) -> None:
        super().close()
        self.cluster.__exit__()


def CASES(options: Options) -> list[Comparison]:  # noqa: N802 (the runner looks for this name in every target)
    """Both engines on one machine; on a cluster only sizes that are asked for."""
    sizes = options.rows or (LOCAL_ROWS,)
    local = [_local(rows) for rows in sizes if rows < CLUSTER_ROWS]
    return [*local, *(_on_cluster(rows) for rows in options.rows)]


def _local(rows: int) -> Comparison:
    case = f"{__name__}:Discovery"
    return Comparison(
        name="all kinds on a local session",
        size=rows,
        ours=Contender(OURS, case, {"rows": rows, "engine": "spark"}),
        peers=(Contender(f"{OURS}, local engine", case, {"rows": rows, "engine": "local"}, LOCAL_BAR),),
        make=partial(_make, rows),
    )


def _on_cluster(rows: int) -> Comparison:
    return Comparison(
        name="all kinds on a cluster",
        size=rows,
        ours=Contender(OURS, f"{__name__}:OnCluster", {"rows": rows}),
        make=partial(_make_money, rows),
    )


def _make(rows: int) -> None:
    for number in (WARM_ROWS, rows):
        by_name.path(TABLE, number)


def _make_money(rows: int) -> None:
    for number in (WARM_ROWS, rows):
        tax_money.cached(number)
