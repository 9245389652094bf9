"""Which indexes are kept: IncDC's scores, thresholds and choice, and ours by cost."""

import tracemalloc

import numpy as np
import pytest

from rowlaw.maintain import select
from rowlaw.maintain.select import Agreement, Price, cheapest_keys
from rowlaw.rules import parse
from rowlaw.rules.model import Op
from tests.paper_selection import ChainChoice, EqualityChoice, Facts, paper_selection

# Table 1: the columns of the five rules
TABLE = {
    "SSN": [719975883, 303975883, 701178073, 801350874, 719975883, 701178073, 970122634],
    "Name": ["Sadam", "Duparc", "Hannen", "Beke", "Sadam", "Hannen", "Motwani"],
    "ZIP": [80612, 80612, 58671, 84308, 80612, 58671, 80209],
    "ST": ["CO", "CO", "ND", "UT", "CO", "ND", "CO"],
    "Date": [20140410, 20140224, 20140413, 20130403, 20140329, 20130404, 20150324],
    "NUM": [1448, 1401, 1486, 1386, 1427, 1386, 1547],
    "SAL": [32000, 50000, 30000, 55000, 7500, 6500, 95000],
    "RATE": [1.24, 1.42, 1.21, 2.04, 1.21, 0.24, 2.85],
    "TXA": [3000, 1500, 3400, 1300, 0, 900, 1100],
}
RULES = {
    1: "not (s.SSN = t.SSN and s.Name != t.Name)",
    2: "not (s.ZIP = t.ZIP and s.ST != t.ST)",
    3: "not (s.TXA > t.TXA and s.SAL < t.SAL and s.RATE > t.RATE)",
    4: "not (s.SSN = t.SSN and s.Date < t.Date and s.NUM >= t.NUM)",
}


@pytest.fixture
def facts():
    ranks = {name: np.unique(values, return_inverse=True)[1] for name, values in TABLE.items()}
    for name in ("Date", "NUM"):
        ranks[name] = np.array(TABLE[name])
    return Facts(7, {name: len(set(values)) for name, values in TABLE.items()}, ranks)


def chosen(facts, *numbers):
    return paper_selection([parse(RULES[n]) for n in numbers], facts)


def test_scores(facts):
    assert facts.equality_score("SSN") == pytest.approx(1 - 5 / 7)
    assert facts.correlation("Date", "NUM") == pytest.approx(0.88, abs=0.01)  # Example 13
    assert Facts(2, {}, {"a": np.array([1, 1]), "b": np.array([1, 2])}).correlation("a", "b") == 0


def test_equality_indexes_come_first(facts):
    """Below the threshold of 0.6 they serve all rules with their equality; SSN serves two."""
    assert chosen(facts, 1, 2, 4) == [EqualityChoice("SSN"), EqualityChoice("ZIP")]


def test_a_chain_where_there_is_no_equality(facts):
    (index,) = chosen(facts, 3)
    assert isinstance(index, ChainChoice)
    assert {index.first, index.second} <= {"TXA", "SAL", "RATE"}


def test_example_13(facts):
    """Date and NUM rise together: so the chain is Index(Date <, NUM <), though the rule says NUM >=."""
    rule = parse("not (s.Date < t.Date and s.NUM >= t.NUM)")
    assert paper_selection([rule], facts) == [ChainChoice("Date", Op.LT, "NUM", Op.LE)]


def test_few_values_come_last():
    """A column of two values among a hundred rows: neither score lets it in before everything else."""
    facts = Facts(100, {"flag": 2, "id": 90}, {})
    rules = [parse("not (s.flag = t.flag and s.id = t.id)"), parse("not (s.flag = t.flag)")]
    assert paper_selection(rules, facts) == [EqualityChoice("id"), EqualityChoice("flag")]


def test_every_rule_is_served(facts):
    """Also rules of differences: a chain serves both directions of ``!=``."""
    rules = [parse("not (s.SAL != t.SAL and s.TXA != t.TXA)"), *(parse(text) for text in RULES.values())]
    found = paper_selection(rules, facts)
    for rule in rules:
        equal = {p.left.name for p in rule.predicates if p.op == Op.EQ}
        other = {p.left.name for p in rule.predicates if p.op != Op.EQ}
        assert any(i.column in equal if isinstance(i, EqualityChoice) else {i.first, i.second} <= other for i in found)


PRICE = Price(pairs=1000.0, index=1.0, build=0.0)


def by_shares(*shares):
    """Columns that so many pairs agree on, independently."""
    masks = np.arange(1 << len(shares), dtype=np.uint64)
    weights = [np.prod([p if m >> c & 1 else 1 - p for c, p in enumerate(shares)]) for m in range(len(masks))]
    return Agreement(masks, np.array(weights), 1000)


def test_one_key_for_many_rules():
    keys, alone = cheapest_keys(
        np.array([0b011, 0b101], np.uint64), np.array([50.0, 50.0]), by_shares(0.001, 0.5, 0.5), PRICE
    )
    assert keys == [0b001]
    assert not alone.any()


def test_two_columns_where_one_finds_too_much():
    keys, alone = cheapest_keys(np.array([0b110], np.uint64), np.array([500.0]), by_shares(0.001, 0.03, 0.03), PRICE)
    assert keys == [0b110]
    assert not alone.any()


def test_a_rule_that_no_key_serves_well_is_left_alone():
    keys, alone = cheapest_keys(
        np.array([0b01, 0b10, 0], np.uint64), np.array([9.0, 9.0, 9.0]), by_shares(0.001, 0.9), PRICE
    )
    assert keys == [0b01]
    assert alone.tolist() == [False, True, True]


def test_an_index_that_is_there_is_preferred():
    wanted, otherwise, agreement = np.array([0b11], np.uint64), np.array([100.0]), by_shares(0.001, 0.0015)
    price = Price(1000.0, 1.0, 50.0)
    assert cheapest_keys(wanted, otherwise, agreement, price)[0] == [0b11]
    assert cheapest_keys(wanted, otherwise, agreement, price, existing=[0b10])[0] == [0b10]


def test_unknown_nulls_agree_with_nothing():
    matrix = np.array([[-1], [-1], [-1]], np.int32)
    key = np.array([1], np.uint64)
    assert Agreement.of(matrix, np.arange(3), unknown=True).share(key)[0] == 0
    assert Agreement.of(matrix, np.arange(3), unknown=False).share(key)[0] == 1


def test_no_rows_no_agreement():
    assert Agreement.of(np.zeros((1, 2), np.int32), np.arange(1), unknown=True).share(np.array([1], np.uint64))[0] == 0


@pytest.mark.parametrize("columns", [3, 18, 19, 40])
def test_shares_are_those_of_the_pairs(columns, monkeypatch):
    """With few columns by a table of all sets, with more in blocks; columns on which no pair agrees are in some keys
    too."""
    monkeypatch.setattr(select, "BLOCK", 50)
    random = np.random.default_rng(columns)
    masks = np.unique(random.integers(0, 1 << columns, 30, dtype=np.uint64))
    shares = random.random(len(masks))
    keys = np.concatenate(
        (
            masks & random.integers(0, 1 << columns, len(masks), dtype=np.uint64),
            masks,
            np.array([0, 1 << 50], np.uint64),
        )
    )
    expected = [
        sum(share for mask, share in zip(masks.tolist(), shares, strict=True) if mask & key == key)
        for key in keys.tolist()
    ]
    assert np.allclose(Agreement(masks, shares, 10).share(keys), expected)


def test_shares_of_many_rules_take_little_memory():
    """100,000 rules and thousands of masks once took 17 GB."""
    masks = np.random.default_rng(0).integers(0, 1 << 30, 5_000, dtype=np.uint64)
    agreement = Agreement(masks, np.full(len(masks), 1 / len(masks)), 10)
    keys = np.repeat(masks[:100], 1_000)
    tracemalloc.start()
    try:
        agreement.share(keys)
        assert tracemalloc.get_traced_memory()[1] < 200e6
    finally:
        tracemalloc.stop()
