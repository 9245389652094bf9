"""The steps of a write, where a process may be killed: tests listen here, and stop it there."""

from __future__ import annotations

from collections.abc import Callable

listeners: list[Callable[[str], None]] = []


def step(name: str) -> None:
    """Say what comes next."""
    for listener in listeners:
        listener(name)
