"""Options that mean the same in every command."""

from __future__ import annotations

from typing import Annotated, Any, cast, get_args

import typer

from rowlaw.errors import RowlawError
from rowlaw.rules.model import Nulls

CHECK_FORMATS = ("table", "json", "csv", "markdown", "junit", "github")
RULE_FORMATS = ("table", "json", "csv", "markdown")  # of commands that print rules

Source = Annotated[
    str, typer.Argument(help="A file, folder or glob (CSV, Parquet, JSON lines, ORC, Arrow, Delta), a catalog table or a JDBC address.")
]
NullsOption = Annotated[
    str | None,
    typer.Option("--nulls", help="Meaning of null: 'unknown' (as in SQL) or 'equal'.", show_default="as the rules say, else unknown"),
]
Columns = Annotated[str | None, typer.Option("--columns", help="Columns to read, by name: a,b.", show_default="all")]
Types = Annotated[str | None, typer.Option("--types", help="Types of columns: zip=string,price=decimal(10,2).", show_default="inferred")]
RowId = Annotated[str | None, typer.Option("--row-id", help="Column that names the rows.", show_default="their position, from 0")]
Master = Annotated[str | None, typer.Option("--master", help="Spark master: local[4], spark://host:7077, sc://host.", show_default="local")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress on stderr.")]
Out = Annotated[str | None, typer.Option("--out", help="Write the result to this file instead of stdout.")]
Format = Annotated[str, typer.Option("--format", help="table or json.")]
SourceFormat = Annotated[
    str | None, typer.Option("--source-format", help="csv, tsv, parquet, json, orc, arrow or delta.", show_default="by the file's name")
]
Delimiter = Annotated[str | None, typer.Option("--delimiter", help="Between the fields of a CSV file.", show_default="detected")]
Quote = Annotated[str | None, typer.Option("--quote", help="Around the fields of a CSV file.", show_default="detected")]
Header = Annotated[bool | None, typer.Option("--header/--no-header", help="Whether a CSV file begins with names.", show_default="detected")]
Encoding = Annotated[str | None, typer.Option("--encoding", help="Of a CSV file.", show_default="UTF-8 or by its mark")]
Jdbc = Annotated[list[str] | None, typer.Option("--option", help="Handed to Spark's reader: --option dbtable=sales. Repeatable.")]


def chosen(value: str, option: str, choices: tuple[str, ...]) -> str:
    if value not in choices:
        raise RowlawError("BAD_OPTION", option=option, value=value, problem=f"use one of {', '.join(choices)}")
    return value


def meaning(nulls: str | None) -> Nulls | None:
    """The value of ``--nulls``."""
    return None if nulls is None else cast("Nulls", chosen(nulls, "--nulls", get_args(Nulls)))


def names(text: str | None) -> list[str] | None:
    """``a,b`` as a list; a name with a comma is written in backticks."""
    return None if text is None else [part for part, _ in _parts(text)]


def pairs(text: str | None, option: str) -> dict[str, str]:
    """``zip=string,price=decimal(10,2)`` as a mapping."""
    found = {}
    for part, raw in _parts(text or ""):
        name, equals, value = part.partition("=")
        if not equals:
            raise RowlawError("BAD_OPTION", option=option, value=raw, problem="write name=value,name=value")
        found[name.strip()] = value.strip()
    return found


def _parts(text: str) -> list[tuple[str, str]]:
    """The text cut at commas outside of backticks and brackets; backticks are taken off."""
    parts, part, quoted, depth = [], "", False, 0
    for c in [*text, ","]:
        if c == "`":
            quoted = not quoted
        elif c == "," and not quoted and not depth:
            if part.strip():
                parts.append((part.strip(), text))
            part = ""
            continue
        else:
            depth += {"(": 1, ")": -1}.get(c, 0) if not quoted else 0
            part += c
    return parts


def reading(columns: str | None, types: str | None, **file: Any) -> dict[str, Any]:
    """The options of :func:`rowlaw.open_source`."""
    options = dict(option.partition("=")[::2] for option in file.pop("option") or [])
    return {"columns": names(columns), "types": pairs(types, "--types"), "options": options, **file}


def write(text: str, out: str | None) -> None:
    """A result to stdout, or to a file that appears when it is complete."""
    if out is None:
        print(text)
        return
    import os

    with open(f"{out}.part", "w", encoding="utf-8") as file:
        file.write(text + "\n")
    os.replace(f"{out}.part", out)


def started(master: str | None) -> Any:
    """The Spark session on a master that was asked for; without one, none is started before it is needed."""
    if master is None:
        return None
    from rowlaw.spark.session import session

    return session(master=master)
