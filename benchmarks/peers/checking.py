"""Peers that count the violations of rules, as cases: the table is loaded beforehand, only counting is timed.

They count pairs and no more; rowlaw, set against them, also counts for every row the pairs it takes part in.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from benchmarks.case import Case
from benchmarks.tables import by_name

How = Literal["join", "group"]


class DuckDB(Case):
    """Counts in DuckDB with the columns of the rules in memory, each rule by a self-join or, for keys and fds, by
    ``GROUP BY``."""

    def __init__(self, table: str, rows: int, rules: Sequence[str], how: How) -> None:
        self.table, self.rows, self.texts, self.how = table, rows, rules, how

    def prepare(self) -> None:
        from benchmarks.peers import duckdb_sql
        from rowlaw.rules import parse

        self.sql = duckdb_sql
        self.rules = {text: parse(text) for text in self.texts}
        self.connection = self._load()

    def run(self) -> dict[str, int]:
        pairs = self.sql.group_pairs if self.how == "group" else self.sql.join_pairs
        return {text: pairs(self.connection, rule) for text, rule in self.rules.items()}

    def close(self) -> None:
        self.connection.close()

    def _load(self) -> Any:
        columns = sorted({column for rule in self.rules.values() for column in rule.columns})
        return self.sql.load(by_name.path(self.table, self.rows), only=columns)


class DuckDBFromFile(DuckDB):
    """The same with loading in the time."""

    def run(self) -> dict[str, int]:
        self.connection.close()
        self.connection = self._load()
        return super().run()


class Desbordante(Case):
    """Desbordante's verifier on one rule; it collects unordered pairs, from which ordered ones are counted."""

    def __init__(self, table: str, rows: int, rules: Sequence[str]) -> None:
        self.table, self.rows = table, rows
        (self.text,) = rules

    def prepare(self) -> None:
        import pyarrow.parquet as pq

        from benchmarks.peers import desbordante_tools, duckdb_sql
        from rowlaw.rules import parse

        (denial,) = parse(self.text).denials
        self.tools, self.predicates = desbordante_tools, duckdb_sql.predicates(denial)
        frame = pq.read_table(by_name.path(self.table, self.rows), columns=list(denial.columns)).to_pandas()
        self.loaded = self.tools.load("verify", frame)

    def run(self) -> dict[str, int]:
        return {self.text: self.tools.count_pairs(self.loaded, self.predicates)}
