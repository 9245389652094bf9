"""What README and docs say is run: every Python example in them."""

import doctest
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_examples_run(page):
    text = page.read_text().replace("```", "\n")  # a fence would be read as expected output
    parser = doctest.DocTestParser()
    test = parser.get_doctest(text, {}, page.name, str(page), 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    runner.run(test)
    assert runner.summarize(verbose=False).failed == 0


def test_pages_that_are_linked_exist():
    for page in PAGES:
        for target in page.read_text().split("](")[1:]:
            name = target.split(")")[0].split("#")[0]
            assert not name or name.startswith("http") or (page.parent / name).exists(), f"{page}: {name}"
