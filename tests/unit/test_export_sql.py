"""Exported SQL, run in DuckDB, finds exactly the violations that a check finds; constraints refuse exactly the tables
that are broken."""

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rowlaw
from rowlaw.export.sql import constraint
from rowlaw.export.target import Plan, Unexpressed
from rowlaw.rules import Denial, Key, NamedRule, RuleSet
from tests import strategies

ID = "rowlaw id"
# DuckDB compares numbers of different types as floats, which rowlaw does exactly: each table has one type of numbers.
TYPES = [("integer", "text", "boolean"), ("text", "date", "timestamp"), ("float", "text"), ("decimal", "date")]
FLOATS = {"float": "double"}


@st.composite
def cases(draw, single=False):
    table = draw(strategies.tables(types=draw(st.sampled_from(TYPES)), max_rows=7))
    literal = "float" not in table.physical.values()
    kinds = [strategies.denials(table, literal=literal, condition=literal), strategies.keys(table)]
    if not single:
        kinds += [strategies.functional_dependencies(table), strategies.order_dependencies(table)]
    return table, draw(st.one_of(kinds)), draw(strategies.nulls())


def numbered(table):
    arrow = strategies.to_arrow(table)
    return arrow.append_column(ID, pa.array(range(arrow.num_rows), pa.int64()))


def pairs(table, rule, nulls):
    """The labels of all violations, as rowlaw.check finds them."""
    result = rowlaw.check(table, RuleSet((NamedRule("R1", rule),), nulls), progress=False)
    found = sorted(
        tuple(row[name] for name in ("s_row", "t_row") if name in row)
        for batch in result.pairs("R1")
        for row in batch.to_pylist()
    )
    result.close()
    return found


def floats(table):
    return {name: "double" for name, physical in table.physical.items() if physical == "float"}


@pytest.mark.parametrize("dialect", ["duckdb", "ansi"])
@settings(max_examples=60)
@given(case=cases())
def test_queries_find_what_check_finds(dialect, case):
    table, rule, nulls = case
    arrow = numbered(table)
    export = rowlaw.export_rules(
        RuleSet((NamedRule("R1", rule),), nulls), table="data", row_id=ID, dialect=dialect, types=floats(table)
    )
    with duckdb.connect() as connection:
        # as the standard calls it
        connection.execute("CREATE MACRO regexp_like(text, pattern) AS regexp_matches(text, pattern)")
        connection.register("data", arrow)
        rows = connection.execute(str(export)).fetchall()
        names = [d[0] for d in connection.description]
    if rule.kind in ("key", "fd") and "rowlaw_violations" in names:  # groups of rows
        assert "JOIN" not in str(export)
        expected = pairs(arrow, rule, nulls)
        assert sum(row[names.index("rowlaw_violations")] for row in rows) == len(expected)
        assert (
            sum(row[names.index("rowlaw_rows")] for row in rows) == len({row for pair in expected for row in pair})
            or rule.kind == "fd"
        )
        return
    labels = [i for i, name in enumerate(names) if name in ("s_row", "t_row")]
    assert sorted(tuple(row[i] for i in labels) for row in rows) == pairs(arrow, rule, nulls)


@settings(max_examples=60)
@given(case=cases(single=True))
def test_constraints_refuse_what_check_finds(case):
    table, rule, nulls = case
    arrow = strategies.to_arrow(table)
    named = NamedRule("R1", rule)
    plan = Plan(RuleSet((named,), nulls), "kept", dialect="duckdb", floats=frozenset(floats(table)))
    clause = constraint(plan, named)
    if isinstance(clause, Unexpressed):
        assert not isinstance(rule, Key) or nulls == "equal" or plan.floats
        assert not isinstance(rule, Denial) or rule.arity == 2
        return
    violations = rowlaw.check(arrow, RuleSet((named,), nulls), progress=False).counts["R1"]
    with duckdb.connect() as connection:
        connection.register("given", arrow)
        connection.execute("create table empty as select * from given limit 0")
        columns = ", ".join(
            f'"{n.replace(chr(34), chr(34) * 2)}" {t}' for n, t, *_ in connection.execute("describe empty").fetchall()
        )
        connection.execute(f"create table kept ({columns}, {clause})")
        if violations:
            with pytest.raises(duckdb.ConstraintException):
                connection.execute("insert into kept select * from given")
        else:
            connection.execute("insert into kept select * from given")


@pytest.mark.parametrize("rule", ["fd (zip) -> city", "not (s.age < 0)"])
def test_what_is_tolerated(rule):
    """A failing query gives nothing while the share of violations is not above what the rule tolerates."""
    table = pa.table({"id": range(5), "zip": ["1", "1", "2", "3", "4"], "city": list("abcde"), "age": [-1, 2, 3, 4, 5]})
    exact = rowlaw.check(table, rule)["R1"].error
    with duckdb.connect() as connection:
        connection.register("data", table)
        for tolerate in (exact / 2, exact, exact * 2):
            named = NamedRule("R1", rowlaw.parse(rule), tolerate=tolerate)
            for dialect in ("duckdb", "ansi"):
                plan = Plan(RuleSet((named,)), "data", "id", dialect)
                broken = rowlaw.check(table, RuleSet((named,)))["R1"].broken
                assert bool(connection.execute(plan.failing(named)).fetchall()) == broken == (tolerate < exact)


def test_constraints_by_dialect():
    rules = RuleSet.of({"k": "key (a, b)", "row": "not (s.a > s.b)", "pair": "fd (a) -> b"})
    texts = {d: str(rowlaw.export_rules(rules, table="db.people", dialect=d)) for d in ("spark", "duckdb", "ansi")}
    assert "Spark does not enforce UNIQUE" in texts["spark"]
    assert "ALTER TABLE `db`.`people` ADD CONSTRAINT `row` CHECK ((`a` > `b`) IS NOT TRUE);" in texts["spark"]
    assert 'ADD CONSTRAINT "k" UNIQUE ("a", "b");' in texts["ansi"]
    equal = str(rowlaw.export_rules(rules, table="people", dialect="ansi", nulls="equal"))
    assert 'UNIQUE NULLS NOT DISTINCT ("a", "b");' in equal
    assert "DuckDB's UNIQUE" in str(rowlaw.export_rules(rules, table="people", dialect="duckdb", nulls="equal"))
    assert texts["ansi"].count("-- no constraint: CHECK sees one row at a time") == 1


def test_comments_stay_comments():
    named = NamedRule("R1", rowlaw.parse("key (`a\nb`)"), because="two\nlines; drop table data")
    text = str(rowlaw.export_rules(named, table="data", dialect="duckdb"))
    with duckdb.connect() as connection:
        connection.execute('create table data as select 1 as "a\nb"')
        assert connection.execute(text).fetchall() == []
        assert connection.execute("select count(*) from data").fetchall() == [(1,)]
