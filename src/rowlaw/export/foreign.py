r"""Rules that other discovery tools wrote: Desbordante's and Metanome's notation.

>>> print(*[r.rule for r in read_foreign("¬{ t.A == s.A ∧ t.B != s.B }\n[A, C] -> B")], sep="\n")
not (s.A = t.A and s.B != t.B)
fd (A, C) -> B

One rule in a line:

- Desbordante's denial constraints, whose rows may be ``t0`` and ``t1``: ``!(s.A == t.A and s.B != t.B)`` or
  ``¬{ t.A == s.A }``
- keys and functional dependencies of both: ``[A, B]``, ``[A B] -> C``
- Desbordante's canonical order dependencies, columns by number from 1: ``{1} : [] -> 2<=``, ``{1} : 2<= ~ 3>=``
- Metanome's order dependencies: ``[A]~>[<=,lex][B]``
- Metanome's results, one JSON document in a line: ``{"type": "FunctionalDependency", ...}``

Metanome's short files, in which a head numbers the columns, are read too. What cannot be read is an error that points
at the place. Both tools take nulls as equal, and so does the rule set.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rowlaw.errors import Place, RowlawError, nearest
from rowlaw.export.metanome import order_rules, rules_of
from rowlaw.export.names import Names
from rowlaw.rules import (
    Column,
    Constant,
    Denial,
    FunctionalDependency,
    Key,
    NamedRule,
    Nulls,
    Op,
    Operand,
    OrderCompatible,
    Predicate,
    Rule,
    RuleSet,
    literals,
)

_OPERATORS = {op.symbol: op for op in Op} | {"==": Op.EQ, "<>": Op.NE, "≠": Op.NE, "≤": Op.LE, "≥": Op.GE}
_DENIAL = re.compile(r"(?:!|¬|not\b)\s*([({\[])(.*)([)}\]])$", re.IGNORECASE | re.DOTALL)
_CLOSING = {"(": ")", "{": "}", "[": "]"}
_AND = re.compile(r"\s*(?:∧|\^|&&?)\s*|\s+and\s+", re.IGNORECASE)
_ROW = re.compile(r"\s*(s|t0|t1|t)\s*\.\s*", re.IGNORECASE)
_OPERATOR = re.compile(r"\s*(==|!=|<>|<=|>=|=|<|>|≠|≤|≥)\s*")
_KEY = re.compile(r"\[(.*)\]$")
_FUNCTIONAL = re.compile(r"\[(.*)\]\s*(?:->|→)\s*\[?(.*?)\]?$")
_NUMBERED_FUNCTIONAL = re.compile(r"([\d,]*)\s*->\s*(\d+)$")
_NUMBERS = re.compile(r"([\d,]+)$")
_ORDER = re.compile(r"\[?([^\]~]*)\]?\s*~?~>\s*\[(<=|<),(lex|pnt)\]\s*\[?([^\]]*)\]?$")
_CONSTANT = re.compile(r"\{(.*)\}\s*:\s*\[\]\s*->\s*(.+?)(?:<=|>=)?$")
_COMPATIBLE = re.compile(r"\{(.*)\}\s*:\s*(.+?)(<=|>=)?\s*~\s*(.+?)(<=|>=)?$")
_HEADS = {"# tables": "tables", "# column": "columns", "# columns": "columns", "# results": "results"}


def import_rules(
    path: str | os.PathLike[str], *, columns: Sequence[str] | None = None, nulls: Nulls = "equal"
) -> RuleSet:
    """The rules of a file that Desbordante or Metanome wrote.

    ``columns`` are the names of the table's columns, in order: needed where the file numbers them, and good against
    misread names.
    """
    file = os.fspath(path)
    try:
        with open(file, encoding="utf-8-sig") as stream:
            text = stream.read()
    except FileNotFoundError:
        folder = os.path.dirname(file) or "."
        known = os.listdir(folder) if os.path.isdir(folder) else []
        raise RowlawError("NO_SUCH_FILE", path=file, hint=nearest(os.path.basename(file), known)) from None
    except UnicodeDecodeError:
        raise RowlawError("BAD_FILE", path=file, problem="not valid UTF-8") from None
    except OSError as error:
        raise RowlawError("BAD_FILE", path=file, problem=f"cannot be read: {error.strerror}") from None
    return read_foreign(text, columns=columns, nulls=nulls, file=file)


def read_foreign(
    text: str, *, columns: Sequence[str] | None = None, nulls: Nulls = "equal", file: str | None = None
) -> RuleSet:
    """The rules of a text, one in a line; empty lines and lines that begin with ``#`` or ``//`` are left out."""
    rules: list[Rule] = []
    names = Names(tuple(columns) if columns is not None else None)
    section = "results"
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if stripped.casefold() in _HEADS:
            section = _HEADS[stripped.casefold()]
        elif section != "results" and stripped:
            names = names.with_entry(section, stripped, Place(line, 0, len(line), file, number))
        elif stripped and not stripped.startswith(("#", "//")):
            rules += _Line(line, names, file, number).rules()
    return RuleSet(tuple(NamedRule(f"R{n}", rule) for n, rule in enumerate(dict.fromkeys(rules), 1)), nulls)


@dataclass(frozen=True, slots=True)
class _Line:
    """One line of a file; offsets are into ``text``."""

    text: str
    names: Names
    file: str | None
    number: int

    def place(self, start: int, end: int) -> Place:
        return Place(self.text, start, max(end, start + 1), self.file, self.number)

    def fail(self, problem: str, start: int, end: int) -> RowlawError:
        return RowlawError("RULE_SYNTAX", self.place(start, end), problem=problem)

    def rules(self) -> Iterator[Rule]:
        text = self.text.rstrip()
        start = len(text) - len(text.lstrip())
        if text.startswith("{", start) and '"type"' in text:
            yield from self._json(start, len(text))
            return
        match = _DENIAL.match(text, start)
        if match:
            yield self._denial(match)
        elif text[start : start + 1] in ("!", "¬"):
            raise self.fail("a denial constraint stands in brackets: !(s.A == t.A and s.B != t.B)", start, len(text))
        elif match := _ORDER.match(text, start):
            left, right = list(self.list_of(match, 1)), list(self.list_of(match, 4))
            yield from order_rules(left, right, self._whole, strict=match[2] == "<", pointwise=match[3] == "pnt")
        elif match := _CONSTANT.match(text, start):
            yield FunctionalDependency.written(tuple(self.list_of(match, 1, first=1)), self.name(match, 2, first=1))
        elif match := _COMPATIBLE.match(text, start):
            opposite = (match[3] == ">=") != (match[5] == ">=")
            context = tuple(self.list_of(match, 1, first=1))
            yield OrderCompatible(context, self.name(match, 2, first=1), self.name(match, 4, first=1), opposite)
        elif match := _FUNCTIONAL.match(text, start) or _NUMBERED_FUNCTIONAL.match(text, start):
            yield FunctionalDependency.written(tuple(self.list_of(match, 1)), self.name(match, 2))
        elif match := _KEY.match(text, start) or (_NUMBERS.match(text, start) if self.names.numbered else None):
            if not match[1].strip():
                raise self.fail("a key needs at least one column", start, len(text))
            yield Key.written(tuple(self.list_of(match, 1)))
        else:
            expected = (
                "expected !(s.A == t.A), [A, B], [A] -> B, {A} : B ~ C, [A]~>[<=,lex][B] or a result of "
                "Metanome in JSON"
            )
            raise self.fail(expected, start, len(text))

    def _whole(self, problem: str) -> RowlawError:
        return self.fail(problem, 0, len(self.text))

    def _json(self, start: int, end: int) -> Iterator[Rule]:
        try:
            document = json.loads(self.text[start:end])
        except json.JSONDecodeError as error:
            raise self.fail(f"this is not JSON: {error.msg}", start + error.pos, start + error.pos + 1) from None
        yield from rules_of(document, lambda name: self.names.resolve(name, self.place(start, end)), self._whole)

    def name(self, match: re.Match[str], group: int, first: int = 0) -> str:
        if not match[group].strip():
            raise self.fail("a column name is missing", *match.span(group))
        return self.names.resolve(match[group].strip(), self.place(*match.span(group)), first)

    def list_of(self, match: re.Match[str], group: int, first: int = 0) -> Iterator[str]:
        start = match.start(group)
        for begin, end in self.names.split(match[group]):
            name = match[group][begin:end].strip()
            if not name:
                raise self.fail("a column name is missing", start + begin, start + end)
            yield self.names.resolve(name, self.place(start + begin, start + end), first)

    def _denial(self, match: re.Match[str]) -> Denial:
        if _CLOSING[match[1]] != match[3]:
            raise self.fail(f"'{match[1]}' is closed by '{match[3]}'", match.start(3), match.end(3))
        at, end = match.span(2)
        predicates = []
        for piece, start in _pieces(match[2], at):
            predicates.append(self._predicate(piece, start))
        if not predicates:
            raise self.fail("a denial constraint needs at least one comparison", at, end)
        return Denial.written(predicates)

    def _predicate(self, piece: str, start: int) -> Predicate:
        operators = list(_OPERATOR.finditer(piece))
        if len(operators) != 1:
            problem = (
                "a comparison is missing"
                if not operators
                else "there is more than one comparison; is an 'and' missing?"
            )
            raise self.fail(problem, start, start + len(piece))
        middle = operators[0]
        left = self._operand(piece[: middle.start()], start)
        right = self._operand(piece[middle.end() :], start + middle.end())
        if isinstance(left, Constant) and isinstance(right, Constant):
            raise self.fail("two literals are compared; one side must be a column", start, start + len(piece))
        if left == right:
            raise self.fail(f"{left} is compared with itself", start, start + len(piece))
        op = _OPERATORS[middle[1]]
        return Predicate(left, op, right) if isinstance(left, Column) else Predicate(right, op.swapped, left)  # type: ignore[arg-type]

    def _operand(self, text: str, start: int) -> Operand:
        row = _ROW.match(text)
        shown = text.strip()
        place = self.place(start, start + len(text))
        if row:
            if row.end() == len(text.rstrip()):
                raise RowlawError("RULE_SYNTAX", place, problem="a column name is missing after the dot")
            name = self.names.resolve(text[row.end() :].strip(), place)
            return Column("s" if row[1].casefold() in ("s", "t0") else "t", name)
        if len(shown) > 1 and shown[0] in "'\"" and shown[-1] == shown[0]:
            return Constant(shown[1:-1])
        value = literals.number(shown)
        if value is None:
            raise RowlawError("RULE_SYNTAX", place, problem="expected s.column, t.column, a number or a text in quotes")
        return Constant(value)


def _pieces(text: str, at: int) -> Iterator[tuple[str, int]]:
    """The parts between the conjunctions, with their offsets."""
    start = 0
    for match in _AND.finditer(text):
        yield text[start : match.start()], at + start
        start = match.end()
    if text[start:].strip() or start:
        yield text[start:], at + start
