"""Whether the first rules of a default run are worth reading.

*Documented laws*: of the laws that the makers of a table documented, how many are among the first 20 rules, or follow
from them. *Power*: of the errors that any rule catches, how many the first 10 and the first 20 catch. An error is one
cell of a random row replaced by another row's value, or a row inserted again with one cell changed; it is caught when
the changed row breaks a rule together with an unchanged row (with more rows than before, for a rule that some rows
break anyway). All unchanged rows are looked at.

Half of the tables was used to tune the ranking; ``benchmarks/tables/documented.py`` says which, and how far the other
half was kept out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.case import Case, Comparison, Contender, Fact, Options
from benchmarks.tables import documented

FIRST = 20
ERRORS = 200
MOST_ROWS = 20_000  # rows that errors are compared with: of larger tables a random part
SEED = 20_131


class Read(Case):
    """A default run, judged."""

    def __init__(self, table: str) -> None:
        self.table = documented.table(table)

    def prepare(self) -> None:
        self.data = self.table.read()

    def warm(self) -> None:
        self._discover(self.data.slice(0, 200))

    def run(self) -> Any:
        found = self._discover(self.data)
        self.ranking = found.seconds.get("rank", 0.0) / max(sum(found.seconds.values()), 1e-9)
        return found

    def facts(self) -> list[Fact]:
        return [Fact("share of ranking", round(100 * self.ranking, 1), "%")]

    def _discover(self, table: Any) -> Any:
        import rowlaw

        return rowlaw.discover(table, progress=False)

    def in_short(self, found: Any) -> dict[str, Any]:
        first = found.rules[:FIRST]
        missing = [law for law in self.table.laws if not listed(law, first)]
        return {
            "half": "tuning" if self.table.tuned else "held out",
            "laws": len(self.table.laws),
            "in the first 20": len(self.table.laws) - len(missing),
            "missing": missing,
            "rules": found.total,
            "partial": found.partial,
            **powers(self.data, found),
        }


def listed(law: str, rules: Sequence[Any]) -> bool:
    """Whether a law is one of the rules, or follows from those that hold."""
    from rowlaw import RuleSet, parse

    wanted = parse(law)
    return any(r.rule == wanted for r in rules) or RuleSet.of([r for r in rules if not r.error]).implies(wanted)


def powers(table: Any, found: Any, errors: int = ERRORS) -> dict[str, Any]:
    """What the first 10, the first 20 and all rules catch of random errors."""
    from rowlaw.engine.open import open_local
    from rowlaw.source import open_source

    random = np.random.default_rng(SEED)
    if table.num_rows > MOST_ROWS:
        table = table.take(np.sort(random.permutation(table.num_rows)[:MOST_ROWS]))
    engine = open_local(open_source(table), found.nulls)
    try:
        caught = Trial(engine, found.rules, random, errors).caught()
    finally:
        engine.close()
    every = sum(1 for place in caught if place is not None)
    shares = {
        f"first {n}": round(sum(place is not None and place < n for place in caught) / max(1, every), 3)
        for n in (10, FIRST)
    }
    return {"errors": len(caught), "caught": every, **shares}


class Trial:
    """Errors, and for each the first rule that catches it."""

    def __init__(self, engine: Any, rules: Sequence[Any], random: np.random.Generator, count: int) -> None:
        from rowlaw.discovery.power import atoms_for, atoms_of_rules
        from rowlaw.relation.changed import changed_rows

        self.rules = list(rules)
        relation = engine.sample()
        self.rows = relation.rows
        varying = [i for i, c in enumerate(relation.columns) if c.distinct > 1]
        self.own, self.columns, self.codes, self.inserted = [], [], [], []
        for n in range(count if self.rows > 1 and varying and self.rules else 0):
            column, row = varying[n % len(varying)], int(random.integers(self.rows))
            values = relation.matrix[column]
            other = next(
                (int(v) for v in values[random.integers(0, self.rows, 50)] if v >= 0 and v != values[row]), None
            )
            if other is not None:
                self.own.append(row)
                self.columns.append(column)
                self.codes.append(other)
                self.inserted.append(n // len(varying) % 2 == 1)
        self.names = [relation.columns[c].name for c in self.columns]
        if not self.own:
            return
        self.atoms = atoms_for(engine, [r.rule for r in self.rules])
        every = np.arange(self.rows)
        self.changed = changed_rows(relation, every, np.array(self.own), np.array(self.columns), np.array(self.codes))
        self.slots = self.atoms.slots.over(self.changed)
        denials = [(n, d) for n, r in enumerate(self.rules) for d in r.rule.denials]
        self.number = np.array([n for n, _ in denials])
        self.sets = atoms_of_rules(self.atoms, [d for _, d in denials])
        self.broken = np.array([bool(self.rules[n].error) for n in self.number])

    def caught(self) -> list[int | None]:
        """The place of the first rule that catches each error."""
        return [self._first(i) for i in range(len(self.own))]

    def _edges(self, row: int, others: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        from rowlaw.evidence.tiles import evidence_of_pairs

        signatures = evidence_of_pairs(self.slots, np.full(len(others), row), others)
        both = np.concatenate((self.atoms.edges(signatures), self.atoms.edges(self.atoms.slots.reverse(signatures))))
        return np.unique(both, axis=0, return_counts=True)

    def _first(self, error: int) -> int | None:
        own = self.own[error]
        others = np.delete(np.arange(self.rows), own)
        partners = np.append(others, own) if self.inserted[error] else others
        edges, counts = self._edges(self.rows + error, partners)
        before, often = self._edges(own, others) if self.broken.any() else (edges[:0], counts[:0])
        for n, members in zip(self.number.tolist(), self.sets, strict=True):
            pairs = counts[~(edges & members).any(axis=1)].sum()
            if pairs and (not self.broken[n] or pairs > often[~(before & members).any(axis=1)].sum()):
                return n
        return None


def CASES(options: Options) -> list[Comparison]:
    """The tables at hand, those for tuning first."""
    tables = [*documented.names(tuned=True), *documented.names(tuned=False)]
    return [Comparison(name, Contender("rowlaw", f"{__name__}:Read", {"table": name})) for name in tables]
