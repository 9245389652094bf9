"""Counts, per-row counts and pairs on tables of hundreds of rows, where merging, dividing and batching begin, against
NumPy's all pairs."""

import numpy as np
import pyarrow as pa
import pytest

from rowlaw.engine.local.compile import Scales, compile_rule
from rowlaw.engine.local.count import count
from rowlaw.engine.local.listing import list_pairs
from rowlaw.engine.local.plan import METHODS, plan
from rowlaw.engine.local.refine import groups, pairs, written
from rowlaw.engine.local.split import split
from rowlaw.relation import encode
from rowlaw.rules.model import Column, Denial, Op, Predicate
from rowlaw.source import open_source

COMPARE = {
    Op.LT: np.less,
    Op.LE: np.less_equal,
    Op.EQ: np.equal,
    Op.NE: np.not_equal,
    Op.GT: np.greater,
    Op.GE: np.greater_equal,
}


def random_rule(random, columns):
    predicates = []
    for _ in range(random.integers(1, 6)):
        left = f"c{random.integers(columns)}"
        right = left if random.random() < 0.6 else f"c{random.integers(columns)}"
        predicates.append(Predicate(Column("s", left), Op(int(random.integers(1, 7))), Column("t", right)))
    return Denial(tuple(predicates))


@pytest.mark.parametrize("seed", range(12))
def test_all_pairs(seed):
    random = np.random.default_rng(seed)
    n = int(random.integers(50, 400))
    table = {f"c{i}": random.integers(0, int(random.choice([2, 5, 30, 1000])), n) for i in range(4)}
    with encode(open_source(pa.table(table))) as relation:
        scales = Scales(relation, "unknown")
        for _ in range(12):
            rule = random_rule(random, 4)
            broken = np.ones((n, n), bool)
            for p in rule.predicates:
                broken &= COMPARE[p.op](table[p.left.name][:, None], table[p.right.name][None, :])
            np.fill_diagonal(broken, val=False)
            compiled = compile_rule(rule, scales)
            found = count(compiled, n)
            assert found.pairs == broken.sum(), rule
            assert (found.per_row == broken.sum(0) + broken.sum(1)).all(), rule
            assert sum(count(piece(), n).pairs for piece in split(compiled, 3)) == broken.sum(), rule
            batch = int(random.choice([5, 1000, 1 << 18]))
            taking_part = found.per_row if random.random() < 0.5 else None
            for method in METHODS:
                assert (
                    matrix(n, pairs(compiled, taking_part, steps=plan(compiled, method), batch=batch)) == broken
                ).all(), (rule, method)
            for scan in (0, 4, 48):
                assert (matrix(n, written(groups(compiled, batch=batch, scan=scan))) == broken).all(), (rule, scan)
            assert (
                matrix(n, ((s, t) for _, s, t in list_pairs([compiled], threads=2, batch=batch))) == broken
            ).all(), rule


def matrix(n, batches):
    """How often each pair was listed."""
    listed = np.zeros((n, n), np.int64)
    for s, t in batches:
        np.add.at(listed, (s, t), 1)
    return listed
