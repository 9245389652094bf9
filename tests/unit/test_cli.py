"""The command line."""

import subprocess
import sys
from pathlib import Path

ROWLAW = str(Path(sys.executable).with_name("rowlaw"))


def run(*arguments, **options):
    return subprocess.run([ROWLAW, *arguments], capture_output=True, text=True, check=False, **options)


def test_help_shows_every_command_with_an_example():
    top = run("--help")
    assert top.returncode == 0
    assert "demo" in top.stdout
    for command in ["demo"]:
        shown = run(command, "--help")
        assert "Example: rowlaw" in shown.stdout


def test_version():
    assert run("--version").stdout.startswith("rowlaw ")


def test_bad_usage():
    assert run("nothing").returncode == 2
    assert run("demo", "--nothing").returncode == 2


def test_demo_prints_the_encoded_table_and_its_rules():
    shown = run("demo", env={"COLUMNS": "200", "PATH": ""})
    assert shown.returncode == 0, shown.stderr
    assert shown.stderr == ""
    assert "12 rows and 9 columns" in shown.stdout
    assert "fd (zip) -> city" in shown.stdout
    assert "\x1b" not in shown.stdout
