"""Every command that writes files, as a user runs it: what it writes, and how to tell whether that is whole."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow.parquet as pq

import rowlaw
from rowlaw.errors import RowlawError

ROWLAW = str(Path(sys.executable).with_name("rowlaw"))
ROWS = 300


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "COLUMNS": "120", **more}


def rowlaw_command(
    *arguments: str, folder: Path, timeout: float = 600, **more: str
) -> subprocess.CompletedProcess[str]:
    """Run rowlaw to its end."""
    return subprocess.run(
        [ROWLAW, *arguments],
        cwd=folder,
        env=environment(**more),
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        timeout=timeout,
    )


def complaint(code: int, told: str, allowed: tuple[int, ...]) -> str | None:
    """What is wrong with how a command ended: it must have an exit code of the contract, and a name for what went
    wrong."""
    if "Traceback" in told:
        return "a traceback: " + told.strip().splitlines()[-1]
    if code not in allowed:
        return f"exit code {code}: {told[-300:]!r}"
    if (
        code >= 2
        and not any(line.split(":")[0].isupper() and ":" in line for line in told.splitlines())
        and "Usage" not in told
    ):
        return f"exit code {code} without a named condition: {told[-300:]!r}"
    return None


# Tables and states


def people(rows: int = ROWS, start: int = 0) -> str:
    lines = [
        "id,zip,city,age",
        *(f"{i},{10000 + i % 37},City {i % 37},{20 + i * 7 % 60}" for i in range(start, start + rows)),
    ]
    return "\n".join(lines) + "\n"


def prepare(folder: Path) -> None:
    """The files that the commands read, and a state."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "people.csv").write_text(people())
    (folder / "dirty.csv").write_text(people() + "9001,10001,Nowhere,30\n9002,10001,Elsewhere,31\n")
    (folder / "new.csv").write_text(people(20, ROWS) + "9003,10001,Nowhere,30\n")
    (folder / "rules.yaml").write_text('rules:\n  city: fd (zip) -> city\n  id: key (id)\n  age: "not (s.age < 0)"\n')
    (folder / "foreign.txt").write_text("[zip] -> city\n[id] -> age\n")
    (folder / "incoming").mkdir(exist_ok=True)
    for i in range(3):
        (folder / "incoming" / f"{i}.csv").write_text(people(15, 1000 + 15 * i) + f"{9100 + i},10001,Nowhere,30\n")
    made = rowlaw_command("init", "base.state", "people.csv", "--row-id", "id", "--no-cross", folder=folder)
    assert made.returncode == 0, made.stderr


def state_rows(path: Path) -> int | None:
    """The living rows of a state, None if there is none; a state that is neither there nor whole raises."""
    try:
        laws = rowlaw.Laws.open(path)
    except RowlawError as error:
        if error.condition == "NO_STATE":
            return None
        raise
    laws.table._check()
    assert len(laws.history.batches) == laws.batch + 1
    assert len(laws.rules) > 0
    return laws.table.living


# Files


def whole_json(path: Path) -> None:
    json.loads(path.read_text())


def whole_html(path: Path) -> None:
    assert path.read_text().rstrip().endswith("</html>")


def whole_text(path: Path) -> None:
    assert path.read_text().endswith("\n")


def whole_sql(path: Path) -> None:
    assert path.read_text().rstrip().endswith(";")


def whole_rules(path: Path) -> None:
    assert len(rowlaw.load(path)) > 0


def whole_parquet(path: Path) -> None:
    assert pq.read_table(path).num_rows > 0


def whole_xml(path: Path) -> None:
    ET.parse(path)


@dataclass(frozen=True)
class Command:
    """A command that writes: its arguments, the exit codes it may end with, and how each file it writes is looked
    at."""

    name: str
    arguments: tuple[str, ...]
    files: dict[str, Callable[[Path], None]] = field(default_factory=dict)
    code: int = 0
    # living rows of work.state before and after, where the command writes one
    state: tuple[int | None, int] | None = None

    def look(self, folder: Path) -> str:
        """Says whether everything is new; raises if a file or the state is neither old nor whole."""
        new = True
        for name, whole in self.files.items():
            if (folder / name).exists():
                whole(folder / name)
            else:
                new = False
        if self.state is not None:
            living = state_rows(folder / "work.state")
            before, after = self.state
            between = {"watch": range(ROWS, after + 1)}.get(self.name, (before, after))
            assert living in between, f"the state has {living} rows"
            new = new and living == after
        return "new" if new else "old"


APPLIED = ROWS + 20
WATCHED = ROWS + 45
COMMANDS = [
    Command("init", ("init", "work.state", "people.csv", "--row-id", "id", "--no-cross"), state=(None, ROWS)),
    Command(
        "apply",
        (
            *(
                "apply",
                "work.state",
                "--insert",
                "new.csv",
                "--batch-id",
                "monday",
                "--format",
                "json",
                "--out",
                "applied.json",
            ),
            *("--guard", "rules.yaml", "--quarantine", "held.parquet"),
        ),
        {"applied.json": whole_json, "held.parquet": whole_parquet},
        state=(ROWS, APPLIED),
    ),
    Command(
        "watch",
        (
            "watch",
            "work.state",
            "--source-folder",
            "incoming",
            "--once",
            "--guard",
            "rules.yaml",
            "--quarantine",
            "aside",
        ),
        {f"aside/file-{i}.csv.parquet": whole_parquet for i in range(3)},
        state=(ROWS, WATCHED),
    ),
    Command(
        "show",
        ("show", "base.state", "--rules", "shown.yaml", "--out", "shown.txt"),
        {"shown.yaml": whole_rules, "shown.txt": whole_text},
    ),
    Command(
        "check",
        (
            "check",
            "dirty.csv",
            "rules.yaml",
            "--violations",
            "clashes.parquet",
            "--format",
            "json",
            "--out",
            "checked.json",
        ),
        {"clashes.parquet": whole_parquet, "checked.json": whole_json},
        code=1,
    ),
    Command(
        "check junit",
        ("check", "dirty.csv", "rules.yaml", "--format", "junit", "--out", "checked.xml"),
        {"checked.xml": whole_xml},
        code=1,
    ),
    Command(
        "discover",
        ("discover", "people.csv", "--no-cross", "--rules", "laws.yaml", "--format", "json", "--out", "found.json"),
        {"laws.yaml": whole_rules, "found.json": whole_json},
    ),
    Command(
        "explain",
        ("explain", "dirty.csv", "fd (zip) -> city", "--rules", "rules.yaml", "--out", "told.txt"),
        {"told.txt": whole_text},
    ),
    Command(
        "report", ("report", "dirty.csv", "rules.yaml", "--out", "report.html"), {"report.html": whole_html}, code=1
    ),
    Command(
        "export",
        ("export", "rules.yaml", "--to", "sql", "--table", "people", "--out", "rules.sql"),
        {"rules.sql": whole_sql},
    ),
    Command("import", ("import", "foreign.txt", "--out", "imported.yaml"), {"imported.yaml": whole_rules}),
]
