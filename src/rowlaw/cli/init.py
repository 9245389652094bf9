"""``rowlaw init``: what it prints."""

from __future__ import annotations

import json
import shlex
from typing import Any

from rowlaw.cli.options import started, write
from rowlaw.cli.show import document, rules_text
from rowlaw.interrupts import unheard
from rowlaw.maintain import Laws

SHOWN = 20  # rules; `rowlaw show` has all


def run(
    state: str, source: str, master: str | None, *, format: str, out: str | None, quiet: bool, options: dict[str, Any]
) -> None:
    """Make a state, and show its best rules."""
    with unheard():  # part of the rules is no state: nothing is left to be done in order
        laws = Laws.create(state, source, session=started(master), progress=not quiet, **options)
    if format == "json":
        write(json.dumps(document(laws), ensure_ascii=False), out)
        return
    then = f"then: {shlex.join(['rowlaw', 'apply', state, '--insert', 'FILE'])}"
    write(f"{rules_text(laws, SHOWN, out)}\n{then}", out)
