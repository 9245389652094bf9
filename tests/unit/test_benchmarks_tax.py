"""The Tax generator: planted rules hold, the truth about planted errors equals brute force, and rows depend on the seed
only."""

from __future__ import annotations

import importlib
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from benchmarks.tables import tax, tax_money, tax_rows

DENIALS = {
    tax.KEY: [("AreaCode", "="), ("Phone", "=")],
    tax.ZIP_CITY: [("Zip", "="), ("City", "!=")],
    tax.ZIP_STATE: [("Zip", "="), ("State", "!=")],
    tax.AREA_STATE: [("AreaCode", "="), ("State", "!=")],
    tax.CHILD_EXEMPTION: [("State", "="), ("HasChild", "="), ("ChildExemp", "!=")],
    tax.SINGLE_EXEMPTION: [("State", "="), ("MaritalStatus", "="), ("SingleExemp", "!=")],
    tax.RATE_ORDER: [("State", "="), ("Salary", "<"), ("Rate", ">")],
}
COMPARE = {"=": np.equal, "!=": np.not_equal, "<": np.less, ">": np.greater}


def violations(table: pa.Table, rule: str) -> np.ndarray:
    """Brute force: a square of booleans, true where the pair of rows violates the rule."""
    square = ~np.eye(table.num_rows, dtype=bool)
    for column, op in DENIALS[rule]:
        values = np.unique(table[column].to_numpy(), return_inverse=True)[1]
        square &= COMPARE[op](values[:, None], values[None, :])
    return square


@pytest.fixture(scope="module")
def clean() -> pa.Table:
    return tax.generate(5_000, seed=3)[0]


@pytest.mark.parametrize("rule", tax.RULES)
def test_planted_rules_hold_on_the_clean_table(clean: pa.Table, rule: str) -> None:
    assert not violations(clean, rule).any()


def test_planted_rules_are_not_trivial(clean: pa.Table) -> None:
    """Groups have several members, and no column is constant or a key by itself."""
    for name in clean.column_names:
        assert 1 < len(clean[name].unique()) <= clean.num_rows, name
    assert len(clean["Phone"].unique()) < clean.num_rows, "Phone alone should not be a key"
    assert len(clean["Zip"].unique()) < clean.num_rows
    assert len(clean["City"].unique()) < len(clean["Zip"].unique())
    cities = set(zip(clean["City"].to_pylist(), clean["State"].to_pylist(), strict=True))
    assert len(cities) > len(clean["City"].unique()), "a city name should occur in several states"


def test_types(clean: pa.Table) -> None:
    assert clean.schema == tax.SCHEMA
    zips = clean["Zip"].to_pylist()
    assert all(len(z) == 5 and z.isdigit() for z in zips)
    assert any(z.startswith("0") for z in zips)
    assert all(p[3] == "-" and len(p) == 8 for p in clean["Phone"].to_pylist())


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(
    "errors", [0, 7, {tax.ZIP_STATE: 20}, {tax.KEY: 5, tax.RATE_ORDER: 11}, {tax.AREA_STATE: 30, tax.KEY: 30}]
)
def test_truth_equals_brute_force(seed: int, errors: dict[str, int] | int) -> None:
    table, truth = tax.generate(2_000, seed=seed, errors=errors)
    for rule in tax.RULES:
        square = violations(table, rule)
        assert truth.broken[rule] == tax.Broken(int(square.sum()), int((square.any(0) | square.any(1)).sum())), rule


def test_cells_are_what_changed_and_each_breaks_its_rule() -> None:
    rows, errors = 2_000, 9
    before, _ = tax.generate(rows, seed=5)
    after, truth = tax.generate(rows, seed=5, errors=errors)
    changed = {
        (row, name, old, new)
        for name in after.column_names
        for row, (old, new) in enumerate(zip(before[name].to_pylist(), after[name].to_pylist(), strict=True))
        if old != new
    }
    assert changed == {(c.row, c.column, c.old, c.new) for c in truth.cells}
    assert len(truth.cells) == errors * len(tax.RULES)
    for rule in tax.RULES:
        square = violations(after, rule)
        mine = [c.row for c in truth.cells if c.rule == rule]
        assert len(mine) == errors
        assert (square[mine].any(1) | square[:, mine].any(0)).all(), rule


def test_key_truth_reaches_across_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """With small blocks the errors spread over many of them, and the truth still equals brute force."""
    for module in ("tax_rows", "tax_damage", "tax_truth"):
        monkeypatch.setattr(importlib.import_module(f"benchmarks.tables.{module}"), "BLOCK", 512)
    table, truth = tax.generate(2_100, seed=4, errors=20)
    assert len({c.row // 512 for c in truth.cells}) >= 4
    for rule in tax.RULES:
        square = violations(table, rule)
        assert truth.broken[rule] == tax.Broken(int(square.sum()), int((square.any(0) | square.any(1)).sum())), rule


def test_same_seed_same_table() -> None:
    first, second = tax.generate(1_000, seed=9, errors=3), tax.generate(1_000, seed=9, errors=3)
    assert first[0].equals(second[0])
    assert first[1] == second[1]
    assert not tax.generate(1_000, seed=10)[0].equals(first[0])


def test_a_short_table_begins_a_long_one() -> None:
    assert (
        tax.generate(1_000, seed=2)[0]
        .combine_chunks()
        .equals(tax.generate(70_000, seed=2)[0].slice(0, 1_000).combine_chunks())
    )


@pytest.mark.parametrize("size", [1_000, 4_096, 70_000, 10**6])
def test_chunk_size_does_not_matter(tmp_path: Path, size: int) -> None:
    rows = tax_rows.BLOCK + 4_321
    expected, truth = tax.generate(rows, seed=6, errors=4)
    path = tmp_path / "tax.parquet"
    assert tax.write_parquet(path, rows, seed=6, errors=4, row_group_size=size) == truth
    assert pq.read_table(path).combine_chunks().equals(expected.combine_chunks())
    assert pq.ParquetFile(path).num_row_groups == -(-rows // size)


def test_csv_reads_back(tmp_path: Path) -> None:
    path = tmp_path / "tax.csv"
    truth = tax.write_csv(path, 1_000, seed=1, errors=2)
    expected, same = tax.generate(1_000, seed=1, errors=2)
    options = pyarrow.csv.ConvertOptions(column_types={f.name: f.type for f in tax.SCHEMA})
    assert pyarrow.csv.read_csv(path, convert_options=options).combine_chunks().equals(expected.combine_chunks())
    assert truth == same


def test_cached_table_keeps_its_truth(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROWLAW_CACHE", str(tmp_path))
    path, truth = tax.cached(500, seed=1, errors=2)
    assert path.parent == tmp_path / "bench"
    written = path.stat().st_mtime_ns
    assert tax.cached(500, seed=1, errors=2) == (path, truth)
    assert path.stat().st_mtime_ns == written
    assert tax.cached(500, seed=1)[0] != path


def test_rows_and_errors_are_checked() -> None:
    with pytest.raises(ValueError, match="not a planted rule"):
        tax.generate(100, errors={"fd (City) -> Zip": 1})
    with pytest.raises(ValueError, match="do not fit"):
        tax.generate(10, errors=50)
    with pytest.raises(ValueError, match="phone numbers run out"):
        tax.generate(tax_rows.MAX_ROWS + 1)
    assert tax.generate(0)[0].num_rows == 0


def test_rates_never_fall_with_salary_in_a_state(clean: pa.Table) -> None:
    """The order rule once more, by sorting instead of comparing pairs."""
    for state in clean["State"].unique().to_pylist():
        part = clean.filter(pc.equal(clean["State"], state)).sort_by("Salary")
        salary, rate = part["Salary"].to_pylist(), part["Rate"].to_pylist()
        assert all(b >= a for (s, a), (t, b) in pairwise(zip(salary, rate, strict=True)) if s < t), state


def test_money_has_the_same_rows_and_a_true_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tax_money, "FILE_ROWS", 400)
    truth = tax_money.write(tmp_path / "table", 1_000, seed=3)
    table = pq.read_table(tmp_path / "table")
    assert len(list((tmp_path / "table").glob("*.parquet"))) == 3
    plain, told = tax.generate(1_000, seed=3, errors=1)
    assert table.select(plain.column_names).equals(plain)
    income, spent, wealth = (table.column(name).to_numpy() for name in tax_money.MORE.names)
    assert {rule: truth[rule] for rule in tax.RULES} == {rule: broken.pairs for rule, broken in told.broken.items()}
    assert truth[tax_money.INCOME_SPENT] == ((income[:, None] < income) & (spent[:, None] > spent)).sum()
    assert truth[tax_money.SPENT_WEALTH] == ((spent[:, None] >= spent) & (wealth[:, None] < wealth)).sum()
    assert len(np.unique(wealth)) > 900


@pytest.mark.parametrize("or_equal", [False, True])
def test_inversions_equal_brute_force(or_equal: bool) -> None:
    random = np.random.default_rng(0)
    for size in (0, 1, 2, 7, 40):
        a, b = random.integers(0, 8, size), random.integers(0, 8, size)
        expected = (a[:, None] < a) & ((b[:, None] >= b) if or_equal else (b[:, None] > b))
        assert tax_money.inverted(a, b, or_equal=or_equal) == expected.sum()
