"""Kills processes that write to a state, with ``kill -9`` at random moments, and looks at what they leave.

    python -m tests.torture --kills 50 --seed 1

A child opens the state, checks it against discovery from scratch, and applies batch after batch until it is killed. Its
successor finds the last batch applied or not, applies it again under its id, and goes on. Children are forked from a process
that has imported everything and done nothing else.

A kill that hits a child before it writes shows nothing. So a child says every step of a write, it is killed a random moment after
its first batch, and the run fails if the kills did not hit writes, at different steps, or if hardly any batch was applied.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa

from rowlaw.discovery.denial import discover_denials
from rowlaw.engine.engine import Engine
from rowlaw.maintain import Laws, steps
from rowlaw.predicates import SpaceOptions, predicate_space
from rowlaw.rules.implication import canonical
from tests.rediscovery import Rediscovery

ROWS = 60  # of the first table, of which the first ten go again, batch by batch


def rows(start: int, number: int) -> pa.Table:
    numbers = np.arange(start, start + number)
    return pa.table({"id": numbers, "a": numbers * 7919 % 101, "b": [f"text {n * 31 % 13}" for n in numbers.tolist()], "c": numbers / 8})


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
    found = discover_denials(Engine(relation, laws.nulls), predicate_space(relation, SpaceOptions(cross=False)))
    assert {canonical(r.rule) for r in laws.rules} == {canonical(d) for d in found.denials}, f"batch {laws.batch} has other rules"
    assert [b.number for b in laws.history.batches] == list(range(laws.batch + 1))


def child(path: str, evolution: type | None, seen: int) -> None:
    """Applies batches until it is killed. ``seen``: the batches that an earlier child was seen to apply."""
    laws = Laws.open(path, evolution=evolution)
    assert laws.batch >= seen, "a batch that was applied is gone"
    check(laws)
    if laws.batch:
        inserts, deletes = batch(laws.batch - 1)
        assert laws.apply(inserts, deletes, batch_id=f"batch {laws.batch}").repeated
    steps.listeners.append(lambda step: print(f"step {step.split()[0]} {step.split()[-1].split('-')[-1]}", flush=True))
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


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--kills", type=int, default=50)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--window", type=float, default=0.15, help="seconds after the first batch in which a child is killed")
    options.add_argument("--slow", action="store_true", help="discover from scratch with every batch")
    chosen = options.parse_args()
    evolution = Rediscovery if chosen.slow else None
    random.seed(chosen.seed)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "state")

        def create() -> None:
            Laws.create(path, rows(0, ROWS), row_id="id", kinds=["dc"], cross=False, progress=False, evolution=evolution)

        process, pipe = forked(create)
        os.close(pipe)
        if os.waitpid(process, 0)[1]:
            return 1
        seen, places = 0, Counter()
        for _ in range(chosen.kills):
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
                    return 1
                time.sleep(random.uniform(0, chosen.window))
                os.kill(process, signal.SIGKILL)
                heard += speech.readlines()
            _, status = os.waitpid(process, 0)
            if not os.WIFSIGNALED(status) or os.WTERMSIG(status) != signal.SIGKILL:
                return 1
            seen = max(int(line.split()[1]) for line in heard if line.startswith("applied"))
            places[heard[-1].strip()] += 1
        process, pipe = forked(lambda: check(Laws.open(path, evolution=evolution)))
        os.close(pipe)
        if os.waitpid(process, 0)[1]:
            return 1
        hit = {place: number for place, number in places.items() if place.startswith("step")}
        during = f"{sum(hit.values())} of them during a write, at {len(hit)} different steps"
        print(f"{chosen.kills} kills, {during}; {seen} batches applied; no harm done")
        for place, number in sorted(hit.items(), key=lambda item: -item[1]):
            print(f"  {number:3} after: {place.removeprefix('step ')}")
        if seen < chosen.kills or sum(hit.values()) * 5 < chosen.kills or len(hit) < min(3, chosen.kills // 5):
            print("the kills missed what they were meant to hit: try another --window", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
