"""Questions about rows that agree on the same columns: keys, functional dependencies and order compatibilities by
context.

Columns go by their index in a list that the asker gives, because discovery asks tens of thousands of these questions.
"""

from __future__ import annotations

from typing import NamedTuple


class Target(NamedTuple):
    """What is asked about rows that agree on a context: to be a key (no columns), to agree on ``left`` as well, or to
    have ``left`` and ``right`` in the same order (``descending``: in opposite order)."""

    left: int = -1
    right: int = -1
    descending: bool = False


class Question(NamedTuple):
    """The targets that are asked about one context."""

    context: tuple[int, ...]
    targets: tuple[Target, ...]
