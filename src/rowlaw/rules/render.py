"""A rule as an SQL query for the rows that break it. (``str(rule)`` is its text, ``english(rule)`` a sentence.)

>>> from rowlaw.rules.parse import parse
>>> print(sql(parse("key (zip)"), "people", row_id="id", dialect="duckdb"))
WITH rowlaw_rows AS MATERIALIZED (
  SELECT "id" AS rowlaw_row, "zip" AS "zip" FROM "people"
)
SELECT s.rowlaw_row AS s_row, t.rowlaw_row AS t_row, s."zip" AS "s.zip", t."zip" AS "t.zip"
FROM rowlaw_rows s JOIN rowlaw_rows t
ON s.rowlaw_row <> t.rowlaw_row AND s."zip" = t."zip"

The query gives every violating ordered pair of different rows once (every row, for a rule about one row). A rule with
several denials is a ``UNION ALL``: they are disjoint. It is for reading, for other systems and for tests; rowlaw itself
never runs it, since a join of all pairs is quadratic where FACET's refinement is not.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Collection, Iterable, Sequence
from decimal import Decimal
from typing import Literal, TypeAlias, get_args

from rowlaw.errors import RowlawError
from rowlaw.rules.conditions import Condition, IsNull, Matches, OneOf, Range
from rowlaw.rules.model import (
    Column,
    Constant,
    Denial,
    Nulls,
    Op,
    Operand,
    Predicate,
    Rule,
)
from rowlaw.rules.patterns import portable

Dialect: TypeAlias = Literal["spark", "duckdb", "ansi"]


def sql(
    rule: Rule,
    table: str | Sequence[str],
    *,
    row_id: str | Sequence[str] | None = None,
    nulls: Nulls = "unknown",
    dialect: Dialect = "spark",
    floats: Collection[str] = frozenset(),
    origin: str | None = None,
) -> str:
    """A query for all violations: ``s_row``, ``t_row`` and the compared values as ``s.column`` and ``t.column``.

    Text compares by code point in Spark and DuckDB; elsewhere the database's collation decides.

    Parameters
    ----------
    table
        Its name; dots separate catalog and schema. A sequence gives the parts as they are.
    row_id
        A column that tells rows apart and has no nulls, or several that do together: then ``s_row.column`` takes the
        place of ``s_row``. Without one, rows are numbered by the query.
    floats
        Columns of floats: their NaN counts as null. In standard SQL it is recognised by how it prints.
    origin
        What stands after FROM, as it is, instead of the table's quoted name: a template of another tool.
    """
    _check_options(nulls, dialect)
    name = _quoting(dialect)
    parts = table.split(".") if isinstance(table, str) else list(table)
    rows, row = _unused("rowlaw_rows", parts), _unused("rowlaw_row", rule.columns)
    ids = _row_ids(row_id, row, rule, dialect)
    arity = max((d.arity for d in rule.denials), default=2)

    def column(c: str) -> str:
        return f"{_value(c, name, dialect, floats)} AS {name(c)}"

    def operand(o: Operand) -> str:
        return f"{o.row}.{name(o.name)}" if isinstance(o, Column) else _literal(_constant(o), dialect)

    def select(denial: Denial | None) -> str:
        conditions = [_condition(p, operand, nulls, dialect) for p in denial.predicates] if denial else ["1 = 0"]
        if arity == 1:
            return f"SELECT {shown}\nFROM {rows} s\nWHERE {' AND '.join(conditions)}"
        return f"SELECT {shown}\nFROM {rows} s JOIN {rows} t\nON {' AND '.join([other, *conditions])}"

    values = [f"{operand(o)} AS {name(f'{o.row}.{o.name}')}" for o in _compared(rule)]
    shown = ", ".join(
        [
            *(
                f"{r}.{own} AS {name(f'{r}_row.{shown_as}') if shown_as else f'{r}_row'}"
                for r in ("s", "t")[:arity]
                for own, _, shown_as in ids
            ),
            *values,
        ]
    )
    differ = [f"s.{own} <> t.{own}" for own, _, _ in ids]
    other = differ[0] if len(ids) == 1 else f"({' OR '.join(differ)})"
    # Both sides of the join must see the same numbers: Spark never inlines a nondeterministic CTE, DuckDB needs
    # the word MATERIALIZED.
    body = ", ".join([*(f"{counter} AS {own}" for own, counter, _ in ids), *map(column, rule.columns)])
    once = " MATERIALIZED" if dialect == "duckdb" else ""
    source = origin if origin is not None else ".".join(map(name, parts))
    head = f"WITH {rows} AS{once} (\n  SELECT {body} FROM {source}\n)\n"  # noqa: S608 - every name is quoted above
    return head + "\nUNION ALL\n".join(map(select, rule.denials or (None,)))


def _row_ids(row_id: str | Sequence[str] | None, row: str, rule: Rule, dialect: Dialect) -> list[tuple[str, str, str]]:
    """What tells rows apart in a query: for each column its name in the query, what it is made of, and how it is shown
    ("": as the row)."""
    columns = [row_id] if isinstance(row_id, str) else list(row_id or ())
    name = _quoting(dialect)
    if len(columns) > 1:
        return [(_unused(f"{row}_{i}", rule.columns), name(column), column) for i, column in enumerate(columns, 1)]
    number = "monotonically_increasing_id()" if dialect == "spark" else "row_number() OVER ()"
    return [(row, name(columns[0]) if columns else number, "")]


def sql_condition(
    denial: Denial, *, nulls: Nulls = "unknown", dialect: Dialect = "spark", floats: Collection[str] = frozenset()
) -> str:
    """What is true of a row that breaks a rule about single rows, for a ``WHERE`` or, negated, a ``CHECK``.

    >>> from rowlaw.rules.parse import parse
    >>> sql_condition(parse("not (s.low > s.high and s.low != 0)"), dialect="ansi")
    '"high" < "low" AND "low" <> 0'
    """
    _check_options(nulls, dialect)
    name = _quoting(dialect)

    def operand(o: Operand) -> str:
        return _value(o.name, name, dialect, floats) if isinstance(o, Column) else _literal(_constant(o), dialect)

    return " AND ".join(_condition(p, operand, nulls, dialect) for p in denial.predicates)


def _check_options(nulls: Nulls, dialect: Dialect) -> None:
    for option, value, known in (("nulls", nulls, get_args(Nulls)), ("dialect", dialect, get_args(Dialect))):
        if value not in known:
            raise RowlawError("BAD_OPTION", option=option, value=value, problem=f"expected one of {', '.join(known)}")


def _quoting(dialect: Dialect) -> Callable[[str], str]:
    return _backticked if dialect == "spark" else _double_quoted


def sql_value(column: str, dialect: Dialect, floats: Collection[str] = frozenset()) -> str:
    """A column whose NaN, if it may have one, is null."""
    return _value(column, _quoting(dialect), dialect, floats)


def _value(column: str, name: Callable[[str], str], dialect: Dialect, floats: Collection[str]) -> str:
    """A column whose NaN, if it may have one, is null."""
    if column not in floats:
        return name(column)
    nan = f"CAST({name(column)} AS VARCHAR(32)) IN ('NaN', 'nan')" if dialect == "ansi" else f"isnan({name(column)})"
    return f"CASE WHEN {nan} THEN NULL ELSE {name(column)} END"


def _compared(rule: Rule) -> list[Column]:
    """The columns of either row that the rule compares, each once, in the order of the rule."""
    columns = (o for d in rule.denials for p in d.predicates for o in (p.left, p.right) if isinstance(o, Column))
    return list(dict.fromkeys(columns))


def _condition(p: Predicate, operand: Callable[[Operand], str], nulls: Nulls, dialect: Dialect) -> str:
    if isinstance(p.right, Condition):
        return _of_one_value(operand(p.left), p.op == Op.NE, p.right, nulls, dialect)
    a, b = operand(p.left), operand(p.right)
    symbol = "<>" if p.op == Op.NE else p.op.symbol
    plain = f"{a} {symbol} {b}"
    if nulls == "unknown":
        return plain
    if isinstance(p.right, Constant):  # never null itself, and above every null
        return f"({plain} OR {a} IS NULL)" if p.op in (Op.LT, Op.LE, Op.NE) else plain
    same = f"{a} <=> {b}" if dialect == "spark" else f"{a} IS NOT DISTINCT FROM {b}"
    differ = f"NOT ({a} <=> {b})" if dialect == "spark" else f"{a} IS DISTINCT FROM {b}"
    return {
        Op.EQ: same,
        Op.NE: differ,
        Op.LT: f"({plain} OR ({a} IS NULL AND {b} IS NOT NULL))",
        Op.LE: f"({plain} OR {a} IS NULL)",
        Op.GT: f"({plain} OR ({b} IS NULL AND {a} IS NOT NULL))",
        Op.GE: f"({plain} OR {b} IS NULL)",
    }[p.op]


def _of_one_value(value: str, negated: bool, condition: Condition, nulls: Nulls, dialect: Dialect) -> str:
    """A condition on one value; where null is a value, it meets no condition but ``is null``."""
    no = "NOT " if negated else ""
    match condition:
        case IsNull():
            return f"{value} IS {no}NULL"
        case OneOf(values):
            plain = f"{value} {no}IN ({', '.join(_literal(v, dialect) for v in values)})"
        case Range(low, high):
            plain = f"{value} {no}BETWEEN {_literal(low, dialect)} AND {_literal(high, dialect)}"
        case Matches(pattern):
            plain = no + _matching(value, portable(pattern), dialect)
        case _:
            raise TypeError(condition)
    if negated and nulls == "equal":
        return f"({plain} OR {value} IS NULL)"
    return f"({plain})" if isinstance(condition, Range) else plain  # its AND would be read as ours


def _matching(value: str, pattern: str, dialect: Dialect) -> str:
    """A call that is true where a pattern describes a whole text."""
    match dialect:
        case "spark":
            # $ would let a last newline pass
            return f"regexp_like({value}, {_text(f'^(?:{pattern})' + chr(92) + 'z', dialect)})"
        case "duckdb":
            return f"regexp_full_match({value}, {_text(pattern, dialect)})"
    return f"REGEXP_LIKE({value}, {_text(f'^({pattern})$', dialect)})"


def _constant(operand: Operand) -> Constant:
    assert isinstance(operand, Constant)  # conditions are written by themselves
    return operand


def _literal(constant: Constant, dialect: Dialect) -> str:
    value = constant.value
    if isinstance(value, str):
        return _text(value, dialect)
    if isinstance(value, bool | dt.date):
        return str(constant).upper()  # true, date '...' and timestamp '...' are SQL already; digits have no case
    plain = f"{Decimal(value):f}"
    return plain if len(plain) <= 38 else f"{Decimal(value):E}"  # 38 digits: the widest decimal of all three


def _text(value: str, dialect: Dialect) -> str:
    if dialect != "spark":
        return "'" + value.replace("'", "''") + "'"
    # Spark reads backslashes in literals, and replaces ${...} anywhere in a statement before it parses it.
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'").replace("${", "\\u0024{") + "'"


def _backticked(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _double_quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _unused(name: str, taken: Iterable[str]) -> str:
    folded = {t.casefold() for t in taken}
    while name in folded:
        name += "_"
    return name
