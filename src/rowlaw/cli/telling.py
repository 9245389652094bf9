"""How the demo prints: steps with the commands behind them, at once and without blanks at the end of lines."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console, RenderableType
from rich.text import Text

from rowlaw.cli.page import trimmed


def say(console: Console, what: RenderableType, *, soft_wrap: bool = False) -> None:
    """Print at once, without the blanks that fill the last column of a table."""
    with console.capture() as captured:
        console.print(what, soft_wrap=soft_wrap)
    print(trimmed(captured.get().rstrip("\n")), flush=True)


def step(console: Console, title: str, commands: Sequence[str] = (), prompt: str = "$") -> None:
    """Begin a step: what it shows, and the commands (or, with ``>>>``, the Python) that do the same."""
    say(console, Text(f"\n{title}", style="bold"))
    for command in commands:
        say(console, Text(f"  {prompt} {command}", style="cyan"), soft_wrap=True)
