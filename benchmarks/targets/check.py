"""Counting all violations of rules, against DuckDB (self-joins, and GROUP BY where that will do) and Desbordante's
verifier.

Tables are loaded or encoded beforehand, except in the cases that are called end to end. Ours gives the exact number of
pairs and for each row the number of pairs it takes part in; peers give the number of pairs. Where a rule is both a join
and a ``GROUP BY`` in SQL, both are measured, each with the bar: the faster of them is the one to look at.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import Any

from benchmarks import shapes
from benchmarks.case import Case, Comparison, Contender, Options
from benchmarks.shapes import Shape
from benchmarks.tables import by_name, tax_damage

SIZES = (1_000_000,)
GROWTH_SIZES = (1_000_000, 10_000_000)
WARM_ROWS = 20_000
JOIN_TIMEOUT, VERIFY_TIMEOUT = 30.0, 30.0  # seconds
# seconds where ours takes longest: a bound must be far to say something
LONG_JOINS = {"phi11": 45.0, "three inequalities": 150.0}
UNJOINED = ("phi6", "phi6 with errors", "phi7 with errors")  # no self-join finishes; GROUP BY, or phi7, says the same
INEQUALITY_BAR, EQUALITY_BAR, GROWTH_BAR, TOGETHER_BAR, NULLS_BAR = 0.05, 1.0, 13.0, 3.0, 1.5
GROWING = (*shapes.FACET[:4], *shapes.MORE[:2])
FILE_RULES = (tax_damage.KEY, tax_damage.ZIP_CITY, tax_damage.CHILD_EXEMPTION)


class Ours(Case):
    """``LocalEngine.count`` on an encoded relation; with ``spark``, in a warm local session that the engine may use if
    it likes.

    ``whole``: the relation has all columns of the table, not only those of the rules.
    """

    def __init__(self, table: str, rows: int, rules: Sequence[str], spark: bool = False, whole: bool = False) -> None:
        self.table, self.rows, self.texts, self.spark, self.whole = table, rows, rules, spark, whole
        self.session: Any = None

    def prepare(self) -> None:
        from rowlaw.rules import bind, parse_located

        columns = rule_columns(self.texts)
        kept = None if self.whole else columns
        self.relation, self.small = (by_name.encoded(self.table, rows, kept) for rows in (self.rows, WARM_ROWS))
        self.rules = [bind(parse_located(text), self.relation.types) for text in self.texts]
        for column in columns:  # the codes are in memory, as the data of peers is
            self.relation.codes(column).max()
        if self.spark:
            from rowlaw.spark.session import session

            self.session = session()

    def warm(self) -> None:
        """All rules on a small table, whole, in pieces and by distinct rows, in threads and (if there is a session) in
        Python workers."""
        from rowlaw.engine.local import tasks
        from rowlaw.engine.local.compile import Scales, compile_rule
        from rowlaw.engine.local.count import METHODS, count
        from rowlaw.engine.local.engine import LocalEngine
        from rowlaw.engine.local.kinds import DistinctRows
        from rowlaw.spark.jobs import DriverThreads, SparkTasks

        scales, distinct_rows = Scales(self.small, "unknown"), DistinctRows(min_rows=1, repeated=0)
        for denial in (denial for rule in self.rules for denial in rule.denials):
            count(compile_rule(denial, scales), self.small.rows, methods=[distinct_rows, *METHODS])
        usual = tasks.SPLIT_SECONDS
        for tasks.SPLIT_SECONDS in (usual, 0.0, usual):
            for workers in (DriverThreads(), *([SparkTasks(self.session)] if self.session else [])):
                LocalEngine(self.small, "unknown", workers=workers).count(self.rules)

    def run(self) -> Any:
        return dict(zip(self.texts, self.count(self.rules), strict=True))

    def count(self, rules: Sequence[Any]) -> list[int]:
        from rowlaw.engine.local.engine import LocalEngine

        return [found.pairs for found in LocalEngine(self.relation, "unknown", self.session).count(rules)]

    def data_bytes(self) -> int | None:
        return self.relation.nbytes if self.whole else None

    def close(self) -> None:
        if self.session is not None:
            self.session.stop()


class Slowest(Ours):
    """The same, but only of the rule that takes longest alone, which is found out beforehand."""

    def warm(self) -> None:
        super().warm()
        self.slowest = max(self.rules, key=self._seconds)

    def run(self) -> None:
        self.count([self.slowest])

    def _seconds(self, rule: Any) -> float:
        """The best of three calls: one that was disturbed must not make another rule the slowest."""
        taken = []
        for _ in range(3):
            begin = time.perf_counter()
            self.count([rule])
            taken.append(time.perf_counter() - begin)
        return min(taken)


class WithoutNulls(Ours):
    """The same on another table than it is compared with, so without an answer."""

    def run(self) -> None:
        self.count(self.rules)


class EndToEnd(Case):
    """``rowlaw.check`` of a Parquet file: reading, encoding and counting, in a warm local session."""

    def __init__(self, table: str, rows: int, rules: Sequence[str]) -> None:
        self.table, self.rows, self.texts = table, rows, rules
        self.encoded: int | None = None

    def prepare(self) -> None:
        from rowlaw.spark.session import session

        self.path, self.small = (str(by_name.path(self.table, rows)) for rows in (self.rows, WARM_ROWS))
        self.session = session()

    def warm(self) -> None:
        self._check(self.small)

    def run(self) -> dict[str, int]:
        return self._check(self.path)

    def data_bytes(self) -> int | None:
        return self.encoded

    def close(self) -> None:
        self.session.stop()

    def _check(self, path: str) -> dict[str, int]:
        import rowlaw

        result = rowlaw.check(path, list(self.texts), engine="local", progress=False)
        self.encoded = result.engine.relation.nbytes
        return dict(zip(self.texts, result.counts.values(), strict=True))


def CASES(options: Options) -> list[Comparison]:
    """FACET's shapes and others against peers; growth, many rules together and whole runs against ourselves."""
    sizes, growth_sizes = options.rows or SIZES, options.rows or GROWTH_SIZES
    damaged = [
        Shape(f"{s.name} with errors", "tax with errors", s.rule, s.why) for s in shapes.FACET if s.table == "tax"
    ]
    verified = {"phi4 with errors", "phi5 with errors", "phi7 with errors"}
    found = [
        _against_peers(shape, rows, shape.name in verified)
        for rows in sizes
        for shape in (*shapes.FACET, *damaged, *shapes.MORE)
    ]
    found += [_growing(shape, rows) for shape in GROWING for rows in growth_sizes]
    found += [_together(rows, spark) for rows in sizes for spark in (False, True)]
    found += [_with_nulls(rows) for rows in sizes]
    found += [_end_to_end(rows) for rows in sizes]
    found += [_end_to_end_growing(rows) for rows in growth_sizes]
    return found


def rule_columns(texts: Sequence[str]) -> list[str]:
    """The columns that rules speak of.

    >>> rule_columns(["fd (zip) -> city", "key (city)"])
    ['city', 'zip']
    """
    from rowlaw.rules import parse

    return sorted({column for text in texts for column in parse(text).columns})


def _against_peers(shape: Shape, rows: int, verified: bool) -> Comparison:
    from rowlaw.rules import parse

    rule = parse(shape.rule)
    inequality = any(predicate.op.is_inequality for denial in rule.denials for predicate in denial.predicates)
    bar = INEQUALITY_BAR if inequality else EQUALITY_BAR
    grouped = rule.kind in ("key", "fd")
    job = {"table": shape.table, "rows": rows, "rules": [shape.rule]}
    duckdb, desbordante = "benchmarks.peers.checking:DuckDB", "benchmarks.peers.checking:Desbordante"
    peers = []
    if shape.name not in UNJOINED:
        limit = LONG_JOINS.get(shape.name, JOIN_TIMEOUT)
        peers.append(Contender("DuckDB, self-join", duckdb, {**job, "how": "join"}, bar, limit))
    if grouped:
        peers.append(Contender("DuckDB, GROUP BY", duckdb, {**job, "how": "group"}, bar))
    if verified:
        peers.append(Contender("Desbordante", desbordante, job, timeout=VERIFY_TIMEOUT))
    return Comparison(
        name=shape.name if shape.name.startswith("phi") else f"dc {shape.name}",
        size=by_name.size(shape.table, rows),
        ours=Contender("rowlaw", f"{__name__}:Ours", job),
        peers=tuple(peers),
        calls=3 if grouped else 1,
        make=partial(_make, shape.table, rows, rule_columns([shape.rule])),
    )


def _growing(shape: Shape, rows: int) -> Comparison:
    """Ours alone, in a session and with all columns encoded: what peers need for ten million rows is not to be waited
    for."""
    return Comparison(
        name=f"growth {shape.name}",
        size=rows,
        ours=Contender(
            "rowlaw", f"{__name__}:Ours", _job("tax with errors", rows, [shape.rule], spark=True, whole=True)
        ),
        calls=3,
        make=partial(_make, "tax with errors", rows, None),
        growth_bar=GROWTH_BAR,
    )


def _together(rows: int, spark: bool) -> Comparison:
    job = _job("tax with errors", rows, shapes.TWENTY, spark=spark)
    return Comparison(
        name=f"twenty rules together{' in a session' if spark else ''}",
        size=rows,
        ours=Contender("rowlaw", f"{__name__}:Ours", job),
        peers=(Contender("rowlaw, the slowest rule alone", f"{__name__}:Slowest", job, bar=TOGETHER_BAR),),
        calls=3,
        make=partial(_make, "tax with errors", rows, rule_columns(shapes.TWENTY)),
    )


def _with_nulls(rows: int) -> Comparison:
    """Rules that share their equalities, with nulls in what else they compare: they still share."""

    def make() -> None:
        for table in ("tax with nulls", "tax with errors"):
            _make(table, rows, rule_columns(shapes.SHARING))

    without = _job("tax with errors", rows, shapes.SHARING)
    return Comparison(
        name="ten rules with nulls",
        size=rows,
        ours=Contender("rowlaw", f"{__name__}:Ours", _job("tax with nulls", rows, shapes.SHARING)),
        peers=(Contender("rowlaw, without nulls", f"{__name__}:WithoutNulls", without, bar=NULLS_BAR),),
        calls=3,
        make=make,
    )


def _end_to_end(rows: int) -> Comparison:
    job = _job("tax with errors", rows, FILE_RULES)
    return Comparison(
        name="end to end, key and fds",
        size=rows,
        ours=Contender("rowlaw.check", f"{__name__}:EndToEnd", job),
        peers=(
            Contender("DuckDB, load and GROUP BY", "benchmarks.peers.checking:DuckDBFromFile", {**job, "how": "group"}),
        ),
        make=partial(_make_file, "tax with errors", rows),
    )


def _end_to_end_growing(rows: int) -> Comparison:
    return Comparison(
        name="end to end, all planted rules",
        size=rows,
        ours=Contender("rowlaw.check", f"{__name__}:EndToEnd", _job("tax with errors", rows, tax_damage.RULES)),
        make=partial(_make_file, "tax with errors", rows),
    )


def _job(table: str, rows: int, rules: Sequence[str], **more: bool) -> dict[str, Any]:
    return {"table": table, "rows": rows, "rules": list(rules), **more}


def _make_file(table: str, rows: int) -> None:
    for number in (WARM_ROWS, rows):
        by_name.path(table, number)


def _make(table: str, rows: int, columns: Sequence[str] | None) -> None:
    for number in (WARM_ROWS, rows):
        by_name.encoded(table, number, columns)
