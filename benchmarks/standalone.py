"""A real Spark cluster on this machine: a standalone master and workers as processes of their own, from the pip
package, on loopback.

Benchmarks measure on it, and ``tests/cluster`` proves on it that answers are the same.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Self

from rowlaw.spark import cds
from rowlaw.spark.java import find_java
from rowlaw.spark.session import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PATIENCE = 90  # seconds for a process to come up on a busy machine
CONF = {
    "spark.driver.host": "127.0.0.1",
    "spark.executor.memory": "700m",
    "spark.sql.shuffle.partitions": "4",
    # Begin only when every executor is there, or the first one does all of a small job.
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "60s",
}


class Standalone:
    """Master and workers while in the ``with`` block; ``master`` is the URL."""

    def __init__(self, workers: int = 2, cores: int = 1, memory: str = "2g") -> None:
        self.size, self.cores, self.memory = workers, cores, memory
        self.master = ""
        self.folder = Path()
        self.workers: list[subprocess.Popen[bytes]] = []
        self._processes: list[subprocess.Popen[bytes]] = []
        self._started = 0

    def __enter__(self) -> Self:
        self.folder = Path(tempfile.mkdtemp(prefix="rowlaw-cluster-"))
        try:
            # Port 0 lets the system choose, so two clusters never meet; the log says which port it was.
            _, log = self._daemon("master", "org.apache.spark.deploy.master.Master", "--port", "0", "--webui-port", "0")
            self.master = await_line(log, r"Starting Spark master at (spark://\S+)")
            await_line(log, r"elected leader")
            launched = [self._launch_worker() for _ in range(self.size)]
            self.workers = [self._registered(*one) for one in launched]
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for process in reversed(self._processes):
            end(process)
        shutil.rmtree(self.folder, ignore_errors=True)

    def kill_worker(self, i: int) -> None:
        """End worker ``i`` and its executors without a word, as a machine that loses power would."""
        end(self.workers[i])

    def restart_worker(self, i: int) -> None:
        """Put a new worker in the place of a killed one, so that whoever comes next finds the cluster whole."""
        self.workers[i] = self._registered(*self._launch_worker())

    def session(self, **conf: str) -> SparkSession:
        """A session of this very process, which must have no other; settings as ``session(**{"spark.executor.memory":
        "1g"})``."""
        before = os.environ.get("PYSPARK_SUBMIT_ARGS")
        os.environ["PYSPARK_SUBMIT_ARGS"] = self.submit_args(conf)
        try:
            return session(master=self.master)
        finally:
            if before is None:
                del os.environ["PYSPARK_SUBMIT_ARGS"]
            else:
                os.environ["PYSPARK_SUBMIT_ARGS"] = before

    def submit_args(self, conf: dict[str, str]) -> str:
        """The last word on settings of a session that rowlaw starts; see ``rowlaw.spark.launch``."""
        java = " ".join(["-XX:TieredStopAtLevel=1", *cds.options(find_java())])
        merged = {
            **CONF,
            "spark.cores.max": str(self.size * self.cores),
            "spark.executor.extraJavaOptions": java,
            **conf,
        }
        return " ".join(f"--conf {shlex.quote(f'{name}={value}')}" for name, value in merged.items()) + " pyspark-shell"

    def _launch_worker(self) -> tuple[subprocess.Popen[bytes], Path]:
        self._started += 1
        size = ("--cores", str(self.cores), "--memory", self.memory)
        ports = ("--port", "0", "--webui-port", "0", "--work-dir", str(self.folder / "work"))
        return self._daemon(
            f"worker-{self._started}", "org.apache.spark.deploy.worker.Worker", *size, *ports, self.master
        )

    def _registered(self, process: subprocess.Popen[bytes], log: Path) -> subprocess.Popen[bytes]:
        await_line(log, r"Successfully registered with master")
        return process

    def _daemon(self, name: str, main: str, *arguments: str) -> tuple[subprocess.Popen[bytes], Path]:
        import pyspark

        home, java = Path(pyspark.__file__).parent, find_java()
        environment = {
            "SPARK_HOME": str(home),
            "JAVA_HOME": str(java.home),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_DAEMON_MEMORY": "512m",
            "SPARK_DAEMON_JAVA_OPTS": " ".join(["-XX:TieredStopAtLevel=1", *cds.options(java)]),
        }
        path = self.folder / f"{name}.log"
        command = [home / "bin" / "spark-class", main, "--host", "127.0.0.1", *arguments]
        with open(path, "wb") as log:
            process = subprocess.Popen(command, env=os.environ | environment, cwd=self.folder, stdout=log, stderr=log)
        self._processes.append(process)
        return process, path


def await_line(log: Path, pattern: str, patience: float = PATIENCE) -> str:
    """Wait so many seconds until a log says something; the last group of the pattern, or all of it."""
    until = time.monotonic() + patience
    while time.monotonic() < until:
        if found := re.search(pattern, log.read_text(errors="replace")):
            return found[found.lastindex or 0]
        time.sleep(0.1)
    raise TimeoutError(f"{pattern!r} did not come up in {log.name}:\n{log.read_text(errors='replace')[-3000:]}")


def end(process: subprocess.Popen[bytes] | subprocess.Popen[str]) -> None:
    """Kill a process of ours and all that it started, by their ids."""
    if process.poll() is None:
        family = _descendants(process.pid)  # before the parent is gone and they belong to nobody
        process.kill()
        for pid in family:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    process.wait()
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


def _descendants(root: int) -> list[int]:
    children: dict[int, list[int]] = {}
    listing = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    for line in listing.splitlines():
        pid, parent = map(int, line.split())
        children.setdefault(parent, []).append(pid)
    found, waiting = [], [root]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found
