"""Which way of listing pairs wins, in CPU seconds of one thread: ``python -m benchmarks.listing [ROWS]`` (40,000 if not
given).

The thresholds of ``engine/local/division.py`` and ``plan.py`` come from here, and the decision not to use FACET's
algorithms by default (docs/decisions/0014-listing-by-division.md). A way that would take longer than ``LIMIT`` is given
up.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.tables import by_name
from benchmarks.targets import list as target
from benchmarks.targets.check import rule_columns

ROWS, LIMIT = 40_000, 10.0  # seconds
RULES = {
    "few values": "not (s.State = t.State and s.Rate < t.Rate and s.Gross < t.Gross and s.Paid2a_100 > t.Paid2a_100)",
    "one inequality": "not (s.State = t.State and s.Gross < t.Gross)",
    **{
        name: rule
        for name, rule in target.rules().items()
        if "10 per row" in name or "100 per row" in name or "per row" not in name
    },
}
Found = Iterator[tuple[Any, Any]]


def ways() -> dict[str, Callable[[Any], Found]]:
    """Ways of listing the pairs of a compiled rule."""
    from rowlaw.engine.local import inequality
    from rowlaw.engine.local.plan import METHODS, Stage, plan
    from rowlaw.engine.local.refine import groups, pairs, refined, written
    from rowlaw.relation.groups import Groups

    def divided(scan: int, rule: Any) -> Found:
        return written(groups(rule, scan=scan))

    def planned(method: Any, rule: Any) -> Found:
        return pairs(rule, steps=plan(rule, method))

    def binned(bins: int, rule: Any) -> Found:
        """BHSM for the inequality with most values, HSM for the others."""
        equal = Groups.whole(rule.s, rule.t).refine([c.columns for c in rule.equalities])
        *others, last = sorted(rule.inequalities, key=lambda c: c.columns.width)
        stages = [Stage("hsm", (c,), "") for c in others]
        return written(smaller for some in inequality.bhsm(equal, last, bins=bins) for smaller in refined(some, stages))

    return {
        **{f"divide, scan {scan}": partial(divided, scan) for scan in (8, 24, 48, 96)},
        **{method: partial(planned, method) for method in METHODS if method != "divide"},
        **{f"one bhsm, {bins} bins": partial(binned, bins) for bins in (20, 500, 5_000)},
    }


def seconds(way: Callable[[Any], Found], rule: Any) -> tuple[float, int] | None:
    """CPU seconds and pairs of one way, the better of two runs; None if given up."""
    best = LIMIT
    for _ in range(2):
        begin, number = time.process_time(), 0
        for s, _t in way(rule):
            number += len(s)
            if time.process_time() - begin > LIMIT:
                return None
        best = min(best, time.process_time() - begin)
    return best, number


def main(rows: int) -> None:
    from rowlaw.engine.local.compile import Scales, compile_rule
    from rowlaw.rules import bind, parse

    known, table = ways(), Table("rule", "pairs", *ways(), title=f"CPU seconds, {rows:,} rows")
    for name, text in RULES.items():
        relation = by_name.encoded(target.TABLE, rows, rule_columns([text]))
        rule = compile_rule(bind(parse(text), relation.types).denials[0], Scales(relation, "unknown"))
        found = [seconds(way, rule) for way in known.values()]
        counts = {pairs for one in found if one is not None for pairs in [one[1]]}
        if len(counts) > 1:
            raise AssertionError(f"{name}: the ways list different numbers of pairs: {counts}")
        table.add_row(
            name, *(f"{n:,}" for n in counts), *("> limit" if one is None else f"{one[0]:.3f}" for one in found)
        )
    Console(width=200).print(table)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else ROWS)
