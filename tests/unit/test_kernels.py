"""Kernels say what their arrays are, and run without compilation."""

import importlib
import inspect
import os
import pkgutil
import re
import subprocess
import sys

import numpy as np
import pytest

import rowlaw.kernels
import rowlaw.search
from rowlaw.kernels import arrays

ARRAYS = {name for name in vars(arrays) if name.endswith("Array")}


def _kernels():
    for package in (rowlaw.kernels, rowlaw.search):
        for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            for name, value in vars(importlib.import_module(module.name)).items():
                function = getattr(value, "py_func", None)
                if function is not None and function.__module__ == module.name:
                    yield pytest.param(function, id=f"{module.name.removeprefix('rowlaw.')}.{name}")


KERNELS = list(_kernels())


def test_there_are_kernels():
    assert len(KERNELS) > 150


@pytest.mark.parametrize("kernel", KERNELS)
def test_every_array_is_explained(kernel):
    """Each array is named in the docstring, or the docstring refers to the kernel that explains it."""
    text = kernel.__doc__ or ""
    assert re.match(r"[A-Z][a-z]+ ", text), "a docstring starts with a verb"
    borrowed = re.findall(r":func:`([\w.]+)`", text)
    for name, parameter in inspect.signature(kernel).parameters.items():
        if parameter.annotation in ARRAYS:
            assert borrowed or re.search(rf"``[^`]*\b{name}\b[^`]*``", text), f"{name} is not explained"


PLAIN = """
import numpy as np
from rowlaw.search.bitsets import pack, unpack
from rowlaw.search.hypergraph import Hypergraph
from rowlaw.search.search import minimal_hitting_sets
import rowlaw, inspect
from rowlaw.search import lists
assert inspect.isfunction(lists.advance)
print(sorted(unpack(minimal_hitting_sets(Hypergraph(pack([[0, 1], [1, 2], [2, 3], [0, 3]], 4), 4)).sets)))
table = {"a": [1, 1, 2, 2], "b": [1, 2, 3, 4], "c": [4, 3, 2, 1]}
import pyarrow as pa
rules = ["fd (a) -> b", "not (s.b < t.b and s.c > t.c)", "not (s.a = t.a and s.b < t.b and s.c > t.c)"]
print(list(rowlaw.check(pa.table(table), rules, progress=False).counts.values()))
"""


def test_kernels_run_without_compilation():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PLAIN],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["[[0, 2], [1, 3]]", "[4, 6, 2]"]


def test_a_record_is_read_and_written_by_name():
    from rowlaw.kernels.divide import NODE

    stack = np.zeros(2, NODE)
    stack[1].s_from = 7
    assert stack["s_from"].tolist() == [0, 7]
