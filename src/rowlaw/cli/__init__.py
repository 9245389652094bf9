"""The command line. Results go to stdout, progress and messages to stderr."""

from rowlaw.cli.process import main

__all__ = ["main"]
