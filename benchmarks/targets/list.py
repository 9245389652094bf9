"""Listing all violating pairs of rules, against DuckDB writing the same pairs, both with two threads.

The table is Tax with columns made for this (``benchmarks/tables/tax_listing.py``): one to four inequalities, alone and
behind equalities, with about 1, 10 and 100 violations for each row. Both sides produce every pair of row ids and reduce
them to a checksum: no pair may be left out, and where pairs are written to does not count. Tables are loaded or encoded
beforehand. Then, against ourselves: several rules together, and 10^9 violations as groups of rows instead of pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numba
import numpy as np

from benchmarks.case import Case, Comparison, Contender, Options
from benchmarks.tables import by_name, tax_listing
from benchmarks.targets.check import rule_columns

TABLE = "tax to list"
SIZES = (1_000_000,)
WARM_ROWS = 20_000
THREADS = 2
TIMEOUT = 60.0  # seconds for DuckDB
BAR = 1.0
# the checksum is the exclusive or of (s + 1) * (t + SHIFT) over all pairs: products, so that partners cannot be swapped
SHIFT = 1_000_003
SHARING = (
    "not (s.Zip = t.Zip and s.Salary < t.Salary)",
    "not (s.Zip = t.Zip and s.Salary < t.Salary and s.ChildExemp > t.ChildExemp)",
    "not (s.Zip = t.Zip and s.Salary < t.Salary and s.ChildExemp > t.ChildExemp and s.FName < t.FName)",
    (
        "not (s.Zip = t.Zip and s.Salary < t.Salary and s.ChildExemp > t.ChildExemp and s.FName < t.FName "
        "and s.LName < t.LName)"
    ),
)
MANY = "not (s.FName = t.FName and s.Salary < t.Salary and s.Rate > t.Rate)"  # 10^9 violations in 1M rows


def rules() -> dict[str, str]:
    """The rules by what they are."""
    found = {}
    for m in tax_listing.PER_ROW:
        found[f"one inequality, {m} per row"] = f"not (s.Gross < t.Cap{m})"
        for k, word in ((2, "two"), (3, "three"), (4, "four")):
            paid = " and ".join(
                f"s.Paid{k}{letter}_{m} > t.Paid{k}{letter}_{m}" for letter in tax_listing.LETTERS[: k - 1]
            )
            found[f"{word} inequalities, {m} per row"] = f"not (s.Gross < t.Gross and {paid})"
        found[f"two inequalities, errors, {m} per row"] = f"not (s.Gross < t.Gross and s.Late{m} > t.Late{m})"
    found["three inequalities, no two selective"] = (
        "not (s.Gross < t.Gross and s.Bonus < t.Bonus and s.Total > t.Total)"
    )
    found["two equalities, one inequality, 1 per row"] = (
        "not (s.City = t.City and s.LName = t.LName and s.Salary < t.Salary)"
    )
    found["two equalities, one inequality, 10 per row"] = (
        "not (s.AreaCode = t.AreaCode and s.FName = t.FName and s.Salary < t.Salary)"
    )
    for rule, word in zip(
        SHARING, ("one inequality", "two inequalities", "three inequalities", "four inequalities"), strict=True
    ):
        found[f"equality, {word}"] = rule
    return found


@numba.njit(nogil=True)
def checksum(s: Any, t: Any) -> int:
    """What the pairs of a batch add to the checksum, whatever their order."""
    found = np.int64(0)
    for i in range(len(s)):
        found ^= (np.int64(s[i]) + 1) * (np.int64(t[i]) + SHIFT)
    return found  # type: ignore[return-value]


class Ours(Case):
    """``list_pairs`` on an encoded relation; ``together``: all rules in one call."""

    def __init__(self, rules: Sequence[str], rows: int, together: bool = True) -> None:
        self.texts, self.rows, self.together = rules, rows, together

    def prepare(self) -> None:
        columns = rule_columns(self.texts)
        self.relation, self.small = (by_name.encoded(TABLE, rows, columns) for rows in (self.rows, WARM_ROWS))
        for column in columns:  # the codes are in memory, as the data of the peer is
            self.relation.codes(column).max()

    def warm(self) -> None:
        self._list(self.small)

    def run(self) -> Any:
        return self._list(self.relation)

    def _compiled(self, relation: Any) -> list[Any]:
        from rowlaw.engine.local.compile import Scales, compile_rule
        from rowlaw.rules import bind, parse

        scales = Scales(relation, "unknown")
        return [
            compile_rule(denial, scales) for text in self.texts for denial in bind(parse(text), relation.types).denials
        ]

    def _list(self, relation: Any) -> dict[str, int]:
        from rowlaw.engine.local.listing import list_pairs

        compiled = self._compiled(relation)
        pairs = check = 0
        for some in [compiled] if self.together else [[rule] for rule in compiled]:
            for _, s, t in list_pairs(some, threads=THREADS):
                pairs += len(s)
                check ^= checksum(s, t)
        return {"pairs": pairs, "checksum": check}


class AsGroups(Ours):
    """The violations as groups of rows, whose rows are counted; the number of pairs follows from the sizes of
    groups."""

    def _list(self, relation: Any) -> dict[str, int]:
        from rowlaw.engine.local.refine import groups

        pairs = rows = 0
        for rule in self._compiled(relation):
            for some in groups(rule):
                rows += len(some.s.rows) + len(some.t.rows)
                pairs += int(np.diff(some.s.starts) @ np.diff(some.t.starts))
        return {"pairs": pairs, "rows": rows}

    def in_short(self, found: dict[str, int]) -> dict[str, int]:
        return {"pairs": found["pairs"]}


class CountedPairs(Ours):
    """The violations as pairs, of which only the number is told, to be compared with groups."""

    def in_short(self, found: dict[str, int]) -> dict[str, int]:
        return {"pairs": found["pairs"]}


class DuckDB(Case):
    """A self-join in DuckDB, its pairs reduced to a checksum."""

    def __init__(self, rules: Sequence[str], rows: int) -> None:
        self.texts, self.rows = rules, rows

    def prepare(self) -> None:
        from benchmarks.peers import duckdb_sql
        from rowlaw.rules import parse

        select = f"count(*), bit_xor((s.rowid + 1) * (t.rowid + {SHIFT}))"
        self.queries = [
            duckdb_sql.denial_sql(duckdb_sql.predicates(denial), select=select)
            for text in self.texts
            for denial in parse(text).denials
        ]
        self.connection = duckdb_sql.load(
            by_name.path(TABLE, self.rows), threads=THREADS, only=rule_columns(self.texts)
        )

    def run(self) -> dict[str, int]:
        pairs = check = 0
        for query in self.queries:
            number, part = self.connection.execute(query).fetchone() or (0, 0)
            pairs, check = pairs + number, check ^ (part or 0)
        return {"pairs": pairs, "checksum": check}

    def close(self) -> None:
        self.connection.close()


def CASES(options: Options) -> list[Comparison]:
    """Single rules against DuckDB; rules together and groups against ourselves."""
    found = []
    for rows in options.rows or SIZES:
        found += [_against_duckdb(name, rule, rows) for name, rule in rules().items()]
        found += [_together(rows), _as_groups(rows)]
    return found


def _against_duckdb(name: str, rule: str, rows: int) -> Comparison:
    job = {"rules": [rule], "rows": rows}
    return Comparison(
        name=name,
        size=rows,
        ours=Contender("rowlaw", f"{__name__}:Ours", job),
        peers=(Contender("DuckDB", f"{__name__}:DuckDB", job, BAR, TIMEOUT),),
        calls=5 if name.startswith("one inequality") or name.endswith(", 1 per row") else 1,  # below a second
        make=partial(_make, [rule], rows),
    )


def _together(rows: int) -> Comparison:
    job = {"rules": list(SHARING), "rows": rows}
    return Comparison(
        name="four rules that share an equality",
        size=rows,
        ours=Contender("rowlaw", f"{__name__}:Ours", job),
        peers=(
            Contender("rowlaw, one after the other", f"{__name__}:Ours", {**job, "together": False}, bar=1.1),
            Contender("DuckDB", f"{__name__}:DuckDB", job, BAR, 2 * TIMEOUT),
        ),
        make=partial(_make, SHARING, rows),
    )


def _as_groups(rows: int) -> Comparison:
    job = {"rules": [MANY], "rows": rows}
    return Comparison(
        name="equality, two inequalities, 1,000 per row, as groups",
        size=rows,
        ours=Contender("rowlaw", f"{__name__}:AsGroups", job),
        peers=(Contender("rowlaw, as pairs", f"{__name__}:CountedPairs", job, BAR),),
        make=partial(_make, [MANY], rows),
    )


def _make(texts: Sequence[str], rows: int) -> None:
    for number in (WARM_ROWS, rows):
        by_name.encoded(TABLE, number, rule_columns(texts))
