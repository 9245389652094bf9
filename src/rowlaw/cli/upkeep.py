"""The commands that keep laws current: init, apply, show, watch. Everything heavy is imported inside them."""

from dataclasses import asdict
from typing import Annotated, Any

import typer

from rowlaw.cli import options


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    for command, example in (
        (init, "rowlaw init people.state people.csv --row-id id --rules laws.yaml"),
        (apply, "rowlaw apply people.state --insert new.csv --delete gone.csv --batch-id 2024-05-01"),
        (show, "rowlaw show people.state --history"),
        (watch, "rowlaw watch people.state --source-folder incoming --every 10"),
    ):
        app.command(epilog=f"Example: {example}")(options.unfolded(command))


def init(
    state: Annotated[str, typer.Argument(help="The folder to make.")],
    source: options.Source,
    kinds: options.Kinds = None,
    error: options.Error = 0.0,
    nulls: options.NullsOption = None,
    row_id: options.RowId = None,
    rules: Annotated[
        str | None,
        typer.Option(
            "--rules", help="Keep the rules of this file only, and count the violations of each after every batch."
        ),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option("--time-limit", help="Seconds after which nothing is made.", show_default="none", min=0),
    ] = None,
    index_quota: Annotated[
        int | None,
        typer.Option("--index-quota", help="Columns to index for keys, if fewer are not needed (Swan).", min=0),
    ] = None,
    *,
    table: options.Table,
    space: options.Space,
    format: options.Format = "table",
    out: options.Out = None,
    master: options.Master = None,
    quiet: options.Quiet = False,
) -> None:
    """Make a state: discover the laws of a table, and keep both in a folder that batches of rows can be applied to.

    With --rules nothing is discovered: the state keeps these rules and the exact count of violations of each.
    """
    options.chosen(format, "--format", options.FORMATS)
    options.outputs(out)
    from rowlaw.predicates.space import OVERLAP

    chosen: dict[str, Any] = {
        "kinds": options.kinds(kinds),
        "error": error,
        "nulls": options.meaning(nulls),
        "row_id": options.names(row_id),
        "rules": rules,
        "time_limit": time_limit,
        "index_quota": index_quota,
        **space.parameters(),
        **({} if space.overlap is not None else {"overlap": OVERLAP}),
        **table.reading(),
    }
    from rowlaw.cli.init import run

    run(state, source, master, format=format, out=out, quiet=quiet, options=chosen)


def apply(
    state: options.State,
    insert: Annotated[str | None, typer.Option("--insert", help="Rows to insert: a file, folder or glob.")] = None,
    delete: Annotated[
        str | None,
        typer.Option(
            "--delete", help="Rows to delete: their ids if rows have ids, else whole rows. A file, folder or glob."
        ),
    ] = None,
    changes: Annotated[
        str | None, typer.Option("--changes", help="A change feed instead (needs --change-column).")
    ] = None,
    *,
    feed: options.Feed,
    batch_id: Annotated[
        str | None, typer.Option("--batch-id", help="A name for the batch: one that was applied is not applied again.")
    ] = None,
    quarantine: Annotated[
        str | None, typer.Option("--quarantine", help="Write the rows left out by --guard to this Parquet file.")
    ] = None,
    format: options.Format = "table",
    out: options.Out = None,
    file: options.File,
    quiet: options.Quiet = False,
) -> None:
    """Apply a batch of inserts and deletes, and report which laws ended and which are new. An update is a delete and an
    insert.

    Exit code 0: applied. 2: the batch does not fit, and nothing was changed. 3: the run failed, and nothing was
    changed.
    """
    options.chosen(format, "--format", options.FORMATS)
    options.outputs(out, quarantine)
    from rowlaw.cli.apply import run

    batch = {"insert": insert, "delete": delete, "changes": changes, "batch_id": batch_id}
    run(
        state,
        **batch,
        **asdict(feed),
        quarantine=quarantine,
        format=format,
        out=out,
        quiet=quiet,
        reading=file.reading(),
    )


def show(
    state: options.State,
    history: Annotated[
        bool, typer.Option("--history", help="When each rule was born and retired, and by which rows.")
    ] = False,
    rule: Annotated[
        str | None, typer.Option("--rule", help="Only what happened to the rule of this id (with --history).")
    ] = None,
    keys: Annotated[
        bool, typer.Option("--keys", help="Minimal unique and maximal non-unique sets of columns.")
    ] = False,
    top: options.Top = None,
    rules: options.RulesOut = None,
    format: options.Format = "table",
    out: options.Out = None,
) -> None:
    """Show the laws that hold now, and how they came about."""
    options.chosen(format, "--format", options.FORMATS)
    options.outputs(out, rules)
    from rowlaw.cli.show import run

    run(state, history=history, rule=rule, keys=keys, top=top, rules_file=rules, format=format, out=out)


def watch(
    state: Annotated[str | None, typer.Argument(help="The folder of the state; none with --history.")] = None,
    source_folder: Annotated[
        str | None, typer.Option("--source-folder", help="A folder: every new file in it is a batch.")
    ] = None,
    every: Annotated[float, typer.Option("--every", help="Seconds between looks at the folder.", min=0.01)] = 5.0,
    once: Annotated[bool, typer.Option("--once", help="Apply what is there, and stop.")] = False,
    *,
    history: Annotated[
        str | None,
        typer.Option(
            "--history",
            help="Instead of a state: a folder of Parquet files or a Delta table that good rows are appended to.",
        ),
    ] = None,
    feed: options.Feed,
    quarantine: Annotated[
        str | None,
        typer.Option("--quarantine", help="Write the rows left out by --guard to this folder (or Delta table)."),
    ] = None,
    row_id: options.RowId = None,
    format: Annotated[str, typer.Option("--format", help="table or json: one document per line.")] = "table",
    master: options.Master = None,
    file: options.File,
) -> None:
    """Apply every file that appears in a folder, each exactly once, and print what it did. Ctrl-C stops, and the next
    run goes on.

    A file that cannot be used is skipped with a message, and tried again at the next run. Exit code 0: nothing was
    skipped. 2: something was. Other streams: rowlaw.watch in Python takes any streaming DataFrame.
    """
    options.chosen(format, "--format", options.FORMATS)
    from rowlaw.cli.watch import run

    given = {**asdict(feed), "quarantine": quarantine}
    ids = options.names(row_id)
    seconds = None if once else every
    run(
        state,
        history,
        source_folder,
        seconds,
        row_id=ids,
        master=master,
        format=format,
        applying=given,
        reading=file.reading(),
    )
