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


ACROSS = [
    f"s.{a} {op} t.{b}"
    for a, b in (("zip", "zip"), ("zip", "grade"), ("wage", "wage"))
    for op in ("=", "!=", "<", "<=", ">", ">=")
]
ACROSS += [f"s.grade {op} s.zip" for op in ("=", "<", ">")]  # within a row


@pytest.mark.parametrize("nulls", ["equal", "unknown"])
@pytest.mark.parametrize("size", [7, None], ids=["some", "all"])
def test_predicates_across_columns_and_within_rows(grown, size, nulls):
    replay(grown.slice(0, 30), grown.slice(30), size, nulls=nulls, cross=True, predicates=ACROSS)


@pytest.mark.parametrize("size", [1, 7], ids=["one", "some"])
def test_twelve_columns(size):
    rows = range(ROWS)
    table = pa.table(
        {f"c{i}": [(r * (i + 3)) // (i + 1) % (2 + i) if (r + i) % 11 else None for r in rows] for i in range(12)}
    )
    replay(table.slice(0, 45), table.slice(45), size, ("key", "fd", "od"), "unknown")


CHOSEN = {
    "key": "key (zip, grade)",
    "fd": "fd (zip) -> city",
    "across": "not (s.zip = t.grade and s.wage < t.wage)",
    "order": "not (s.grade < t.zip and s.wage > t.wage)",
    "row": "not (s.grade > s.zip)",
}


@pytest.mark.parametrize("size", [1, 7, None], ids=["one", "some", "all"])
def test_chosen_rules(grown, size):
    replay(grown.slice(0, 30), grown.slice(30), size, rules=CHOSEN)
