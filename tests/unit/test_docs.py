"""What README and docs say is run: every code block in them (tests/pages.py says how)."""

import ast
import importlib
import importlib.util
import json
import random
import re

import pytest
import yaml

import rowlaw
from rowlaw.spark.session import session
from tests import pages
from tests.pages import PAGES, ROOT
from tests.sessions import quick


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_code_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    if "SparkSession.builder" not in page.read_text():
        pages.run(page, tmp_path)
        return
    with quick(session(short=True)):  # with workers that run this Python: what a builder of PySpark finds
        pages.run(page, tmp_path)


def test_figures_are_written_into_the_pages(tmp_path):
    from benchmarks import pages as writer

    (tmp_path / "how-to").mkdir()
    page = tmp_path / "how-to" / "speed.md"
    page.write_text("Before.\n\n<!-- growth -->\n\nAfter.\n")
    results = tmp_path / "results"
    results.mkdir()
    (results / "growth-rows.svg").write_text('<svg width="10"><text>1 s</text></svg>')
    assert writer.write(tmp_path, results) == [page]
    text = page.read_text()
    assert text.startswith(
        "Before.\n\n<!-- growth -->\n\n![Growth with rows](../pictures/benchmarks/growth-with-rows.svg)"
    )
    assert text.endswith("<!-- /growth -->\n\nAfter.\n")
    assert "background:#fff" in (tmp_path / "pictures/benchmarks/growth-with-rows.svg").read_text()
    assert writer.write(tmp_path, results) == []  # nothing new


def links(page):
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    for target in text.split("](")[1:]:
        yield target.split(")")[0].split("#")[0]


def test_pages_that_are_linked_exist():
    for page in PAGES:
        for name in links(page):
            assert not name or name.startswith("http") or (page.parent / name).exists(), f"{page}: {name}"


def site():
    class Loader(yaml.SafeLoader):
        """Reads a site's settings without importing what they name."""

    Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda loader, suffix, node: suffix)
    return yaml.load((ROOT / "mkdocs.yml").read_text(), Loader)


def nav(entries):
    for entry in entries:
        if isinstance(entry, str):
            yield entry
        else:
            for below in entry.values():
                yield from nav([below] if isinstance(below, str) else below)


def test_every_page_is_in_the_site():
    written = {str(p.relative_to(ROOT / "docs")) for p in PAGES if (ROOT / "docs") in p.parents}
    listed = list(nav(site()["nav"]))
    assert "decisions/README.md" in listed  # docs/hooks/decisions.py adds the others
    assert sorted(listed) == sorted(page for page in written if not page.startswith("decisions/0"))


def test_every_decision_is_in_their_list():
    folder = ROOT / "docs/decisions"
    assert set(links(folder / "README.md")) == {page.name for page in folder.glob("0*.md")}


def test_the_site_is_made_and_shown_without_a_network():
    theme = site()["theme"]
    assert theme["font"] is False
    for folder in (ROOT / "docs").rglob("*"):
        if folder.suffix in (".svg", ".css", ".md"):
            assert not re.search(r"""(?:src|href|url)\s*[=(]\s*["']?https?://""", folder.read_text()), folder


def is_module(path):
    try:
        return importlib.util.find_spec(path) is not None
    except ModuleNotFoundError:  # its parent is no package
        return False


def test_the_reference_names_what_there_is():
    text = (ROOT / "docs/reference/python.md").read_text()
    named = set(re.findall(r"^::: ([\w.]+)", text, re.MULTILINE))
    for path in named:
        module, _, name = path.rpartition(".")
        assert getattr(importlib.import_module(module), name).__doc__, path
        assert not is_module(path), f"{path} is a module too, and the page would show that"
    public = {getattr(rowlaw, name) for name in rowlaw.__all__ if name != "__version__"}
    shown = {getattr(importlib.import_module(path.rpartition(".")[0]), path.rpartition(".")[2]) for path in named}
    assert public <= shown, [thing.__name__ for thing in public - shown]


def test_no_figure_on_the_page_of_benchmarks_is_typed_by_hand():
    text = (ROOT / "docs/benchmarks.md").read_text()
    assert "<!-- figures -->" in text
    text = re.sub(r"<!-- (\w+) -->.*?<!-- /\1 -->", "", text, flags=re.DOTALL)  # written by python -m benchmarks.pages
    assert not re.search(r"\d(\.\d+)? ?(s|ms|seconds|times|MB|MiB|GiB)\b", text)


# The grammar of the rule language, as docs/rules.md shows it: what it makes is what the parser reads.


def grammar():
    (block,) = [b for b in pages.blocks(ROOT / "docs/rules.md") if b.language == "ebnf"]
    text = re.sub(r"\(\*.*?\*\)", "", block.text, flags=re.DOTALL)
    found = {}
    for rule in re.split(r";\s*\n", text):
        if rule.strip():
            name, _, body = rule.partition("=")
            found[name.strip()] = re.findall(r'"[^"]*"|\w+|[|{}\[\]()]', body)
    return found


def sentence(grammar, name, chance, depth=0):
    tokens = iter([*grammar[name], "end"])

    def alternatives(close):
        """One of the alternatives up to a closing sign, chosen at random."""
        found, part = [], []
        for token in tokens:
            if token == close:
                return chance.choice([*found, part])
            if token == "|":
                found.append(part)
                part = []
            elif token in "([{":
                inner = {"(": ")", "[": "]", "{": "}"}[token]
                made = alternatives(inner)
                times = {"(": 1, "[": chance.randint(0, 1), "{": chance.randint(0, 2)}[token]
                part = part + made * times
            else:
                part = [*part, token]
        raise AssertionError(f"{close} is missing")

    words = []
    for token in alternatives("end"):
        words.append(token[1:-1] if token.startswith('"') else sentence(grammar, token, chance, depth + 1))
    glued = name in ("column", "number", "text", "backticked")
    return ("" if glued else " ").join(words)


def test_what_the_grammar_makes_is_what_the_parser_reads():
    rules = grammar()
    chance = random.Random(0)
    made = [sentence(rules, "rule", chance) for _ in range(600)]
    kinds = {type(rowlaw.parse(text)).__name__ for text in made if not _left_out(text)}
    assert kinds == {"Denial", "Key", "FunctionalDependency", "OrderCompatible", "OrderDependency"}
    for text in filter(_left_out, made):
        with pytest.raises(rowlaw.RowlawError, match="compared with itself|two literals"):
            rowlaw.parse(text)


def _left_out(text):
    """What only the grammar's comments forbid: comparisons of two literals, or of a column with itself."""
    parts = (
        re.sub(r"between (\S+) and", r"between \1 to", text).removeprefix("not ( ").split(" and ")
        if text.startswith("not")
        else []
    )
    compared = [
        found.groups()
        for part in parts
        if (found := re.fullmatch(r"(.+?) (?:=|!=|<|<=|>|>=|==|<>) (.+?)(?: \))?", part))
    ]
    return any(left == right or not (is_column(left) or is_column(right)) for left, right in compared)


def is_column(operand):
    return operand.startswith(("s.", "t."))


def test_the_grammar_names_only_what_it_defines():
    rules = grammar()
    for body in rules.values():
        for token in body:
            assert token[0] in '"|{}[]()' or token in rules, token


def test_examples_in_docs_import_what_is_public():
    for page in PAGES:
        for block in pages.blocks(page):
            if block.language == "python":
                source = "\n".join(line[4:] for line in block.text.splitlines() if line.startswith((">>> ", "... ")))
                for node in ast.walk(ast.parse(source)):
                    if (
                        isinstance(node, ast.Attribute)
                        and isinstance(node.value, ast.Name)
                        and node.value.id == "rowlaw"
                    ):
                        assert node.attr in rowlaw.__all__ or node.attr == "errors", f"{page}: rowlaw.{node.attr}"


def test_figures_are_read_from_the_results(tmp_path):
    spec = importlib.util.spec_from_file_location("figures", ROOT / "docs/hooks/figures.py")
    figures = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(figures)
    peer = {"label": "peer", "median_seconds": 4.0, "ratio": {"value": 0.25, "bound": None}, "answers_agree": True}
    late = {"label": "late", "timeout_seconds": 60.0, "ratio": {"value": 0.0167, "bound": "<"}, "answers_agree": None}
    case = {"name": "keys", "size": 1000, "contenders": [{"label": "rowlaw", "median_seconds": 1.0}, peer, late]}
    machine = {"cores": 2, "cpu": "Z80", "memory_gib": 1, "python": "3.12", "packages": {"rowlaw": "0.1.0"}}
    found = {
        "target": "key",
        "when": "2024-01-01",
        "repeat": 3,
        "machine": machine,
        "comparisons": [case],
        "growth": ["linear"],
    }
    (tmp_path / "summary.json").write_text(json.dumps({"key": found}))
    shown = figures.figures(tmp_path)
    assert "| keys | 1,000 | 1 s | peer | 4 s | 0.25 | agree |" in shown
    assert "| keys | 1,000 | 1 s | late | more than 60 s | < 0.017 | not compared |" in shown
    assert figures.on_page_markdown("before <!-- figures -->").startswith("before ###")  # of the results that are kept
