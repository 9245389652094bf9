"""Batches of every size lead to the rules that discovery finds, and back."""

import pyarrow as pa
import pytest

from tests.replay import replay

ROWS = 60


@pytest.fixture(scope="module")
def grown():
    """Zips have one city until late rows break that; wages rise with the grade but for one."""
    rows = range(ROWS)
    return pa.table(
        {
            "zip": [r % 7 for r in rows],
            "city": [f"c{r % 7 // 2}" if r < 50 else "c9" for r in rows],
            "grade": [r % 5 for r in rows],
            "wage": [100 * (r % 5) + (r == 55) for r in rows],
        }
    )


@pytest.mark.parametrize("size", [1, 7, None], ids=["one", "some", "all"])
@pytest.mark.parametrize("kinds", [("dc",), ("key", "fd", "od", "dc")], ids=["dc", "all"])
def test_batches(grown, size, kinds):
    counted = replay(grown.slice(0, 30), grown.slice(30), size, kinds)
    assert len(counted) == (1 if size is None else min(10, -(-30 // size)))
    assert counted[-1] > 0
