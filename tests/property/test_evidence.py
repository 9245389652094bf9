"""What pairs of rows say equals what the oracle hears."""

import pickle
from collections import Counter
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rowlaw.evidence import EvidenceSet, SampleOptions, Sampler, Slots, all_pairs, evidence_of_pairs, sample
from rowlaw.evidence import agreeing as module
from rowlaw.evidence.agreeing import AgreeingEvidence, agreeing_pairs
from rowlaw.evidence.tiles import fold
from rowlaw.kernels import evidence as kernels
from rowlaw.relation import encode
from rowlaw.rules.model import Column, Constant, Op, Predicate
from rowlaw.source import open_source
from rowlaw.spark.jobs import DriverThreads
from tests import naive
from tests.strategies import Table, literals, nulls, tables, to_arrow

TRUE = {0: {Op.EQ, Op.LE, Op.GE}, 1: {Op.LT, Op.LE, Op.NE}, 2: {Op.GT, Op.GE, Op.NE}, 3: set()}


@st.composite
def spaces(draw, table: Table, *, most=None):
    """Predicates closed under exchange: some same-column, cross-column, single-row and literal ones."""
    found = []
    pairs = [(a, b) for a in table.columns for b in table.columns if a < b and table.types[a] == table.types[b]]
    for a in draw(st.lists(st.sampled_from(table.columns), unique=True, max_size=most)):
        found.append((Column("s", a), Column("t", a)))
    for a, b in draw(st.lists(st.sampled_from(pairs), unique=True, max_size=most)) if pairs else []:
        found += [(Column("s", a), Column("t", b)), (Column("s", b), Column("t", a))]
    for a, b in draw(st.lists(st.sampled_from(pairs), unique=True, max_size=3)) if pairs else []:
        found += [(Column("s", a), Column("s", b)), (Column("t", a), Column("t", b))]
    if draw(st.booleans()):
        a = draw(st.sampled_from(table.columns))
        value = Constant(draw(literals(table, a)))
        found += [(Column("s", a), value), (Column("t", a), value)]
    by_order = draw(st.lists(st.booleans(), min_size=len(found), max_size=len(found)))
    ordered = {}
    for (left, right), order in zip(found, by_order, strict=True):  # a slot and its exchange are alike
        names = frozenset((left.name, getattr(right, "name", repr(right)))), left.row == getattr(right, "row", left.row)
        ordered[left, right] = ordered.setdefault(names, order)
    pairs = [(left, right) for left, right in found]
    return [
        Predicate(left, op, right)
        for left, right in pairs
        for op in (naive.ALL_SIX if ordered[left, right] else naive.EQUALITY)
    ]


def heard(slots: Slots, evidence: EvidenceSet) -> Counter:
    """Evidence as the oracle writes it."""
    found = Counter()
    for outcomes, count in zip(slots.outcomes(evidence.signatures).tolist(), evidence.counts.tolist(), strict=True):
        true = set()
        for slot, outcome in zip(slots.slots, outcomes, strict=True):
            assert outcome != 2 or slot.ordered
            ops = naive.ALL_SIX if slot.ordered else naive.EQUALITY
            true |= {Predicate(slot.left, op, slot.right) for op in ops if op in TRUE[outcome]}
        found[frozenset(true)] += count
    return found


def check_invariants(evidence: EvidenceSet, slots: Slots):
    assert evidence.signatures.shape == (len(evidence), slots.words)
    keys = [tuple(k) for k in evidence.signatures.tolist()]
    assert keys == sorted(set(keys))
    assert (evidence.counts > 0).all()
    reverse = EvidenceSet.of(slots.reverse(evidence.signatures), evidence.counts)
    assert reverse == evidence


@given(
    data=st.data(),
    table=tables(max_rows=14),
    nulls=nulls(),
    tile=st.sampled_from([1, 2, 3, 5, 1024]),
    threads=st.integers(1, 2),
    direct=st.booleans(),
)
def test_all_pairs(data, table, nulls, tile, threads, direct):
    space = data.draw(spaces(table))
    with encode(open_source(to_arrow(table))) as relation:
        slots = Slots.of_predicates(relation, space, nulls)
        found = all_pairs(slots, workers=DriverThreads(threads), tile=tile, direct=kernels.DIRECT if direct else 0)
        check_invariants(found, slots)
        assert found.pairs == table.rows * (table.rows - 1)
        if table.rows > 1:
            assert heard(slots, found) == naive.evidence(table.values, space, nulls)


@given(
    data=st.data(),
    table=tables(max_rows=14),
    nulls=nulls(),
    tile=st.sampled_from([1, 2, 3, 256]),
    walked=st.sampled_from([0, 8]),
)
def test_pairs_that_agree_on_some_columns(data, table, nulls, tile, walked):
    """All that is said by pairs that agree on the columns of one of the lists, and nothing that no pair says; also
    where a worker has only the description of the work and rows of its own."""
    same = [Predicate(Column("s", a), op, Column("t", a)) for a in table.columns for op in naive.EQUALITY]
    lists = data.draw(
        st.lists(st.lists(st.sampled_from(table.columns), min_size=1, max_size=3), min_size=1, max_size=2)
    )
    wanted, rows = set(), range(table.rows)
    for s, t in ((s, t) for s in rows for t in rows if s != t):
        true = frozenset(p for p in same if naive.holds(p, table.values, s, t, nulls))
        if any(all(Predicate(Column("s", a), Op.EQ, Column("t", a)) in true for a in columns) for columns in lists):
            wanted.add(true)
    saved, module._WALKED = module._WALKED, walked
    try:
        with encode(open_source(to_arrow(table))) as relation:
            slots = Slots.of_predicates(relation, same, nulls)
            here = AgreeingEvidence(slots.slots, nulls, (slots, fold(slots)))
            found = here(relation, lists, DriverThreads(2))
            assert np.array_equal(pickle.loads(pickle.dumps(here))(relation, lists, DriverThreads(1)), found)
            said = heard(slots, EvidenceSet.of(found, np.ones(len(found), np.int64)))
            one_list = agreeing_pairs(slots, lists[0], tile=tile)
            assert set(map(tuple, one_list.tolist())) <= set(map(tuple, found.tolist()))
            assert wanted <= set(said)
            assert set(said) <= set(naive.evidence(table.values, same, nulls))
    finally:
        module._WALKED = saved


@given(data=st.data(), table=tables(max_rows=10), nulls=nulls())
def test_some_rows_some_times(data, table, nulls):
    space = data.draw(spaces(table))
    multiplicity = data.draw(st.lists(st.integers(0, 3), min_size=table.rows, max_size=table.rows))
    rows = data.draw(st.permutations(range(table.rows)))
    repeated = table.take([r for r, m in zip(rows, multiplicity, strict=True) for _ in range(m)])
    with encode(open_source(to_arrow(table))) as relation:
        slots = Slots.of_predicates(relation, space, nulls)
        found = all_pairs(slots, np.array(rows, np.int64), np.array(multiplicity, np.int64), DriverThreads(1), tile=3)
        check_invariants(found, slots)
        assert heard(slots, found) == naive.evidence(repeated.values, space, nulls)


@given(data=st.data(), table=tables(min_rows=1), nulls=nulls())
def test_given_pairs(data, table, nulls):
    space = data.draw(spaces(table))
    row = st.integers(0, table.rows - 1)
    pairs = data.draw(st.lists(st.tuples(row, row), max_size=20))
    with encode(open_source(to_arrow(table))) as relation:
        slots = pickle.loads(pickle.dumps(Slots.of_predicates(relation, space, nulls)))
        signatures = evidence_of_pairs(
            slots, np.array([s for s, _ in pairs], np.int64), np.array([t for _, t in pairs], np.int64)
        )
        for (s, t), signature in zip(pairs, signatures, strict=True):
            expected = frozenset(p for p in space if naive.holds(p, table.values, s, t, nulls))
            assert heard(slots, EvidenceSet(signature[None], np.ones(1, np.int64))) == Counter([expected])
        swapped = evidence_of_pairs(
            slots, np.array([t for _, t in pairs], np.int64), np.array([s for s, _ in pairs], np.int64)
        )
        assert np.array_equal(slots.reverse(signatures), swapped)


@pytest.mark.parametrize(("columns", "cross"), [(33, False), (40, False), (70, False), (9, True)])
@pytest.mark.parametrize("nulls", ["unknown", "equal"])
def test_wide_spaces(columns, cross, nulls):
    random = np.random.default_rng(columns)
    values = {f"c{i:02}": [v or None for v in random.integers(0, 2 + i % 4, 40).tolist()] for i in range(columns)}
    shapes = list(product(values, values)) if cross else [(c, c) for c in values]
    space = [
        Predicate(Column("s", a), op, Column("t", b))
        for a, b in shapes
        for op in (naive.ALL_SIX if a < "c30" else naive.EQUALITY)
    ]
    with encode(open_source(pa.table(values))) as relation:
        slots = Slots.of_predicates(relation, space, nulls)
        assert slots.words == (2 if len(shapes) <= 64 else 3)
        found = all_pairs(slots, tile=16)
        check_invariants(found, slots)
        assert heard(slots, found) == naive.evidence(values, space, nulls)


@pytest.mark.parametrize("nulls", ["unknown", "equal"])
def test_many_values(nulls):
    """Codes that need 32 bits, compared with others that do not."""
    n = 40_000
    a = pa.array(range(n), pa.int64())
    b = pa.array([None if i % 5 == 0 else i % 7 for i in range(n)], pa.int64())
    names = ["a", "b"]
    space = [Predicate(Column("s", x), op, Column("t", y)) for x in names for y in names for op in naive.ALL_SIX]
    some = np.random.default_rng(1).choice(n, 60, replace=False)
    some[:3] = [0, n - 1, n - 2]
    with encode(open_source(pa.table({"a": a, "b": b}))) as relation:
        slots = Slots.of_predicates(relation, space, nulls)
        few = {"a": a.take(some).to_pylist(), "b": b.take(some).to_pylist()}
        assert heard(slots, all_pairs(slots, some, tile=7)) == naive.evidence(few, space, nulls)
        whole = all_pairs(slots)
        assert whole.pairs == n * (n - 1)
        assert set(map(tuple, all_pairs(slots, some).signatures.tolist())) <= set(map(tuple, whole.signatures.tolist()))


def test_tasks_travel():
    """As Spark sends them: the work by the folder of the relation, the results as arrays."""
    with encode(open_source(pa.table({"a": [3, 1, 2, 2, None], "b": [1, 2, 2, 2, 3]}))) as relation:
        space = naive.predicate_space(
            {"a": [3, 1, 2, 2, None], "b": [1, 2, 2, 2, 3]}, dict.fromkeys("ab", "number"), single_row=True
        )
        slots = Slots.of_predicates(relation, space)

        class Far:
            slots = 2

            def map(self, function, tasks, description, *, stop):
                return [pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(function))(task))) for task in tasks]

        assert len(pickle.dumps(slots)) < 5_000
        assert all_pairs(slots, workers=Far(), tile=1) == all_pairs(slots)


@given(parts=st.lists(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=5), min_size=1, max_size=4))
def test_merge(parts):
    sets = [EvidenceSet.of(np.array(p, np.uint64).reshape(-1, 2), np.ones(len(p), np.int64)) for p in parts]
    assert dict(EvidenceSet.merge(sets)) == Counter(p for part in parts for p in part)


def test_slots_without_their_exchange_are_refused():
    with encode(open_source(pa.table({"a": [1], "b": [2]}))) as relation:
        slots = Slots.of_predicates(relation, [Predicate(Column("s", "a"), Op.LT, Column("t", "b"))])
        with pytest.raises(ValueError, match="exchange"):
            slots.reverse(np.zeros((1, 1), np.uint64))


@given(data=st.data(), table=tables(max_rows=14), nulls=nulls(), seed=st.integers(0, 5))
def test_sample(data, table, nulls, seed):
    space = data.draw(spaces(table))
    with encode(open_source(to_arrow(table))) as relation:
        slots = Slots.of_predicates(relation, space, nulls)
        everything = {signature for signature, _ in all_pairs(slots)}
        known = data.draw(st.sets(st.sampled_from(sorted(everything)))) if everything else set()
        sampler = Sampler(slots, SampleOptions(seed=seed))
        found = sampler.run(np.array(sorted(known), np.uint64).reshape(-1, slots.words))
        new = set(map(tuple, found.tolist()))
        assert len(new) == len(found)
        assert new <= everything
        assert not new & known
        check_invariants(sampler.evidence, slots)
        sampled = {signature for signature, _ in sampler.evidence}
        both_ways = known | set(
            map(tuple, slots.reverse(np.array(sorted(known), np.uint64).reshape(-1, slots.words)).tolist())
        )
        assert sampled - both_ways == new
        again = Sampler(slots, SampleOptions(seed=seed))
        assert np.array_equal(again.run(np.array(sorted(known), np.uint64).reshape(-1, slots.words)), found)
        assert again.evidence == sampler.evidence
        assert not set(map(tuple, sampler.run().tolist())) & (new | both_ways)


@pytest.mark.parametrize("nulls", ["unknown", "equal"])
def test_sample_of_a_wide_space(nulls):
    random = np.random.default_rng(5)
    values = {f"c{i:02}": [v or None for v in random.integers(0, 3 + 20 * i, 30).tolist()] for i in range(8)}
    space = [Predicate(Column("s", a), op, Column("t", b)) for a, b in product(values, values) for op in naive.ALL_SIX]
    with encode(open_source(pa.table(values))) as relation:
        slots = Slots.of_predicates(relation, space, nulls)
        everything = {signature for signature, _ in all_pairs(slots)}
        found = Sampler(slots, SampleOptions(seed=1)).run()
        assert set(map(tuple, found.tolist())) <= everything
        assert len(found) > len(everything) / 2


def test_sample_of_some_rows(monkeypatch):
    monkeypatch.setattr(sample, "MOST_ROWS", 50)
    with encode(open_source(pa.table({"a": list(range(400)), "b": [i % 3 for i in range(400)]}))) as relation:
        slots = Slots.same_column(relation)
        assert np.array_equal(Sampler(slots).run(), all_pairs(slots).signatures)
