"""The command line."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import typer.main
from typer.testing import CliRunner

import rowlaw
from rowlaw.cli import discover
from rowlaw.cli.app import app, main

ROWLAW = str(Path(sys.executable).with_name("rowlaw"))


def run(*arguments, **options):
    return subprocess.run([ROWLAW, *arguments], capture_output=True, text=True, check=False, **options)


def commands():
    return typer.main.get_command(app).commands


@pytest.mark.parametrize("name", sorted(commands()))
def test_help_shows_every_command_with_an_example(name):
    """And the example is one: every word of it is understood."""
    command = commands()[name]
    shown = CliRunner().invoke(app, [name, "--help"], terminal_width=200, color=False)
    assert shown.exit_code == 0
    assert command.epilog.startswith(f"Example: rowlaw {name}")
    assert command.epilog in " ".join(shown.output.split())
    command.make_context(name, shlex.split(command.epilog)[3:])


def test_help_lists_every_command():
    top = run("--help")
    assert top.returncode == 0
    assert {"check", "demo", "discover", "explain", "export", "import", "report"} <= set(commands())
    assert all(name in top.stdout for name in commands())


def test_version():
    assert run("--version").stdout.startswith("rowlaw ")


def test_bad_usage():
    assert run("nothing").returncode == 2
    assert run("demo", "--nothing").returncode == 2


@pytest.fixture
def people(tmp_path):
    (tmp_path / "people.csv").write_text(
        "id,zip,city,age\n1,07030,Hoboken,30\n2,07030,Hobken,40\n3,10001,New York,-1\n"
    )
    (tmp_path / "rules.yaml").write_text(
        "rules:\n  city: fd (zip) -> city\n  age:\n    rule: not (s.age < 0)\n    because: nobody is that young\n"
    )
    return tmp_path


def test_check(people):
    shown = run("check", "people.csv", "rules.yaml", "--rule", "key (id)", "--row-id", "id", cwd=people)
    assert shown.returncode == 1
    assert re.fullmatch(r"rowlaw: local engine: \d+ bytes are read into this process\n", shown.stderr)
    assert "city  broken            2     2  fd (zip) -> city" in shown.stdout
    assert "R1    holds" in shown.stdout
    assert "because nobody is that young" in shown.stdout
    assert "again: rowlaw check people.csv rules.yaml --rule 'key (id)' --row-id id" in shown.stdout


def test_check_as_json(people):
    shown = run("check", "people.csv", "--rule", "fd (zip) -> city", "--format", "json", "--sample", "1", cwd=people)
    assert json.loads(shown.stdout)["rules"][0]["sample"] == [[0, 1]]
    shown = run("check", "people.csv", "--rule", "key (id)", "--format", "json", "--out", "result.json", cwd=people)
    assert (shown.returncode, shown.stdout) == (0, "")
    assert json.loads((people / "result.json").read_text())["rows"] == 3


def test_violations_to_a_file(people):
    shown = run("check", "people.csv", "--rule", "fd (zip) -> city", "--violations", "out.parquet", cwd=people)
    assert shown.returncode == 1
    assert pq.read_table(people / "out.parquet").num_rows == 2
    shown = run(
        "check",
        "people.csv",
        "--rule",
        "fd (zip) -> city",
        "--violations",
        "out.csv",
        "--violations-limit",
        "1",
        cwd=people,
    )
    assert shown.returncode == 1
    header, *lines = (people / "out.csv").read_text().splitlines()
    assert header == '"rule","s_row","t_row","s_city","t_city","s_zip","t_zip"'
    assert len(lines) == 1
    assert (
        run("check", "people.csv", "--rule", "key (id)", "--violations", "no/out.parquet", cwd=people).returncode == 2
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["people.csv", "--rule", "key (idd)"], ["UNKNOWN_COLUMN", "did you mean 'id'", "^^^"]),
        (["people.csv", "--rule", "not (s.id = t.id"], ["RULE_SYNTAX", "^"]),
        (["people.csv", "--rule", "not (s.age << t.age)"], ["RULE_SYNTAX", "'<<'", "^^"]),
        (["people.csv", "--rule", "not (s.city = t.age)"], ["INCOMPATIBLE_TYPES", "^^^"]),
        (["people.csv"], ["BAD_OPTION", "--rule: give a rule"]),
        (["people.csv", "nothing.yaml"], ["NO_SUCH_FILE"]),
        (["nothing.csv", "--rule", "key (id)"], ["NO_SUCH_FILE", "nothing.csv"]),
        (["nothing.xlsx", "--rule", "key (id)"], ["NO_SUCH_FILE", "nothing.xlsx"]),
        (["people.csv", "--rule", "key (id)", "--nulls", "maybe"], ["BAD_OPTION", "unknown, equal"]),
        (["people.csv", "--rule", "key (id)", "--format", "xml"], ["BAD_OPTION", "table, json"]),
        (["people.csv", "--rule", "key (id)", "--types", "id"], ["BAD_OPTION", "name=value"]),
    ],
)
def test_bad_input_is_exit_code_2(people, arguments, words):
    shown = run("check", *arguments, cwd=people)
    assert shown.returncode == 2
    assert shown.stdout == ""
    assert all(word in shown.stderr for word in words), shown.stderr
    assert "Traceback" not in shown.stderr


def test_types_and_columns(people):
    shown = run(
        "check",
        "people.csv",
        "--rule",
        "not (s.age = '30')",
        "--types",
        "age=string",
        "--columns",
        "age,id",
        cwd=people,
    )
    assert shown.returncode == 1, shown.stderr
    assert run("check", "people.csv", "--rule", "key (zip)", "--columns", "age,id", cwd=people).returncode == 2


def test_discover(people):
    shown = run("discover", "people.csv", "--row-id", "id", "--rules", "laws.yaml", "--top", "5", cwd=people)
    assert shown.returncode == 0, shown.stderr
    assert "key (age)" in shown.stdout
    assert "rules over" in shown.stdout
    again = run("check", "people.csv", "laws.yaml", cwd=people)
    assert again.returncode == 0, again.stdout


def test_discover_more_than_anybody_lays_out(people, monkeypatch, capsys):
    """The first rules in a table, the others a line each; none is left out."""
    monkeypatch.chdir(people)
    monkeypatch.setattr(discover, "LAID_OUT", 2)
    monkeypatch.setattr("sys.argv", ["rowlaw", "discover", "people.csv", "--all", "--quiet"])
    found = rowlaw.discover("people.csv", all=True, progress=False)
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    lines = capsys.readouterr().out.split("\n")
    hidden = {id for folded in (found.folded, found.alternatives) for ids in folded.values() for id in ids}
    plain = [rule for rule in found if rule.id not in hidden][2:]
    assert len(plain) > 2
    assert all(f"{rule.id}  {rule.rule}" in lines for rule in plain)


def test_discover_as_json(people):
    shown = run("discover", "people.csv", "--format", "json", "--no-cross", cwd=people)
    document = json.loads(shown.stdout)
    assert document["rows"] == 3
    assert document["total"] == len(document["rules"])
    assert set(document["rules"][0]) >= {"id", "kind", "rule", "predicates", "error", "support", "score"}
    assert not document["partial"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--kinds", "nothing"], "BAD_OPTION: --kinds"),
        (["--error", "1.5"], "BAD_OPTION: --error"),
        (["--strategy", "luck"], "BAD_OPTION: --strategy"),
        (["--overlap", "7"], "BAD_OPTION: --overlap"),
        (["--time-limit", "-1"], "BAD_OPTION: --time-limit"),
        (["--columns", "nothing"], "UNKNOWN_COLUMN"),
    ],
)
def test_discover_with_bad_options(people, arguments, words):
    shown = run("discover", "people.csv", *arguments, cwd=people)
    assert shown.returncode == 2
    assert words in shown.stderr


def test_discover_with_a_time_limit(tmp_path):
    """A wide table has more rules than anybody can wait for: what is shown is proven all the same."""
    random = np.random.default_rng(0)
    rows = [",".join(f"c{i}" for i in range(40)), *(",".join(map(str, random.integers(0, 9, 40))) for _ in range(300))]
    (tmp_path / "wide.csv").write_text("\n".join(rows) + "\n")
    shown = run(
        "discover",
        "wide.csv",
        "--no-cross",
        "--time-limit",
        "3",
        "--top",
        "30",
        "--rules",
        "laws.yaml",
        "--format",
        "json",
        cwd=tmp_path,
    )
    assert shown.returncode == 0, shown.stderr
    assert json.loads(shown.stdout)["partial"]
    assert "stopped early" in shown.stderr
    assert run("check", "wide.csv", "laws.yaml", cwd=tmp_path).returncode == 0
