"""Random small tables and rule sets: what the engine on Spark says of them, and what the oracle (tests/naive.py) says.

A case is a table, a meaning of null, limits of the plans and up to four rules of all kinds, as in
``tests/spark/test_engine_equal.py``: half of the cases have limits so low that a few rows are many tasks, with groups
that are too large for one. A job takes far longer than a few rows do, so most cases come in stacks: tables of the same
columns below each other, told apart by one more column that every rule compares, and the violations of all tables are
summed up. Other cases are tables of their own, so that rules without an equality stay as they are. Of some cases of
both sorts rows and pairs are compared, too. What is tried comes from a number alone: ``python -m tests.torture spark
--chunk 17`` tries it again. Cases run in several threads of one session, which must not mix them up.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from itertools import count
from typing import Any, get_args

import pyarrow as pa

from rowlaw.engine.answers import EVERY_PAIR, Sides
from rowlaw.engine.spark.engine import SparkEngine
from rowlaw.engine.spark.limits import SparkLimits
from rowlaw.engine.spark.table import SparkTable
from rowlaw.rules.model import Column, Denial, Nulls, Op, Predicate, Rule
from rowlaw.source import open_source
from rowlaw.spark.jobs import frame_of
from rowlaw.spark.session import session
from tests import naive
from tests.sessions import QUICK
from tests.strategies import Table, to_arrow
from tests.torture import cases
from tests.torture.outcome import Outcome

CASES = 10_000
CASE_SECONDS = 0.2  # at most, on average: more is a machine that is too busy
RULES = 4  # of a case, at most
PREDICATES = 12  # that the rules of a case are made of
LISTED = 20  # one case of so many has its rows and pairs compared, which takes many more jobs
STACK_LISTED, STACK_LISTED_AT = 80, 5  # and of so many numbers the stack at this place
STACKED = 50  # tables of a stack
STACKS = 4  # of so many numbers one is a stack
WHICH = "which table"
THREADS = 3
WORST = 10  # failures after which no further case begins
TINY = SparkLimits(task_bytes=120, buckets=3)


def random_rules(table: Table, chance: random.Random) -> list[Rule]:
    predicates = [cases.random_predicate(table, chance) for _ in range(PREDICATES)]
    return [cases.random_rule(table, predicates, chance) for _ in range(chance.randint(1, RULES))]


def problems(spark: Any, number: int) -> list[str]:
    """What is wrong in the case, or the stack of cases, of a number."""
    chance = random.Random(number)
    table, nulls = cases.random_table(chance), chance.choice(get_args(Nulls))
    rules, limits = random_rules(table, chance), chance.choice([TINY, SparkLimits()])
    tables = [table, *(cases.random_table(chance, like=table) for _ in range(size(number) - 1))]
    try:
        wrong = (
            _of_stack(spark, number, tables, nulls, rules, limits)
            if len(tables) > 1
            else _of_table(spark, number, table, nulls, rules, limits)
        )
    except Exception as error:  # an error is a wrong answer as well
        wrong = [f"{table.values}: {type(error).__name__}: {str(error)[:600]}"]
    return [f"number {number}, {nulls=}, {limits}, {one}" for one in wrong]


def size(number: int) -> int:
    """How many cases a number stands for."""
    return STACKED if number % STACKS == 1 else 1


def engine_of(spark: Any, arrow: pa.Table, nulls: Nulls, limits: SparkLimits, new: str | None = None) -> SparkEngine:
    """The engine over a table in two partitions; ``new`` names the column that says which rows are new ones."""
    source = open_source(frame_of(spark, arrow).repartition(2))
    schema = source.schema if new is None else source.schema.remove(source.schema.get_field_index(new))
    return SparkEngine(SparkTable(source.frame, schema, nulls, new=new), limits)


def _of_table(spark: Any, number: int, table: Table, nulls: Nulls, rules: list[Rule], limits: SparkLimits) -> list[str]:
    """A table of its own: counts, and of some tables the rows and pairs."""
    with closing(engine_of(spark, to_arrow(table), nulls, limits)) as engine:
        if number % LISTED == 0:
            wrong = Listing.of(engine, table.columns, nulls).problems(rules, rules)
        else:
            found = [counted.pairs for counted in engine.check(rules).counts]
            expected = [len(naive.violations(rule, table.values, nulls)) for rule in rules]
            counts = zip(rules, found, expected, strict=True)
            wrong = [f"{rule}: {a} violations, not {b}" for rule, a, b in counts if a != b]
    return [f"{table.values}: {one}" for one in wrong]


def stack(tables: list[Table]) -> pa.Table:
    """Tables of the same columns below each other, and a column that tells them apart."""
    return pa.concat_tables(
        [to_arrow(t).append_column(WHICH, pa.array([i] * t.rows, pa.int64())) for i, t in enumerate(tables)]
    )


def _of_stack(
    spark: Any, number: int, tables: list[Table], nulls: Nulls, rules: list[Rule], limits: SparkLimits
) -> list[str]:
    """Tables below each other: each rule's violations in all of them, and of some stacks rows and pairs of the first
    rules, unless the tasks are of a few bytes: there are so many of them that it takes minutes."""
    denials = [denial for rule in rules for denial in rule.denials]
    stacked = [within(denial) for denial in denials]
    expected = [[len(naive.violations(denial, t.values, nulls)) for t in tables] for denial in denials]
    with closing(engine_of(spark, stack(tables), nulls, limits)) as engine:
        found = [counted.pairs for counted in engine.check(stacked).counts]
        wrong = [
            f"{denial}: {a} violations, not {sum(b)} = {b}, in {[t.values for t in tables]}"
            for denial, a, b in zip(denials, found, expected, strict=True)
            if a != sum(b)
        ]
        if number % STACK_LISTED == STACK_LISTED_AT and limits != TINY and not wrong:
            listing = Listing.of(engine, tables[0].columns, nulls, stacked=True)
            some = listing.problems(stacked[:RULES], denials[:RULES])
            wrong = [f"{one}, in {[t.values for t in tables]}" for one in some]
    return wrong


def within(denial: Denial) -> Denial:
    """The same denial about two rows of one table of a stack."""
    return (
        denial
        if denial.arity == 1
        else Denial((Predicate(Column("s", WHICH), Op.EQ, Column("t", WHICH)), *denial.predicates))
    )


@dataclass
class Listing:
    """Compares rows and pairs of an engine with the oracle's. ``tables``: for each table of a stack, or for the only
    table, the numbers that Spark gives to its rows, its values, and which rows are new."""

    engine: SparkEngine
    nulls: Nulls
    tables: list[tuple[list[int], dict[str, list[Any]], list[bool]]]

    @staticmethod
    def of(engine: SparkEngine, columns: tuple[str, ...], nulls: Nulls, *, stacked: bool = False) -> Listing:
        held = engine.table.numbered.orderBy("row_number").toArrow()
        data = [_plain(held.column(i)).to_pylist() for i in range(held.num_columns)]
        which = data[len(columns)] if stacked else [0] * held.num_rows
        flags = data[len(columns) + stacked] if engine.table.new is not None else [False] * held.num_rows
        tables = []
        for one in sorted(set(which)):
            rows = [row for row, table in enumerate(which) if table == one]
            values = {name: [data[i][row] for row in rows] for i, name in enumerate(columns)}
            tables.append((rows, values, [flags[row] for row in rows]))
        return Listing(engine, nulls, tables)

    def expected(self, rule: Rule, sides: Sides = EVERY_PAIR) -> list[tuple[int, ...]]:
        """The oracle's violations of a rule, table by table; one row alone stands for ``s``."""
        wanted = (sides.s, sides.t)
        return [
            tuple(rows[place] for place in pair)
            for rows, values, new in self.tables
            for pair in naive.violations(rule, values, self.nulls)
            if all(side in ("all", "new" if new[p] else "old") for side, p in zip(wanted, pair, strict=False))
        ]

    def problems(self, asked: Sequence[Rule], rules: Sequence[Rule], sides: Sides = EVERY_PAIR) -> list[str]:
        """What is wrong with counts, rows and pairs. ``asked``: the rules as the engine gets them."""
        findings, wrong = self.engine.check(asked, sides), []
        expected = [sorted(self.expected(rule, sides)) for rule in rules]
        for place, (rule, pairs) in enumerate(zip(rules, expected, strict=True)):
            counted = findings.counts[place]
            if (counted.pairs, counted.rows) != (len(pairs), len({row for pair in pairs for row in pair})):
                wrong.append(f"{rule}: {counted.pairs} pairs and {counted.rows} rows are counted, not {pairs}")
            listed = findings.violations(place, "R").toArrow().to_pylist()
            if sorted(tuple(r[n] for n in ("s_row", "t_row") if r[n] is not None) for r in listed) != pairs:
                wrong.append(f"{rule}: other pairs than {pairs}")
            first = [tuple(r[n] for n in ("s_row", "t_row") if n in r) for r in findings.first(place, 3).to_pylist()]
            if not set(first) <= set(pairs) or len(first) != min(3, len({frozenset(pair) for pair in pairs})):
                wrong.append(f"{rule}: {first} are no first violations of {pairs}")
        involved = findings.rows([str(place) for place in range(len(rules))]).toArrow().to_pylist()
        per_row = {(r["row"], r["rule"]): r["pairs"] for r in involved}
        if per_row != Counter((row, str(p)) for p, pairs in enumerate(expected) for pair in pairs for row in pair):
            wrong.append("other rows take part")
        return wrong


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Moments as the tables have them, without the time zone that Spark gives them."""
    return column.cast(pa.timestamp("us")) if pa.types.is_timestamp(column.type) else column


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
            number = next(numbers)
            outcome.failures += problems(spark, number)
            tried += size(number)
        return tried

    try:
        if only is not None:
            outcome.failures += problems(spark, only)
            outcome.cases = size(only)
        else:
            problems(spark, -2)  # workers start, kernels are compiled
            began = time.monotonic()
            with ThreadPoolExecutor(THREADS) as pool:
                outcome.cases = sum(pool.map(work, range(THREADS)))
            outcome.facts["cases_per_second"] = round(outcome.cases / (time.monotonic() - began), 2)
    finally:
        spark.stop()
    outcome.facts |= {"threads": THREADS, "tables_of_a_stack": STACKED, "wanted": wanted}
    return outcome
