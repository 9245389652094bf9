"""Hostile rule texts, file names, column names and cell contents: an answer or a named error, and never a traceback."""

from __future__ import annotations

import csv
import io
import random
import sys
import tempfile
import time
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import rowlaw
from rowlaw.cli.app import main
from rowlaw.errors import RowlawError
from tests.torture.commands import complaint
from tests.torture.outcome import Outcome

TEXTS = 20_000  # random rule texts
SLOW = 5.0  # seconds for one of them

WORDS = [
    *(
        "not",
        "(",
        ")",
        "s.a",
        "t.a",
        "s.b",
        "t.`b`",
        "=",
        "!=",
        "<",
        "<=",
        ">",
        ">=",
        "==",
        "<>",
        "and",
        "∧",
        "¬",
        "&",
        "key",
        "fd",
        "od",
    ),
    *(
        "->",
        "~",
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "asc",
        "desc",
        "'text'",
        "'",
        '"',
        "`",
        "``",
        "1",
        "-1",
        "1e999",
        ".",
        "..",
        "s.",
        "t'",
    ),
    *(
        "\x00",
        "\x1b[2J",
        "\u202e",
        "\ufeff",
        "\u2028",
        "😀",
        "é",
        "\n",
        "\t",
        "\\",
        "%s",
        "{0}",
        "${x}",
        "--",
        ";",
        "null",
        "NaN",
        "s.a.b",
    ),
    *("\ud800", "𝒂", "٣", "date '2020-01-01'", "date 'x'", "1" * 400, "a" * 300),
]
LONG_TEXTS = [
    "not (" + " and ".join(["s.a = t.a"] * 100_000) + ")",
    "key (" + ", ".join(f"c{i}" for i in range(100_000)) + ")",
    "(" * 100_000,
    "not " * 100_000 + "(s.a = t.a)",
    "not (" + "(" * 5_000 + "s.a = t.a" + ")" * 5_000 + ")",
    "key (" + "a" * 1_000_000 + ")",
    "key (`" + "`" * 99_999,
    "not (s.a = '" + "'" * 100_000,
    "not (s.a = " + "9" * 100_000 + ")",
    "not (s.a = 1e" + "9" * 1_000 + ")",
    "od {" * 50_000,
    " " * 1_000_000,
    "\n" * 100_000 + "nonsense",
    "-" * 100_000,
    "",
]
NAMES = [
    *(
        "plain",
        "two words",
        "new\nline",
        "it's",
        'say "so"',
        "ünï😀",
        "-rf",
        "--help",
        "a;b|c&d",
        "$HOME",
        "`id`",
        "*",
        "[a]",
        "a?b",
    ),
    *(
        "..hidden",
        ".dot",
        "_under",
        "a=b",
        "a,b",
        "tab\there",
        "<img src=x onerror=alert(1)>",
        "{0}",
        "x" * 240,
        "\\",
        "\udcff",
        "#",
    ),
]
CELLS = [
    *(
        "<script>alert(1)</script>",
        "</script><img src=x onerror=alert(1)>",
        "=1+1",
        "@SUM(A1)",
        "line\nbreak",
        "\r\n",
        "nul\x00byte",
    ),
    *(
        "'",
        '"',
        "`",
        "\\",
        "\u202egnp",
        "e\u0301",
        "\ufeff",
        "😀",
        "NaN",
        "NULL",
        "",
        " ",
        "::error::x",
        "| a |",
        "]]>",
        "${x}",
        "[bold]",
    ),
    *("\x1b[31m", "%s", "x" * 1_000_000),
]


def run(texts: int = TEXTS, *, seed: int = 0) -> Outcome:
    outcome = Outcome("hostile", "hostile rule texts, file names, column names and cell contents")
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        outcome.facts["rule_texts"] = rule_texts(texts, random.Random(seed), outcome)
        outcome.facts["file_names"] = file_names(outcome)
        outcome.facts["column_names"] = column_names(outcome)
        outcome.facts["cell_contents"] = cell_contents(outcome)
    return outcome


def rule_texts(number: int, chance: random.Random, outcome: Outcome) -> int:
    """Rule texts, alone and in a rule file; a text that can be read is written and read again."""
    made = (" ".join(chance.choices(WORDS, k=chance.randint(1, 12))) for _ in range(number))
    tried = 0
    for text in (*LONG_TEXTS, *made):
        tried += 1
        began = time.monotonic()
        try:
            rule = rowlaw.parse(text)
            assert rowlaw.parse(str(rule)) == rule, "it reads otherwise when it is written"
            rowlaw.RuleSet.of([rule]).save("hostile.yaml")
            assert rowlaw.load("hostile.yaml")["R1"].rule == rule, "a rule file gives it back otherwise"
        except RowlawError as error:
            str(error)
        except Exception as error:
            outcome.failures.append(f"the rule text {text[:200]!r}: {type(error).__name__}: {error}")
        if time.monotonic() - began > SLOW:
            outcome.failures.append(f"the rule text {text[:200]!r} took {time.monotonic() - began:.0f} s")
    for text in LONG_TEXTS[:6]:
        Path("hostile.yaml").write_text(f"rules:\n  R1: {text!r}\n")
        expect(outcome, ("check", "hostile.csv", "hostile.yaml"), (2,))
    outcome.cases += tried
    return tried


def file_names(outcome: Outcome) -> int:
    """Tables, rule files, states and outputs under such names."""
    before = outcome.cases
    for name in NAMES:
        home = Path("names")
        home.mkdir(exist_ok=True)
        table, state = f"names/{name}.csv", f"names/{name}.state"
        Path(table).write_text("id,zip,city\n1,1,a\n2,1,b\n3,2,c\n")
        rules, page, found = f"names/{name}.yaml", f"names/{name}.html", f"names/{name}.json"
        if any("\ud800" <= c <= "\udfff" for c in name):  # a table cannot be called so, everything else can
            expect(outcome, ("discover", table, "--rules", rules, "--out", found), (2,))
            table = "names/plain.csv"
        expect(outcome, ("discover", table, "--rules", rules, "--out", found), (0,))
        expect(outcome, ("check", table, rules, "--rule", "fd (zip) -> city"), (1,))
        expect(outcome, ("report", table, rules, "--out", page), (0,))
        expect(outcome, ("init", state, table, "--row-id", "id"), (0,))
        expect(outcome, ("apply", state, "--delete", table), (0,))
        expect(outcome, ("show", state), (0,))
    # without a folder before it, a name that begins with a dash needs -- before it
    for name in ("-rf.csv", "--help.csv"):
        Path(name).write_text("id\n1\n2\n")
        expect(outcome, ("check", "--rule", "key (id)", "--", name), (0,))
        expect(outcome, ("check", name, "--rule", "key (id)"), (0, 2))
    return outcome.cases - before


def column_names(outcome: Outcome) -> int:
    """Tables whose columns are called so."""
    before = outcome.cases
    names = [name for name in dict.fromkeys(NAMES) if not any("\ud800" <= c <= "\udfff" for c in name)]
    pq.write_table(pa.table({name: [i % 2, i % 3, 1] for i, name in enumerate(names)}), "columns.parquet")
    expect(outcome, ("discover", "columns.parquet", "--no-cross", "--rules", "columns.yaml", "--time-limit", "5"), (0,))
    expect(outcome, ("check", "columns.parquet", "columns.yaml", "--violations", "columns-broken.parquet"), (0,))
    expect(outcome, ("report", "columns.parquet", "columns.yaml", "--out", "columns.html"), (0,))
    for to in ("sql", "dbt", "gx", "deequ", "odcs"):
        expect(outcome, ("export", "columns.yaml", "--to", to, "--out", f"columns-{to}"), (0,))
    return outcome.cases - before


def cell_contents(outcome: Outcome) -> int:
    """Tables whose cells hold such texts, in every format of every command."""
    before = outcome.cases
    with open("cells.csv", "w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["id", "zip", "city"])
        for i, cell in enumerate(CELLS):
            writer.writerow([i, cell if len(cell) < 1000 else "long", cell])
            writer.writerow([1000 + i, cell if len(cell) < 1000 else "long", "other"])
    pq.write_table(pa.table({"id": list(range(len(CELLS))), "zip": CELLS, "city": CELLS[::-1]}), "cells.parquet")
    for table in ("cells.csv", "cells.parquet"):
        for format in ("table", "json", "csv", "markdown", "junit", "github"):
            expect(
                outcome,
                ("check", table, "--rule", "fd (zip) -> city", "--rule", "key (city)", "--format", format),
                (0, 1),
            )
        expect(outcome, ("check", table, "--rule", "fd (zip) -> city", "--violations", "cells-broken.parquet"), (0, 1))
        expect(
            outcome,
            ("discover", table, "--constants", "0.01", "--no-cross", "--rules", "cells.yaml", "--time-limit", "5"),
            (0,),
        )
        expect(outcome, ("check", table, "cells.yaml"), (0,))
        expect(outcome, ("report", table, "cells.yaml", "--out", "cells.html"), (0,))
        expect(outcome, ("explain", table, "fd (zip) -> city", "--rules", "cells.yaml"), (0, 1))
        expect(outcome, ("init", f"{table}.state", table, "--row-id", "id"), (0,))
        expect(outcome, ("show", f"{table}.state", "--history"), (0,))
    return outcome.cases - before


def expect(outcome: Outcome, arguments: tuple[str, ...], codes: tuple[int, ...]) -> None:
    """Run rowlaw in this process, for there are many: an error that comes out of it would have been a traceback."""
    code, told = _here(arguments)
    outcome.cases += 1
    wrong = complaint(code, told, codes)
    if wrong is not None:
        outcome.failures.append(f"rowlaw {' '.join(a[:80] for a in arguments)!r}: {wrong}")


def _here(arguments: tuple[str, ...]) -> tuple[int, str]:
    told, code, before = io.StringIO(), 0, sys.argv
    sys.argv = ["rowlaw", *arguments]
    try:
        with redirect_stdout(io.TextIOWrapper(io.BytesIO(), "utf-8")), redirect_stderr(told):
            main()
    except SystemExit as end:
        code = int(end.code or 0)
    except BaseException as error:
        told.write(f"Traceback: {type(error).__name__}: {error}")
    finally:
        sys.argv = before
    return code, told.getvalue()
