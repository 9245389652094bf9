"""Rule text to rule: a hand-written parser that never evaluates what it reads.

>>> str(parse("NOT (t.zip == t'.zip & t.city <> t'.city)"))
'not (s.zip = t.zip and s.city != t.city)'
>>> parse("fd (zip) -> city").kind
'fd'
>>> parse("key (zip")
Traceback (most recent call last):
rowlaw.errors.RowlawError: RULE_SYNTAX: expected ')' or ',', found the end of the rule
  | key (zip
  |         ^

Linear time and constant stack: the grammar has no nesting, so neither has the parser. A text beyond ``MAX_LENGTH``
characters or ``MAX_ITEMS`` predicates or columns is refused.

The grammar is in docs/rules.md. In the papers' notation rows are called ``t`` and ``t'``; a rule that uses ``t'`` is read that way,
with ``t`` as our ``s``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NoReturn

from rowlaw.errors import RowlawError
from rowlaw.rules import literals
from rowlaw.rules.model import (
    Column,
    Constant,
    Denial,
    FunctionalDependency,
    Key,
    Op,
    Operand,
    OrderCompatible,
    OrderDependency,
    Predicate,
    Row,
    Rule,
    SortColumn,
)
from rowlaw.rules.tokens import RuleText, Token, shown, tokenize

MAX_LENGTH = 64 * 1024  # characters: a thousand predicates with long names fit
MAX_ITEMS = 1000  # predicates or columns: far beyond any rule that a person can read

_OPERATORS = {op.symbol: op for op in Op} | {"==": Op.EQ, "<>": Op.NE, "≠": Op.NE, "≤": Op.LE, "≥": Op.GE}
_START = "'not (', 'key (', 'fd (', 'od {' or 'od ['"


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


@dataclass(frozen=True, slots=True)
class Parsed:
    """A rule with the places of its parts, so that later errors can point at them."""

    rule: Rule
    source: RuleText
    mentions: tuple[Mention, ...]
    comparisons: tuple[Comparison, ...] = ()  # of a denial constraint; the other kinds compare a column with itself


def parse(text: str) -> Rule:
    """The rule that ``text`` spells."""
    return parse_located(text).rule


def parse_located(text: str, file: str | None = None, line: int | None = None, rule: str | None = None) -> Parsed:
    """The rule that ``text`` spells, with places. ``file``, ``line`` and ``rule`` (its id) are for error messages.

    >>> parse_located("key (a, `b c`)").mentions[1]
    Mention(name='b c', start=8, end=13)
    """
    return _parser(RuleText(text, file, line, rule)).rule()


def parse_predicate(text: str) -> Parsed:
    """Parse one predicate, as the rule that denies it, with the places of its parts.

    >>> str(parse_predicate("s.low < t.high").comparisons[0].predicate)
    's.low < t.high'
    """
    return _parser(RuleText(text), "predicate").single_predicate()


def _parser(source: RuleText, construct: str = "rule") -> _Parser:
    """A parser at the start of a text that has been checked for length and characters."""
    text = source.text
    if len(text) > MAX_LENGTH:
        place = replace(source, text=text[:80]).place(0, 1)
        raise RowlawError("RULE_TOO_LONG", place, size=f"{len(text):,}", unit="characters", limit=f"{MAX_LENGTH:,}")
    bad = next((i for i, c in enumerate(text) if "\ud800" <= c <= "\udfff"), None)
    if bad is not None:  # half of a surrogate pair: no file or table could hold it
        source.fail("a character here is not valid Unicode", bad, bad + 1)
    return _Parser(source, tokenize(text, source), construct)


def parse_sort(text: str) -> list[SortColumn]:
    """The columns of a sort list, as after ``ORDER BY``.

    >>> [str(column) for column in parse_sort("year asc, `week no` desc")]
    ['year', '`week no` desc']
    """
    source = RuleText(text)
    return _Parser(source, tokenize(text, source)).sort_list()


class _Parser:
    """Walks the tokens once; each method reads one construct and leaves ``at`` behind it."""

    def __init__(self, source: RuleText, tokens: list[Token], construct: str = "rule") -> None:
        self.source = source
        self.construct = construct  # what the whole text is, for error messages
        self.tokens = tokens
        self.at = 0
        self.primed = any(t.kind == "prime" for t in tokens)
        self.mentions: list[Mention] = []
        self.comparisons: list[Comparison] = []

    def rule(self) -> Parsed:
        head = self.next()
        word = head.text.casefold()
        found: Rule
        if head.kind == "end":
            self.source.fail(f"the rule is empty; expected {_START}", head.start, head.end)
        if head.kind == "not" or (head.kind == "word" and word == "not"):
            found = self.denial()
        elif head.kind == "word" and word == "key":
            found = self.key()
        elif head.kind == "word" and word == "fd":
            found = self.functional()
        elif head.kind == "word" and word == "od":
            found = self.order()
        else:
            self.fail(_START, head)
        if self.peek.kind != "end":
            several = isinstance(found, FunctionalDependency) and self.peek.text == ","
            hint = "; write one fd for each column on the right" if several else ""
            self.fail("the end of the rule", self.peek, hint)
        return Parsed(found, self.source, tuple(self.mentions), tuple(self.comparisons))

    def single_predicate(self) -> Parsed:
        """One predicate up to the end of the text."""
        if len(self.tokens) == 1:  # the end
            self.source.fail("the predicate is empty; write it as s.column = t.column", 0, len(self.source.text))
        found = self.predicate()
        after = self.peek
        if after.kind != "end":
            joined = after.kind == "and" or after.text.casefold() == "and"
            self.fail("the end of the predicate", after, "; give each predicate by itself" if joined else "")
        return Parsed(Denial((found,)), self.source, tuple(self.mentions), tuple(self.comparisons))

    def denial(self) -> Denial:
        self.take("(")
        predicates = [self.predicate()]
        while self.peek.kind == "and" or self.peek.text.casefold() == "and":
            self.next()
            predicates.append(self.predicate())
        hint = "; for 'or', write two rules" if self.peek.text.casefold() in ("or", "|", "||", "∨") else ""
        self.take(")", "')' or 'and'", hint)
        return Denial(tuple(predicates))

    def key(self) -> Key:
        self.take("(")
        return Key(tuple(self.names(")", empty=False)))

    def functional(self) -> FunctionalDependency:
        self.take("(")
        left = self.names(")")
        self.take("->")
        return FunctionalDependency(tuple(left), self.name())

    def order(self) -> OrderCompatible | OrderDependency:
        if self.peek.text == "[":
            left = self.sort_columns()
            self.take("->")
            at = self.peek
            right = self.sort_columns()
            if not right:
                self.source.fail("an order dependency needs at least one column on its right side", at.start, at.end + 1)
            return OrderDependency(tuple(left), tuple(right))
        self.take("{", "'{' or '['")
        context = self.names("}")
        self.take(":")
        first = self.name()
        self.take("~")
        return OrderCompatible(tuple(context), first, self.name(), self.descending())

    def sort_columns(self) -> list[SortColumn]:
        self.take("[")
        columns: list[SortColumn] = []
        if self.peek.text == "]":
            self.next()
            return columns
        while True:
            columns.append(SortColumn(self.name(), self.descending()))
            self.limit(len(columns), "columns")
            if self.take_one("]", ",", expected="',' or ']', 'asc' or 'desc'").text == "]":
                return columns

    def sort_list(self) -> list[SortColumn]:
        """Sort columns up to the end of the text."""
        columns: list[SortColumn] = []
        while True:
            columns.append(SortColumn(self.name(), self.descending()))
            self.limit(len(columns), "columns")
            token = self.next()
            if token.kind == "end":
                return columns
            if token.text != ",":
                self.fail("',', 'asc', 'desc' or the end", token, "; a name with blanks or signs goes in backticks")

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

    def descending(self) -> bool:
        if self.peek.kind == "word" and self.peek.text.casefold() in ("asc", "desc"):
            return self.next().text.casefold() == "desc"
        return False

    def predicate(self) -> Predicate:
        start = self.peek
        left = self.operand()
        token = self.next()
        op = _OPERATORS.get(token.text)
        if op is None or token.kind != "op":
            self.fail("a comparison such as '=' or '<='", token)
        right = self.operand()
        end = self.tokens[self.at - 1].end
        if isinstance(left, Constant):
            if isinstance(right, Constant):
                self.source.fail("two literals are compared; one side must be a column", start.start, end)
            left, op, right = right, op.swapped, left
        if left == right:
            self.source.fail(f"{left} is compared with itself; name the other row or another column", start.start, end)
        predicate = Predicate(left, op, right)
        self.comparisons.append(Comparison(predicate, start.start, end))
        self.limit(len(self.comparisons), "predicates")
        return predicate

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
            problem = "null cannot be compared; leave the comparison out (the option nulls says what nulls mean)"
            self.source.fail(problem, token.start, token.end)
        hint = f"; write s.{token.text} or t.{token.text}" if token.kind in ("word", "name") and len(token.text) <= 40 else ""
        return self.fail("s.column, t.column or a literal", token, hint)

    def column(self, row: Token) -> Column:
        if self.primed and row.text.casefold() == "s":
            self.source.fail("this rule mixes the rows s and t'; call the rows s and t, or t and t'", row.start, row.end)
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
            raise RowlawError("BAD_LITERAL", place, literal=shown(text), type=word, hint=f"; write it as '{literals.EXAMPLES[word]}'")
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
            raise RowlawError("RULE_TOO_LONG", place, size=f"more than {MAX_ITEMS:,}", unit=unit, limit=f"{MAX_ITEMS:,}")

    def fail(self, expected: str, token: Token, hint: str = "") -> NoReturn:
        found = f"the end of the {self.construct}" if token.kind == "end" else shown(token.text)
        self.source.fail(f"expected {expected}, found {found}{hint}", token.start, token.end)
