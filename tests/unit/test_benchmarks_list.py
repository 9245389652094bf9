"""The table to list violations of has about as many as it says, and the target's checksum tells pairs apart."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.peers import duckdb_sql
from benchmarks.tables import tax, tax_listing
from benchmarks.targets import list as target
from rowlaw.rules import parse

ROWS = 3_000


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory):
    path = tmp_path_factory.mktemp("tax") / "tax.parquet"
    tax.write_parquet(path, ROWS)
    return duckdb_sql.load(tax_listing.made(path))


@pytest.mark.parametrize("per_row", [1, 10])
def test_violations_per_row(connection, per_row: int) -> None:
    for name, text in target.rules().items():
        if name.endswith(f", {per_row} per row") and "equalities" not in name:
            found = duckdb_sql.join_pairs(connection, parse(text))
            # few errors in a small table: their number is what is random
            assert 0.1 * per_row < found / ROWS < 4 * per_row, name


def test_checksum_depends_on_pairs_not_on_their_order() -> None:
    s, t = np.array([0, 1, 5], np.int32), np.array([7, 2, 3], np.int32)
    assert target.checksum(s, t) == target.checksum(s[::-1].copy(), t[::-1].copy())
    assert target.checksum(s, t) != target.checksum(s, t[::-1].copy())
    assert target.checksum(s, t) != target.checksum(t, s)
