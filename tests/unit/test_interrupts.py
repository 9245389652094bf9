"""Ctrl-C: real processes, real signals. The first one gives what is proven, the second one ends at once; never a
traceback.

The signal is sent by the process itself when it reaches a place, so no test depends on how long anything takes.
"""

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pytest

import rowlaw
from rowlaw import interrupts

PEOPLE = "id,zip,city,age\n1,07030,Hoboken,40\n2,07030,Hoboken,50\n3,10001,New York,60\n4,10002,New York,70\n"
STOPPED = "stopped\n"
EARLY = "rowlaw: stopped early; the rules shown are proven, others may be missing\n"

# What a process does to itself: `at(module, name, action)` calls an action whenever a function is entered.
START = """
import functools, importlib, os, signal, sys, threading, time
sys.argv = ["rowlaw", *sys.argv[1:]]

def press():
    os.kill(os.getpid(), signal.SIGINT)

def at(module, name, action):
    owner = importlib.import_module(module)
    *path, name = name.split(".")
    for part in path:
        owner = getattr(owner, part)
    usual = getattr(owner, name)
    @functools.wraps(usual)
    def entered(*arguments, **options):
        action()
        return usual(*arguments, **options)
    setattr(owner, name, entered)

def in_phase(wanted, action):
    from rowlaw.progress import Progress
    usual = Progress.phase
    entered = []
    def phase(self, name, total=None):
        if name == wanted and not entered:  # a phase may be entered again, before a stop is heard
            entered.append(name)
            action()
        return usual(self, name, total)
    Progress.phase = phase

def press_and_wait():
    # the main thread handles the signal, when the system lets it run
    from rowlaw import interrupts
    press()
    while not interrupts._presses:
        time.sleep(0.01)

def press_twice():
    press_and_wait()  # the system joins signals that come before the first is delivered
    press()

def wait():
    time.sleep(600)

"""
END = "\nfrom rowlaw.cli import main\nmain()\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "people.csv").write_text(PEOPLE)
    (tmp_path / "more.csv").write_text("id,zip,city,age\n5,10001,New York,80\n")
    (tmp_path / "laws.yaml").write_text("rules:\n  R1: fd (zip) -> city\n")
    random = np.random.default_rng(5)
    numbers = random.integers(0, (3, 30, 300), (3_000, 3))
    columns = {f"c{i}": numbers[:, i % 3] + random.integers(0, 4, 3_000) for i in range(7)}
    pacsv.write_csv(pa.table(columns), tmp_path / "wide.csv")
    (tmp_path / "scratch").mkdir()
    return tmp_path


def run(folder, code, *arguments, check=True):
    environment = {**os.environ, "ROWLAW_SCRATCH": str(folder / "scratch")}
    command = [sys.executable, "-c", START + textwrap.dedent(code) + END, *map(str, arguments)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=folder, env=environment, timeout=250
    )
    if check:
        assert "Traceback" not in done.stderr, done.stderr
        assert "Error" not in done.stderr, done.stderr
    assert os.listdir(folder / "scratch") == []
    return done


def names(folder):
    return sorted(p.name for p in folder.iterdir())


NARROW = ("--columns", "c0,c1,c2,c4")  # for phases that follow a search for all rules
PHASES = [
    ("read", ()),
    ("sample", ("--strategy", "sample")),
    ("search", ("--strategy", "sample")),
    ("validate", ("--strategy", "sample", "--kinds", "key,fd,od")),
    ("complete", ("--strategy", "sample", "--kinds", "dc", *NARROW)),
    ("evidence", ("--strategy", "pairs", "--kinds", "dc")),
    ("differences", ("--strategy", "pairs", "--kinds", "key,fd")),
    ("validate on all rows", ("--strategy", "levels", "--kinds", "fd")),
    ("count", ("--error", "0.01", "--kinds", "fd")),
    ("rank", ()),
]


@pytest.mark.parametrize(("phase", "options"), PHASES, ids=[phase for phase, _ in PHASES])
def test_the_first_gives_what_is_proven(folder, phase, options):
    done = run(folder, f"in_phase({phase!r}, press)", "discover", "wide.csv", "--format", "json", "--quiet", *options)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    if phase == "rank":  # it was all found by then
        assert found["total"] == len(found["rules"]) > 0
        return
    assert (done.stderr, found["partial"]) == (EARLY, True)
    rules = [rule["rule"] for rule in found["rules"]]
    if "--error" not in options:
        assert not rules or set(rowlaw.check(str(folder / "wide.csv"), rules).counts.values()) == {0}


@pytest.mark.parametrize(("phase", "options"), PHASES, ids=[phase for phase, _ in PHASES])
def test_the_second_ends_at_once(folder, phase, options):
    code = f"""
        in_phase({phase!r}, lambda: (press_twice(), wait()))
    """
    done = run(folder, code, "discover", "wide.csv", "--quiet", *options)
    assert (done.returncode, done.stdout, done.stderr) == (3, "", STOPPED)


BUSY = {
    # Numba makes tuples and arrays of what a kernel returns, and an exception that comes up there became a SystemError
    "kernel": """
        def busy():
            from rowlaw.kernels.sample import note
            from rowlaw.kernels.signatures import new_table
            found, used = new_table(1 << 12, 1), 0
            signatures = np.arange(1000, dtype=np.uint64)[:, None]
            one = np.zeros(1, np.int64), np.zeros(1, bool)
            while True:
                found, used = note(found, used, signatures, *one, np.uint64(1))
    """,
    "threads": """
        def busy():
            from concurrent.futures import ThreadPoolExecutor
            with ThreadPoolExecutor(2) as pool:
                pool.submit(wait), pool.submit(wait)
    """,
    "interpreter": """
        def busy():
            while True:
                sorted(range(1000), key=lambda n: -n)
    """,
    "library": """
        def busy():
            while True:
                np.sort(np.random.default_rng(1).random(1_000_000))
    """,
}


@pytest.mark.parametrize("busy", BUSY)
def test_the_second_ends_at_once_whatever_runs(folder, busy):
    code = f"""
        import numpy as np
        {textwrap.indent(textwrap.dedent(BUSY[busy]), "        ").strip()}

        def begin():
            threading.Thread(target=press_twice, daemon=True).start()
            busy()
        in_phase("read", begin)
    """
    done = run(folder, code, "discover", "wide.csv", "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (3, "", STOPPED)


@pytest.mark.parametrize(
    "where",
    [
        "import atexit; atexit.register(lambda: (press(), wait()))",
        "at('threading', '_shutdown', lambda: (press(), wait()))",
        "at('rowlaw.cli.process', '_leave', lambda: (press(), wait()))",
    ],
    ids=["exit functions", "waiting for threads", "end"],
)
def test_at_the_end_of_the_process(folder, where):
    done = run(folder, where, "check", "people.csv", "--rule", "key (id)", "--format", "csv", "--quiet")
    assert (done.returncode, done.stderr) == (3, STOPPED)


COMMANDS = {
    "check": ("check", "people.csv", "laws.yaml", "--out", "told.txt", "--violations", "pairs.parquet", "--quiet"),
    "init": ("init", "people.state", "people.csv", "--row-id", "id", "--out", "told.txt", "--quiet"),
    "apply": ("apply", "kept.state", "--insert", "more.csv", "--out", "told.txt", "--quiet"),
    "report": ("report", "people.csv", "laws.yaml", "--out", "told.html", "--quiet"),
    "explain": ("explain", "people.csv", "fd (zip) -> city", "--out", "told.txt", "--quiet"),
    "discover": ("discover", "people.csv", "--rules", "told.yaml", "--quiet"),
}


@pytest.mark.parametrize("place", ["reading", "writing"])
@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "discover"])
def test_other_commands_end_at_once(folder, command, place):
    rowlaw.Laws.create(folder / "kept.state", str(folder / "people.csv"), row_id="id", progress=False)
    before = names(folder)
    where = {
        "reading": "at('rowlaw.source.read', 'open_source', lambda: None); at('rowlaw.source.csv', "
        "'CsvSplit.read', act)",
        "writing": "at('os', 'fsync', act)",  # of the draft of a file, or of a state
    }[place]
    done = run(folder, f"act = lambda: (press(), wait())\n{where}", *COMMANDS[command])
    assert (done.returncode, done.stdout, done.stderr) == (3, "", STOPPED)
    assert [name for name in names(folder) if name != "people.state"] == before  # a state without a manifest is none
    assert not (folder / "people.state" / "manifest.json").exists()
    assert rowlaw.Laws.open(folder / "kept.state").batch == 0
    if command == "init":  # what is there is no obstacle
        assert run(folder, "", *COMMANDS[command]).returncode == 0


@pytest.mark.parametrize(
    "command", [("explain", "people.csv", "R1"), ("report", "people.csv"), ("init", "people.state", "people.csv")]
)
def test_discovery_inside_of_other_commands_is_no_exception(folder, command):
    done = run(folder, "in_phase('search', lambda: (press(), wait()))", *command, "--quiet", "--out", "told.txt")
    assert (done.returncode, done.stdout, done.stderr) == (3, "", STOPPED)
    assert "told.txt" not in names(folder)


def test_the_second_leaves_nothing_half_written(folder):
    before = names(folder)
    done = run(folder, "at('os', 'fsync', lambda: (press_twice(), wait()))", *COMMANDS["discover"])
    assert (done.returncode, done.stdout, done.stderr) == (3, "", STOPPED)
    assert names(folder) == before


def test_the_first_while_rules_are_written_changes_nothing(folder):
    done = run(folder, "at('os', 'fsync', press_and_wait)", *COMMANDS["discover"])
    assert (done.returncode, done.stderr) == (0, "")
    assert len(rowlaw.load(folder / "told.yaml"))


def test_in_the_background_of_a_script_it_is_ignored(folder):
    """Shells say so to what they start with &; such a process goes on."""
    code = START + "in_phase('read', press)" + END
    command = [
        sys.executable,
        "-c",
        f"import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n{code}",
        "discover",
        "people.csv",
        "--quiet",
    ]
    done = subprocess.run([*command, "--format", "json"], capture_output=True, text=True, check=False, cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["partial"] is False


PYTHON = """
import pyarrow as pa, rowlaw
table = pa.table({"zip": [1, 1, 2, 3] * 50, "city": ["a", "a", "b", "c"] * 50, "n": range(200)})
handler = signal.getsignal(signal.SIGINT)
"""


@pytest.mark.parametrize("phase", ["read", "search", "rank"])
def test_python_gets_a_partial_result(tmp_path, phase):
    code = f"""{PYTHON}
in_phase({phase!r}, press)
found = rowlaw.discover(table, progress=False)
as_before = signal.getsignal(signal.SIGINT) is handler
while threading.active_count() > 1:  # a search that was stopped ends by itself
    time.sleep(0.01)
print(type(found).__name__, found.partial, as_before, signal.set_wakeup_fd(-1), threading.active_count())
try:
    press(); wait()
except KeyboardInterrupt:
    print("as before")
"""
    done = subprocess.run(
        [sys.executable, "-c", START + code], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert (done.stdout.splitlines(), done.stderr) == ([f"Discovery {phase != 'rank'} True -1 1", "as before"], "")


@pytest.mark.parametrize("busy", BUSY)
def test_python_gets_an_exception_from_the_second(tmp_path, busy):
    code = f"""{PYTHON}
import numpy as np
{textwrap.dedent(BUSY[busy])}
def begin():
    threading.Thread(target=press_twice, daemon=True).start()
    busy()
wait = lambda: time.sleep(1)
in_phase("read", begin)
try:
    rowlaw.discover(table, progress=False)
except KeyboardInterrupt:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    print("raised", flush=True)
os._exit(0)
"""
    done = subprocess.run(
        [sys.executable, "-c", START + code], capture_output=True, text=True, check=False, cwd=tmp_path, timeout=250
    )
    assert (done.stdout, done.stderr) == ("raised\n", "")


def test_listeners_are_asked_the_latest_first():
    heard = []

    def listener(name, takes):
        return lambda: heard.append(name) or takes

    assert not interrupts.press()
    with interrupts.listening(listener("outer", True)), interrupts.listening(listener("inner", False)):
        os.kill(os.getpid(), signal.SIGINT)
    assert heard == ["inner", "outer"]

    def pressed():
        os.kill(os.getpid(), signal.SIGINT)
        threading.Event().wait(60)

    with pytest.raises(KeyboardInterrupt), interrupts.unheard(), interrupts.listening(listener("inside", True)):
        pressed()
    assert heard == ["inner", "outer"]
    assert not interrupts.press()


def test_a_kernel_hears_while_the_main_thread_is_inside_of_it():
    """Python calls handlers only between two steps of its own; a thread hears at once and sets the flag that kernels
    look at."""
    code = """
import numba, numpy as np, os, signal, threading, time
from rowlaw.deadline import Deadline

@numba.njit(nogil=True)
def until(flag, steps):
    while not flag[0]:
        steps[0] += 1  # as kernels do: without a write the compiler would look only once

until(np.ones(1, np.uint8), np.zeros(1, np.uint8))
deadline = Deadline()
with deadline.interruptible():
    threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
    until(deadline.flag, np.zeros(1, np.uint8))
print(deadline.stopped, deadline.interrupted)
"""
    assert subprocess.check_output([sys.executable, "-c", code], text=True, timeout=250) == "True True\n"


def test_a_press_that_another_thread_gets():
    """The system may deliver the second signal to any thread, and the main thread waits for a lock: it still ends."""
    code = """
import os, signal, threading, time
from rowlaw import interrupts
lock = threading.Lock()
lock.acquire()

def press_here():
    time.sleep(0.5)  # until the main thread waits
    signal.pthread_kill(threading.get_ident(), signal.SIGINT)
    time.sleep(60)

with interrupts.heard(lambda *_: os._exit(7)):
    threading.Thread(target=press_here, daemon=True).start()
    lock.acquire()
"""
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 7
