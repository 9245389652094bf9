"""All kinds in one list, as a user sees it."""

import pyarrow as pa
import pytest

import rowlaw
from rowlaw.errors import RowlawError
from tests.unit.test_discovery import STAFF

KINDS = ("key", "fd", "od", "dc")
ADDRESSES = pa.table(
    {
        "zip": ["1", "1", "2", "2", "3", "3", "4", "4"],
        "city": ["a", "a", "b", "b", "c", "c", "d", "d"],
        "state": ["x", "x", "x", "x", "y", "y", "y", "y"],
        "low": [1, 2, 1, 3, 2, 4, 1, 5],
        "high": [10, 20, 10, 30, 20, 40, 10, 50],
    }
)


def texts(found):
    return {str(rule.rule) for rule in found}


@pytest.mark.parametrize("strategy", ["auto", "pairs", "sample", "levels"])
def test_each_law_under_its_most_specific_kind(strategy):
    found = rowlaw.discover(ADDRESSES, strategy=strategy, progress=False)
    assert {"key (low, zip)", "fd (zip) -> city", "fd (low) -> high", "od {}: high ~ low"} <= texts(found)
    assert not any(text.startswith("not (s.low = t.low and s.high") for text in texts(found))
    assert [rule.id for rule in found] == [f"R{n}" for n in range(1, found.total + 1)]
    assert set(rowlaw.check(ADDRESSES, found).counts.values()) == {0}


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_alone_is_complete(kind):
    alone = rowlaw.discover(STAFF, kinds=[kind], progress=False)
    assert {rule.kind for rule in alone} == {kind}
    together = {rule.rule for rule in rowlaw.discover(STAFF, progress=False) if rule.kind == kind}
    assert together <= {rule.rule for rule in alone}
    if kind == "key":
        assert together == {rule.rule for rule in alone}


def test_the_document():
    document = rowlaw.discover(ADDRESSES, kinds=["key", "fd", "od"], progress=False).to_dict()
    assert {rule["kind"] for rule in document["rules"]} == {"key", "fd", "od"}
    assert all(
        set(rule) >= {"id", "kind", "rule", "predicates", "error", "support", "score"} for rule in document["rules"]
    )
    assert all(
        0 <= rule["score"] <= 1 and rule["error"] == 0 and rule["reason"].endswith(".") for rule in document["rules"]
    )
    (key,) = (rule for rule in document["rules"] if rule["rule"] == "key (low, zip)")
    assert key["predicates"] == [["s.low", "=", "t.low"], ["s.zip", "=", "t.zip"]]
    assert document["seconds"].keys() >= {"read", "rank"}


def test_approximate_kinds():
    """Errors are shares of pairs for all kinds; how many rows would have to go is said beside."""
    rows = 60
    city = ["a" if i % 2 else "b" for i in range(rows)]
    table = pa.table({"zip": [str(i % 2) for i in range(rows)], "city": ["typo", *city[1:]], "n": range(rows)})
    assert "fd (zip) -> city" not in texts(rowlaw.discover(table, kinds=["fd"], progress=False))
    found = rowlaw.discover(table, kinds=["key", "fd", "od"], error=0.02, progress=False)
    rule = next(rule for rule in found if str(rule.rule) == "fd (zip) -> city")
    assert rule.error == rowlaw.check(table, rule.rule)["R1"].error > 0
    assert found.removed[rule.id] == pytest.approx(1 / 60)
    assert "Holds without" in rule.because
    (entry,) = (entry for entry in found.to_dict()["rules"] if entry["id"] == rule.id)
    assert entry["g3"] == found.removed[rule.id]


def test_near_misses_under_their_kind():
    zips, typo = [i // 2 for i in range(200)], [0] * 199 + [1]
    table = pa.table({"zip": zips, "city": [z // 2 for z in zips[:-1]] + [7], "typo": typo})
    found = rowlaw.discover(table, kinds=["fd"], progress=False)
    assert "fd (typo, zip) -> city" in texts(found)
    assert ("fd (zip) -> city", 2) in {(str(miss.rule), miss.violations) for miss in found.near_misses}


def test_partial_results_are_marked():
    found = rowlaw.discover(ADDRESSES, time_limit=0.0, progress=False)
    assert found.partial
    assert set(rowlaw.check(ADDRESSES, found).counts.values()) <= {0}


def test_unknown_kinds_and_strategies():
    with pytest.raises(RowlawError, match="BAD_OPTION"):
        rowlaw.discover(ADDRESSES, kinds=["fds"], progress=False)
    with pytest.raises(RowlawError, match="BAD_OPTION"):
        rowlaw.discover(ADDRESSES, strategy="guess", progress=False)
