"""Checking a Spark DataFrame in a warm session: against Spark SQL written by an expert, against version 0.1, and many
rules against one.

The session is one that a user has: started by PySpark itself, with Java's full compiler. Where ours is compared with
SQL, or many rules with one, they take turns in the same session. Every call reads the Parquet file again, and nothing
is kept from one call to the next. Ours and SQL both give exact counts of pairs, which must be equal.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from functools import partial
from typing import Any

from benchmarks.case import OURS, Case, Comparison, Contender, Options
from benchmarks.peers import spark_sql
from benchmarks.shapes import TWENTY
from benchmarks.tables import by_name
from benchmarks.tables.tax import KEY, RATE_ORDER, RULES, ZIP_CITY

TABLE = "tax with errors"
ROWS = 5_000_000
JOIN_ROWS = 200_000  # which the plain self-join counts within a minute or so
SMALL_ROWS = 30_000
MANY_SIZES = (1_000_000, 10_000_000)
MANY_SECONDS = 600  # for one call, without which the larger size is left out
WARM_ROWS = 200_000
ONE_BAR, SEVEN_BAR, JOIN_BAR, BEFORE_BAR, SMALL_BAR, TOGETHER_BAR = 1.2, 1.0, 0.05, 0.3, 0.5, 3.0
THREE = (KEY, ZIP_CITY, RATE_ORDER)
BEFORE = "3567e86"  # version 0.1
SHUFFLE_PARTITIONS = 8  # for two cores; an expert does not leave the 200 of a cluster
HEAP = "4g"


class OnSpark(Case):
    """Something that is asked about a DataFrame in a warm local session, which all cases of a process share."""

    def __init__(self, rows: int, rules: Sequence[str]) -> None:
        self.rows, self.rules = rows, list(rules)

    def prepare(self) -> None:
        self.session = session()

    def warm(self) -> None:
        """Workers are there, kernels and Java code are compiled."""
        for _ in range(2):
            self.ask(WARM_ROWS)

    def run(self) -> Any:
        return self.ask(self.rows)

    def ask(self, rows: int) -> Any:
        """The counts of each rule in a table of so many rows."""
        raise NotImplementedError

    def frame(self, rows: int) -> Any:
        """The table, read anew."""
        return self.session.read.parquet(str(by_name.path(TABLE, rows)))

    def close(self) -> None:
        self.session.stop()


class Ours(OnSpark):
    """``rowlaw.check`` of a DataFrame; ``engine`` is left to the version that runs, if it is None."""

    def __init__(self, rows: int, rules: Sequence[str], engine: str | None = "spark") -> None:
        super().__init__(rows, rules)
        self.engine = engine

    def ask(self, rows: int) -> dict[str, int]:
        return self.count(self.rules, rows)

    def count(self, rules: list[str], rows: int) -> dict[str, int]:
        import rowlaw

        chosen = {} if self.engine is None else {"engine": self.engine}
        result = rowlaw.check(self.frame(rows), rules, progress=False, **chosen)
        counts = dict(zip(rules, result.counts.values(), strict=True))
        result.close()
        return counts


class Slowest(Ours):
    """Only the rule that takes longest alone, which is found out beforehand, on fewer rows of a large table."""

    def warm(self) -> None:
        super().warm()
        taken = {}
        for rule in self.rules:
            began = time.perf_counter()
            self.count([rule], min(self.rows, MANY_SIZES[0]))
            taken[rule] = time.perf_counter() - began
        self.slowest = max(taken, key=lambda rule: taken[rule])

    def run(self) -> None:
        self.count([self.slowest], self.rows)


class Sql(OnSpark):
    """One query for each rule, one after the other; ``how`` is ``expert`` or ``plain``."""

    def __init__(self, rows: int, rules: Sequence[str], how: str = "expert") -> None:
        super().__init__(rows, rules)
        self.queries = {"expert": spark_sql.EXPERT, "plain": spark_sql.PLAIN}[how]

    def ask(self, rows: int) -> dict[str, int]:
        self.frame(rows).createOrReplaceTempView("tax")
        return {rule: int(self.session.sql(self.queries[rule]).first()["pairs"]) for rule in self.rules}


class PlainSql(Sql):
    """The self-join takes long also on few rows, so it is warmed on fewer."""

    def warm(self) -> None:
        self.ask(SMALL_ROWS)


def session() -> Any:
    """The local session of this process, as a user starts one."""
    from pyspark.sql import SparkSession

    from rowlaw.spark.java import find_java

    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ["JAVA_HOME"], os.environ["PYSPARK_PYTHON"] = str(find_java().home), sys.executable
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": HEAP,
        "spark.sql.shuffle.partitions": str(SHUFFLE_PARTITIONS),
        "spark.sql.session.timeZone": "UTC",
    }
    return SparkSession.builder.master("local[*]").config(map=settings).getOrCreate()


def CASES(options: Options) -> list[Comparison]:
    """``--rows`` is for all cases but the one on a small table; the self-join gets at most what it finishes."""
    sizes, many = (
        options.rows or (ROWS,),
        options.rows or (MANY_SIZES if options.timeout >= MANY_SECONDS else MANY_SIZES[:1]),
    )
    found = []
    for rows in sizes:
        found += [
            _against_sql("key", rows, (KEY,), ONE_BAR),
            _against_sql("functional dependency", rows, (ZIP_CITY,), ONE_BAR),
            _against_sql("seven rules", rows, RULES, SEVEN_BAR, "Spark SQL, seven queries"),
        ]
    found += [_against_join(rows) for rows in dict.fromkeys(min(rows, JOIN_ROWS) for rows in sizes)]
    found += [_against_before("DataFrame, three rules", rows, BEFORE_BAR, 3) for rows in sizes]
    found.append(_against_before("small DataFrame, three rules", SMALL_ROWS, SMALL_BAR, 5))
    found += [_twenty(rows) for rows in many]
    return found


def _against_sql(name: str, rows: int, rules: Sequence[str], bar: float, label: str = "Spark SQL") -> Comparison:
    job = {"rows": rows, "rules": list(rules)}
    return Comparison(
        name=name,
        size=rows,
        ours=Contender(OURS, f"{__name__}:Ours", job),
        peers=(Contender(label, f"{__name__}:Sql", job, bar),),
        calls=3,
        make=partial(_make, rows),
        together=True,
    )


def _against_join(rows: int) -> Comparison:
    job = {"rows": rows, "rules": [RATE_ORDER]}
    return Comparison(
        name="equality, two inequalities",
        size=rows,
        ours=Contender(OURS, f"{__name__}:Ours", job),
        peers=(Contender("Spark SQL, self-join", f"{__name__}:PlainSql", {**job, "how": "plain"}, JOIN_BAR),),
        make=partial(_make, rows),
        together=True,
    )


def _against_before(name: str, rows: int, bar: float, calls: int) -> Comparison:
    """In processes of their own, since one process imports one version."""
    job = {"rows": rows, "rules": list(THREE), "engine": None}
    return Comparison(
        name=name,
        size=rows,
        ours=Contender(OURS, f"{__name__}:Ours", job),
        peers=(Contender(f"{OURS} 0.1", f"{__name__}:Ours", job, bar, commit=BEFORE),),
        calls=calls,
        make=partial(_make, rows),
    )


def _twenty(rows: int) -> Comparison:
    job = {"rows": rows, "rules": list(TWENTY)}
    return Comparison(
        name="twenty rules together",
        size=rows,
        ours=Contender(OURS, f"{__name__}:Ours", job),
        peers=(Contender(f"{OURS}, the slowest rule alone", f"{__name__}:Slowest", job, bar=TOGETHER_BAR),),
        make=partial(_make, rows),
        together=True,
    )


def _make(rows: int) -> None:
    for number in (WARM_ROWS, SMALL_ROWS, rows):
        by_name.path(TABLE, number)
