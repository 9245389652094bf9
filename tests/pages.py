"""The code blocks of README and docs, and how each is run.

- ``python``: an example as doctest has it; all of a page share their names and a folder.
- ``console``: ``$ rowlaw ...`` is run in the same folder and its output compared, where ``...`` stands for anything;
  ``$ echo $?`` shows how it ended.
- ``csv``, ``yaml``, ``json`` with a ``title``: a file of that name in the folder. A rule file has to load.
- ``rules``: each line is a rule that parses. ``ebnf``: a grammar; every sentence made from it parses.
- ``sh``: what cannot be run here. Commands of rowlaw have to be understood, make has to know its targets, pip's extras
  have to exist.

``python -m tests.pages PAGE...`` writes what commands print now into the ``console`` blocks that no longer say it; look
at the difference.
"""

import contextlib
import doctest
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path

import typer.main
import yaml

import rowlaw
from rowlaw.cli.app import app, main

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
_FENCE = re.compile(r"^( *)```([\w-]*) *(.*?)\n(.*?)^\1```", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    page: Path
    line: int
    language: str
    title: str | None
    text: str


def blocks(page):
    text = page.read_text()
    for found in _FENCE.finditer(text):
        indent, language, rest, body = found.groups()
        title = re.search(r'title="([^"]*)"', rest)
        lines = [line.removeprefix(indent) for line in body.splitlines()]
        yield Block(page, text[: found.start()].count("\n") + 1, language, title and title[1], "\n".join(lines) + "\n")


def run(page, folder):
    """Run a page's blocks in order, in a folder."""
    names = {"__name__": "__main__"}
    code = 0
    for block in blocks(page):
        where = f"{page.relative_to(ROOT)}:{block.line}"
        match block.language:
            case "python":
                _python(block, names, where)
            case "console":
                code = _console(block, where, code)
            case "csv" | "yaml" | "json":
                assert block.title, f"{where}: a file needs a title"
                (folder / block.title).parent.mkdir(parents=True, exist_ok=True)
                (folder / block.title).write_text(block.text)
                if block.language == "yaml" and "rules" in yaml.safe_load(block.text):
                    rowlaw.load(folder / block.title)
            case "rules":
                for line in block.text.splitlines():
                    rowlaw.parse(line)
            case "ebnf":
                pass  # test_docs makes sentences from it
            case "sh":
                for line in block.text.splitlines():
                    _understood(shlex.split(line, comments=True), where)
            case _:
                raise AssertionError(f"{where}: nobody runs {block.language!r}")


def _python(block, names, where):
    test = doctest.DocTestParser().get_doctest(block.text, names, where, str(block.page), block.line)
    test.globs = names  # doctest would work on a copy
    assert test.examples, f"{where}: an example begins with >>>"
    told = io.StringIO()
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    runner.run(test, out=told.write, clear_globs=False)
    assert not runner.summarize(verbose=False).failed, told.getvalue()


def _console(block, where, code):
    """Commands and what they print."""
    for command, wanted in _commands(block.text):
        shown, code = _shown(command, where, code)
        assert _as_wanted(wanted, shown), f"{where}: {command}\nexpected:\n{wanted}\nfound:\n{shown}"
    return code


def _commands(text):
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, wanted = part.partition("\n")
        yield command, wanted.rstrip("\n") + "\n" if wanted.strip() else ""


def _shown(command, where, code):
    if command == "echo $?":
        return f"{code}\n", code
    shown, told, code = rowlaw_command(command, where)
    return shown or told, code


def _as_wanted(wanted, shown):
    """Whether a command printed what the page says; a page that says nothing does not care."""
    return not wanted or doctest.OutputChecker().check_output(wanted, shown, OPTIONS)


def rewrite(page):
    """Put what commands print now where the page says something else."""
    text, code = page.read_text(), 0
    for block in blocks(page):
        if block.language == "console":
            lines = []
            for command, wanted in _commands(block.text):
                shown, code = _shown(command, page.name, code)
                plain = re.sub(r"\b\d+\.\d+ s\b", "... s", re.sub(r'"seconds": {[^}]*}', '"seconds": {...}', shown))
                lines += [f"$ {command}\n", wanted if _as_wanted(wanted, shown) else plain]
            text = text.replace(block.text, "".join(lines))
        elif block.language in ("csv", "yaml", "json"):
            Path(block.title).parent.mkdir(parents=True, exist_ok=True)
            Path(block.title).write_text(block.text)
    page.write_text(text)


def rowlaw_command(command, where):
    """Run the command line in this process: starting one for each example would take most of the time."""
    words = shlex.split(command)
    assert words[0] in ("rowlaw", "cat"), f"{where}: {command}"
    if words[0] == "cat":
        return Path(words[1]).read_text(), "", 0
    out, told, before, code = io.StringIO(), io.StringIO(), sys.argv, 0
    sys.argv = words
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(told):
            main()
    except SystemExit as end:
        code = end.code or 0
    finally:
        sys.argv = before
    return out.getvalue(), told.getvalue(), code


def _understood(words, where):
    while words and re.fullmatch(r"[A-Z_]+=\S*", words[0]):  # the environment of the command
        words = words[1:]
    match words:
        case []:
            pass
        case ["make", *targets]:
            subprocess.run(["make", "--dry-run", *targets], cwd=ROOT, check=True, capture_output=True)
        case ["pip", "install", *wanted] | ["python", "-m", "pip", "install", *wanted]:
            extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
            for package in wanted:
                named = re.fullmatch(r"rowlaw(?:\[([\w,]+)\])?|-e|\.", package)
                assert named, f"{where}: {package}"
                assert all(extra in extras for extra in (named[1] or "").split(",") if extra), f"{where}: {package}"
        case [".venv/bin/python", "-m", "pytest", *options]:
            assert all((ROOT / word).exists() for word in options if word.startswith("tests/")), f"{where}: {options}"
        case ["git", "clone", *_] | ["cd", *_]:
            pass
        case ["rowlaw", name, *rest]:
            command = typer.main.get_command(app).commands[name]
            command.make_context(name, [os.path.expandvars(word) for word in rest])
        case _:
            raise AssertionError(f"{where}: {' '.join(words)} is not understood")


if __name__ == "__main__":
    os.environ["COLUMNS"] = "120"
    for name in map(Path.resolve, map(Path, sys.argv[1:])):
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            rewrite(name)
