"""A request to stop cancels the Spark job that does the work; a session that rowlaw started ends with the process."""

import os
import subprocess
import sys
import threading
import time

import pyarrow as pa
import pytest

import rowlaw
from rowlaw.deadline import Deadline
from rowlaw.engine.local.engine import LocalEngine
from rowlaw.relation import encode
from rowlaw.rules import parse
from rowlaw.source import open_source
from rowlaw.spark.jobs import SparkTasks
from rowlaw.stopping import Stop, Stopped


def test_a_job_is_cancelled(spark):
    def forever(task):  # in here, so that it travels by value: workers do not have the module of the tests
        time.sleep(600)

    stop = Stop()
    threading.Timer(2.0, stop.request).start()
    with pytest.raises(Stopped):
        SparkTasks(spark).map(forever, [1, 2, 3], "wait", stop=stop)
    assert spark.range(3).count() == 3  # the session goes on
    with pytest.raises(Stopped):
        SparkTasks(spark).map(abs, [1, 2, 3], "wait", stop=stop)
    assert SparkTasks(spark).map(abs, [1, -2, 3], "count", stop=Stop()) == [1, 2, 3]


def test_tasks_know_the_deadline(spark):
    """What they could not examine by then comes back as such, and what they could is not lost."""
    table = pa.table({"a": [1, 1, 2], "b": [1, 2, 3]})
    with encode(open_source(table)) as relation:
        engine = LocalEngine(relation, session=spark, workers=SparkTasks(spark))
        rules = [parse("fd (a) -> b"), parse("fd (b) -> a")]
        broken, held = engine.examined(rules, 5, stop=Deadline.after(600))
        assert len(broken)
        assert not len(held)
        assert engine.examined(rules, 5, stop=Deadline.after(0)) == [None, None]


def test_reading_a_frame_takes_part_in_the_limit(spark):
    frame = spark.range(100).withColumnRenamed("id", "a")
    found = rowlaw.discover(frame, time_limit=0.0, progress=False)
    assert (found.partial, found.why) == (True, "no time to read the table")


SCRIPT = """
import os, signal, sys, threading, time
BEGUN = os.path.abspath("begun")
sys.argv = ["rowlaw", "discover", "people.parquet", "--master", "local[1]", "--quiet"]

def press():
    from rowlaw import interrupts
    while not os.path.exists("begun"):
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGINT)
    while not interrupts._presses:
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGINT)

def job(task):
    open(BEGUN, "w").close()
    time.sleep(600)

from rowlaw.progress import Progress
usual = Progress.phase
def phase(self, name, total=None):
    if name == "read":
        from rowlaw.spark.jobs import SparkTasks
        from rowlaw.spark.session import session
        threading.Thread(target=press, daemon=True).start()
        SparkTasks(session()).map(job, [1], "wait")
    return usual(self, name, total)
Progress.phase = phase
from rowlaw.cli import main
main()
"""


def test_the_second_ctrl_c_ends_a_command_with_a_job(tmp_path):
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"a": [1, 2]}), tmp_path / "people.parquet")
    environment = {**os.environ, "ROWLAW_SCRATCH": str(tmp_path)}
    command = [sys.executable, "-c", SCRIPT]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment, timeout=200
    )
    assert (done.returncode, done.stdout, done.stderr) == (3, "", "stopped\n")
