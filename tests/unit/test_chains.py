"""IncDC's tables and examples: chain indexes, how they are searched, used in reverse, and updated."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rowlaw.maintain import chains as module
from rowlaw.maintain.chains import ChainIndex
from rowlaw.rules.model import Op

ORDERS = (Op.LT, Op.LE, Op.GT, Op.GE)

# Tables 1 and 2 (the columns that the examples use); rows t0 to t6, and t7 to t9 that come later
DATE = [20140410, 20140224, 20140413, 20130403, 20140329, 20130404, 20150324, 20130322, 20140218, 20150213]
NUM = [1448, 1401, 1486, 1386, 1427, 1386, 1547, 1368, 1478, 1533]
SAL = [32000, 50000, 30000, 55000, 7500, 6500, 95000, 40000, 33000, 32000]
TXA = [3000, 1500, 3400, 1300, 0, 900, 1100, 3300, 1400, 3200]

# Tables 8 and 9
A, B = [7, 8, 30, 40, 15, 25, 3], [5, 6, 8, 0, 7, 2, 22]
C, D = [7, 3, 9, 2, 17, 15, 20], [9, 25, 11, 15, 22, 30, 10]


def built(first, first_op, second, second_op, rows=7):
    index = ChainIndex(first_op, second_op)
    index.build(np.array(first[:rows]), np.array(second[:rows]), np.arange(rows))
    index._check()
    return index


def both_ways(index, s, first, second, first_op, second_op):
    """The paper's T and T-bar for a row: rows below and above it."""
    below = index.fetch(first[s], first_op.swapped, second[s], second_op.swapped)
    above = index.fetch(first[s], first_op, second[s], second_op)
    return sorted(below.tolist()), sorted(above.tolist())


def test_example_6():
    index = built(TXA, Op.GT, SAL, Op.LT)
    assert sorted(index.chains) == [[4, 5], [6, 3, 1, 0, 2]]


def test_examples_5_and_7():
    index = built(TXA, Op.GT, SAL, Op.LT)
    assert both_ways(index, 8, TXA, SAL, Op.GT, Op.LT) == ([3, 6], [0, 2])


def test_example_8():
    """Fetch+: values of two columns against an index of two others. The paper's own chains differ from what its
    OptIndex gives; both have rank 2."""
    of_s = built(A, Op.GT, C, Op.LT, rows=6)  # p1: t.A > t'.B, p2: t.C < t'.D
    of_t = built(B, Op.LT, D, Op.GT, rows=6)
    assert of_s.rank == of_t.rank == 2
    assert sorted(of_s.fetch(B[6], Op.GT, D[6], Op.LT).tolist()) == [2, 3]
    assert of_t.fetch(A[6], Op.LT, C[6], Op.GT).tolist() == [5]


def test_example_9():
    assert sorted(built(DATE, Op.LT, NUM, Op.LT).chains) == [[3], [6, 2, 0, 4, 1, 5]]


def test_example_10():
    """An index for two operators that run one way, used for two that do not."""
    index = built(DATE, Op.LT, NUM, Op.LT)
    assert both_ways(index, 8, DATE, NUM, Op.LT, Op.GT) == ([0, 1, 4], [])


def test_examples_11_and_12():
    index = built(DATE, Op.LT, NUM, Op.LT)
    longest = max(range(index.rank), key=lambda c: len(index.chains[c]))
    assert index.fits(DATE[9], NUM[9]) == longest
    index.insert(DATE[9], NUM[9], 9)
    index._check()
    assert sorted(index.chains) == [[3], [6, 9, 2, 0, 4, 1, 5]]


def test_a_row_that_fits_nowhere_begins_a_chain():
    index = built([1, 2, 3], Op.GT, [1, 2, 3], Op.GT, rows=3)
    assert index.fits(2, 9) is None
    index.insert(2, 9, 3)
    assert index.rank == 2
    index._check()


def test_equal_rows_stand_side_by_side_and_are_all_found():
    index = built([5, 5, 6], Op.GT, [1, 1, 2], Op.GT, rows=3)
    assert index.chains == [[0, 1, 2]]
    index.insert(6, 2, 3)
    index._check()
    assert index.rank == 1
    assert sorted(index.fetch(5, Op.GE, 1, Op.GE).tolist()) == [0, 1, 2, 3]


@pytest.mark.parametrize(("first_op", "second_op"), list(product(ORDERS, ORDERS)))
def test_strict_orders_never_join_equal_values(first_op, second_op):
    """Where the paper is wrong: with ties broken by the second operator, rows of one value of a strict column follow
    each other."""
    built([1, 1, 1, 2], first_op, [1, 2, 3, 3], second_op, rows=4)


points = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=14)


def holds(a, op, b):
    return {Op.LT: a < b, Op.LE: a <= b, Op.GT: a > b, Op.GE: a >= b}[op]


@given(points, points, st.sampled_from(ORDERS), st.sampled_from(ORDERS), st.sampled_from([0, 3, 1024]))
def test_fetch_finds_what_comparing_finds(start, more, first_op, second_op, direct):
    """Any index serves any two operators, also while rows come; ``direct``: whether they wait outside the large
    chains."""
    saved, module.DIRECT = module.DIRECT, direct
    try:
        index = ChainIndex(first_op, second_op)
        index.build(np.array([p[0] for p in start], int), np.array([p[1] for p in start], int), np.arange(len(start)))
        index._check()
        rows = list(start)
        for point in more:
            for a, b in product(ORDERS, ORDERS):
                expected = [i for i, (x, y) in enumerate(rows) if holds(x, a, point[0]) and holds(y, b, point[1])]
                assert sorted(index.fetch(point[0], a, point[1], b).tolist()) == expected
            index.insert(*point, len(rows))
            index._check()
            rows.append(point)
    finally:
        module.DIRECT = saved


@given(points, st.sampled_from(ORDERS), st.sampled_from(ORDERS))
def test_rank_is_the_minimum(rows, first_op, second_op):
    """As many chains as the most points of which none may follow another (Dilworth)."""
    distinct = sorted(set(rows))
    index = ChainIndex(first_op, second_op)
    index.build(
        np.array([p[0] for p in distinct], int), np.array([p[1] for p in distinct], int), np.arange(len(distinct))
    )

    def comparable(p, q):
        return any(holds(b[0], first_op, a[0]) and holds(b[1], second_op, a[1]) for a, b in ((p, q), (q, p)))

    widest = 0
    best = [(0, [])]
    for p in distinct:  # grow all antichains
        best += [(size + 1, [*chosen, p]) for size, chosen in best if not any(comparable(p, q) for q in chosen)]
        best = sorted(best, key=lambda found: -found[0])[:4000]
    widest = max(size for size, _ in best)
    assert index.rank == widest
