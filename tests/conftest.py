"""Settings for all tests."""

import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Workers of Spark import functions from the modules of tests, wherever the session was started.
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH"))))

# What runs in the background of a script may have been told to ignore Ctrl-C, and would tell so the commands that tests
# start and stop.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# No deadline: a test never depends on the time it takes. In CI the same examples are tried every time, and fewer of
# them; `make torture` tries many more.
settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", parent=settings.get_profile("default"), derandomize=True, max_examples=60)
settings.load_profile("ci" if os.environ.get("CI") else "default")

LONGEST = ("tests/cluster/", "tests/spark/", "tests/browser/", "tests/property/")  # folders of the longest files


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest files, so that no process is left with one of them when the others have nothing to do."""
    items.sort(key=lambda item: [not item.nodeid.startswith(folder) for folder in LONGEST])
