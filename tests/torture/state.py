"""Kills processes that write to a state through the library, with ``kill -9`` at random moments, and looks at what they
leave.

A child opens the state, checks it against discovery from scratch, and applies batch after batch until it is killed. Its
successor finds the last batch applied or not, applies it again under its id, and goes on. Children are forked from a
process that has imported everything and done nothing else.

A kill that hits a child before it writes shows nothing. So a child says every step of a write, it is killed a random
moment after its first batch, and the run fails if the kills did not hit writes, at different steps, or if hardly any
batch was applied.
"""

from __future__ import annotations

import os
import random
import signal
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa

from rowlaw.discovery import discover
from rowlaw.discovery.denial import discover_denials
from rowlaw.engine.local.engine import LocalEngine
from rowlaw.maintain import Laws
from rowlaw.rules.implication import canonical
from rowlaw.storage import arrays
from tests.rediscovery import Rediscovery
from tests.torture.outcome import Outcome

ROWS = 60  # of the first table, of which the first ten go again, batch by batch
SORTS = {
    "rules that are found": {"kinds": ["dc"], "cross": False, "columns": ["a", "b", "c"]},
    "across columns and within rows": {"kinds": ["dc"], "overlap": 0.0, "single_row": True, "columns": ["a", "c"]},
    "twelve columns": {"kinds": ["key", "fd"]},
    "chosen rules": {
        "rules": {
            "K": "key (b, c)",
            "fd": "fd (b) -> a",
            "two": "not (s.a < t.a and s.c > t.c)",
            "row": "not (s.a > s.c)",
        }
    },
}


def rows(start: int, number: int) -> pa.Table:
    numbers = np.arange(start, start + number)
    more = {f"d{i}": numbers * (i + 2) // (i + 1) % (3 + i) for i in range(9)}
    return pa.table(
        {
            "id": numbers,
            "a": numbers * 7919 % 101,
            "b": [f"text {n * 31 % 13}" for n in numbers.tolist()],
            "c": numbers / 8,
            **more,
        }
    )


def batch(number: int) -> tuple[pa.Table, list[int]]:
    """What comes and goes with a batch: as many rows as live, so that the table is compacted again and again."""
    return rows(ROWS + 7 * number, 7), list(range(7 * number, 7 * number + 7))


def expected(number: int) -> list[int]:
    """The ids that live after so many batches."""
    return list(range(7 * number, ROWS + 7 * number))


def check(laws: Laws) -> None:
    table = laws.table
    table._check()
    ids = table.decode(np.flatnonzero(table.alive), ["id"]).column(0).to_pylist()
    assert sorted(ids) == expected(laws.batch), f"batch {laws.batch} has other rows"
    relation = table.relation()
    if laws.chosen:
        counted = LocalEngine(relation, laws.nulls).counts([r.rule for r in laws.rules])
        assert list(laws.counts.values()) == counted, f"batch {laws.batch} has other counts"
        return
    if laws.options["kinds"] == ["dc"]:
        evolution = laws._loaded
        space = evolution.space if isinstance(evolution, Rediscovery) else evolution.denials.space
        found = {canonical(d) for d in discover_denials(LocalEngine(relation, laws.nulls), space).denials}
        assert {canonical(r.rule) for r in laws.rules} == found, f"batch {laws.batch} has other rules"
    else:
        fresh = discover(
            table.decode(np.flatnonzero(table.alive)), kinds=laws.options["kinds"], row_id="id", progress=False
        )
        assert {r.rule for r in laws.rules} == {r.rule for r in fresh}, f"batch {laws.batch} has other rules"
    assert [b.number for b in laws.history.batches] == list(range(laws.batch + 1))


def child(path: str, evolution: type | None, seen: int) -> None:
    """Applies batches until it is killed. ``seen``: the batches that an earlier child was seen to apply."""
    laws = Laws.open(path, evolution=evolution)
    assert laws.batch >= seen, "a batch that was applied is gone"
    check(laws)
    if laws.batch:
        inserts, deletes = batch(laws.batch - 1)
        assert laws.apply(inserts, deletes, batch_id=f"batch {laws.batch}").repeated
    arrays.listeners.append(lambda step: print(f"step {step.split()[0]} {step.split()[-1].split('-')[-1]}", flush=True))
    while True:
        number = laws.batch
        inserts, deletes = batch(number)
        print("reading", flush=True)
        laws.apply(inserts, deletes, batch_id=f"batch {number + 1}")
        print(f"applied {laws.batch}", flush=True)


def forked(work, *arguments) -> tuple[int, int]:
    """A child process and the pipe in which it speaks."""
    reading, writing = os.pipe()
    process = os.fork()
    if process:
        os.close(writing)
        return process, reading
    try:
        os.dup2(writing, 1)
        work(*arguments)
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        os._exit(1)


def run(kills: int = 50, *, seed: int = 0, window: float = 0.15, slow: bool = False) -> Outcome:
    """Kill so many children, each a random moment within ``window`` seconds after its first batch. ``slow``: discover
    with every batch."""
    outcome = Outcome("state", "kills of processes that apply batches through the library")
    random.seed(seed)
    seen, places = 0, Counter()
    for sort, settings in SORTS.items():
        evolution = Rediscovery if slow and settings.get("kinds") == ["dc"] else None
        applied = _killed_often(kills // len(SORTS), settings, evolution, window, outcome, places)
        if applied is None:
            outcome.failures[-1] += f" ({sort})"
            return outcome
        seen += applied
    hit = {place.removeprefix("step "): number for place, number in places.most_common() if place.startswith("step")}
    outcome.facts = {"during_a_write": sum(hit.values()), "at_different_steps": len(hit), "batches_applied": seen}
    if seen < kills or sum(hit.values()) * 5 < kills or len(hit) < min(3, kills // 5):
        outcome.failures.append("the kills missed what they were meant to hit: try another window")
    return outcome


def _killed_often(
    kills: int, settings: dict, evolution: type | None, window: float, outcome: Outcome, places: Counter
) -> int | None:
    """Kill so many children that apply batches to one state; how many batches were applied, None if something was
    wrong."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "state")

        def create() -> None:
            Laws.create(path, rows(0, ROWS), row_id="id", progress=False, evolution=evolution, **settings)

        def look() -> None:
            check(Laws.open(path, evolution=evolution))

        if not _succeeds(create):
            outcome.failures.append("the state could not be made")
            return None
        seen = 0
        for _ in range(kills):
            heard = _killed(path, evolution, seen, window)
            if heard is None:
                outcome.failures.append(f"a child failed after {outcome.cases} kills")
                return None
            outcome.cases += 1
            seen = max(int(line.split()[1]) for line in heard if line.startswith("applied"))
            places[heard[-1].strip()] += 1
        if not _succeeds(look):
            outcome.failures.append("the last state is not what was applied")
            return None
        return seen


def _succeeds(work) -> bool:
    process, pipe = forked(work)
    os.close(pipe)
    return os.waitpid(process, 0)[1] == 0


def _killed(path: str, evolution: type | None, seen: int, window: float) -> list[str] | None:
    """What a child said before it was killed; None if it ended by itself."""
    process, pipe = forked(child, path, evolution, seen)
    with os.fdopen(pipe) as speech:
        heard = []
        # the first batch of a process loads kernels: only after it do moments count
        for line in speech:
            heard.append(line)
            if line.startswith("applied"):
                break
        else:
            os.waitpid(process, 0)
            return None
        time.sleep(random.uniform(0, window))
        os.kill(process, signal.SIGKILL)
        heard += speech.readlines()
    _, status = os.waitpid(process, 0)
    return heard if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL else None
