"""Exports against the real tools: ``python -m tests.export_tools FOLDER [tool ...]`` installs and runs each in an
environment of its own.

Not part of the test suite: it needs a package index. A tool has to find exactly the rules broken that rowlaw finds
broken.
"""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
import venv
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

import rowlaw

TABLE = pa.table(
    {
        "id": [1, 2, 3, 3, 5],
        "zip": ["07030", "07030", "10001", None, "60601"],
        "city": ["Hoboken", "Hobken", "New York", "New York", "Chicago"],
        "age": [30, 40, -1, 7, 8],
        "state": ["NJ", "NJ", "NY", "XX", None],
    }
)
RULES = rowlaw.RuleSet.of(
    {
        "one_city": "fd (zip) -> city",
        "one_zip": "fd (city) -> zip",
        "unique": "key (id)",
        "both": "key (zip, city)",
        "age": "s.age between 0 and 120",
        "adult": "not (s.age < 0 and s.city = 'Paris')",
        "zip": r"s.zip matches '\d{5}'",
        "known": "s.zip is not null",
        "state": "s.state in ('NJ', 'NY', 'CT')",
        "order": "not (s.city = t.city and s.age < t.age and s.id > t.id)",
        "pay": "od {city}: age ~ id",
    }
)
BROKEN = {verdict.id for verdict in rowlaw.check(TABLE, RULES, progress=False).broken}
PACKAGES = {
    "soda": ["soda-core-duckdb"],
    "gx": ["great_expectations", "pyspark[connect]", "pandas<3", "pyarrow"],
    "dqx": ["databricks-labs-dqx", "pyspark[connect]", "pandas<3", "pyarrow"],
    "dbt": ["dbt-core<1.11", "dbt-duckdb<1.10"],
    "odcs": ["open-data-contract-standard", "pyyaml"],
}

SODA = """
from soda.scan import Scan
import duckdb, json, os, sys
path = sys.argv[1] + ".soda"  # made by the DuckDB that Soda brings
if os.path.exists(path):
    os.remove(path)
with duckdb.connect(path) as connection:
    connection.execute(f"create table people as select * from read_parquet('{sys.argv[1]}')")
scan = Scan()
scan.set_data_source_name("data")
scan.add_configuration_yaml_str("data_source data:\\n  type: duckdb\\n  path: " + path)
scan.add_sodacl_yaml_file(sys.argv[2])
scan.execute()
found = scan.get_scan_results()
assert not [log for log in found["logs"] if log["level"].lower() == "error"], found["logs"]
print(json.dumps([c["name"].split(":")[0] for c in found["checks"] if c["outcome"] == "fail"]))
"""
GX = """
import json, sys, great_expectations as gx
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[1]").getOrCreate()
context = gx.get_context(mode="ephemeral")
frame = spark.read.parquet(sys.argv[1])
source = context.data_sources.add_spark("spark")
whole = source.add_dataframe_asset("people").add_batch_definition_whole_dataframe("all")
batch = whole.get_batch(batch_parameters={"dataframe": frame})
suite = gx.ExpectationSuite(**json.load(open(sys.argv[2])))
found = batch.validate(suite)
failed = [r for r in found.results if not r.success]
assert not [r for r in failed if (r.exception_info or {}).get("raised_exception")], failed
print(json.dumps([r.expectation_config.meta["rule_id"] for r in failed]))
"""
DQX = """
import json, sys, yaml
from unittest.mock import create_autospec
from databricks.sdk import WorkspaceClient
from databricks.labs.dqx.engine import DQEngine
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[1]").getOrCreate()
checks = yaml.safe_load(open(sys.argv[2]))
status = DQEngine.validate_checks(checks)
assert not status.has_errors, status.errors
client = create_autospec(WorkspaceClient)
client.current_user.me = lambda: None
frame = DQEngine(client, spark).apply_checks_by_metadata(spark.read.parquet(sys.argv[1]), checks)
names = {r["name"] for row in frame.collect() for r in (row["_errors"] or []) + (row["_warnings"] or [])}
print(json.dumps([c["user_metadata"]["rowlaw_id"] for c in checks if c["name"] in names]))
"""
ODCS = """
import json, sys
from open_data_contract_standard.model import OpenDataContractStandard
contract = OpenDataContractStandard.from_file(sys.argv[2])
print(json.dumps([q.query for q in contract.schema_[0].quality]))
"""


def main(folder: Path, tools: list[str]) -> None:
    """Run each tool, and say what it found."""
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(TABLE, folder / "people.parquet")
    database = folder / "people.duckdb"
    database.unlink(missing_ok=True)
    with duckdb.connect(str(database)) as connection:
        connection.execute("create table people as select * from read_parquet(?)", [str(folder / "people.parquet")])
    for tool in tools:
        try:
            found = set(run(tool, folder, environment(tool, folder)))
        except (subprocess.CalledProcessError, AssertionError) as error:
            print(f"{tool}: did not run: {str(getattr(error, 'stderr', '') or error)[-2000:]}")
            continue
        expressed = {r.id for r in RULES} - {u.id for u in exported(tool).unexpressed}
        expected = BROKEN & expressed
        print(
            f"{tool}: {'agrees' if found == expected else 'DIFFERS'}; broken {sorted(found)}, expected "
            f"{sorted(expected)}"
        )


def exported(tool: str) -> rowlaw.export.target.Export:
    dialect = "duckdb" if tool in ("soda", "dbt", "odcs") else "spark"
    return rowlaw.export_rules(RULES, to=tool, table="people", dialect=dialect)


def environment(tool: str, folder: Path) -> Path:
    """The Python of an environment that has the tool."""
    home = folder / f"venv_{tool}"
    if not home.exists():
        venv.create(home, with_pip=True)
        subprocess.run(
            [home / "bin" / "pip", "install", "-q", *PACKAGES[tool]], check=True, capture_output=True, text=True
        )
    return home / "bin" / "python"


def run(tool: str, folder: Path, python: Path) -> list[str]:
    """The ids of the rules that a tool finds broken."""
    if tool == "dbt":
        return run_dbt(folder, python)
    (path,) = exported(tool).write(folder / f"people.{'json' if tool == 'gx' else 'yml'}.{tool}")
    script = textwrap.dedent({"soda": SODA, "gx": GX, "dqx": DQX, "odcs": ODCS}[tool])
    done = subprocess.run(
        [python, "-c", script, str(folder / "people.parquet"), path], check=True, capture_output=True, text=True
    )
    assert done.stdout.strip(), done.stderr
    found = json.loads(done.stdout.strip().splitlines()[-1])
    if tool != "odcs":
        return found
    # the standard's reader runs nothing itself
    with duckdb.connect(str(folder / "people.duckdb"), read_only=True) as connection:
        return [r.id for r, query in zip(RULES, found, strict=True) if connection.execute(query).fetchall() != [(0,)]]


def run_dbt(folder: Path, python: Path) -> list[str]:
    project = folder / "dbt_project"
    export = exported("dbt")
    for name, text in export.files.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text)
    (project / "models" / "people.sql").write_text(f"select * from read_parquet('{folder / 'people.parquet'}')")
    (project / "dbt_project.yml").write_text("name: people\nversion: 1.0.0\nprofile: people\n")
    (project / "profiles.yml").write_text(
        f"people:\n  target: dev\n  outputs:\n    dev: {{type: duckdb, path: {folder / 'dbt.duckdb'}}}\n"
    )
    dbt = [str(python.with_name("dbt")), "build", "--project-dir", str(project), "--profiles-dir", str(project)]
    done = subprocess.run(dbt, check=False, capture_output=True, text=True)
    results = json.loads((project / "target" / "run_results.json").read_text())["results"]
    assert not [r for r in results if r["status"] == "error"], done.stdout
    failed = [r["unique_id"] for r in results if r["status"] in ("fail", "warn")]
    return [rule.id for rule in RULES if any(f"people_{rule.id}" in name.split(".") for name in failed)]


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), sys.argv[2:] or list(PACKAGES))
