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

The grammar is in docs/rules.md. In the papers' notation rows are called ``t`` and ``t'``; a rule that uses ``t'`` is
read that way, with ``t`` as our ``s``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from rowlaw.errors import RowlawError
from rowlaw.rules.conditions import Condition, IsNull, Matches, OneOf, Range
from rowlaw.rules.cursor import Comparison, Cursor, Mention
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
    Rule,
    SortColumn,
)
from rowlaw.rules.patterns import PatternError
from rowlaw.rules.tokens import RuleText, Token, shown, tokenize

MAX_LENGTH = 64 * 1024  # characters: a thousand predicates with long names fit

_OPERATORS = {op.symbol: op for op in Op} | {"==": Op.EQ, "<>": Op.NE, "≠": Op.NE, "≤": Op.LE, "≥": Op.GE}
_START = "'not (', 'key (', 'fd (', 'od {' or 'od ['"
_CONDITIONS = "'is null', 'in', 'between' or 'matches'"
_OR = ("or", "|", "||", "∨")
_ONE_RIGHT = "; write one fd for each column on the right"
_LONGEST_NAME = 40  # characters of a name that a hint repeats
_OTHER_WORDS = {  # of SQL, and what is written here instead
    **dict.fromkeys(
        ("like", "ilike", "rlike", "regexp", "similar", "match"), "; for patterns, write matches '[A-Z].*'"
    ),
    **dict.fromkeys(("equals", "eq"), "; write ="),
    **dict.fromkeys(("isnull", "isnan"), "; write is null"),
    "notnull": "; write is not null",
}


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


class _Parser(Cursor):
    """Reads rules, predicates and sort lists."""

    def rule(self) -> Parsed:
        head = self.next()
        word = head.text.casefold()
        rule: Rule
        if head.kind == "end":
            self.source.fail(f"the rule is empty; expected {_START}", head.start, head.end)
        if head.kind == "not" or (head.kind == "word" and word == "not"):
            rule = self.denial()
        elif head.kind == "word" and word == "key":
            rule = self.key()
        elif head.kind == "word" and word == "fd":
            rule = self.functional()
        elif head.kind == "word" and word == "od":
            rule = self.order()
        elif head.kind in ("prime", "number", "text") or word in ("s", "t", "true", "false", "date", "timestamp"):
            self.at -= 1
            rule = self.requirement()
        else:
            named = (
                head.kind in ("word", "name")
                and len(head.text) <= _LONGEST_NAME
                and self.peek.kind in ("word", "op", "not")
            )
            hint = f"; a column of a row is written s.{head.text}" if named else ""
            self.fail(_START + ", or a condition such as s.column is not null", head, hint)
        if self.peek.kind != "end":
            several = isinstance(rule, FunctionalDependency) and self.peek.text == ","
            either = isinstance(rule, Denial) and self.peek.text.casefold() in _OR
            hint = (
                _ONE_RIGHT
                if several
                else "; for 'A or B', write not (...) with the opposites of both"
                if either
                else ""
            )
            self.fail("the end of the rule", self.peek, hint)
        return Parsed(rule, self.source, tuple(self.mentions), tuple(self.comparisons))

    def single_predicate(self) -> Parsed:
        """One predicate up to the end of the text."""
        if len(self.tokens) == 1:  # the end
            self.source.fail("the predicate is empty; write it as s.column = t.column", 0, len(self.source.text))
        predicate = self.predicate()
        after = self.peek
        if after.kind != "end":
            joined = after.kind == "and" or after.text.casefold() == "and"
            self.fail("the end of the predicate", after, "; give each predicate by itself" if joined else "")
        return Parsed(Denial((predicate,)), self.source, tuple(self.mentions), tuple(self.comparisons))

    def requirement(self) -> Denial:
        """A condition alone: every row has to meet it, so no row may meet its opposite."""
        start = self.peek
        predicates = self.conditions()
        end = self.tokens[self.at - 1].end
        wanted = predicates[0]
        if len(wanted.rows) == 2:
            problem = (
                "a rule about two rows says what must not be: write not (...), for example not (s.zip = "
                "t.zip and s.city != t.city)"
            )
            self.source.fail(problem, start.start, end)
        after = self.peek
        if len(predicates) > 1 or after.kind == "and" or after.text.casefold() == "and":
            each = " and ".join(f"'{p}'" for p in predicates) if len(predicates) > 1 else "each part"
            self.source.fail(
                f"a rule of this form is one condition; write {each} as a rule of its own",
                start.start,
                max(end, after.end),
            )
        # the rule denies the opposite; what is bound later must be that
        self.comparisons = [replace(c, predicate=c.predicate.negated) for c in self.comparisons]
        return Denial((wanted.negated,))

    def denial(self) -> Denial:
        self.take("(")
        predicates = self.conditions()
        while self.peek.kind == "and" or self.peek.text.casefold() == "and":
            self.next()
            predicates += self.conditions()
        hint = "; for 'or', write two rules" if self.peek.text.casefold() in _OR else ""
        self.take(")", "')' or 'and'", hint)
        return Denial.written(predicates)

    def key(self) -> Key:
        self.take("(")
        return Key.written(self.names(")", empty=False))

    def functional(self) -> FunctionalDependency:
        self.take("(")
        left = self.names(")")
        self.take("->")
        if self.peek.text == "(":
            self.fail("one column name", self.peek, _ONE_RIGHT)
        return FunctionalDependency.written(left, self.name())

    def order(self) -> OrderCompatible | OrderDependency:
        if self.peek.text == "[":
            left = self.sort_columns()
            self.take("->")
            at = self.peek
            right = self.sort_columns()
            if not right:
                self.source.fail(
                    "an order dependency needs at least one column on its right side", at.start, at.end + 1
                )
            return OrderDependency(tuple(left), tuple(right))
        self.take("{", "'{' or '['")
        context = self.names("}")
        self.take(":")
        first = self.name()
        self.take("~")
        return OrderCompatible.written(context, first, self.name(), self.descending())

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

    def descending(self) -> bool:
        if self.peek.kind == "word" and self.peek.text.casefold() in ("asc", "desc"):
            return self.next().text.casefold() == "desc"
        return False

    def predicate(self) -> Predicate:
        """One comparison or condition."""
        start = self.peek
        predicates = self.conditions()
        if len(predicates) > 1:
            self.source.fail(
                "a range of columns is two predicates; give each by itself", start.start, self.tokens[self.at - 1].end
            )
        return predicates[0]

    def conditions(self) -> list[Predicate]:
        """A comparison or a condition; ``between`` two columns is two comparisons."""
        start = self.peek
        left = self.operand()
        token = self.next()
        word = token.text.casefold() if token.kind in ("word", "not") else ""
        if word in ("is", "in", "not", "between", "matches"):
            return self.condition(left, token, start)
        op = _OPERATORS.get(token.text)
        if op is None or token.kind != "op":
            words = f", or {_CONDITIONS}" if word else ""
            self.fail(f"a comparison such as '=' or '<='{words}", token, _OTHER_WORDS.get(word, ""))
        return [self.compared(left, op, self.operand(), start)]

    def condition(self, left: Operand, token: Token, start: Token) -> list[Predicate]:
        """What stands after a column: ``is null``, ``in (...)``, ``between ... and ...``, ``matches '...'``, each maybe
        with ``not``."""
        word, op = token.text.casefold(), Op.EQ
        if word == "is":
            if self.word_is("not"):
                op = Op.NE
            if not self.word_is("null"):
                self.fail("'null'" if op == Op.NE else "'null' or 'not null'", self.next())
            right: Condition = IsNull()
        else:
            if word == "not":
                op, token = Op.NE, self.next()
                word = token.text.casefold()
            if word == "in":
                right = self.value_list()
            elif word == "matches":
                right = self.pattern()
            elif word == "between":
                bounds = self.bounds(token)
                if not isinstance(bounds, Range):
                    return self.between_columns(left, op, bounds, start)
                right = bounds
            else:
                self.fail("'in', 'between' or 'matches'", token, _OTHER_WORDS.get(word, ""))
        if not isinstance(left, Column):
            self.source.fail(
                "a condition is about a column; write s.column before it", start.start, self.tokens[self.at - 1].end
            )
        return [self.added(Predicate(left, op, right), start)]

    def compared(self, left: Operand, op: Op, right: Operand, start: Token) -> Predicate:
        """A comparison of two operands, of which one is a column."""
        end = self.tokens[self.at - 1].end
        if isinstance(left, Constant):
            if isinstance(right, Constant):
                self.source.fail("two literals are compared; one side must be a column", start.start, end)
            left, op, right = right, op.swapped, left
        if left == right:
            self.source.fail(f"{left} is compared with itself; name the other row or another column", start.start, end)
        return self.added(Predicate(left, op, right), start)  # type: ignore[arg-type]

    def added(self, predicate: Predicate, start: Token) -> Predicate:
        self.comparisons.append(Comparison(predicate, start.start, self.tokens[self.at - 1].end))
        self.limit(len(self.comparisons), "predicates")
        return predicate

    def value_list(self) -> OneOf:
        self.take("(", hint="; write in ('a', 'b')")
        values: list[Constant] = []
        while True:
            token = self.peek
            value = self.operand()
            if not isinstance(value, Constant):
                self.source.fail(
                    "a list holds literals only; compare columns with =", token.start, self.tokens[self.at - 1].end
                )
            if values and value.type != values[0].type:
                problem = f"{shown(str(value))} is a {value.type}, and the list begins with a {values[0].type}"
                self.source.fail(f"{problem}; give all values one type", token.start, self.tokens[self.at - 1].end)
            values.append(value)
            self.limit(len(values), "values")
            if self.take_one(")", ",", expected="',' or ')'").text == ")":
                return OneOf(tuple(values))

    def bounds(self, word: Token) -> Range | tuple[Operand, Operand]:
        low = self.operand()
        token = self.next()
        if token.kind != "and" and token.text.casefold() != "and":
            self.fail("'and' and the other end of the range", token)
        high = self.operand()
        if not (isinstance(low, Constant) and isinstance(high, Constant)):
            return low, high
        end = self.tokens[self.at - 1].end
        if low.type != high.type:
            self.source.fail(
                f"the range runs from a {low.type} to a {high.type}; give both ends one type", word.start, end
            )
        try:
            return Range(low, high)
        except ValueError as error:
            self.source.fail(str(error), word.start, end)

    def between_columns(self, left: Operand, op: Op, bounds: tuple[Operand, Operand], start: Token) -> list[Predicate]:
        low, high = bounds
        if op == Op.NE:
            problem = "'not between' needs literals; between columns, write two rules, one with < and one with >"
            self.source.fail(problem, start.start, self.tokens[self.at - 1].end)
        return [self.compared(left, Op.GE, low, start), self.compared(left, Op.LE, high, start)]

    def pattern(self) -> Matches:
        token = self.next()
        if token.kind != "text":
            self.fail("a pattern in quotes, for example '[0-9]{5}'", token)
        try:
            return Matches(str(token.value))
        except PatternError as error:
            mark, raw = token.text[0], str(token.value)
            # a quote within the pattern is written twice
            start, end = (token.start + 1 + at + raw[:at].count(mark) for at in (error.start, error.end))
            self.source.fail(error.problem, start, min(end, token.end))

    def word_is(self, word: str) -> bool:
        """Whether the next token is this word; it is then passed."""
        is_next = self.peek.text.casefold() == word and self.peek.kind in ("word", "not")
        self.at += is_next
        return is_next
