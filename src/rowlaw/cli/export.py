"""``rowlaw export`` and ``rowlaw import``: rules for other tools, and from them."""

from __future__ import annotations

import sys
from typing import Any, cast, get_args

from rowlaw.cli.options import chosen
from rowlaw.errors import RowlawError
from rowlaw.export import TARGETS, export_rules, import_rules
from rowlaw.rules import Dialect, Nulls, load


def run_export(rules: str, to: str, *, dialect: str, out: str | None, options: dict[str, Any]) -> None:
    """Print the files, or write them; what the target cannot express goes to stderr too."""
    chosen(to, "--to", tuple(TARGETS))
    chosen(dialect, "--dialect", get_args(Dialect))
    export = export_rules(load(rules), to=cast("Any", to), dialect=cast("Dialect", dialect), **options)
    for rule in export.unexpressed:
        print(f"rowlaw: {to} cannot express rule {rule}", file=sys.stderr)
    if out is None:
        print(export, end="")
        return
    for path in export.write(out):
        print(f"rowlaw: wrote {path}", file=sys.stderr)


def run_import(file: str, *, out: str | None, columns: list[str] | None, nulls: Nulls | None) -> None:
    """Read rules of another tool; print their texts or write a rule file."""
    rules = import_rules(file, columns=columns, nulls=nulls or "equal")
    if not len(rules):
        raise RowlawError("BAD_FILE", path=file, problem="there is no rule in it")
    if out is None:
        for named in rules:
            print(named.rule)
        return
    rules.save(out)
    print(
        f"rowlaw: wrote {len(rules):,} rule{'' if len(rules) == 1 else 's'} to {out}, nulls={rules.nulls}",
        file=sys.stderr,
    )
