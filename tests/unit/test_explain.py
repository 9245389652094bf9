"""What ``rowlaw explain`` says about a rule."""

import json

import pyarrow as pa
import pyarrow.csv
import pytest
from typer.testing import CliRunner

import rowlaw
from rowlaw.cli.app import app
from rowlaw.errors import RowlawError

TABLE = pa.table(
    {
        "id": list(range(1, 9)),
        "zip": ["07030", "07030", "07030", "10001", "10001", "60601", "60601", None],
        "city": ["Hoboken", "Hobken", "Hoboken", "New York", "New York", "Chicago", "Chicago", "Nowhere"],
        "level": [1, 2, 3, 1, 2, 1, 2, 3],
        "pay": [10, 20, 30, 10, 20, 12, 11, 40],
    }
)


@pytest.fixture
def people(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pa.csv.write_csv(TABLE, "people.csv")
    (tmp_path / "laws.yaml").write_text(
        "rules:\n  city: fd (zip) -> city\n  pay: 'od {zip}: level ~ pay'\n  id: key (id)\n"
    )
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(app, ["explain", *arguments])


def explained(rule, **options):
    return rowlaw.explain(TABLE, rule, row_id="id", progress=False, **options)


def test_a_broken_rule():
    found = explained("fd (zip) -> city")
    assert not found.holds
    assert (found.count.pairs, found.count.rows) == (4, 3)
    assert (found.removal.first, found.removal.exact) == ((2,), True)
    assert found.place is None
    # 2 and 3 would show the same values again
    assert {(clash.s_row, clash.t_row) for clash in found.clashes} == {(2, 1)}
    assert [str(miss.rule) for miss in found.shorter] == ["key (zip)", "fd () -> city"]
    assert [miss.removal for miss in found.shorter] == [4, 6]


def test_a_rule_that_holds_is_found_by_its_id_and_by_its_text():
    laws = rowlaw.discover(TABLE, row_id="id", progress=False)
    for named in list(laws)[:5]:
        by_id, by_text = explained(named.id), explained(str(named.rule), rules=laws)
        assert by_id.rule == by_text.rule == named.rule
        assert by_id.place == by_text.place == list(laws).index(named) + 1
        assert by_id.total == len(laws)
        assert by_id.holds
        assert by_id.named.score == named.score
        assert all(miss.violations for miss in by_id.shorter)  # it is minimal


def test_what_speaks_for_a_rule():
    laws = rowlaw.discover(TABLE, row_id="id", progress=False)
    found = explained("fd (city) -> zip", rules=laws)
    assert found.rank.columns.keys() == {"city", "zip"}
    assert 0 < found.rank.columns["zip"] <= 1
    assert found.to_dict()["rank"]["score"] == found.named.score
    assert found.rank.prior > explained("fd (city, level) -> zip", rules=laws).rank.prior


def test_a_rule_that_is_not_listed_says_why():
    laws = rowlaw.discover(TABLE, row_id="id", progress=False)
    found = explained("fd (city, level) -> zip", rules=laws)
    assert found.holds
    assert found.place is None
    assert "fd (city) -> zip" in [str(rule.rule) for rule in found.stronger]


def test_without_rules_nothing_is_discovered(monkeypatch, people):
    monkeypatch.setattr("rowlaw.report.explanation.discover_run", lambda *_, **__: pytest.fail("discovery was run"))
    found = explained("fd (zip) -> city")
    assert (found.place, found.rank, found.total) == (None, None, 0)
    assert "rank" not in run("people.csv", "fd (zip) -> city", "--quiet").output
    assert (
        "It holds even without s.level = t.level: fd (city) -> zip."
        in run("people.csv", "fd (city, level) -> zip", "--quiet").output
    )
    assert "It is minimal" in run("people.csv", "fd (city) -> zip", "--quiet").output


def test_conditions_are_explained(people):
    found = explained("not (s.city in ('Hobken', 'Nowhere') and s.zip is not null)", rules=["key (id)"])
    assert (found.count.pairs, found.removal.first, found.rank) == (1, (2,), None)
    assert [(str(miss.rule), miss.violations) for miss in found.shorter] == [
        ("not (s.city in ('Hobken', 'Nowhere'))", 2),
        ("not (s.zip is not null)", 7),
    ]
    shown = run("people.csv", r"s.zip matches '\d{4}'", "--quiet")
    assert r"zip always matches '\d{4}'." in shown.output
    assert "regexp_like" in shown.output
    assert "it is broken: 7 violations in 7 of 8 rows" in shown.output


def test_other_rules_have_an_upper_bound_or_a_proof():
    found = explained("not (s.zip = t.zip and s.level < t.level and s.pay >= t.pay)")
    assert (found.count.pairs, found.removal.count, found.removal.exact) == (1, 1, True)
    # any two rows: all but one must go, and a greedy choice cannot prove it
    every = explained("not (s.level <= t.level)")
    assert (every.removal.count, every.removal.exact) == (7, False)


def test_rules_about_one_row_and_of_sorted_lists():
    assert explained("not (s.pay > 35)").removal.first == (8,)
    found = explained("od [level] -> [pay]")
    assert found.count.pairs
    assert found.rank is None


def test_bad_rules_are_errors():
    with pytest.raises(RowlawError, match="UNKNOWN_COLUMN"):
        explained("key (nothing)")
    with pytest.raises(RowlawError, match="UNKNOWN_RULE: no rule 'R999'"):
        explained("R999")
    with pytest.raises(RowlawError, match="did you mean 'city'"):
        explained("citi", rules={"city": "fd (zip) -> city"})


def test_the_page_on_the_command_line(people):
    shown = run("people.csv", "fd (zip) -> city", "--row-id", "id", "--quiet")
    assert shown.exit_code == 0, shown.output
    for part in (
        "Rows with the same zip have the same city.",
        "it is broken: 4 violations in 3 of 8 rows",
        "the smallest set of rows to remove: 1 row (2)",
        "near misses",
        "2. group by s.zip = t.zip",
        "HAVING COUNT(*) > 1",
    ):
        assert part in shown.output, part


def test_rules_of_a_file(people):
    shown = run("people.csv", "pay", "--rules", "laws.yaml", "--row-id", "id", "--quiet")
    assert shown.exit_code == 0, shown.output
    assert "od {zip}: level ~ pay" in shown.output
    assert "why it ranks 2 of 3" in shown.output


def test_as_json(people):
    document = json.loads(run("people.csv", "fd (zip) -> city", "--row-id", "id", "--quiet", "--format", "json").output)
    assert document["violations"] == 4
    assert document["remove"] == {"rows": 1, "exact": True, "some": [2]}
    assert document["near_misses"][0]["rule"] == "key (zip)"
    assert document["plan"]["count"]["method"]
    assert document["rank"] is None
    ranked = run(
        "people.csv", "fd (zip) -> city", "--rules", "laws.yaml", "--row-id", "id", "--quiet", "--format", "json"
    )
    assert json.loads(ranked.output)["rank"]["catches"].keys() == {"zip", "city"}


def test_a_plan_alone(people):
    shown = run("people.csv", "od {zip}: pay ~ level", "--plan")
    assert shown.exit_code == 0, shown.output
    assert "count by " in shown.output
    assert "1. start with the rows that take part in violations, of 7 rows" in shown.output  # null is in no group
    assert "2. group by s.zip = t.zip" in shown.output
    assert "SELECT" in shown.output
    assert "violations in" not in shown.output
    assert "R" not in run("people.csv", "id", "--rules", "laws.yaml", "--plan").output.split("sql:")[0]


def test_a_plan_that_is_measured(people):
    shown = run("people.csv", "fd (zip) -> city", "--analyze")
    assert shown.exit_code == 0, shown.output
    assert "; 4 violations)" in shown.output
    assert "1. start with the rows that take part in violations: 3 rows, of 7 rows" in shown.output
    for options, measured in ((["--plan"], False), (["--plan", "--analyze"], True)):
        plan = json.loads(run("people.csv", "fd (zip) -> city", *options, "--format", "json").output)["plan"]
        assert plan["count"]["method"]
        assert plan["count"]["because"]
        assert plan["count"]["seconds"] > 0
        assert (plan["count"]["measured"] is not None) == (plan["list"]["measured"] is not None) == measured
        assert plan["count"]["violations"] == (4 if measured else None)
        assert any(stage.startswith("group by s.zip = t.zip") for stage in plan["list"]["stages"])


def test_a_rule_of_a_file_is_explained_among_the_others(people):
    """As it is checked: the rules of this file share groups, which one of them alone would not need."""
    alone = "not (s.zip = t.zip and s.pay = t.pay and s.id < t.level)"
    (people / "shared.yaml").write_text(f"rules:\n  a: fd (zip, pay) -> id\n  b: '{alone}'\n")
    assert "that 2 denial constraints share" in run("people.csv", "b", "--rules", "shared.yaml", "--plan").output
    assert "count by terms" in (shown := run("people.csv", alone, "--rules", "shared.yaml", "--plan").output)
    assert "share" not in shown


def test_a_rule_without_a_table():
    shown = run("od [a] -> [b desc]")
    assert shown.exit_code == 0, shown.output
    assert "in words: Rows sorted by a are also sorted by b (descending)" in shown.output
    assert isinstance(run("key (a)", "--plan").exception, RowlawError)
    assert isinstance(run("key (a)", "--analyze").exception, RowlawError)
    assert isinstance(run("R7").exception, RowlawError)
