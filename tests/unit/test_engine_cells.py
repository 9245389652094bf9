"""Counting without sorting, against all pairs one by one: in cells, by kinds, by exceptions, and among rows that have
partners at all."""

from itertools import product

import numpy as np
import pyarrow as pa
import pytest

from rowlaw.engine.local.cells import Cells, Exceptions
from rowlaw.engine.local.compile import Scales, compile_rule
from rowlaw.engine.local.costs import REPEATING_ROWS
from rowlaw.engine.local.count import count
from rowlaw.engine.local.engine import LocalEngine
from rowlaw.engine.local.kinds import DistinctRows
from rowlaw.engine.local.method import Question
from rowlaw.engine.local.terms import Terms
from rowlaw.kernels.sort import sort_keys
from rowlaw.relation import encode
from rowlaw.rules import parse
from rowlaw.source import open_source

N = 300
random = np.random.default_rng(7)
ZIP = random.integers(0, 20, N)
COLUMNS = {
    "state": random.integers(0, 4, N),
    "x": random.integers(0, 12, N),
    "y": random.integers(0, 9, N),
    "zip": ZIP,
    "city": np.where(random.random(N) < 0.06, random.integers(0, 200, N), 10 * ZIP),
    "part": random.integers(0, 400, N),
    "supplier": random.integers(390, 420, N),
    "few": random.integers(0, 4, N),
    "fewer": random.integers(0, 3, N),
}
WITH_NULLS = {name: pa.array(values, mask=random.random(N) < 0.1) for name, values in COLUMNS.items()}
COMPARE = {
    "=": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}


def brute(denial, table, nulls):
    """Pairs in all and for each row, from the matrix of all pairs."""
    broken = ~np.eye(N, dtype=bool)
    for p in denial.predicates:
        left, right = (np.array(table[o.name].fill_null(-1)) for o in (p.left, p.right))
        broken &= COMPARE[p.op.symbol](left[:, None], right[None, :])
        if nulls == "unknown":
            broken &= (left[:, None] >= 0) & (right[None, :] >= 0)
    return int(broken.sum()), (broken.sum(axis=0) + broken.sum(axis=1)).tolist()


@pytest.mark.parametrize("nulls", ["unknown", "equal"])
@pytest.mark.parametrize(
    "rule",
    [
        "key (state, x)",
        *(f"not (s.state = t.state and s.x {op} t.x)" for op in COMPARE),
        *(
            f"not (s.state = t.state and s.x {a} t.x and s.y {b} t.y)"
            for a, b in product(["<", "<=", ">", ">="], repeat=2)
        ),
    ],
)
def test_in_cells(rule, nulls):
    table = pa.table(WITH_NULLS)
    relation = encode(open_source(table))
    (denial,) = parse(rule).denials
    compiled = compile_rule(denial, Scales(relation, nulls))
    found = count(compiled, N)
    assert found.method == Cells()
    assert (found.pairs, found.per_row.tolist()) == brute(denial, table, nulls)


@pytest.mark.parametrize("nulls", ["unknown", "equal"])
@pytest.mark.parametrize(
    "columns", [("x", "y", ""), ("few", "fewer", "s.state = t.state and "), ("x", "y", "s.zip = t.zip and ")]
)
@pytest.mark.parametrize("ops", list(product(["<", "<=", ">", ">="], repeat=2)))
def test_by_distinct_rows(ops, columns, nulls):
    x, y, equal = columns
    table = pa.table(WITH_NULLS)
    relation = encode(open_source(table))
    (denial,) = parse(f"not ({equal}s.{x} {ops[0]} t.{x} and s.{y} {ops[1]} t.{y})").denials
    compiled = compile_rule(denial, Scales(relation, nulls))
    found = count(compiled, N, methods=[DistinctRows(min_rows=1, repeated=0), Terms()])
    # where more than every second row has a combination of values of its own, the method declines
    assert found.method == (Terms() if "zip" in equal else DistinctRows(min_rows=1, repeated=0))
    assert (found.pairs, found.per_row.tolist()) == brute(denial, table, nulls)


@pytest.mark.parametrize(("values", "repeats"), [(1_000, True), (10_000_000, False)])
def test_how_often_rows_repeat(values, repeats):
    made = np.random.default_rng(3)
    relation = encode(
        open_source(pa.table({name: made.integers(0, round(values**0.5), REPEATING_ROWS) for name in ("x", "y")}))
    )
    (denial,) = parse("not (s.x < t.x and s.y > t.y)").denials
    assert DistinctRows().applies(Question(compile_rule(denial, Scales(relation, "unknown")), relation.rows)) == repeats


@pytest.mark.parametrize("nulls", ["unknown", "equal"])
def test_by_exceptions(nulls):
    table = pa.table(WITH_NULLS)
    relation = encode(open_source(table))
    (denial,) = parse("fd (zip) -> city").denials
    compiled = compile_rule(denial, Scales(relation, nulls))
    assert Exceptions().applies(Question(compiled, N))
    never_declines = Exceptions(rows_per_exception=1)
    found = count(compiled, N, methods=[never_declines])
    assert found.method == never_declines
    assert (found.pairs, found.per_row.tolist()) == brute(denial, table, nulls)
    assert count(compiled, N).pairs == found.pairs


def test_exceptions_are_few():
    """In a clean table they are found; where they are the rule, the attempt is given up."""
    relation = encode(
        open_source(
            pa.table({"zip": ZIP, "city": 10 * ZIP + (np.arange(N) % 50 == 0), "noise": random.integers(0, 250, N)})
        )
    )
    for column, few in (("city", True), ("noise", False)):
        (denial,) = parse(f"fd (zip) -> {column}").denials
        compiled = compile_rule(denial, Scales(relation, "unknown"))
        found = count(compiled, N, methods=[Exceptions(few_cells=0.0), Terms()])
        assert (found.method == Exceptions(few_cells=0.0)) == few
        values = np.array(relation.decode(columns=["zip", column]).to_pandas())
        broken = (values[:, None, 0] == values[None, :, 0]) & (values[:, None, 1] != values[None, :, 1])
        assert LocalEngine(relation).count([parse(f"fd (zip) -> {column}")])[0].pairs == broken.sum()
        assert (found.pairs, found.per_row.tolist()) == (
            broken.sum(),
            (broken.sum(axis=0) + broken.sum(axis=1)).tolist(),
        )


@pytest.mark.parametrize("nulls", ["unknown", "equal"])
def test_only_rows_with_partners(nulls):
    table = pa.table(WITH_NULLS)
    relation = encode(open_source(table))
    rule = parse("not (s.part = t.supplier and s.x < t.x)")
    (denial,) = rule.denials
    (found,) = LocalEngine(relation, nulls).count([rule])
    per_row = np.zeros(N, np.int64)
    per_row[found.rows] = found.per_row
    wanted, each = brute(denial, table, nulls)
    assert 0 < wanted < N * N / 100
    assert (found.pairs, per_row.tolist()) == (wanted, each)


@pytest.mark.parametrize("bits", [1, 8, 9, 20, 33, 50])
@pytest.mark.parametrize("large", [0, 100, 1 << 21])
def test_sorting_in_parts(bits, large):
    """Many keys are dealt out to parts by their highest bits first; the order is that of a stable sort."""
    for n in (0, 1, 2, 700):
        keys = (random.integers(0, 1 << bits, n) // 3).astype(np.uint32 if bits <= 32 else np.uint64)
        order = np.argsort(keys, kind="stable")
        ordered, places = sort_keys(keys.copy(), bits, large)
        assert (places.tolist(), ordered.tolist()) == (order.tolist(), keys[order].tolist())
