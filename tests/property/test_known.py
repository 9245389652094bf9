"""Whether any rows could break a rule: the fast answer is the oracle's, whatever portions rows and patterns are looked
at in."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rowlaw.discovery.vacuous import not_vacuous, sets_not_vacuous
from rowlaw.evidence.slots import Slot
from rowlaw.relation import known as module
from rowlaw.relation.known import KnownRows
from rowlaw.rules.model import Op
from tests import naive
from tests.strategies import denials, nulls, rules, tables


def known_rows(table, nulls, present=None):
    codes = {name: np.array(naive.ranks(values), np.int32) for name, values in table.values.items()}
    rows = table.rows if present is None else int(present.sum())
    return KnownRows.of(table.columns if nulls == "unknown" else (), codes.__getitem__, rows, present)


@given(
    data=st.data(),
    table=tables(max_rows=9),
    nulls=nulls(),
    portion=st.sampled_from([1, 3, 4096]),
    first=st.sampled_from([1, 64]),
)
def test_rules(data, table, nulls, portion, first):
    """Of all rows, and of some."""
    some = data.draw(st.lists(rules(table).filter(lambda r: len(r.denials) == 1), max_size=6))
    present = np.array(data.draw(st.lists(st.booleans(), min_size=table.rows, max_size=table.rows)), bool)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "ROWS_AT_ONCE", portion)
        patch.setattr(module, "FIRST_PATTERNS", first)
        for rows, chosen in ((None, table), (present, table.take(np.flatnonzero(present).tolist()))):
            known = known_rows(table, nulls, rows)
            assert not_vacuous(some, known) == [rule for rule in some if naive.breakable(rule, chosen.values, nulls)]
            every = [naive.Key((c,)) for c in table.columns]
            assert not known.everything or all(naive.breakable(key, chosen.values, nulls) for key in every)


@given(data=st.data(), table=tables(max_rows=6, max_columns=4), nulls=nulls())
def test_sets(data, table, nulls):
    """Rules given as the outcomes they accept in each slot."""
    some = data.draw(st.lists(denials(table), min_size=1, max_size=5))
    operands = list(dict.fromkeys((p.left, p.right) for d in some for p in d.predicates))
    slots = [Slot(left, right, ordered=True) for left, right in operands]
    accepted = np.full((len(some), len(slots)), int(Op.LE | Op.GE | Op.NE), np.uint8)
    for line, d in zip(accepted, some, strict=True):
        for p in d.predicates:
            line[operands.index((p.left, p.right))] = int(p.op)
    kept = sets_not_vacuous(slots, accepted, known_rows(table, nulls))
    assert kept.tolist() == [naive.breakable(d, table.values, nulls) for d in some]


@pytest.mark.parametrize("width", [1, 7, 8, 9, 31, 32, 33, 64, 65, 130])
def test_many_columns(width):
    """Row i has no value in column i: any two columns are known together in all but two rows."""
    codes = {f"c{i}": np.where(np.arange(width + 1) == i, -1, 0) for i in range(width)}
    known = KnownRows.of(list(codes), codes.__getitem__, width + 1)
    rows = {name: [None if code < 0 else code for code in column.tolist()] for name, column in codes.items()}
    keys = [naive.Key(tuple(codes)[start : start + size]) for start in range(width) for size in (1, 2, width)]
    assert not_vacuous(keys, known) == [key for key in keys if naive.breakable(key, rows, "unknown")]
