"""A process that dies while it applies a batch leaves the old state or the new one, and the batch can be applied again."""

import shutil
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

from rowlaw.maintain import Laws, dictionary, steps, store
from tests.rediscovery import Rediscovery


class Killed(BaseException):
    """As good as a power cut."""


def contents(path):
    laws = Laws.open(path, evolution=Rediscovery)
    laws.table._check()
    rows = laws.table.decode(np.flatnonzero(laws.table.alive)).to_pylist()
    return laws.batch, rows, {r.id: str(r.rule) for r in laws.rules}, len(laws.history)


BATCHES = {
    "rows that come": (pa.table({"id": [50, 51], "v": [0.5, 7.0]}), None),
    "rows that go": (None, [1, 2, 3]),
    "both": (pa.table({"id": [1], "v": [0.25]}), [1]),
    "labels given out anew": (pa.table({"id": np.arange(100, 110), "v": np.linspace(0.1, 0.9, 10)}), None),
    "a table that is compacted": (pa.table({"id": [99], "v": [1.0]}), list(range(8))),
    "nothing": (None, None),
}


@pytest.mark.parametrize("name", BATCHES)
def test_killed_at_every_step(tmp_path, monkeypatch, name):
    monkeypatch.setattr(store, "_sync", lambda path: None)
    monkeypatch.setattr(dictionary, "LABELS", 128)
    first = tmp_path / "first"
    made = Laws.create(first, pa.table({"id": np.arange(10), "v": np.arange(10.0)}), row_id="id", progress=False, evolution=Rediscovery)
    made.apply(pa.table({"id": [40], "v": [3.5]}))
    inserts, deletes = BATCHES[name]
    old, taken, new = contents(first), [], None
    for last in range(100):
        path = tmp_path / f"try-{last}"
        shutil.copytree(first, path)
        count = []

        def stop(step, count=count, last=last):
            count.append(step)
            if len(count) > last:
                raise Killed(step)

        steps.listeners.append(stop)
        laws = Laws.open(path, evolution=Rediscovery)
        try:
            change = laws.apply(inserts, deletes, batch_id="it")
        except Killed:
            change = None
        finally:
            steps.listeners.clear()
        found = contents(path)
        if found != old:
            new = new or found
            assert found == new
        taken.append(found == new)
        laws = Laws.open(path, evolution=Rediscovery)
        assert laws.apply(inserts, deletes, batch_id="it").repeated == (found != old)
        assert contents(path)[:3] == (new or contents(path))[:3]
        shutil.rmtree(path)
        if change is not None:
            break
    assert change is not None
    assert len(taken) > 5
    assert taken == sorted(taken)  # once a step is past the point of no return, so are all after it
    assert not taken[0]


def test_killed_for_real():
    """``kill -9`` at random moments; ``make torture`` does it more often."""
    command = [sys.executable, "-m", "tests.torture", "state", "--minutes", "2"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=280)
    assert done.returncode == 0, done.stdout + done.stderr
    assert '"during_a_write"' in done.stdout
