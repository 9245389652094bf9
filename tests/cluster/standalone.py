"""A real Spark cluster on this machine: a standalone master and workers as processes of their own, from the pip package, on loopback."""

import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path
from typing import Self

from rowlaw.spark import cds
from rowlaw.spark.java import find_java
from rowlaw.spark.session import session

PATIENCE = 90  # seconds for a process to come up on a busy machine
CONF = {
    "spark.driver.host": "127.0.0.1",
    "spark.executor.memory": "700m",
    "spark.sql.shuffle.partitions": "4",
    # Begin only when every executor is there, or the first one does all of a small job.
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "60s",
}


class Cluster:
    """Master and workers while in the `with` block; `master` is the URL.

    A process has room for one Spark context, and the tests of the same process may have a local one. So a test gives its driver as
    Python text: `run` executes it in a process of its own and gives back what it printed last, as JSON.

        cluster.run("spark = session(); print(json.dumps(spark.range(10).count()))")
    """

    def __init__(self, workers: int = 2, cores: int = 1, memory: str = "2g") -> None:
        self.size, self.cores, self.memory = workers, cores, memory
        self.master = ""
        self.folder = Path()
        self.workers: list[subprocess.Popen] = []
        self._processes: list[subprocess.Popen] = []
        self._started = 0

    def __enter__(self) -> Self:
        self.folder = Path(tempfile.mkdtemp(prefix="rowlaw-cluster-"))
        try:
            # Port 0 lets the system choose, so two clusters never meet; the log says which port it was.
            _, log = self._daemon("master", "org.apache.spark.deploy.master.Master", "--port", "0", "--webui-port", "0")
            self.master = _await(log, r"Starting Spark master at (spark://\S+)")
            _await(log, r"elected leader")
            launched = [self._launch_worker() for _ in range(self.size)]
            self.workers = [self._registered(*one) for one in launched]
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for process in reversed(self._processes):
            _end(process)
        shutil.rmtree(self.folder, ignore_errors=True)

    def kill_worker(self, i: int) -> None:
        """End worker `i` and its executors without a word, as a machine that loses power would."""
        _end(self.workers[i])

    def restart_worker(self, i: int) -> None:
        """Put a new worker in the place of a killed one, so that the next test finds the cluster whole."""
        self.workers[i] = self._registered(*self._launch_worker())

    def session(self, **conf: str):
        """A session of this very process, which must have no other; settings as `session(**{"spark.executor.memory": "1g"})`."""
        before = os.environ.get("PYSPARK_SUBMIT_ARGS")
        os.environ["PYSPARK_SUBMIT_ARGS"] = self._submit_args(conf)
        try:
            return session(master=self.master)
        finally:
            if before is None:
                del os.environ["PYSPARK_SUBMIT_ARGS"]
            else:
                os.environ["PYSPARK_SUBMIT_ARGS"] = before

    def start(self, text: str, *, conf: dict[str, str] | None = None, **environment: str) -> "Driver":
        """Run the driver `text` in the background. It finds `json`, `os` and `session` (no arguments: this cluster) imported."""
        self._started += 1
        file = self.folder / f"driver-{self._started}.py"
        file.write_text(
            "import json, os\n"
            "import rowlaw.spark.session as _session\n"
            f"def session():\n    return _session.session(master={self.master!r})\n" + textwrap.dedent(text)
        )
        settings = {"PYSPARK_SUBMIT_ARGS": self._submit_args(conf or {}), "SPARK_LOCAL_IP": "127.0.0.1", "ROWLAW_CDS": "use"}
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        process = subprocess.Popen([sys.executable, str(file)], env=os.environ | settings | environment, cwd=self.folder, **pipes)
        self._processes.append(process)
        return Driver(process)

    def run(self, text: str, *, conf: dict[str, str] | None = None, timeout: float = 200, **environment: str):
        """What the driver `text` printed in its last line, as JSON."""
        return self.start(text, conf=conf, **environment).result(timeout)

    def _submit_args(self, conf: dict[str, str]) -> str:
        # The last word on settings of a session that rowlaw starts; see rowlaw.spark.launch.
        java = " ".join(["-XX:TieredStopAtLevel=1", *cds.options(find_java())])
        merged = {**CONF, "spark.cores.max": str(self.size * self.cores), "spark.executor.extraJavaOptions": java, **conf}
        return " ".join(f"--conf {shlex.quote(f'{name}={value}')}" for name, value in merged.items()) + " pyspark-shell"

    def _launch_worker(self) -> tuple[subprocess.Popen, Path]:
        self._started += 1
        size = ("--cores", str(self.cores), "--memory", self.memory)
        ports = ("--port", "0", "--webui-port", "0", "--work-dir", str(self.folder / "work"))
        return self._daemon(f"worker-{self._started}", "org.apache.spark.deploy.worker.Worker", *size, *ports, self.master)

    def _registered(self, process: subprocess.Popen, log: Path) -> subprocess.Popen:
        _await(log, r"Successfully registered with master")
        return process

    def _daemon(self, name: str, main: str, *arguments: str) -> tuple[subprocess.Popen, Path]:
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


class Driver:
    """A driver script that is running."""

    def __init__(self, process: subprocess.Popen) -> None:
        self.process = process

    def result(self, timeout: float = 200):
        """Wait for its end; its last line as JSON, and an assertion with all it said when it failed or wrote to standard error."""
        try:
            out, err = self.process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            _end(self.process)
            raise
        assert self.process.returncode == 0, f"the driver failed:\n{out}\n{err}"
        assert err == "", err
        return json.loads(out.splitlines()[-1])


def _await(log: Path, pattern: str) -> str:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        if found := re.search(pattern, log.read_text(errors="replace")):
            return found[found.lastindex or 0]
        time.sleep(0.1)
    raise TimeoutError(f"{pattern!r} did not come up in {log.name}:\n{log.read_text(errors='replace')[-3000:]}")


def _end(process: subprocess.Popen) -> None:
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
