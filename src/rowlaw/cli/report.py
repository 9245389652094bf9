"""``rowlaw report``: a table and rules in, one HTML file out."""

from __future__ import annotations

import os
import sys
import warnings
from typing import Any

from rowlaw.cli.options import started
from rowlaw.cli.page import command
from rowlaw.discovery import discover
from rowlaw.errors import RowlawWarning
from rowlaw.report import profile, write_report
from rowlaw.rules import Nulls, RuleSet, load
from rowlaw.source.row_ids import RowId
from rowlaw.violations import check

_TOP = 200  # rules that are discovered when none are given: more are not read


def run(
    source: str,
    rules: str | None,
    *,
    out: str,
    state: str | None,
    nulls: Nulls | None,
    row_id: RowId,
    master: str | None,
    time_limit: float,
    reading: dict[str, Any],
    quiet: bool,
) -> int:
    """Check the rules of a file, or discover some, and write the report. The exit code is that of ``rowlaw check``."""
    session = started(master)
    common: dict[str, Any] = {"row_id": row_id, "session": session, "progress": not quiet, **reading}
    options: dict[str, Any] = {"title": os.path.basename(source.rstrip("/")) or source, "command": command()}
    if state is not None:
        from rowlaw.maintain import Laws

        laws = Laws.open(state)
        options["history"] = laws.history
    code = 0
    if rules is None and state is None:
        discovery = discover(source, top=_TOP, nulls=nulls or "unknown", time_limit=time_limit, **common)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RowlawWarning)  # the user was warned when the table was first read
            columns = profile(source, rules=discovery, session=session, progress=False, **reading)
        write_report(out, discovery, profile=columns, **options)
    else:
        given = load(rules) if rules is not None else laws.rules
        result = check(source, RuleSet.of(given, nulls=nulls), **common)
        try:
            result.to_html(out, **options)
            code = result.exit_code
        finally:
            result.close()
    print(f"rowlaw: wrote {out}", file=sys.stderr)
    return code
