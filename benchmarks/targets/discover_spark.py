"""Discovery on Spark, of a table that is never collected: all keys, functional and order dependencies and same-column
denial constraints.

Beside it the local engine, which reads the same Parquet file into one process; both must find the same set. The largest
size runs on a cluster of two workers of one core and 2 GiB each, and has no twin: what counts is that it ends within
its memory limits. Tables of the folder that ``ROWLAW_DATA`` names are small: there the sample is a tenth of the rows,
so that all rules are validated on Spark, and each kind is compared for itself.

    ROWLAW_DATA=... python -m benchmarks discover-spark --only "set of"
    python -m benchmarks discover-spark --rows 10M --timeout 7200 --only local
    python -m benchmarks discover-spark --rows 50M --timeout 14400 --only cluster
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

from benchmarks.case import OURS, Case, Comparison, Contender, Fact, Options
from benchmarks.peaks import Watch, peak_rss, reset_peak
from benchmarks.standalone import Standalone
from benchmarks.tables import by_name, shared, tax_money
from benchmarks.targets.discover_dc import digest
from benchmarks.targets.scale import DRIVER_MIB, SETTINGS, WORKER_MIB
from benchmarks.targets.spark import session

TABLE = "tax"
LOCAL_ROWS, CLUSTER_ROWS = 1_000_000, 50_000_000
WARM_ROWS = 20_000
LOCAL_BAR, BARRED_ROWS = 4.0, 10_000_000  # smaller tables are for the local engine
KINDS = ("key", "fd", "od", "dc")
EACH_ALONE = tuple((kind,) for kind in KINDS)  # of several kinds together, a law is listed under one only
DEPENDENCIES_TOGETHER = (("key", "fd", "od"), ("dc",))  # as few jobs as possible
SAMPLED = 0.1  # of the rows of a small table
TOO_WIDE = {"plista": ("dc",), "hospital_dirty": ("dc",), "hospital_clean": ("dc",)}  # not complete within minutes


class Discovery(Case):
    """``rowlaw.discover`` of a Parquet file by an engine; on Spark, nothing may be brought to the driver but
    samples."""

    kinds: ClassVar[tuple[tuple[str, ...], ...]] = EACH_ALONE  # found together

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
        for kinds in self.kinds:
            rules = rowlaw.discover(
                table, kinds=kinds, cross=False, engine=self.engine, session=self.session, progress=False, all=True
            )
            assert not rules.partial
            found |= {f"{kinds}: {named.rule}" for named in rules}
        return found

    def close(self) -> None:
        if self.session is not None:
            self.session.stop()


class OnCluster(Discovery):
    """The same on a cluster, with the peaks of memory."""

    kinds = DEPENDENCIES_TOGETHER

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


class SmallTable(Case):
    """All rules of a kind of a table in the folder ``ROWLAW_DATA``, by an engine."""

    def __init__(self, table: str, kind: str, engine: str) -> None:
        self.table, self.kind, self.on_spark = table, kind, engine == "spark"
        self.session: Any = None

    def prepare(self) -> None:
        from rowlaw.source import open_source

        self.source = open_source(shared.csv(self.table))
        if self.on_spark:
            self.session = session()

    def run(self) -> set[str]:
        from rowlaw.discovery.discover import run
        from rowlaw.predicates import SpaceOptions

        engine = self._spark_engine() if self.on_spark else self._local_engine()
        rules = run(engine, SpaceOptions(cross=False), kinds=(self.kind,))
        assert not rules.partial
        return {str(named.rule) for named in rules}

    def in_short(self, found: set[str]) -> dict[str, Any]:
        return {"rules": len(found), "set": digest(found)}

    def close(self) -> None:
        if self.session is not None:
            self.session.stop()

    def _local_engine(self) -> Any:
        from rowlaw.engine.local.engine import LocalEngine
        from rowlaw.relation import encode

        return LocalEngine(encode(self.source), "unknown")

    def _spark_engine(self) -> Any:
        from rowlaw.engine.spark.discovery import SparkDiscoveryEngine
        from rowlaw.engine.spark.limits import limits_of
        from rowlaw.engine.spark.table import SparkTable
        from rowlaw.relation import encode
        from rowlaw.source import open_source
        from rowlaw.spark.jobs import frame_of

        relation = encode(self.source)
        frame = frame_of(self.session, relation.decode())
        limits = replace(limits_of(self.session), learnt_rows=round(SAMPLED * relation.rows))
        source = open_source(frame)
        engine = SparkDiscoveryEngine(SparkTable(source.frame, source.schema, "unknown"), limits)
        assert not engine.sample_is_whole
        return engine


def CASES(options: Options) -> list[Comparison]:
    """Both engines on one machine; on a cluster only sizes that are asked for; then the small tables."""
    sizes = options.rows or (LOCAL_ROWS,)
    local = [_local(rows) for rows in sizes if rows < CLUSTER_ROWS]
    small = [_small(table, kind) for table in shared.names() for kind in KINDS if kind not in TOO_WIDE.get(table, ())]
    return [*local, *(_on_cluster(rows) for rows in options.rows), *small]


def _local(rows: int) -> Comparison:
    case, bar = f"{__name__}:Discovery", LOCAL_BAR if rows >= BARRED_ROWS else None
    return Comparison(
        name="all kinds on a local session",
        size=rows,
        ours=Contender(OURS, case, {"rows": rows, "engine": "spark"}),
        peers=(Contender(f"{OURS}, local engine", case, {"rows": rows, "engine": "local"}, bar),),
        make=partial(_make, rows),
    )


def _on_cluster(rows: int) -> Comparison:
    return Comparison(
        name="all kinds on a cluster",
        size=rows,
        ours=Contender(OURS, f"{__name__}:OnCluster", {"rows": rows}),
        make=partial(_make_money, rows),
    )


def _small(table: str, kind: str) -> Comparison:
    case = f"{__name__}:SmallTable"
    params = {"table": table, "kind": kind}
    return Comparison(
        name=f"set of {kind} rules of {table}",
        ours=Contender(OURS, case, {**params, "engine": "spark"}),
        peers=(Contender(f"{OURS}, local engine", case, {**params, "engine": "local"}),),
    )


def _make(rows: int) -> None:
    for number in (WARM_ROWS, rows):
        by_name.path(TABLE, number)


def _make_money(rows: int) -> None:
    for number in (WARM_ROWS, rows):
        tax_money.cached(number)
