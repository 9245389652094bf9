"""Exported Spark SQL finds exactly the violations that a check finds."""

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

import rowlaw
from rowlaw.rules import NamedRule, RuleSet, sql_condition
from tests import strategies

ID = "rowlaw id"
# Spark compares numbers of different types as floats, which rowlaw does exactly: each table has one type of numbers.
TYPES = [("integer", "text", "boolean"), ("text", "date"), ("float", "text")]


@st.composite
def cases(draw):
    table = draw(strategies.tables(types=draw(st.sampled_from(TYPES)), min_rows=1, max_rows=6, max_columns=3))
    literal = "float" not in table.physical.values()
    kinds = [
        strategies.denials(table, 3, literal=literal, condition=literal),
        strategies.keys(table),
        strategies.functional_dependencies(table),
        strategies.order_dependencies(table),
    ]
    return table, draw(st.one_of(kinds)), draw(strategies.nulls())


def test_queries_find_what_check_finds(quick_spark):
    @settings(max_examples=40)
    @given(case=cases())
    def compare(case):
        table, rule, nulls = case
        arrow = strategies.to_arrow(table)
        arrow = arrow.append_column(ID, pa.array(range(arrow.num_rows), pa.int64()))
        rules = RuleSet((NamedRule("R1", rule),), nulls)
        types = {name: "double" for name, physical in table.physical.items() if physical == "float"}
        query = str(rowlaw.export_rules(rules, table="exported", row_id=ID, types=types)).strip().removesuffix(";")
        quick_spark.createDataFrame(arrow).createOrReplaceTempView("exported")
        rows = quick_spark.sql(query).collect()
        if rows and "rowlaw_violations" in rows[0].asDict():
            assert (
                sum(row["rowlaw_violations"] for row in rows) == rowlaw.check(arrow, rules, progress=False).counts["R1"]
            )
            return
        found = sorted(tuple(row[name] for name in ("s_row", "t_row") if name in row.asDict()) for row in rows)
        result = rowlaw.check(arrow, rules, progress=False)
        pairs = (row for batch in result.pairs("R1") for row in batch.to_pylist())
        assert found == sorted(tuple(row[name] for name in ("s_row", "t_row") if name in row) for row in pairs)
        result.close()

    compare()


def test_what_is_tolerated(spark):
    table = pa.table({"id": range(5), "zip": ["1", "1", "2", "3", "4"], "city": list("abcde")})
    spark.createDataFrame(table).createOrReplaceTempView("tolerant")
    for tolerate, failing in ((0.05, 1), (0.1, 0), (0.2, 0)):  # one group, 2 of 20 pairs
        named = NamedRule("R1", rowlaw.parse("fd (zip) -> city"), tolerate=tolerate)
        (query,) = rowlaw.export_rules(named, to="dbt", table="tolerant").files.keys() - {"models/tolerant_rules.yml"}
        text = rowlaw.export_rules(named, to="dbt", table="tolerant").files[query]
        body = text.split("\n", 1)[1].replace("{{ ref('tolerant') }}", "tolerant")
        assert spark.sql(body).count() == failing


def test_checks_of_single_rows(spark):
    """The condition that a CHECK and Deequ get is never unknown, and false exactly on the rows that break the rule."""
    rule = rowlaw.parse("not (s.low > s.high and s.name != 'it''s')")
    table = pa.table({"low": [3, 3, None, 1], "high": [1, 1, 2, 2], "name": ["a", "it's", "b", None]})
    for nulls in ("unknown", "equal"):
        frame = spark.createDataFrame(table)
        broken = frame.where(f"NOT (({sql_condition(rule, nulls=nulls)}) IS NOT TRUE)").count()
        assert broken == rowlaw.check(table, rule, nulls=nulls, progress=False).counts["R1"] > 0
