"""A growing table holds the rows it should, in the order of their values, whatever comes and goes, in memory and from
its files."""

import tempfile
from pathlib import Path

import numpy as np
from hypothesis import event, given, settings
from hypothesis import strategies as st

from rowlaw.relation import encode
from rowlaw.source import open_source
from rowlaw.storage import dictionary
from rowlaw.storage.store import Store
from rowlaw.storage.table import GrowingTable
from rowlaw.storage.values import Numbers
from tests import naive
from tests.property.test_relation import plain
from tests.strategies import tables, to_arrow


def scales_of(table):
    """All columns of one class on one scale."""
    classes = {}
    for name, kind in table.types.items():
        classes.setdefault(kind, []).append(name)
    return list(classes.values())


def check(grown, table, rows):
    """``rows``: the rows of ``table`` that should be there, by number in the growing table."""
    grown._check()
    assert np.flatnonzero(grown.alive).tolist() == sorted(rows)
    for name, values in table.values.items():
        assert grown.values(name, grown.labels(name)[sorted(rows)]).to_pylist() == [
            plain(values[rows[r]]) for r in sorted(rows)
        ]
    for left in table.values:
        for right in table.values:
            if grown.comparable(left, right):
                a, b = grown.labels(left), grown.labels(right)
                for i, x in rows.items():
                    for j, y in rows.items():
                        expected = naive.outcome(table.values[left][x], table.values[right][y], "equal")
                        assert (a[i] < b[j], a[i] == b[j], a[i] > b[j]) == (expected == 1, expected == 2, expected == 4)
    relation = grown.relation()
    chosen = to_arrow(table.take([rows[r] for r in sorted(rows)]))
    with encode(open_source(chosen)) as fresh:
        assert np.array_equal(relation.matrix, fresh.matrix)
        assert relation.decode().equals(fresh.decode())
        assert [(c.name, c.type, c.distinct, c.nulls) for c in relation.columns] == [
            (c.name, c.type, c.distinct, c.nulls) for c in fresh.columns
        ]


@given(batches=st.lists(st.lists(st.integers(0, 60), unique=True).map(sorted), max_size=12), spare=st.integers(0, 40))
def test_dictionaries_of_few_labels(batches, spare):
    """Labels keep the order of the values, and change only when it is said that they do."""
    values = {v for batch in batches for v in batch}
    grown, known = dictionary.Dictionary(size=2 * len(values) + 2 + spare), {}
    for batch in batches:
        labels, changed = grown.add(Numbers(np.array(batch, np.int64)))
        if changed is not None:
            known = dict(zip(known, changed(np.array(list(known.values()), np.int32)).tolist(), strict=True))
            event("labels given out anew")
        assert all(known.get(v, label) == label for v, label in zip(batch, labels.tolist(), strict=True))
        known |= dict(zip(batch, labels.tolist(), strict=True))
        grown._check()
        assert [known[v] for v in sorted(known)] == sorted(known.values())
        assert grown.find(Numbers(np.array([*sorted(known), -1]))).tolist() == [*(known[v] for v in sorted(known)), -1]
        if known:
            assert grown.values(np.array([known[v] for v in known], np.int32)).array.tolist() == list(known)


@settings(max_examples=100)
@given(data=st.data(), table=tables(max_rows=14, max_columns=4), together=st.booleans(), tight=st.booleans())
def test_batches(data, table, together, tight):
    """All rows come in batches, some go again; ``tight``: with as few labels as will do, so that they are given out
    anew often."""
    most = max(len({plain(v) for name in names for v in table.values[name]} - {None}) for names in scales_of(table))
    saved, dictionary.LABELS = dictionary.LABELS, 2 * most + 2 if tight else dictionary.LABELS
    try:
        start = data.draw(st.integers(0, table.rows if not tight else min(3, table.rows)))
        arrow = to_arrow(table)
        with encode(open_source(arrow.slice(0, start))) as relation:
            grown = GrowingTable.of(relation, scales=scales_of(table) if together else ())
        rows = {r: r for r in range(start)}
        with tempfile.TemporaryDirectory() as folder:
            store = Store.create(Path(folder) / "state")
            for _ in range(data.draw(st.integers(1, 5))):
                end = data.draw(st.integers(start, min(table.rows, start + 4) if tight else table.rows))
                going = data.draw(st.lists(st.sampled_from(sorted(rows)), unique=True)) if rows else []
                deletes = to_arrow(table.take([rows[r] for r in going]))
                taken = grown.take(arrow.slice(start, end - start), deletes)
                event("labels given out anew" if grown.relabelled else "labels kept")
                gone = {r: rows.pop(r) for r in taken.deleted.tolist()}
                assert len(gone) == len(going)
                rows |= dict(zip(taken.inserted.tolist(), range(start, end), strict=True))
                start = end
                check(grown, table, rows)
                if data.draw(st.booleans()):
                    numbers = grown.compact()
                    rows = {int(numbers[r]): value for r, value in rows.items()}
                    check(grown, table, rows)
                if data.draw(st.booleans()):
                    with store.writing() as writer:
                        writer.commit({"table": grown.save(writer.under("table"))})
                    check(grown, table, rows)
                    grown = GrowingTable.load(Store.open(store.folder), store.facts["table"], "table")
                    check(grown, table, rows)
    finally:
        dictionary.LABELS = saved
