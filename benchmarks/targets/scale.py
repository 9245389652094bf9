"""A table that no process holds: nine rules on a cluster of two small workers, also when one of them is killed in the
middle.

Tax with three columns of many values (``benchmarks/tables/tax_money.py``) in Parquet files, the seven planted rules and
two rules of inequalities alone, which at 50 million rows have more than 10^13 violations each. The counts must be those
of the generator. The two workers of a standalone cluster have one core and 2 GiB each, the driver's Java has 1 GiB, and
nothing above 64 MB may pass the driver. Beside the time: bytes shuffled, and peaks of the driver's Python process and
of each Python worker.

    python -m benchmarks scale --rows 5M,50M --timeout 3600
"""

from __future__ import annotations

import json
import threading
import time
from functools import partial
from typing import Any

from benchmarks.case import OURS, Case, Comparison, Contender, Fact, Options
from benchmarks.compare import difference
from benchmarks.peaks import Watch, peak_rss, reset_peak
from benchmarks.standalone import Standalone
from benchmarks.tables import tax_money

SIZES = (5_000_000, 50_000_000)
WARM_ROWS = 200_000
ROW_SECONDS = 3e-5  # of a timed call, at most
GROWTH_BAR = 12.0
DRIVER_MIB, WORKER_MIB = 600.0, 1024.0  # bars for peaks
MIDDLE = 0.5  # of the time that the undisturbed run took, after which a worker is killed
SETTINGS = {
    "spark.driver.memory": "1g",
    "spark.driver.maxResultSize": "64m",
    "spark.executor.memory": "800m",  # of 2 GiB
    "spark.executor.memoryOverhead": "1g",  # for the Python worker beside it
    "spark.executor.cores": "1",
    "spark.executor.extraJavaOptions": "-XX:+UseParallelGC",  # Java's full compiler: runs are long
    "spark.sql.shuffle.partitions": "64",  # joined by adaptive execution where they are small
    "spark.executorEnv.OMP_NUM_THREADS": "1",
}


class Scale(Case):
    """``rowlaw.check`` of the Parquet files on the cluster; with ``kill``, a worker and its executor are killed in the
    middle."""

    def __init__(self, rows: int, kill: bool = False) -> None:
        self.rows, self.kill = rows, kill
        self.session: Any = None
        self.measured: list[Fact] = []

    def prepare(self) -> None:
        self.path, self.truth = tax_money.cached(self.rows)
        self.small = tax_money.cached(WARM_ROWS)[0]
        self.cluster = Standalone(workers=2, cores=1, memory="2g").__enter__()
        try:
            self.session = self.cluster.session(**SETTINGS)
        except BaseException:
            self.cluster.__exit__()
            raise

    def warm(self) -> None:
        """Kernels are compiled; and where a worker is killed, it is known when the middle is."""
        self._check(self.small)
        if self.kill and not self._duration.exists():
            self._timed()

    def run(self) -> dict[str, int]:
        if not self.kill:
            return self._timed()
        after = MIDDLE * json.loads(self._duration.read_text(encoding="utf-8"))
        ended = threading.Event()

        def kill() -> None:
            if not ended.wait(after):
                self.cluster.kill_worker(0)
                self.killed_after = time.monotonic() - began

        self.killed_after = 0.0
        killer = threading.Thread(target=kill, daemon=True)
        began = time.monotonic()
        killer.start()
        try:
            found = self._watched()
        finally:
            ended.set()
            killer.join()
        if not self.killed_after:
            raise RuntimeError(f"the run ended before a worker was killed, after {after:.0f} s")
        self.measured.append(Fact("a worker killed after", self.killed_after, "s"))
        return found

    def in_short(self, found: dict[str, int]) -> dict[str, int]:
        """The counts, which must be the true ones."""
        if found != self.truth:
            raise ValueError("; ".join(["not what the generator says (ours / true)", *difference(found, self.truth)]))
        return found

    def facts(self) -> list[Fact]:
        return self.measured

    def close(self) -> None:
        if self.session is not None:
            self.session.stop()
        self.cluster.__exit__()

    @property
    def _duration(self) -> Any:
        """A file with the seconds that the undisturbed run took."""
        return self.path / "_seconds.json"

    def _timed(self) -> dict[str, int]:
        began = time.monotonic()
        found = self._watched()
        self._duration.write_text(json.dumps(time.monotonic() - began), encoding="utf-8")
        return found

    def _watched(self) -> dict[str, int]:
        written, read = self._shuffled()
        reset_peak()
        with Watch(lambda: [worker.pid for worker in self.cluster.workers]) as watch:
            found = self._check(self.path)
        workers = watch.peaks.values()
        after = self._shuffled()
        self.measured = [
            Fact("shuffle written", (after[0] - written) / 2**20, "MiB"),
            Fact("shuffle read", (after[1] - read) / 2**20, "MiB"),
            Fact("peak of the driver's Python process", peak_rss("self") / 2**20, "MiB", DRIVER_MIB),
            Fact("peak of a Python worker", max(workers, default=0) / 2**20, "MiB", WORKER_MIB),
            Fact("Python workers", len(workers), "processes"),
        ]
        return found

    def _check(self, path: Any) -> dict[str, int]:
        import rowlaw

        result = rowlaw.check(
            self.session.read.parquet(str(path)), list(tax_money.RULES), engine="spark", progress=False
        )
        counts = dict(zip(tax_money.RULES, result.counts.values(), strict=True))
        result.close()
        return counts

    def _shuffled(self) -> tuple[int, int]:
        """Bytes written to and read from shuffles so far, by all executors, also those that are gone."""
        store = self.session.sparkContext._jsc.sc().statusStore()
        executors = store.executorList(False)
        summaries = [executors.apply(i) for i in range(executors.length())]
        return sum(int(e.totalShuffleWrite()) for e in summaries), sum(int(e.totalShuffleRead()) for e in summaries)


def CASES(options: Options) -> list[Comparison]:
    """The nine rules at each size, undisturbed and with a worker killed; sizes that a call would not finish only on
    request."""
    affordable = [rows for rows in SIZES if rows * ROW_SECONDS <= options.timeout]
    return [_nine_rules(rows) for rows in options.rows or affordable]


def _nine_rules(rows: int) -> Comparison:
    case = f"{__name__}:{Scale.__name__}"
    return Comparison(
        name="nine rules on two workers",
        size=rows,
        ours=Contender(OURS, case, {"rows": rows}),
        peers=(Contender(f"{OURS}, a worker killed", case, {"rows": rows, "kill": True}),),
        make=partial(_make, rows),
        growth_bar=GROWTH_BAR,
    )


def _make(rows: int) -> None:
    for number in (WARM_ROWS, rows):
        tax_money.cached(number)
