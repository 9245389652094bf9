"""Hypothesis strategies: small nasty tables, and predicates and rules over them.

    @given(st.data())
    def test(data):
        table = data.draw(tables(max_rows=8))
        rule = data.draw(rules(table))
        assert count(to_arrow(table), rule) == naive.count(rule, table.values, "unknown")

Columns draw from few values that all columns of a table share, so that ties, duplicates and cross-column matches
abound.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal, TypeAlias, get_args

import pyarrow as pa
from hypothesis import strategies as st

from rowlaw.rules.conditions import Condition, IsNull, Matches, OneOf, Range
from rowlaw.rules.model import (
    Column,
    Constant,
    Denial,
    FunctionalDependency,
    Key,
    Nulls,
    Op,
    OrderCompatible,
    OrderDependency,
    Predicate,
    Rule,
    SortColumn,
    Value,
)
from tests.naive import TypeClass, is_null

Physical: TypeAlias = Literal["integer", "text", "float", "boolean", "date", "decimal", "timestamp"]

PHYSICAL: tuple[Physical, ...] = get_args(Physical)
CLASSES: tuple[TypeClass, ...] = get_args(TypeClass)
CLASS_OF: dict[Physical, TypeClass] = {
    "integer": "number",
    "float": "number",
    "decimal": "number",
    "text": "text",
    "boolean": "boolean",
    "date": "date",
    "timestamp": "timestamp",
}
ARROW: dict[Physical, pa.DataType] = {
    "integer": pa.int64(),
    "float": pa.float64(),
    "decimal": pa.decimal128(38, 10),
    "text": pa.string(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
}

# The first values are the tame ones, towards which examples shrink.
VALUES: dict[Physical, list[Any]] = {
    "integer": [0, 1, 2, 3, -1, 10, 2**31, 2**53, 2**53 + 1, 2**63 - 1, -(2**63)],
    "float": [0.0, 1.0, 2.0, 0.5, -0.0, -1.0, 0.1, 2.0**53, 1e308, -1e308, 5e-324, math.inf, -math.inf, math.nan],
    "decimal": [
        Decimal(v)
        for v in ("0", "1", "2", "0.5", "-1", "0.1", "1.0", "1E-10", "9007199254740993", "9" * 28, "-" + "9" * 28)
    ],
    "text": [
        *"abA",
        "",
        " ",
        "a ",
        "1",
        "01",
        "1.0",
        "null",
        "NULL",
        "NaN",
        "true",
        "é",
        "e\u0301",
        "\uffff",
        "\U00010000",
        "😀",
        "a\x00",
        "a\nb",
        "'",
    ],
    "boolean": [False, True],
    "date": [
        dt.date(2020, 1, 1),
        dt.date(2020, 1, 2),
        dt.date(1970, 1, 1),
        dt.date(1582, 10, 10),
        dt.date.min,
        dt.date.max,
    ],
    "timestamp": [
        dt.datetime(2020, 1, 1),
        dt.datetime(2020, 1, 1, 0, 0, 0, 1),
        dt.datetime(2020, 3, 29, 2, 30),  # an hour that many time zones skip
        dt.datetime(1969, 12, 31, 23, 59, 59, 999_999),
        dt.datetime.min,
        dt.datetime.max,
    ],
}

NASTY_NAMES = [
    *(
        "1",
        "a b",
        " ",
        " a",
        "a.b",
        "s.a",
        "t",
        "s",
        "a`b",
        "``",
        'a"b',
        "a'b",
        "a\\b",
        "a,b",
        "(a)",
        "a;--",
        "a=b",
        "%s",
        "{0}",
        "$x",
    ),
    *("not", "AND", "Key", "fd", "desc", "date", "select", "null", "__row", "count", "é", "e\u0301", "ﬁ", "漢字", "😀"),
    *("tab\there", "two\nlines", "long" * 20),
]
# repeated: how often
SHAPES = [*["no nulls"] * 4, *["mixed"] * 4, "nearly a copy", "nearly a copy", "one value", "all null"]


@dataclass(frozen=True)
class Table:
    """A small table: its values, the type class of each column, and how each is stored."""

    values: dict[str, list[Any]]
    types: dict[str, TypeClass]
    physical: dict[str, Physical]

    @property
    def columns(self) -> list[str]:
        return list(self.values)

    @property
    def rows(self) -> int:
        return max((len(v) for v in self.values.values()), default=0)

    def take(self, rows: Sequence[int]) -> Table:
        """The table of the given rows, in that order."""
        return Table({name: [v[r] for r in rows] for name, v in self.values.items()}, self.types, self.physical)


def nulls() -> st.SearchStrategy[Nulls]:
    return st.sampled_from(get_args(Nulls))


def column_names() -> st.SearchStrategy[str]:
    """A column name: plain, well known for trouble, or random trouble. Never empty."""
    plain = st.sampled_from("abcdefgh")
    random = st.text(alphabet="abAB01 ._-`'\"\\/éß漢😀", min_size=1, max_size=4)
    return st.one_of(plain, plain, st.sampled_from(NASTY_NAMES), random)


def name_lists(min_size: int = 1, max_size: int = 5) -> st.SearchStrategy[list[str]]:
    """Names of one table: no two are equal when case is ignored, as Spark does by default."""
    return st.lists(column_names(), min_size=min_size, max_size=max_size, unique_by=str.casefold)


def values(physical: Physical) -> st.SearchStrategy[Any]:
    """A value that is not None (it may be NaN), mostly a well-chosen one."""
    wild: dict[Physical, st.SearchStrategy[Any]] = {
        "integer": st.integers(-(2**63), 2**63 - 1),
        "float": st.floats(),
        "decimal": st.integers(-(10**38) + 1, 10**38 - 1).map(
            lambda i: Decimal((int(i < 0), Decimal(abs(i)).as_tuple().digits, -10))
        ),
        "text": st.text(alphabet=st.characters(codec="utf-8"), max_size=3),
        "boolean": st.booleans(),
        "date": st.dates(),
        "timestamp": st.datetimes().map(lambda moment: moment.replace(fold=0)),
    }
    chosen = st.sampled_from(VALUES[physical])
    return st.one_of(chosen, chosen, chosen, wild[physical])


def _pools(physical: Physical) -> st.SearchStrategy[list[Any]]:
    """The few values that the columns of one table share. Different in print: 0.0 and -0.0 may both be there."""
    if physical == "boolean":
        return st.just(VALUES["boolean"])
    return st.lists(values(physical), min_size=2, max_size=5, unique_by=repr)


def physical_types(types: Sequence[str]) -> list[Physical]:
    """The storage types that the names stand for: a class stands for all its members."""
    return [p for p in PHYSICAL if p in types or CLASS_OF[p] in types]


@st.composite
def tables(
    draw: st.DrawFn,
    min_rows: int = 0,
    max_rows: int = 12,
    max_columns: int = 5,
    types: Sequence[str] = PHYSICAL,
    *,
    min_columns: int = 1,
    null_values: bool = True,
) -> Table:
    """A small table with ties, duplicate rows, nulls, extremes and odd names.

    `types` may name type classes (``"number"``) and storage types (``"decimal"``). Without `null_values` there is no
    None and no NaN.
    """
    names = draw(name_lists(min_columns, max_columns))
    n = draw(st.integers(min_rows, max_rows))
    physical = {name: draw(st.sampled_from(physical_types(types))) for name in names}
    pools = {p: draw(_pools(p)) for p in sorted(set(physical.values()))}
    # Numbers meet across their types: 1, 1.0 and 1.00 are one value, 2**53 + 1 and its float are two.
    for p, convert in (("float", float), ("decimal", Decimal)):
        if p in pools and "integer" in pools:
            pools[p] = [*pools[p], *(convert(v) for v in pools["integer"][:2])]
    columns: dict[str, list[Any]] = {}
    for name in names:
        pool = [v for v in pools[physical[name]] if null_values or not is_null(v)] or [VALUES[physical[name]][0]]
        some_null = [*pool, None] if null_values else pool
        shape = draw(st.sampled_from(SHAPES if null_values else SHAPES[:-1]))
        earlier = [c for c in columns if physical[c] == physical[name]]
        if shape == "all null":
            columns[name] = [None] * n
        elif shape == "one value":
            columns[name] = [draw(st.sampled_from(pool))] * n
        elif shape == "nearly a copy" and earlier and n:
            columns[name] = list(columns[draw(st.sampled_from(earlier))])
            columns[name][draw(st.integers(0, n - 1))] = draw(st.sampled_from(some_null))
        else:
            columns[name] = draw(
                st.lists(st.sampled_from(some_null if shape == "mixed" else pool), min_size=n, max_size=n)
            )
    table = Table(columns, {name: CLASS_OF[p] for name, p in physical.items()}, physical)
    if n and draw(st.booleans()):  # duplicate rows
        table = table.take(draw(st.lists(st.integers(0, n - 1), min_size=n, max_size=n)))
    return table


def to_arrow(table: Table) -> pa.Table:
    """The table in Arrow, in one chunk; NaN stays NaN, None becomes null."""
    fields = [pa.field(name, ARROW[table.physical[name]]) for name in table.columns]
    arrays = [pa.array(table.values[f.name], type=f.type, from_pandas=False) for f in fields]
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def literals(table: Table, column: str) -> st.SearchStrategy[Value]:
    """A literal that may be compared with the column: a value of the column, or another one of its class. Never NaN or
    infinite."""
    kinds = [p for p in PHYSICAL if CLASS_OF[p] == table.types[column]]
    known = [v for values in (table.values[column], *(VALUES[p] for p in kinds)) for v in values]
    return st.sampled_from([v for v in known if not is_null(v) and not (isinstance(v, float) and math.isinf(v))])


PATTERNS = [
    *(
        "a",
        "[ab]",
        "[^a]",
        ".",
        ".*",
        "a?b?",
        r"\d+",
        r"\w*",
        r"\s",
        r"\S+",
        r"\d{1,2}(\.\d)?",
        "(a|b|A)?",
        "(?:a|ab)(b|)",
        "é|e.",
        "[à-ÿ]",
    ),
    *(
        "",
        "a.",
        r"a\nb",
        r"[^\d\s]*",
        "(a*)*b?",
        r"'",
        r"[\]\-x]",
        "[a-]",
        "null|NULL|NaN",
        "x{0}a",
        "^a$",
        ".{3,}",
        ".{0,1}",
    ),
]


@st.composite
def conditions(draw: st.DrawFn, table: Table, column: str) -> Condition:
    """Any condition on a column."""
    kinds = ["null", "list", "range", *(["pattern"] if table.types[column] == "text" else [])]
    kind = draw(st.sampled_from(kinds))
    if kind == "null":
        return IsNull()
    if kind == "pattern":
        return Matches(draw(st.sampled_from(PATTERNS)))
    literal = literals(table, column).map(Constant)
    if kind == "list":
        return OneOf(tuple(draw(st.lists(literal, min_size=1, max_size=3))))
    return Range(*sorted((draw(literal), draw(literal)), key=lambda c: c.value))


@st.composite
def predicates(
    draw: st.DrawFn,
    table: Table,
    *,
    single_row: bool = True,
    literal: bool = True,
    operators: Sequence[Op] = tuple(Op),
    condition: bool = False,
) -> Predicate:
    """Any predicate over the table: one column of two rows, two columns, two columns of one row, a column and a literal
    or a condition."""
    a = draw(st.sampled_from(table.columns))
    op = draw(st.sampled_from(list(operators)))
    others = [c for c in table.columns if c != a and table.types[c] == table.types[a]]
    shapes = [
        "same",
        *(["cross", "cross"] if others else []),
        *(["row"] if others and single_row else []),
        *(["literal"] if literal else []),
        *(["condition", "condition"] if condition else []),
    ]
    shape = draw(st.sampled_from(shapes))
    if shape == "same":
        return Predicate(Column("s", a), op, Column("t", a))
    row: Literal["s", "t"] = draw(st.sampled_from(["s", "t"]))
    if shape == "condition":
        return Predicate(Column(row, a), draw(st.sampled_from([Op.EQ, Op.NE])), draw(conditions(table, a)))
    if shape == "literal":
        return Predicate(Column(row, a), op, Constant(draw(literals(table, a))))
    b = draw(st.sampled_from(others))
    if shape == "row":
        return Predicate(Column(row, a), op, Column(row, b))
    return Predicate(Column("s", a), op, Column("t", b))


@st.composite
def denials(
    draw: st.DrawFn,
    table: Table,
    max_predicates: int = 5,
    *,
    single_row: bool = True,
    literal: bool = True,
    operators: Sequence[Op] = tuple(Op),
    condition: bool = False,
) -> Denial:
    """Any denial constraint over the table; it may be about one row, and it may be trivial."""
    some = predicates(table, single_row=single_row, literal=literal, operators=operators, condition=condition)
    return Denial(tuple(draw(st.lists(some, min_size=1, max_size=max_predicates))))


def keys(table: Table) -> st.SearchStrategy[Key]:
    return _column_lists(table.columns, 1).map(lambda c: Key(tuple(c)))


@st.composite
def functional_dependencies(draw: st.DrawFn, table: Table) -> FunctionalDependency:
    right = draw(st.sampled_from(table.columns))
    return FunctionalDependency(tuple(draw(_column_lists([c for c in table.columns if c != right]))), right)


@st.composite
def order_compatibles(draw: st.DrawFn, table: Table) -> OrderCompatible:
    """Needs a table of at least two columns."""
    left, right, *others = draw(st.permutations(table.columns))
    return OrderCompatible(tuple(draw(_column_lists(others))), left, right, draw(st.booleans()))


def order_dependencies(table: Table) -> st.SearchStrategy[OrderDependency]:
    """Lexicographic ones; a column may occur on both sides, and twice on one."""
    column = st.builds(SortColumn, st.sampled_from(table.columns), st.booleans())
    side = st.lists(column, max_size=3).map(tuple)
    return st.builds(OrderDependency, side, st.lists(column, min_size=1, max_size=3).map(tuple))


def rules(table: Table) -> st.SearchStrategy[Rule]:
    """A rule of any kind over the table."""
    kinds: list[st.SearchStrategy[Any]] = [
        denials(table, condition=True),
        keys(table),
        functional_dependencies(table),
        order_dependencies(table),
    ]
    if len(table.columns) > 1:
        kinds.append(order_compatibles(table))
    return st.one_of(kinds)


def _column_lists(columns: Sequence[str], min_size: int = 0) -> st.SearchStrategy[list[str]]:
    if not columns:
        return st.just([])
    return st.lists(st.sampled_from(list(columns)), min_size=min_size, max_size=3, unique=True)


def restrict(table: Table, columns: Sequence[str]) -> Table:
    """The table of the given columns."""

    def pick(of: Mapping[str, Any]) -> dict[str, Any]:
        return {c: of[c] for c in columns}

    return Table(pick(table.values), pick(table.types), pick(table.physical))
