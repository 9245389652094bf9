r"""YAML as a tree that remembers lines, and scalars written so that they come back the same.

>>> tree = read("rules:\n  R1: key (a)\n", "laws.yaml")
>>> [(k.text, v.line) for k, v in tree.pairs[0][1].pairs]
[('R1', 2)]
>>> scalar("key (a, b)"), scalar("yes"), scalar("a: b")
('key (a, b)', "'yes'", "'a: b'")

Built from the parser's events rather than with ``yaml.compose``: composing recurses (in C, where a deep file ends the
process) and follows aliases, which let a small file stand for a huge one. Here depth is limited and anchors are
refused. Linear time.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NoReturn

from rowlaw.errors import RowlawError

_MAX_DEPTH = 20  # rule files need four

_INTEGER = re.compile(r"[-+]?[0-9]{1,400}")
_FLOAT = re.compile(r"[-+]?(?:[0-9]{1,400}\.?[0-9]{0,400}|\.[0-9]{1,400})(?:[eE][-+]?[0-9]{1,9})?")
_WORDS: dict[str, Any] = {"": None, "~": None, "null": None, "true": True, "false": False, ".nan": math.nan}
_WORDS |= {".inf": math.inf, "+.inf": math.inf, "-.inf": -math.inf}
# Words that some YAML reader takes for a boolean or for null.
_RESERVED = frozenset({"true", "false", "yes", "no", "on", "off", "y", "n", "null"})
_PLAIN = frozenset("_ .,()[]{}=<>!+-/~`'")


@dataclass(slots=True)
class Node:
    """A scalar's text, a list's items or a map's pairs, and the line where it begins."""

    kind: Literal["scalar", "list", "map"]
    line: int
    text: str = ""
    style: str | None = None  # of a scalar: None is plain
    items: list[Node] = field(default_factory=list)

    @property
    def pairs(self) -> list[tuple[Node, Node]]:
        return list(zip(self.items[::2], self.items[1::2], strict=True))

    @property
    def is_null(self) -> bool:
        return self.kind == "scalar" and self.style is None and self.text.lower() in ("", "~", "null")

    @property
    def text_line(self) -> int:
        """The line on which the text begins: below the mark, in a block scalar."""
        return self.line + (self.style in ("|", ">"))

    @property
    def value(self) -> Any:
        """The Python value: numbers, booleans and null only where the text is plain, as in YAML 1.2."""
        if self.kind == "list":
            return [item.value for item in self.items]
        if self.kind == "map":
            return {key.text: value.value for key, value in self.pairs}
        if self.style is not None:
            return self.text
        if self.text.lower() in _WORDS:
            return _WORDS[self.text.lower()]
        if _INTEGER.fullmatch(self.text):
            return int(self.text)
        return float(self.text) if _FLOAT.fullmatch(self.text) else self.text


def read(text: str, file: str) -> Node:
    """The tree of the one document in ``text``; an empty document is an empty scalar."""
    import yaml

    bad = yaml.reader.Reader.NON_PRINTABLE.search(text)
    if bad:
        fail(file, text.count("\n", 0, bad.start()) + 1, f"the character {bad.group()!r} is not allowed in YAML")
    top = Node("list", 1)
    open_nodes = [top]
    try:
        for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            line = event.start_mark.line + 1 if event.start_mark is not None else 1
            if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
                fail(
                    file,
                    line,
                    "anchors and aliases (& and *) are not allowed; write the value out, or quote it if it is text",
                )
            if isinstance(event, yaml.DocumentStartEvent) and top.items:
                fail(file, line, "the file has more than one document; keep one")
            if isinstance(event, yaml.CollectionEndEvent):
                open_nodes.pop()
            elif isinstance(event, yaml.ScalarEvent):
                open_nodes[-1].items.append(Node("scalar", line, event.value, event.style or None))
            elif isinstance(event, yaml.CollectionStartEvent):
                node = Node("map" if isinstance(event, yaml.MappingStartEvent) else "list", line)
                open_nodes[-1].items.append(node)
                open_nodes.append(node)
                if len(open_nodes) > _MAX_DEPTH:
                    fail(file, line, f"values are nested more than {_MAX_DEPTH} deep")
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        fail(file, mark.line + 1 if mark else None, f"not valid YAML: {getattr(error, 'problem', None) or error}")
    return top.items[0] if top.items else Node("scalar", 1)


def fail(file: str, line: int | None, problem: str) -> NoReturn:
    raise RowlawError("RULE_FILE", file=file, where=f":{line}" if line else "", problem=problem)


def scalar(text: str) -> str:
    """Text as a YAML scalar in a block: plain where every reader takes it for text, else quoted."""
    plain = (
        text[:1].isalpha()
        and text[-1] != " "
        and text.lower() not in _RESERVED
        and all(c.isalnum() or c in _PLAIN for c in text)
    )
    return text if plain else _quoted(text)


def flow(value: object) -> str:
    """A value in one line; raises TypeError for what YAML's plain types cannot hold."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        return _float(float(value))
    if isinstance(value, str):
        return value if value.isascii() and value.isalpha() and value.lower() not in _RESERVED else _quoted(value)
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(flow, value)) + "]"
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return "{" + ", ".join(f"{flow(k)}: {flow(v)}" for k, v in value.items()) + "}"
    raise TypeError(f"{type(value).__name__} cannot be written to a rule file")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'" if text.isprintable() else '"' + "".join(map(_escaped, text)) + '"'


def _escaped(c: str) -> str:
    if c in '"\\':
        return "\\" + c
    if c.isprintable() or "\ud800" <= c <= "\udfff":  # half a surrogate pair is left to fail when the file is encoded
        return c
    code = ord(c)
    return {"\n": "\\n", "\t": "\\t"}.get(c) or (
        f"\\x{code:02X}" if code < 256 else f"\\u{code:04X}" if code < 65536 else f"\\U{code:08X}"
    )


def _float(value: float) -> str:
    if not math.isfinite(value):
        return ".nan" if math.isnan(value) else ".inf" if value > 0 else "-.inf"
    digits, e, exponent = repr(value).partition("e")
    # YAML 1.1 wants a point before an exponent
    return digits + (".0" if e and "." not in digits else "") + e + exponent
