"""Kills the real executable with ``kill -9`` at random moments of every command that writes, and looks at what it
leaves."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import rowlaw
from tests.torture.commands import COMMANDS, ROWLAW, Command, complaint, environment, people, prepare, rowlaw_command
from tests.torture.outcome import Outcome

AT_A_WRITE = 0.7  # share of the kills that wait for the first change of a file
WINDOW = 0.05  # seconds after the first change in which they come
ATTEMPTS = 4  # children for one kill: one that ended before its time was not killed


def run(kills: int = 3, *, apply_kills: int = 50, seed: int = 0) -> Outcome:
    """Kill each command so many times, and ``rowlaw apply`` more often; in two threads, for most of the time children
    are waited for."""
    outcome = Outcome("kills", "kills of every command that writes, at random moments")
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder) / "base"
        prepare(base)
        with ThreadPoolExecutor(2) as pool:
            applied = pool.submit(apply_again_and_again, base, Path(folder) / "apply", apply_kills, random.Random(seed))
            others = pool.submit(all_commands, base, Path(folder), kills, random.Random(seed + 1))
            for part in (applied.result(), others.result()):
                outcome.cases += part.cases
                outcome.facts |= part.facts
                outcome.failures += part.failures
    return outcome


def run_apply(kills: int = 50, *, seed: int = 0) -> Outcome:
    """Only ``rowlaw apply``."""
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder) / "base")
        return apply_again_and_again(Path(folder) / "base", Path(folder) / "apply", kills, random.Random(seed))


def apply_again_and_again(base: Path, folder: Path, kills: int, chance: random.Random) -> Outcome:
    """Batch after batch is applied by a process that is killed; a batch that was not applied is applied again under its
    id."""
    outcome = Outcome("apply", "kills of rowlaw apply, at random moments")
    shutil.copytree(base, folder)
    batch, hit, applied = 1, 0, 0
    length = _seconds(("show", "base.state"), folder)
    while outcome.cases < kills:
        (folder / "batch.csv").write_text(people(10, 10_000 + 10 * batch))
        arguments = ("apply", "base.state", "--insert", "batch.csv", "--batch-id", f"batch {batch}", "--quiet")
        killed, writing, told = kill(arguments, folder, chance, length)
        wrong = None if killed else complaint(*told, (0,))
        if wrong is not None:
            outcome.failures.append(f"apply: {wrong}")
            return outcome
        outcome.cases += killed
        hit += killed and writing
        laws = rowlaw.Laws.open(folder / "base.state")
        laws.table._check()
        if laws.batch not in (batch - 1, batch) or (not killed and laws.batch != batch):
            outcome.failures.append(f"apply: batch {laws.batch} after batch {batch} was killed")
            return outcome
        expected = 300 + 10 * laws.batch
        if laws.table.living != expected or len(laws.history.batches) != laws.batch + 1:
            outcome.failures.append(f"apply: {laws.table.living} rows after {laws.batch} batches, not {expected}")
        applied += laws.batch == batch
        batch = laws.batch + 1
    outcome.facts = {"kills_of_apply": outcome.cases, "kills_of_apply_during_a_write": hit, "batches_applied": applied}
    return outcome


def all_commands(base: Path, folder: Path, kills: int, chance: random.Random) -> Outcome:
    outcome = Outcome("commands", "")
    writing = 0
    for command in COMMANDS:
        home = folder / "commands" / command.name
        shutil.copytree(base, home)
        length = 0.0
        # first where nothing is, then over what an earlier run has left
        for number in range(kills):
            if number == 0 or command.state is not None:
                _fresh(command, home)
            killed = False
            for _ in range(ATTEMPTS):
                killed, hit, _ = kill(command.arguments, home, chance, length or 1.0)
                if killed:
                    break
                _fresh(command, home)
            outcome.cases += killed
            writing += killed and hit
            try:
                found = command.look(home)
            except Exception as error:
                outcome.failures.append(f"{command.name} after a kill: {type(error).__name__}: {error}")
                break
            began = time.monotonic()
            again = rowlaw_command(*command.arguments, folder=home)
            length = time.monotonic() - began
            there = command.name == "init" and found == "new"
            wrong = complaint(again.returncode, again.stderr, (2,) if there else (command.code,))
            try:
                if wrong is None and command.look(home) != "new":
                    wrong = "what it should have written is not there"
                if wrong is None and (left := [p.name for p in home.rglob("*.part")]):
                    wrong = f"{left} is left"
            except Exception as error:
                wrong = f"{type(error).__name__}: {error}"
            if wrong is not None:
                outcome.failures.append(f"{command.name} again after a kill: {wrong}")
    outcome.facts = {
        "commands": len(COMMANDS),
        "kills_of_commands": outcome.cases,
        "kills_of_commands_during_a_write": writing,
    }
    return outcome


def _fresh(command: Command, home: Path) -> None:
    """The folder as it is before the command has run."""
    for name in command.files:
        (home / name).unlink(missing_ok=True)
    if command.state is not None:
        shutil.rmtree(home / "work.state", ignore_errors=True)
        if command.state[0] is not None:
            shutil.copytree(home / "base.state", home / "work.state")


def kill(
    arguments: tuple[str, ...], folder: Path, chance: random.Random, length: float
) -> tuple[bool, bool, tuple[int, str]]:
    """Start a command and kill it: whether it was killed, whether it had begun to write by then, and how it ended by
    itself else."""
    at_a_write = chance.random() < AT_A_WRITE
    until = time.monotonic() + (60.0 if at_a_write else chance.uniform(0, length))
    before = _marks(folder)
    process = subprocess.Popen(
        [ROWLAW, *arguments],
        cwd=folder,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )
    while process.poll() is None and time.monotonic() < until:
        if at_a_write and _marks(folder) != before:
            time.sleep(chance.uniform(0, WINDOW))
            break
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    writing = _marks(folder) != before
    _, told = process.communicate()
    return process.returncode == -signal.SIGKILL, writing, (process.returncode, told)


def _marks(folder: Path) -> list[tuple[str, int, int]]:
    """What there is in a folder, and when it changed."""
    found = []
    for home, _, names in os.walk(folder):
        for name in names:
            try:
                facts = os.stat(os.path.join(home, name))
            except FileNotFoundError:
                continue
            found.append((os.path.join(home, name), facts.st_mtime_ns, facts.st_size))
    return sorted(found)


def _seconds(arguments: tuple[str, ...], folder: Path) -> float:
    began = time.monotonic()
    rowlaw_command(*arguments, folder=folder)
    return time.monotonic() - began
