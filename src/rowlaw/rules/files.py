"""Rule files: YAML that people write and programs keep.

>>> import pathlib, tempfile
>>> path = pathlib.Path(tempfile.mkdtemp(), "laws.yaml")
>>> save(RuleSet.of({"K": "key (id)", "Z": "fd (zip) -> city"}), path)
>>> print(path.read_text().rstrip())
version: 1
nulls: unknown
rules:
  K: key (id)
  Z: fd (zip) -> city
>>> load(path)["Z"].kind
'fd'

A rule is its text, or a map of ``rule`` with ``severity``, ``tolerate``, ``because`` and what discovery measured. A
list of texts will do too. Every problem is an error with file and line. Saving replaces the file in one step, so that a
reader sees the old rules or the new.

Reference: docs/reference/files.md.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import fields
from typing import Any

from rowlaw.errors import RowlawError, nearest
from rowlaw.output import write_text
from rowlaw.rules.cursor import MAX_ITEMS
from rowlaw.rules.parse import parse, parse_located
from rowlaw.rules.ruleset import MAX_ID, NamedRule, RuleSet
from rowlaw.rules.yaml_tree import Node, fail, flow, read, scalar

_VERSION = 1
# bytes: discovery may find a hundred thousand rules, but a table given by mistake is not read to its end
MAX_SIZE = 1 << 28

_TOP = ("version", "nulls", "predicates", "rules")
_FACTS = ("severity", "tolerate", "because", "error", "support", "score", "selected")
_DEFAULTS = {f.name: f.default for f in fields(NamedRule)}


def load(path: str | os.PathLike[str]) -> RuleSet:
    """The rules of a YAML file."""
    file = os.fspath(path)
    top = read(_text(file), file)
    if top.is_null:
        fail(file, None, "the file is empty; expected 'rules:' and the rules below it")
    entries = _entries(top, _TOP, file, "the file")
    if "rules" not in entries:
        fail(file, top.line, "there is no 'rules:'")
    version = entries.get("version")
    if version is not None and version.value != _VERSION:
        fail(
            file,
            version.line,
            f"version must be {_VERSION}, the only one that this rowlaw reads, not {flow(version.value)}",
        )
    nulls = entries.get("nulls")
    if nulls is not None and nulls.value not in ("unknown", "equal"):
        fail(file, nulls.line, f"nulls must be unknown or equal, not {flow(nulls.value)}")
    settings = entries.get("predicates")
    if settings is not None and settings.kind != "map":
        fail(file, settings.line, "predicates must be a map of settings")
    return RuleSet(
        tuple(_rules(entries["rules"], file)),
        "unknown" if nulls is None else nulls.value,
        {} if settings is None else {k: v.value for k, v in _entries(settings, None, file, "predicates").items()},
    )


def _text(file: str) -> str:
    try:
        with open(file, "rb") as stream:
            data = stream.read(MAX_SIZE + 1)
    except FileNotFoundError:
        folder = os.path.dirname(file) or "."
        known = os.listdir(folder) if os.path.isdir(folder) else []
        raise RowlawError("NO_SUCH_FILE", path=file, hint=nearest(os.path.basename(file), known)) from None
    except OSError as error:
        fail(file, None, f"cannot be read: {error.strerror}")
    if len(data) > MAX_SIZE:
        fail(file, None, f"the file is larger than {MAX_SIZE:,} bytes; split it")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        fail(file, data.count(b"\n", 0, error.start) + 1, "not valid UTF-8")


def _entries(node: Node, known: tuple[str, ...] | None, file: str, what: str) -> dict[str, Node]:
    """The map's values by key; duplicate keys and, where ``known`` is given, unknown ones are errors."""
    if node.kind != "map":
        fail(file, node.line, f"{what} must be a map" + (f" with the keys {', '.join(known)}" if known else ""))
    entries: dict[str, Node] = {}
    lines: dict[str, int] = {}
    for key, value in node.pairs:
        if key.kind != "scalar":
            fail(file, key.line, f"a key of {what} must be text")
        if known is not None and key.text not in known:
            fail(
                file,
                key.line,
                f"{what} cannot have the key "
                f"{key.text!r}{nearest(key.text, known) or '; expected ' + ', '.join(known)}",
            )
        if key.text in entries:
            if what == "rules":
                where = f", in lines {lines[key.text]} and {key.line} of {file}"
                raise RowlawError("DUPLICATE_RULE_ID", id=key.text, where=where)
            fail(file, key.line, f"the key {key.text!r} was given before, in line {lines[key.text]}")
        entries[key.text] = value
        lines[key.text] = key.line
    return entries


def _rules(node: Node, file: str) -> Iterable[NamedRule]:
    if node.is_null:
        fail(file, node.line, "'rules:' has nothing below it; write 'rules: {}' for no rules")
    if node.kind == "scalar":
        fail(file, node.line, "rules must be a map from ids to rules, or a list of rules")
    entries = (
        {f"R{n}": item for n, item in enumerate(node.items, start=1)}
        if node.kind == "list"
        else _entries(node, None, file, "rules")
    )
    for id, entry in entries.items():
        yield _rule(id, entry, file)


def _rule(id: str, node: Node, file: str) -> NamedRule:
    what = f"rule {id!r}"
    facts: dict[str, Node] = {}
    text = node
    if node.kind != "scalar":
        facts = _entries(node, ("rule", *_FACTS), file, what)
        if "rule" not in facts:
            fail(file, node.line, f"{what} has no text; give it as 'rule:'")
        text = facts.pop("rule")
    if text.kind != "scalar" or text.is_null:
        fail(file, text.line, f"{what} has no text")
    parsed = parse_located(text.text, file, text.text_line, id)
    values = {name: _fact(name, fact, file, what) for name, fact in facts.items()}
    try:
        return NamedRule(id, parsed.rule, origin=parsed, **values)
    except RowlawError as error:
        line = facts[error.parameters["field"]].line if error.parameters["field"] in facts else node.line
        fail(file, line, error.message)


def _fact(name: str, node: Node, file: str, what: str) -> Any:
    if node.kind != "scalar":
        fail(file, node.line, f"{what}: {name} must be one value")
    # a reason may read like a number; only a missing one is not text
    return node.text if name == "because" and not node.is_null else node.value


def save(rules: RuleSet, path: str | os.PathLike[str]) -> None:
    """Write a rule set to a YAML file, which :func:`load` gives back exactly; the same rules always give the same
    bytes."""
    write_text(path, "".join(line + "\n" for line in _lines(rules, os.fspath(path))))


def _lines(rules: RuleSet, file: str) -> Iterable[str]:
    yield f"version: {_VERSION}"
    yield f"nulls: {rules.nulls}"
    if rules.settings:
        yield "predicates:"
        for key, value in rules.settings.items():
            if not (isinstance(key, str) and 0 < len(key) <= MAX_ID and key.isprintable()):
                fail(file, None, f"the name of a setting must be 1 to {MAX_ID} printable characters, not {key!r}")
            try:
                yield f"  {scalar(key)}: {flow(value)}"
            except TypeError as error:
                fail(file, None, f"the setting {key!r}: {error}")
    yield "rules:" if rules.rules else "rules: {}"
    for rule in rules:
        text = str(rule.rule)
        if len(text) > MAX_ITEMS:  # perhaps beyond what `load` accepts: better an error now
            parse(text)
        facts = [(name, value) for name in _FACTS if (value := getattr(rule, name)) != _DEFAULTS[name]]
        if not facts:
            yield f"  {scalar(rule.id)}: {scalar(text)}"
            continue
        yield f"  {scalar(rule.id)}:"
        yield f"    rule: {scalar(text)}"
        for name, value in facts:
            yield f"    {name}: {scalar(value) if isinstance(value, str) else flow(value)}"
