"""Random small tables and rules: what the engine says of them, and what the oracle (tests/naive.py) says.

A case is a table, a meaning of null and a rule, or a table and a meaning of null whose rules are discovered. A chunk of
cases comes from its number alone, so that ``python -m tests.torture cases --chunk 17`` tries the same ones again.
"""

from __future__ import annotations

import datetime as dt
import math
import multiprocessing
import random
import time
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any, get_args

from rowlaw.discovery.denial import discover_denials
from rowlaw.discovery.dependencies import discover_dependencies
from rowlaw.engine.local.engine import LocalEngine
from rowlaw.engine.local.statistics import RelationStatistics
from rowlaw.predicates import SpaceOptions, predicate_space
from rowlaw.relation import Relation, encode
from rowlaw.rules.implication import canonical
from rowlaw.rules.model import (
    Column,
    Constant,
    Denial,
    FunctionalDependency,
    Key,
    Nulls,
    Op,
    OrderCompatible,
    OrderDependency,
    Predicate,
    Rule,
    SortColumn,
)
from rowlaw.source import open_source
from rowlaw.spark.jobs import DriverThreads
from tests import naive
from tests.strategies import CLASS_OF, SHAPES, Table, to_arrow
from tests.torture.outcome import Outcome

MILLION = 1_000_000
TABLES = 12  # of a chunk
RULES = 150  # of a table, each under both meanings of null
PREDICATES = 60  # that the rules of a table are made of
SPELLED_OUT = 40  # one rule of so many is also checked by the oracle as a whole, not only predicate by predicate
ENUMERATED = 4  # one rule of so many has its pairs listed
DISCOVERED = 3  # one table of so many has its rules discovered
PROCESSES = 2

# Few values, so that ties abound; of the numbers some are equal across types, and some only nearly.
POOLS: dict[str, list[Any]] = {
    "integer": [0, 1, 2, -1, 2**53, 2**53 + 1],
    "float": [0.0, 1.0, 2.0, -0.0, 0.1, 2.0**53, math.inf, math.nan],
    "text": ["a", "b", "", "A", "a ", "1", "é", "e\u0301", "\U00010000", "\uffff", "a\x00"],
    "boolean": [False, True],
    "date": [dt.date(2020, 1, 1), dt.date(2020, 1, 2), dt.date.min],
}


@dataclass
class Tally:
    """What a chunk of cases came to."""

    tables: int = 0
    cases: int = 0
    broken: int = 0  # rules that some rows break
    listed: int = 0  # rules whose pairs were listed
    discoveries: int = 0
    failures: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        for name in ("tables", "cases", "broken", "listed", "discoveries"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.failures += other.failures


def random_table(chance: random.Random, like: Table | None = None) -> Table:
    """One to six rows of one to four columns, mostly alike, with nulls; with the columns of another table, if one is
    given."""
    n, names = chance.randint(1, 6), "abcd"[: chance.randint(1, 4)]
    pools = {kind: chance.sample(values, min(len(values), chance.randint(1, 4))) for kind, values in POOLS.items()}
    values: dict[str, list[Any]] = {}
    kinds = chance.choices(["integer", "text", "float", "boolean", "date"], [6, 3, 3, 1, 1], k=len(names))
    physical = dict(zip(names, kinds, strict=True)) if like is None else like.physical
    for name, kind in physical.items():
        pool, shape = pools[kind], chance.choice(SHAPES)
        alike = [c for c in values if physical[c] == kind]
        if shape == "all null":
            values[name] = [None] * n
        elif shape == "one value":
            values[name] = [pool[0]] * n
        elif shape == "nearly a copy" and alike:
            values[name] = list(values[chance.choice(alike)])
            values[name][chance.randrange(n)] = chance.choice([*pool, None])
        else:
            values[name] = [chance.choice([*pool, None] if shape == "mixed" else pool) for _ in range(n)]
    return Table(values, {name: CLASS_OF[kind] for name, kind in physical.items()}, physical)  # type: ignore[index,arg-type]


def random_predicate(table: Table, chance: random.Random) -> Predicate:
    a, op = chance.choice(table.columns), chance.choice(list(Op))
    others = [c for c in table.columns if c != a and table.types[c] == table.types[a]]
    row = chance.choice("st")
    match chance.choice(["same", "same", "cross", "cross", "row", "literal"]):
        case "literal":
            known = [
                v
                for v in (*table.values[a], *POOLS[table.physical[a]])
                if not naive.is_null(v) and v not in (math.inf, -math.inf)
            ]
            return Predicate(Column(row, a), op, Constant(chance.choice(known)))  # type: ignore[arg-type]
        case "row" if others:
            return Predicate(Column(row, a), op, Column(row, chance.choice(others)))  # type: ignore[arg-type]
        case "cross" if others:
            return Predicate(Column("s", a), op, Column("t", chance.choice(others)))
        case _:
            return Predicate(Column("s", a), op, Column("t", a))


def random_rule(table: Table, predicates: list[Predicate], chance: random.Random) -> Rule:
    kind = chance.random()
    names = chance.sample(table.columns, len(table.columns))
    if kind < 0.8:
        return Denial(tuple(chance.sample(predicates, chance.randint(1, 4))))
    if kind < 0.85:
        return Key(tuple(names[: chance.randint(1, 3)]))
    if kind < 0.9:
        return FunctionalDependency(tuple(names[1 : chance.randint(1, 4)]), names[0])
    if kind < 0.95 and len(names) > 1:
        return OrderCompatible(tuple(names[2 : chance.randint(2, 4)]), names[0], names[1], chance.random() < 0.5)
    sides = [
        tuple(SortColumn(chance.choice(names), chance.random() < 0.5) for _ in range(chance.randint(1, 2)))
        for _ in range(2)
    ]
    return OrderDependency(*sides)


class Oracle:
    """The violations of rules over one table by the oracle's predicates, of which each is asked once: a bit for each
    two rows."""

    def __init__(self, table: Table, nulls: Nulls) -> None:
        self.table, self.nulls, n = table.values, nulls, table.rows
        self.places = [(s, t) for s in range(n) for t in range(n)]
        self.known: dict[Predicate, int] = {}
        self.one, self.two = (
            sum(1 << i for i, (s, t) in enumerate(self.places) if (s == t) == same) for same in (True, False)
        )

    def bits(self, predicate: Predicate) -> int:
        found = self.known.get(predicate)
        if found is None:
            found = sum(
                1 << i for i, (s, t) in enumerate(self.places) if naive.holds(predicate, self.table, s, t, self.nulls)
            )
            self.known[predicate] = found
        return found

    def violations(self, rule: Rule) -> list[tuple[int, int]]:
        found = 0
        for denial in rule.denials:
            broken = self.one if denial.arity == 1 else self.two
            for predicate in denial.predicates:
                broken &= self.bits(predicate)
            found |= broken
        return [place for i, place in enumerate(self.places) if found >> i & 1]


def check_rules(table: Table, relation: Relation, nulls: Nulls, rules: list[Rule], tally: Tally) -> None:
    """Counts, rows, a witness and pairs of every rule."""
    oracle = Oracle(table, nulls)
    engine = LocalEngine(relation, nulls, workers=DriverThreads(1))
    for number, (rule, found, witness) in enumerate(
        zip(rules, engine.count(rules), engine.witness(rules), strict=True)
    ):
        expected = oracle.violations(rule)
        rows: dict[int, int] = {}
        for s, t in expected:
            for row in {s, t}:
                rows[row] = rows.get(row, 0) + 1
        problems = []
        if found.pairs != len(expected):
            problems.append(f"{found.pairs} violations, not {len(expected)}")
        if dict(zip(found.rows.tolist(), found.per_row.tolist(), strict=True)) != rows:
            problems.append("other rows take part")
        if (witness is None) != (not expected) or (witness is not None and witness not in expected):
            problems.append(f"the witness {witness}")
        if number % ENUMERATED == 0:
            tally.listed += 1
            if (
                sorted((int(s), int(t)) for batch in engine.pairs(rule) for s, t in zip(*batch, strict=True))
                != expected
            ):
                problems.append("other pairs")
        if (
            number % SPELLED_OUT == 0
            and [(p[0], p[-1]) for p in naive.violations(rule, table.values, nulls)] != expected
        ):
            problems.append("the oracle differs from itself")
        tally.cases += 1
        tally.broken += bool(expected)
        if problems:
            tally.failures.append(f"{rule}, nulls={nulls}, {table.values}: {'; '.join(problems)}")


def check_discovery(table: Table, relation: Relation, nulls: Nulls, chance: random.Random, tally: Tally) -> None:
    """Keys, functional dependencies and order compatibilities, and denial constraints, exact or nearly."""
    error, strategy = chance.choice([0.0, 0.0, 0.2]), chance.choice(["auto", "pairs", "sample"])
    engine = LocalEngine(relation, nulls, workers=DriverThreads(1))
    expected: set[Rule] = set()
    for twin in (naive.minimal_keys, naive.minimal_fds, naive.minimal_ods):
        expected |= twin(table.values, nulls, error)
    found = set(discover_dependencies(engine, error=error, strategy=strategy).rules)
    tally.discoveries += 1
    if found != expected:
        tally.failures.append(
            f"dependencies {error=} {strategy=} {nulls=} {table.values}: {sorted(map(str, found ^ expected))}"
        )
    # the oracle tries all rules: their number explodes when columns are compared with each other
    crossed = len(table.columns) < 3
    options = SpaceOptions(
        cross=crossed, overlap=0.0, single_row=crossed and chance.random() < 0.5, order_strings=chance.random() < 0.5
    )
    space = predicate_space(RelationStatistics(relation), options)
    strategy = chance.choice([strategy, "hydra"])
    denials = {canonical(d) for d in discover_denials(engine, space, error=error, strategy=strategy).denials}
    twins = {canonical(d) for d in naive.minimal_denials(table.values, space, nulls, error)}
    tally.discoveries += 1
    if denials != twins:
        tally.failures.append(
            f"denials {error=} {strategy=} {options=} {nulls=} {table.values}: {sorted(map(str, denials ^ twins))}"
        )


def chunk(number: int) -> Tally:
    """The cases of a number. An error in one of them is a failure like any other."""
    chance, tally = random.Random(number), Tally()
    for i in range(TABLES):
        table = random_table(chance)
        predicates = [random_predicate(table, chance) for _ in range(PREDICATES)]
        rules = [random_rule(table, predicates, chance) for _ in range(RULES)]
        tally.tables += 1
        with encode(open_source(to_arrow(table)), workers=DriverThreads(1)) as relation:
            for nulls in get_args(Nulls):
                try:
                    check_rules(table, relation, nulls, rules, tally)
                    if i % DISCOVERED == 0:
                        check_discovery(table, relation, nulls, chance, tally)
                except Exception as error:
                    tally.failures.append(f"chunk {number}, {nulls=}, {table.values}: {type(error).__name__}: {error}")
    return tally


def run(seconds: float, *, wanted: int = MILLION, seed: int = 0, only: int | None = None) -> Outcome:
    """Chunk after chunk in two processes, until there are as many cases as wanted or the time is over."""
    outcome = Outcome("cases", "random tables and rules against the oracle")
    if only is not None:
        tally = chunk(only)
    else:
        tally, began = Tally(), time.monotonic()
        context = multiprocessing.get_context("spawn")  # Numba's threads do not live through a fork
        with ProcessPoolExecutor(PROCESSES, context) as pool:
            numbers = iter(range(seed << 32, (seed + 1) << 32))
            running = {pool.submit(chunk, next(numbers)) for _ in range(PROCESSES)}
            while running:
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for one in done:
                    tally.add(one.result())
                    expected = tally.cases + len(running) * TABLES * RULES * 2
                    if expected < wanted and time.monotonic() - began < seconds and len(tally.failures) < 10:
                        running.add(pool.submit(chunk, next(numbers)))
        outcome.facts["cases_per_second"] = round(tally.cases / (time.monotonic() - began))
    outcome.cases = tally.cases + tally.discoveries
    outcome.failures += tally.failures
    outcome.facts |= {
        "tables": tally.tables,
        "rules_checked": tally.cases,
        "rules_broken": tally.broken,
        "rules_with_pairs_listed": tally.listed,
        "discoveries": tally.discoveries,
        "wanted": wanted,
    }
    return outcome
