"""Random small tables and rule sets: what the engine on Spark says of them, and what the oracle (tests/naive.py) says.

A case is a table, a meaning of null, limits of the plans and up to four rules of all kinds, as in ``tests/spark/test_engine_equal.py``:
half of the cases have limits so low that a few rows are many tasks, with groups that are too large for one. Counts are compared in every
case, rows and pairs in some. A case comes from its number alone, so that ``python -m tests.torture spark --chunk 17`` tries it again.
Cases run in several threads of one session, which must not mix them up.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any, get_args

from rowlaw.engine.spark.engine import SparkEngine
from rowlaw.engine.spark.limits import SparkLimits
from rowlaw.engine.spark.table import SparkTable
from rowlaw.rules.model import Nulls, Rule
from rowlaw.source import open_source
from rowlaw.spark.jobs import frame_of
from rowlaw.spark.session import session
from tests import naive
from tests.strategies import Table, to_arrow
from tests.torture import cases
from tests.torture.outcome import Outcome

CASES = 10_000
CASE_SECONDS = 1.0  # at most, on average: more is a machine that is too busy
RULES = 4  # of a case, at most
PREDICATES = 12  # that the rules of a case are made of
LISTED = 20  # one case of so many has its rows and pairs compared, which takes many more jobs
THREADS = 3
WORST = 10  # failures after which no further case begins
TINY = SparkLimits(task_bytes=120, buckets=3)
QUICK = {
    # tens of thousands of small queries, each of which would be compiled
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
}


def random_rules(table: Table, chance: random.Random) -> list[Rule]:
    predicates = [cases.random_predicate(table, chance) for _ in range(PREDICATES)]
    return [cases.random_rule(table, predicates, chance) for _ in range(chance.randint(1, RULES))]


def problems(spark: Any, number: int) -> list[str]:
    """What is wrong in the case of a number."""
    chance = random.Random(number)
    table, nulls = cases.random_table(chance), chance.choice(get_args(Nulls))
    rules, limits = random_rules(table, chance), chance.choice([TINY, SparkLimits()])
    source = open_source(frame_of(spark, to_arrow(table)).repartition(2))
    engine = SparkEngine(SparkTable(source.frame, source.schema, nulls), limits)
    try:
        found = [counted.pairs for counted in engine.check(rules).counts]
        expected = [len(naive.violations(rule, table.values, nulls)) for rule in rules]
        wrong = [f"{rule}: {a} violations, not {b}" for rule, a, b in zip(rules, found, expected, strict=True) if a != b]
        if number % LISTED == 0 and not wrong:
            wrong = _of_rows(engine, table, nulls, rules)
    except Exception as error:  # an error is a wrong answer as well
        wrong = [f"{type(error).__name__}: {str(error)[:600]}"]
    finally:
        engine.close()
    return [f"case {number}, {nulls=}, {limits}, {table.values}: {one}" for one in wrong]


def _of_rows(engine: SparkEngine, table: Table, nulls: Nulls, rules: list[Rule]) -> list[str]:
    """What is wrong with the rows and pairs of a case, by the numbers that Spark gives to its rows."""
    held = engine.table.numbered.orderBy("row_number").toArrow()
    values = {name: held.column(i).to_pylist() for i, name in enumerate(table.columns)}
    findings, wrong = engine.check(rules), []
    for place, rule in enumerate(rules):
        expected = naive.violations(rule, values, nulls)
        listed = findings.violations(place, "R").toArrow().to_pylist()
        if sorted((r["s_row"], r["t_row"]) if r["t_row"] is not None else (r["s_row"],) for r in listed) != sorted(expected):
            wrong.append(f"{rule}: other pairs")
    involved = findings.rows([str(place) for place in range(len(rules))]).toArrow().to_pylist()
    per_row = {(r["row"], r["rule"]): r["pairs"] for r in involved}
    if per_row != Counter((row, str(p)) for p, rule in enumerate(rules) for pair in naive.violations(rule, values, nulls) for row in pair):
        wrong.append("other rows take part")
    return wrong


def run(seconds: float, *, wanted: int = CASES, seed: int = 0, only: int | None = None) -> Outcome:
    """Cases in some threads of one local session, until there are as many as wanted or the time is over."""
    outcome = Outcome("spark", "random tables and rule sets by the engine on Spark against the oracle")
    spark = session()
    for name, value in QUICK.items():
        spark.conf.set(name, value)
    began = time.monotonic()
    numbers = count(seed << 32)

    def work(_: int) -> int:
        """One thread; how many cases it tried."""
        tried = 0
        while tried * THREADS < wanted and time.monotonic() - began < seconds and len(outcome.failures) < WORST:
            outcome.failures += problems(spark, next(numbers))
            tried += 1
        return tried

    try:
        if only is not None:
            outcome.failures += problems(spark, only)
            outcome.cases = 1
        else:
            problems(spark, -1)  # workers start, kernels are compiled
            began = time.monotonic()
            with ThreadPoolExecutor(THREADS) as pool:
                outcome.cases = sum(pool.map(work, range(THREADS)))
            outcome.facts["cases_per_second"] = round(outcome.cases / (time.monotonic() - began), 2)
    finally:
        spark.stop()
    outcome.facts |= {"threads": THREADS, "with_rows_and_pairs": outcome.cases // LISTED, "wanted": wanted}
    return outcome
