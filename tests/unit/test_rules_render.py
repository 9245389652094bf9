"""English and SQL. The SQL runs on DuckDB and is compared with the obvious double loop."""

import datetime as dt
import itertools
import math
import operator

import duckdb
import pytest

from rowlaw.errors import RowlawError
from rowlaw.rules import Column, Constant, Denial, Key, Op, OrderDependency, Predicate, SortColumn, english, parse, sql


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("key (phone)", "No two rows share the same phone."),
        ("key (a, b, `c d`)", "No two rows share the same a, b and `c d`."),
        ("fd () -> city", "All rows have the same city."),
        ("fd (zip, street) -> city", "Rows with the same zip and street have the same city."),
        ("od {}: a ~ b", "Rows with a higher a never have a lower b."),
        ("od {c}: a ~ b desc", "Among rows with the same c, rows with a higher a never have a higher b."),
        (
            "od [year, week desc] -> [q]",
            "Rows sorted by year, then week (descending) are also sorted by q, in whatever order ties fall.",
        ),
        ("od [] -> [q, r]", "All rows have the same q and r."),
        ("not (s.a != t.a)", "There are no two rows with a different a."),
        ("not (s.a <= t.a)", "There are no two rows where the first has the same or a lower a."),
        ("not (s.a >= t.a)", "There are no two rows where the first has the same or a higher a."),
        (
            "not (s.a < t.b and s.c = t.c)",
            "There are no two rows with the same c where a of the first is lower than b of the second.",
        ),
        (
            "not (s.a < s.b and t.a != 5)",
            (
                "There are no two rows where a of the first is lower than b of the first and a of the second differs "
                "from 5."
            ),
        ),
        ("not (s.a > s.b)", "There is no row where a is higher than b."),
        ("not (s.a <= 0 and s.b = 'x''y')", "There is no row where a is at most 0 and b equals 'x''y'."),
        ("not (s.d >= date '2020-01-31')", "d is always before 2020-01-31."),
        ("not (s.d = timestamp '2020-01-31 12:00')", "d is never 2020-01-31 12:00:00."),
        ("not (s.1 = true)", "1 is never true."),
        ("s.seats > 10", "seats are always more than 10."),
        ("s.price >= 0", "price is always at least 0."),
        ("s.price < 99.5", "price is always less than 99.5."),
        ("s.code <= 'M'", "code is always at or before 'M'."),
        ("s.state = 'NY'", "state is always 'NY'."),
        ("s.low <= s.high", "There is no row where low is higher than high."),
        (
            "not (s.tax > s.price and s.tax = t.tax)",
            "There are no two rows with the same tax where tax of the first is higher than price of the first.",
        ),
        ("od {}: seats ~ year", "Rows with more seats never have an earlier year."),
        ("od {}: year ~ seats desc", "Rows with a later year never have more seats."),
        ("od {}: status ~ address", "Rows with a higher status never have a lower address."),
        (
            "not (s.zip = t.zip and s.city != t.city and s.seats < t.seats and s.rate >= t.rate and s.a is null)",
            (
                "There are no two rows with the same zip but a different city where the first has fewer seats "
                "and the same or a higher "
                "rate, and a of the first is null."
            ),
        ),
        ("not (s.a is null)", "a is never null."),
        ("not (s.seats is not null)", "seats are always null."),
        ("s.state in ('NY', 'NJ', 'CT')", "state is always 'NY', 'NJ' or 'CT'."),
        ("not (s.state in ('XX'))", "state is never 'XX'."),
        ("s.price between 0 and 99.5", "price is always between 0 and 99.5."),
        (r"s.zip matches '\d{5}'", r"zip always matches '\d{5}'."),
        (
            r"not (s.zip not matches '\d{5}' and s.country = 'US')",
            r"There is no row where zip does not match '\d{5}' and country equals 'US'.",
        ),
        (
            "not (s.a not in (1, 2) and s.b not between 1 and 2)",
            "There is no row where a is not 1 or 2 and b is not between 1 and 2.",
        ),
        ("key (`a\nb`)", "No two rows share the same `a\\nb`."),
    ],
)
def test_english(text, sentence):
    assert english(parse(text)) == sentence


NAMES = ("a", "b", 'odd "name".`x`', "x", "d")
ROWS = [
    (1, 1.0, "p", "it's", dt.date(2020, 1, 1)),
    (1, math.nan, "p", "a\\b", dt.date(2020, 1, 2)),
    (2, math.nan, None, "it's", None),
    (None, None, "q", "é", dt.date(2020, 1, 1)),
    (None, 0.5, "q", None, dt.date(2021, 1, 1)),
    (2, 1.0, "p", "A", dt.date(2020, 1, 1)),
    (3, -2.0, "", "z", dt.date(2019, 1, 1)),
    (1, 1.0, "p", "it's", dt.date(2020, 1, 1)),
]
RULES = [
    "key (a)",
    "key (a, b)",
    "key (b)",
    'key (`odd "name".``x```)',
    "fd (a) -> b",
    "fd () -> x",
    "od {a}: b ~ d",
    "od {}: a ~ b desc",
    "od [a, b desc] -> [d]",
    "od [] -> [a]",
    "od [a] -> [a]",
    "od [b] -> [b, x]",
    "not (s.a = t.a)",
    "not (s.a != t.a)",
    "not (s.a < t.a)",
    "not (s.a <= t.a)",
    "not (s.a > t.a)",
    "not (s.a >= t.a)",
    "not (s.b <= t.b and s.d != t.d)",
    "not (s.a < t.b)",
    "not (s.a >= t.b and s.x < t.x)",
    "not (s.a > s.b)",
    "not (s.a <= s.b)",
    "not (s.x = 'it''s')",
    "not (s.x != 'a\\b' and s.a = t.a)",
    "not (s.b < 0.75)",
    "not (s.b != 0.5)",
    "not (s.b > -1e2 and t.b <= 1)",
    "not (s.d = date '2020-01-01' and t.d > date '2020-01-01')",
]
COMPARE = {
    Op.EQ: operator.eq,
    Op.NE: operator.ne,
    Op.LT: operator.lt,
    Op.LE: operator.le,
    Op.GT: operator.gt,
    Op.GE: operator.ge,
}


def _holds(p, s, t, nulls):
    values = []
    for operand in (p.left, p.right):
        value = (
            operand.value if isinstance(operand, Constant) else {"s": s, "t": t}[operand.row][NAMES.index(operand.name)]
        )
        values.append(None if isinstance(value, float) and math.isnan(value) else value)
    if None in values and nulls == "unknown":
        return False
    left, right = ((v is not None, v) for v in values)
    if left[0] != right[0] or not left[0]:
        left, right = left[0], right[0]
    return COMPARE[p.op](left, right)


def _violations(rule, nulls):
    found = []
    for d in rule.denials:
        if d.arity == 1:
            found += [(i,) for i, s in enumerate(ROWS) if all(_holds(p, s, s, nulls) for p in d.predicates)]
        else:
            pairs = itertools.permutations(range(len(ROWS)), 2)
            found += [(i, j) for i, j in pairs if all(_holds(p, ROWS[i], ROWS[j], nulls) for p in d.predicates)]
    return sorted(found)


@pytest.fixture(scope="module")
def connection():
    with duckdb.connect() as connection:
        types = ["int", "double", "text", "text", "date"]
        columns = ", ".join(f'"{n.replace(chr(34), chr(34) * 2)}" {t}' for n, t in zip(NAMES, types, strict=True))
        connection.execute(f"create table t (id int, {columns})")
        connection.executemany("insert into t values (?, ?, ?, ?, ?, ?)", [(i, *row) for i, row in enumerate(ROWS)])
        yield connection


@pytest.mark.parametrize("dialect", ["duckdb", "ansi"])
@pytest.mark.parametrize("nulls", ["unknown", "equal"])
@pytest.mark.parametrize("text", RULES)
def test_sql_finds_exactly_the_violations(connection, text, nulls, dialect):
    rule = parse(text)
    expected = _violations(rule, nulls)
    query = sql(rule, "t", row_id="id", nulls=nulls, dialect=dialect, floats={"b"})
    arity = len(expected[0]) if expected else 2
    assert sorted(r[:arity] for r in connection.execute(query).fetchall()) == expected
    unnumbered = sql(rule, "main.t", nulls=nulls, dialect=dialect, floats={"b"})
    assert len(connection.execute(unnumbered).fetchall()) == len(expected)


def test_the_rules_above_are_not_all_clean():
    counts = {nulls: [len(_violations(parse(text), nulls)) for text in RULES] for nulls in ("unknown", "equal")}
    assert sum(map(bool, counts["unknown"])) > 20
    assert counts["unknown"] != counts["equal"]


def test_sql_gives_the_compared_values(connection):
    rows = connection.execute(sql(parse("not (s.a < t.b)"), "t", row_id="id", dialect="duckdb", floats={"b"}))
    assert [d[0] for d in rows.description] == ["s_row", "t_row", "s.a", "t.b"]
    assert all(r[2] < r[3] for r in rows.fetchall())


def test_text_literals_reach_the_database_unchanged(connection):
    for value in ["it's", "\\", "\\'", "'; drop table t; --", "${x}", "\n", "é😀"]:
        connection.execute("create or replace table v as select ? as x", [value])
        rule = Denial((Predicate(Column("s", "x"), Op.EQ, Constant(value)),))
        assert len(connection.execute(sql(rule, "v", dialect="duckdb")).fetchall()) == 1


def test_spark_spelling():
    literal = Constant("it's \\ ${env}")
    rule = Denial(
        (Predicate(Column("s", "a`b"), Op.NE, Column("t", "a`b")), Predicate(Column("s", "x"), Op.EQ, literal))
    )
    query = sql(rule, "db.t", nulls="equal", dialect="spark", floats={"a`b"})
    assert query == (
        "WITH rowlaw_rows AS (\n"
        "  SELECT monotonically_increasing_id() AS rowlaw_row, `x` AS `x`, "
        "CASE WHEN isnan(`a``b`) THEN NULL ELSE `a``b` END AS `a``b` FROM `db`.`t`\n)\n"
        "SELECT s.rowlaw_row AS s_row, t.rowlaw_row AS t_row, s.`x` AS `s.x`, s.`a``b` AS `s.a``b`, t.`a``b` "
        "AS `t.a``b`\n"
        "FROM rowlaw_rows s JOIN rowlaw_rows t\n"
        "ON s.rowlaw_row <> t.rowlaw_row AND s.`x` = 'it\\'s \\\\ \\u0024{env}' AND NOT (s.`a``b` <=> t.`a``b`)"
    )


def test_names_of_the_query_never_hide_those_of_the_table(connection):
    connection.execute("create or replace table rowlaw_rows as select 1 as rowlaw_row union all select 1")
    query = sql(Key(("rowlaw_row",)), "rowlaw_rows", dialect="duckdb")
    assert len(connection.execute(query).fetchall()) == 2


def test_numbers(connection):
    for text, plain in [
        ("1e3", "1000"),
        ("1e50", "1E+50"),
        ("-0.001", "-0.001"),
        ("9" * 40, "9." + "9" * 39 + "E+39"),
        ("true", "TRUE"),
    ]:
        assert f"> {plain}" in sql(parse(f"not (s.a > {text})"), "t")


def test_options_are_checked():
    for option in ({"nulls": "maybe"}, {"dialect": "oracle"}):
        with pytest.raises(RowlawError, match="BAD_OPTION"):
            sql(Key(("a",)), "t", **option)


def test_an_order_dependency_is_one_query(connection):
    rule = OrderDependency((SortColumn("a"), SortColumn("b")), (SortColumn("d"),))
    assert sql(rule, "t").count("UNION ALL") == len(rule.denials) - 1 == 2
