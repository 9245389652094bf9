"""The session of the tests in this folder, and a way to run a script in a Python of its own.

`spark` is one local session for all tests of the process, started by rowlaw itself. What concerns the start of a
session, the environment or the end of a process is tested with `script`, which runs Python text in a fresh process.
"""

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable

import pytest

from rowlaw.spark.session import session
from tests.sessions import quick

Script = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def spark():
    found = session(short=True)  # thousands of small queries
    yield found
    found.stop()


@pytest.fixture(scope="module")
def quick_spark(spark):
    """The session, which interprets queries while the tests of a file run: on few rows, compiling a query takes longer
    than running it."""
    with quick(spark) as interpreting:
        yield interpreting


@pytest.fixture
def script(tmp_path) -> Script:
    """Runs Python text as a file; `without` names variables of the environment to leave out, keywords set others."""

    def run(
        text: str, *, without: tuple[str, ...] = (), command: tuple[str, ...] = (sys.executable,), **environment: str
    ):
        file = tmp_path / "script.py"
        file.write_text(textwrap.dedent(text))
        kept = {name: value for name, value in os.environ.items() if name not in without}
        return subprocess.run(
            [*command, str(file)],
            env=kept | environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )

    return run


NUMBA_JOB = """
    import json
    from rowlaw.spark.session import session

    def squares(batches):
        import numba, os, pyarrow as pa, sys
        square = numba.njit(lambda x: x * x)
        print("noise of a worker", file=sys.stderr)
        print("more of it")
        for batch in batches:
            a = square(batch["a"].to_numpy().astype("int64"))
            facts = [sys.executable, os.environ["NUMBA_CACHE_DIR"]]
            yield pa.record_batch({"a": a, "python": [facts[0]] * len(a), "cache": [facts[1]] * len(a)})

    with open("table.csv", "w") as file:
        file.write("a,b\\n1,x\\n2,y\\n3,z\\n")
    spark = session()
    table = spark.read.csv("table.csv", header=True, inferSchema=True)
    rows = table.mapInArrow(squares, "a long, python string, cache string").collect()
    seen = {name: sorted({row[name] for row in rows}) for name in ("a", "python", "cache")}
    print(json.dumps(seen))
"""


@pytest.fixture
def numba_job() -> str:
    """A script that reads a CSV file, squares a column with Numba in the workers, and prints what it saw as one JSON
    document."""
    return NUMBA_JOB
