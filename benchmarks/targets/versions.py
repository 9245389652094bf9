"""This code against version 0.1 in one run: counting rules on one machine, and discovery of denial constraints.

Both versions take turns, each in processes of its own, so that a busy minute of the machine hits both. The calls are
those that both have.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from benchmarks.case import OURS, Case, Comparison, Contender, Options
from benchmarks.shapes import FACET, MORE, TWENTY
from benchmarks.tables import by_name, shared, tax
from benchmarks.targets.check import WARM_ROWS, rule_columns
from benchmarks.targets.discover_dc import digest
from benchmarks.targets.spark import BEFORE

ROWS = 1_000_000
BAR = 1.1  # not slower: single rounds differ by about a tenth
WARM_CALLS = 3
DISCOVERED = ("airport", "wp", "fuel", "abalone", "adult")


class Counting(Case):
    """Exact counts of some rules in an encoded table."""

    def __init__(self, table: str, rows: int, rules: Sequence[str]) -> None:
        self.table, self.rows, self.texts = table, rows, rules

    def prepare(self) -> None:
        from rowlaw.rules import bind, parse_located

        columns = rule_columns(self.texts)
        self.relation, self.small = (by_name.encoded(self.table, rows, columns) for rows in (self.rows, WARM_ROWS))
        self.rules = [bind(parse_located(text), self.relation.types) for text in self.texts]
        for column in columns:
            self.relation.codes(column).max()

    def warm(self) -> None:
        for relation in (self.small, *[self.relation] * WARM_CALLS):
            self._counts(relation)

    def run(self) -> dict[str, int]:
        return dict(zip(self.texts, self._counts(self.relation), strict=True))

    def _counts(self, relation: Any) -> list[int]:
        return [found.pairs for found in _engine()(relation, "unknown").count(self.rules)]


class Discovery(Case):
    """All minimal denial constraints over same-column predicates, null equals null, ranking left out where the version
    can."""

    def __init__(self, table: str) -> None:
        self.table = table

    def prepare(self) -> None:
        from rowlaw.relation import encode
        from rowlaw.source import open_source

        self.relation = encode(open_source(shared.csv(self.table)))
        self.small = encode(open_source(tax.cached(3_000)[0]))

    def warm(self) -> None:
        self._discover(self.small)

    def run(self) -> Any:
        return self._discover(self.relation)

    def _discover(self, relation: Any) -> Any:
        from rowlaw.discovery.denial import discover_denials
        from rowlaw.predicates import SpaceOptions, predicate_space

        options = SpaceOptions(cross=False)
        try:
            from rowlaw.engine.local.engine import LocalEngine
        except ModuleNotFoundError:  # version 0.1
            return discover_denials(_engine()(relation, "equal"), predicate_space(relation, options))
        engine = LocalEngine(relation, "equal")
        return discover_denials(engine, predicate_space(engine.statistics, options))

    def in_short(self, found: Any) -> dict[str, Any]:
        from rowlaw.rules.implication import canonical

        return {"rules": len(found.denials), "set": digest({str(canonical(denial)) for denial in found.denials})}


def _engine() -> Any:
    """The engine of the version that runs."""
    try:
        from rowlaw.engine.local.engine import LocalEngine
    except ModuleNotFoundError:  # version 0.1
        from rowlaw.engine.engine import Engine

        return Engine
    return LocalEngine


def CASES(options: Options) -> list[Comparison]:
    """The discovered tables come from the folder that ``ROWLAW_DATA`` names."""
    found = []
    for rows in options.rows or (ROWS,):
        for shape in (*FACET, *MORE):
            found.append(_counting(f"count {shape.name}", shape.table, rows, (shape.rule,)))
        found.append(_counting("count twenty rules", "tax", rows, TWENTY))
    return [
        *found,
        *(
            _against_before(f"discover {name}", "Discovery", {"table": name}, 1)
            for name in DISCOVERED
            if name in shared.names()
        ),
    ]


def _counting(name: str, table: str, rows: int, rules: Sequence[str]) -> Comparison:
    job = {"table": table, "rows": rows, "rules": list(rules)}
    return _against_before(name, "Counting", job, 5, rows)


def _against_before(name: str, case: str, job: dict[str, Any], calls: int, rows: int | None = None) -> Comparison:
    return Comparison(
        name=name,
        size=rows,
        ours=Contender(OURS, f"{__name__}:{case}", job),
        peers=(Contender(f"{OURS} 0.1", f"{__name__}:{case}", job, BAR, commit=BEFORE),),
        calls=calls,
        make=partial(by_name.path, job["table"], rows) if rows is not None else None,
    )
