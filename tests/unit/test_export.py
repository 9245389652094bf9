"""Exports to other tools: valid files that say the same, and say what they cannot."""

import ast
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import duckdb
import jinja2
import pyarrow as pa
import pytest
import yaml

import rowlaw
from rowlaw.errors import RowlawError
from rowlaw.rules import NamedRule, RuleSet

ROWLAW = str(Path(sys.executable).with_name("rowlaw"))
TABLE = pa.table(
    {
        "id": [1, 2, 3, 3],
        "zip": ["07030", "07030", "10001", None],
        "city": ["Hoboken", "Hobken", "New York", "New York"],
        "{{ odd }}": [1, 1, 2, 3],
        "age": [30, 40, -1, 7],
    }
)
RULES = RuleSet(
    (
        NamedRule("one city", rowlaw.parse("fd (zip) -> city"), because="the post office says so"),
        NamedRule("One-City", rowlaw.parse("fd (city) -> zip"), severity="warn"),
        NamedRule("unique", rowlaw.parse("key (id)")),
        NamedRule("both", rowlaw.parse("key (zip, city)")),
        NamedRule("odd", rowlaw.parse("key (`{{ odd }}`)")),
        NamedRule("age", rowlaw.parse("not (s.age < 0)"), tolerate=0.1),
        NamedRule("text", rowlaw.parse("not (s.city = '{% raw %} {{ x }}')")),
    )
)
COUNTS = rowlaw.check(TABLE, RULES, progress=False).counts


@pytest.fixture(scope="module")
def connection():
    with duckdb.connect() as connection:
        connection.register("people", TABLE)
        yield connection


def export(to, **options):
    return rowlaw.export_rules(RULES, to=to, table="people", dialect="duckdb", **options)


def test_dbt(connection):
    files = export("dbt").files
    assert set(files) == {
        "models/people_rules.yml",
        "tests/generic/rowlaw_functional_dependency.sql",
        "tests/people_both.sql",
        "tests/people_odd.sql",
        "tests/people_age.sql",
        "tests/people_text.sql",
    }
    (model,) = yaml.safe_load(files["models/people_rules.yml"])["models"]
    assert model["name"] == "people"
    (column,) = model["columns"]
    assert column["name"] == "id"
    assert column["data_tests"][0]["unique"]["config"]["severity"] == "error"
    assert [t["rowlaw_functional_dependency"]["arguments"] for t in model["data_tests"]] == [
        {"determinant": ["zip"], "dependent": "city"},
        {"determinant": ["city"], "dependent": "zip"},
    ]
    assert [t["rowlaw_functional_dependency"]["config"]["severity"] for t in model["data_tests"]] == ["error", "warn"]
    severities = []
    environment = jinja2.Environment(autoescape=False)
    settings = {"ref": lambda name: f'"{name}"', "config": lambda severity, tags: severities.append(severity) or ""}
    found = {
        name: connection.execute(environment.from_string(text).render(settings)).fetchall()
        for name, text in files.items()
        if ".sql" in name and "generic" not in name
    }
    assert {name: bool(rows) for name, rows in found.items()} == {
        "tests/people_both.sql": COUNTS["both"] > 0,
        "tests/people_odd.sql": COUNTS["odd"] > 0,
        "tests/people_age.sql": COUNTS["age"] > 0,
        "tests/people_text.sql": COUNTS["text"] > 0,
    }
    assert not any("JOIN" in text for text in files.values())
    generic = files["tests/generic/rowlaw_functional_dependency.sql"].replace(
        "{% test rowlaw_functional_dependency(model, determinant, dependent) %}", ""
    )
    adapter = SimpleNamespace(quote=lambda name: f'"{name}"')
    template = jinja2.Environment(autoescape=False, extensions=["jinja2.ext.do"]).from_string(
        generic.replace("{% endtest %}", "")
    )
    query = template.render(adapter=adapter, model="people", determinant=["zip"], dependent="city")
    assert connection.execute(query).fetchall() == [("07030", 2, COUNTS["one city"])]


def test_dqx():
    checks = yaml.safe_load(str(export("dqx", row_id="id")))
    by_rule = {c["user_metadata"]["rowlaw_id"]: c for c in checks}
    assert {u.id for u in export("dqx").unexpressed} == {"odd"}
    assert by_rule["unique"]["check"] == {
        "function": "is_unique",
        "arguments": {"columns": ["id"], "nulls_distinct": True},
    }
    assert by_rule["one city"]["check"]["arguments"]["merge_columns"] == ["zip"]
    assert "FROM {{ input_view }}" in by_rule["one city"]["check"]["arguments"]["query"]
    assert by_rule["One-City"]["criticality"] == "warn"
    assert by_rule["age"]["check"]["function"] == "sql_query"  # a share is tolerated
    assert by_rule["text"]["check"]["arguments"]["expression"].endswith(") IS NOT TRUE")
    pairs = rowlaw.export_rules("od {zip}: age ~ id", to="dqx", row_id="id")
    (check,) = yaml.safe_load(str(pairs))
    assert check["check"]["arguments"]["merge_columns"] == ["id"]


def test_soda(connection):
    ((name, checks),) = yaml.safe_load(str(export("soda"))).items()
    assert name == "checks for people"
    assert len(checks) == len(RULES)
    assert "duplicate_count(id)" in checks[2]
    assert checks[1]["rowlaw_one_city_2"]["warn"] == "when > 0"
    environment = jinja2.Environment(autoescape=False)
    for rule, check in zip(RULES, checks, strict=True):
        ((metric, facts),) = check.items()
        if f"{metric} query" in facts:
            ((found,),) = connection.execute(environment.from_string(facts[f"{metric} query"]).render()).fetchall()
            assert bool(found) == bool(COUNTS[rule.id]), rule.id
    ((_, (missing,)),) = yaml.safe_load(
        str(rowlaw.export_rules("s.zip is not null", to="soda", table="people"))
    ).items()
    assert list(missing) == ["missing_count(zip)"]


def test_dbt_unique_is_used_only_where_it_means_the_same():
    for options in ({"nulls": "equal"}, {"types": {"id": "float"}}):
        files = export("dbt", **options).files
        assert "tests/people_unique.sql" in files
        assert "columns" not in yaml.safe_load(files["models/people_rules.yml"])["models"][0]


def test_great_expectations(connection):
    suite = json.loads(str(export("gx")))
    by_rule = {e["meta"]["rule_id"]: e for e in suite["expectations"]}
    assert list(by_rule) == [r.id for r in RULES]
    assert by_rule["unique"]["type"] == "expect_column_values_to_be_unique"
    assert by_rule["both"]["kwargs"] == {"column_list": ["zip", "city"], "ignore_row_if": "any_value_is_missing"}
    assert by_rule["One-City"]["severity"] == "warning"
    for id, expectation in by_rule.items():
        if expectation["type"] == "unexpected_rows_expectation":
            query = expectation["kwargs"]["unexpected_rows_query"].format(batch="people")
            assert bool(connection.execute(query).fetchall()) == bool(COUNTS[id]), id
    equal = {e["meta"]["rule_id"]: e for e in json.loads(str(export("gx", nulls="equal")))["expectations"]}
    assert equal["unique"]["type"] == "unexpected_rows_expectation"
    assert equal["both"]["kwargs"]["ignore_row_if"] == "never"


def test_data_contract(connection):
    contract = yaml.safe_load(str(export("odcs", types={"zip": "string", "age": "integer"})))
    assert (contract["kind"], contract["apiVersion"]) == ("DataContract", "v3.0.2")
    assert {"id", "version", "status", "schema"} <= set(contract)
    (table,) = contract["schema"]
    assert table["properties"] == [{"name": "zip", "logicalType": "string"}, {"name": "age", "logicalType": "number"}]
    for check in table["quality"]:
        assert check["type"] == "sql"
        ((found,),) = connection.execute(check["query"]).fetchall()
        assert bool(found) == bool(COUNTS[check["name"]])
        assert check["mustBe"] == 0


def test_deequ():
    export_ = export("deequ")
    text = str(export_)
    tree = ast.parse(text)
    calls = {n.func.attr: n for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)}
    assert {"hasUniqueness", "satisfies", "where", "addCheck"} <= set(calls)
    assert {u.id for u in export_.unexpressed} == {"one city", "One-City", "odd"}
    for unexpressed in export_.unexpressed:
        assert f"# {unexpressed.id}: " in text
        assert unexpressed.why in text
    assert "CheckLevel.Warning" not in text  # its only rule cannot be expressed
    assert {u.id for u in export("deequ", nulls="equal").unexpressed} == {
        "one city",
        "One-City",
        "odd",
        "unique",
        "both",
    }
    only = rowlaw.export_rules("fd (a) -> b", to="deequ")
    assert "return []" in str(only)
    ast.parse(str(only))


def test_deequ_runs_as_written():
    """The generated module against a stand-in for PyDeequ that writes down what it is told."""

    class Check:
        def __init__(self, *_):
            self.told = []

        def __getattr__(self, name):
            return lambda *given: self.told.append((name, given)) or self

    def execute(text):
        module = {}
        imports = "from pydeequ.checks import Check, CheckLevel\nfrom pydeequ.verification import VerificationSuite\n"
        exec(text.replace(imports, ""), module | {"Check": Check, "CheckLevel": Check()}, module)
        return module

    module = execute(str(export("deequ")))
    module["checks"].__globals__.update(Check=Check, CheckLevel=Check())
    (check,) = module["checks"](None)
    told = dict(check.told)
    assert told["hasUniqueness"][0] == ["zip", "city"]
    assert told["where"] == ("`zip` IS NOT NULL AND `city` IS NOT NULL",)
    conditions = [given[0] for name, given in check.told if name == "satisfies"]
    assert conditions[0] == "(`age` < 0) IS NOT TRUE"
    share = next(given[2] for name, given in check.told if name == "satisfies")
    assert (share(0.9), share(0.89)) == (True, False)


def test_files_are_written(tmp_path):
    paths = export("dbt").write(tmp_path / "project")
    assert all(Path(p).read_text() for p in paths)
    assert not list(tmp_path.rglob("*.part"))
    (one,) = export("sql").write(tmp_path / "rules.sql")
    assert Path(one).read_text() == str(export("sql"))
    with pytest.raises(RowlawError, match="needs a folder"):
        export("dbt").write(tmp_path / "rules.sql")


def test_literals_get_the_type_of_their_column():
    text = str(rowlaw.export_rules("not (s.hired < '2020-01-31')", types={"hired": "date"}))
    assert "DATE '2020-01-31'" in text
    with pytest.raises(RowlawError, match="INCOMPATIBLE_TYPES"):
        rowlaw.export_rules("not (s.hired < 7)", types={"hired": "date"})


@pytest.mark.parametrize("options", [{"to": "excel"}, {"dialect": "oracle"}, {"table": ""}, {"types": {"a": "blob"}}])
def test_bad_options(options):
    with pytest.raises(RowlawError, match="BAD_OPTION"):
        rowlaw.export_rules("key (a)", **options)


def test_no_rules():
    for to in ("sql", "dbt", "gx", "deequ", "odcs", "dqx", "soda"):
        assert str(rowlaw.export_rules([], to=to))


def run(*arguments, **options):
    return subprocess.run([ROWLAW, *arguments], capture_output=True, text=True, check=False, **options)


def test_command_line(tmp_path):
    RULES.save(tmp_path / "rules.yaml")
    shown = run("export", "rules.yaml", "--to", "deequ", "--table", "people", cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout == str(rowlaw.export_rules(RULES, to="deequ", table="people"))
    assert "deequ cannot express rule one city: " in shown.stderr
    shown = run("export", "rules.yaml", "--to", "dbt", "--out", "project", cwd=tmp_path)
    assert shown.stdout == ""
    assert (tmp_path / "project" / "models" / "data_rules.yml").exists()
    assert run("export", "rules.yaml", "--to", "excel", cwd=tmp_path).returncode == 2
    assert run("export", "nothing.yaml", cwd=tmp_path).returncode == 2


def test_import_on_the_command_line(tmp_path):
    (tmp_path / "found.txt").write_text("[A, B] -> C\n¬{ t.A == s.A ∧ t.B != s.B }\n")
    shown = run("import", "found.txt", cwd=tmp_path)
    assert shown.stdout == "fd (A, B) -> C\nnot (s.A = t.A and s.B != t.B)\n"
    assert run("import", "found.txt", "--out", "laws.yaml", cwd=tmp_path).returncode == 0
    assert rowlaw.load(tmp_path / "laws.yaml").nulls == "equal"
    (tmp_path / "bad.txt").write_text("[A, B] ->\nnonsense\n")
    shown = run("import", "bad.txt", cwd=tmp_path)
    assert shown.returncode == 2
    assert "bad.txt:1" in shown.stderr
    (tmp_path / "empty.txt").write_text("\n")
    assert "there is no rule" in run("import", "empty.txt", cwd=tmp_path).stderr
