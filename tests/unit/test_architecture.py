"""The pages on architecture name every package and every module, and nothing that is not there."""

import re
from pathlib import Path

import pytest

import rowlaw

ROOT = Path(rowlaw.__file__).parent
DOCS = Path(__file__).parents[2] / "docs"
PACKAGES = sorted(p.parent.name for p in ROOT.glob("*/__init__.py"))
LONG = 500  # lines; what is longer says why


@pytest.mark.parametrize("package", PACKAGES)
def test_page_of_a_package(package):
    page = (DOCS / "architecture" / f"{package}.md").read_text()
    modules = {p.name for p in (ROOT / package).glob("*.py") if p.name != "__init__.py"}
    named = set(re.findall(r"`(?:\w+/)*(\w+\.py)`", page))
    assert modules <= named, "modules without a place on the page"
    everywhere = {p.name for p in ROOT.rglob("*.py")} | {p.name for p in DOCS.parent.glob("tests/**/*.py")}
    assert named <= everywhere, "modules that are not there"


def test_overview_names_every_package():
    text = (DOCS / "architecture.md").read_text()
    assert set(re.findall(r"architecture/(\w+)\.md", text)) == set(PACKAGES)
    for package, module in re.findall(r"`(\w+)/(\w+\.py)`", text):
        folder = DOCS.parent / "tests" if package == "tests" else ROOT / package
        assert (folder / module).exists(), f"{package}/{module}"


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.py")), ids=lambda p: str(p.relative_to(ROOT)))
def test_long_modules_say_why(path):
    text = path.read_text()
    if text.count("\n") > LONG:
        assert "One module" in text.split('"""')[1], (
            f"{path.name} is long: cut it, or let its docstring say why it is 'One module'"
        )
