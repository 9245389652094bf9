"""``rowlaw demo``: a built-in table on its way through rowlaw."""

from __future__ import annotations

import sys
from importlib.resources import as_file, files

from rich.console import Console
from rich.table import Table

from rowlaw.relation import Relation, encode
from rowlaw.rules import RuleSet, english, load
from rowlaw.source import open_source
from rowlaw.violations import Result
from rowlaw.violations.check import run


def show() -> None:
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 110)
    with as_file(files("rowlaw.cli") / "data") as folder:
        rules = load(folder / "staff.yaml")
        relation = encode(open_source(folder / "staff.csv"), row_id="id")
        console.print(f"The table staff: {relation.rows} rows and {len(relation.columns)} columns, encoded in {relation.nbytes:,} bytes.")
        console.print(_columns(relation))
        result = run(relation, rules)
        console.print("\nIts rules:")
        console.print(_rules(result))
        console.print("\nAnd one that is not true of it:")
        result = run(relation, RuleSet.of({"guess": "not (s.level < t.level and s.salary > t.salary)"}))
        console.print(f"  {result['guess']}: {english(result['guess'].named.rule)}")
        for clash in result.clashes("guess", 2).to_pylist():
            console.print("  " + ", ".join(f"{name} {value}" for name, value in clash.items()))
        result.close()


def _columns(relation: Relation) -> Table:
    table = Table("column", "type", "distinct", "nulls", "first codes", box=None, pad_edge=False, header_style="bold")
    for column in relation.columns:
        codes = " ".join(map(str, relation.codes(column.name)[:6]))
        table.add_row(column.name, column.type, str(column.distinct), str(column.nulls), codes)
    return table


def _rules(result: Result) -> Table:
    table = Table("id", "rule", "in words", "verdict", box=None, pad_edge=False, header_style="bold")
    for verdict in result.verdicts:
        table.add_row(verdict.id, str(verdict.rule), english(verdict.rule), str(verdict).split(": ")[1])
    return table
