"""``rowlaw demo``: a built-in table on its way through rowlaw."""

from __future__ import annotations

from importlib.resources import as_file, files

from rich.console import Console
from rich.table import Table

from rowlaw.relation import Relation, encode
from rowlaw.rules import RuleSet, bind, english, load
from rowlaw.source import open_source


def show() -> None:
    console = Console(highlight=False)
    with as_file(files("rowlaw.cli") / "data") as folder:
        rules = load(folder / "staff.yaml")
        with encode(open_source(folder / "staff.csv"), row_id="id") as relation:
            console.print(
                f"The table staff: {relation.rows} rows and {len(relation.columns)} columns, encoded in {relation.nbytes:,} bytes."
            )
            console.print(_columns(relation))
            console.print("Its rules:")
            console.print(_rules(rules, relation))


def _columns(relation: Relation) -> Table:
    table = Table("column", "type", "distinct", "nulls", "first codes", box=None, pad_edge=False, header_style="bold")
    for column in relation.columns:
        codes = " ".join(map(str, relation.codes(column.name)[:6]))
        table.add_row(column.name, column.type, str(column.distinct), str(column.nulls), codes)
    return table


def _rules(rules: RuleSet, relation: Relation) -> Table:
    table = Table("id", "rule", "in words", box=None, pad_edge=False, header_style="bold")
    for named in rules:
        rule = bind(named.origin or named.rule, relation.types)
        table.add_row(named.id, str(rule), english(rule))
    return table
