"""Options that mean the same in every command: each is defined once, and those that always go together are a group.

A group is a class whose fields are options. A command that is :func:`unfolded` takes a group as one parameter, where
the command line takes each of its options. Annotations are evaluated as they stand, here and in the modules that have
commands: as texts they would each be compiled when the command line starts.
"""

import inspect
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from typing import Annotated, Any, cast, get_args

import typer
from typer.core import TyperArgument, TyperGroup, TyperOption

from rowlaw.errors import RowlawError
from rowlaw.output import check_place, write_text
from rowlaw.rules.model import Nulls

CHECK_FORMATS = ("table", "json", "csv", "markdown", "junit", "github")
RULE_FORMATS = ("table", "json", "csv", "markdown")  # of commands that print rules
PROFILE_FORMATS = ("table", "json", "markdown")
FORMATS = ("table", "json")  # of all others
_ALL_KINDS = "key,fd,od,dc"
_QUOTED = re.compile(r"\s*`((?:[^`]|``)*)`\s*(=)")  # a name in backticks before its value
TIME_LIMIT = 60.0  # seconds for discovery where rules are only needed to explain or report others

Source = Annotated[
    str,
    typer.Argument(
        help="A file, folder or glob (CSV, Parquet, JSON, ORC, Arrow, Delta, Excel), - for standard input, a "
        "table of Spark's catalog or a "
        "JDBC address."
    ),
]
State = Annotated[str, typer.Argument(help="The folder of the state.")]
NullsOption = Annotated[
    str | None,
    typer.Option(
        "--nulls",
        help="Meaning of null: 'unknown' (as in SQL) or 'equal'.",
        show_default="as the rules say, else unknown",
    ),
]
Kinds = Annotated[
    str | None,
    typer.Option("--kinds", help="Kinds of rules, with commas.", show_default=f"{_ALL_KINDS}; with --predicate: dc"),
]
Error = Annotated[
    float, typer.Option("--error", help="Share of pairs (dc) or rows (key, fd, od) that may break a rule.")
]
Top = Annotated[
    int | None,
    typer.Option("--top", help="How many rules to keep, the best first.", show_default="show 20, keep all", min=1),
]
Types = Annotated[
    str | None,
    typer.Option(
        "--types",
        help="Types of columns, with commas: zip=string or price=decimal_comma or day=date:%d.%m.%Y.",
        show_default="inferred",
    ),
]
RowId = Annotated[
    str | None,
    typer.Option(
        "--row-id", help="Column that names the rows, or several: a,b.", show_default="their position, from 0"
    ),
]
Master = Annotated[
    str | None,
    typer.Option("--master", help="Spark master: local[4], spark://host:7077, sc://host.", show_default="local"),
]
EngineOption = Annotated[
    str,
    typer.Option("--engine", help="auto, local (in this process) or spark (where the table is; it is never gathered)."),
]
ShowTypes = Annotated[bool, typer.Option("--show-types", help="Say on stderr which type each column has.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress on stderr.")]
Out = Annotated[str | None, typer.Option("--out", help="Write the result to this file instead of stdout.")]
RulesOut = Annotated[str | None, typer.Option("--rules", help="Write the rules to this file, for rowlaw check.")]
Format = Annotated[str, typer.Option("--format", help="table or json.")]


def _reading(*names: str, help: str, default: str | None = None) -> Any:
    return typer.Option(*names, help=help, show_default=default or False, rich_help_panel="How the table is read")


def _space(*names: str, help: str, default: str | bool = True) -> Any:
    return typer.Option(*names, help=help, show_default=default, rich_help_panel="Which comparisons rules may make")


def _sample(*names: str, help: str, **limits: Any) -> Any:
    return typer.Option(
        *names, help=help, rich_help_panel="How pairs of rows are sampled (never changes the result)", **limits
    )


@dataclass(frozen=True, kw_only=True)
class File:
    """How the files of a batch are read."""

    source_format: Annotated[
        str | None,
        _reading("--source-format", help="csv, tsv, parquet, json, orc, arrow or delta.", default="by the file's name"),
    ] = None
    delimiter: Annotated[
        str | None, _reading("--delimiter", help="Between the fields of a CSV file.", default="detected")
    ] = None
    quote: Annotated[str | None, _reading("--quote", help="Around the fields of a CSV file.", default="detected")] = (
        None
    )
    header: Annotated[
        bool | None, _reading("--header/--no-header", help="Whether a CSV file begins with names.", default="detected")
    ] = None
    encoding: Annotated[
        str | None,
        _reading("--encoding", help="The encoding of a CSV file, such as latin-1.", default="UTF-8, or detected"),
    ] = None
    null_values: Annotated[
        str | None,
        _reading(
            "--null-values",
            help="Texts of a CSV file that count as null in every column, with commas: -,unknown.",
            default="empty fields; NA, null and the like in columns that are not text",
        ),
    ] = None

    def reading(self) -> dict[str, Any]:
        """As :func:`rowlaw.open_source` takes it."""
        given = {"format": self.source_format, "delimiter": self.delimiter, "quote": self.quote}
        return {**given, "header": self.header, "encoding": self.encoding, "null_values": names(self.null_values) or ()}


@dataclass(frozen=True, kw_only=True)
class Table(File):
    """How a table is read."""

    columns: Annotated[
        str | None, typer.Option("--columns", help="Columns to read, by name: a,b.", show_default="all")
    ] = None
    types: Types = None
    option: Annotated[
        list[str] | None, _reading("--option", help="Handed to Spark's reader: --option dbtable=sales. Repeatable.")
    ] = None

    def reading(self) -> dict[str, Any]:
        options = {}
        for text in self.option or ():
            name, equals, value = text.partition("=")
            if not equals:
                raise RowlawError("BAD_OPTION", option="--option", value=text, problem="write name=value")
            options[name] = value
        return {
            **super().reading(),
            "columns": names(self.columns),
            "types": pairs(self.types, "--types"),
            "options": options,
        }


@dataclass(frozen=True, kw_only=True)
class Space:
    """Which comparisons rules may make."""

    cross: Annotated[bool, _space("--cross/--no-cross", help="Compare different columns with each other.")] = True
    overlap: Annotated[
        float | None,
        _space("--overlap", help="Share of values that two columns must have in common to be compared.", default="0.3"),
    ] = None
    order_strings: Annotated[bool, _space("--order-strings", help="Order texts too.")] = False
    single_row: Annotated[bool, _space("--single-row", help="Also comparisons within one row.")] = False
    constants: Annotated[
        float | None,
        _space("--constants", help="Also literals: values that this share of the rows has.", default="none"),
    ] = None
    operators: Annotated[
        list[str] | None,
        _space("--operators", help="Operators of a column: --operators zip='= !='. Repeatable.", default="by its type"),
    ] = None
    predicate: Annotated[
        list[str] | None,
        _space(
            "--predicate",
            help="A comparison, instead of those derived from the columns: 's.zip = t.zip'. Repeatable.",
            default="none",
        ),
    ] = None

    def parameters(self) -> dict[str, Any]:
        """The options as parameters of :func:`rowlaw.discover`."""
        parameters = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("operators", "predicate")}
        return {**parameters, "operators_of": operators_of(self.operators or ()), "predicates": self.predicate or None}


@dataclass(frozen=True, kw_only=True)
class Sample:
    """How pairs of rows are sampled; the fields are parameters of :func:`rowlaw.discover`."""

    sample_partners: Annotated[int, _sample("--sample-partners", help="Random partners of each row.", min=1)] = 20
    sample_efficiency: Annotated[
        float,
        _sample("--sample-efficiency", help="New evidences per pair below which focused sampling gives a column up."),
    ] = 0.005
    level_sample: Annotated[
        int, _sample("--level-sample", help="Rows that --strategy levels begins with (HyOD).", min=1)
    ] = 100
    level_pairs: Annotated[
        int, _sample("--level-pairs", help="Pairs that join them for each broken law (HyOD's n).", min=1)
    ] = 10
    seed: Annotated[int, _sample("--seed", help="The same seed gives the same sample.", min=0)] = 0


@dataclass(frozen=True, kw_only=True)
class Feed:
    """What a batch says of its rows, and what keeps rows out."""

    change_column: Annotated[
        str | None,
        typer.Option("--change-column", help="Column that says insert, update or delete, as in a change feed."),
    ] = None
    order_column: Annotated[
        str | None,
        typer.Option(
            "--order-column", help="Column by which the changes of a feed are ordered.", show_default="as they come"
        ),
    ] = None
    guard: Annotated[
        str | None, typer.Option("--guard", help="A rule file: rows of a batch that break a rule of it are left out.")
    ] = None


class Commands(TyperGroup):
    """The commands, with help that calls arguments as messages do (SOURCE), and flags flags: they take no value."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        command = super().get_command(ctx, cmd_name)
        for parameter in command.get_params(ctx) if command is not None else ():
            if isinstance(parameter, TyperArgument) and parameter.metavar is None:
                parameter.metavar = str(parameter.name).upper()
                vars(parameter)["display_type_rich"] = lambda ctx: ""  # noqa: ARG005 - an argument is a text, always
            elif isinstance(parameter, TyperOption) and parameter.metavar is None:
                shown = getattr(parameter, "display_type", lambda _: "")(ctx) or ""  # <int range>, <list[str]>
                number = "int" in shown or "float" in shown
                parameter.metavar = "" if parameter.is_flag else "NUMBER" if number else "TEXT"
        return command

    def get_params(self, ctx: Any) -> Any:
        parameters = super().get_params(ctx)
        for parameter in parameters:
            parameter.metavar = ""  # the group itself has flags only
        return parameters


def unfolded(command: Callable[..., None]) -> Callable[..., None]:
    """A command for the command line: each of its parameters that is a group becomes the options of the group."""
    groups: dict[str, Any] = {}
    parameters = []
    for parameter in inspect.signature(command).parameters.values():
        if is_dataclass(parameter.annotation):
            group = groups[parameter.name] = parameter.annotation
            parameters += [parameter.replace(name=f.name, annotation=f.type, default=f.default) for f in fields(group)]
        else:
            parameters.append(parameter)

    @wraps(command)
    def run(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{f.name: given.pop(f.name) for f in fields(group)})
        command(**given)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def chosen(value: str, option: str, choices: tuple[str, ...]) -> str:
    """A value that must be one of a few."""
    if value not in choices:
        raise RowlawError("BAD_OPTION", option=option, value=value, problem=f"use one of {', '.join(choices)}")
    return value


def meaning(nulls: str | None) -> Nulls | None:
    """The value of ``--nulls``."""
    return None if nulls is None else cast("Nulls", chosen(nulls, "--nulls", get_args(Nulls)))


def kinds(text: str | None) -> list[str] | None:
    """The value of ``--kinds``: which kinds there are is for discovery to say, and which it looks for if none is
    given."""
    if text is None:
        return None
    asked = names(text)
    if not asked:
        raise RowlawError("BAD_OPTION", option="--kinds", value=text, problem=f"give one at least: {_ALL_KINDS}")
    return asked


def names(text: str | None) -> list[str] | None:
    """``a,b`` as a list; a name with a comma is written in backticks."""
    return None if text is None else [part for part, _ in _parts(text)]


def pairs(text: str | None, option: str) -> dict[str, str]:
    """``zip=string,price=decimal(10,2)`` as a mapping."""
    values = {}
    for part, raw in _parts(text or ""):
        name, equals, value = part.partition("=")
        if not equals:
            raise RowlawError("BAD_OPTION", option=option, value=raw, problem="write name=value,name=value")
        values[name.strip()] = value.strip()
    return values


def operators_of(texts: Iterable[str]) -> dict[str, str]:
    """The values of ``--operators`` as a mapping from columns; a name with ``=`` is written in backticks.

    >>> operators_of(["zip== !=", "`a=b`=<"])
    {'zip': '= !=', 'a=b': '<'}
    """
    operators = {}
    for text in texts:
        quoted = _QUOTED.match(text)
        name, equals, value = (
            (quoted[1].replace("``", "`"), quoted[2], text[quoted.end() :]) if quoted else text.partition("=")
        )
        if not (name.strip() and equals and value.strip()):
            raise RowlawError("BAD_OPTION", option="--operators", value=text, problem="write column='= !='")
        if name.strip() in operators:
            raise RowlawError(
                "BAD_OPTION", option="--operators", value=text, problem=f"the column {name.strip()!r} is given twice"
            )
        operators[name.strip()] = value.strip()
    return operators


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


def outputs(*paths: str | None) -> None:
    """A file that cannot be written is an error before anything runs."""
    for path in paths:
        if path is not None:
            check_place(path)


def write(text: str, out: str | None) -> None:
    """A result to stdout, or to a file that appears when it is complete."""
    if out is None:
        print(text)
        return
    # as stdout shows names that are not Unicode
    write_text(out, f"{text}\n".encode(errors="backslashreplace").decode())


def started(master: str | None) -> Any:
    """The Spark session on a master that was asked for; without one, none is started before it is needed."""
    if master is None:
        return None
    from rowlaw.spark.session import session

    return session(master=master)
