"""The commands, and what happens to errors. Everything heavy is imported inside the commands, so that help is quick."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from rowlaw import __version__
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
