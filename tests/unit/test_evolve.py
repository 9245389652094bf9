"""Rules that follow a table: IncDC's running example, what is told of a change, and how the state goes on after it was
saved."""

import numpy as np
import pyarrow as pa
import pytest

import rowlaw
from rowlaw.errors import RowlawError
from rowlaw.kernels.upkeep import BLOCK
from rowlaw.maintain import denials as module
from rowlaw.maintain import planner
from rowlaw.maintain.cells import Cells, column_slots
from rowlaw.maintain.equality import EqualityIndex, TupleIndex
from rowlaw.maintain.evolve import Evolution
from rowlaw.maintain.ledger import Ledger
from rowlaw.maintain.protocol import UpkeepOptions
from rowlaw.predicates import SpaceOptions
from rowlaw.progress import Progress
from rowlaw.relation import encode
from rowlaw.rules import parse
from rowlaw.rules.implication import canonical, implies
from rowlaw.search import hypergraph, run
from rowlaw.source import open_source
from rowlaw.storage.table import GrowingTable

# Tables 1 and 2 without the columns that no example uses
COLUMNS = {
    "SAL": [32000, 50000, 30000, 55000, 7500, 6500, 95000, 40000, 33000, 32000],
    "TXA": [3000, 1500, 3400, 1300, 0, 900, 1100, 3300, 1400, 3200],
    "RATE": [1.24, 1.42, 1.21, 2.04, 1.21, 0.24, 2.85, 1.43, 2.05, 1.23],
    "ST": ["CO", "CO", "ND", "UT", "CO", "ND", "CO", "UT", "ND", "UT"],
    "Date": [20140410, 20140224, 20140413, 20130403, 20140329, 20130404, 20150324, 20130322, 20140218, 20150213],
    "PH": [6059466, 5872027, 1638673, 6192334, 6059466, 1638673, 8484643, 5872027, 1638673, 6192334],
}
TAX = pa.table(COLUMNS)
PHI_3 = "not (s.TXA > t.TXA and s.SAL < t.SAL and s.RATE > t.RATE)"


def grown(table, **options):
    with encode(open_source(table)) as relation:
        growing = GrowingTable.of(relation)
    chosen = UpkeepOptions(space=SpaceOptions(cross=False), **options)
    return growing, Evolution.create(growing, chosen, Progress(quiet=True))


def known(evolution, text):
    return canonical(parse(text)) in {canonical(r.rule) for r in evolution.rules}


@pytest.fixture(params=["counted", "indexed"])
def way(request, monkeypatch):
    if request.param == "indexed":
        monkeypatch.setattr(module, "FEW_ROWS", 0)
        monkeypatch.setattr(module, "MAX_SECONDS", -1.0)
        monkeypatch.setattr(planner, "PLAIN_PAIR", 1.0)
    return request.param


def test_examples_2_4_and_14(way):
    """The third rule falls with (t8, t3) and (t7, t1); with the same state, or the same date, it still holds."""
    growing, evolution = grown(TAX.slice(0, 7))
    assert evolution.denials.ledger.counted == (way == "counted")
    holding = [r.rule for r in evolution.rules]
    third = canonical(parse(PHI_3))
    assert any(implies(rule, third) for rule in holding)
    taken = growing.take(inserts=TAX.slice(7))
    evolution.apply(growing, taken.inserted, taken.deleted)
    assert not any(implies(r.rule, third) for r in evolution.rules)
    for more in ("s.ST = t.ST", "s.Date = t.Date"):
        longer = canonical(parse(f"{PHI_3[:-1]} and {more})"))
        assert any(implies(r.rule, longer) for r in evolution.rules)
    same_phone = canonical(parse(f"{PHI_3[:-1]} and s.PH = t.PH)"))  # broken by (t7, t1)
    assert not any(implies(r.rule, same_phone) for r in evolution.rules)
    evolution._check(growing)


def test_example_3(way):
    """What the pair (t7, t1) says about SAL, TXA, RATE and ST, and that only a predicate that it does not satisfy mends
    the rule."""
    growing, evolution = grown(TAX.select(["SAL", "TXA", "RATE", "ST"]).take([1]).slice(0, 1))
    taken = growing.take(inserts=TAX.select(["SAL", "TXA", "RATE", "ST"]).slice(7, 1))
    evolution.apply(growing, taken.inserted, taken.deleted)
    assert not any(implies(r.rule, canonical(parse(PHI_3))) for r in evolution.rules)
    assert known(evolution, "not (s.ST = t.ST)")
    assert known(evolution, "not (s.SAL <= t.SAL and s.TXA <= t.TXA)")


def test_what_went_comes_back(way):
    growing, evolution = grown(TAX.slice(0, 7))
    first = {str(r.rule) for r in evolution.rules}
    taken = growing.take(inserts=TAX.slice(7))
    evolution.apply(growing, taken.inserted, taken.deleted)
    taken = growing.take(deletes=TAX.slice(7))
    evolution.apply(growing, taken.inserted, taken.deleted)
    assert {str(r.rule) for r in evolution.rules} == first
    evolution._check(growing)


def test_a_witness_for_what_was_retired_and_born(way):
    growing, evolution = grown(pa.table({"zip": [1, 1, 2, 3], "city": ["Ulm", "Ulm", "Bonn", "Bonn"]}))
    taken = growing.take(inserts=pa.table({"zip": [2], "city": ["Berlin"]}))
    evolved = evolution.apply(growing, taken.inserted, taken.deleted)
    retired = {str(h.rule): h.witness for h in evolved.removed}
    assert set(retired["not (s.zip = t.zip and s.city != t.city)"]) == {2, 4}
    taken = growing.take(deletes=pa.table({"zip": [2], "city": ["Berlin"]}))
    evolved = evolution.apply(growing, taken.inserted, taken.deleted)
    born = {str(h.rule): h.witness for h in evolved.added}
    assert set(born["not (s.zip = t.zip and s.city != t.city)"]) == {2, 4}


def test_ids_are_kept_and_never_given_twice(way):
    growing, evolution = grown(TAX.slice(0, 7))
    before = {str(r.rule): r.id for r in evolution.rules}
    taken = growing.take(inserts=TAX.slice(7))
    evolution.apply(growing, taken.inserted, taken.deleted)
    after = {str(r.rule): r.id for r in evolution.rules}
    assert all(after[rule] == before[rule] for rule in before.keys() & after.keys())
    assert not {after[rule] for rule in after.keys() - before.keys()} & set(before.values())


def test_an_empty_batch_changes_nothing(way):
    growing, evolution = grown(TAX)
    nothing = np.zeros(0, np.int32)
    evolved = evolution.apply(growing, nothing, nothing)
    assert not evolved.added
    assert not evolved.removed


def test_compacting(way):
    growing, evolution = grown(TAX, kinds=("key", "fd", "od", "dc"))
    taken = growing.take(deletes=TAX.slice(0, 6))
    evolution.apply(growing, taken.inserted, taken.deleted)
    evolution.renumber(growing, growing.compact())
    evolution._check(growing)
    taken = growing.take(inserts=TAX.slice(0, 6))
    evolution.apply(growing, taken.inserted, taken.deleted)
    evolution._check(growing)
    again = grown(TAX, kinds=("key", "fd", "od", "dc"))[1]
    assert {str(r.rule) for r in evolution.rules} == {str(r.rule) for r in again.rules}


def test_compacting_again_and_again(way):
    """Witnesses that were given up before rows got new numbers are not looked at after it."""
    table = pa.table({"a": [0, 0, 1, 1, 2, 2], "b": [1, 2, 3, 1, 2, 3]})
    growing, evolution = grown(table, kinds=("fd", "od", "dc"))
    for n in range(5):
        taken = growing.take(deletes=table.slice(n, 1))
        evolution.apply(growing, taken.inserted, taken.deleted)
        evolution.renumber(growing, growing.compact())
        evolution._check(growing)
        again = grown(table.slice(n + 1), kinds=("fd", "od", "dc"))[1]
        assert {str(r.rule) for r in evolution.rules} == {str(r.rule) for r in again.rules}


def test_counting_gives_way_to_indexes(monkeypatch):
    """A table that grows is judged again."""
    growing, evolution = grown(TAX.slice(0, 4))
    assert evolution.denials.ledger.counted
    monkeypatch.setattr(module, "FEW_ROWS", 0)
    monkeypatch.setattr(module, "MAX_SECONDS", -1.0)
    taken = growing.take(inserts=TAX.slice(4))
    evolution.apply(growing, taken.inserted, taken.deleted)
    assert not evolution.denials.ledger.counted
    evolution._check(growing)


def test_labels_that_move(way):
    """Values between values until labels are given out anew: indexes over the column are made again."""
    growing, evolution = grown(pa.table({"a": [0.0, 1.0], "b": [1, 2]}))
    moved = False
    for n in range(1, 40):
        taken = growing.take(inserts=pa.table({"a": [0.5**n], "b": [n % 3]}))
        moved = moved or bool(growing.relabelled)
        evolution.apply(growing, taken.inserted, taken.deleted)
    assert moved
    evolution._check(growing)


def test_unknown_kind():
    with pytest.raises(RowlawError, match="kinds"):
        grown(TAX, kinds=("ind",))


def test_keys_and_what_is_none(way):
    _, evolution = grown(TAX.slice(0, 7), kinds=("key",))
    assert ("SAL",) in evolution.keys
    assert all(set(names) <= set(COLUMNS) for names in evolution.non_keys)
    assert evolution.nbytes > 0


def test_more_rules_than_can_be_kept_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(hypergraph, "MOST_SETS", 3)
    monkeypatch.setattr(run, "SLICE", 64)
    random = np.random.default_rng(5)
    table = pa.table({f"c{i}": random.integers(0, 4, 200) for i in range(10)})
    with pytest.raises(RowlawError, match="MANY_RULES"):
        rowlaw.Laws.create(tmp_path / "state", table, kinds=("dc",), cross=False, progress=False)
    monkeypatch.undo()
    # nothing was left there
    made = rowlaw.Laws.create(tmp_path / "state", table.slice(0, 20), kinds=("dc",), cross=False, progress=False)
    assert len(made.rules)


@pytest.mark.parametrize("index", ["kinds", "keys"])
def test_more_pairs_than_a_block_holds(index):
    """Pairs are found a block at a time: where one ends, nothing is left out and nothing seen twice."""
    rows = 90
    table = GrowingTable.of(
        encode(open_source(pa.table({"a": [1] * rows, "b": list(range(rows)), "c": list(range(rows))})))
    )
    cells = Cells(column_slots(["a", "b", "c"], "unknown", ordered=True), table)
    everything, alive = np.arange(rows), np.ones(rows, bool)
    seen = Ledger(cells.slots.words, counted=False)
    seen.begin_batch()
    if index == "kinds":  # of two different rows one is smaller in both columns, so every pair breaks the rule
        kinds = TupleIndex(cells, ["a", "b", "c"], ["a"], unknown=True)
        kinds.add_rows(cells, everything)
        kinds.compare(cells, everything, alive, np.array([[2, 1, 1]], np.uint8), seen)
        expected = rows * (rows - 1)  # each row meets all other kinds, the later ones too
    else:
        keys = EqualityIndex(cells, ["a"], unknown=True)
        keys.add_rows(cells, everything)
        keys.compare(cells, everything, alive, seen)
        expected = rows * (rows - 1) // 2
    assert expected > BLOCK
    assert seen.pages.tally[: len(seen)].sum() == expected
