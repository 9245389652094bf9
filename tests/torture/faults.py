"""Disks that are full and folders that cannot be written: every command says so, nothing is lost, and with room again
it works.

The disk is a small one in memory, mounted for the purpose. Where mounting is not allowed, a limit on the size of files
stands in for a full disk, and the permissions of a folder for one that is read-only.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import rowlaw
from tests.torture.commands import COMMANDS, ROWLAW, Command, complaint, environment, prepare, rowlaw_command
from tests.torture.outcome import Outcome

SIZE = 4 << 20  # bytes of the small disk
LEFT = (0, 8 << 10, 64 << 10)  # bytes that are free when the command begins


class Disk:
    """A folder whose room is limited."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.limit = folder, None
        folder.mkdir()
        self.mounted = _mount("-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(folder))

    def fill(self, left: int) -> None:
        """Take all room but so many bytes."""
        if not self.mounted:
            self.limit = max(left, 1)
            return
        with open(self.folder / "filler", "wb", buffering=0) as stream, suppress(OSError):
            while True:
                stream.write(b"\0" * 4096)
        if left:
            os.truncate(self.folder / "filler", (self.folder / "filler").stat().st_size - left)

    def empty(self) -> None:
        (self.folder / "filler").unlink(missing_ok=True)
        self.limit = None

    def lock(self) -> None:
        """Nothing can be written from now on."""
        if not self.mounted:
            for home, _, _ in os.walk(self.folder):
                os.chmod(home, 0o555)
        else:
            assert _mount("-o", "remount,ro", str(self.folder))

    def unlock(self) -> None:
        if not self.mounted:
            for home, _, _ in os.walk(self.folder):
                os.chmod(home, 0o755)
        else:
            assert _mount("-o", "remount,rw", str(self.folder))

    def run(self, command: Command, **more: str) -> tuple[int, str]:
        def limited() -> None:
            if self.limit is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (self.limit, resource.RLIM_INFINITY))

        done = subprocess.run(
            [ROWLAW, *command.arguments],
            cwd=self.folder / "work",
            env=environment(**more),
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
            preexec_fn=limited,
        )
        return done.returncode, done.stderr


def _mount(*arguments: str) -> bool:
    return os.getuid() == 0 and subprocess.run(["mount", *arguments], capture_output=True, check=False).returncode == 0


@contextmanager
def disk(folder: Path) -> Iterator[Disk]:
    made = Disk(folder)
    try:
        yield made
    finally:
        if made.mounted:
            subprocess.run(["umount", "-l", str(folder)], capture_output=True, check=False)
        else:
            made.unlock()


def run(rounds: int = 1) -> Outcome:
    outcome = Outcome("faults", "full disks and read-only folders under every command that writes")
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder) / "base"
        prepare(base)
        with disk(Path(folder) / "disk") as small:
            outcome.facts["full_by"] = "a disk of its own" if small.mounted else "a limit on files"
            for command in COMMANDS:
                for _ in range(rounds):
                    for left in LEFT:
                        _one(
                            small,
                            base,
                            command,
                            outcome,
                            f"{left} bytes free",
                            lambda left=left: small.fill(left),
                            small.empty,
                        )
                    if small.mounted or os.getuid() != 0:
                        _one(small, base, command, outcome, "read-only", small.lock, small.unlock)
                _scratch(small, base, command, outcome)
    return outcome


def _one(small: Disk, base: Path, command: Command, outcome: Outcome, what: str, begin, end) -> None:
    """The command where it cannot write, and again where it can."""
    work = small.folder / "work"
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(base, work)
    if command.state is not None and command.state[0] is not None:
        shutil.copytree(work / "base.state", work / "work.state")
    begin()
    try:
        code, told = small.run(command)
    finally:
        end()
    outcome.cases += 1
    outcome.facts["refused"] = outcome.facts.get("refused", 0) + (code == 3)
    try:
        wrong = complaint(code, told, (command.code, 2, 3))
        found = command.look(work)
        if wrong is None and code == command.code and found != "new":
            wrong = "it says that it is done, and is not"
        if wrong is None and list(work.rglob("*.part")):
            wrong = "a draft is left"
        if wrong is None:
            there = command.name == "init" and found == "new"
            again = rowlaw_command(*command.arguments, folder=work)
            wrong = complaint(again.returncode, again.stderr, (2,) if there else (command.code,)) or (
                None if command.look(work) == "new" else "it does not work with room again"
            )
    except Exception as error:
        wrong = f"{type(error).__name__}: {error}"
    if wrong is not None:
        outcome.failures.append(f"{command.name}, {what}: {wrong}")


def _scratch(small: Disk, base: Path, command: Command, outcome: Outcome) -> None:
    """Room where the results go, and none for what is kept while working."""
    if not small.mounted:
        return
    work = small.folder / "work"
    shutil.rmtree(work, ignore_errors=True)
    home = base.parent / "elsewhere"
    shutil.rmtree(home, ignore_errors=True)
    shutil.copytree(base, home)
    if command.state is not None and command.state[0] is not None:
        shutil.copytree(home / "base.state", home / "work.state")
    small.fill(0)
    done = rowlaw_command(*command.arguments, folder=home, ROWLAW_SCRATCH=str(small.folder))
    small.empty()
    outcome.cases += 1
    wrong = complaint(done.returncode, done.stderr, (command.code, 3))
    try:
        command.look(home)
    except Exception as error:
        wrong = f"{type(error).__name__}: {error}"
    if wrong is not None:
        outcome.failures.append(f"{command.name}, no room for scratch: {wrong}")
    assert rowlaw.Laws.open(home / "base.state").table.living
