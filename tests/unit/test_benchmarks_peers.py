"""The peers, called through our helpers, agree with the truth about the Tax table and with each other."""

from __future__ import annotations

import itertools
import operator

import numpy as np
import pyarrow as pa
import pytest

from benchmarks.peers import desbordante_tools as tools
from benchmarks.peers import duckdb_sql
from benchmarks.tables import tax

DENIALS = {
    tax.KEY: "AreaCode = Phone =",
    tax.ZIP_CITY: "Zip = City !=",
    tax.ZIP_STATE: "Zip = State !=",
    tax.AREA_STATE: "AreaCode = State !=",
    tax.CHILD_EXEMPTION: "State = HasChild = ChildExemp !=",
    tax.SINGLE_EXEMPTION: "State = MaritalStatus = SingleExemp !=",
    tax.RATE_ORDER: "State = Salary < Rate >",
}
COMPARE = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def predicates(rule: str) -> list[tuple[str, str, str]]:
    words = DENIALS[rule].split()
    return [(f"s.{column}", op, f"t.{column}") for column, op in zip(words[::2], words[1::2], strict=True)]


@pytest.fixture(scope="module")
def damaged() -> tuple[pa.Table, tax.Truth]:
    return tax.generate(3_000, seed=1, errors=6)


def test_duckdb_finds_the_truth(damaged: tuple[pa.Table, tax.Truth]) -> None:
    table, truth = damaged
    connection = duckdb_sql.load(table)
    for rule in tax.RULES:
        assert duckdb_sql.denial_pairs(connection, predicates(rule)) == truth.broken[rule].pairs, rule
        columns = [left[2:] for left, op, _ in predicates(rule) if op == "="]
        if rule.startswith("key"):
            assert duckdb_sql.key_pairs(connection, columns) == truth.broken[rule].pairs
        if rule.startswith("fd"):
            assert duckdb_sql.fd_pairs(connection, columns, predicates(rule)[-1][0][2:]) == truth.broken[rule].pairs, (
                rule
            )


@pytest.mark.parametrize("nulls", ["unknown", "equal"])
def test_duckdb_nulls_and_nan(nulls: str) -> None:
    rng = np.random.default_rng(0)
    a = [None if x == 0 else int(x) for x in rng.integers(0, 4, 40)]
    b = [None if x == 0 else float(x) for x in rng.integers(0, 4, 40)]
    connection = duckdb_sql.load(pa.table({"a": a, "b": [float("nan") if x is None else x for x in b]}))

    def holds(op: str, x: float | None, y: float | None) -> bool:
        if nulls == "unknown":
            return x is not None and y is not None and COMPARE[op](x, y)
        return COMPARE[op]((x is not None, x or 0), (y is not None, y or 0))

    for first, second in itertools.product(COMPARE, COMPARE):
        expected = sum(
            holds(first, a[i], a[j]) and holds(second, b[i], b[j]) for i, j in itertools.permutations(range(40), 2)
        )
        assert duckdb_sql.denial_pairs(connection, [("s.a", first, "t.a"), ("s.b", second, "t.b")], nulls) == expected
        if (first, second) == ("=", "="):
            assert duckdb_sql.key_pairs(connection, ["a", "b"], nulls) == expected
        if (first, second) == ("=", "!="):
            assert duckdb_sql.fd_pairs(connection, ["a"], "b", nulls) == expected


def test_desbordante_finds_the_truth() -> None:
    # few rows: it takes long over functional dependencies with large groups
    table, _ = tax.generate(1_000, seed=1, errors=3)
    connection = duckdb_sql.load(table)
    verifier = tools.load("verify", table.to_pandas())
    for rule in tax.RULES:
        expected = {(min(pair), max(pair)) for pair in duckdb_sql.denial_set(connection, predicates(rule))}
        assert tools.verify(verifier, predicates(rule)) == expected, rule
        assert duckdb_sql.unordered_pairs(connection, predicates(rule)) == len(expected)
        assert tools.count_pairs(verifier, predicates(rule)) == duckdb_sql.denial_pairs(connection, predicates(rule)), (
            rule
        )
    with pytest.raises(ValueError, match="cannot be told"):
        tools.count_pairs(verifier, [("s.Salary", "<=", "t.Salary")])
    with pytest.raises(ValueError, match="no column"):
        tools.verify(verifier, [("s.Zipp", "=", "t.Zip")])


def test_desbordante_discovers_the_planted_rules() -> None:
    frame = tax.generate(3_000, seed=1)[0].select(["State", "HasChild", "ChildExemp", "Salary", "Rate"]).to_pandas()
    dependencies = tools.hyfd(tools.load("hyfd", frame))
    assert (frozenset({0, 1}), 2) in dependencies
    assert tools.fastod(tools.load("fastod", frame)).constant == dependencies
    assert tools.hpivalid(tools.load("hpivalid", frame)) == tools.hyucc(tools.load("hyucc", frame))
    found = tools.fastadc(tools.load("fastadc", frame.head(300)))
    assert frozenset(
        {("s.State", "=", "t.State"), ("s.HasChild", "=", "t.HasChild"), ("s.ChildExemp", "!=", "t.ChildExemp")}
    ) in {frozenset(rule) for rule in found}
