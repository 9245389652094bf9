"""``rowlaw init``, ``apply``, ``show`` and ``watch``."""

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import rowlaw
from rowlaw.cli.app import main

ROWLAW = str(Path(sys.executable).with_name("rowlaw"))
CITY = "not (s.zip = t.zip and s.city != t.city)"


def run(*arguments, **options):
    return subprocess.run([ROWLAW, *map(str, arguments)], capture_output=True, text=True, check=False, **options)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with a state and files for it; tests copy it."""
    folder = tmp_path_factory.mktemp("people")
    (folder / "people.csv").write_text("id,zip,city,age\n1,07030,Hoboken,30\n2,07030,Hoboken,40\n3,10001,New York,50\n")
    (folder / "new.csv").write_text("id,zip,city,age\n4,07030,Newark,60\n")
    (folder / "gone.csv").write_text("id\n4\n")
    shown = run("init", "people.state", "people.csv", "--row-id", "id", "--kinds", "dc", cwd=folder)
    assert shown.returncode == 0, shown.stderr
    assert CITY in shown.stdout
    assert "rules of 3 rows; 0 batches applied" in shown.stdout
    assert "then: rowlaw apply people.state --insert FILE" in shown.stdout
    return folder


@pytest.fixture
def people(made, tmp_path):
    shutil.copytree(made, tmp_path / "people")
    return tmp_path / "people"


@pytest.mark.parametrize("command", ["init", "apply", "show", "watch"])
def test_help_has_an_example(command):
    shown = run(command, "--help")
    assert shown.returncode == 0
    assert f"Example: rowlaw {command}" in shown.stdout


def test_apply_and_show(people):
    shown = run("apply", "people.state", "--insert", "new.csv", "--batch-id", "monday", cwd=people)
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.startswith("batch 1 (monday): +1 -0 rows; ")
    assert f"retired: {CITY}" in shown.stdout
    assert "id 4, zip 07030, city Newark" in shown.stdout
    shown = run("apply", "people.state", "--insert", "new.csv", "--batch-id", "monday", cwd=people)
    assert (shown.returncode, shown.stdout) == (0, "batch monday: applied before, nothing changed\n")
    document = json.loads(run("apply", "people.state", "--delete", "gone.csv", "--format", "json", cwd=people).stdout)
    assert (document["inserted"], document["deleted"]) == (0, 1)
    assert CITY in {rule["rule"] for rule in document["added"]}
    shown = run("show", "people.state", "--rules", "laws.yaml", "--top", "1", cwd=people)
    assert f"1 of {document['rules']} minimal rules of 3 rows; 2 batches applied" in shown.stdout
    assert len(rowlaw.load(people / "laws.yaml")) == document["rules"]
    shown = json.loads(run("show", "people.state", "--format", "json", "--history", "--keys", cwd=people).stdout)
    assert (shown["rows"], shown["batch"], len(shown["rules"]), len(shown["batches"])) == (3, 2, document["rules"], 3)
    born = [event for event in shown["history"] if event["rule"] == CITY]
    assert [event["event"] for event in born] == ["born", "retired", "born"]
    assert set(shown) >= {"keys", "non_keys"}
    text = run("show", "people.state", "--history", "--rule", born[0]["id"], cwd=people).stdout
    assert text.count("\n  + ") + text.count("\n  - ") == 2
    text = run("explain", born[0]["id"], "--state", "people.state", cwd=people).stdout
    assert f"rule:     {CITY}" in text
    assert "now:      retired" in text


def test_a_guard_and_a_feed(people):
    (people / "rules.yaml").write_text("rules:\n  city: fd (zip) -> city\n")
    arguments = ("--insert", "new.csv", "--guard", "rules.yaml", "--quarantine", "held.parquet")
    shown = run("apply", "people.state", *arguments, cwd=people)
    assert "+0 -0 rows, 1 quarantined" in shown.stdout, shown.stderr
    assert pq.read_table(people / "held.parquet").column("id").to_pylist() == [4]
    (people / "changes.csv").write_text("op,id,zip,city,age\nupdate,2,10001,New York,41\ndelete,1,,,\n")
    shown = run("apply", "people.state", "--changes", "changes.csv", "--change-column", "op", cwd=people)
    assert "+1 -2 rows" in shown.stdout, shown.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("init", "people.state", "people.csv"), 2, "STATE_EXISTS"),
        (("init", "other.state", "people.csv", "--kinds", "law"), 2, "BAD_OPTION"),
        (("apply", "nothing.state"), 2, "NO_STATE"),
        (("apply", "people.state", "--insert", "gone.csv"), 2, "BATCH_COLUMNS: gone.csv: no column 'zip'"),
        (("apply", "people.state", "--delete", "gone.csv"), 2, "UNKNOWN_ROW: gone.csv: no row 4 to delete"),
        (("apply", "people.state", "--insert", "people.csv"), 2, "DUPLICATE_ROW_ID"),
        (("apply", "people.state", "--changes", "people.csv"), 2, "--change-column"),
        (("apply", "people.state", "--quarantine", "x.parquet"), 2, "--guard"),
        (("show", "people.state", "--rule", "R1"), 2, "--history"),
        (("show", "people.state", "--history", "--rule", "R99"), 2, "UNKNOWN_RULE"),
        (("watch", "people.state", "--source-folder", "nothing"), 2, "NO_SUCH_FILE"),
    ],
)
def test_errors(people, arguments, code, words, monkeypatch, capsys):
    monkeypatch.chdir(people)
    monkeypatch.setattr(sys, "argv", ["rowlaw", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == code
    assert words in capsys.readouterr().err
    assert rowlaw.Laws.open("people.state").batch == 0


def test_watch(people):
    (people / "incoming").mkdir()
    command = [ROWLAW, "watch", "people.state", "--source-folder", "incoming", "--every", "0.1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=people) as process:
        (people / "new.csv").rename(people / "incoming" / "1.csv")
        assert process.stdout.readline().startswith("batch 1 (file:1.csv): +1 -0 rows; ")
        (people / "incoming" / "bad.csv").write_text("id,zip\n5,10001\n")
        assert "skipped bad.csv: BATCH_COLUMNS" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 2
        assert "skipped 1 file, which the next run tries again: bad.csv\nrowlaw: stopped" in process.stderr.read()
        lines = process.stdout.read().splitlines()
    assert [line for line in lines if line.startswith("  broken: ") and line.endswith(CITY)]
    (people / "incoming" / "bad.csv").unlink()
    (people / "incoming" / "2.csv").write_text("id,zip,city,age\n5,10001,New York,70\n")
    shown = run("watch", "people.state", "--source-folder", "incoming", "--once", "--format", "json", cwd=people)
    (line,) = shown.stdout.splitlines()
    assert json.loads(line)["batch_id"] == "file:2.csv"
