"""The commands, and what happens to errors. Everything heavy is imported inside the commands, so that help is quick."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from rowlaw import __version__
from rowlaw.cli import options
from rowlaw.errors import RUN_FAILED, RowlawError

app = typer.Typer(
    name="rowlaw",
    help="Find the laws the rows of a table obey, keep them current, and see every pair of rows that breaks one.",
    epilog="Try: rowlaw demo",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"rowlaw {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")] = False,
) -> None:
    pass


@app.command(epilog="Example: rowlaw demo")
def demo() -> None:
    """Show what rowlaw does on a small built-in table."""
    from rowlaw.cli.demo import show

    show()


@app.command(epilog="Example: rowlaw check people.csv --rule 'fd (zip) -> city' --rule 'key (id)'")
def check(
    source: options.Source,
    rules: Annotated[str | None, typer.Argument(help="A rule file (YAML).")] = None,
    rule: Annotated[list[str] | None, typer.Option("--rule", help="A rule. Repeatable.")] = None,
    nulls: options.NullsOption = None,
    row_id: options.RowId = None,
    columns: options.Columns = None,
    types: options.Types = None,
    sample: Annotated[int, typer.Option("--sample", help="Violations to show per rule.", min=0)] = 3,
    violations: Annotated[str | None, typer.Option("--violations", help="Write all violations to this Parquet file.")] = None,
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
    """Count every violation of every rule and show the worst.

    Exit code 0: all rules hold. 1: a rule of severity error is broken. 2: bad usage, rule or input. 3: the run failed.
    """
    options.chosen(format, "--format", ("table", "json"))
    file = {"format": source_format, "delimiter": delimiter, "quote": quote, "header": header, "encoding": encoding, "option": option}
    reading = options.reading(columns, types, **file)
    from rowlaw.cli.check import run

    printed: dict[str, Any] = {"sample": sample, "violations": violations, "format": format, "out": out, "quiet": quiet}
    raise typer.Exit(run(source, rules, rule or [], options.meaning(nulls), row_id, master, reading, **printed))


@app.command(epilog="Example: rowlaw discover people.csv --top 20 --rules laws.yaml")
def discover(
    source: options.Source,
    kinds: Annotated[str, typer.Option("--kinds", help="Kinds of rules, with commas: dc.")] = "dc",
    error: Annotated[float, typer.Option("--error", help="Share of pairs of rows that may break a rule.")] = 0.0,
    top: Annotated[int | None, typer.Option("--top", help="Show so many of the best rules.", show_default="all", min=1)] = None,
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
    strategy: Annotated[str, typer.Option("--strategy", help="auto, pairs or sample.")] = "auto",
    time_limit: Annotated[
        float | None, typer.Option("--time-limit", help="Seconds after which what is proven is shown.", show_default="none")
    ] = None,
    rules: Annotated[str | None, typer.Option("--rules", help="Write the rules to this file, for rowlaw check.")] = None,
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
    """Find all minimal laws that the rows obey, the ones worth reading first. Ctrl-C shows what is proven so far."""
    options.chosen(format, "--format", ("table", "json"))
    file = {"format": source_format, "delimiter": delimiter, "quote": quote, "header": header, "encoding": encoding, "option": option}
    chosen: dict[str, Any] = {
        "kinds": options.names(kinds),
        "error": error,
        "top": top,
        "nulls": options.meaning(nulls) or "unknown",
        "row_id": row_id,
        "cross": cross,
        "overlap": overlap,
        "order_strings": order_strings,
        "single_row": single_row,
        "constants": constants,
        "strategy": strategy,
        "time_limit": time_limit,
    }
    chosen |= options.reading(columns, types, **file)
    from rowlaw.cli.discover import run

    raise typer.Exit(run(source, master, format=format, out=out, rules_file=rules, quiet=quiet, options=chosen))


@app.command(epilog="Example: rowlaw explain 'od {state}: rate ~ salary' --source tax.parquet --plan")
def explain(
    rule: Annotated[str, typer.Argument(help="A rule.")],
    source: Annotated[str | None, typer.Option("--source", help="The table it is about.")] = None,
    plan: Annotated[bool, typer.Option("--plan", help="Show how its violations would be found (needs --source).")] = False,
    nulls: options.NullsOption = None,
) -> None:
    """Say what a rule means: in words, as denial constraints, as SQL, and how it would be checked."""
    from rowlaw.cli.explain import run

    run(rule, source, plan=plan, nulls=options.meaning(nulls) or "unknown")


def main() -> None:
    """Run the command line. Exit codes: 0 good, 1 a rule is broken, 2 bad usage, rule or input, 3 the run failed."""
    try:
        app()
    except RowlawError as error:
        print(error, file=sys.stderr)
        sys.exit(error.exit_code)
    except BrokenPipeError:  # the reader of stdout (`| head`) has seen enough
        sys.stderr.close()
        sys.exit(0)
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        sys.exit(RUN_FAILED)
