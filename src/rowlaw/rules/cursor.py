"""Walking the tokens of rule text: names, operands and literals, and errors that point at their place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from rowlaw.errors import RowlawError
from rowlaw.rules import literals
from rowlaw.rules.model import Column, Constant, Operand, Predicate, Row
from rowlaw.rules.tokens import RuleText, Token, shown

MAX_ITEMS = 1000  # predicates or columns: far beyond any rule that a person can read
_LONGEST_HINT = 40  # characters of a name that an error suggests


@dataclass(frozen=True, slots=True)
class Mention:
    """A column name in a rule's text, and where it stands."""

    name: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """A predicate as written, and where it stands. The rule itself may merge or turn it."""

    predicate: Predicate
    start: int
    end: int


class Cursor:
    """Walks the tokens once; each method reads one construct and leaves ``at`` behind it."""

    def __init__(self, source: RuleText, tokens: list[Token], construct: str = "rule") -> None:
        self.source = source
        self.construct = construct  # what the whole text is, for error messages
        self.tokens = tokens
        self.at = 0
        self.primed = any(t.kind == "prime" for t in tokens)
        self.mentions: list[Mention] = []
        self.comparisons: list[Comparison] = []

    def names(self, close: str, empty: bool = True) -> list[str]:
        names: list[str] = []
        if empty and self.peek.text == close:
            self.next()
            return names
        while True:
            names.append(self.name())
            self.limit(len(names), "columns")
            if self.take_one(close, ",", expected=f"{close!r} or ','").text == close:
                return names

    def name(self) -> str:
        """A column name. Keywords are names here: nothing else can stand in this place."""
        token = self.next()
        # a number is a name only when it is all digits: `1.5` and `1e5` are too easily something else
        if token.kind not in ("word", "name") and not (token.kind == "number" and token.text.isdigit()):
            hints = {"text": "; put the name in backticks, without quotes", "number": "; put the name in backticks"}
            self.fail("a column name", token, hints.get(token.kind, ""))
        name = token.text if token.kind == "number" else str(token.value)
        self.mentions.append(Mention(name, token.start, token.end))
        return name

    def operand(self) -> Operand:
        token = self.next()
        word = token.text.casefold() if token.kind == "word" else ""
        if token.kind == "prime" or word in ("s", "t"):
            return self.column(token)
        if token.kind in ("number", "text"):
            return Constant(token.value)  # type: ignore[arg-type]
        if word in ("true", "false"):
            return Constant(word == "true")
        if word in ("date", "timestamp"):
            return self.moment(word)
        if word == "null":
            problem = "null cannot be compared; write s.column is null, or is not null"
            self.source.fail(problem, token.start, token.end)
        hint = (
            f"; write s.{token.text} or t.{token.text}"
            if token.kind in ("word", "name") and len(token.text) <= _LONGEST_HINT
            else ""
        )
        return self.fail("s.column, t.column or a literal", token, hint)

    def column(self, row: Token) -> Column:
        if self.primed and row.text.casefold() == "s":
            self.source.fail(
                "this rule mixes the rows s and t'; call the rows s and t, or t and t'", row.start, row.end
            )
        self.take(".")
        name = self.name()
        plain: Row = "s" if row.text.casefold() == "s" else "t"
        return Column(plain if not self.primed else "t" if row.kind == "prime" else "s", name)

    def moment(self, word: str) -> Constant:
        token = self.next()
        if token.kind != "text":
            self.fail(f"a text literal after {word!r}", token)
        text = str(token.value)
        value = literals.date(text) if word == "date" else literals.timestamp(text)
        if value is None:
            place = self.source.place(token.start, token.end)
            raise RowlawError(
                "BAD_LITERAL", place, literal=shown(text), type=word, hint=f"; write it as '{literals.EXAMPLES[word]}'"
            )
        return Constant(value)

    @property
    def peek(self) -> Token:
        return self.tokens[self.at]

    def next(self) -> Token:
        token = self.tokens[self.at]
        if token.kind != "end":  # the end is never passed
            self.at += 1
        return token

    def take(self, text: str, expected: str = "", hint: str = "") -> Token:
        return self.take_one(text, expected=expected or repr(text), hint=hint)

    def take_one(self, *texts: str, expected: str, hint: str = "") -> Token:
        """The next token, which must be one of these punctuation marks."""
        token = self.next()
        if token.kind != "punct" or token.text not in texts:
            self.fail(expected, token, hint)
        return token

    def limit(self, size: int, unit: str) -> None:
        if size > MAX_ITEMS:
            last = self.tokens[self.at - 1]
            place = self.source.place(last.start, last.end)
            raise RowlawError(
                "RULE_TOO_LONG", place, size=f"more than {MAX_ITEMS:,}", unit=unit, limit=f"{MAX_ITEMS:,}"
            )

    def fail(self, expected: str, token: Token, hint: str = "") -> NoReturn:
        hint = hint or self._backticks(token)
        instead = f"the end of the {self.construct}" if token.kind == "end" else shown(token.text)
        self.source.fail(f"expected {expected}, found {instead}{hint}", token.start, token.end)

    def _backticks(self, token: Token) -> str:
        """The hint about a column name with a dot or a blank, if the token that was just taken may be inside one."""
        if self.at < 3 or self.tokens[self.at - 3].kind != "punct" or self.tokens[self.at - 2].kind != "word":
            return ""
        before, after = self.tokens[self.at - 2], self.peek
        if token.text == "." and after.kind in ("word", "number"):
            name = f"{before.text}.{after.text}"
        elif token.kind == "word" and after.kind in ("op", "punct", "end"):
            name = f"{before.text} {token.text}"
        else:
            return ""
        return f"; if the column is called {name!r}, write `{name}`" if len(name) <= _LONGEST_HINT else ""
