"""A Spark Connect server, which is a process of its own, and a command that finds a table of its catalog there."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyspark
import pytest

import rowlaw
from benchmarks.standalone import await_line
from rowlaw.spark.java import find_java
from tests.sessions import QUICK


def _command(*words: str, seconds: float = 10) -> str:
    """A script that runs a command, and waits so long for a server."""
    return f"""
        import sys
        import rowlaw.spark.session
        from rowlaw.cli import main
        rowlaw.spark.session.CONNECT_SECONDS = {seconds}
        sys.argv = ["rowlaw", *{words!r}]
        main()
    """


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Where the server is at home."""
    return tmp_path_factory.mktemp("server")


@pytest.fixture(scope="module")
def server(home):
    """The address of a server, which ends with the tests of this file."""
    conf = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": "0",  # the system chooses, and the log says which it was
        "spark.driver.host": "127.0.0.1",
        "spark.sql.warehouse.dir": str(home / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
        **QUICK,
    }
    command = [str(Path(pyspark.__file__).parent / "bin" / "spark-submit"), "--master", "local[1]"]
    command += [word for name, value in conf.items() for word in ("--conf", f"{name}={value}")]
    command += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal"]
    environment = os.environ | {
        "JAVA_HOME": str(find_java().home),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    with open(home / "server.log", "w") as log:
        process = subprocess.Popen(command, env=environment, cwd=home, stdout=log, stderr=log)
        try:
            port = await_line(home / "server.log", r"Spark Connect server started at: \S+:(\d+)", patience=180)
            yield f"sc://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(30)


def test_a_table_of_the_servers_catalog(server, home, script, tmp_path):
    made = script(f"""
        import rowlaw.spark.session
        spark = rowlaw.spark.session.session(master={server!r})
        rows = [(1, "07030", "Hoboken"), (2, "07030", "Newark"), (3, "10001", "New York")]
        spark.createDataFrame(rows, "id int, zip string, city string").write.saveAsTable("people")
    """)
    assert made.returncode == 0, made.stderr + (home / "server.log").read_text()
    (tmp_path / "laws.yaml").write_text("rules:\n  - key (id)\n  - fd (zip) -> city\n")
    done = script(_command("check", "people", "laws.yaml", "--master", server, "--format", "json"))
    assert done.returncode == 1, done.stderr
    assert [rule["violations"] for rule in json.loads(done.stdout)["rules"]] == [0, 2]


def test_nobody_answers(script):
    with socket.socket() as taken:  # bound, so that nobody else gets the port, and nobody listens
        taken.bind(("127.0.0.1", 0))
        done = script(
            _command("discover", "people", "--master", f"sc://127.0.0.1:{taken.getsockname()[1]}", seconds=0.5)
        )
    assert done.returncode == 3, done.stderr
    assert "SPARK_FAILED: Spark did not start: no Spark Connect server answers at sc://127.0.0.1:" in done.stderr


def test_an_address_that_is_none(script):
    done = script(_command("discover", "people", "--master", "sc://127.0.0.1/elsewhere"))
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("BAD_OPTION: --master sc://127.0.0.1/elsewhere: ")


RULES = [
    "key (id)",
    "fd (zip) -> city",
    "not (s.zip = t.zip and s.age < t.age and s.pay > t.pay)",
    "not (s.age < t.age and s.pay > t.pay)",
    "not (s.age = t.pay)",
    "not (s.age > 60)",
]
PEOPLE = [(i, str(i % 7), "city" + str(i % 7 + (i == 33)), 20 + i * 13 % 50, i * 7 % 40) for i in range(60)]
ANSWERS = """
def answers(result):
    return [
        result.counts,
        [v.rows for v in result.verdicts],
        sorted([r["row"], r["rule"], r["pairs"]] for r in result.rows.collect()),
        [result.violations(v.id).count() for v in result.verdicts],
        result.clashes("R2").to_pylist(),
        result.bad().count(),
        result.suspects(3).to_pylist(),
        result.worst(3),
    ]
"""


# What managed platforms restrict: nothing is cached or checkpointed, ANSI mode is on, and there is the Connect API
# only.
RESTRICTED = """
import json
import rowlaw, rowlaw.spark.session
from pyspark.sql.connect.dataframe import DataFrame

def refused(*_, **__):
    raise RuntimeError("[NOT_SUPPORTED] a managed platform has no cache")

DataFrame.persist = DataFrame.cache = DataFrame.checkpoint = refused
rowlaw.spark.session.CONNECT_SECONDS = 120

def connect(server):
    connected = rowlaw.spark.session.session(master=server)
    connected.conf.set("spark.sql.shuffle.partitions", "2")
    connected.conf.set("spark.sql.ansi.enabled", "true")
    return connected
"""
# Rules of a few rows, which are validated on all rows by comparing those that agree.
VALIDATED = """
from rowlaw.discovery import covers
from rowlaw.discovery.discover import run
from rowlaw.engine.spark.discovery import SparkDiscoveryEngine
from rowlaw.engine.spark.limits import SparkLimits
from rowlaw.engine.spark.table import SparkTable
from rowlaw.predicates import SpaceOptions
from rowlaw.source import open_source

def validated(frame):
    covers.COVER_SECONDS = -1e9
    source = open_source(frame)
    engine = SparkDiscoveryEngine(SparkTable(source.frame, source.schema, "unknown"), SparkLimits(learnt_rows=20))
    return sorted(str(named.rule) for named in run(engine, SpaceOptions(cross=False), kinds=("dc",)))
"""
PEOPLE_SCHEMA = "id int, zip string, city string, age int, pay int"


def table(rows):
    return pa.Table.from_pylist([dict(zip(("id", "zip", "city", "age", "pay"), row, strict=True)) for row in rows])


def test_a_whole_check_where_nothing_may_be_cached(server, home, script, spark, tmp_path):
    done = script(f"""
        exec({RESTRICTED!r})
        connected = connect({server!r})
        people = connected.createDataFrame({PEOPLE!r}, {PEOPLE_SCHEMA!r}).repartition(3)
        exec({ANSWERS!r})
        result = rowlaw.check(people, {RULES!r}, engine="spark", row_id="id", progress=False)
        result.to_html("report.html")
        numbered = rowlaw.check(people, {RULES!r}, engine="spark", progress=False)
        print(json.dumps([answers(result), numbered.rows.count(), numbered.bad().count()]))
    """)
    assert done.returncode == 0, done.stderr[-3000:] + (home / "server.log").read_text()[-3000:]
    told, rows, bad = json.loads(done.stdout)
    names = {}
    exec(ANSWERS, names)
    here = names["answers"](rowlaw.check(table(PEOPLE), RULES, row_id="id", progress=False))
    assert told == json.loads(json.dumps(here))
    assert (rows, bad) == (len(here[2]), here[5])


def test_discovery_and_new_rows_against_old_ones(server, home, script, spark, tmp_path):
    """Where nothing may be cached, and nothing but samples and counts may be brought here."""
    new = [*PEOPLE[:4], (100, "3", "elsewhere", 30, 5), (101, "9", "city9", 61, 1)]
    kinds = ("key", "fd", "od", "dc")
    done = script(f"""
        exec({RESTRICTED!r})
        connected = connect({server!r})
        connected.conf.set("spark.rowlaw.driverBytes", "0")
        old, new = (connected.createDataFrame(rows, {PEOPLE_SCHEMA!r}) for rows in ({PEOPLE!r}, {new!r}))
        found = {{}}
        for kind in {kinds!r}:
            rules = rowlaw.discover(old, kinds=kind, cross=False, engine="spark", progress=False)
            found[kind] = sorted(str(named.rule) for named in rules)
        exec({VALIDATED!r})
        found["validated"] = validated(old)
        result = rowlaw.check(new, {RULES!r}, against=old, row_id="id", engine="spark", progress=False)
        rows = sorted([r["row"], r["rule"], r["pairs"], r["new"]] for r in result.rows.collect())
        pairs = [result.violations(v.id).count() for v in result.verdicts]
        print(json.dumps([found, result.counts, rows, pairs, sorted(r["id"] for r in result.bad().collect())]))
    """)
    assert done.returncode == 0, done.stderr[-3000:] + (home / "server.log").read_text()[-3000:]
    found, counts, rows, pairs, bad = json.loads(done.stdout)
    for kind in kinds:
        here = rowlaw.discover(table(PEOPLE), kinds=kind, cross=False, engine="local", progress=False)
        assert found[kind] == sorted(str(named.rule) for named in here)
    assert found["validated"] == found["dc"]
    result = rowlaw.check(table(new), RULES, against=table(PEOPLE), row_id="id", progress=False)
    assert counts == result.counts
    assert pairs == list(result.counts.values())
    assert rows == sorted([r["row"], r["rule"], r["pairs"], r["new"]] for r in result.rows.collect())
    assert bad == sorted(r["id"] for r in result.bad().collect())


def test_a_guard_on_the_server(server, home, script, spark, tmp_path):
    """The batches of a stream are taken by a Python process of the server, which remembers them in the folder of the
    history."""
    done = script(f"""
        exec({RESTRICTED!r})
        connected = connect({server!r})
        rows = connected.createDataFrame({PEOPLE!r}, {PEOPLE_SCHEMA!r})
        rows.where("id < 20").coalesce(1).write.parquet("{tmp_path}/history")
        rows.where("id >= 15").coalesce(1).write.parquet("{tmp_path}/incoming")
        stream = connected.readStream.schema({PEOPLE_SCHEMA!r}).parquet("{tmp_path}/incoming")
        for _ in range(2):
            query = rowlaw.watch(stream, history="{tmp_path}/history", guard={RULES[:2]!r},
                                 quarantine="{tmp_path}/held",
                                 trigger={{"availableNow": True}})
            query.awaitTermination()
            assert query.exception() is None
    """)
    assert done.returncode == 0, done.stderr[-3000:] + (home / "server.log").read_text()[-3000:]
    assert sorted(r["id"] for r in spark.read.parquet(str(tmp_path / "held")).collect()) == [15, 16, 17, 18, 19, 33]
    assert sorted(r["id"] for r in spark.read.parquet(str(tmp_path / "history")).collect()) == [
        i for i in range(60) if i != 33
    ]
