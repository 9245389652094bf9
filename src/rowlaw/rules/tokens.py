"""Cutting rule text into tokens.

>>> [(t.kind, t.text) for t in tokenize("s.`a b` <> 1  # why")]
[('word', 's'), ('punct', '.'), ('name', '`a b`'), ('op', '<>'), ('number', '1'), ('end', '')]

One pass, each character is looked at a bounded number of times: linear time for any text.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NoReturn, TypeAlias

from rowlaw.errors import Place, RowlawError
from rowlaw.rules import literals

TokenKind: TypeAlias = Literal["word", "name", "number", "text", "op", "and", "not", "punct", "prime", "symbol", "end"]

_DIGITS = frozenset("0123456789")  # not str.isdecimal: other scripts' digits look alike and mean different numbers
_PUNCTUATION = frozenset("(){}[].,:~")
_OPERATOR_CHARACTERS = frozenset("<>=!&|")
_SINGLE: dict[str, TokenKind] = {"∧": "and", "¬": "not", "≠": "op", "≤": "op", "≥": "op"}
_RUNS: dict[str, TokenKind] = {"&": "and", **dict.fromkeys(("=", "==", "!=", "<>", "<", "<=", ">", ">="), "op")}
_PRIMES = frozenset("'’′")  # papers are pasted with any of them


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of rule text; ``value`` is the name, the text or the number that it stands for."""

    kind: TokenKind
    text: str
    start: int
    end: int
    value: object = None


@dataclass(frozen=True, slots=True)
class RuleText:
    """Where rule text comes from: what an error needs to point at it."""

    text: str
    file: str | None = None
    line: int | None = None
    rule: str | None = None

    def place(self, start: int, end: int) -> Place:
        return Place(self.text, start, end, file=self.file, line=self.line, rule=self.rule)

    def fail(self, problem: str, start: int, end: int) -> NoReturn:
        raise RowlawError("RULE_SYNTAX", self.place(start, end), problem=problem)


def tokenize(text: str, source: RuleText | None = None) -> list[Token]:
    """The tokens of a rule, with an ``end`` token after the last; comments and blanks are left out."""
    source = source or RuleText(text)
    tokens: list[Token] = []
    at, size = 0, len(text)
    while at < size:
        c = text[at]
        if c.isspace():
            at += 1
        elif c == "#":
            at = _skip(text, at, lambda c: c != "\n")
        else:
            token = _token(text, at, source, tokens[-1] if tokens else None)
            tokens.append(token)
            at = token.end
    tokens.append(Token("end", "", size, size))
    return tokens


def _token(text: str, at: int, source: RuleText, before: Token | None) -> Token:
    c = text[at]
    after_dot = before is not None and before.text == "." and before.kind == "punct"
    if c in "`'\"":
        return _quoted(text, at, source)
    if after_dot and _continues(c):
        # After a dot only a name can stand, so that columns called `1` or `2020_sales` need no backticks.
        end = _skip(text, at, _continues)
        return Token("word", text[at:end], at, end, text[at:end])
    if c in _DIGITS or (c in "+-" and text[at + 1 : at + 2] in _DIGITS):
        return _number(text, at, source)
    if c.isidentifier():
        end = _skip(text, at, _continues)
        if (
            text[at:end] in ("t", "T")
            and text[end : end + 1] in _PRIMES
            and text.startswith(".", _skip(text, end + 1, str.isspace))
        ):
            return Token("prime", text[at : end + 1], at, end + 1)
        return Token("word", text[at:end], at, end, text[at:end])
    if text.startswith("->", at):
        return Token("punct", "->", at, at + 2)
    if c in _PUNCTUATION:
        return Token("punct", c, at, at + 1)
    if c in _OPERATOR_CHARACTERS:
        # A whole run is one token, so that `<<` is reported as such and not as `<` followed by nonsense.
        end = _skip(text, at, _OPERATOR_CHARACTERS.__contains__)
        return Token(_RUNS.get(text[at:end], "symbol"), text[at:end], at, end)
    return Token(_SINGLE.get(c, "symbol"), c, at, at + 1)


def _quoted(text: str, at: int, source: RuleText) -> Token:
    mark = text[at]
    end = text.find(mark, at + 1)
    while end >= 0 and text[end + 1 : end + 2] == mark:  # a doubled mark stands for itself
        end = text.find(mark, end + 2)
    if end < 0:
        what = "the name in backticks" if mark == "`" else "the text literal"
        source.fail(f"{what} that begins here is never closed", at, at + 1)
    value = text[at + 1 : end].replace(mark * 2, mark)
    return Token("name" if mark == "`" else "text", text[at : end + 1], at, end + 1, value)


def _number(text: str, at: int, source: RuleText) -> Token:
    end = _skip(text, at + 1, _DIGITS.__contains__)
    if text[end : end + 1] == "." and text[end + 1 : end + 2] in _DIGITS:
        end = _skip(text, end + 1, _DIGITS.__contains__)
    if text[end : end + 1] in ("e", "E"):
        digits = end + 2 if text[end + 1 : end + 2] in ("+", "-") else end + 1
        if text[digits : digits + 1] in _DIGITS:
            end = _skip(text, digits, _DIGITS.__contains__)
    if end < len(text) and _continues(text[end]):
        end = _skip(text, end, _continues)
        source.fail(
            f"{shown(text[at:end])} is not a number; a column name that begins with a digit goes in backticks", at, end
        )
    value = literals.number(text[at:end])
    if value is None:
        hint = " that can be used: it has too many digits or too large an exponent"
        raise RowlawError("BAD_LITERAL", source.place(at, end), literal=shown(text[at:end]), type="number", hint=hint)
    return Token("number", text[at:end], at, end, value)


def _skip(text: str, at: int, accept: Callable[[str], bool]) -> int:
    while at < len(text) and accept(text[at]):
        at += 1
    return at


def _continues(c: str) -> bool:
    return ("a" + c).isidentifier()


def shown(text: str) -> str:
    """A piece of rule text as an error message quotes it: in one line and never long."""
    return repr(text) if len(text) <= 40 else repr(text[:37]) + "..."
