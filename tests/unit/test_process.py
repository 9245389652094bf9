"""The process of a command spares itself imports, compiling and taking itself apart, and answers as ever
(``cli/process.py``)."""

import ast
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

import rowlaw
from rowlaw.progress import Progress, compiling

SOURCE = Path(rowlaw.__file__).parent
PEOPLE = "id,zip,city\n1,07030,Hoboken\n2,07030,Hobken\n3,10001,New York\n"

AT_THE_END = """
import atexit, sys
sys.argv = ["rowlaw", *sys.argv[1:]]
def end():
    import threading
    loaded = sorted({"pandas", "pyspark", "numba.typed.typeddict"} & sys.modules.keys())
    print("|", loaded, threading.active_count(), end=" ")
    import pyarrow as pa
    print(list(pa.table({"a": [1]}).to_pandas()["a"]), "pandas" in sys.modules)
atexit.register(end)
from rowlaw.cli import main
main()
"""


@pytest.fixture
def people(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text(PEOPLE)
    return path


def run(code, *arguments, **environment):
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **environment})


def test_a_command_imports_what_it_needs_and_pandas_is_there_for_who_asks(people):
    arguments = ("check", people, "--rule", "fd (zip) -> city", "--format", "csv")
    run(AT_THE_END, *arguments)  # may compile
    found = run(AT_THE_END, *arguments)
    answer, _, told = found.stdout.partition("|")
    assert answer.splitlines()[1].startswith("R1,fd,broken,2,2,")
    # exit functions run, once threads are done, and what is printed arrives
    assert told.split(maxsplit=1) == ["[]", "1 [1] True\n"]
    assert found.returncode == 1
    assert re.fullmatch(r"rowlaw: local engine: \d+ bytes are read into this process\n", found.stderr)


def test_a_time_limit_does_not_count_the_time_before_the_command(people):
    """A program that has run for minutes may call the command line."""
    long_before = "import sys, time\nstart = time.monotonic()\ntime.monotonic = lambda: start\nimport rowlaw.cli\n"
    later = "start += 1000\nsys.argv[0] = 'rowlaw'\nfrom rowlaw.cli.app import main\nmain()\n"
    found = run(long_before + later, "discover", people, "--time-limit", "600", "--format", "csv", "--quiet")
    assert found.returncode == 0, found.stderr
    assert len(found.stdout.splitlines()) > 1
    assert found.stderr == ""


def test_discovery_needs_neither_pandas_nor_spark(people):
    found = run(AT_THE_END, "discover", people, "--format", "csv", "--quiet")
    assert found.returncode == 0, found.stderr
    assert "key (id)" in found.stdout
    assert "pandas" not in found.stdout
    assert "pyspark" not in found.stdout


def test_rowlaw_never_imports_pandas():
    """An import of pandas that seems to come from rowlaw is pyarrow's: the process of a command relies on it."""
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = (
                [a.name for a in node.names]
                if isinstance(node, ast.Import)
                else [node.module]
                if isinstance(node, ast.ImportFrom)
                else []
            )
            assert not {name.split(".")[0] for name in names if name} & {"pandas"}, path


@pytest.mark.parametrize(
    ("ends", "code", "said"),
    [("sys.exit(3)", 3, ""), ("sys.exit()", 0, ""), ("sys.exit('why')", 1, "why\n"), ("pass", 0, "")],
)
def test_exit_codes_are_those_of_python(ends, code, said):
    replaced = f"""
import sys, types
app = types.ModuleType("rowlaw.cli.app")
def main():
    print("all of it")
    {ends}
app.main = main
sys.modules["rowlaw.cli.app"] = app
from rowlaw.cli import main
main()
"""
    found = run(replaced)
    assert (found.returncode, found.stdout, found.stderr) == (code, "all of it\n", said)


KERNEL = """
import sys
import numpy as np
import rowlaw.kernels.compiling as compiling
seen = []
compiling.compiling = seen.append
from rowlaw.kernels.text import sort_texts
order = sort_texts(np.frombuffer(b"cab", np.uint8), np.arange(4))
print(order.tolist(), seen, "numba.typed.typeddict" in sys.modules)
"""


def test_a_kernel_is_compiled_once_and_then_read_without_the_compiler(tmp_path):
    first, second = (run(KERNEL, NUMBA_CACHE_DIR=str(tmp_path)).stdout for _ in range(2))
    assert first == "[1, 2, 0] [1, -1] True\n"
    assert second == "[1, 2, 0] [] False\n"


def test_who_waits_for_the_compiler_is_told(capsys, monkeypatch):
    monkeypatch.setattr("rowlaw.progress.PATIENCE", 0.0)

    def shown():
        with Progress().phase("check"):
            deadline = time.monotonic() + 30
            while not (text := capsys.readouterr().err) and time.monotonic() < deadline:
                time.sleep(0.01)
        return text

    compiling(1)
    try:
        assert shown() == "rowlaw: check, compiling kernels (once) ...\n"
    finally:
        compiling(-1)
    assert shown() == "rowlaw: check ...\n"


def test_any_thread_ends_the_process():
    """Ctrl-C is heard by two threads; when the one that is not the main thread was first, the process did not end."""
    code = """
import threading, time
from rowlaw.cli.process import end_now
threading.Thread(target=end_now, args=("stopped", 7)).start()
time.sleep(60)
"""
    found = run(code)
    assert (found.returncode, found.stderr) == (7, "stopped\n")
