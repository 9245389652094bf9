"""A process that dies while it applies a batch leaves the old state or the new one, and the batch can be applied
again."""

import shutil
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

from rowlaw.maintain import Laws
from rowlaw.storage import arrays, dictionary, store
from tests.rediscovery import Rediscovery


class Killed(BaseException):
    """As good as a power cut."""


# states by how their rules are kept
SORTS = {
    "rediscovery": {"evolution": Rediscovery},
    "all kinds, within rows": {"kinds": ("key", "fd", "dc"), "single_row": True, "constants": 0.05},
    "across columns": {"kinds": ("dc",), "overlap": 0.0},
    "twelve columns": {"kinds": ("key", "fd", "od")},
    "chosen rules": {"rules": {"K": "key (v)", "low": "not (s.v < 0.3)", "near": "not (s.v = t.v and t.v > 1)"}},
}


COLUMNS = {"across columns": 2, "twelve columns": 12}  # beside the id; one for other sorts


def widened(table, columns):
    """A table with further columns that follow from ``v``, each in its own way."""
    for i in range(1, columns):
        table = table.append_column(
            f"c{i}", pa.array([round(v * 8) % (2 + i) / 2 for v in table["v"].to_pylist()], pa.float64())
        )
    return table


def contents(path, evolution=None):
    laws = Laws.open(path, evolution=evolution)
    laws.table._check()
    if hasattr(laws._loaded, "_check"):
        laws._loaded._check(laws.table)
    rows = laws.table.decode(np.flatnonzero(laws.table.alive)).to_pylist()
    return laws.batch, rows, {r.id: str(r.rule) for r in laws.rules} | laws.counts, len(laws.history)


BATCHES = {
    "rows that come": (pa.table({"id": [50, 51], "v": [0.5, 7.0]}), None),
    "rows that go": (None, [1, 2, 3]),
    "both": (pa.table({"id": [1], "v": [0.25]}), [1]),
    "labels given out anew": (pa.table({"id": np.arange(100, 110), "v": np.linspace(0.1, 0.9, 10)}), None),
    "a table that is compacted": (pa.table({"id": [99], "v": [1.0]}), list(range(8))),
    "nothing": (None, None),
}


# every step where rules are found by the slow twin, and every so many of three batches for the others
STRIDES = {"all kinds, within rows": 7, "across columns": 7, "twelve columns": 13, "chosen rules": 3}
CASES = [("rediscovery", name, 1) for name in BATCHES]
CASES += [
    (sort, name, STRIDES[sort])
    for sort in SORTS
    for name in ("both", "labels given out anew", "a table that is compacted")
    if sort != "rediscovery"
]


@pytest.mark.parametrize(("sort", "name", "stride"), CASES)
def test_killed_at_every_step(tmp_path, monkeypatch, sort, name, stride):
    evolution = SORTS[sort].get("evolution")
    monkeypatch.setattr(store, "_sync", lambda path: None)
    monkeypatch.setattr(dictionary, "LABELS", 128)
    first = tmp_path / "first"
    columns = COLUMNS.get(sort, 1)
    table = widened(pa.table({"id": np.arange(10), "v": np.arange(10.0)}), columns)
    made = Laws.create(first, table, row_id="id", progress=False, **SORTS[sort])
    made.apply(widened(pa.table({"id": [40], "v": [3.5]}), columns))
    inserts, deletes = BATCHES[name]
    inserts = inserts if inserts is None else widened(inserts, columns)
    old, taken, new = contents(first, evolution), [], None
    for last in range(0, 300, stride):
        path = tmp_path / f"try-{last}"
        shutil.copytree(first, path)
        count = []

        def stop(step, count=count, last=last):
            count.append(step)
            if len(count) > last:
                raise Killed(step)

        arrays.listeners.append(stop)
        laws = Laws.open(path, evolution=evolution)
        try:
            change = laws.apply(inserts, deletes, batch_id="it")
        except Killed:
            change = None
        finally:
            arrays.listeners.clear()
        found = contents(path, evolution)
        if found != old:
            new = new or found
            assert found == new
        taken.append(found == new)
        laws = Laws.open(path, evolution=evolution)
        assert laws.apply(inserts, deletes, batch_id="it").repeated == (found != old)
        assert contents(path, evolution)[:3] == (new or contents(path, evolution))[:3]
        shutil.rmtree(path)
        if change is not None:
            break
    assert change is not None
    assert stride * len(taken) > 5
    assert taken == sorted(taken)  # once a step is past the point of no return, so are all after it
    assert not taken[0]


def test_killed_for_real():
    """``kill -9`` at random moments; ``make torture`` does it more often."""
    command = [sys.executable, "-m", "tests.torture", "state", "--minutes", "2"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=280)
    assert done.returncode == 0, done.stdout + done.stderr
    assert '"during_a_write"' in done.stdout
