"""How time grows with columns and with rules, on generated tables: functional dependencies against HyFD, checking
against DuckDB.

Denial constraints by columns are measured without a peer. The rules to check are keys and functional dependencies over
the columns of Tax, all different, which DuckDB counts by ``GROUP BY``, one query for each.
"""

from __future__ import annotations

import itertools
import random
from functools import partial

from benchmarks.case import Comparison, Contender, Options
from benchmarks.dependencies import comparison, peer
from benchmarks.peers import checking
from benchmarks.tables import by_name, tax
from benchmarks.targets import check, discover_dc

ROWS = 100_000
COLUMNS = (5, 8, 11, 15)
RULES = (1, 10, 100, 1_000)
TABLE = "tax with errors"
SEED = 1


def rules(number: int) -> list[str]:
    """So many keys and functional dependencies; the first of a longer list are the shorter list.

    >>> rules(3) == rules(1_000)[:3], len(set(rules(1_000)))
    (True, 1000)
    """
    names = tax.SCHEMA.names
    found = [f"key ({a}, {b})" for a, b in itertools.combinations(names, 2)]
    for left in (*itertools.combinations(names, 1), *itertools.combinations(names, 2)):
        found += [f"fd ({', '.join(left)}) -> {right}" for right in names if right not in left]
    random.Random(SEED).shuffle(found)
    return found[:number]


class Ours(check.Ours):
    """``Engine.count`` of so many rules at once."""

    def __init__(self, rows: int, number: int) -> None:
        super().__init__(TABLE, rows, rules(number), whole=True)


class DuckDB(checking.DuckDB):
    """The same by ``GROUP BY``, rule by rule."""

    def __init__(self, rows: int, number: int) -> None:
        super().__init__(TABLE, rows, rules(number), "group")


def CASES(options: Options) -> list[Comparison]:
    """Columns, then rules."""
    rows = (options.rows or (ROWS,))[-1]
    found = []
    for columns in COLUMNS:
        job = {"table": "tax", "rows": rows, "columns": columns}
        found.append(
            comparison(
                "functional dependencies by columns", "fd", peer("fd", **job), size=columns, axis="columns", **job
            )
        )
    for columns in COLUMNS:
        ours = Contender("rowlaw", f"{discover_dc.__name__}:Ours", {"table": "tax", "rows": rows, "columns": columns})
        make = partial(discover_dc.make_tax, rows)
        found.append(Comparison("denial constraints by columns", ours, size=columns, make=make, axis="columns"))
    for number in RULES:
        job = {"rows": rows, "number": number}
        found.append(
            Comparison(
                name="check by rules",
                size=number,
                ours=Contender("rowlaw", f"{__name__}:Ours", job),
                peers=(Contender("DuckDB, GROUP BY", f"{__name__}:DuckDB", job),),
                make=partial(_make, rows),
                axis="rules",
            )
        )
    return found


def _make(rows: int) -> None:
    for number in (check.WARM_ROWS, rows):
        by_name.encoded(TABLE, number)
