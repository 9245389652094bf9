"""What rowlaw check prints for people and for other programs."""

import csv
import io
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pyarrow as pa
import pytest

import rowlaw
from rowlaw.cli.formats import check_text, rules_csv, rules_markdown
from rowlaw.rules import NamedRule, RuleSet

ROWLAW = str(Path(sys.executable).with_name("rowlaw"))
TABLE = pa.table(
    {
        "id": [1, 2, 3, 4],
        "zip": ["07030", "07030", "10001", "10001"],
        "city": ["Hobo\x00ken", "Hob|ken`\n::error::x, 100%", "<b>", "<b>"],
        "age": [30, -1, 5, None],
    }
)
RULES = RuleSet(
    (
        NamedRule("city: 1,2", rowlaw.parse("fd (zip) -> city")),
        NamedRule("soft", rowlaw.parse("not (s.age < 0)"), severity="warn"),
        NamedRule("loose", rowlaw.parse("key (zip)"), tolerate=0.9),
        NamedRule("id", rowlaw.parse("key (id)")),
        NamedRule("cross", rowlaw.parse("not (s.id < t.age and s.zip = t.zip)")),
    )
)


@pytest.fixture(scope="module")
def result():
    found = rowlaw.check(TABLE, RULES, progress=False)
    yield found
    found.close()


def text(result, format, sample=3):
    return check_text(result, format, sample=sample, source="people.csv")


def test_csv(result):
    rows = list(csv.DictReader(io.StringIO(text(result, "csv"))))
    assert [row["id"] for row in rows] == [r.id for r in RULES]
    assert [row["verdict"] for row in rows] == ["broken", "warning", "tolerated", "holds", "broken"]
    assert {row["id"]: int(row["violations"]) for row in rows} == result.counts
    assert rows[0]["rule"] == "fd (zip) -> city"


def test_markdown(result):
    shown = text(result, "markdown")
    assert shown.startswith("**3 of 5 rules broken** in people.csv, 4 rows")
    for line in shown.splitlines():
        if line.startswith("|"):  # a bar of a cell does not end it
            assert len(re.findall(r"(?<!\\)\|", line)) in (5, 6)
    assert "**``Hob\\|ken`�::error::x, 100%``**" in shown
    assert "| s.id |" in shown
    assert "| t.age |" in shown
    assert "### id" not in shown
    assert "###" not in text(result, "markdown", sample=0)


# The schema that Jenkins and others use, as far as it matters here: what each element may hold, in order.
SCHEMA = {
    "testsuites": ({"name", "time", "tests", "failures", "disabled", "errors"}, ["testsuite"]),
    "testsuite": (
        {
            "name",
            "tests",
            "failures",
            "errors",
            "time",
            "disabled",
            "skipped",
            "timestamp",
            "hostname",
            "id",
            "package",
        },
        ["properties", "testcase", "system-out", "system-err"],
    ),
    "testcase": (
        {"name", "assertions", "time", "classname", "status"},
        ["skipped", "error", "failure", "system-out", "system-err"],
    ),
    "failure": ({"type", "message"}, []),
    "system-out": (set(), []),
}


def validate(element):
    attributes, children = SCHEMA[element.tag]
    assert set(element.attrib) <= attributes, element.tag
    assert {"testsuite": {"name"}, "testcase": {"name"}}.get(element.tag, set()) <= set(element.attrib)
    places = [children.index(child.tag) for child in element]
    assert places == sorted(places)
    for name in ("tests", "failures", "errors", "skipped"):
        assert element.get(name, "0").isdigit()
    assert float(element.get("time", "0")) >= 0
    for child in element:
        validate(child)


def test_junit(result):
    top = ET.fromstring(text(result, "junit").encode())
    validate(top)
    cases = top.findall("./testsuite/testcase")
    assert len(cases) == int(top.get("tests")) == 5
    failed = [case for case in cases if case.find("failure") is not None]
    assert len(failed) == int(top.get("failures")) == 2
    assert failed[0].get("name") == "city: 1,2: fd (zip) -> city"
    assert "city Hobo�ken != Hob|ken`�::error::x, 100%" in failed[0].find("failure").text
    assert [case.find("system-out").text.split(":")[0] for case in cases if case.find("system-out") is not None] == [
        "warning",
        "tolerated",
    ]


COMMAND = re.compile(r"::(error|warning|notice) ([^:]*)::(.*)")


def test_github(result):
    *commands, last = text(result, "github").split("\n")
    assert last == "rowlaw: 3 of 5 rules broken, 4 rows"
    found = [COMMAND.fullmatch(command) for command in commands]
    assert [match[1] for match in found] == ["error", "warning", "notice", "error"]
    assert found[0][2] == "title=rowlaw%3A city%3A 1%2C2"
    assert "100%25" in found[0][3]
    assert "\n" not in found[0][3]
    assert found[0][3].count("%0A") == 1


def test_github_points_at_the_rule_file(tmp_path):
    file = tmp_path / "rules.yaml"
    file.write_text("rules:\n  id: key (id)\n  city: fd (zip) -> city\n")
    shown = text(rowlaw.check(TABLE, file, progress=False), "github")
    assert f"::error file={file},line=3,title=rowlaw%3A city::" in shown


def test_rules_of_a_discovery():
    found = rowlaw.discover(TABLE.select(["id", "zip"]), progress=False)
    rows = list(csv.DictReader(io.StringIO(rules_csv(found))))
    assert [row["rule"] for row in rows] == [str(r.rule) for r in found]
    assert float(rows[0]["score"]) == found.rules[0].score
    assert rules_markdown(found).count("\n") == len(found) + 1


def run(*arguments, **options):
    return subprocess.run([ROWLAW, *arguments], capture_output=True, text=True, check=False, **options)


def test_table_side_by_side(tmp_path):
    (tmp_path / "people.csv").write_text("id,zip,city\n1,07030,Hoboken\n2,07030,Hobken\n")
    shown = run("check", "people.csv", "--rule", "fd (zip) -> city", cwd=tmp_path)
    lines = [line.split() for line in shown.stdout.splitlines()]
    assert ["row", "0", "row", "1"] in lines
    assert ["zip", "07030", "=", "07030"] in lines
    assert ["city", "Hoboken", "!=", "Hobken"] in lines
    assert "\x1b" not in shown.stdout


@pytest.mark.parametrize("format", ["csv", "markdown", "junit", "github"])
def test_formats_on_the_command_line(tmp_path, format):
    (tmp_path / "people.csv").write_text("id,zip,city\n1,07030,Hoboken\n2,07030,Hobken\n")
    shown = run("check", "people.csv", "--rule", "fd (zip) -> city", "--format", format, "-q", cwd=tmp_path)
    assert shown.returncode == 1
    assert "city" in shown.stdout
    assert shown.stderr == ""


def test_lexicographic_rules_show_the_case_that_is_broken():
    table = pa.table({"a": [1, 1, 2], "b": [5, 7, 6], "c": [3, 2, None]})
    for nulls in ("unknown", "equal"):
        result = rowlaw.check(table, "od [a, b] -> [c]", nulls=nulls, progress=False)
        for clash in result.side_by_side("R1", 10):
            first = {line.left: line.op for line in clash.lines}
            assert (clash.s_row, clash.t_row, first) in [
                (0, 1, {"a": "=", "b": "<", "c": ">"}),
                (0, 2, {"a": "<", "c": ">"}),
                (1, 2, {"a": "<", "c": ">"}),
            ]
        assert len(result.side_by_side("R1", 10)) == result.counts["R1"] == (1 if nulls == "unknown" else 3)


@pytest.mark.parametrize("command", ["check", "export", "import", "report"])
def test_help_shows_an_example(command):
    assert "Example: rowlaw" in run(command, "--help").stdout
