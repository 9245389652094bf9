"""Text for people: as wide as the terminal and coloured there, plain and of a fixed width anywhere else."""

from __future__ import annotations

import io
import shlex
import sys
from collections.abc import Iterable

from rich.console import Console


class Page(Console):
    """A console that keeps what is printed. ``out`` is the file it is meant for, if any; ``width`` counts where there
    is no terminal."""

    def __init__(self, out: str | None, width: int) -> None:
        terminal = out is None and sys.stdout.isatty()
        self._kept = io.StringIO()
        super().__init__(
            file=self._kept,
            force_terminal=terminal,
            width=None if terminal else width,
            highlight=False,
            color_system="auto" if terminal else None,
        )

    def lines(self, lines: Iterable[str]) -> None:
        """Print lines as they are, tens of thousands at once: laying them out would take seconds."""
        self._kept.writelines(f"{line}\n" for line in lines)

    @property
    def text(self) -> str:
        """All that was printed."""
        return trimmed(self._kept.getvalue().rstrip())


def trimmed(text: str) -> str:
    """Lines without the blanks that fill the last column of a table."""
    return "\n".join(line.rstrip() for line in text.split("\n"))


def command() -> str:
    """The command that is running, to be run again."""
    return shlex.join(["rowlaw", *sys.argv[1:]])
