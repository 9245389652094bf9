"""Counting violations in DuckDB: by a self-join for any rule, by ``GROUP BY`` for keys and functional dependencies.

A predicate is ``("s.zip", "=", "t.zip")``, as in rowlaw's JSON output; an operand that does not begin with ``s.`` or
``t.`` is SQL text. Counts are of ordered pairs of different rows. DuckDB compares strings by their UTF-8 bytes, which
is the order of code points. Its inequality join (IEJoin) is used only when there is no equality: with one, two
inequalities cost time quadratic in the group.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

import duckdb
import pyarrow as pa

from rowlaw.rules.model import Constant, Denial, FunctionalDependency, Key, Rule

Predicate = tuple[str, str, str]
Nulls = Literal["unknown", "equal"]
THREADS = 2
TABLE = "facts"


def load(
    source: Path | pa.Table,
    threads: int = THREADS,
    order: Sequence[str] | None = None,
    only: Sequence[str] | None = None,
) -> duckdb.DuckDBPyConnection:
    """A connection with the table in memory, rows numbered from 0 in their order (``rowid``), NaN made null.

    ``source`` is a Parquet or CSV file or an Arrow table. ``order``: columns to sort by first; ``only``: columns to
    load.
    """
    connection = duckdb.connect(config={"threads": threads})
    if isinstance(source, Path):
        reader = "read_parquet" if source.suffix == ".parquet" else "read_csv"
        name = f"{reader}('{str(source).replace(chr(39), chr(39) * 2)}')"
    else:
        connection.register("given", source)
        name = "given"
    types = connection.execute(f"DESCRIBE SELECT * FROM {name}").fetchall()
    columns = ", ".join(
        f"CASE WHEN isnan({quote(column)}) THEN NULL ELSE {quote(column)} END AS {quote(column)}"
        if kind in ("FLOAT", "DOUBLE")
        else quote(column)
        for column, kind, *_ in types
        if only is None or column in only
    )
    ordered = f" ORDER BY {', '.join(map(quote, order))}" if order else ""
    connection.execute(f"CREATE TABLE {TABLE} AS SELECT {columns} FROM {name}{ordered}")
    return connection


def group_pairs(connection: duckdb.DuckDBPyConnection, rule: Rule, nulls: Nulls = "unknown") -> int:
    """Violating pairs of a key or a functional dependency, by ``GROUP BY``."""
    match rule:
        case Key():
            return key_pairs(connection, rule.columns, nulls)
        case FunctionalDependency():
            return fd_pairs(connection, rule.left, rule.right, nulls)
    raise ValueError(f"{rule} is neither a key nor a functional dependency")


def join_pairs(connection: duckdb.DuckDBPyConnection, rule: Rule, nulls: Nulls = "unknown") -> int:
    """Violating pairs of any rule between two rows, by self-joins."""
    return sum(denial_pairs(connection, predicates(denial), nulls) for denial in rule.denials)


def predicates(denial: Denial) -> list[Predicate]:
    """The predicates of a denial constraint between columns of two rows.

    >>> from rowlaw.rules import parse
    >>> predicates(parse("fd (zip) -> city").denials[0])
    [('s.zip', '=', 't.zip'), ('s.city', '!=', 't.city')]
    """
    found = []
    for predicate in denial.predicates:
        left, right = predicate.left, predicate.right
        if isinstance(right, Constant):
            raise TypeError(f"{predicate} compares with a literal")
        found.append((f"{left.row}.{left.name}", predicate.op.symbol, f"{right.row}.{right.name}"))
    return found


def key_pairs(connection: duckdb.DuckDBPyConnection, columns: Iterable[str], nulls: Nulls = "unknown") -> int:
    """Pairs that agree on all columns, from the sizes of groups."""
    names = list(columns)
    listed = ", ".join(map(quote, names))
    return _number(
        connection,
        "SELECT coalesce(sum(n * (n - 1)), 0) FROM (SELECT count(*)::HUGEINT AS n FROM "
        f"{TABLE}{_present(names, nulls)} GROUP BY {listed})",
    )


def fd_pairs(connection: duckdb.DuckDBPyConnection, left: Iterable[str], right: str, nulls: Nulls = "unknown") -> int:
    """Pairs that agree on the left and differ on the right: pairs of the group less pairs with one value."""
    names = list(left)
    listed = "".join(f"{quote(name)}, " for name in names)
    grouped = f" GROUP BY {listed.rstrip(', ')}" if names else ""
    return _number(
        connection,
        f"SELECT coalesce(sum(n * n - same), 0) FROM (SELECT sum(m) AS n, sum(m * m) AS same FROM ("
        f"SELECT {listed}count(*)::HUGEINT AS m FROM {TABLE}{_present([*names, right], nulls)} GROUP BY "
        f"{listed}{quote(right)}){grouped})",
    )


def denial_sql(predicates: Iterable[Predicate], nulls: Nulls = "unknown", select: str = "count(*)") -> str:
    """The self-join whose rows are the violations of ``not (predicates)``."""
    conditions = " AND ".join(_condition(*predicate, nulls) for predicate in predicates)
    return f"SELECT {select} FROM {TABLE} AS s, {TABLE} AS t WHERE s.rowid <> t.rowid AND {conditions}"


def denial_pairs(
    connection: duckdb.DuckDBPyConnection, predicates: Iterable[Predicate], nulls: Nulls = "unknown"
) -> int:
    """Violating ordered pairs of any rule, by a self-join."""
    return _number(connection, denial_sql(predicates, nulls))


def denial_set(
    connection: duckdb.DuckDBPyConnection, predicates: Iterable[Predicate], nulls: Nulls = "unknown"
) -> set[tuple[int, int]]:
    """The violating ordered pairs themselves; for small tables."""
    return {(s, t) for s, t in connection.execute(denial_sql(predicates, nulls, "s.rowid, t.rowid")).fetchall()}


def unordered_pairs(
    connection: duckdb.DuckDBPyConnection, predicates: Iterable[Predicate], nulls: Nulls = "unknown"
) -> int:
    """Pairs that violate a rule in one order or the other, each once: what Desbordante's verifier reports."""
    inner = denial_sql(predicates, nulls, "least(s.rowid, t.rowid) AS a, greatest(s.rowid, t.rowid) AS b")
    return _number(connection, f"SELECT count(*) FROM (SELECT DISTINCT a, b FROM ({inner}))")


def quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _operand(text: str) -> str:
    return f"{text[0]}.{quote(text[2:])}" if text[:2] in ("s.", "t.") else text


def _condition(left: str, op: str, right: str, nulls: Nulls) -> str:
    a, b = _operand(left), _operand(right)
    if nulls == "unknown":
        return f"{a} {'<>' if op == '!=' else op} {b}"
    # null equals null and sorts before everything
    return {
        "=": f"{a} IS NOT DISTINCT FROM {b}",
        "!=": f"{a} IS DISTINCT FROM {b}",
        "<": f"({a} < {b} OR ({a} IS NULL AND {b} IS NOT NULL))",
        "<=": f"({a} <= {b} OR {a} IS NULL)",
        ">": f"({a} > {b} OR ({a} IS NOT NULL AND {b} IS NULL))",
        ">=": f"({a} >= {b} OR {b} IS NULL)",
    }[op]


def _present(columns: Iterable[str], nulls: Nulls) -> str:
    """Rows that can take part: under ``unknown`` a null never does."""
    return "" if nulls == "equal" else " WHERE " + " AND ".join(f"{quote(name)} IS NOT NULL" for name in columns)


def _number(connection: duckdb.DuckDBPyConnection, query: str) -> int:
    row = connection.execute(query).fetchone()
    return int(row[0]) if row else 0
