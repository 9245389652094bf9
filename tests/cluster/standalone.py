"""Drivers on the cluster of `benchmarks/standalone.py`: Python text, each in a process of its own."""

import json
import os
import subprocess
import sys
import textwrap

from benchmarks.standalone import Standalone, end
from tests.sessions import QUICK

# a driver lives for some seconds, and its tables are small: rows of four partitions, as both workers take part
SHORT = QUICK | {
    "spark.sql.adaptive.enabled": "true",  # as users have it: plans change while they run
    "spark.sql.shuffle.partitions": "4",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
}


class Cluster(Standalone):
    """Master and workers while in the `with` block, and drivers to run on them.

    A process has room for one Spark context, and the tests of the same process may have a local one. So a test gives
    its driver as Python text: `run` executes it in a process of its own and gives back what it printed last, as JSON.

        cluster.run("spark = session(); print(json.dumps(spark.range(10).count()))")
    """

    def start(self, text: str, *, conf: dict[str, str] | None = None, **environment: str) -> "Driver":
        """Run the driver `text` in the background. It finds `json`, `os` and `session` (no arguments: this cluster)
        imported."""
        self._started += 1
        file = self.folder / f"driver-{self._started}.py"
        file.write_text(
            "import json, os\n"
            "import rowlaw.spark.session as _session\n"
            f"def session():\n    return _session.session(master={self.master!r})\n" + textwrap.dedent(text)
        )
        settings = {"PYSPARK_SUBMIT_ARGS": self.submit_args(SHORT | (conf or {})), "SPARK_LOCAL_IP": "127.0.0.1"}
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        process = subprocess.Popen(
            [sys.executable, str(file)], env=os.environ | settings | environment, cwd=self.folder, **pipes
        )
        self._processes.append(process)
        return Driver(process)

    def run(self, text: str, *, conf: dict[str, str] | None = None, timeout: float = 200, **environment: str):
        """What the driver `text` printed in its last line, as JSON."""
        return self.start(text, conf=conf, **environment).result(timeout)


class Driver:
    """A driver script that is running."""

    def __init__(self, process: subprocess.Popen) -> None:
        self.process = process

    def result(self, timeout: float = 200):
        """Wait for its end; its last line as JSON, and an assertion with all it said when it failed or wrote to
        standard error."""
        try:
            out, err = self.process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            end(self.process)
            raise
        assert self.process.returncode == 0, f"the driver failed:\n{out}\n{err}"
        assert err == "", err
        return json.loads(out.splitlines()[-1])
