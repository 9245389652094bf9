"""The commands that keep laws current: init, apply, show, watch. Everything heavy is imported inside them."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from rowlaw.cli import options

State = Annotated[str, typer.Argument(help="The folder of the state.")]
Guard = Annotated[str | None, typer.Option("--guard", help="A rule file: rows of a batch that break a rule of it are left out.")]
ChangeColumn = Annotated[
    str | None, typer.Option("--change-column", help="Column that says insert, update or delete, as in a change feed.")
]
OrderColumn = Annotated[
    str | None, typer.Option("--order-column", help="Column by which the changes of a feed are ordered.", show_default="as they come")
]


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    app.command(epilog="Example: rowlaw init people.state people.csv --row-id id")(init)
    app.command(epilog="Example: rowlaw apply people.state --insert new.csv --delete gone.csv --batch-id 2024-05-01")(apply)
    app.command(epilog="Example: rowlaw show people.state --history")(show)
    app.command(epilog="Example: rowlaw watch people.state --source-folder incoming --every 10")(watch)


def init(
    state: Annotated[str, typer.Argument(help="The folder to make.")],
    source: options.Source,
    kinds: Annotated[str | None, typer.Option("--kinds", help="Kinds of rules, with commas: key,fd,od,dc.", show_default="all")] = None,
    error: Annotated[float, typer.Option("--error", help="Share of pairs of rows that may break a rule.")] = 0.0,
    nulls: options.NullsOption = None,
    columns: options.Columns = None,
    types: options.Types = None,
    row_id: options.RowId = None,
    cross: Annotated[bool, typer.Option("--cross/--no-cross", help="Compare different columns with each other.")] = True,
    overlap: Annotated[float, typer.Option("--overlap", help="Share of values that two columns must have in common to be compared.")] = 0.3,
    order_strings: Annotated[bool, typer.Option("--order-strings", help="Order texts too.")] = False,
    single_row: Annotated[bool, typer.Option("--single-row", help="Also comparisons within one row.")] = False,
    constants: Annotated[
        float | None, typer.Option("--constants", help="Also literals: values that this share of the rows has.", show_default="none")
    ] = None,
    format: options.Format = "table",
    out: options.Out = None,
    master: options.Master = None,
    source_format: options.SourceFormat = None,
    delimiter: options.Delimiter = None,
    quote: options.Quote = None,
    header: options.Header = None,
    encoding: options.Encoding = None,
    option: options.Jdbc = None,
    quiet: options.Quiet = False,
) -> None:
    """Make a state: discover the laws of a table, and keep both in a folder that batches of rows can be applied to."""
    options.chosen(format, "--format", ("table", "json"))
    file = {"format": source_format, "delimiter": delimiter, "quote": quote, "header": header, "encoding": encoding, "option": option}
    chosen: dict[str, Any] = {
        "error": error,
        "nulls": options.meaning(nulls) or "unknown",
        "row_id": row_id,
        "cross": cross,
        "overlap": overlap,
        "order_strings": order_strings,
        "single_row": single_row,
        "constants": constants,
    }
    if kinds is not None:
        chosen["kinds"] = options.names(kinds)
    chosen |= options.reading(columns, types, **file)
    from rowlaw.cli.init import run

    raise typer.Exit(run(state, source, master, format=format, out=out, quiet=quiet, options=chosen))


def apply(
    state: State,
    insert: Annotated[str | None, typer.Option("--insert", help="Rows that come: a file, folder or glob.")] = None,
    delete: Annotated[
        str | None, typer.Option("--delete", help="Rows that go: their ids if rows have ids, else whole rows. A file, folder or glob.")
    ] = None,
    changes: Annotated[str | None, typer.Option("--changes", help="A change feed instead (needs --change-column).")] = None,
    change_column: ChangeColumn = None,
    order_column: OrderColumn = None,
    batch_id: Annotated[
        str | None, typer.Option("--batch-id", help="A name for the batch: one that was applied is not applied again.")
    ] = None,
    guard: Guard = None,
    quarantine: Annotated[str | None, typer.Option("--quarantine", help="Write the rows left out by --guard to this Parquet file.")] = None,
    format: options.Format = "table",
    out: options.Out = None,
    source_format: options.SourceFormat = None,
    delimiter: options.Delimiter = None,
    quote: options.Quote = None,
    header: options.Header = None,
    encoding: options.Encoding = None,
    quiet: options.Quiet = False,
) -> None:
    """Take rows in and out, and see which laws that ended and which it brought. An update is a delete and an insert.

    Exit code 0: applied. 2: the batch does not fit, and nothing was changed. 3: the run failed, and nothing was changed.
    """
    options.chosen(format, "--format", ("table", "json"))
    from rowlaw.cli.apply import run

    reading = {"format": source_format, "delimiter": delimiter, "quote": quote, "header": header, "encoding": encoding}
    feed = {"changes": changes, "change_column": change_column, "order_column": order_column}
    door = {"guard": guard, "quarantine": quarantine}
    raise typer.Exit(run(state, insert, delete, batch_id, **feed, **door, format=format, out=out, quiet=quiet, reading=reading))


def show(
    state: State,
    history: Annotated[bool, typer.Option("--history", help="When each rule was born and retired, and by which rows.")] = False,
    rule: Annotated[str | None, typer.Option("--rule", help="Only what happened to the rule of this id (with --history).")] = None,
    keys: Annotated[bool, typer.Option("--keys", help="Minimal unique and maximal non-unique sets of columns.")] = False,
    top: Annotated[int | None, typer.Option("--top", help="Show so many rules.", show_default="all", min=1)] = None,
    rules: Annotated[str | None, typer.Option("--rules", help="Write the rules to this file, for rowlaw check.")] = None,
    format: options.Format = "table",
    out: options.Out = None,
) -> None:
    """Show the laws that hold now, and how they came about."""
    options.chosen(format, "--format", ("table", "json"))
    from rowlaw.cli.show import run

    raise typer.Exit(run(state, history=history, rule=rule, keys=keys, top=top, rules_file=rules, format=format, out=out))


def watch(
    state: State,
    source_folder: Annotated[str, typer.Option("--source-folder", help="A folder: every new file in it is a batch.")],
    every: Annotated[float, typer.Option("--every", help="Seconds between looks at the folder.", min=0.01)] = 5.0,
    once: Annotated[bool, typer.Option("--once", help="Apply what is there, and stop.")] = False,
    change_column: ChangeColumn = None,
    order_column: OrderColumn = None,
    guard: Guard = None,
    quarantine: Annotated[str | None, typer.Option("--quarantine", help="Write the rows left out by --guard to this folder.")] = None,
    format: Annotated[str, typer.Option("--format", help="table or json: one document per line.")] = "table",
    source_format: options.SourceFormat = None,
    delimiter: options.Delimiter = None,
    quote: options.Quote = None,
    header: options.Header = None,
    encoding: options.Encoding = None,
) -> None:
    """Apply every file that appears in a folder, each exactly once, and print a line for it. Ctrl-C stops, and the next run goes on.

    Other streams: rowlaw.watch in Python takes any streaming DataFrame.
    """
    options.chosen(format, "--format", ("table", "json"))
    from rowlaw.cli.watch import run

    reading = {"format": source_format, "delimiter": delimiter, "quote": quote, "header": header, "encoding": encoding}
    feed = {"change_column": change_column, "order_column": order_column}
    door = {"guard": guard, "quarantine": quarantine}
    raise typer.Exit(run(state, source_folder, None if once else every, format=format, applying={**feed, **door}, reading=reading))
